//! The parts of a cheat: positions in messages, and the required outcome of a run.

use tacit_function::{Function, Recipient};
use tacit_garble::HalfGates;
use tacit_kernels::Block;

use super::trio::{Ended, Past, Trio, adder, bits, malicious, number, scheme};
use crate::Error;
use crate::message::Kind;
use crate::outsourced::cut::Fate;
use crate::outsourced::work::ServerRun;
use crate::outsourced::{Cheat, Parameters, Peer, kills_chain};

/// The number of circuits of a run: three are evaluated, so that one bad circuit is outvoted.
pub(super) const COPIES: u32 = 8;

/// The inputs with which every strategy is tried.
pub(super) const INPUTS: [[u64; 2]; 2] = [[9, 4], [2, 15]];

/// A generator that changes its first input bit for some circuits.
pub(in crate::outsourced) struct OtherInput {
    pub(super) copies: Vec<usize>,
    /// Whether it lies about H·π, so that the hash of its input equals that of the other circuits.
    pub(super) hidden: bool,
}

impl OtherInput {
    pub(in crate::outsourced) fn spoil_opening(
        &self,
        copy: usize,
        delta: Block,
        opening: &mut [u8],
    ) {
        if self.copies.contains(&copy) {
            let first = &mut opening[..Block::BYTES];
            first
                .iter_mut()
                .zip(delta.to_bytes())
                .for_each(|(a, b)| *a ^= b);
        }
    }

    pub(in crate::outsourced) fn spoil_decodings(
        &self,
        bytes: usize,
        column: Block,
        message: &mut [u8],
    ) {
        for copy in self.copies.iter().filter(|_| self.hidden) {
            let decoding = &mut message[copy * bytes..(copy + 1) * bytes];
            decoding
                .iter_mut()
                .zip(column.to_bytes())
                .for_each(|(a, b)| *a ^= b);
        }
    }
}

/// The positions of fields in a run's messages, and the circuits in which a party cheats.
pub(super) struct CheatPlace<'f> {
    pub(super) work: ServerRun<'f, HalfGates>,
    /// A checked circuit and an evaluated circuit.
    pub(super) checked: usize,
    pub(super) evaluated: usize,
}

impl<'f> CheatPlace<'f> {
    pub(super) fn new(function: &'f Function, parameters: Parameters, split: &[Fate]) -> Self {
        let with = |fate| split.iter().rposition(|found| *found == fate);
        Self {
            work: ServerRun::new(scheme(), function, parameters).expect("a run"),
            checked: with(Fate::Check).expect("a checked circuit"),
            evaluated: with(Fate::Evaluate).expect("an evaluated circuit"),
        }
    }

    pub(super) fn copy(&self, fate: Fate) -> usize {
        match fate {
            Fate::Check => self.checked,
            Fate::Evaluate => self.evaluated,
        }
    }

    /// Returns the position of the head of `copy` in its message.
    pub(super) fn head(&self, copy: usize) -> usize {
        32 + copy * self.work.head_bytes()
    }

    /// Returns the position of the box under the evaluation key of `copy` in the heads.
    pub(super) fn boxes(&self, copy: usize) -> usize {
        self.head(copy) + self.work.open_head_bytes()
    }

    /// Returns the position of the body of `copy` in its message.
    pub(super) fn body(&self, copy: usize) -> usize {
        copy * self.work.body_bytes()
    }
}

/// The required outcome of a run.
#[derive(Clone, Copy)]
pub(super) enum Due {
    /// All parties finish, with the right result.
    Right,
    /// This party detects this cheat.
    Caught(Peer, fn(Cheat) -> bool),
    /// This party detects a message that no honest party sends.
    Refused(Peer),
}

/// A strategy: its name, its change of a message, and the required outcome.
pub(super) struct Strategy {
    pub(super) name: &'static str,
    pub(super) change: fn(&CheatPlace<'_>, Peer, Kind, &mut Vec<u8>),
    pub(super) due: Due,
}

/// Runs one strategy of `cheater` on both inputs. Each time the outcome must be the required one,
/// and the messages of every party must have the same shape.
pub(super) fn check_all(cheater: Peer, strategies: &[Strategy]) {
    let function = adder(4, Recipient::Both);
    for strategy in strategies {
        let ends = INPUTS.map(|[x, y]| {
            let inputs = [&bits(x, 4)[..], &bits(y, 4)[..]];
            let trio = Trio::new(&function, malicious(COPIES), inputs, 5, Past::default());
            let place = CheatPlace::new(&function, malicious(COPIES), &trio.cloud.split());
            let mut rewrite = |to, kind, number, message: &mut Vec<u8>| {
                if number == 0 || kind == Kind::OutsourcedTerms || kind == Kind::OutsourcedResult {
                    (strategy.change)(&place, to, kind, message);
                }
            };
            let ended = trio.run(Some(cheater), &mut rewrite);
            check(strategy, &ended);
            if matches!(strategy.due, Due::Right) {
                let sum = (x + y) % 16;
                let generator = ended.generator.expect("done");
                let evaluator = ended.evaluator.expect("done");
                assert_eq!(number(&generator.outputs), sum, "{}", strategy.name);
                assert_eq!(number(&evaluator.outputs), sum, "{}", strategy.name);
            }
            let ends = ended.ends.map(|end| format!("{end:?}"));
            (ends, ended.sent)
        });
        assert_eq!(ends[0], ends[1], "{}", strategy.name);
    }
}

/// Checks that a run ended as required.
pub(super) fn check(strategy: &Strategy, ended: &Ended) {
    let name = strategy.name;
    let found = |peer: Peer| match &ended.ends[peer as usize] {
        Err(error) => error,
        Ok(()) => panic!("{name}: {peer} finds nothing"),
    };
    match strategy.due {
        Due::Right => {
            let all = ended.ends.iter().all(Result::is_ok);
            assert!(all, "{name}: {:?}", ended.ends);
        }
        Due::Caught(peer, cheat) => {
            let error = found(peer);
            assert!(
                error.failed_check().copied().is_some_and(cheat),
                "{name}: {error}"
            );
            assert!(kills_chain(error, None), "{name}");
        }
        Due::Refused(peer) => {
            let error = found(peer);
            let refused = matches!(error, Error::PeerMisbehaved(_) | Error::PeerIncompatible(_));
            assert!(refused, "{name}: {error}");
        }
    }
}
