//! Random functions, built like those of the executable companion of the protocol's design: blocks
//! of calls of a few random circuits, which read any available bits.

use tacit_circuit::{Circuit, Component, Gate, Owners, Port, Role};
use tacit_function::schedule::Limits;
use tacit_function::{Expression, Function, FunctionBuilder, Operand, Part, Recipient};
use tacit_kernels::Prg;

use super::{Case, recipient};

/// A source of random numbers below a bound.
pub(super) struct Draw(pub(super) Prg);

impl Draw {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.0.next_block().to_u128() % bound as u128) as usize
    }

    /// Returns a number that is at least `from` and below `to`.
    fn between(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to - from)
    }

    /// Returns true with a probability of `percent` percent.
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

fn bits(name: String, width: usize) -> Port {
    Port::new(name, format!("bits[{width}]").parse().expect("a type"))
}

/// Returns a circuit of fewer than `size` gates. If `hub` is not 0, it also has `hub` ANDs of one
/// wire with others.
fn random_circuit(draw: &mut Draw, size: usize, hub: usize) -> Circuit {
    let mut widths: Vec<usize> = (0..draw.between(1, 4))
        .map(|_| draw.between(1, 4))
        .collect();
    widths.extend((hub > 0).then_some(hub));
    let inputs: usize = widths.iter().sum();
    let ands = [0, 20, 50, 50][draw.below(4)];
    let mut gates: Vec<Gate> = Vec::new();
    let pick = |draw: &mut Draw, gates: &[Gate]| {
        let wires = inputs + gates.len();
        let least = if draw.chance(50) {
            wires.saturating_sub(12)
        } else {
            0
        };
        draw.between(least, wires) as u32
    };
    for _ in 0..draw.below(size) {
        let (x, y) = (pick(draw, &gates), pick(draw, &gates));
        let y = if draw.chance(8) { x } else { y };
        let kind = draw.below(100);
        gates.push(match kind {
            0..20 => Gate::Inv(x),
            _ if kind < 20 + ands => Gate::And(x, y),
            _ => Gate::Xor(x, y),
        });
    }
    let x = pick(draw, &gates);
    for y in (inputs - hub) as u32..inputs as u32 {
        if draw.chance(20) {
            gates.push(Gate::Inv(y));
            gates.push(Gate::And((inputs + gates.len() - 1) as u32, x));
        } else {
            gates.push(Gate::And(x, y));
        }
    }
    let wires = inputs + gates.len();
    let first = (0..3).map(|_| pick(draw, &gates));
    let last = inputs.min(9);
    let outputs: Vec<u32> = first.chain((wires - last) as u32..wires as u32).collect();
    let inputs = widths.iter().enumerate();
    let inputs = inputs.map(|(number, width)| bits(format!("x{number}"), *width));
    let ports = vec![bits("few".into(), 3), bits("last".into(), last)];
    Circuit::new(inputs.collect(), ports, gates, outputs).expect("a circuit")
}

/// An available bit: a value, and the position in it.
struct Bit {
    value: String,
    at: usize,
}

fn operand(bits: &[Bit], picked: &[usize]) -> Operand {
    let mut parts = picked
        .iter()
        .map(|bit| Part::of(&bits[*bit].value).at(bits[*bit].at as u64));
    let first: Operand = parts.next().expect("a bit").into();
    parts.fold(first, Operand::then)
}

/// A function under construction.
struct Growing {
    builder: FunctionBuilder,
    there: Vec<Bit>,
    owners: Vec<Owners>,
    circuits: Vec<Circuit>,
    calls: usize,
}

impl Growing {
    fn add_bits(&mut self, value: &str, width: usize) {
        self.there.extend((0..width).map(|at| Bit {
            value: value.to_owned(),
            at,
        }));
    }

    fn add_inputs(&mut self, draw: &mut Draw) {
        let [a, b] = Role::BOTH.map(Owners::of);
        for number in 0..draw.between(2, 6) {
            let kinds = if number == 0 { 2 } else { 4 };
            let owners = [a, b, Owners::PUBLIC, Owners::BOTH][draw.below(kinds)];
            let (name, width) = (format!("i{number}"), draw.between(1, 4));
            let role = Role::BOTH[usize::from(owners == b)];
            self.builder.input(&name, &format!("bits[{width}]"), role);
            self.add_bits(&name, width);
            self.owners.push(owners);
        }
    }

    /// Adds a call that reads bits with numbers below `pool`.
    fn add_call(&mut self, draw: &mut Draw, circuit: usize, pool: usize) {
        let arguments = self.circuits[circuit].inputs().iter().map(|port| {
            let picked: Vec<usize> = (0..port.ty.width()).map(|_| draw.below(pool)).collect();
            operand(&self.there, &picked)
        });
        let arguments: Vec<Operand> = arguments.collect();
        let outputs = self.circuits[circuit].outputs().iter();
        let widths: Vec<usize> = outputs.map(|port| port.ty.width()).collect();
        let mut targets = Vec::new();
        for (port, width) in widths.into_iter().enumerate() {
            let name = format!("v{}_{port}", self.calls);
            self.builder.value(&name, &format!("bits[{width}]"));
            self.add_bits(&name, width);
            targets.push(name);
        }
        let name = format!("c{circuit}");
        self.builder.call(targets.iter(), &name, arguments);
        self.calls += 1;
    }

