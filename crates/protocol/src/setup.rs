//! Base OTs, from which a session's correlated OTs grow.
//!
//! The garbler chooses with the bits of its Δ, the evaluator offers. On ristretto255 the two
//! messages do not depend on each other and cross on the wire; from ML-KEM the evaluator's answers
//! the garbler's. What comes out serves every run of the session in these roles, and is discarded
//! with the session's first error.

use core::num::NonZeroUsize;

use rand_core::CryptoRng;
use tacit_kernels::Block;
use tacit_ot::base::{BaseOt, ml_kem, ristretto};
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

/// What a side of the setup does next.
enum Stage<W, D> {
    Sending(W, Vec<u8>),
    Waiting(W),
    Replying(D, Vec<u8>),
    Done(D),
    Spent,
}

/// The garbler's side of the setup.
pub struct GarblerSetup(Stage<GarblerWaiting, GarblerOt>);

struct GarblerWaiting {
    tag: SessionTag,
    security: Security,
    delta: Delta,
    threads: NonZeroUsize,
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

    /// A setup with a fresh Δ. Its message, most of its work, is made here.
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
        let (threads, choices) = (base.threads, delta.choices());
        let (receiver, message) = match base.kind {
            BaseOt::Ristretto255 => {
                let started = ristretto::Receiver::start_on(threads, &choices, &tag, rng)?;
                (BaseReceiver::Ristretto255(Box::new(started.0)), started.1)
            }
            BaseOt::MlKem768 => {
                let started = ml_kem::Receiver::start_on(threads, &choices, &tag, rng)?;
                (BaseReceiver::MlKem768(Box::new(started.0)), started.1)
            }
            _ => return Err(UNKNOWN_BASE_OT),
        };
        let waiting = GarblerWaiting {
            tag,
            security: Security::SemiHonest,
            delta,
            threads,
            receiver,
        };
        Ok(Self(Stage::Sending(waiting, message)))
    }

    /// The same setup, whose OTs withstand what `security` says; both parties say the same. It is
    /// semi-honest unless this is called, before the first message.
    #[must_use]
    pub fn secured(mut self, security: Security) -> Self {
        if let Stage::Sending(waiting, _) | Stage::Waiting(waiting) = &mut self.0 {
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
            Stage::Done(ot) => Ok(ot),
            _ => Err(NOT_DONE),
        }
    }
}

/// The evaluator's side of the setup.
pub struct EvaluatorSetup(Stage<EvaluatorWaiting, EvaluatorOt>);

struct EvaluatorWaiting {
    tag: SessionTag,
    security: Security,
    threads: NonZeroUsize,
    sender: BaseSender,
}

enum BaseSender {
    Ristretto255(Box<ristretto::Sender>),
    MlKem768(Box<ml_kem::Sender>),
}

impl BaseSender {
    fn expected_bytes(&self) -> usize {
        match self {
            Self::Ristretto255(sender) => sender.expected_bytes(),
            Self::MlKem768(sender) => sender.expected_bytes(),
        }
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
            threads: base.threads,
            sender,
        };
        Ok(Self(match base.kind {
            BaseOt::Ristretto255 => {
                let (sender, message) = ristretto::Sender::start(Delta::BITS, &tag, rng)?;
                Stage::Sending(waiting(BaseSender::Ristretto255(Box::new(sender))), message)
            }
            BaseOt::MlKem768 => {
                let sender = ml_kem::Sender::start(Delta::BITS, &tag, rng)?;
                Stage::Waiting(waiting(BaseSender::MlKem768(Box::new(sender))))
            }
            _ => return Err(UNKNOWN_BASE_OT),
        }))
    }

    /// The same setup, whose OTs withstand what `security` says; both parties say the same. It is
    /// semi-honest unless this is called, before the first message.
    #[must_use]
    pub fn secured(mut self, security: Security) -> Self {
        if let Stage::Sending(waiting, _) | Stage::Waiting(waiting) = &mut self.0 {
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
            Stage::Done(ot) => Ok(ot),
            _ => Err(NOT_DONE),
        }
    }
}

