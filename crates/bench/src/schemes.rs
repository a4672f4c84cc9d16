//! Garbling and evaluating, on one thread, under each scheme of the ladder.
//!
//! Each time comes with the share of it that its cipher calls would take at the speed of the bare
//! AES kernels, measured around it in the same run: 100 % is the upper limit. Bytes and calls are
//! counted, not measured.

use std::hint::black_box;

use serde::{Deserialize, Serialize};
use tacit_circuit::{Circuit, Gate, Port, Program, Type};
use tacit_components::library::{self, LibraryError};
use tacit_garble::{
    Evaluator, Garbler, SCHEMES, Scheme, SchemeInfo, SchemeVisitor, with_scheme_on,
};
use tacit_kernels::{Aes128, Block, Cpu, Prg, encrypt_each, encrypt_each_twice};

use crate::measure::Patience;
use crate::spread::Spread;
use crate::table::{Column, Row, number, short, text};
use crate::workload::Workload;
use crate::{Error, Figures, Options, Tell};

/// A role under a scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchemeFigures {
    /// The scheme's id in text.
    pub scheme: String,
    /// The scheme's assumption about AES.
    pub assumption: String,
    /// The circuit.
    pub circuit: String,
    /// Its AND gates.
    pub ands: u64,
    /// Its XOR gates.
    pub xors: u64,
    /// The backend.
    pub backend: String,
    /// `garbler` or `evaluator`.
    pub role: String,
    /// The time for the whole circuit, divided by its AND gates.
    pub and_ns: Spread,
    /// The time for the whole circuit, divided by its AND and XOR gates.
    pub gate_ns: Spread,
    /// Bytes of tables.
    pub table_bytes: u64,
    /// The cipher calls of this role.
    pub cipher_calls: u64,
    /// The key schedules of this role, without keys that serve many gates.
    pub key_schedules: u64,
    /// The time of these calls at the speed of the bare kernels, as a fraction of the time.
    pub ceiling_share: f64,
}

impl Row for SchemeFigures {
    const TITLE: &'static str =
        "Garbling schemes, one thread; the ceiling is AES alone, measured in between";
    const COLUMNS: &'static [Column<Self>] = &[
        text("scheme", 27, |of| of.scheme.clone()),
        text("circuit", 17, |of| of.circuit.clone()),
        text("backend", 8, |of| of.backend.clone()),
        text("role", 9, |of| of.role.clone()),
        number("ns an AND", 9, |of| short(of.and_ns.median)),
        number("± %", 5, |of| of.and_ns.deviation_text()),
        number("ns a gate", 9, |of| short(of.gate_ns.median)),
        number("ceiling %", 9, |of| {
            format!("{:.0}", 100.0 * of.ceiling_share)
        }),
        number("bytes an AND", 12, |of| {
            short(of.table_bytes as f64 / of.ands as f64)
        }),
        number("calls an AND", 12, |of| {
            short(of.cipher_calls as f64 / of.ands as f64)
        }),
    ];
}

/// A measured circuit.
struct Case {
    name: &'static str,
    program: Program,
}

/// From this many gates on, the portable backend is too slow for a round of all schemes.
const LARGE_GATES: usize = 1_000_000;

/// Measures every scheme on every circuit. A first look takes only the fastest backend.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    let cases = cases(options).map_err(|error| tacit::Error::Input(error.to_string()))?;
    for case in &cases {
        for cpu in Cpu::available() {
            let large = case.program.ands().len() + case.program.xors().len() >= LARGE_GATES;
            let slow = options.quick || large && cpu == Cpu::portable();
            let backend = cpu.backend().to_string();
            let named = options.only.iter().any(|word| backend.contains(word));
            if slow && !named && cpu != Cpu::detect() {
                continue;
            }
            for scheme in &SCHEMES {
                measure(case, cpu, scheme, options, tell)?;
            }
        }
    }
    Ok(())
}

