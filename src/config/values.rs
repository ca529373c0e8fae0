//! Ids and addresses, read from text.
//!
//! They are parsed while the text is read, not after, so that a mistake is reported at its own line.

use std::fmt;
use std::net::SocketAddr;

use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};

use crate::domain::{ChannelId, RoleId};

/// Ids of roles: texts as Discord shows them (JSON numbers of other programs lose digits) or numbers.
pub(super) fn role_ids<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<RoleId>, D::Error> {
    deserializer.deserialize_seq(RoleIds)
}

/// The id of a channel, or null.
pub(super) fn one_id<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ChannelId>, D::Error> {
    let id = ID.deserialize(deserializer)?;
    Ok(id.map(ChannelId))
}

/// A loopback address, or null.
pub(super) fn loopback<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SocketAddr>, D::Error> {
    LOOPBACK.deserialize(deserializer)
}

/// A value written as text; null is none.
#[derive(Clone, Copy)]
struct Text<T> {
    expected: &'static str,
    parse: fn(&str) -> Result<T, String>,
}

const ID: Text<u64> = Text {
    expected: "a Discord id such as \"123456789012345678\"",
    parse: |text| {
        text.parse().map_err(|_| {
            format!(
                "{text:?} is no Discord id: turn on Developer Mode in Discord, right-click, Copy ID"
            )
        })
    },
};

const LOOPBACK: Text<SocketAddr> = Text {
    expected: "an address such as \"127.0.0.1:9464\"",
    parse: |text| match text.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(address),
        Ok(_) => Err(format!(
            "{text} is reachable from outside: write a loopback address such as \"127.0.0.1:9464\" \
             and put a proxy in front of it"
        )),
        Err(_) => Err(format!(
            "{text:?} is no address: write one such as \"127.0.0.1:9464\""
        )),
    },
};

impl<'de, T> DeserializeSeed<'de> for Text<T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<T> Visitor<'_> for Text<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<T>, E> {
        (self.parse)(text).map(Some).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Option<T>, E> {
        self.visit_str(&number.to_string())
    }
}

struct RoleIds;

impl<'de> Visitor<'de> for RoleIds {
    type Value = Vec<RoleId>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of Discord ids such as [\"123456789012345678\"]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<RoleId>, A::Error> {
        let mut roles = Vec::new();
        while let Some(id) = list.next_element_seed(ID)? {
            roles.extend(id.map(RoleId));
        }
        Ok(roles)
    }
}
