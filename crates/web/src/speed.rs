//! AND gates a second on this device: half-gates with a two-call hash, 1024 gates to a layer.

use std::hint::black_box;
use std::time::Duration;

use serde_json::json;
use tacit_circuit::{Circuit, Gate, Port, Program, Type};
use tacit_garble::{Evaluator, Garbler, HalfGates, Scheme};
use tacit_kernels::{Block, Construction, Cpu, Prg};
use web_time::Instant;

use crate::Refused;

const WIDTH: u32 = 1024;
const LAYERS: u32 = 64;

/// Returns layers of AND gates that do not wait for each other.
fn layers() -> Result<Circuit, String> {
    let gates = (0..WIDTH * LAYERS).map(|i| {
        let (layer, place) = (i / WIDTH * WIDTH, i % WIDTH);
        Gate::And(layer + place, layer + (place * 5 + 1) % WIDTH)
    });
    let ports = |name| vec![Port::new(name, Type::bits(WIDTH as usize))];
    let results = (WIDTH * LAYERS..WIDTH * (LAYERS + 1)).collect();
    Circuit::new(ports("in"), ports("out"), gates, results).map_err(|error| error.to_string())
}

/// Returns millions of gates per second: `run` does all of `program`, again and again for `time`.
fn rate(program: &Program, time: Duration, mut run: impl FnMut()) -> f64 {
    let (begin, mut best) = (Instant::now(), Duration::MAX);
    while begin.elapsed() < time {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
    }
    program.ands().len() as f64 / best.as_secs_f64() / 1e6
}

/// Measures the rates at which this device garbles and evaluates.
pub(crate) fn measure(milliseconds: u32) -> Result<String, Refused> {
    let time = Duration::from_millis(u64::from(milliseconds));
    let program = Program::compile(&layers()?);
    let cpu = Cpu::detect();
    let scheme = HalfGates::on(cpu, Construction::TwoCall);
    let mut prg = Prg::new(Block::ONES);
    let (start, delta) = (prg.next_block(), prg.next_block().with_lsb(1.into()));
    let mut garbler = scheme.garbler([1; 32], start, delta);
    let mut evaluator = scheme.evaluator(start);
    let labels: Vec<Block> = (0..program.inputs()).map(|_| prg.next_block()).collect();
    let wires: Vec<_> = labels
        .iter()
        .map(|label| garbler.wire_with_active(*label, false))
        .collect();
    let segments = 0..program.segments().len();
    let mut tables: Vec<Vec<u8>> = segments
        .map(|segment| vec![0; scheme.table_bytes(&program, segment)])
        .collect();
    let garbled = rate(&program, time, || {
        garbler.begin(0, &program, &wires);
        for (segment, tables) in tables.iter_mut().enumerate() {
            garbler.garble(&program, segment, black_box(tables));
        }
    });
    let evaluated = rate(&program, time, || {
        evaluator.begin(0, &program, &labels);
        for (segment, tables) in tables.iter().enumerate() {
            evaluator.evaluate(&program, segment, black_box(tables));
        }
    });
    Ok(json!({
        "backend": cpu.backend().to_string(),
        "garble_mands_per_s": garbled,
        "evaluate_mands_per_s": evaluated,
    })
    .to_string())
}