/// Returns the circuits that have a wanted case.
fn cases(options: &Options) -> Result<Vec<Case>, LibraryError> {
    type Make = fn() -> Result<Circuit, LibraryError>;
    let circuits: [(&str, Make); 7] = [
        ("aes-128", || component("aes-128", &[])),
        ("sha-256-compress", || component("sha-256-compress", &[])),
        ("min-cut-250k", || component("min-cut-250k-synthetic", &[])),
        ("chain", || Ok(chain(20_000))),
        ("wide-1m", || Ok(wide(4096, 256))),
        // Its tables, gates and labels fit into a second-level cache of 512 KiB.
        ("wide-4k", || Ok(wide(512, 8))),
        ("aes-128-copies-16", || {
            component("aes-128-copies", &[("copies", 16)])
        }),
    ];
    let possible = |name: &str| {
        let mut names = Cpu::available().flat_map(|cpu| {
            SCHEMES.iter().flat_map(move |scheme| {
                ["garbler", "evaluator"].map(|role| case_name(scheme, name, cpu, role))
            })
        });
        names.any(|name| options.wants(&name))
    };
    let wanted = circuits.into_iter().filter(|(name, _)| possible(name));
    let case = |(name, make): (_, Make)| {
        let program = Program::compile(&make()?);
        Ok(Case { name, program })
    };
    wanted.map(case).collect()
}

fn component(name: &str, parameters: &[(&str, u64)]) -> Result<Circuit, LibraryError> {
    library::find(name, &Workload::new(name, parameters).parameters)
}

/// Returns a chain of AND gates, each of which waits for the one before.
fn chain(length: u32) -> Circuit {
    let inputs = 64;
    let gates = (0..length).map(|i| match i {
        0 => Gate::And(0, 1),
        _ if i % 2 == 0 => Gate::And(inputs + i - 1, i / 2 % inputs),
        _ => Gate::Xor(inputs + i - 1, i / 2 * 7 % inputs),
    });
    Circuit::new(
        vec![Port::new("in", Type::bits(inputs as usize))],
        vec![Port::new("out", Type::bits(1))],
        gates,
        vec![inputs + length - 1],
    )
    .expect("a chain is a circuit")
}

/// Returns layers of AND gates that do not wait for each other. Each gate reads two gates of the
/// layer before.
fn wide(width: u32, layers: u32) -> Circuit {
    let gates = (0..width * layers).map(|i| {
        let (layer, place) = (i / width * width, i % width);
        Gate::And(layer + place, layer + (place * 5 + 1) % width)
    });
    Circuit::new(
        vec![Port::new("in", Type::bits(width as usize))],
        vec![Port::new("out", Type::bits(width as usize))],
        gates,
        (width * layers..width * (layers + 1)).collect(),
    )
    .expect("layers are a circuit")
}

fn case_name(scheme: &SchemeInfo, circuit: &str, cpu: Cpu, role: &str) -> String {
    format!("{} {circuit} {} {role}", scheme.id, cpu.backend())
}

fn measure(
    case: &Case,
    cpu: Cpu,
    scheme: &SchemeInfo,
    options: &Options,
    tell: Tell<'_>,
) -> Result<(), Error> {
    let name = |role| case_name(scheme, case.name, cpu, role);
    let wanted = ["garbler", "evaluator"].map(|role| options.wants(&name(role)));
    if wanted == [false; 2] {
        return Ok(());
    }
    let patience = options.patience();
    let mut ceiling = KernelSeconds::measure(cpu, patience);
    let timing = Timing {
        program: &case.program,
        wanted,
        patience,
    };
    let times = with_scheme_on(cpu, scheme.id, timing).expect("it is one of SCHEMES");
    ceiling = ceiling.with(KernelSeconds::measure(cpu, patience));
    let cost = scheme.program_cost(&case.program);
    let (ands, xors) = (case.program.ands().len(), case.program.xors().len());
    let roles = [
        ("garbler", cost.garbler_calls, cost.garbler_key_schedules),
        (
            "evaluator",
            cost.evaluator_calls,
            cost.evaluator_key_schedules,
        ),
    ];
    for ((role, cipher_calls, key_schedules), seconds) in roles.into_iter().zip(times) {
        let Some(seconds) = seconds else { continue };
        tell(Figures::from(SchemeFigures {
            scheme: scheme.id.to_string(),
            assumption: scheme.assumption.to_string(),
            circuit: case.name.to_owned(),
            ands: ands as u64,
            xors: xors as u64,
            backend: cpu.backend().to_string(),
            role: role.to_owned(),
            and_ns: seconds.scaled(1e9 / ands as f64),
            gate_ns: seconds.scaled(1e9 / (ands + xors) as f64),
            table_bytes: cost.table_bytes,
            cipher_calls,
            key_schedules,
            ceiling_share: ceiling.seconds(cipher_calls, key_schedules) / seconds.median,
        }))?;
    }
    Ok(())
}

