//! Base OTs, from which a session's correlated OTs grow.
//!
//! The garbler chooses with the bits of its Δ, the evaluator offers. On ristretto255 the two
//! messages do not depend on each other and cross on the wire; from ML-KEM the evaluator's answers
//! the garbler's. The garbler's goes in parts, so that the evaluator works on one while the garbler
//! makes the next. What comes out serves every run of the session in these roles, and is discarded
//! with the session's first error.

use core::num::NonZeroUsize;

use rand_core::CryptoRng;
use tacit_kernels::Block;
use tacit_ot::base::{BaseOt, PART, ml_kem, ristretto};
use tacit_ot::correlated::{CotReceiver, CotSender};
use tacit_ot::source::{Cost, Extension};
use tacit_ot::{Delta, FieldBits, Security, SessionTag};

use crate::message::Kind;
use crate::party::{Action, Party};
use crate::session::RunTag;
use crate::{Error, Misbehaviour};

/// The field of the OT extension: the wire's version fixes it.
const FIELD: FieldBits = FieldBits::DEFAULT;

impl From<tacit_ot::Error> for Error {
    fn from(error: tacit_ot::Error) -> Self {
        match error {
            tacit_ot::Error::PeerMisbehaved(fault) => Misbehaviour::ObliviousTransfer(fault).into(),
            tacit_ot::Error::ApiMisuse(tacit_ot::ApiMisuse::UsedUp { limit }) => {
                Self::TransfersUsedUp { limit }
            }
            _ => Self::ApiMisuse("the OT extension was asked for what it does not give"),
        }
    }
}

/// Size of the message that gives `count` OTs in a session that gave some before.
pub(crate) fn extension_bytes(count: usize) -> u64 {
    let up_to = |count| {
        let extension = Extension::SoftSpoken(FIELD);
        Cost::first_refill(extension, Security::SemiHonest, count).receiver_bytes
    };
    up_to(count) - up_to(0)
}

/// The garbler's end of a session's correlated OTs, with its Δ.
pub struct GarblerOt {
    delta: Block,
    sender: CotSender,
}

impl GarblerOt {
    /// What these OTs withstand.
    #[must_use]
    pub fn security(&self) -> Security {
        self.sender.security()
    }

    /// The offset that all these OTs share. Secret.
    pub(crate) fn delta(&self) -> Block {
        self.delta
    }

    /// The number of the next OT.
    pub(crate) fn next_index(&self) -> u64 {
        self.sender.next_index()
    }

    /// Size of the extension message that gives `count` OTs.
    pub(crate) fn extension_bytes(&self, count: usize) -> usize {
        self.sender.message_len(count)
    }

    /// As many OTs as `offers` has room for, from the evaluator's message.
    pub(crate) fn extend(&mut self, offers: &mut [Block], message: &[u8]) -> Result<(), Error> {
        Ok(self.sender.extend_into(offers, message)?)
    }
}

impl Drop for GarblerOt {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.delta);
    }
}

/// The evaluator's end of a session's correlated OTs.
pub struct EvaluatorOt {
    receiver: CotReceiver,
}

impl EvaluatorOt {
    /// What these OTs withstand.
    #[must_use]
    pub fn security(&self) -> Security {
        self.receiver.security()
    }

    /// The number of the next OT.
    pub(crate) fn next_index(&self) -> u64 {
        self.receiver.next_index()
    }

    /// One OT for each choice, with the message to the garbler.
    pub(crate) fn extend(
        &mut self,
        choices: &[bool],
        received: &mut [Block],
        message: &mut Vec<u8>,
    ) -> Result<(), Error> {
        Ok(self.receiver.extend_into(choices, received, message)?)
    }
}

/// How a session's base OTs are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseOts {
    /// On what they rest; both parties say the same, see [`Proposal`](crate::session::Proposal).
    pub kind: BaseOt,
    /// On how many threads this party works at most.
    pub threads: NonZeroUsize,
}

