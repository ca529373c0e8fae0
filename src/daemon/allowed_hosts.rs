//! The hosts that a request to our own pages may name. Pure.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::{Version, header};

/// Our hosts: `localhost`, loopback addresses, and those that the operator lists.
#[derive(Clone, Debug)]
pub(super) struct AllowedHosts(Arc<[String]>);

impl AllowedHosts {
    pub(super) fn new(listed: &[String]) -> Self {
        Self(listed.iter().map(|host| plain(host)).collect())
    }

    /// Returns whether each host that the request names is ours. Only HTTP/1.0 may name none; no browser speaks it.
    pub(super) fn allow(&self, request: &Request) -> bool {
        let target = request.uri().authority().map(|target| target.as_str());
        let headers = request.headers().get_all(header::HOST).into_iter();
        let named = headers.map(|host| host.to_str().unwrap_or_default());
        let mut hosts = target.into_iter().chain(named).peekable();
        if hosts.peek().is_none() {
            return request.version() <= Version::HTTP_10;
        }
        hosts.all(|host| self.is_ours(host))
    }

    /// Returns whether `host`, with or without a port, is ours.
    fn is_ours(&self, host: &str) -> bool {
        let Some(host) = without_port(host) else {
            return false;
        };
        let host = plain(host);
        let is_loopback = host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback());
        is_loopback || host == "localhost" || self.0.contains(&host)
    }
}

/// Returns the host of `host:port`; `None` if the text after it is not a port.
fn without_port(host: &str) -> Option<&str> {
    let end = match host.rfind(']') {
        Some(bracket) => bracket + 1,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at_checked(end)?;
    let is_port = match port.strip_prefix(':') {
        Some(digits) => digits.is_empty() || digits.parse::<u16>().is_ok(),
        None => port.is_empty(),
    };
    is_port.then_some(name)
}

/// Returns a host in the form used for comparison: an address in its shortest form, a name in lower case and without a
/// dot at its end.
fn plain(host: &str) -> String {
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host = inner.unwrap_or(host);
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().to_string(),
        Err(_) => host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase(),
    }
}
