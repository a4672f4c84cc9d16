//! Random functions with everything that schedules distinguish: all patterns of owners, local ANDs,
//! negated operands, ANDs of a wire with itself, pieces of 128, groups that are cut and wait,
//! chains of calls without layers, and constants.

use tacit_circuit::{Gate, Owners};

use super::{CONSTANTS, CircuitShape, FunctionShape, Sample};
use crate::schedule::Limits;
use crate::{Recipient, Role};

pub(crate) const OWNERS: [Owners; 4] = [
    Owners::PUBLIC,
    Owners::of(Role::Garbler),
    Owners::of(Role::Evaluator),
    Owners::BOTH,
];

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Draws a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.word() % end as u64) as usize
    }

    /// Draws true in `percent` of 100 cases.
    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Returns the random function of this seed.
pub fn random_sample(seed: u64) -> Sample {
    let mut draws = Draws::new(seed);
    let many = draws.percent(20);
    let hub = if draws.percent(25) {
        draws.pick(&[127, 128, 129, 257, 300])
    } else {
        0
    };
    let mut shape = FunctionShape::default();
    for _ in 0..1 + draws.below(5) {
        let owners = draws.pick(&OWNERS);
        shape.inputs.push((owners, 1 + draws.below(3) as u32));
    }
    for number in 0..1 + draws.below(3) {
        let (size, hub) = (
            if many { 14 } else { 30 },
            if number == 0 { hub } else { 0 },
        );
        shape.circuits.push(circuit(&mut draws, size, hub));
    }
    let mut owners: Vec<Owners> = Vec::new();
    for (of, width) in &shape.inputs {
        owners.extend(std::iter::repeat_n(*of, *width as usize));
    }
    calls(&mut draws, &mut shape, &mut owners, many);
    let last = owners.len().saturating_sub(20) as u32..owners.len() as u32;
    shape.outputs.push((
        draws.pick(&[Recipient::Garbler, Recipient::Evaluator]),
        last.collect(),
    ));
    for _ in 0..draws.below(3) {
        let mut bits: Vec<u32> = (0..5).map(|_| draws.below(owners.len()) as u32).collect();
        bits.push(draws.pick(&CONSTANTS));
        let to = [Recipient::Garbler, Recipient::Evaluator, Recipient::Both];
        shape.outputs.push((draws.pick(&to), bits));
    }
    let mut shares = Vec::new();
    for (owners, width) in &shape.inputs {
        for _ in 0..*width {
            let (a, b) = (draws.percent(50), draws.percent(50));
            let [of_a, of_b] = Role::BOTH.map(|role| owners.includes(role));
            let public = owners.is_public();
            shares.push([a && (of_a || public), if public { a } else { b && of_b }]);
        }
    }
    Sample {
        function: shape.build(),
        owners: shape.inputs.iter().map(|(owners, _)| *owners).collect(),
        shares,
        limits: Limits {
            rows: draws.pick(&[1 << 23, 1]),
            refill_ots: draws.pick(&[1 << 28, 1, 40, 700]),
        },
    }
}

/// Adds blocks of calls. Each call reads bits from before its block, or any bits.
fn calls(draws: &mut Draws, shape: &mut FunctionShape, owners: &mut Vec<Owners>, many: bool) {
    for block in 0..1 + draws.below(3) {
        let (before, chains) = (owners.len(), draws.percent(30));
        let patterns: Vec<(usize, Vec<Option<Owners>>)> = (0..2)
            .map(|_| {
                let circuit = draws.below(shape.circuits.len());
                let ports = shape.circuits[circuit].inputs.len();
                let of = (0..ports).map(|_| draws.percent(75).then(|| draws.pick(&OWNERS)));
                (circuit, of.collect())
            })
            .collect();
        let count = if many && block == 0 {
            65 + draws.below(335)
        } else {
            1 + draws.below(11)
        };
        for _ in 0..count {
            let (circuit, of) = &patterns[draws.below(2)];
            let end = if chains { owners.len() } else { before };
            let widths = &shape.circuits[*circuit].inputs;
            let ports = widths.iter().zip(of).map(|(width, of)| {
                let fits = |bit: &u32| of.is_none_or(|of| owners[*bit as usize] == of);
                let mut pool: Vec<u32> = (0..end as u32).filter(fits).collect();
                pool.extend(CONSTANTS.iter().filter(|_| draws.percent(10)));
                if pool.is_empty() {
                    pool.extend(0..end as u32);
                }
                let first = draws.below(pool.len());
                // Consecutive bits, or any bits.
                let any = draws.percent(50);
                let mut bit = |i| {
                    if any {
                        draws.pick(&pool)
                    } else {
                        pool[(first + i) % pool.len()]
                    }
                };
                (0..*width as usize).map(&mut bit).collect()
            });
            let ports = ports.collect();
            shape.calls.push((*circuit, ports));
            // The owners of a result only steer what is read, so a guess is enough.
            let results: usize = shape.circuits[*circuit].outputs.iter().map(Vec::len).sum();
            owners.extend(std::iter::repeat_n(Owners::BOTH, results));
        }
    }
}

/// Draws a circuit. If `hub` is not 0, that many ANDs share one wire.
pub(crate) fn circuit(draws: &mut Draws, size: usize, hub: u32) -> CircuitShape {
    let mut shape = CircuitShape::default();
    for _ in 0..1 + draws.below(3) {
        shape.inputs.push(1 + draws.below(3) as u32);
    }
    if hub > 0 {
        shape.inputs.push(hub);
    }
    let inputs: u32 = shape.inputs.iter().sum();
    let mut wires = inputs;
    let ands = draws.pick(&[0, 20, 50, 50]);
    let near = |draws: &mut Draws, wires: u32| {
        let from = if draws.percent(50) {
            wires.saturating_sub(12)
        } else {
            0
        };
        from + draws.below((wires - from) as usize) as u32
    };
    for _ in 0..draws.below(size) {
        let (x, y) = (near(draws, wires), near(draws, wires));
        let y = if draws.percent(8) { x } else { y };
        let gate = match draws.below(100) {
            n if n < ands => Gate::And(x, y),
            n if n < 80 => Gate::Xor(x, y),
            _ => Gate::Inv(x),
        };
        shape.gates.push(gate);
        wires += 1;
    }
    let x = near(draws, wires);
    for y in inputs - hub..inputs {
        if draws.percent(20) {
            shape.gates.extend([Gate::Inv(y), Gate::And(wires, x)]);
            wires += 2;
        } else {
            shape.gates.push(Gate::And(x, y));
            wires += 1;
        }
    }
    let any = (0..3).map(|_| near(draws, wires)).collect();
    shape.outputs = vec![any, (wires - inputs.min(9)..wires).collect()];
    shape
}