impl Default for BaseOts {
    /// The default kind on one thread.
    fn default() -> Self {
        Self {
            kind: BaseOt::default(),
            threads: NonZeroUsize::MIN,
        }
    }
}

/// The garbler's side of the setup.
pub struct GarblerSetup(GarblerStage);

enum GarblerStage {
    /// Makes the parts of its message. Each is flushed before the next is made.
    Offering(GarblerWaiting, Flushed),
    Waiting(GarblerWaiting),
    Done(Box<GarblerOt>),
    Spent,
}

/// Whether what was sent last is on its way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flushed {
    Yes,
    No,
}

struct GarblerWaiting {
    tag: SessionTag,
    security: Security,
    delta: Delta,
    base: BaseOts,
    receiver: BaseReceiver,
}

enum BaseReceiver {
    Ristretto255(Box<ristretto::Receiver>),
    MlKem768(Box<ml_kem::Receiver>),
}

impl BaseReceiver {
    fn expected_bytes(&self) -> usize {
        match self {
            Self::Ristretto255(_) => ristretto::Sender::MESSAGE_BYTES,
            Self::MlKem768(receiver) => receiver.expected_bytes(),
        }
    }

    /// The next part of its message, if there is one left.
    fn next_part(&mut self, threads: NonZeroUsize) -> Option<Vec<u8>> {
        match self {
            Self::Ristretto255(receiver) if receiver.left() > 0 => {
                Some(receiver.offer_on(threads, PART))
            }
            Self::MlKem768(receiver) if receiver.left() > 0 => {
                Some(receiver.offer_on(threads, PART))
            }
            _ => None,
        }
    }
}

impl GarblerSetup {
    /// A setup with a fresh Δ and the default base OTs.
    ///
    /// # Errors
    ///
    /// None that the caller could cause.
    pub fn new<R: CryptoRng + ?Sized>(tag: &RunTag, rng: &mut R) -> Result<Self, Error> {
        Self::with(BaseOts::default(), tag, rng)
    }

    /// A setup with a fresh Δ.
    ///
    /// # Errors
    ///
    /// None that the caller could cause.
    pub fn with<R: CryptoRng + ?Sized>(
        base: BaseOts,
        tag: &RunTag,
        rng: &mut R,
    ) -> Result<Self, Error> {
        Self::with_delta(base, tag, Delta::random(rng), rng)
    }

    /// A setup under the Δ that prepared material has already.
    ///
    /// # Errors
    ///
    /// None that the caller could cause.
    pub fn with_delta<R: CryptoRng + ?Sized>(
        base: BaseOts,
        tag: &RunTag,
        delta: Delta,
        rng: &mut R,
    ) -> Result<Self, Error> {
        let tag = SessionTag::new(*tag.as_bytes());
        let choices = delta.choices();
        let receiver = match base.kind {
            BaseOt::Ristretto255 => {
                let receiver = ristretto::Receiver::new(&choices, &tag, rng)?;
                BaseReceiver::Ristretto255(Box::new(receiver))
            }
            BaseOt::MlKem768 => {
                let receiver = ml_kem::Receiver::new(&choices, &tag, rng)?;
                BaseReceiver::MlKem768(Box::new(receiver))
            }
            _ => return Err(UNKNOWN_BASE_OT),
        };
        let waiting = GarblerWaiting {
            tag,
            security: Security::SemiHonest,
            delta,
            base,
            receiver,
        };
        Ok(Self(GarblerStage::Offering(waiting, Flushed::Yes)))
    }

    /// The same setup, whose OTs withstand what `security` says; both parties say the same. It is
    /// semi-honest unless this is called, before the first message.
    #[must_use]
    pub fn secured(mut self, security: Security) -> Self {
        if let GarblerStage::Offering(waiting, _) = &mut self.0 {
            waiting.security = security;
        }
        self
    }

