//! Whether kernels take longer for some secrets than for others, as a release build runs them here:
//! `cargo run --release -p tacit-testkit --example timing [MEASUREMENTS]`.
//!
//! This is the method of dudect (Reparaz, Balasch, Verbauwhede, "Dude, is my code constant time?",
//! 2017): a kernel runs on a secret of zeros or on one drawn at random, in random order, and
//! Welch's t-test compares the times of the two classes, whole and without their slowest parts. It
//! needs to know nothing of a backend, so it also covers those that valgrind does not run. It does
//! not show that there is no difference, only that one as large as the noise of this machine would
//! have been seen. A planted comparison that ends at the first difference shows that it sees
//! anything.

use std::env;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use tacit_circuit::Program;
use tacit_garble::{Evaluator, Garbler, SCHEMES, Scheme, SchemeVisitor, with_scheme_on};
use tacit_kernels::{
    Aes128, Block, Construction, Cpu, CrossHash, Prg, Tweak, TweakableHash, Use, encrypt_each,
    gf128_multiply, transpose_128,
};
use tacit_testkit::garbling::circuits;

/// The blocks of a secret.
const BLOCKS: usize = 128;
/// The measurements of a kernel, unless the command says otherwise.
const MEASUREMENTS: usize = 40_000;
/// The inputs that are made before the clock runs.
const BATCH: usize = 200;
/// From this |t| on the times differ, by dudect's rule.
const DIFFERS: f64 = 10.0;
/// Only times up to these quantiles are compared, in turn: the slow ones are mostly the system's.
const QUANTILES: [f64; 6] = [0.3, 0.5, 0.75, 0.9, 0.99, 1.0];

/// A name, and what works on a secret.
type Kernel = (String, Box<dyn FnMut(&mut [Block])>);

