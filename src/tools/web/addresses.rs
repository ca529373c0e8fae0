//! Which addresses belong to the public internet. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether `address` belongs to the public internet: not to this machine, a local network, a link, a cloud itself or a
/// reserved range, in any notation.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// After the IANA registry of special-purpose IPv4 addresses.
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

/// After the IANA registry of special-purpose IPv6 addresses: only 2000::/3 is assigned at all.
fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    let [a, b, ..] = address.segments();
    let is_special = match (a, b) {
        // Protocol assignments, Teredo among them, and documentation.
        (0x2001, 0..=0x1ff | 0xdb8) => true,
        // 6to4 wraps an IPv4 address, which may be any.
        (0x2002, _) => true,
        // Documentation (RFC 9637).
        (0x3fff, 0..=0xfff) => true,
        _ => false,
    };
    (0x2000..=0x3fff).contains(&a) && !is_special
}
