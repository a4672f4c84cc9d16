//! Meeting at a relay: two parties that both connect outwards, and name one room.
//!
//! Over a WebSocket, so that pages come too, a party sends a [`Hello`] and waits for one byte, an
//! [`Answer`]. After [`Answer::Go`] the connection leads to the other party, and TLS between the
//! two starts. The relay passes on messages as they come, with the reports of taken bytes among
//! them, so the two bound what is on its way between them. The relay sees addresses, the room's
//! name, and the number of bytes over time. It cannot read or change what it carries, because each
//! party accepts only the other's fingerprint.
//!
//! | bytes of a hello | field |
//! |---|---|
//! | 0..8 | `tacitrl1` |
//! | 8..40 | the room's name |
//! | 40 | the side: 0 for the party that would listen, 1 for the one that would connect |

use std::fmt;
use std::io::IoSlice;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::tcp::{self, Reach};
use crate::{Awaited, Fingerprint, NetError, Settings, Transport, Wait, tls};

#[cfg(not(target_family = "wasm"))]
pub use crate::websocket::{Guest, GuestEvent, RelayedMessage};

const MAGIC: &[u8; 8] = b"tacitrl1";

/// The first message of a party to a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The name of the room, which both parties know and others do not.
    pub room: [u8; 32],
    /// Whether this party takes the side that listens.
    pub listens: bool,
}

impl Hello {
    /// The length in bytes.
    pub const BYTES: usize = 41;

    /// Returns the hello of the party `own`, which meets `peer` in this room.
    #[must_use]
    pub fn of(own: &Fingerprint, peer: &Fingerprint, room: [u8; 32]) -> Self {
        // Exactly one of the two listens, and both compute the same.
        let listens = own < peer;
        Self { room, listens }
    }

    /// Returns the hello of the party `own`, which meets `peer` in the room of their fingerprints.
    #[must_use]
    pub fn between(own: &Fingerprint, peer: &Fingerprint) -> Self {
        let hash = Sha256::new().chain_update(b"tacit room of fingerprints\0");
        let hash = hash.chain_update(own.min(peer).0);
        let room = hash.chain_update(own.max(peer).0).finalize().into();
        Self::of(own, peer, room)
    }

    /// Returns the hello for the room in which the two run part `number` of `of` parts of a job. So
    /// parts that run at once meet at one address.
    #[must_use]
    pub fn in_part(self, number: u32, of: u32) -> Self {
        let hash = Sha256::new().chain_update(b"tacit room of a part\0");
        let hash = hash
            .chain_update(self.room)
            .chain_update(number.to_le_bytes());
        let room = hash.chain_update(of.to_le_bytes()).finalize().into();
        Self { room, ..self }
    }

    /// Returns the bytes for the wire.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..40].copy_from_slice(&self.room);
        bytes[40] = u8::from(!self.listens);
        bytes
    }

    /// Reads the bytes from the wire; returns `None` if they are no hello.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<8>()?;
        let (room, side) = rest.split_first_chunk::<32>()?;
        let listens = match side {
            [0] => true,
            [1] => false,
            _ => return None,
        };
        (magic == MAGIC).then_some(Self {
            room: *room,
            listens,
        })
    }
}

/// The only answer of a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum Answer {
    /// The other party is there; all further bytes are from it.
    Go = 1,
    /// The relay has no room left.
    Full = 2,
    /// There are too many connections from one network.
    TooMany = 3,
    /// This party connected again, and the relay serves the later connection.
    Replaced = 4,
    /// The other party did not come within the time that the relay allows.
    Late = 5,
    /// The first message was no hello.
    Malformed = 6,
}

impl Answer {
    fn from_byte(byte: u8) -> Self {
        match byte {
            1 => Self::Go,
            2 => Self::Full,
            3 => Self::TooMany,
            4 => Self::Replaced,
            5 => Self::Late,
            _ => Self::Malformed,
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Go => "the other party is at the relay",
            Self::Full => "the relay has no room for more parties",
            Self::TooMany => "the relay has no room for more connections from this network",
            Self::Replaced => {
                "the same party connected to the relay again, which ended this connection"
            }
            Self::Late => "the other party did not come to the relay in time",
            Self::Malformed => "the relay and this party do not understand each other",
        })
    }
}

/// Connects to the relay at `address`, and waits for `patience` until the other party is in the
/// room. A relay that has no room, or closes the connection, is asked again within that time.
///
/// # Errors
///
/// The relay cannot be reached, or refuses, or the other party does not come in time.
pub fn join(
    address: &str,
    hello: Hello,
    settings: &Settings,
    patience: Duration,
) -> Result<Transport, NetError> {
    let wait = Wait::at_most(patience, &settings.cancel);
    tcp::while_busy(settings, &wait, is_busy, || {
        join_once(address, hello, settings, (patience, &wait))
    })
}

