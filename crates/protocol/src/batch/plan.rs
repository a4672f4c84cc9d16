//! The plan of a batch: how many circuits, and every way to cheat added up.
//!
//! A cheating garbler can (1) spoil main circuits, (2) spoil recovery circuits, (3, 4) make the
//! evaluator's giving up depend on its encoded inputs, of main and recovery circuits, (5) give
//! different inputs to the circuits of an execution. Each succeeds with at most 2^−(s+3) by its own
//! parameter (and all that succeed may be tried together), so the sum of the five stays below 2^−s:
//!
//! | way | bounded by |
//! |---|---|
//! | main circuits, recovery circuits | their [`Cut`]s, see [`parameters`](super::parameters) |
//! | encodings | distance s + 4, see [`encoding`](super::encoding) |
//! | inputs | s + 3 pairs, see [`consistency`](super::consistency) |
//!
//! A cheating evaluator is bounded apart: by the OT extension's checks (2^−40), and by
//! ⌈n/64⌉ · 2^−64 for the garbler's result of n bits (see [`returned`](super::returned)).

use core::fmt;

use tacit_circuit::{Function, Role};

use super::parameters::{Bucket, CircuitCost, Cut, Factorials, cheapest};
use super::returned;
use crate::Error;

/// What each way to cheat is held below the whole, in bits: there are five ways, and 5 < 2^3.
const SHARE_BITS: u8 = 3;

/// Most statistical security that can be asked for.
pub const MAX_SECURITY_BITS: u8 = 80;

/// How many circuits a batch takes. Both parties compute or are told the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    statistical_security_bits: u8,
    main: Cut,
    recovery: Cut,
}

/// What a cheating garbler's ways come to: each with at most two to minus so many bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// To win by bad main circuits.
    pub main_bits: f64,
    /// To win by bad recovery circuits.
    pub recovery_bits: f64,
    /// To learn of an input by selective failure, for each of the two encodings.
    pub encoding_bits: f64,
    /// To give two inputs to one execution.
    pub consistency_bits: f64,
}

impl Bound {
    /// Of all ways together.
    #[must_use]
    pub fn total_bits(&self) -> f64 {
        let ways = [
            self.main_bits,
            self.recovery_bits,
            self.encoding_bits,
            self.encoding_bits,
            self.consistency_bits,
        ];
        -ways.iter().map(|bits| (-bits).exp2()).sum::<f64>().log2()
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "2^-{:.2} (main circuits 2^-{:.2}, recovery 2^-{:.2}, encodings 2 x 2^-{:.0}, inputs \
             2^-{:.0})",
            self.total_bits(),
            self.main_bits,
            self.recovery_bits,
            self.encoding_bits,
            self.consistency_bits
        )
    }
}

impl Plan {
    /// The cheapest plan for `executions` of `function` in which a cheating garbler succeeds with
    /// at most two to minus `statistical_security_bits`.
    ///
    /// # Errors
    ///
    /// There is none, see [`cheapest`].
    pub fn cheapest(
        function: &Function,
        executions: u64,
        statistical_security_bits: u8,
    ) -> Result<Self, Error> {
        let share = f64::from(share_bits(statistical_security_bits)?);
        let [main, recovery] = costs(function, usize::from(statistical_security_bits));
        let plan = Self {
            statistical_security_bits,
            main: cheapest(executions, Bucket::OneGood, share, main)?,
            recovery: cheapest(executions, Bucket::Majority, share, recovery)?,
        };
        Self::with_cuts(statistical_security_bits, plan.main, plan.recovery)
    }

    /// The plan with these cuts.
    ///
    /// # Errors
    ///
    /// They are of different numbers of executions, or all ways to cheat together exceed two to
    /// minus `statistical_security_bits`.
    pub fn with_cuts(
        statistical_security_bits: u8,
        main: Cut,
        recovery: Cut,
    ) -> Result<Self, Error> {
        share_bits(statistical_security_bits)?;
        let most = super::parameters::MAX_CIRCUITS;
        for cut in [main, recovery] {
            let evaluated = cut.executions.checked_mul(cut.bucket);
            let fits =
                cut.circuits <= most && evaluated.is_some_and(|n| 0 < n && n <= cut.circuits);
            if !fits {
                return Err(Error::ApiMisuse(
                    "a cut of at most 2^22 circuits, not all of them evaluated",
                ));
            }
        }
        if main.executions != recovery.executions {
            return Err(Error::ApiMisuse(
                "main and recovery circuits for as many executions",
            ));
        }
        let plan = Self {
            statistical_security_bits,
            main,
            recovery,
        };
        if plan.bound()?.total_bits() < f64::from(statistical_security_bits) {
            return Err(Error::ApiMisuse(
                "these circuits are too few for the statistical security; let the planner choose",
            ));
        }
        Ok(plan)
    }

    /// What a cheating garbler's ways come to.
    ///
    /// # Errors
    ///
    /// None for a plan that was made.
    pub fn bound(&self) -> Result<Bound, Error> {
        let factorials = Factorials::up_to(self.main.circuits.max(self.recovery.circuits))?;
        let share = f64::from(share_bits(self.statistical_security_bits)?);
        Ok(Bound {
            main_bits: factorials.security_bits(self.main, Bucket::OneGood),
            recovery_bits: factorials.security_bits(self.recovery, Bucket::Majority),
            encoding_bits: share,
            consistency_bits: share,
        })
    }

