//! Both halves of an idle source as bytes, for a stock on disk.
//!
//! | bytes | content |
//! |---|---|
//! | 0..4 | `TSRS` (the sender's half) or `TSRR` (the receiver's) |
//! | 4 | version, 1 |
//! | 5 | extension: k, or 17 for silent |
//! | 6 | 0 semi-honest, 1 malicious |
//! | 7 | 1 if silent OT has started, else 0 |
//! | 8..40 | session tag |
//! | 40..56 | number of the first OT that is left; refills that are done; little-endian |
//! | 56..64 | how many OTs are left |
//! | .. | q or t of each OT that is left, 16 bytes each |
//! | .. | the state of the extension, the sender's with Δ |
//!
//! All of it is secret.

use zeroize::Zeroizing;

use super::shelf::Shelf;
use super::{Extension, SourceReceiver, SourceSender, receiver, sender};
use crate::correlated::{CotReceiver, CotSender, max_state_bytes};
use crate::silent::{SilentReceiver, SilentSender};
use crate::state::{Reader, Writer};
use crate::{ApiMisuse, Corrupted, Error, Security, SessionTag, Stored};

const VERSION: u8 = 1;

/// What stands before the OTs.
struct Head {
    extension: Extension,
    security: Security,
    begun: bool,
    tag: SessionTag,
    next: u64,
    refills: u64,
    left: usize,
}

impl Head {
    fn write(&self, magic: &[u8; 4], writer: &mut Writer) {
        writer.bytes(magic);
        let malicious = u8::from(self.security == Security::Malicious);
        writer.bytes(&[VERSION, self.extension.id(), malicious, self.begun.into()]);
        writer.bytes(self.tag.as_bytes());
        writer.number(self.next);
        writer.number(self.refills);
        writer.number(self.left as u64);
    }

    fn read(what: Stored, magic: &[u8; 4], reader: &mut Reader<'_>) -> Result<Self, Corrupted> {
        if reader.array()? != *magic {
            return Err(Corrupted::Kind { what });
        }
        let [found, extension, security, begun] = reader.array()?;
        if found != VERSION {
            let expected = VERSION;
            return Err(Corrupted::Version {
                what,
                expected,
                found,
            });
        }
        let extension = Extension::from_id(extension).map_err(|_| reader.bad_value())?;
        let security = match security {
            0 => Security::SemiHonest,
            1 => Security::Malicious,
            _ => return Err(reader.bad_value()),
        };
        let begun = match (begun, extension) {
            (0, _) => false,
            (1, Extension::Silent) => true,
            _ => return Err(reader.bad_value()),
        };
        let tag = SessionTag::new(reader.array()?);
        let [next, refills] = [reader.number()?, reader.number()?];
        let left = reader.count()?;
        if next.checked_add(left as u64).is_none() || refills == u64::MAX {
            return Err(reader.bad_value());
        }
        Ok(Self {
            extension,
            security,
            begun,
            tag,
            next,
            refills,
            left,
        })
    }
}

