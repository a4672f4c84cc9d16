//! Base OTs, from which a session's correlated OTs grow.
//!
//! The garbler chooses with the bits of its Δ, and the evaluator offers. On ristretto255 the two
//! messages do not depend on each other and cross on the wire. With ML-KEM the evaluator's message
//! answers the garbler's. The garbler sends its message in parts, so that the evaluator works on
//! one while the garbler makes the next. The resulting OTs serve every run of the session in these
//! roles, and are discarded with the session's first error.
//!
//! Both parties name the same base OTs and the same extension
//! ([`Proposal`](crate::session::Proposal)). Where the extension makes OTs ahead, a run that needs
//! more than there are starts with a [refill](SessionOt::refill).

mod evaluator;
mod garbler;
mod messages;
mod refill;
mod transfers;

use core::num::NonZeroUsize;

use tacit_ot::base::BaseOt;
use tacit_ot::source::{Cost, Extension};
use tacit_ot::{ApiMisuse, Security};

pub use evaluator::{EvaluatorSetup, OfferedBase};
pub use garbler::{ChosenBase, GarblerSetup};
pub(crate) use messages::{EXTENSION_OTS, extension};
pub(crate) use refill::Half;
pub use transfers::{EvaluatorOt, GarblerOt, SessionOt};

use crate::bits::bytes_for;
use crate::{Error, Misbehaviour};

impl From<tacit_ot::Error> for Error {
    fn from(error: tacit_ot::Error) -> Self {
        match error {
            tacit_ot::Error::PeerMisbehaved(fault) => Misbehaviour::ObliviousTransfer(fault).into(),
            tacit_ot::Error::Device(fault) => Self::OtDevice(fault),
            tacit_ot::Error::ApiMisuse(ApiMisuse::UsedUp { limit }) => {
                Self::TransfersUsedUp { limit }
            }
            tacit_ot::Error::ApiMisuse(ApiMisuse::NotMade { .. }) => {
                Self::ApiMisuse("a refill goes before what takes more OTs than are made")
            }
            _ => Self::ApiMisuse("the OT extension was asked for what it does not give"),
        }
    }
}

/// Returns the payload bytes of the evaluator's messages, of up to 2^16 OTs each, that give `count`
/// OTs in a session that has given some before. A [refill](SessionOt::refill) counts separately.
pub fn extension_bytes(extension: Extension, security: Security, count: usize) -> u64 {
    let up_to = |count| Cost::first_refill(extension, security, count).receiver_bytes;
    match extension {
        Extension::SoftSpoken(_) => up_to(count) - up_to(0),
        Extension::Silent => bytes_for(count) as u64,
    }
}

/// The settings for a session's OTs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtSettings {
    /// The assumption that the base OTs rest on; both parties name the same, see
    /// [`Proposal`](crate::session::Proposal).
    pub base: BaseOt,
    /// The extension that makes OTs from base OTs; both parties name the same.
    pub extension: Extension,
    /// The largest number of threads on which this party works for the base OTs.
    pub base_threads: NonZeroUsize,
    /// The number of threads that make OTs from the base OTs and compute a matching.
    pub threads: NonZeroUsize,
}

impl Default for OtSettings {
    /// Returns the default base OTs and extension on one thread.
    fn default() -> Self {
        Self {
            base: BaseOt::default(),
            extension: Extension::default(),
            base_threads: NonZeroUsize::MIN,
            threads: NonZeroUsize::MIN,
        }
    }
}

const UNKNOWN_BASE_OT: Error = Error::ApiMisuse("the setup does not know this kind of base OT");

/// Makes maliciously secure OTs over base OTs of a trusted dealer, for tests that need many.
#[cfg(test)]
pub(crate) fn dealt(
    tag: &crate::session::RunTag,
    prg: &mut tacit_kernels::Prg,
) -> (GarblerOt, EvaluatorOt) {
    dealt_under(tacit_ot::Delta::random(prg), tag, prg)
}

