//! A TLS connection over a transport: records in and out, within the bounds of a wait.

use std::io::{self, IoSlice, Read, Write};
use std::time::Duration;

use rustls::{AlertDescription, CertificateError, Connection, Error, InvalidMessage};

use super::pinned::UnexpectedIdentity;
use crate::{CancelHandle, Fingerprint, Interrupt, Link, NetError, Transport, Wait};

/// Encrypted bytes read from the transport at once.
const READ_BYTES: usize = 256 * 1024;
/// Encrypted bytes that may wait to be written.
const WRITE_BYTES: usize = 256 * 1024;

/// How long and how much a side that ends a connection with an alert goes on reading: if it left
/// at once, unread bytes would make the kernel reset the connection, and the alert be lost.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 256 * 1024;

pub(crate) struct TlsStream {
    connection: Connection,
    transport: Transport,
    /// Encrypted bytes that came and that rustls has not taken: `start..end`.
    records: Vec<u8>,
    start: usize,
    end: usize,
    own: Fingerprint,
}

impl TlsStream {
    pub(super) fn new(mut connection: Connection, transport: Transport, own: Fingerprint) -> Self {
        connection.set_buffer_limit(Some(WRITE_BYTES));
        Self {
            connection,
            transport,
            records: Vec::new(),
            start: 0,
            end: 0,
            own,
        }
    }

    pub(super) fn handshake(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        while self.connection.is_handshaking() {
            if self.connection.wants_write() {
                self.flush(wait)?;
            } else if !self.advance(wait)? {
                return Err(Interrupt::Io(io::ErrorKind::ConnectionReset.into()));
            }
        }
        // The client's last flight.
        self.flush(wait)
    }

    /// Who the peer is and what binds this connection, once the handshake is done.
    pub(super) fn agreed(
        &self,
        protocol: &[u8],
        label: &[u8],
    ) -> Result<(Fingerprint, [u8; 32]), NetError> {
        let failed = |reason: String| NetError::Tls { reason };
        if self.connection.alpn_protocol() != Some(protocol) {
            let protocol = String::from_utf8_lossy(protocol);
            let reason = format!("the peer did not agree to speak {protocol}");
            return Err(failed(reason));
        }
        let Some([public_key]) = self.connection.peer_certificates() else {
            return Err(failed("the peer showed no identity".to_owned()));
        };
        let binding = self
            .connection
            .export_keying_material([0; 32], label, Some(&[]))
            .map_err(|error| failed(error.to_string()))?;
        Ok((Fingerprint::of_public_key(public_key), binding))
    }

    pub(crate) fn transport(&self) -> &Transport {
        &self.transport
    }

    pub(crate) fn shaped(self, link: Link) -> Self {
        Self {
            transport: self.transport.shaped(link),
            ..self
        }
    }

    /// Waits until a read gives something, where the transport can, with no memory for records.
    pub(crate) fn rest(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        if self.start < self.end {
            return Ok(());
        }
        (self.start, self.end) = (0, 0);
        self.records = Vec::new();
        self.transport.rest(wait)
    }

    /// Reads decrypted bytes; 0 when the peer has closed.
    pub(crate) fn read(&mut self, into: &mut [u8], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        loop {
            match self.connection.reader().read(into) {
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The connection ended without TLS's farewell. Frames say where they end, so that
                // a cut is noticed with or without it.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) => return Err(Interrupt::Io(error)),
            }
            if !self.advance(wait)? {
                return Ok(0);
            }
        }
    }

