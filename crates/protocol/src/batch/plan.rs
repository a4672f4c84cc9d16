//! The plan of a batch: its number of circuits, and the sum of all ways to cheat.
//!
//! A cheating garbler can (1) spoil circuits, (2) make the evaluator's abort depend on its encoded
//! inputs, and (3) give different inputs to the circuits of an execution. Each way has its own
//! parameter, which bounds its success by 2^−(s+2). The garbler may try all of them together, so
//! the sum of the three must stay below 2^−s:
//!
//! | way | bounded by |
//! |---|---|
//! | circuits | the [`Cut`], see [`parameters`](super::parameters) |
//! | the encoding | distance s + 3, see `encoding` |
//! | inputs | s + 2 pairs, see `consistency` |
//!
//! A garbler that leaves after it has seen the cut is not caught, and may try again. So the s of a
//! batch is raised by [`charge_bits`] of the earlier tries.
//!
//! The bound on a cheating evaluator does not depend on s: it is given by the check of the OT
//! extension (`tacit_ot::source::Extension::cheating_log2`), and by ⌈n/64⌉ · 2^−64 for the
//! garbler's result of n bits (see `returned`). Since only one of the two parties cheats, a run
//! achieves the smaller of both numbers of bits: [`held_bits`].

use core::fmt;

use tacit_function::{Function, Role};

use super::layout::KEY_BITS;
use super::parameters::{CircuitCost, Cut, Factorials, MAX_CIRCUITS, cheapest};
use super::returned;
use crate::Error;
use crate::malicious::returned::forging_log2;
use crate::malicious::{log2_sum, transfers_log2, tries};

/// The number of bits by which each way to cheat stays below the sum: there are three ways, and 3 <
/// 2^2.
const SHARE_BITS: u8 = 2;

/// The largest statistical security parameter that can be requested.
pub const MAX_SECURITY_BITS: u8 = 80;

/// The largest number of executions of a batch.
pub const MAX_EXECUTIONS: u64 = 1 << 12;

/// Returns the number of bits by which s is raised for a batch after `tries` tries that were
/// started and not finished. Then any number of tries together succeed with probability at most two
/// to minus s.
///
/// A batch planned with s loses at most 3/4 · 2^−s, since each of the three ways has 2^−(s+2). The
/// first batch is planned with s; 1/4 · 2^−s remains for all further ones. Try t + 1 is planned
/// with s + ⌈lg 3t(t+1)⌉, and the sum of 3/4 / (3t(t+1)) over all t ≥ 1 is 1/4.
pub fn charge_bits(tries: u64) -> u8 {
    tries::charge_bits(3, tries)
}

/// Returns the bits of statistical security, rounded down, of runs of `function` whose executions
/// were made with this s: the bits that hold against a garbler, over all tries, or those that hold
/// against an evaluator, whichever are fewer.
pub fn held_bits(statistical_security_bits: u8, function: &Function) -> u8 {
    statistical_security_bits.min(evaluator_bits(function) as u8)
}

/// Returns the bits of security against a cheating evaluator, which do not depend on s.
fn evaluator_bits(function: &Function) -> f64 {
    let result = function.output_bits(Role::Garbler);
    -log2_sum([transfers_log2(), forging_log2(result)])
}

/// The number of circuits of a batch. Both parties compute or are given the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    statistical_security_bits: u8,
    cut: Cut,
}

/// The success probabilities of the ways to cheat, each at most two to minus the number of bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// A garbler that wins by bad circuits.
    pub circuits_bits: f64,
    /// A garbler that learns something about an input by selective failure.
    pub encoding_bits: f64,
    /// A garbler that gives two inputs to one execution.
    pub consistency_bits: f64,
    /// An evaluator, by all ways together.
    pub evaluator_bits: f64,
}

impl Bound {
    /// Returns the bits of the party that gains more by cheating.
    pub fn total_bits(&self) -> f64 {
        self.garbler_bits().min(self.evaluator_bits)
    }

    /// Returns the bits of a garbler, by all ways together.
    pub fn garbler_bits(&self) -> f64 {
        let ways = [
            self.circuits_bits,
            self.encoding_bits,
            self.consistency_bits,
        ];
        -log2_sum(ways.map(|bits| -bits))
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "2^-{:.2} (a garbler by circuits 2^-{:.2}, encoding 2^-{:.0} and inputs 2^-{:.0}; an \
             evaluator 2^-{:.2})",
            self.total_bits(),
            self.circuits_bits,
            self.encoding_bits,
            self.consistency_bits,
            self.evaluator_bits
        )
    }
}

impl Plan {
    /// Returns the cheapest plan for `executions` executions of `function` in which a cheating
    /// garbler succeeds with probability at most two to minus `statistical_security_bits`.
    ///
    /// # Errors
    ///
    /// There is no such plan; see [`cheapest`].
    pub fn cheapest(
        function: &Function,
        executions: u64,
        statistical_security_bits: u8,
    ) -> Result<Self, Error> {
        let share = f64::from(share_bits(statistical_security_bits)?);
        let cost = cost(function, usize::from(statistical_security_bits));
        let cut = cheapest(executions, share, cost)?;
        Self::with_cut(statistical_security_bits, cut)
    }

