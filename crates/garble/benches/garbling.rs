//! Nanoseconds per AND gate of garbling and evaluating, per scheme, circuit and backend, on one
//! thread.
//!
//! Arguments, if any, are words that must all occur in a record for it to be measured: `cargo bench
//! -p tacit-garble -- two-call vaes-256 evaluator`. A circuit's name keeps to that circuit, several
//! to these. Prints a JSON record a line. Each figure is the best of many short runs, which is what
//! the scheme does when nothing else has the core.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use tacit_circuit::{Circuit, Gate, Port, Program, Type, library};
use tacit_garble::{
    Evaluator, Garbler, HalfGates, Prf, PrfXor1And3, PrfXor3And3, Scheme, ThreeHalves,
    WholeGarbling,
};
use tacit_kernels::{Block, Construction, Cpu, Prg};

/// How long each figure is measured for.
const PATIENCE: Duration = Duration::from_millis(400);

/// AND gates up to which a program is garbled in several instances, too.
const SMALL: usize = 1000;
/// How many.
const INSTANCES: usize = 16;

/// The shortest time that `run` took.
fn best(run: &mut dyn FnMut()) -> Duration {
    let (begin, mut best) = (Instant::now(), Duration::MAX);
    while begin.elapsed() < PATIENCE {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
    }
    best
}

/// Garbles and evaluates `program`, and prints the records that are asked for.
fn measure(name: &str, cpu: Cpu, program: &Program, scheme: impl Scheme) {
    let mut prg = Prg::new(Block::ONES);
    let (start, delta) = (prg.next_block(), prg.next_block().with_lsb(1.into()));
    let mut garbler = scheme.garbler([1; 32], start, delta);
    let mut evaluator = scheme.evaluator(start);
    let labels: Vec<Block> = (0..program.inputs()).map(|_| prg.next_block()).collect();
    let wires: Vec<_> = labels
        .iter()
        .map(|label| garbler.wire_with_active(*label, false))
        .collect();
    let mut tables: Vec<Vec<u8>> = (0..program.segments().len())
        .map(|segment| vec![0; scheme.table_bytes(program, segment)])
        .collect();
    let record = |role: &str, instances: usize, run: &mut dyn FnMut()| {
        let what = format!(
            "\"circuit\":\"{name}\",\"ands\":{},\"xors\":{},\"scheme\":\"{}\",\
             \"backend\":\"{}\",\"role\":\"{role}\"",
            program.ands().len(),
            program.xors().len(),
            scheme.id(),
            cpu.backend(),
        );
        let words = std::env::args()
            .skip(1)
            .filter(|word| !word.starts_with('-'));
        let asked = |word: String| names_circuit(&word) || what.contains(&word);
        if words.into_iter().all(asked) {
            let ands = instances * program.ands().len();
            let and_ns = best(run).as_secs_f64() * 1e9 / ands as f64;
            println!("{{{what},\"and_ns\":{and_ns:.2}}}");
        }
    };
    record("garbler", 1, &mut || {
        garbler.begin(0, program, &wires);
        for (segment, tables) in tables.iter_mut().enumerate() {
            garbler.garble(program, segment, black_box(tables));
        }
    });
    record("evaluator", 1, &mut || {
        evaluator.begin(0, program, &labels);
        for (segment, tables) in tables.iter().enumerate() {
            evaluator.evaluate(program, segment, black_box(tables));
        }
    });
    if program.ands().len() <= SMALL {
        let mut rooms = vec![tables.concat(); INSTANCES];
        let garblings = rooms.iter_mut().map(|tables| WholeGarbling {
            garbler: scheme.garbler([1; 32], start, delta),
            inputs: &wires,
            tables,
        });
        let mut garblings: Vec<_> = garblings.collect();
        record("instances-one-by-one", INSTANCES, &mut || {
            for one in &mut garblings {
                one.garble(scheme, 0, program);
            }
        });
        record("instances-side-by-side", INSTANCES, &mut || {
            scheme.garble_side_by_side(0, program, &mut garblings);
        });
    }
}

/// A component of the library.
fn component(name: &str, parameters: &[(&str, u64)]) -> Circuit {
    let parameters: BTreeMap<String, u64> = parameters
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect();
    library::find(name, &parameters).expect("the library has this component")
}

/// AND gates each of which waits for the one before.
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

/// Layers of AND gates that do not wait for each other. Each reads two gates of the layer before.
fn layers(width: u32, layers: u32) -> Circuit {
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

/// A circuit's name and how to get it.
type Named = (&'static str, fn() -> Circuit);

const CIRCUITS: [Named; 12] = [
    ("aes-128", || component("aes-128", &[])),
    ("aes-128-copies-100", || {
        component("aes-128-copies", &[("copies", 100)])
    }),
    ("sha-256-compress", || component("sha-256-compress", &[])),
    ("wide-1m", || layers(4096, 256)),
    ("chain", || chain(20_000)),
    ("layers-of-2", || layers(2, 10_000)),
    ("layers-of-4", || layers(4, 5_000)),
    ("layers-of-6", || layers(6, 3_500)),
    ("layers-of-8", || layers(8, 2_500)),
    ("layers-of-16", || layers(16, 1_250)),
    ("adder-32", || component("adder", &[("bits", 32)])),
    ("comparator-8", || component("comparator", &[("bits", 8)])),
];

/// Whether this argument names a circuit.
fn names_circuit(word: &str) -> bool {
    CIRCUITS.iter().any(|(name, _)| *name == word)
}

fn main() {
    for (name, build) in CIRCUITS {
        let words = std::env::args().skip(1);
        let named: Vec<String> = words.filter(|word| names_circuit(word)).collect();
        if !named.is_empty() && !named.iter().any(|word| word == name) {
            continue;
        }
        let program = Program::compile(&build());
        for cpu in Cpu::available() {
            for construction in [Construction::TwoCall, Construction::Rekeyed] {
                measure(name, cpu, &program, HalfGates::on(cpu, construction));
            }
            measure(name, cpu, &program, ThreeHalves::on(cpu));
            measure(name, cpu, &program, Prf::on(cpu));
            measure(name, cpu, &program, PrfXor1And3::on(cpu));
            measure(name, cpu, &program, PrfXor3And3::on(cpu));
        }
    }
}