    /// s: a cheating garbler succeeds with at most two to minus this number.
    #[must_use]
    pub fn statistical_security_bits(&self) -> u8 {
        self.statistical_security_bits
    }

    /// N: how many executions the batch prepares.
    #[must_use]
    pub fn executions(&self) -> u64 {
        self.main.executions
    }

    /// The cut of the main circuits.
    #[must_use]
    pub fn main(&self) -> Cut {
        self.main
    }

    /// The cut of the recovery circuits.
    #[must_use]
    pub fn recovery(&self) -> Cut {
        self.recovery
    }

    /// s + 3: pairs of halves a circuit, and what an encoding keeps.
    pub(super) fn share_bits(&self) -> usize {
        usize::from(self.statistical_security_bits + SHARE_BITS)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { main, recovery, .. } = self;
        write!(f, "main: {main}; recovery: {recovery}")
    }
}

fn share_bits(statistical_security_bits: u8) -> Result<u8, Error> {
    match statistical_security_bits {
        1..=MAX_SECURITY_BITS => Ok(statistical_security_bits + SHARE_BITS),
        _ => Err(Error::ApiMisuse("statistical security of 1 to 80 bits")),
    }
}

/// What a main and a recovery circuit cost both parties, in nanoseconds of one core. The figures
/// were measured once; they decide between plans of equal security and need not be exact.
fn costs(function: &Function, security_bits: usize) -> [CircuitCost; 2] {
    const AND_NS: f64 = 13.0;
    const COMMITMENT_NS: f64 = 60.0;
    const BYTE_NS: f64 = 0.6;
    const AND_BYTES: f64 = 32.0;
    let cost = |ands: f64, commitments: usize| {
        let make = AND_NS * ands + COMMITMENT_NS * commitments as f64;
        let bytes = BYTE_NS * (AND_BYTES * ands + 32.0 * commitments as f64);
        CircuitCost {
            checked: 2.0 * (make + bytes),
            evaluated: 2.0 * make + 3.0 * bytes,
        }
    };
    let result = function.output_bits(Role::Garbler);
    let x = function.input_bits(Role::Garbler) + returned::added_inputs(result);
    let y = function.input_bits(Role::Evaluator);
    let outputs = function.output_bits(Role::Evaluator) + returned::returned_bits(result);
    // An encoding takes its bits and some 4.5 for each bit of security.
    let shares = |bits: usize| 4 * bits + 9 * security_bits;
    let pairs = 2 * (security_bits + 3);
    [
        cost(
            function.and_gates() as f64,
            2 * (x + 2 * outputs) + shares(y) + pairs,
        ),
        cost(0.0, shares(128) + pairs),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tacit_circuit::{Recipient, library};

    use super::*;

    fn aes() -> Function {
        let circuit = library::find("aes-128", &BTreeMap::new()).unwrap();
        let owner = |port: &tacit_circuit::Port| {
            Ok(if port.name == "key" {
                Role::Garbler
            } else {
                Role::Evaluator
            })
        };
        Function::of_circuit("aes", circuit, owner, |_| Ok(Recipient::Evaluator)).unwrap()
    }

    #[test]
    fn all_ways_together_stay_below_what_was_asked_for() {
        let function = aes();
        for executions in [1, 32, 128, 1024] {
            for bits in [8, 40] {
                let plan = Plan::cheapest(&function, executions, bits).unwrap();
                let bound = plan.bound().unwrap();
                assert!(bound.total_bits() >= f64::from(bits), "{plan}: {bound}");
                assert!(bound.main_bits >= f64::from(bits) + 3.0);
            }
        }
    }

    /// A sum of five equal ways is 2.32 bits above each.
    #[test]
    fn ways_are_added() {
        let bound = Bound {
            main_bits: 43.0,
            recovery_bits: 43.0,
            encoding_bits: 43.0,
            consistency_bits: 43.0,
        };
        assert!((bound.total_bits() - (43.0 - 5_f64.log2())).abs() < 1e-9);
    }

    #[test]
    fn cuts_that_miss_the_security_are_refused() {
        let plan = Plan::cheapest(&aes(), 32, 40).unwrap();
        let (main, recovery) = (plan.main(), plan.recovery());
        assert_eq!(Plan::with_cuts(40, main, recovery), Ok(plan));
        let fewer = Cut {
            circuits: main.circuits - 40,
            ..main
        };
        assert!(Plan::with_cuts(40, fewer, recovery).is_err());
        let none = Cut {
            executions: 0,
            ..main
        };
        assert!(
            Plan::with_cuts(
                40,
                none,
                Cut {
                    executions: 0,
                    ..recovery
                }
            )
            .is_err()
        );
        let other = Cut {
            executions: 31,
            ..main
        };
        assert!(Plan::with_cuts(40, other, recovery).is_err());
        let vast = Cut {
            bucket: u64::MAX,
            ..main
        };
        assert!(Plan::with_cuts(40, vast, recovery).is_err());
        assert!(Plan::cheapest(&aes(), 32, 0).is_err());
        assert!(Plan::cheapest(&aes(), 32, 81).is_err());
    }
}