    /// The OTs.
    ///
    /// # Errors
    ///
    /// The setup is not done.
    pub fn finish(self) -> Result<GarblerOt, Error> {
        match self.0 {
            GarblerStage::Done(ot) => Ok(*ot),
            _ => Err(NOT_DONE),
        }
    }
}

/// The evaluator's side of the setup.
pub struct EvaluatorSetup(EvaluatorStage);

enum EvaluatorStage {
    /// Sends its offer first, where that waits for nothing.
    Sending(EvaluatorWaiting, Vec<u8>),
    Waiting(EvaluatorWaiting),
    /// Sends its offer last, where that answers the garbler's message.
    Replying(Box<EvaluatorOt>, Vec<u8>),
    Done(Box<EvaluatorOt>),
    Spent,
}

struct EvaluatorWaiting {
    tag: SessionTag,
    security: Security,
    base: BaseOts,
    sender: BaseSender,
}

enum BaseSender {
    Ristretto255(Box<ristretto::Sender>),
    MlKem768(Box<ml_kem::Sender>),
}

impl BaseSender {
    /// Size of what is still to come of the garbler's message.
    fn expected_bytes(&self) -> usize {
        match self {
            Self::Ristretto255(sender) => sender.expected_bytes(),
            Self::MlKem768(sender) => sender.expected_bytes(),
        }
    }

    fn take(&mut self, threads: NonZeroUsize, part: &[u8]) -> Result<(), Error> {
        match self {
            Self::Ristretto255(sender) => sender.take_on(threads, part)?,
            Self::MlKem768(sender) => sender.take_on(threads, part)?,
        }
        Ok(())
    }
}

impl EvaluatorSetup {
    /// A setup with the default base OTs.
    ///
    /// # Errors
    ///
    /// None that the caller could cause.
    pub fn new<R: CryptoRng + ?Sized>(tag: &RunTag, rng: &mut R) -> Result<Self, Error> {
        Self::with(BaseOts::default(), tag, rng)
    }

    /// A setup.
    ///
    /// # Errors
    ///
    /// None that the caller could cause.
    pub fn with<R: CryptoRng + ?Sized>(
        base: BaseOts,
        tag: &RunTag,
        rng: &mut R,
    ) -> Result<Self, Error> {
        let tag = SessionTag::new(*tag.as_bytes());
        let waiting = |sender| EvaluatorWaiting {
            tag,
            security: Security::SemiHonest,
            base,
            sender,
        };
        Ok(Self(match base.kind {
            BaseOt::Ristretto255 => {
                let (sender, message) = ristretto::Sender::start(Delta::BITS, &tag, rng)?;
                let waiting = waiting(BaseSender::Ristretto255(Box::new(sender)));
                EvaluatorStage::Sending(waiting, message)
            }
            BaseOt::MlKem768 => {
                let sender = ml_kem::Sender::start(Delta::BITS, &tag, rng)?;
                EvaluatorStage::Waiting(waiting(BaseSender::MlKem768(Box::new(sender))))
            }
            _ => return Err(UNKNOWN_BASE_OT),
        }))
    }

    /// The same setup, whose OTs withstand what `security` says; both parties say the same. It is
    /// semi-honest unless this is called, before the first message.
    #[must_use]
    pub fn secured(mut self, security: Security) -> Self {
        if let EvaluatorStage::Sending(waiting, _) | EvaluatorStage::Waiting(waiting) = &mut self.0
        {
            waiting.security = security;
        }
        self
    }

    /// The OTs.
    ///
    /// # Errors
    ///
    /// The setup is not done.
    pub fn finish(self) -> Result<EvaluatorOt, Error> {
        match self.0 {
            EvaluatorStage::Done(ot) => Ok(*ot),
            _ => Err(NOT_DONE),
        }
    }
}

