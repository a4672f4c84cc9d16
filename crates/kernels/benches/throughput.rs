//! Blocks a second of each kernel on each backend that this CPU has, on one thread.
//!
//! Arguments, if any, are words that must all occur in a record for it to be measured: `cargo bench
//! -p tacit-kernels -- two-call vaes-256`. Prints a JSON record a line. Each figure is the best of many short runs, which is what the
//! kernel does when nothing else has the core.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tacit_kernels::{
    Aes128, Block, Construction, Cpu, Prg, Tweak, TweakableHash, Use, encrypt_each,
    encrypt_each_twice, transpose_128,
};

/// Blocks that a run works on: they fit in the first-level cache.
const BLOCKS: usize = 1024;
/// How long each figure is measured for.
const PATIENCE: Duration = Duration::from_millis(300);

/// Measures `run`, which makes `blocks` blocks, and prints its record.
fn measure(kernel: &str, cpu: Cpu, blocks: usize, mut run: impl FnMut()) {
    let what = format!("\"kernel\":\"{kernel}\",\"backend\":\"{}\"", cpu.backend());
    let mut words = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    if !words.all(|word| what.contains(&word)) {
        return;
    }
    let (begin, mut best) = (Instant::now(), Duration::MAX);
    while begin.elapsed() < PATIENCE {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
    }
    let block_ns = best.as_secs_f64() * 1e9 / blocks as f64;
    let million_blocks_s = 1e3 / block_ns;
    println!("{{{what},\"block_ns\":{block_ns:.3},\"million_blocks_s\":{million_blocks_s:.1}}}");
}

fn main() {
    let tweak = Tweak {
        usage: Use::And,
        instance: 0,
        number: 0,
        a: 0,
        b: 0,
    };
    for cpu in Cpu::available() {
        let mut blocks = vec![Block::ZERO; BLOCKS];
        let mut others = vec![Block::ONES; BLOCKS];
        let mut keys = vec![Block::ZERO; BLOCKS];
        Prg::new(Block::ONES).fill_blocks(&mut keys);

        let aes = Aes128::new(cpu, Block::ONES);
        measure("aes-one-key", cpu, BLOCKS, || {
            aes.encrypt_blocks(black_box(&mut blocks));
        });
        measure("aes-key-a-block", cpu, BLOCKS, || {
            encrypt_each(cpu, &keys, black_box(&mut blocks));
        });
        measure("aes-key-two-blocks", cpu, BLOCKS, || {
            encrypt_each_twice(cpu, &keys[..BLOCKS / 2], black_box(&mut blocks));
        });
        let mut prg = Prg::from_seed_on(cpu, &[1; 32]);
        measure("prg", cpu, BLOCKS, || {
            prg.fill_blocks(black_box(&mut blocks))
        });
        for (name, construction) in [
            ("two-call", Construction::TwoCall),
            ("re-keyed", Construction::Rekeyed),
        ] {
            let hash = TweakableHash::on(cpu, construction, Block::ONES);
            measure(&format!("hash-{name}"), cpu, BLOCKS, || {
                hash.hash(tweak, black_box(&mut blocks));
            });
            measure(&format!("hash-both-{name}"), cpu, 2 * BLOCKS, || {
                hash.hash_both(tweak, Block::ONES, black_box(&mut blocks), &mut others);
            });
        }
        measure("transpose", cpu, BLOCKS, || {
            transpose_128(cpu, &keys, black_box(&mut blocks));
        });
    }
}
