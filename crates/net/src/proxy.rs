//! The PROXY protocol, version 2: the header by which a load balancer says who connects through it.
//!
//! A connection from a network of load balancers must begin with one header, and a connection from
//! elsewhere must not. A header of the load balancer's own connections (`LOCAL`, such as a check of
//! health) names nobody; neither does one of an unknown family. It has at most
//! [`MAX_HEADER_BYTES`], and is read whole or not at all, so that what follows stays in the socket.

use std::io::{self, Read as _};
use std::net::{SocketAddr, TcpStream};

use ipnet::IpNet;
use proxy_header::{Error, ParseConfig, Protocol, ProxyHeader};

use crate::{Awaited, Interrupt, NetError, Wait, tcp};

/// The longest header that is read. The protocol says that every header fits into a packet of 536
/// bytes.
const MAX_HEADER_BYTES: usize = 536;

/// The first bytes of a header, and those after which its length is known.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
const HEAD_BYTES: usize = 16;

/// A header that has come whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The client's address, if the header names one.
    pub(crate) client: Option<SocketAddr>,
    bytes: usize,
}

/// Returns whether a connection from this address comes through a load balancer.
pub(crate) fn is_proxy(proxies: &[IpNet], from: SocketAddr) -> bool {
    let from = from.ip().to_canonical();
    proxies.iter().any(|network| network.contains(&from))
}

/// Takes the header off a socket that does not block. Returns `None` if it has not come whole yet;
/// then nothing was taken.
pub(crate) fn take(socket: &TcpStream) -> Result<Option<Header>, NetError> {
    use io::ErrorKind::{Interrupted, WouldBlock};
    let awaited = Awaited::Handshake;
    let mut bytes = [0; MAX_HEADER_BYTES];
    let count = match socket.peek(&mut bytes) {
        Ok(0) => return Err(NetError::Closed { awaited }),
        Ok(count) => count,
        Err(error) if matches!(error.kind(), WouldBlock | Interrupted) => return Ok(None),
        Err(reason) => return Err(NetError::Io { awaited, reason }),
    };
    let header = parse(&bytes[..count]).map_err(|what| NetError::ProxyHeader { what })?;
    if let Some(header) = header {
        let taken = (&*socket).read_exact(&mut bytes[..header.bytes]);
        taken.map_err(|reason| NetError::Io { awaited, reason })?;
    }
    Ok(header)
}

/// Returns whether a connection begins like a header. Neither TLS, HTTP nor a side stream does.
pub(crate) fn begins(socket: &TcpStream, wait: &Wait<'_>) -> Result<bool, Interrupt> {
    let mut first = [0];
    let count = tcp::repeat(wait, || socket.peek(&mut first))?;
    Ok(count == 1 && first[0] == SIGNATURE[0])
}