const NOT_DONE: Error = Error::ApiMisuse("a setup is finished when it is done");
const UNKNOWN_BASE_OT: Error = Error::ApiMisuse("the setup does not know this kind of base OT");

const FAILED: Error = Error::ApiMisuse("the setup has failed before");
const NOT_ASKED: Error = Error::ApiMisuse("no message was asked for");

impl Party for GarblerSetup {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        let (stage, action) = match core::mem::replace(&mut self.0, GarblerStage::Spent) {
            GarblerStage::Offering(waiting, Flushed::No) => (
                GarblerStage::Offering(waiting, Flushed::Yes),
                Action::Continue,
            ),
            GarblerStage::Offering(mut waiting, Flushed::Yes) => {
                match waiting.receiver.next_part(waiting.base.threads) {
                    Some(part) => {
                        *message = part;
                        let stage = GarblerStage::Offering(waiting, Flushed::No);
                        (stage, Action::Send(Kind::BaseOtChoice))
                    }
                    None => waiting.wait(),
                }
            }
            GarblerStage::Waiting(waiting) => waiting.wait(),
            GarblerStage::Done(ot) => (GarblerStage::Done(ot), Action::Done),
            GarblerStage::Spent => return Err(FAILED),
        };
        self.0 = stage;
        Ok(action)
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        match core::mem::replace(&mut self.0, GarblerStage::Spent) {
            GarblerStage::Waiting(waiting) => {
                self.0 = GarblerStage::Done(Box::new(waiting.finish(payload)?));
                Ok(())
            }
            _ => Err(NOT_ASKED),
        }
    }
}

impl GarblerWaiting {
    fn wait(self) -> (GarblerStage, Action) {
        let action = Action::Receive {
            kind: Kind::BaseOtOffer,
            max_bytes: self.receiver.expected_bytes(),
        };
        (GarblerStage::Waiting(self), action)
    }

    fn finish(self, offer: &[u8]) -> Result<GarblerOt, Error> {
        let Self {
            tag,
            security,
            delta,
            base,
            receiver,
        } = self;
        let keys = match receiver {
            BaseReceiver::Ristretto255(receiver) => receiver.finish_on(base.threads, offer)?,
            BaseReceiver::MlKem768(receiver) => receiver.finish_on(base.threads, offer)?,
        };
        Ok(GarblerOt {
            delta: delta.to_block(),
            sender: CotSender::with_security(delta, keys, &tag, FIELD, security)?,
        })
    }
}

impl Party for EvaluatorSetup {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        let send = Action::Send(Kind::BaseOtOffer);
        let (stage, action) = match core::mem::replace(&mut self.0, EvaluatorStage::Spent) {
            EvaluatorStage::Sending(waiting, offer) => {
                *message = offer;
                (EvaluatorStage::Waiting(waiting), send)
            }
            EvaluatorStage::Waiting(waiting) => {
                let action = Action::Receive {
                    kind: Kind::BaseOtChoice,
                    max_bytes: waiting.sender.expected_bytes(),
                };
                (EvaluatorStage::Waiting(waiting), action)
            }
            EvaluatorStage::Replying(ot, offer) => {
                *message = offer;
                (EvaluatorStage::Done(ot), send)
            }
            EvaluatorStage::Done(ot) => (EvaluatorStage::Done(ot), Action::Done),
            EvaluatorStage::Spent => return Err(FAILED),
        };
        self.0 = stage;
        Ok(action)
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        match core::mem::replace(&mut self.0, EvaluatorStage::Spent) {
            EvaluatorStage::Waiting(mut waiting) => {
                waiting.sender.take(waiting.base.threads, payload)?;
                self.0 = if waiting.sender.expected_bytes() > 0 {
                    EvaluatorStage::Waiting(waiting)
                } else {
                    waiting.finish()?
                };
                Ok(())
            }
            _ => Err(NOT_ASKED),
        }
    }
}

