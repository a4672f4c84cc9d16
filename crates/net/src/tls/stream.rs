//! A TLS connection over a transport: records in and out, within the bounds of a wait.

use std::io::{self, IoSlice, Read, Write};
use std::time::Duration;

use rustls::{AlertDescription, CertificateError, Connection, Error, InvalidMessage};
use zeroize::Zeroizing;

use super::pinned::UnexpectedIdentity;
use crate::identity::worker::{InvalidWorker, ShownIdentity};
use crate::{CancelHandle, Fingerprint, Interrupt, Link, NetError, Transport, Wait};

/// The number of encrypted bytes of one read from the transport.
const READ_BYTES: usize = 256 * 1024;
/// The number of encrypted bytes that may wait to be written.
const WRITE_BYTES: usize = 256 * 1024;

/// The time and the bytes for which a side that ends a connection with an alert goes on reading. If
/// it left at once, unread bytes would make the kernel reset the connection and lose the alert.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 256 * 1024;

pub(crate) struct TlsStream {
    connection: Connection,
    transport: Transport,
    /// The encrypted bytes that have arrived and that rustls has not taken: `start..end`.
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
        // This sends the client's last flight.
        self.flush(wait)
    }

    /// Returns the peer's identity, once the handshake is done, and the index of the agreed
    /// protocol in `protocols`.
    pub(super) fn agreed(&self, protocols: &[Vec<u8>]) -> Result<(ShownIdentity, usize), NetError> {
        let failed = |reason: String| NetError::Tls { reason };
        let spoken = self.connection.alpn_protocol();
        let place = protocols
            .iter()
            .position(|one| Some(&one[..]) == spoken)
            .ok_or_else(|| {
                let names: Vec<_> = protocols.iter().map(|one| one.escape_ascii()).collect();
                let name = names.last().map(ToString::to_string).unwrap_or_default();
                failed(format!("the peer did not agree to speak {name}"))
            })?;
        let Some([public_key, behind @ ..]) = self.connection.peer_certificates() else {
            return Err(failed("the peer showed no identity".to_owned()));
        };
        Ok((ShownIdentity::of(public_key, behind)?, place))
    }

    /// Returns a value that only the two ends of this connection know: the exporter of RFC 8446,
    /// 7.5.
    pub(super) fn export<const N: usize>(
        &self,
        label: &[u8],
        context: &[u8],
    ) -> Result<Zeroizing<[u8; N]>, NetError> {
        let mut exported = Zeroizing::new([0; N]);
        self.connection
            .export_keying_material(&mut exported[..], label, Some(context))
            .map_err(|error| NetError::Tls {
                reason: error.to_string(),
            })?;
        Ok(exported)
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

    /// Waits until a read returns something, if the transport can, with no memory for records.
    pub(crate) fn rest(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        if self.start < self.end {
            return Ok(());
        }
        (self.start, self.end) = (0, 0);
        self.records = Vec::new();
        self.transport.rest(wait)
    }

    /// Reads decrypted bytes. Returns 0 when the peer has closed.
    pub(crate) fn read(&mut self, into: &mut [u8], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        loop {
            if let Some(count) = self.read_decrypted(into)? {
                return Ok(count);
            }
            if !self.advance(wait)? {
                return Ok(0);
            }
        }
    }

    /// Reads decrypted bytes of the records that have arrived, if any. Returns 0 when the peer has
    /// closed.
    pub(crate) fn read_at_once(
        &mut self,
        into: &mut [u8],
        wait: &Wait<'_>,
    ) -> Result<Option<usize>, Interrupt> {
        if let Some(count) = self.read_decrypted(into)? {
            return Ok(Some(count));
        }
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.records.resize(READ_BYTES, 0);
            match self.transport.read_at_once(&mut self.records, wait)? {
                Some(count) => self.end = count,
                None => return Ok(None),
            }
        }
        self.take_in(wait)?;
        self.read_decrypted(into)
    }

    /// Reads bytes that are already decrypted, if any. Returns 0 when the peer has closed.
    fn read_decrypted(&mut self, into: &mut [u8]) -> Result<Option<usize>, Interrupt> {
        match self.connection.reader().read(into) {
            Ok(count) => Ok(Some(count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            // The connection ended without TLS's close alert. Frames contain their lengths, so a
            // cut is noticed with or without that alert.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Some(0)),
            Err(error) => Err(Interrupt::Io(error)),
        }
    }

    /// Encrypts some of `parts`, after writing out the bytes that an earlier call has encrypted.
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

    /// Writes out all encrypted bytes.
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

    /// Sends the close alert and closes.
    pub(crate) fn finish(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        self.connection.send_close_notify();
        // The peer's answer is not read: rustls no longer expects to send an alert of its own, and
        // panics in builds with debug assertions.
        self.write_out(wait)?;
        self.transport.finish(wait)
    }

    /// Reads and discards bytes.
    pub(crate) fn discard(&mut self, into: &mut [u8], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        self.transport.read(into, wait)
    }

    /// Reads from the transport if rustls has taken all earlier bytes. A failed read leaves nothing
    /// to take: rustls must see each byte once.
    fn refill(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.records.resize(READ_BYTES, 0);
            self.end = self.transport.read(&mut self.records, wait)?;
        }
        Ok(())
    }

    /// Processes some records, after a read if none are here. Returns `false` at the end of the
    /// stream.
    fn advance(&mut self, wait: &Wait<'_>) -> Result<bool, Interrupt> {
        self.refill(wait)?;
        let count = self.take_in(wait)?;
        if self.connection.wants_write() && !self.connection.is_handshaking() {
            self.flush(wait)?;
        }
        Ok(count > 0)
    }

    /// Gives rustls some of the bytes that have arrived, and returns their number. Returns 0 at the
    /// end of the stream.
    fn take_in(&mut self, wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let mut unread = &self.records[self.start..self.end];
        let count = self.connection.read_tls(&mut unread)?;
        self.start += count;
        if let Err(error) = self.connection.process_new_packets() {
            self.part(wait);
            return Err(self.explain(&error));
        }
        Ok(count)
    }

    /// Sends the alert that gives the reason, and gives it time to arrive, unless `wait` is
    /// cancelled.
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
                let reason = &other.0;
                if let Some(unexpected) = reason.downcast_ref::<UnexpectedIdentity>() {
                    NetError::WrongIdentity {
                        expected: unexpected.expected.clone(),
                        found: unexpected.found,
                    }
                } else if let Some(invalid) = reason.downcast_ref::<InvalidWorker>() {
                    (*invalid).into()
                } else {
                    tls(error)
                }
            }
            Error::AlertReceived(alert) if refuses(*alert) => NetError::Refused {
                own: self.own,
                alert: format!("{alert:?}"),
            },
            Error::AlertReceived(AlertDescription::NoApplicationProtocol) => NetError::OtherPurpose,
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

/// Returns whether an alert says that this side's identity was not accepted.
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

/// A transport in the form in which rustls writes to it.
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
mod tests;
