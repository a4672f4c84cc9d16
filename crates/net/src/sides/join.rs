//! Opens side streams, and joins incoming ones to their sessions.

use std::collections::HashMap;
use std::io::IoSlice;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustls::{ClientConfig, ServerConfig};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::{PREAMBLE, Sides, StreamDirection, work};
use crate::tls::{SideHandshake, TlsStream};
use crate::{Awaited, Fingerprint, Interrupt, NetError, Settings, Transport, Wait, tcp};

/// The bytes of an id.
const ID_BYTES: usize = 16;
/// The bytes before the handshake.
pub(super) const HEAD_BYTES: usize = PREAMBLE.len() + ID_BYTES;
/// The bytes of a proof.
const PROOF_BYTES: usize = 32;

/// The number of handshakes of side streams at once, for all sessions of one address. Each belongs
/// to an open session.
const MOST_HANDSHAKES: usize = 64;

/// The name of a stream on the network.
pub(super) type Id = [u8; ID_BYTES];
type Proof = Zeroizing<[u8; PROOF_BYTES]>;

/// The values that bind a stream to its session. Only the two ends of the session know them.
#[derive(Clone)]
pub(crate) struct Token {
    way: StreamDirection,
    place: usize,
    id: Id,
    /// The proof of the end that connects.
    connecting: Proof,
    /// The answer of the other end.
    listening: Proof,
}

impl Token {
    /// The bytes of the exporter that make a token.
    pub(crate) const BYTES: usize = ID_BYTES + 2 * PROOF_BYTES;

    /// Makes the token of the `place`th stream of a direction from the exporter.
    pub(crate) fn new(way: StreamDirection, place: usize, exported: &[u8; Self::BYTES]) -> Self {
        let (mut id, mut connecting) = ([0; ID_BYTES], Zeroizing::new([0; PROOF_BYTES]));
        let mut listening = Zeroizing::new([0; PROOF_BYTES]);
        let (head, proofs) = exported.split_at(ID_BYTES);
        let (first, second) = proofs.split_at(PROOF_BYTES);
        id.copy_from_slice(head);
        connecting.copy_from_slice(first);
        listening.copy_from_slice(second);
        Self {
            way,
            place,
            id,
            connecting,
            listening,
        }
    }
}

#[cfg(test)]
impl Token {
    pub(super) fn id(&self) -> &Id {
        &self.id
    }
}

/// The values with which the end that connected opens streams.
pub(crate) struct Opener {
    pub(crate) address: SocketAddr,
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) own: Fingerprint,
    pub(crate) peer: Fingerprint,
    pub(crate) tokens: Vec<Token>,
    pub(crate) handshake_timeout: Duration,
}

impl Opener {
    /// Opens the streams of a direction in the background. If that fails, the direction stays
    /// without.
    pub(super) fn open(&mut self, way: StreamDirection, sides: &Arc<Sides>) {
        let (these, others) = self.tokens.drain(..).partition(|token| token.way == way);
        self.tokens = others;
        let these: Vec<Token> = these;
        for token in these {
            let task = OneOpening {
                address: self.address,
                config: Arc::clone(&self.config),
                own: self.own,
                peer: self.peer,
                handshake_timeout: self.handshake_timeout,
                token,
                sides: Arc::clone(sides),
            };
            let opening = thread::Builder::new().name("side stream".to_owned());
            // Without a thread the direction has no streams, as if a stream were refused.
            let _ = opening.spawn(move || task.run());
        }
    }
}

struct OneOpening {
    address: SocketAddr,
    config: Arc<ClientConfig>,
    own: Fingerprint,
    peer: Fingerprint,
    handshake_timeout: Duration,
    token: Token,
    sides: Arc<Sides>,
}

impl OneOpening {
    fn run(self) -> Result<(), NetError> {
        let wait = Wait::at_most(self.handshake_timeout, &self.sides.stop);
        let failed = |interrupt| {
            NetError::interrupted(interrupt, Awaited::Handshake, self.handshake_timeout)
        };
        let socket = TcpStream::connect_timeout(&self.address, self.handshake_timeout);
        let mut transport = socket
            .and_then(tcp::transport)
            .map_err(|error| failed(Interrupt::Io(error)))?;
        let head = [&PREAMBLE[..], &self.token.id].concat();
        write(&mut transport, &head, &wait).map_err(failed)?;
        let handshake = SideHandshake {
            own: self.own,
            timeout: self.handshake_timeout,
            cancel: &self.sides.stop,
        };
        let (mut stream, peer) = handshake.call(Arc::clone(&self.config), transport)?;
        let sent = say(&mut stream, &self.token.connecting, &wait);
        sent.map_err(failed)?;
        // From here on the other end may use the stream, so this wait has no time limit.
        let endless = Wait::until(&self.sides.stop);
        let answer = hear(&mut stream, &endless).map_err(failed)?;
        if peer != self.peer || !is_same(&answer, &self.token.listening) {
            return Err(NetError::ForeignStream);
        }
        let leaves = self.token.way == StreamDirection::Forth;
        let begun = work::begin(
            &self.sides,
            (self.token.way, self.token.place),
            leaves,
            stream,
        );
        begun.map_err(|error| failed(Interrupt::Io(error)))
    }
}

fn write(transport: &mut Transport, mut bytes: &[u8], wait: &Wait<'_>) -> Result<(), Interrupt> {
    while !bytes.is_empty() {
        let count = transport.write(&[IoSlice::new(bytes)], wait)?;
        bytes = &bytes[count..];
    }
    Ok(())
}