impl EvaluatorWaiting {
    fn finish(self) -> Result<EvaluatorStage, Error> {
        let (keys, reply) = match self.sender {
            BaseSender::Ristretto255(sender) => (sender.into_keys()?, None),
            BaseSender::MlKem768(sender) => {
                let (keys, reply) = sender.into_answers()?;
                (keys, Some(reply))
            }
        };
        let receiver = CotReceiver::with_security(keys, &self.tag, FIELD, self.security)?;
        let ot = Box::new(EvaluatorOt { receiver });
        Ok(match reply {
            Some(reply) => EvaluatorStage::Replying(ot, reply),
            None => EvaluatorStage::Done(ot),
        })
    }
}

/// Maliciously secure OTs over base OTs of a trusted dealer: for tests that need many.
#[cfg(test)]
pub(crate) fn dealt(tag: &RunTag, prg: &mut tacit_kernels::Prg) -> (GarblerOt, EvaluatorOt) {
    use tacit_ot::base::Key;
    let (tag, security) = (SessionTag::new(*tag.as_bytes()), Security::Malicious);
    let delta = Delta::random(prg);
    let mut key = || {
        let mut bytes = [0; 32];
        prg.fill_bytes(&mut bytes);
        Key::from_bytes(bytes)
    };
    let pairs: Vec<[Key; 2]> = (0..Delta::BITS).map(|_| [key(), key()]).collect();
    let bits = delta.choices();
    let chosen = pairs.iter().zip(bits.iter());
    let chosen = chosen.map(|(pair, bit)| pair[usize::from(*bit)].clone());
    let block = delta.to_block();
    let sender = CotSender::with_security(delta, chosen.collect(), &tag, FIELD, security);
    let receiver = CotReceiver::with_security(pairs, &tag, FIELD, security);
    let garbler = GarblerOt {
        delta: block,
        sender: sender.expect("128 base OTs"),
    };
    let receiver = receiver.expect("128 base OTs");
    (garbler, EvaluatorOt { receiver })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use rand_core::UnwrapErr;
    use tacit_ot::Security;
    use tacit_ot::base::BaseOt;

    use tacit_kernels::Block;

    use super::{BaseOts, EvaluatorSetup, GarblerSetup};
    use crate::party::run_in_memory;
    use crate::session::{Hello, SessionTag};

    #[test]
    fn every_kind_gives_correlated_ots() {
        let (a, b) = (Hello { nonce: [1; 32] }, Hello { nonce: [2; 32] });
        let session = SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b));
        let mut rng = UnwrapErr(getrandom::SysRng);
        let both = [Security::SemiHonest, Security::Malicious];
        for (kind, security) in BaseOt::ALL.into_iter().zip(both) {
            let tag = session.setup(tacit_circuit::Role::Garbler, kind);
            let base = |threads| BaseOts {
                kind,
                threads: NonZeroUsize::new(threads).unwrap(),
            };
            let mut garbler = GarblerSetup::with(base(1), &tag, &mut rng)
                .unwrap()
                .secured(security);
            let mut evaluator = EvaluatorSetup::with(base(2), &tag, &mut rng)
                .unwrap()
                .secured(security);
            run_in_memory(&mut garbler, &mut evaluator).unwrap();
            let (mut garbler, mut evaluator) =
                (garbler.finish().unwrap(), evaluator.finish().unwrap());
            let choices = [true, false, true, true];
            let (mut received, mut kept) = ([Block::ZERO; 4], [Block::ZERO; 4]);
            let mut message = Vec::new();
            evaluator
                .extend(&choices, &mut received, &mut message)
                .unwrap();
            garbler.extend(&mut kept, &message).unwrap();
            for ((t, q), c) in received.iter().zip(kept.iter()).zip(choices) {
                let expected = if c { *q ^ garbler.delta() } else { *q };
                assert_eq!(*t, expected, "{kind}");
            }
        }
    }
}
