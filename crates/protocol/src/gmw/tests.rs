//! Runs of both parties in memory.

mod device;
pub(super) mod functions;
mod honest;
mod lying;
mod stocked;
mod threads;
mod wiping;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tacit_circuit::{Owners, Role};
use tacit_function::schedule::Limits;
use tacit_function::{Function, Recipient, Schedule};
use tacit_kernels::{Block, Prg};
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;
use zeroize::Zeroizing;

use super::{DirectionSetup, Directions, Run};
use crate::Error;
use crate::io::memory::{Ended, Sent, run_both, run_two};
use crate::message::Kind;
use crate::session::{Hello, SessionTag};
use crate::setup::OtSettings;

const SOFT_SPOKEN: Extension = Extension::NAMED[0];

fn session() -> SessionTag {
    let [a, b] = [1, 2].map(|byte| Hello::of([byte; 32]));
    SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b))
}

fn seed(number: u8) -> Zeroizing<[u8; 32]> {
    Zeroizing::new([number; 32])
}

/// Returns both parties' seeds for a run. No other run gets the same ones.
fn fresh_seeds() -> [Zeroizing<[u8; 32]>; 2] {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    [10, 11].map(|party| {
        let mut seed = seed(party);
        seed[..8].copy_from_slice(&run.to_le_bytes());
        seed
    })
}

/// Returns both parties' directions, made from these seeds.
fn directions_of(extension: Extension, base: BaseOt, seeds: [u8; 2]) -> [Directions; 2] {
    let settings = OtSettings {
        base,
        extension,
        ..OtSettings::default()
    };
    let of = |role| DirectionSetup::new(&session(), (role, Role::Garbler), settings);
    let [mine, yours] = seeds.map(seed);
    let made = run_both(
        async |io| of(Role::Garbler).run(io, &mine).await,
        async |io| of(Role::Evaluator).run(io, &yours).await,
    );
    let (garbler, evaluator) = made.expect("honest");
    [garbler, evaluator]
}

/// Calls `work` with directions that were used before, or with new ones: base OTs are slow.
fn with_directions<T>(work: impl FnOnce(&mut [Directions; 2]) -> T) -> T {
    static MADE: Mutex<Vec<[Directions; 2]>> = Mutex::new(Vec::new());
    let kept = MADE.lock().expect("no test panics here").pop();
    let mut directions =
        kept.unwrap_or_else(|| directions_of(SOFT_SPOKEN, BaseOt::default(), [1, 2]));
    let done = work(&mut directions);
    MADE.lock().expect("no test panics here").push(directions);
    done
}

/// A function, the owners of its inputs, and the limits of its schedule.
struct Case {
    function: Function,
    owners: Vec<Owners>,
    limits: Limits,
}

impl Case {
    /// Returns a function whose inputs belong to the owners of their ports.
    fn of(function: Function) -> Self {
        let inputs = function.inputs().iter();
        Self {
            owners: inputs.map(|input| Owners::of(input.owner)).collect(),
            limits: Limits::default(),
            function,
        }
    }

    fn schedule(&self) -> Schedule {
        Schedule::new(&self.function, &self.owners, self.limits).expect("a schedule")
    }

    /// Returns random input bits, and each party's shares of them.
    fn inputs(&self, prg: &mut Prg) -> (Vec<bool>, [Vec<bool>; 2]) {
        let (mut clear, mut shares) = (Vec::new(), [Vec::new(), Vec::new()]);
        for (input, owners) in self.function.inputs().iter().zip(&self.owners) {
            for _ in 0..input.port.ty.width() {
                let drawn = prg.next_block().to_u128();
                let [a, b] = [drawn & 1 == 1, drawn & 2 == 2];
                let bit = match Role::BOTH.map(|role| owners.includes(role)) {
                    [true, true] => a ^ b,
                    [false, true] => b,
                    _ => a,
                };
                clear.push(bit);
                for (role, share) in Role::BOTH.into_iter().zip([a, b]) {
                    if owners.is_public() {
                        shares[role as usize].push(a);
                    } else if owners.includes(role) {
                        shares[role as usize].push(share);
                    }
                }
            }
        }
        (clear, shares)
    }

    /// Returns each party's results, computed in the clear.
    fn results(&self, clear: &[bool]) -> [Vec<bool>; 2] {
        let all = self.function.evaluate(clear);
        Role::BOTH.map(|role| {
            let mut rest = &all[..];
            let mut results = Vec::new();
            for output in self.function.outputs() {
                let bits;
                (bits, rest) = rest.split_at(output.port.ty.width());
                if output.recipient.includes(role) {
                    results.extend_from_slice(bits);
                }
            }
            results
        })
    }
}

type Bits = Zeroizing<Vec<bool>>;

/// Runs both parties. `on_its_way` may change each message.
fn run_tampered(
    case: &Case,
    shares: &[Vec<bool>; 2],
    [garbler, evaluator]: &mut [Directions; 2],
    on_its_way: &mut dyn FnMut(usize, Kind, &mut Sent),
) -> Ended<Bits, Bits> {
    let schedule = case.schedule();
    let run = Run {
        function: &case.function,
        schedule: &schedule,
    };
    let seeds = fresh_seeds();
    run_two(
        async |io| run.run(io, &shares[0], garbler, &seeds[0]).await,
        async |io| run.run(io, &shares[1], evaluator, &seeds[1]).await,
        &mut |from, _, kind, sent| {
            on_its_way(from, kind, sent);
            Ok(())
        },
    )
}

/// The messages of honest parties: sender, kind and payload.
type Messages = Vec<(usize, Kind, Vec<u8>)>;

/// Runs honest parties and compares their results with the function in the clear.
fn run_honest(
    case: &Case,
    (clear, shares): &(Vec<bool>, [Vec<bool>; 2]),
    directions: &mut [Directions; 2],
) -> Result<Messages, Error> {
    let mut messages = Vec::new();
    let ended = run_tampered(case, shares, directions, &mut |from, kind, (_, payload)| {
        messages.push((from, kind, payload.clone()));
    });
    let (garbler, evaluator) = ended.both()?;
    let [for_garbler, for_evaluator] = case.results(clear);
    assert_eq!((&*garbler, &*evaluator), (&for_garbler, &for_evaluator));
    Ok(messages)
}

fn prg(number: u128) -> Prg {
    Prg::new(Block::from_u128(number))
}

fn recipient(number: usize) -> Recipient {
    [Recipient::Garbler, Recipient::Evaluator, Recipient::Both][number % 3]
}