    /// Returns the plan with this cut.
    ///
    /// # Errors
    ///
    /// The cut has too many executions or circuits, or all ways to cheat together exceed two to
    /// minus `statistical_security_bits`.
    pub fn with_cut(statistical_security_bits: u8, cut: Cut) -> Result<Self, Error> {
        share_bits(statistical_security_bits)?;
        let evaluated = cut.executions.checked_mul(cut.bucket);
        let fits = evaluated.is_some_and(|evaluated| 0 < evaluated && evaluated <= cut.circuits);
        if !fits || cut.circuits > MAX_CIRCUITS || cut.executions > MAX_EXECUTIONS {
            return Err(Error::ApiMisuse(
                "a batch of at most 4096 executions and 2^22 circuits, all buckets among them",
            ));
        }
        let plan = Self {
            statistical_security_bits,
            cut,
        };
        if plan.garbler_bound()?.garbler_bits() < f64::from(statistical_security_bits) {
            return Err(Error::ApiMisuse(
                "these circuits are too few for the statistical security; let the planner choose",
            ));
        }
        Ok(plan)
    }

    /// Returns the bounds on the ways to cheat in a batch of `function`.
    ///
    /// # Errors
    ///
    /// None for an existing plan.
    pub fn bound(&self, function: &Function) -> Result<Bound, Error> {
        Ok(Bound {
            evaluator_bits: evaluator_bits(function),
            ..self.garbler_bound()?
        })
    }

    /// Returns the bounds on a cheating garbler alone.
    pub(super) fn garbler_bound(&self) -> Result<Bound, Error> {
        let factorials = Factorials::up_to(self.cut.circuits)?;
        let share = f64::from(share_bits(self.statistical_security_bits)?);
        Ok(Bound {
            circuits_bits: factorials.security_bits(self.cut),
            encoding_bits: share,
            consistency_bits: share,
            evaluator_bits: f64::INFINITY,
        })
    }

    /// Returns s: a cheating garbler succeeds with probability at most two to minus s.
    pub fn statistical_security_bits(&self) -> u8 {
        self.statistical_security_bits
    }

    /// Returns N: the number of executions that the batch prepares.
    pub fn executions(&self) -> u64 {
        self.cut.executions
    }

    /// Returns the numbers of circuits and buckets.
    pub fn cut(&self) -> Cut {
        self.cut
    }

    /// The size in bytes.
    pub const BYTES: usize = 25;

    /// Returns the bytes: s (1), and N, B, M, 8 each, little-endian.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let cut = self.cut;
        let mut bytes = [self.statistical_security_bits; Self::BYTES];
        let numbers = [cut.executions, cut.bucket, cut.circuits];
        for (bytes, number) in bytes[1..].chunks_exact_mut(8).zip(numbers) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Returns the plan with these bytes.
    ///
    /// # Errors
    ///
    /// Those of [`with_cut`](Self::with_cut).
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Result<Self, Error> {
        let (words, _) = bytes[1..].as_chunks::<8>();
        let [executions, bucket, circuits] = core::array::from_fn(|i| u64::from_le_bytes(words[i]));
        let cut = Cut {
            executions,
            bucket,
            circuits,
        };
        Self::with_cut(bytes[0], cut)
    }

    /// Returns s + 2: the number of pairs of halves of a circuit, and the bits that the encoding
    /// protects.
    pub(super) fn share_bits(&self) -> usize {
        usize::from(self.statistical_security_bits + SHARE_BITS)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cut.fmt(f)
    }
}

fn share_bits(statistical_security_bits: u8) -> Result<u8, Error> {
    match statistical_security_bits {
        1..=MAX_SECURITY_BITS => Ok(statistical_security_bits + SHARE_BITS),
        _ => Err(Error::ApiMisuse("statistical security of 1 to 80 bits")),
    }
}

