//! The addresses of this machine and of the networks that it is connected to, regardless of the registries.
//!
//! It knows only the interfaces. It does not know addresses that only a router maps to this machine, or networks behind
//! that router.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use ipnet::IpNet;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::sys::socket::SockaddrStorage;

/// The shortest prefix of an IPv4 network that is believed. A tunnel may claim the whole internet with a shorter one; a
/// virtual network of people's machines takes a /8.
const WIDEST_V4: u8 = 8;

/// The shortest prefix of an IPv6 network that is believed: the smallest allocation of a provider.
const WIDEST_V6: u8 = 32;

/// The length of an IPv6 network's prefix. An address by DHCP has 128 bits, but its network exists anyway.
const LINK_V6: u8 = 64;

/// An address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    pub address: IpAddr,
    /// Bits that all addresses of its network share.
    pub prefix: u8,
    /// The other end of a point-to-point connection.
    pub peer: Option<IpAddr>,
}

impl Interface {
    fn of(found: &InterfaceAddress) -> Option<Self> {
        let address = address_of(found.address.as_ref()?)?;
        let mask = found.netmask.as_ref().and_then(address_of);
        let prefix = mask.and_then(|mask| ipnet::ip_mask_to_prefix(mask).ok());
        let peer = found.destination.as_ref().or(found.broadcast.as_ref());
        Some(Self {
            address,
            prefix: prefix.unwrap_or(u8::MAX),
            peer: peer.and_then(address_of),
        })
    }

    /// Returns whether `address` is this one, its peer, or in the network of either.
    fn is_near(&self, address: IpAddr) -> bool {
        let own = self.address.to_canonical();
        let mut ends = std::iter::once(own).chain(self.peer.map(|peer| peer.to_canonical()));
        ends.any(|end| end == address || self.network_of(end).contains(&address))
    }

    fn network_of(&self, end: IpAddr) -> IpNet {
        let bits = match end {
            IpAddr::V4(_) if self.prefix < WIDEST_V4 => 32,
            IpAddr::V4(_) => self.prefix.min(32),
            IpAddr::V6(_) if self.prefix < WIDEST_V6 => LINK_V6,
            IpAddr::V6(_) => self.prefix.min(LINK_V6),
        };
        IpNet::new(end, bits).unwrap_or_else(|_| IpNet::from(end))
    }
}

/// Returns whether `address` belongs to a machine with these interfaces, or to a network that it is connected to. Pure.
pub fn is_near(address: IpAddr, interfaces: &[Interface]) -> bool {
    let address = address.to_canonical();
    interfaces
        .iter()
        .any(|interface| interface.is_near(address))
}

/// Lists the current interfaces of this machine: they come and go.
pub(super) fn interfaces() -> io::Result<Vec<Interface>> {
    let found = getifaddrs()?;
    Ok(found.filter_map(|found| Interface::of(&found)).collect())
}

/// Returns whether this machine answers at `address` although no interface has it, for example because of a local route
/// to a whole network.
///
/// The kernel gives a connection to one of its own addresses that address at both ends. Finding out sends nothing.
pub fn leads_home(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let own_end = || {
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect((address, 80))?;
        socket.local_addr()
    };
    // Without a route there is no connection either.
    own_end().is_ok_and(|own| own.ip().to_canonical() == address.to_canonical())
}

fn address_of(address: &SockaddrStorage) -> Option<IpAddr> {
    if let Some(address) = address.as_sockaddr_in() {
        return Some(IpAddr::V4(address.ip()));
    }
    Some(IpAddr::V6(address.as_sockaddr_in6()?.ip()))
}
