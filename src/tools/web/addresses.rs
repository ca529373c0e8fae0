//! The addresses that are read: those of the public internet that belong neither to this machine nor to its neighbours.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::near::{Interface, interfaces, is_near, leads_home};

/// Why an address is not read. The text is for the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.as_str())]
pub(super) enum Unfit {
    NotPublic,
    Near,
    Unlisted,
}

impl Unfit {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::NotPublic => "the address is not a public one",
            Self::Near => "the address belongs to this machine or to its own network",
            Self::Unlisted => {
                "this machine's own addresses cannot be listed; the operator must let the daemon open netlink sockets"
            }
        }
    }
}

/// Checks `address` against the registries and against the current interfaces of this machine.
///
/// # Errors
///
/// Fails if it is not read.
pub(super) fn check(address: IpAddr) -> Result<(), Unfit> {
    Checker::new()?.check(address)
}

/// The interfaces that addresses are checked against at one moment.
pub(super) struct Checker(Vec<Interface>);

impl Checker {
    /// Lists the interfaces of this machine.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be listed. Then nothing is read, since any address may be this machine's.
    pub(super) fn new() -> Result<Self, Unfit> {
        interfaces().map(Self).map_err(|_| Unfit::Unlisted)
    }

    /// Checks one address.
    pub(super) fn check(&self, address: IpAddr) -> Result<(), Unfit> {
        if !is_public(address) {
            return Err(Unfit::NotPublic);
        }
        if is_near(address, &self.0) || leads_home(address) {
            return Err(Unfit::Near);
        }
        Ok(())
    }
}

/// Returns whether `address` belongs to the public internet by the registries: not to loopback, a local network, a
/// link, a cloud itself or a reserved range, in any notation. Pure.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Returns whether the address is public by the IANA registry of special-purpose IPv4 addresses.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match (a, b, c) {
        // This network, private, loopback.
        (0 | 10 | 127, _, _) => true,
        // Shared by providers (RFC 6598).
        (100, 64..=127, _) => true,
        // Link-local, where clouds keep their metadata.
        (169, 254, _) => true,
        (172, 16..=31, _) => true,
        // Protocol assignments, documentation, 6to4 relays, private.
        (192, 0, 0 | 2) | (192, 88, 99) | (192, 168, _) => true,
        // Benchmarks, documentation.
        (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => true,
        // Multicast, reserved, broadcast.
        (224..=255, _, _) => true,
        _ => false,
    };
    !is_special
}

/// Returns whether the address is public by the IANA registry of special-purpose IPv6 addresses: only 2000::/3 is
/// assigned at all.
fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    let [a, b, ..] = address.segments();
    let is_special = match (a, b) {
        // Protocol assignments, including Teredo, and documentation.
        (0x2001, 0..=0x1ff | 0xdb8) => true,
        // 6to4 wraps an IPv4 address, which may be any.
        (0x2002, _) => true,
        // Documentation (RFC 9637).
        (0x3fff, 0..=0xfff) => true,
        _ => false,
    };
    (0x2000..=0x3fff).contains(&a) && !is_special
}