fn say(stream: &mut TlsStream, proof: &Proof, wait: &Wait<'_>) -> Result<(), Interrupt> {
    let mut rest = &proof[..];
    while !rest.is_empty() {
        let count = stream.write(&[IoSlice::new(rest)], wait)?;
        rest = &rest[count..];
    }
    stream.flush(wait)
}

fn hear(stream: &mut TlsStream, wait: &Wait<'_>) -> Result<Proof, Interrupt> {
    let (mut proof, mut here) = (Zeroizing::new([0; PROOF_BYTES]), 0);
    while here < PROOF_BYTES {
        match stream.read(&mut proof[here..], wait)? {
            0 => return Err(Interrupt::Io(std::io::ErrorKind::ConnectionReset.into())),
            count => here += count,
        }
    }
    Ok(proof)
}

fn is_same(proof: &Proof, expected: &Proof) -> bool {
    proof[..].ct_eq(&expected[..]).into()
}

/// A stream that a session waits for.
#[derive(Clone)]
struct Entry {
    token: Token,
    peer: Fingerprint,
    own: Fingerprint,
    config: Arc<ServerConfig>,
    sides: Arc<Sides>,
}

/// The streams that the sessions of one address wait for.
#[derive(Default)]
pub(crate) struct Expected {
    entries: Mutex<HashMap<Id, Entry>>,
    /// A token that each handshake holds while it runs.
    running: Arc<()>,
}

impl Expected {
    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets streams with these tokens join a session with `peer`.
    pub(crate) fn expect(
        &self,
        tokens: Vec<Token>,
        [own, peer]: [Fingerprint; 2],
        config: &Arc<ServerConfig>,
        sides: &Arc<Sides>,
    ) {
        let entry = |token: Token| {
            let (config, sides) = (Arc::clone(config), Arc::clone(sides));
            let entry = Entry {
                token,
                peer,
                own,
                config,
                sides,
            };
            (entry.token.id, entry)
        };
        let mut entries = self.lock();
        entries.retain(|_, entry| !entry.sides.stop.is_cancelled());
        entries.extend(tokens.into_iter().map(entry));
    }

    /// Returns whether an open session waits for a stream.
    pub(crate) fn is_any(&self) -> bool {
        let mut entries = self.lock();
        entries.retain(|_, entry| !entry.sides.stop.is_cancelled());
        !entries.is_empty()
    }

    pub(super) fn has(&self, id: &Id) -> bool {
        self.find(id).is_some()
    }

    /// Returns a place for a handshake, if one is left.
    pub(super) fn enter(&self) -> Option<Arc<()>> {
        let place = Arc::clone(&self.running);
        (Arc::strong_count(&place) <= MOST_HANDSHAKES + 1).then_some(place)
    }

    fn find(&self, id: &Id) -> Option<Entry> {
        let entries = self.lock();
        let entry = entries.get(id)?;
        (!entry.sides.stop.is_cancelled()).then(|| entry.clone())
    }

    fn remove(&self, id: &Id) -> bool {
        self.lock().remove(id).is_some()
    }
}

/// Returns whether the connection begins like a side stream. Waits for its first byte, and consumes
/// nothing.
pub(crate) fn is_asked_for(socket: &TcpStream, wait: &Wait<'_>) -> Result<bool, Interrupt> {
    let mut first = [0];
    let count = tcp::repeat(wait, || socket.peek(&mut first))?;
    Ok(count == 1 && first[0] == PREAMBLE[0])
}

/// Reads which stream it is, does the handshake and joins it to its session.
pub(crate) fn join(
    socket: TcpStream,
    expected: &Expected,
    settings: &Settings,
) -> Result<(), NetError> {
    let time = settings.handshake_timeout;
    let failed = |interrupt| NetError::interrupted(interrupt, Awaited::Handshake, time);
    let wait = Wait::at_most(time, &settings.cancel);
    let transport = tcp::transport(socket).map_err(|error| failed(Interrupt::Io(error)));
    let mut transport = transport?;
    let id = read_id(&mut transport, &wait).map_err(failed)?;
    let entry = id.and_then(|id| expected.find(&id));
    let entry = entry.ok_or(NetError::ForeignStream)?;
    let handshake = SideHandshake {
        own: entry.own,
        timeout: time,
        cancel: &settings.cancel,
    };
    let (mut stream, peer) = handshake.serve(Arc::clone(&entry.config), transport)?;
    let proof = hear(&mut stream, &wait).map_err(failed)?;
    let is_peer = peer == entry.peer;
    let is_bound = is_same(&proof, &entry.token.connecting);
    if !is_peer || !is_bound || !expected.remove(&entry.token.id) {
        return Err(NetError::ForeignStream);
    }
    say(&mut stream, &entry.token.listening, &wait).map_err(failed)?;
    let leaves = entry.token.way == StreamDirection::Back;
    let place = (entry.token.way, entry.token.place);
    let begun = work::begin(&entry.sides, place, leaves, stream);
    begun.map_err(|error| failed(Interrupt::Io(error)))
}

fn read_id(transport: &mut Transport, wait: &Wait<'_>) -> Result<Option<Id>, Interrupt> {
    let (mut head, mut here) = ([0; HEAD_BYTES], 0);
    while here < head.len() {
        match transport.read(&mut head[here..], wait)? {
            0 => return Err(Interrupt::Io(std::io::ErrorKind::ConnectionReset.into())),
            count => here += count,
        }
    }
    Ok(id_of(&head))
}

/// Returns the id after the preamble. Returns nothing if there is no preamble.
pub(super) fn id_of(head: &[u8; HEAD_BYTES]) -> Option<Id> {
    let id = head.strip_prefix(&PREAMBLE)?;
    id.try_into().ok()
}
