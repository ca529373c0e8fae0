//! Requests that stay on this machine and in its own network.
//!
//! A name is resolved as the connection is made, and the connection leads only to the checked addresses. No proxy is
//! used: the connection would lead to the proxy, and not to the server.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url};

use super::error::FailureClass;
use super::failure::ApiError;
use super::http;

/// Longest time to look up the address of a server.
const LOOK_UP: Duration = Duration::from_secs(2);

/// The permitted destinations of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    #[default]
    Anywhere,
    /// Only to addresses of this machine and its own network.
    Local,
}

/// The client for requests that stay nearby.
static NEARBY: LazyLock<reqwest::Result<Client>> = LazyLock::new(|| {
    http::builder()
        .no_proxy()
        .dns_resolver(Arc::new(LocalOnly))
        .build()
});

/// Returns whether an address belongs to this machine or to its own network: loopback, private or link-local.
pub fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
            Some(ip) => is_local(IpAddr::V4(ip)),
            None => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
        },
    }
}

/// Returns the client for a server that has to be nearby.
///
/// # Errors
///
/// Fails if its address is elsewhere.
pub(super) fn client(base_url: &str) -> Result<&'static Client, ApiError> {
    let elsewhere = |host: &str| {
        let why = format!("{host} is not local, and this agent is limited to local models");
        ApiError::new(FailureClass::ModelError, why)
    };
    match Host::of(base_url) {
        Some(Host::Address(address)) if !is_local(address) => {
            return Err(elsewhere(&address.to_string()));
        }
        Some(Host::Address(_) | Host::Name(..)) => {}
        None => return Err(elsewhere(base_url)),
    }
    NEARBY
        .as_ref()
        .map_err(|error| ApiError::new(FailureClass::NetworkError, error.to_string()))
}

/// Looks up whether the server at `base_url` is nearby; `None` if its name cannot be resolved now.
pub(super) async fn look_up(base_url: &str) -> Option<bool> {
    match Host::of(base_url)? {
        Host::Address(address) => Some(is_local(address)),
        Host::Name(name, port) => {
            let found = tokio::time::timeout(LOOK_UP, tokio::net::lookup_host((name, port)));
            let addresses: Vec<SocketAddr> = found.await.ok()?.ok()?.collect();
            Some(are_local(&addresses))
        }
    }
}

/// Returns whether there are addresses and all of them are local.
fn are_local(addresses: &[SocketAddr]) -> bool {
    !addresses.is_empty() && addresses.iter().all(|address| is_local(address.ip()))
}

/// The host of an address on the web.
enum Host {
    Address(IpAddr),
    Name(String, u16),
}

impl Host {
    fn of(base_url: &str) -> Option<Self> {
        let url = Url::parse(base_url).ok()?;
        let host = url.host_str()?;
        Some(match host.trim_matches(['[', ']']).parse() {
            Ok(address) => Self::Address(address),
            Err(_) => Self::Name(host.to_owned(), url.port_or_known_default()?),
        })
    }
}

/// Resolves names with only local addresses. Other names get no address.
struct LocalOnly;

impl Resolve for LocalOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let addresses: Vec<SocketAddr> = found.collect();
            if !are_local(&addresses) {
                let why = format!(
                    "{} is not local, and this agent is limited to local models",
                    name.as_str()
                );
                return Err(Box::<dyn std::error::Error + Send + Sync>::from(why));
            }
            let addresses: Addrs = Box::new(addresses.into_iter());
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn this_machine_and_its_network_are_local_and_nothing_else() {
        for local in [
            "127.0.0.1",
            "127.9.9.9",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.20",
            "169.254.1.1",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(is_local(local.parse().unwrap()), "{local}");
        }
        for elsewhere in [
            "1.1.1.1",
            "172.32.0.1",
            "100.64.0.1",
            "0.0.0.0",
            "198.51.100.7",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::a00:1",
        ] {
            assert!(!is_local(elsewhere.parse().unwrap()), "{elsewhere}");
        }
    }

    #[test]
    fn an_address_elsewhere_has_no_client() {
        assert!(client("http://127.0.0.1:11434/v1").is_ok());
        assert!(client("http://[::1]:8080").is_ok());
        for elsewhere in [
            "https://8.8.8.8/v1",
            "https://[2606:4700::1111]",
            "nonsense",
        ] {
            let error = client(elsewhere).unwrap_err();
            assert!(error.message.contains("limited to local models"));
        }
    }

    #[tokio::test]
    async fn a_name_is_judged_by_what_it_resolves_to() {
        assert_eq!(look_up("http://localhost:11434/v1").await, Some(true));
        assert_eq!(look_up("https://93.184.216.34").await, Some(false));
        assert_eq!(look_up("http://nowhere.invalid").await, None);
        let local = LocalOnly.resolve("localhost".parse().unwrap()).await;
        assert!(local.unwrap().all(|address| is_local(address.ip())));
    }
}
