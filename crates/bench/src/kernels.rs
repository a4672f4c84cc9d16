//! The kernels on each backend, on one thread: the upper limit of everything that rests on them.
//!
//! Each works on 1024 blocks, which fit into the first-level cache.

use std::hint::black_box;

use serde::{Deserialize, Serialize};
use tacit_kernels::{
    Aes128, Block, Construction, Cpu, Prg, Tweak, TweakableHash, Use, encrypt_each,
    encrypt_each_twice, transpose_128,
};

use crate::spread::Spread;
use crate::table::{Column, Row, number, short, text};
use crate::{Error, Figures, Options, Tell};

/// A kernel on a backend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelFigures {
    /// The kernel.
    pub kernel: String,
    /// The backend.
    pub backend: String,
    /// The time for each block that it makes.
    pub block_ns: Spread,
    /// Millions of blocks a second, from the median.
    pub million_blocks_per_s: f64,
}

impl Row for KernelFigures {
    const TITLE: &'static str = "Kernels, one thread; AES under one key is the ceiling of all";
    const COLUMNS: &'static [Column<Self>] = &[
        text("kernel", 20, |of| of.kernel.clone()),
        text("backend", 9, |of| of.backend.clone()),
        number("ns a block", 10, |of| short(of.block_ns.median)),
        number("± %", 5, |of| of.block_ns.deviation_text()),
        number("M blocks/s", 10, |of| short(of.million_blocks_per_s)),
    ];
}

/// The number of blocks that a run works on.
const BLOCKS: usize = 1024;

const TWEAK: Tweak = Tweak::of(Use::And, 0);

/// Measures all kernels on all backends.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    for cpu in Cpu::available() {
        for (kernel, blocks, mut work) in kernels(cpu) {
            if !options.wants(&format!("{kernel} {}", cpu.backend())) {
                continue;
            }
            let seconds = Spread::of(&options.patience().time(&mut work));
            let block_ns = seconds.scaled(1e9 / blocks as f64);
            tell(Figures::from(KernelFigures {
                kernel: kernel.to_owned(),
                backend: cpu.backend().to_string(),
                block_ns,
                million_blocks_per_s: 1e3 / block_ns.median,
            }))?;
        }
    }
    Ok(())
}

/// A kernel's name, the number of blocks that one run makes, and the run.
type Kernel = (&'static str, usize, Box<dyn FnMut()>);

fn kernels(cpu: Cpu) -> Vec<Kernel> {
    let mut kernels = ciphers(cpu);
    for (one, both, construction) in [
        ("hash-two-call", "hash-both-two-call", Construction::TwoCall),
        ("hash-re-keyed", "hash-both-re-keyed", Construction::Rekeyed),
    ] {
        let (hash, mut blocks) = (TweakableHash::on(cpu, construction, Block::ONES), zeros());
        let run = move || hash.hash(TWEAK, black_box(&mut blocks));
        kernels.push((one, BLOCKS, Box::new(run)));
        let (hash, mut blocks) = (TweakableHash::on(cpu, construction, Block::ONES), zeros());
        let mut others = zeros();
        let run = move || hash.hash_both(TWEAK, &Block::ONES, black_box(&mut blocks), &mut others);
        kernels.push((both, 2 * BLOCKS, Box::new(run)));
    }
    let (rows, mut blocks) = (random(), zeros());
    let run = move || transpose_128(cpu, &rows, black_box(&mut blocks));
    kernels.push(("transpose", BLOCKS, Box::new(run)));
    kernels
}

fn ciphers(cpu: Cpu) -> Vec<Kernel> {
    let (aes, mut blocks) = (Aes128::new(cpu, Block::ONES), zeros());
    let one_key = move || aes.encrypt_blocks(black_box(&mut blocks));
    let (keys, mut blocks) = (random(), zeros());
    let key_a_block = move || encrypt_each(cpu, &keys, black_box(&mut blocks));
    let (keys, mut blocks) = (random(), zeros());
    let key_two_blocks =
        move || encrypt_each_twice(cpu, &keys[..BLOCKS / 2], black_box(&mut blocks));
    let (mut prg, mut blocks) = (Prg::from_seed_on(cpu, &[1; 32]), zeros());
    let generator = move || prg.fill_blocks(black_box(&mut blocks));
    vec![
        ("aes-one-key", BLOCKS, Box::new(one_key)),
        ("aes-key-a-block", BLOCKS, Box::new(key_a_block)),
        ("aes-key-two-blocks", BLOCKS, Box::new(key_two_blocks)),
        ("prg", BLOCKS, Box::new(generator)),
    ]
}

fn zeros() -> Vec<Block> {
    vec![Block::ZERO; BLOCKS]
}

fn random() -> Vec<Block> {
    let mut blocks = zeros();
    Prg::new(Block::ONES).fill_blocks(&mut blocks);
    blocks
}