fn main() -> ExitCode {
    let measurements = env::args().nth(1).map(|given| given.parse());
    let measurements = measurements.unwrap_or(Ok(MEASUREMENTS)).expect("a number");
    let planted = largest_t(measurements, &mut ends_at_the_first_difference);
    println!("planted comparison: {planted:.1}");
    let mut all_hold = planted > DIFFERS;
    if !all_hold {
        println!("the planted comparison, unseen, DEPENDS on its secret");
    }
    for cpu in Cpu::available() {
        for (name, mut work) in kernels(cpu) {
            let name = format!("{name} on {}", cpu.backend());
            // A machine that changes its clock in the middle differs once, code differs each time.
            let mut t = largest_t(measurements, &mut work);
            for _ in 0..2 {
                if t > DIFFERS {
                    t = t.min(largest_t(measurements, &mut work));
                }
            }
            println!("{name}: t = {t:.1}");
            if t > DIFFERS {
                println!("{name} DEPENDS on its secret");
                all_hold = false;
            }
        }
    }
    if all_hold {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Code that is wrong: it stops at the first block that is not zero.
fn ends_at_the_first_difference(secret: &mut [Block]) {
    black_box(secret.iter().position(|block| block.to_u128() != 0));
}

fn kernels(cpu: Cpu) -> Vec<Kernel> {
    let mut kernels = primitives(cpu);
    for rung in &SCHEMES {
        let of_scheme = with_scheme_on(cpu, rung.id, Schemes).expect("it is one of SCHEMES");
        for (step, work) in of_scheme {
            kernels.push((format!("{step} {}", rung.id), work));
        }
    }
    kernels
}

fn primitives(cpu: Cpu) -> Vec<Kernel> {
    let mut columns = vec![Block::ZERO; BLOCKS];
    let (two, rekeyed) = [Construction::TwoCall, Construction::Rekeyed]
        .map(|construction| TweakableHash::on(cpu, construction, Block::ONES))
        .into();
    let tweak = Tweak::of(Use::And, 0);
    let cross = CrossHash::on(cpu, Block::ONES);
    vec![
        kernel("key schedule and AES", move |secret| {
            let aes = Aes128::new(cpu, secret[0]);
            aes.encrypt_blocks(secret);
        }),
        kernel("AES under a key each", move |secret| {
            let (keys, blocks) = secret.split_at_mut(BLOCKS / 2);
            encrypt_each(cpu, keys, blocks);
        }),
        kernel("two-call hash", move |secret| two.hash(tweak, secret)),
        kernel("re-keyed hash", move |secret| rekeyed.hash(tweak, secret)),
        kernel("hash of crosses", move |secret| cross.hash(0, secret)),
        kernel("generator", move |secret| {
            Prg::from_seed_on(cpu, &pair(secret)).fill_blocks(secret);
        }),
        kernel("transposition of OTs", move |secret| {
            transpose_128(cpu, secret, &mut columns);
            black_box(&mut columns);
        }),
        kernel("product in GF(2^128)", move |secret| {
            for n in 1..BLOCKS {
                secret[n] = gf128_multiply(cpu, secret[n], secret[n - 1]);
            }
        }),
        kernel("comparison of MACs", |secret| {
            let zeros = secret.iter().filter(|&&mac| black_box(mac == Block::ZERO));
            // Whether a MAC is right is told; where it is wrong is not.
            black_box(zeros.count());
        }),
        kernel("selection by secret bits", |secret| {
            let sum = |sum, block: &Block| sum ^ Block::ONES.and_bit(block.lsb());
            secret[0] = secret.iter().fold(Block::ZERO, sum);
        }),
    ]
}

fn kernel(name: &str, work: impl FnMut(&mut [Block]) + 'static) -> Kernel {
    (name.to_owned(), Box::new(work))
}

/// Returns a seed from the first two blocks of a secret.
fn pair(secret: &[Block]) -> [u8; 32] {
    let mut seed = [0; 32];
    seed[..16].copy_from_slice(&secret[0].to_bytes());
    seed[16..].copy_from_slice(&secret[1].to_bytes());
    seed
}

/// Makes the kernels of a scheme: garble, with seed, Δ, input labels and their bits as secret, and
/// evaluate, with the labels.
struct Schemes;

impl SchemeVisitor for Schemes {
    type Output = Vec<Kernel>;

    fn visit<S: Scheme>(self, scheme: S) -> Vec<Kernel> {
        let program = Program::compile(&circuits::random(77, 9, 60));
        let segments = 0..program.segments().len();
        let tables = segments.map(|segment| vec![0x5a; scheme.table_bytes(&program, segment)]);
        let tables: Vec<_> = tables.collect();
        let (of_evaluator, mut made) = (program.clone(), tables.clone());
        let garble = move |secret: &mut [Block]| {
            let delta = secret[2].with_lsb(1.into());
            let mut garbler = scheme.garbler(pair(secret), Block::ONES, delta);
            let labels = secret[3..].iter().take(program.inputs());
            let wires: Vec<_> = labels
                .map(|label| garbler.wire_with_active(*label, label.to_u128() >> 1 & 1 == 1))
                .collect();
            garbler.begin(1, &program, &wires);
            for (segment, tables) in made.iter_mut().enumerate() {
                garbler.garble(&program, segment, tables);
            }
            black_box(&mut made);
        };
        let evaluate = move |secret: &mut [Block]| {
            let mut evaluator = scheme.evaluator(Block::ONES);
            evaluator.begin(1, &of_evaluator, &secret[..of_evaluator.inputs()]);
            for (segment, tables) in tables.iter().enumerate() {
                evaluator.evaluate(&of_evaluator, segment, tables);
            }
            let mut outputs = Vec::new();
            evaluator.finish(&of_evaluator, &mut outputs);
            black_box(outputs);
        };
        vec![kernel("garble", garble), kernel("evaluate", evaluate)]
    }
}

/// Measures a kernel and returns the largest |t| over all quantiles.
fn largest_t(measurements: usize, work: &mut dyn FnMut(&mut [Block])) -> f64 {
    let mut prg = Prg::new(Block::from_u128(52));
    let mut inputs = vec![[Block::ZERO; BLOCKS]; BATCH];
    let mut secret = [Block::ZERO; BLOCKS];
    let mut times = Vec::with_capacity(measurements);
    // The first batch warms up caches, the branch predictor and the clock.
    for batch in 0..=measurements.div_ceil(BATCH) {
        let classes: Vec<_> = inputs
            .iter_mut()
            .map(|input| draw(&mut prg, input))
            .collect();
        for (input, class) in inputs.iter().zip(classes) {
            secret.copy_from_slice(input);
            let start = Instant::now();
            work(black_box(&mut secret));
            let ns = start.elapsed().as_nanos() as f64;
            if batch > 0 {
                times.push((ns, class));
            }
        }
    }
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let parts = QUANTILES.map(|part| &times[..(part * times.len() as f64) as usize]);
    parts.map(welch).into_iter().fold(0.0, f64::max)
}

/// Draws a class and its secret: zeros, or random. Both cost the generator the same.
fn draw(prg: &mut Prg, input: &mut [Block]) -> bool {
    let is_random = prg.next_block().to_u128() & 1 == 1;
    prg.fill_blocks(input);
    if !is_random {
        input.fill(Block::ZERO);
    }
    is_random
}

/// Returns |t| of Welch's test for the two classes of times, 0 if one has hardly any.
fn welch(times: &[(f64, bool)]) -> f64 {
    let [zeros, random] = [false, true].map(|class| {
        let of_class = times
            .iter()
            .filter(|time| time.1 == class)
            .map(|time| time.0);
        let count = of_class.clone().count() as f64;
        let mean = of_class.clone().sum::<f64>() / count;
        let squares: f64 = of_class.map(|time| (time - mean).powi(2)).sum();
        (count, mean, squares / (count - 1.0) / count)
    });
    let spread = (zeros.2 + random.2).sqrt();
    if zeros.0 < 100.0 || random.0 < 100.0 || spread == 0.0 {
        return 0.0;
    }
    (zeros.1 - random.1).abs() / spread
}