fn is_busy(error: &NetError) -> bool {
    let has_no_room = matches!(error, NetError::Relay(Answer::Full | Answer::TooMany));
    has_no_room || tcp::is_closed(error)
}

fn join_once(
    address: &str,
    hello: Hello,
    settings: &Settings,
    (patience, wait): (Duration, &Wait<'_>),
) -> Result<Transport, NetError> {
    let socket = tcp::connect(address, Reach::Anywhere, settings).map_err(of_relay)?;
    let transport = tls::websocket_to(socket, address, settings)?;
    enter(transport, hello, (patience, wait))
}

/// Names the room over a transport that leads to a relay, and waits for `patience` until the other
/// party is there.
///
/// # Errors
///
/// The relay refuses, or the other party does not come in time.
pub fn enter(
    mut transport: Transport,
    hello: Hello,
    (patience, wait): (Duration, &Wait<'_>),
) -> Result<Transport, NetError> {
    let awaited = Awaited::AtRelay;
    let ended = |interrupt| NetError::interrupted(interrupt, awaited, patience);
    let bytes = hello.to_bytes();
    let mut sent = 0;
    while sent < bytes.len() {
        let parts = [IoSlice::new(&bytes[sent..])];
        sent += transport.write(&parts, wait).map_err(ended)?;
    }
    let mut answer = [0];
    match transport.read(&mut answer, wait).map_err(ended)? {
        0 => Err(NetError::Closed { awaited }),
        _ => match Answer::from_byte(answer[0]) {
            Answer::Go => Ok(transport),
            refused => Err(NetError::Relay(refused)),
        },
    }
}

/// Converts an error of connecting to one about a relay, where no other party has to listen.
fn of_relay(error: NetError) -> NetError {
    match error {
        NetError::Unreachable {
            address,
            after,
            reason,
        } => NetError::RelayUnreachable {
            address,
            after,
            reason,
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::thread;

    use proptest::prelude::*;

    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    /// Starts a relay that gives these answers, one per connection, and closes the connection
    /// without an answer for `None`. Joins it.
    fn answers(answers: &[Option<Answer>]) -> Result<Transport, NetError> {
        let relay = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = relay.local_addr().unwrap().to_string();
        let hello = Hello {
            room: [7; 32],
            listens: true,
        };
        thread::scope(|scope| {
            scope.spawn(move || {
                for answer in answers {
                    let (socket, _) = relay.accept().unwrap();
                    let (guest, heard) = Guest::accept(Arc::new(socket), &[], LONG).unwrap();
                    assert_eq!(heard, Some(hello));
                    if let Some(answer) = answer {
                        guest.answer(*answer).unwrap();
                    }
                }
            });
            join(&address, hello, &Settings::default(), LONG)
        })
    }

    #[test]
    fn a_relay_that_is_busy_is_asked_again() {
        let busy = [Some(Answer::Full), None, Some(Answer::TooMany)];
        let all = [&busy[..], &[Some(Answer::Go)]].concat();
        assert!(answers(&all).is_ok());
        let all = [&busy[..], &[Some(Answer::Malformed)]].concat();
        let ended = answers(&all).map(drop);
        let is_final = matches!(ended, Err(NetError::Relay(Answer::Malformed)));
        assert!(is_final, "{ended:?}");
    }

    #[test]
    fn a_relay_that_is_busy_is_not_asked_again_once_the_time_is_up() {
        let settings = Settings::default();
        let wait = Wait::at_most(Duration::ZERO, &settings.cancel);
        let mut answers = [Answer::Full, Answer::Malformed].into_iter();
        let ended = tcp::while_busy(&settings, &wait, is_busy, || {
            Err::<(), _>(NetError::Relay(answers.next().unwrap()))
        });
        let is_first = matches!(ended, Err(NetError::Relay(Answer::Full)));
        assert!(is_first, "{ended:?}");
    }

    #[test]
    fn a_hello_begins_with_its_name_and_ends_with_a_side() {
        let hello = Hello {
            room: [7; 32],
            listens: true,
        };
        for place in (0..8).chain([40]) {
            let mut bytes = hello.to_bytes();
            bytes[place] ^= 2;
            assert_eq!(Hello::from_bytes(&bytes), None, "byte {place}");
        }
    }

    proptest! {
        #[test]
        fn a_hello_is_written_as_it_came(room: [u8; 32], listens: bool) {
            let hello = Hello { room, listens };
            prop_assert_eq!(Hello::from_bytes(&hello.to_bytes()), Some(hello));
        }

        #[test]
        fn what_is_no_hello_is_refused(head: [u8; 32], tail: [u8; 9]) {
            let bytes: Vec<u8> = [&head[..], &tail].concat();
            let bytes: [u8; Hello::BYTES] = bytes.try_into().unwrap();
            if let Some(hello) = Hello::from_bytes(&bytes) {
                prop_assert_eq!(hello.to_bytes(), bytes);
            }
        }
    }
}