    fn add_outputs(&mut self, draw: &mut Draw) {
        let bits = self.there.len();
        for number in 0..draw.between(1, 4) {
            let width = draw.between(1, 20);
            let last = bits.saturating_sub(40);
            let picked: Vec<usize> = (0..width).map(|_| draw.between(last, bits)).collect();
            let (name, ty) = (format!("r{number}"), format!("bits[{width}]"));
            let (to, value) = (recipient(draw.below(3)), operand(&self.there, &picked));
            self.builder.output(&name, &ty, to, value);
        }
    }
}

/// Returns a random function with the owners of its inputs.
pub(super) fn random_case(draw: &mut Draw) -> Case {
    let hub = match draw.below(30) {
        of @ 0..6 => [127, 128, 129, 150, 257, 300][of],
        _ => 0,
    };
    let many = draw.chance(20);
    let mut growing = Growing {
        builder: FunctionBuilder::new("random"),
        there: Vec::new(),
        owners: Vec::new(),
        circuits: Vec::new(),
        calls: 0,
    };
    growing.add_inputs(draw);
    for number in 0..draw.between(1, 4) {
        let hub = if number == 0 { hub } else { 0 };
        let circuit = random_circuit(draw, if many { 14 } else { 30 }, hub);
        let name = format!("c{number}");
        let component = Component::new(&name, circuit.clone());
        growing.builder.component(&name, component);
        growing.circuits.push(circuit);
    }
    for block in 0..draw.between(1, 4) {
        let (before, chains) = (growing.there.len(), draw.chance(30));
        let calls = if many && block == 0 {
            draw.between(65, 300)
        } else {
            draw.between(1, 12)
        };
        // The calls are of two circuits, so that groups have more than one call.
        let of = [(); 2].map(|()| draw.below(growing.circuits.len()));
        for _ in 0..calls {
            let pool = if chains { growing.there.len() } else { before };
            let circuit = of[draw.below(2)];
            growing.add_call(draw, circuit, pool);
        }
    }
    growing.add_outputs(draw);
    Case {
        function: growing.builder.finish().expect("a function"),
        owners: growing.owners,
        limits: Limits {
            rows: [1 << 23, 1][draw.below(2)],
            refill_ots: [1 << 28, 1, 40, 700][draw.below(4)],
        },
    }
}

/// Returns a function with groups of `calls` calls, at least 1,000: narrow crosses and crosses of
/// five gates, arguments from either end and at distances, and a group whose calls read through
/// hundreds of runs.
pub(in crate::gmw) fn wide_function(calls: u64) -> Function {
    let port = |name: &str| Port::new(name, "u8".parse().expect("a type"));
    let mut gates: Vec<Gate> = (1..6).map(|i| Gate::And(0, 8 + i)).collect();
    gates.push(Gate::Inv(7));
    gates.push(Gate::Xor(16, 21));
    gates.push(Gate::And(22, 8));
    let circuit = Circuit::new(
        vec![port("x"), port("y")],
        vec![port("z")],
        gates,
        (16..24).collect(),
    );
    let at = |name: &str, i: Expression| Part::of(name).at(i);
    let array = format!("u8[{calls}]");
    let mut builder = FunctionBuilder::new("wide");
    builder
        .component("pick", Component::new("pick", circuit.expect("a circuit")))
        .library("add", "adder", &[("bits", 8)])
        .input("x", &array, Role::Garbler)
        .input("y", &array, Role::Evaluator);
    for value in ["sums", "back", "picked", "pieces"] {
        builder.value(value, &array);
    }
    builder
        .repeat("i", 0, calls, |each, i| {
            let both = [at("x", i.clone()), at("y", i.clone())];
            each.call([at("sums", i.clone())], "add", both);
        })
        .repeat("i", 0, calls, |each, i| {
            let last = Expression::from(calls - 1).minus(i.clone());
            let both = [at("sums", last), at("y", 7.into())];
            each.call([at("back", i.clone())], "add", both);
        })
        .repeat("i", 0, calls, |each, i| {
            let both = [at("sums", i.clone()), at("back", i.clone())];
            each.call([at("picked", i.clone())], "pick", both);
        });
    // The calls of each loop read from another place on.
    let runs = 200;
    for run in 0..runs {
        let (begin, end) = (calls * run / runs, calls * (run + 1) / runs);
        let offset = run * 37 % (calls - end + 1);
        builder.repeat("i", begin, end, |each, i| {
            let both = [at("sums", i.plus(offset)), at("back", i.clone())];
            each.call([at("pieces", i.clone())], "add", both);
        });
    }
    builder
        .output("picked_out", &array, Recipient::Both, "picked")
        .output("pieces_out", &array, Recipient::Garbler, "pieces");
    builder.finish().expect("a function")
}