/// Makes OTs as [`dealt`] does, under this Δ.
#[cfg(test)]
pub(crate) fn dealt_under(
    delta: tacit_ot::Delta,
    tag: &crate::session::RunTag,
    prg: &mut tacit_kernels::Prg,
) -> (GarblerOt, EvaluatorOt) {
    use tacit_ot::base::Key;
    use tacit_ot::{Delta, SessionTag};
    let (tag, security) = (SessionTag::new(*tag.as_bytes()), Security::Malicious);
    let mut key = || {
        let mut bytes = [0; 32];
        prg.fill_bytes(&mut bytes);
        Key::from_bytes(bytes)
    };
    let pairs: Vec<[Key; 2]> = (0..Delta::BITS).map(|_| [key(), key()]).collect();
    let bits = delta.choices();
    let chosen = pairs.iter().zip(bits.iter());
    let chosen = chosen.map(|(pair, bit)| pair[usize::from(*bit)].clone());
    let made = (Extension::default(), security);
    let garbler = GarblerOt::new(delta, chosen.collect(), &tag, made);
    let evaluator = EvaluatorOt::new(pairs, &tag, made);
    (
        garbler.expect("128 base OTs"),
        evaluator.expect("128 base OTs"),
    )
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng as _, UnwrapErr};
    use tacit_function::Role;
    use tacit_kernels::Block;
    use tacit_ot::PeerMisbehaved;
    use zeroize::Zeroizing;

    use super::*;
    use crate::io::memory::{STUCK, run_both, run_two};
    use crate::message::Kind;
    use crate::session::{Hello, RunTag, SessionTag};

    fn tag(settings: OtSettings) -> RunTag {
        let (a, b) = (Hello::of([1; 32]), Hello::of([2; 32]));
        let session = SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b));
        session.setup(Role::Garbler, settings.base, settings.extension)
    }

    fn made(settings: OtSettings, security: Security) -> (GarblerOt, EvaluatorOt) {
        let (tag, mut rng) = (tag(settings), UnwrapErr(getrandom::SysRng));
        let garbler = GarblerSetup::with(settings, &tag, &mut rng).unwrap();
        let two = OtSettings {
            base_threads: NonZeroUsize::new(2).unwrap(),
            threads: NonZeroUsize::new(3).unwrap(),
            ..settings
        };
        let evaluator = EvaluatorSetup::with(two, &tag, &mut rng).unwrap();
        let made = run_both(
            async |io| garbler.secured(security).run(io).await?.ots(),
            async |io| evaluator.secured(security).run(io).await?.ots(),
        );
        made.unwrap()
    }

    fn seed() -> Zeroizing<[u8; 32]> {
        let mut seed = Zeroizing::new([0; 32]);
        UnwrapErr(getrandom::SysRng).fill_bytes(&mut *seed);
        seed
    }

    /// Makes OTs until there are `count`, if the extension makes them ahead.
    fn refill(garbler: &mut GarblerOt, evaluator: &mut EvaluatorOt, count: u64) {
        let made = run_both(
            async |io| garbler.refill(io, count, &seed()).await,
            async |io| evaluator.refill(io, count, &seed()).await,
        );
        made.unwrap();
    }

    /// Takes OTs for these choices and checks each. Returns the length of the message.
    fn take(garbler: &mut GarblerOt, evaluator: &mut EvaluatorOt, choices: &[bool]) -> usize {
        assert_eq!(garbler.next_index(), evaluator.next_index());
        let mut received = vec![Block::ZERO; choices.len()];
        let (mut kept, mut message) = (received.clone(), Vec::new());
        evaluator
            .extend(choices, &mut received, &mut message)
            .unwrap();
        assert_eq!(message.len(), garbler.extension_bytes(choices.len()));
        garbler.extend(&mut kept, &message).unwrap();
        for ((t, q), c) in received.iter().zip(kept.iter()).zip(choices) {
            let expected = if *c { *q ^ garbler.delta() } else { *q };
            assert_eq!(*t, expected);
        }
        message.len()
    }

    #[test]
    fn every_base_ot_and_extension_gives_correlated_ots() {
        for (number, extension) in Extension::NAMED.into_iter().enumerate() {
            let settings = OtSettings {
                base: BaseOt::ALL[number % 2],
                extension,
                ..OtSettings::default()
            };
            let security = [Security::Malicious, Security::SemiHonest][number / 2 % 2];
            let (mut garbler, mut evaluator) = made(settings, security);
            assert_eq!(
                (garbler.extension(), evaluator.security()),
                (extension, security)
            );
            refill(&mut garbler, &mut evaluator, 300);
            take(&mut garbler, &mut evaluator, &[true, false, true, true]);
            let choices: Vec<bool> = (0..129).map(|i| i % 3 == 0).collect();
            let bytes = take(&mut garbler, &mut evaluator, &choices);
            assert_eq!(bytes as u64, extension_bytes(extension, security, 129));
        }
    }

    fn silent(security: Security) -> (GarblerOt, EvaluatorOt) {
        let settings = OtSettings {
            extension: Extension::Silent,
            ..OtSettings::default()
        };
        made(settings, security)
    }

    #[test]
    fn silent_ots_are_made_before_they_are_taken() {
        let (mut garbler, mut evaluator) = silent(Security::SemiHonest);
        assert!(garbler.needs_refill(1) && evaluator.needs_refill(1));
        let mut block = [Block::ZERO];
        let early = evaluator.extend(&[true], &mut block, &mut Vec::new());
        assert!(matches!(early, Err(Error::ApiMisuse(what)) if what.contains("refill")));
        refill(&mut garbler, &mut evaluator, 1);
        // One refill makes many OTs, which serve until they are taken.
        assert!(!garbler.needs_refill(200_000) && !evaluator.needs_refill(200_000));
        assert_eq!(take(&mut garbler, &mut evaluator, &[false; 7]), 1);
        let left = (200_000 - 7..1 << 20).find(|&left| garbler.needs_refill(left + 1));
        let left = left.expect("a refill is of fewer OTs");
        assert!(!evaluator.needs_refill(left) && evaluator.needs_refill(left + 1));
        refill(&mut garbler, &mut evaluator, left + 1);
        assert_eq!(take(&mut garbler, &mut evaluator, &[true; 16]), 2);
        // Corrections of another length, and corrections with bits past the last one.
        assert!(garbler.extend(&mut block, &[]).is_err());
        assert!(garbler.extend(&mut block, &[2]).is_err());
    }

    /// Runs a refill in which message number `which` has a bit flipped. Returns the outcome and the
    /// number of messages sent.
    fn tampered(which: usize) -> (Result<(), Error>, usize) {
        let ((mut garbler, mut evaluator), mut sent) = (silent(Security::Malicious), 0);
        // The first OTs, and three batches of trees, reply and answer.
        let ended = run_two(
            async |io| garbler.refill(io, 600_000, &seed()).await,
            async |io| evaluator.refill(io, 600_000, &seed()).await,
            &mut |_, _, kind, (_, payload)| {
                assert_eq!(kind, Kind::OtRefill);
                if sent == which {
                    let middle = payload.len() / 2;
                    payload[middle] ^= 1;
                }
                sent += 1;
                Ok(())
            },
        );
        let first_failure = ended.first_failure;
        // The party that failed is spent.
        let again = run_both(
            async |io| match first_failure {
                Some(0) => garbler.refill(io, 600_000, &seed()).await,
                _ => Ok(()),
            },
            async |io| match first_failure {
                Some(1) => evaluator.refill(io, 600_000, &seed()).await,
                _ => Ok(()),
            },
        );
        match first_failure {
            None => again.map(drop).unwrap(),
            Some(_) => assert!(!matches!(again, Ok(_) | Err(Error::ApiMisuse(STUCK)))),
        }
        (ended.both().map(drop), sent)
    }

    #[test]
    fn a_refill_with_a_changed_message_ends_with_a_failed_check() {
        let (honest, messages) = tampered(usize::MAX);
        assert_eq!((honest, messages), (Ok(()), 10));
        for which in 0..messages {
            let fault = match tampered(which).0 {
                Err(Error::PeerMisbehaved(Misbehaviour::ObliviousTransfer(fault))) => fault,
                other => panic!("message {which}: {other:?}"),
            };
            let failed = matches!(fault, PeerMisbehaved::CheckFailed { .. });
            assert!(failed, "message {which}: {fault}");
        }
    }
}