/// Returns the cost of a circuit for both parties, in nanoseconds of one core. The figures were
/// measured once. They decide between plans of equal security and need not be exact.
fn cost(function: &Function, security_bits: usize) -> CircuitCost {
    const AND_NS: f64 = 13.0;
    const COMMITMENT_NS: f64 = 60.0;
    const BYTE_NS: f64 = 0.6;
    const AND_BYTES: f64 = 32.0;
    let result = function.output_bits(Role::Garbler);
    let x = function.input_bits(Role::Garbler) + returned::added_inputs(result);
    let y = function.input_bits(Role::Evaluator) + KEY_BITS;
    let outputs = function.output_bits(Role::Evaluator) + returned::returned_bits(result);
    // An encoding takes its bits, and some 4.5 more for each bit of security.
    let commitments = 2 * (x + 2 * outputs + 2 * y + 5 * security_bits + security_bits);
    let ands = function.and_gates() as f64;
    let make = AND_NS * ands + COMMITMENT_NS * commitments as f64;
    let bytes = BYTE_NS * (AND_BYTES * ands + 32.0 * commitments as f64);
    CircuitCost {
        checked: 2.0 * (make + bytes),
        evaluated: 2.0 * make + 3.0 * bytes,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tacit_circuit::Port;
    use tacit_circuit::builder::Builder;
    use tacit_components::library;
    use tacit_function::Recipient;

    use super::*;

    fn aes() -> Function {
        let circuit = library::find("aes-128", &BTreeMap::new()).unwrap();
        let owner = |port: &Port| {
            if port.name == "key" {
                Role::Garbler
            } else {
                Role::Evaluator
            }
        };
        Function::of_circuit("aes", circuit, owner, |_| Recipient::Evaluator).unwrap()
    }

    #[test]
    fn all_ways_together_stay_below_what_was_asked_for() {
        let function = aes();
        for executions in [1, 32, 128, 1024] {
            for bits in [8, 40] {
                let plan = Plan::cheapest(&function, executions, bits).unwrap();
                let bound = plan.bound(&function).unwrap();
                assert!(bound.total_bits() >= f64::from(bits), "{plan}: {bound}");
                assert!(bound.circuits_bits >= f64::from(bits) + 2.0);
                assert_eq!(Plan::from_bytes(&plan.to_bytes()), Ok(plan));
            }
        }
    }

    /// All tries together, of any number, stay below what one batch promises. The sum covers 2^20
    /// tries, and its tail is below the integral of 1/(4 t^2). One of the three ways is worse by
    /// the amount that `tries_that_finish_add_next_to_nothing` bounds.
    #[test]
    fn all_tries_together_stay_below_what_was_asked_for() {
        let of = |tries| (2.0 + 0.01_f64.exp2()) / 4.0 * (-f64::from(charge_bits(tries))).exp2();
        let tries = 1_u64 << 20;
        let sum: f64 = (0..tries).map(of).sum();
        assert!(sum + 0.26 / (tries - 1) as f64 <= 0.93, "{sum}");
        assert_eq!([0, 1, 2, 3, 20].map(charge_bits), [0, 3, 5, 6, 11]);
        // The charge is never less than a fair share for each try.
        for tries in [1, 2, 5, 6, 100, u64::MAX] {
            assert!(f64::from(charge_bits(tries)) >= (1.0 + tries as f64).log2().ceil());
        }
    }

    /// The sum of three equal ways is 1.58 bits above each.
    #[test]
    fn ways_are_added() {
        let bound = Bound {
            circuits_bits: 42.0,
            encoding_bits: 42.0,
            consistency_bits: 42.0,
            evaluator_bits: 50.0,
        };
        assert!((bound.total_bits() - (42.0 - 3_f64.log2())).abs() < 1e-9);
        let evaluator_bits = 40.0;
        let bound = Bound {
            evaluator_bits,
            ..bound
        };
        assert!((bound.total_bits() - 40.0).abs() < 1e-9);
    }

    /// The values are computed by hand: an evaluator passes the check of the OTs with probability
    /// 8128 · 2^-64, and forges a garbler's result of 2^16 bits, that is, 2^10 words, with 2^-64
    /// for each word.
    #[test]
    fn no_s_gives_more_than_an_evaluator_leaves() {
        let function = aes();
        let held = [1, 40, 51, 52, 80].map(|s| held_bits(s, &function));
        assert_eq!(held, [1, 40, 51, 51, 51]);
        let bound = Plan::cheapest(&function, 32, 80).unwrap();
        let bound = bound.bound(&function).unwrap();
        assert!((bound.total_bits() - (64.0 - 8128_f64.log2())).abs() < 1e-9);
        let builder = Builder::new();
        let wide = builder.bus("wide", 1 << 16);
        builder.output("same", &wide);
        let circuit = builder.finish().unwrap();
        let owner = |_: &Port| Role::Evaluator;
        let wide = Function::of_circuit("wide", circuit, owner, |_| Recipient::Garbler);
        let bits = evaluator_bits(&wide.unwrap());
        assert!((bits - (64.0 - (8128.0 + 1024_f64).log2())).abs() < 1e-9);
    }

    #[test]
    fn cuts_that_miss_the_security_are_refused() {
        let plan = Plan::cheapest(&aes(), 32, 40).unwrap();
        let cut = plan.cut();
        assert_eq!(Plan::with_cut(40, cut), Ok(plan));
        let fewer = Cut {
            circuits: cut.circuits - 40,
            ..cut
        };
        assert!(Plan::with_cut(40, fewer).is_err());
        for executions in [0, MAX_EXECUTIONS + 1] {
            assert!(Plan::with_cut(40, Cut { executions, ..cut }).is_err());
        }
        let vast = Cut {
            bucket: u64::MAX,
            ..cut
        };
        assert!(Plan::with_cut(40, vast).is_err());
        assert!(Plan::cheapest(&aes(), 32, 0).is_err());
        assert!(Plan::cheapest(&aes(), 32, 81).is_err());
    }
}