    /// Encrypts some of `parts`, after writing out what an earlier call has encrypted.
    pub(crate) fn write(
        &mut self,
        parts: &[IoSlice<'_>],
        wait: &Wait<'_>,
    ) -> Result<usize, Interrupt> {
        self.flush(wait)?;
        let mut taken = 0;
        for part in parts {
            let count = self.connection.writer().write(part)?;
            taken += count;
            if count < part.len() {
                break;
            }
        }
        Ok(taken)
    }

    /// Writes out all that is encrypted.
    pub(crate) fn flush(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        let written = self.write_out(wait);
        written.map_err(|interrupt| self.heard(interrupt))
    }

    fn write_out(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        while self.connection.wants_write() {
            let mut writer = TransportWriter {
                transport: &mut self.transport,
                wait,
                interrupt: None,
            };
            let result = self.connection.write_tls(&mut writer);
            if let Some(interrupt) = writer.interrupt {
                return Err(interrupt);
            }
            result?;
        }
        Ok(())
    }

    /// Says farewell and closes.
    pub(crate) fn finish(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        self.connection.send_close_notify();
        // What the peer says now is not heard: rustls takes no alert of its own for possible any
        // more, and panics in builds with debug assertions.
        self.write_out(wait)?;
        self.transport.finish(wait)
    }

    /// Reads bytes that nobody will look at.
    pub(crate) fn discard(&mut self, into: &mut [u8], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        self.transport.read(into, wait)
    }

    /// Reads from the transport if rustls has taken all that came before. A read that fails leaves
    /// nothing to take: rustls must see each byte once.
    fn refill(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.records.resize(READ_BYTES, 0);
            self.end = self.transport.read(&mut self.records, wait)?;
        }
        Ok(())
    }

    /// Takes in some records, after a read if none are here. `false` at the end of all.
    fn advance(&mut self, wait: &Wait<'_>) -> Result<bool, Interrupt> {
        self.refill(wait)?;
        let mut unread = &self.records[self.start..self.end];
        let count = self.connection.read_tls(&mut unread)?;
        self.start += count;
        if let Err(error) = self.connection.process_new_packets() {
            self.part(wait);
            return Err(self.explain(&error));
        }
        if self.connection.wants_write() && !self.connection.is_handshaking() {
            self.flush(wait)?;
        }
        Ok(count > 0)
    }

    /// Sends the alert that says why, and gives it time to arrive, unless `wait` is cancelled.
    fn part(&mut self, wait: &Wait<'_>) {
        let wait = wait.again(LINGER);
        if self.flush(&wait).is_err() || self.transport.finish(&wait).is_err() {
            return;
        }
        let mut read = 0;
        while read < LINGER_BYTES {
            match self.transport.read(&mut self.records, &wait) {
                Ok(count) if count > 0 => read += count,
                _ => return,
            }
        }
    }

    /// Looks for an alert behind a failed write: a peer that refuses this side sends one and
    /// closes, and writing may notice the close first.
    fn heard(&mut self, interrupt: Interrupt) -> Interrupt {
        if !matches!(interrupt, Interrupt::Io(_)) {
            return interrupt;
        }
        let endless = CancelHandle::new();
        let wait = Wait::at_most(LINGER, &endless);
        for _ in 0..LINGER_BYTES / 4096 {
            if self.refill(&wait).is_err() {
                break;
            }
            let mut unread = &self.records[self.start..self.end];
            match self.connection.read_tls(&mut unread) {
                Ok(count) if count > 0 => self.start += count,
                _ => break,
            }
            if let Err(error) = self.connection.process_new_packets() {
                return self.explain(&error);
            }
        }
        interrupt
    }

    fn explain(&self, error: &Error) -> Interrupt {
        let explained = match error {
            Error::InvalidCertificate(CertificateError::Other(other)) => {
                match other.0.downcast_ref::<UnexpectedIdentity>() {
                    Some(unexpected) => NetError::WrongIdentity {
                        expected: unexpected.expected.clone(),
                        found: unexpected.found,
                    },
                    None => tls(error),
                }
            }
            Error::AlertReceived(alert) if refuses(*alert) => NetError::Refused {
                own: self.own,
                alert: format!("{alert:?}"),
            },
            _ => tls(error),
        };
        Interrupt::Failed(Box::new(explained))
    }
}

fn tls(error: &Error) -> NetError {
    let reason = match error {
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "what answers there does not speak TLS: another program?".to_owned()
        }
        error => error.to_string(),
    };
    NetError::Tls { reason }
}

/// Whether an alert says that this side's identity was not accepted.
fn refuses(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::AccessDenied
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::UnsupportedCertificate
    )
}