const NOT_DONE: Error = Error::ApiMisuse("a setup is finished when it is done");
const UNKNOWN_BASE_OT: Error = Error::ApiMisuse("the setup does not know this kind of base OT");

impl<W, D> Stage<W, D> {
    fn next(
        &mut self,
        message: &mut Vec<u8>,
        send: Kind,
        wait: impl FnOnce(&W) -> Action,
    ) -> Result<Action, Error> {
        let (stage, action) = match std::mem::replace(self, Self::Spent) {
            Self::Sending(waiting, payload) => {
                *message = payload;
                (Self::Waiting(waiting), Action::Send(send))
            }
            Self::Waiting(waiting) => {
                let action = wait(&waiting);
                (Self::Waiting(waiting), action)
            }
            Self::Replying(done, payload) => {
                *message = payload;
                (Self::Done(done), Action::Send(send))
            }
            Self::Done(done) => (Self::Done(done), Action::Done),
            Self::Spent => return Err(Error::ApiMisuse("the setup has failed before")),
        };
        *self = stage;
        Ok(action)
    }

    /// What `finish` makes of a message is done with, after the reply if there is one.
    fn receive(
        &mut self,
        finish: impl FnOnce(W) -> Result<(D, Option<Vec<u8>>), Error>,
    ) -> Result<(), Error> {
        match std::mem::replace(self, Self::Spent) {
            Self::Waiting(waiting) => {
                *self = match finish(waiting)? {
                    (done, None) => Self::Done(done),
                    (done, Some(reply)) => Self::Replying(done, reply),
                };
                Ok(())
            }
            _ => Err(Error::ApiMisuse("no message was asked for")),
        }
    }
}

impl Party for GarblerSetup {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        let wait = |waiting: &GarblerWaiting| Action::Receive {
            kind: Kind::BaseOtOffer,
            max_bytes: waiting.receiver.expected_bytes(),
        };
        self.0.next(message, Kind::BaseOtChoice, wait)
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.0.receive(|waiting| {
            let GarblerWaiting {
                tag,
                security,
                delta,
                threads,
                receiver,
            } = waiting;
            let keys = match receiver {
                BaseReceiver::Ristretto255(receiver) => receiver.finish_on(threads, payload)?,
                BaseReceiver::MlKem768(receiver) => receiver.finish_on(threads, payload)?,
            };
            let block = delta.to_block();
            let ot = GarblerOt {
                delta: block,
                sender: CotSender::with_security(delta, keys, &tag, FIELD, security)?,
            };
            Ok((ot, None))
        })
    }
}

impl Party for EvaluatorSetup {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        let wait = |waiting: &EvaluatorWaiting| Action::Receive {
            kind: Kind::BaseOtChoice,
            max_bytes: waiting.sender.expected_bytes(),
        };
        self.0.next(message, Kind::BaseOtOffer, wait)
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.0.receive(|waiting| {
            let EvaluatorWaiting {
                tag,
                security,
                threads,
                sender,
            } = waiting;
            let (keys, reply) = match sender {
                BaseSender::Ristretto255(sender) => (sender.finish_on(threads, payload)?, None),
                BaseSender::MlKem768(sender) => {
                    let (keys, reply) = sender.answer_on(threads, payload)?;
                    (keys, Some(reply))
                }
            };
            let receiver = CotReceiver::with_security(keys, &tag, FIELD, security)?;
            Ok((EvaluatorOt { receiver }, reply))
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
        for kind in BaseOt::ALL {
            let tag = session.setup(tacit_circuit::Role::Garbler, kind);
            let base = |threads| BaseOts {
                kind,
                threads: NonZeroUsize::new(threads).unwrap(),
            };
            let mut garbler = GarblerSetup::with(base(1), &tag, &mut rng).unwrap();
            let mut evaluator = EvaluatorSetup::with(base(2), &tag, &mut rng).unwrap();
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