/// Returns the header at the beginning of `bytes`, or `None` if more bytes are needed.
fn parse(bytes: &[u8]) -> Result<Option<Header>, &'static str> {
    let beginning = bytes.len().min(SIGNATURE.len());
    if bytes[..beginning] != SIGNATURE[..beginning] {
        return Err("it is missing, or not of version 2");
    }
    let Some([high, low]) = bytes.get(HEAD_BYTES - 2..HEAD_BYTES) else {
        return Ok(None);
    };
    let length = HEAD_BYTES + usize::from(u16::from_be_bytes([*high, *low]));
    if length > MAX_HEADER_BYTES {
        return Err("it is longer than 536 bytes");
    }
    let Some(whole) = bytes.get(..length) else {
        return Ok(None);
    };
    let config = ParseConfig {
        include_tlvs: false,
        allow_v1: false,
        allow_v2: true,
    };
    let malformed = |_: Error| "it is malformed";
    let (header, _) = ProxyHeader::parse(whole, config).map_err(malformed)?;
    let client = match header.proxied_address() {
        Some(address) if address.protocol == Protocol::Stream => Some(address.source),
        Some(_) => return Err("it is not of a TCP connection"),
        None => None,
    };
    let bytes = length;
    Ok(Some(Header { client, bytes }))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;

    use proptest::prelude::*;

    use super::*;

    const V4: [u8; 28] =
        *b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x07\x7f\0\0\x01\x30\x39\x1b\x58";

    fn client() -> Option<SocketAddr> {
        Some("192.0.2.7:12345".parse().expect("an address"))
    }

    /// Returns the header with other bytes at this place.
    fn with(place: usize, bytes: &[u8]) -> Vec<u8> {
        let mut header = V4.to_vec();
        header[place..place + bytes.len()].copy_from_slice(bytes);
        header
    }

    #[test]
    fn a_header_names_the_client() {
        let whole = parse(&V4).expect("a header").expect("whole");
        assert_eq!((whole.client, whole.bytes), (client(), 28));
        // Neither later bytes nor further fields matter.
        let followed = [&V4[..], b"\x16\x03"].concat();
        assert_eq!(parse(&followed), Ok(Some(whole)));
        let longer = [&with(14, &[0, 16])[..], b"\x04\0\x01\0"].concat();
        let bytes = 32;
        assert_eq!(parse(&longer), Ok(Some(Header { bytes, ..whole })));
        let mut v6 = with(13, &[0x21, 0, 36]);
        v6.truncate(16);
        v6.extend(
            "2001:db8::7"
                .parse::<std::net::Ipv6Addr>()
                .expect("an address")
                .octets(),
        );
        v6.extend([0; 16]);
        v6.extend([0, 9, 0, 0]);
        let named = parse(&v6).expect("a header").expect("whole").client;
        assert_eq!(named, "[2001:db8::7]:9".parse().ok());
        // The load balancer's own connection, and one of a family that it does not know.
        for nobody in [with(12, &[0x20]), with(13, &[0])] {
            let header = parse(&nobody).expect("a header").expect("whole");
            assert_eq!(header.client, None);
        }
    }

    #[test]
    fn a_header_that_is_cut_is_waited_for_and_one_that_lies_is_refused() {
        for length in 0..V4.len() {
            assert_eq!(parse(&V4[..length]), Ok(None), "{length} bytes");
        }
        for (lie, what) in [
            (with(0, b"\x16"), "missing"),
            (with(11, b"\r"), "missing"),
            (
                b"PROXY TCP4 192.0.2.7 127.0.0.1 1 2\r\n".to_vec(),
                "missing",
            ),
            (with(12, &[0x11]), "malformed"),
            (with(12, &[0x22]), "malformed"),
            (with(13, &[0x12]), "not of a TCP"),
            (with(13, &[0x41]), "malformed"),
            // Too short for the addresses that the family has.
            (with(14, &[0, 11]), "malformed"),
            (with(13, &[0x21]), "malformed"),
            (with(14, &[0, 0]), "malformed"),
            (with(14, &[0xff, 0xff]), "longer"),
            (with(14, &[2, 9]), "longer"),
        ] {
            let refused = parse(&lie).expect_err(what);
            assert!(refused.contains(what), "{lie:?}: {refused}");
        }
        // The longest header is waited for, and is whole at its last byte.
        let mut longest = with(14, &[2, 8]);
        assert_eq!(parse(&longest), Ok(None));
        longest.resize(MAX_HEADER_BYTES, 0);
        let whole = parse(&longest).expect("a header").expect("whole");
        assert_eq!((whole.client, whole.bytes), (client(), MAX_HEADER_BYTES));
    }

    #[test]
    fn a_header_is_taken_whole_and_nothing_after_it() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let mut sender = TcpStream::connect(listener.local_addr().expect("an address"));
        let sender = sender.as_mut().expect("a connection");
        let (mut socket, _) = listener.accept().expect("a connection");
        socket.set_nonblocking(true).expect("a socket");
        assert!(take(&socket).expect("nothing yet").is_none());
        sender.write_all(&V4[..20]).expect("room");
        wait_for(&socket, 20);
        assert!(take(&socket).expect("a part").is_none());
        sender
            .write_all(&[&V4[20..], b"TLS"].concat())
            .expect("room");
        wait_for(&socket, 31);
        let header = take(&socket).expect("a header").expect("whole");
        assert_eq!(header.client, client());
        let mut rest = [0; 3];
        socket.read_exact(&mut rest).expect("the rest");
        assert_eq!(rest, *b"TLS");
    }

    /// Waits until this many bytes have come.
    fn wait_for(socket: &TcpStream, count: usize) {
        let mut bytes = [0; 64];
        for _ in 0..10_000 {
            if socket.peek(&mut bytes).is_ok_and(|found| found >= count) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        panic!("{count} bytes did not come");
    }

    #[test]
    fn networks_have_addresses_in_either_form() {
        let proxies = ["10.0.0.0/8", "2001:db8::/32"].map(|text| text.parse().expect("a network"));
        let is = |text: &str| is_proxy(&proxies, text.parse().expect("an address"));
        assert!(is("10.1.2.3:4") && is("[::ffff:10.1.2.3]:4") && is("[2001:db8::1]:4"));
        assert!(!is("11.1.2.3:4") && !is("[2001:db9::1]:4"));
    }

    proptest! {
        /// No bytes make it panic or take more than there is, and a changed header is refused,
        /// waited for, or as long as it says.
        #[test]
        fn any_bytes_are_refused_waited_for_or_bounded(
            bytes in prop::collection::vec(any::<u8>(), 0..600),
            place in 0_usize..28,
            byte in any::<u8>(),
        ) {
            let changed = [&with(place, &[byte])[..], &bytes].concat();
            for bytes in [&bytes, &changed] {
                if let Ok(Some(header)) = parse(bytes) {
                    prop_assert!(header.bytes <= bytes.len().min(MAX_HEADER_BYTES));
                }
            }
        }
    }
}