/// A transport as rustls wants to write to it.
struct TransportWriter<'a, 'b> {
    transport: &'a mut Transport,
    wait: &'a Wait<'b>,
    interrupt: Option<Interrupt>,
}

impl Write for TransportWriter<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.transport.write(parts, self.wait).map_err(|interrupt| {
            self.interrupt = Some(interrupt);
            io::ErrorKind::Other.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use rustls::{ClientConnection, NamedGroup, ServerConnection};

    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::pinned;
    use super::*;
    use crate::{Channel, Identity, Sink, memory};

    /// A sink that passes on the bytes up to `allowed`, counted from its first, and keeps the rest
    /// until a later write.
    struct Trickle {
        inner: Box<dyn Sink>,
        allowed: Arc<AtomicUsize>,
        passed: usize,
        kept: Vec<u8>,
    }

    impl Sink for Trickle {
        fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt> {
            self.kept.extend(parts.iter().flat_map(|part| part.iter()));
            while self.passed < self.allowed.load(Ordering::SeqCst) && !self.kept.is_empty() {
                let room = self.allowed.load(Ordering::SeqCst) - self.passed;
                let next = &self.kept[..room.min(self.kept.len())];
                let count = self.inner.write(&[IoSlice::new(next)], wait)?;
                self.kept.drain(..count);
                self.passed += count;
            }
            Ok(parts.iter().map(|part| part.len()).sum())
        }

        fn finish(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
            self.inner.finish(wait)
        }
    }

    fn streams() -> (TlsStream, TlsStream) {
        let (here, there, _) = streams_with_trickle();
        (here, there)
    }

    /// Both ends of a connection, and what may pass from the second to the first from now on: a
    /// count of bytes that [`Trickle`] reads.
    fn streams_with_trickle() -> (TlsStream, TlsStream, Arc<AtomicUsize>) {
        let (client, server) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        let client_config = pinned::client_config(&client, &[server.fingerprint()]).unwrap();
        let server_config = pinned::server_config(&server, &[client.fingerprint()]).unwrap();
        let name = "peer.invalid".try_into().unwrap();
        let here = ClientConnection::new(Arc::new(client_config), name).unwrap();
        let there = ServerConnection::new(Arc::new(server_config)).unwrap();
        let (a, b) = memory::raw_pair(1 << 20);
        let allowed = Arc::new(AtomicUsize::new(usize::MAX));
        let trickle = |inner| Trickle {
            inner,
            allowed: Arc::clone(&allowed),
            passed: 0,
            kept: Vec::new(),
        };
        let b = b.into_transport().map_sink(|sink| Box::new(trickle(sink)));
        let run = |connection: Connection, transport: Transport, own| {
            let mut stream = TlsStream::new(connection, transport, own);
            let cancel = CancelHandle::new();
            let wait = Wait::at_most(Duration::from_secs(20), &cancel);
            stream.handshake(&wait).unwrap();
            stream
        };
        thread::scope(|scope| {
            let accepted = scope.spawn(|| run(there.into(), b, server.fingerprint()));
            let here = run(here.into(), a.into_transport(), client.fingerprint());
            (here, accepted.join().unwrap(), Arc::clone(&allowed))
        })
    }

    const MOMENT: Duration = Duration::from_millis(20);

    fn write_all(stream: &mut TlsStream, bytes: &[u8]) {
        let cancel = CancelHandle::new();
        let wait = Wait::at_most(Duration::from_secs(20), &cancel);
        let count = stream.write(&[IoSlice::new(bytes)], &wait).unwrap();
        assert_eq!(count, bytes.len());
        stream.flush(&wait).unwrap();
    }

    fn read_for(stream: &mut TlsStream, time: Duration) -> Result<Vec<u8>, Interrupt> {
        let cancel = CancelHandle::new();
        let mut bytes = vec![0; 1000];
        let count = stream.read(&mut bytes, &Wait::at_most(time, &cancel))?;
        bytes.truncate(count);
        Ok(bytes)
    }

    #[test]
    fn a_record_is_taken_once_whatever_times_out() {
        let (mut here, mut there, allowed) = streams_with_trickle();
        let long = Duration::from_secs(20);
        let over = |result| matches!(result, Err(Interrupt::TimedOut));
        write_all(&mut there, b"first");
        assert_eq!(read_for(&mut here, long).unwrap(), b"first");
        for _ in 0..3 {
            assert!(over(read_for(&mut here, MOMENT)));
        }
        write_all(&mut there, b"second");
        assert_eq!(read_for(&mut here, long).unwrap(), b"second");
        // A record in three parts, each followed by a wait that times out: its header cut, its body
        // cut. `passed` counts from the first byte of the handshake, so that a cut is relative to
        // it.
        let passed = here.transport.counter().received_bytes as usize;
        for cut in [3, 15] {
            allowed.store(passed + cut, Ordering::SeqCst);
            write_all(&mut there, if cut == 3 { b"third" } else { b"fourth" });
            assert!(over(read_for(&mut here, MOMENT)));
            assert!(over(read_for(&mut here, MOMENT)));
        }
        allowed.store(usize::MAX, Ordering::SeqCst);
        write_all(&mut there, b"fifth");
        let mut all = Vec::new();
        while all.len() < b"thirdfourthfifth".len() {
            all.extend(read_for(&mut here, long).unwrap());
        }
        assert_eq!(all, b"thirdfourthfifth");
    }

    /// A peer that leaves a broken record behind and is gone when this side says farewell.
    #[test]
    fn a_farewell_that_cannot_leave_ends_in_an_error() {
        let (mut here, mut there) = streams();
        let cancel = CancelHandle::new();
        let wait = Wait::at_most(Duration::from_secs(20), &cancel);
        let record = [&[0x17, 3, 3, 0, 32][..], &[7; 32]].concat();
        let parts = [IoSlice::new(&record)];
        assert_eq!(there.transport.write(&parts, &wait).unwrap(), record.len());
        drop(there);
        assert!(matches!(here.finish(&wait), Err(Interrupt::Io(_))));
    }

    #[test]
    fn a_channel_keeps_its_place_between_messages_and_within_one() {
        let (here, there, allowed) = streams_with_trickle();
        let own = here.own;
        let mut there = Channel::over_tls(there, own, [1; 32]);
        let mut here = Channel::over_tls(here, own, [1; 32]);
        for round in 1..4 {
            here.set_timeout(MOMENT);
            let error = here.receive(100).unwrap_err();
            assert!(matches!(error, NetError::Timeout { .. }), "{error}");
            there.send(round, &[round; 100]).unwrap();
            let passed = here.meter().received.wire_bytes as usize;
            allowed.store(passed + 40, Ordering::SeqCst);
            there.flush().unwrap();
            let error = here.receive(100).unwrap_err();
            assert!(matches!(error, NetError::Timeout { .. }), "{error}");
            allowed.store(usize::MAX, Ordering::SeqCst);
            there.send(9, &[round; 10]).unwrap();
            there.flush().unwrap();
            here.set_timeout(Duration::from_secs(20));
            assert_eq!(here.receive(100).unwrap().payload, [round; 100]);
            assert_eq!(here.receive(100).unwrap().payload, [round; 10]);
        }
    }

    #[test]
    fn the_key_exchange_is_post_quantum() {
        let (here, there) = streams();
        for stream in [here, there] {
            let group = stream.connection.negotiated_key_exchange_group();
            assert_eq!(group.unwrap().name(), NamedGroup::X25519MLKEM768);
        }
    }

    #[test]
    fn keys_are_renewed_while_frames_flow() {
        let (mut here, there) = streams();
        let own = here.own;
        here.connection.refresh_traffic_keys().unwrap();
        let mut there = Channel::over_tls(there, own, [1; 32]);
        let mut here = Channel::over_tls(here, own, [1; 32]);
        for round in 1..4 {
            here.send(round, &[round; 100]).unwrap();
            here.flush().unwrap();
            assert_eq!(there.receive(100).unwrap().payload, [round; 100]);
            there.send(round, &[round; 50]).unwrap();
            there.flush().unwrap();
            assert_eq!(here.receive(50).unwrap().payload, [round; 50]);
        }
    }
}
