//! The networks that contain an address. A peer with one address of a network may have them all.

use std::net::{IpAddr, Ipv6Addr};

/// The prefixes in bits, the largest network first: a site, a customer and a subnet in IPv6. In
/// IPv4 the last one is the address itself, since a subnet may belong to many customers.
const OF_V6: [u32; 3] = [48, 56, 64];
const OF_V4: [u32; 3] = [16, 24, 32];

/// Returns the subnet of an address: in IPv6 its /64, all of whose 2^64 addresses one owner has,
/// and in IPv4 the address itself.
pub fn subnet(address: IpAddr) -> IpAddr {
    let [.., subnet] = networks(address);
    IpAddr::V6(subnet).to_canonical()
}

/// Returns the index of the connection to drop when there are too many, given the addresses of all
/// of them, the oldest first. It takes the largest network with the most connections, in it the
/// next smaller one with the most, in that the subnet with the most, and there the oldest. So a
/// flood from one network drops its own connections, however that network is divided into subnets.
pub fn gives_way(addresses: impl Iterator<Item = IpAddr>) -> Option<usize> {
    let all: Vec<_> = addresses.collect();
    let counts = all.iter().map(|one| crowd(*one, all.iter().copied()));
    // If several are equal, `max_by_key` takes the last.
    let places = counts.enumerate().rev();
    let most = places.max_by_key(|(_, counts)| *counts);
    most.map(|(place, _)| place)
}

/// Returns the number of `addresses` in each network of `address`, the largest network first. Of
/// two addresses, the one with the greater counts is the more crowded.
pub fn crowd(address: IpAddr, addresses: impl Iterator<Item = IpAddr>) -> [usize; 3] {
    let own = networks(address);
    let mut counts = [0; 3];
    for other in addresses.map(networks) {
        for ((count, own), other) in counts.iter_mut().zip(own).zip(other) {
            *count += usize::from(own == other);
        }
    }
    counts
}

/// Returns the networks of an address, the largest first. Those of IPv4 are mapped to IPv6.
fn networks(address: IpAddr) -> [Ipv6Addr; 3] {
    let (bits, prefixes) = match address.to_canonical() {
        IpAddr::V6(address) => (address.to_bits(), OF_V6),
        IpAddr::V4(address) => (
            address.to_ipv6_mapped().to_bits(),
            OF_V4.map(|prefix| 96 + prefix),
        ),
    };
    prefixes.map(|prefix| Ipv6Addr::from_bits(bits & (u128::MAX << (128 - prefix))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn place(addresses: &[&str]) -> Option<usize> {
        gives_way(addresses.iter().map(|text| address(text)))
    }

    #[test]
    fn a_subnet_of_ipv6_is_one_and_ipv4_is_itself_in_any_form() {
        let same = |a, b| subnet(address(a)) == subnet(address(b));
        assert!(same("2001:db8::1", "2001:db8::ffff:0:0:9"));
        assert!(!same("2001:db8::1", "2001:db8:0:1::1"));
        assert!(same("::ffff:10.0.0.1", "10.0.0.1"));
        assert!(!same("::ffff:10.0.0.1", "::ffff:10.0.0.2"));
        assert_eq!(subnet(address("::ffff:10.0.0.1")), address("10.0.0.1"));
    }

    #[test]
    fn the_oldest_of_the_subnet_with_most_gives_way() {
        assert_eq!(place(&[]), None);
        assert_eq!(place(&["192.0.2.1", "10.0.0.1", "198.51.100.1"]), Some(0));
        // The honest one came first, and the others are from one address or one subnet.
        assert_eq!(place(&["10.0.0.1", "10.0.0.2", "10.0.0.2"]), Some(1));
        assert_eq!(place(&["10.0.0.1", "::ffff:10.0.0.2", "10.0.0.2"]), Some(1));
        let subnet = ["2001:db8::1", "2001:db8:0:1::1", "2001:db8:0:1:9::2"];
        assert_eq!(place(&subnet), Some(1));
    }

    #[test]
    fn a_network_cut_into_subnets_is_one() {
        // A /58 has 64 subnets, which is more than may connect at once.
        let flood = (0..40).map(|subnet| address(&format!("2001:db8:0:{subnet:x}::1")));
        let honest = address("2001:db8:1::1");
        assert_eq!(gives_way(std::iter::once(honest).chain(flood)), Some(1));
        // A /48 has more still, and the honest one may be in it, as one customer of several.
        let flood = (0..40).map(|subnet| address(&format!("2001:db8:0:1{subnet:02x}::1")));
        let honest = address("2001:db8::1");
        assert_eq!(gives_way(std::iter::once(honest).chain(flood)), Some(1));
        let flood = (0..40).map(|host| address(&format!("192.0.2.{host}")));
        let honest = address("192.0.3.1");
        assert_eq!(gives_way(std::iter::once(honest).chain(flood)), Some(1));
    }
}