/// The seconds of a cipher call by the bare kernels.
#[derive(Clone, Copy)]
struct KernelSeconds {
    /// The time under a key that serves many calls.
    one_key: f64,
    /// The time with a key schedule for this call alone.
    key_a_call: f64,
    /// The time of a second call under the same key.
    second_call: f64,
}

impl KernelSeconds {
    fn measure(cpu: Cpu, patience: Patience) -> Self {
        const BLOCKS: usize = 1024;
        let patience = Patience {
            warm_up: patience.warm_up / 10,
            measured: patience.measured / 10,
            ..patience
        };
        let mut keys = vec![Block::ZERO; BLOCKS];
        Prg::new(Block::ONES).fill_blocks(&mut keys);
        let mut blocks = keys.clone();
        let mut median = |work: &mut dyn FnMut(&mut [Block])| {
            let seconds = patience.time(|| work(black_box(&mut blocks)));
            Spread::of(&seconds).median / BLOCKS as f64
        };
        let aes = Aes128::new(cpu, Block::ONES);
        let one_key = median(&mut |blocks| aes.encrypt_blocks(blocks));
        let key_a_call = median(&mut |blocks| encrypt_each(cpu, &keys, blocks));
        let pair = median(&mut |blocks| encrypt_each_twice(cpu, &keys[..BLOCKS / 2], blocks));
        Self {
            one_key,
            key_a_call,
            second_call: (2.0 * pair - key_a_call).max(one_key),
        }
    }

    /// Returns the mean of the two.
    fn with(self, other: Self) -> Self {
        let middle = |a: f64, b: f64| (a + b) / 2.0;
        Self {
            one_key: middle(self.one_key, other.one_key),
            key_a_call: middle(self.key_a_call, other.key_a_call),
            second_call: middle(self.second_call, other.second_call),
        }
    }

    /// Returns the time of this many calls with this many key schedules.
    fn seconds(self, calls: u64, key_schedules: u64) -> f64 {
        if key_schedules == 0 {
            return calls as f64 * self.one_key;
        }
        let others = calls.saturating_sub(key_schedules);
        key_schedules as f64 * self.key_a_call + others as f64 * self.second_call
    }
}

/// Times a circuit under a scheme: the garbler, then the evaluator, each if wanted.
struct Timing<'p> {
    program: &'p Program,
    wanted: [bool; 2],
    patience: Patience,
}

impl Timing<'_> {
    /// Returns the times of a role, if it is wanted: 0 is the garbler, 1 the evaluator.
    fn of(&self, role: usize, work: impl FnMut()) -> Option<Spread> {
        self.wanted[role].then(|| Spread::of(&self.patience.time(work)))
    }
}

impl SchemeVisitor for Timing<'_> {
    type Output = [Option<Spread>; 2];

    fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
        let program = self.program;
        let mut prg = Prg::new(Block::ONES);
        let (start, delta) = (prg.next_block(), prg.next_block().with_lsb(1.into()));
        let mut garbler = scheme.garbler([1; 32], start, delta);
        let mut evaluator = scheme.evaluator(start);
        let labels: Vec<Block> = (0..program.inputs()).map(|_| prg.next_block()).collect();
        let wires = labels
            .iter()
            .map(|label| garbler.wire_with_active(*label, false));
        let wires: Vec<_> = wires.collect();
        let mut tables: Vec<Vec<u8>> = (0..program.segments().len())
            .map(|segment| vec![0; scheme.table_bytes(program, segment)])
            .collect();
        // The evaluator takes as long for arbitrary bytes as for the right ones.
        let garbling = self.of(0, || {
            garbler.begin(0, program, &wires);
            for (segment, tables) in tables.iter_mut().enumerate() {
                garbler.garble(program, segment, black_box(tables));
            }
        });
        let evaluating = self.of(1, || {
            evaluator.begin(0, program, &labels);
            for (segment, tables) in tables.iter().enumerate() {
                evaluator.evaluate(program, segment, black_box(tables));
            }
        });
        [garbling, evaluating]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ceiling_counts_calls_and_key_schedules() {
        let ceiling = KernelSeconds {
            one_key: 1.0,
            key_a_call: 3.0,
            second_call: 1.5,
        };
        assert_eq!(ceiling.seconds(8, 0), 8.0);
        assert_eq!(ceiling.seconds(2, 2), 6.0);
        assert_eq!(ceiling.seconds(4, 2), 9.0);
    }
}