impl SourceSender {
    /// This half as bytes. Secret.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::Refilling`] unless it is idle; [`ApiMisuse::Ended`].
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.wanted.check()?;
        if !self.is_idle() {
            return Err(ApiMisuse::Refilling.into());
        }
        let left = self.shelf.left();
        let engine_bytes = match &self.engine {
            sender::Engine::Silent(silent) => silent.state_bytes(),
            _ => max_state_bytes(self.extension.field()),
        };
        let mut writer = Writer::with_capacity(128 + 16 * left.len() + engine_bytes);
        let head = Head {
            extension: self.extension,
            security: self.security,
            begun: matches!(self.engine, sender::Engine::Silent(_)),
            tag: self.tag,
            next: self.shelf.next(),
            refills: self.wanted.refills,
            left: left.len(),
        };
        head.write(b"TSRS", &mut writer);
        writer.blocks(left.iter().copied());
        match &self.engine {
            sender::Engine::SoftSpoken(cot) | sender::Engine::First(cot) => cot.write(&mut writer),
            sender::Engine::Silent(silent) => silent.write(&mut writer),
            sender::Engine::Batch(_) | sender::Engine::Ended => {}
        }
        Ok(writer.finish())
    }

    /// What [`to_bytes`](Self::to_bytes) wrote. Of each state one half goes on, ever: two would
    /// hand out the same numbers.
    ///
    /// # Errors
    ///
    /// [`Corrupted`] unless the bytes are such a half.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(Stored::SenderState, bytes);
        let head = Head::read(Stored::SenderState, b"TSRS", &mut reader)?;
        let shelf = Shelf::new(head.next, reader.blocks(head.left)?);
        let Head { security, tag, .. } = head;
        let (delta, engine) = if head.begun {
            let silent = SilentSender::read(&mut reader, &tag, security)?;
            (
                silent.delta().clone(),
                sender::Engine::Silent(Box::new(silent)),
            )
        } else {
            let field = head.extension.field();
            let cot = CotSender::read(&mut reader, &tag, field, security)?;
            let delta = cot.delta().clone();
            match head.extension {
                Extension::SoftSpoken(_) => (delta, sender::Engine::SoftSpoken(cot)),
                Extension::Silent => (delta, sender::Engine::First(cot)),
            }
        };
        reader.finish()?;
        Ok(Self::from_parts(
            tag,
            head.extension,
            security,
            delta,
            engine,
            shelf,
            head.refills,
        ))
    }
}

impl SourceReceiver {
    /// This half as bytes. Secret.
    ///
    /// # Errors
    ///
    /// [`ApiMisuse::Refilling`] unless it is idle; [`ApiMisuse::Ended`].
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.wanted.check()?;
        if !self.is_idle() {
            return Err(ApiMisuse::Refilling.into());
        }
        let left = self.shelf.left();
        let engine_bytes = match &self.engine {
            receiver::Engine::Silent(silent) => silent.state_bytes(),
            _ => max_state_bytes(self.extension.field()),
        };
        let mut writer = Writer::with_capacity(128 + 16 * left.len() + engine_bytes);
        let head = Head {
            extension: self.extension,
            security: self.security,
            begun: matches!(self.engine, receiver::Engine::Silent(_)),
            tag: self.tag,
            next: self.shelf.next(),
            refills: self.wanted.refills,
            left: left.len(),
        };
        head.write(b"TSRR", &mut writer);
        writer.blocks(left.iter().copied());
        match &self.engine {
            receiver::Engine::SoftSpoken(cot) | receiver::Engine::First(cot) => {
                cot.write(&mut writer);
            }
            receiver::Engine::Silent(silent) => silent.write(&mut writer),
            receiver::Engine::Batch(..) | receiver::Engine::Ended => {}
        }
        Ok(writer.finish())
    }

    /// What [`to_bytes`](Self::to_bytes) wrote. Of each state one half goes on, ever.
    ///
    /// # Errors
    ///
    /// [`Corrupted`] unless the bytes are such a half.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(Stored::ReceiverState, bytes);
        let head = Head::read(Stored::ReceiverState, b"TSRR", &mut reader)?;
        let shelf = Shelf::new(head.next, reader.blocks(head.left)?);
        let Head { security, tag, .. } = head;
        let engine = if head.begun {
            receiver::Engine::Silent(SilentReceiver::read(&mut reader, &tag, security)?)
        } else {
            let field = head.extension.field();
            let cot = CotReceiver::read(&mut reader, &tag, field, security)?;
            match head.extension {
                Extension::SoftSpoken(_) => receiver::Engine::SoftSpoken(cot),
                Extension::Silent => receiver::Engine::First(cot),
            }
        };
        reader.finish()?;
        Ok(Self::from_parts(
            tag,
            head.extension,
            security,
            engine,
            shelf,
            head.refills,
        ))
    }
}
