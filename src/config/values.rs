//! Addresses, read from text.
//!
//! They are parsed while the text is read, not after, so that a mistake is reported at its own line.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, Visitor};

/// Reads a loopback address, or null.
pub(super) fn loopback<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SocketAddr>, D::Error> {
    Loopback.deserialize(deserializer)
}

/// Reads names or addresses of hosts, without a port.
pub(super) fn host_names<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    match names.iter().find(|name| !is_host(name)) {
        None => Ok(names),
        Some(name) => Err(D::Error::custom(format!(
            "{name:?} is not a host: write a name such as \"chorus.example.org\" or an address, without a port"
        ))),
    }
}

fn is_host(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    name.parse::<IpAddr>().is_ok() || (!name.is_empty() && name.chars().all(is_letter))
}

#[derive(Clone, Copy)]
struct Loopback;

impl<'de> DeserializeSeed<'de> for Loopback {
    type Value = Option<SocketAddr>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Loopback {
    type Value = Option<SocketAddr>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address such as \"127.0.0.1:9464\"")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Ok(Some(address)),
            Ok(_) => Err(E::custom(format!(
                "{text} is reachable from outside: write a loopback address such as \"127.0.0.1:9464\" \
                 and put a proxy in front of it"
            ))),
            Err(_) => Err(E::custom(format!(
                "{text:?} is not an address: write one such as \"127.0.0.1:9464\""
            ))),
        }
    }
}
