//! Fuzz targets as plain functions. Each takes arbitrary bytes, none of which may make it panic,
//! hang or use a disproportionate amount of memory.
//!
//! | file | targets |
//! |---|---|
//! | `decoders` | parsers of bytes or text from others |
//! | `duels` | two parties, one of which lies from some message on |
//! | `shares` | the same for `gmw` and for matchings |
//! | `trio` | the same for the three parties of `outsourced` |
//! | `transports` | frames, TLS, a whole session |
//! | `stores` | the files of a stock |
//!
//! `fuzz/fuzz_targets/any.rs` passes them to libFuzzer (`scripts/fuzz`). `tests/all/fuzz.rs` runs
//! each on the inputs in `fuzz/corpus` and on mutations of them, so that CI runs all of them on
//! stable Rust.

mod decoders;
mod duels;
mod edits;
mod shares;
mod stores;
mod transports;
mod trio;

use std::fs;
use std::path::PathBuf;

use tacit_kernels::{Block, Prg};

pub use decoders::{bristol, language, leases, messages, saved, texts};
pub use duels::{
    authenticated, base_ots, batch, direct, extension, prepare_batch, prepared, silent,
};
pub use shares::{gmw, matching};
pub use stores::{honest_marks, marks, stock};
pub use transports::{frames, session, tls};
pub use trio::{honest_state, outsourced};

/// A target.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, which is also that of its folder of inputs.
    pub name: &'static str,
    /// The function that processes some bytes.
    pub run: fn(&[u8]),
    /// The number of mutations in CI: few if one takes milliseconds.
    pub mutations: u32,
}

const fn target(name: &'static str, run: fn(&[u8]), mutations: u32) -> Target {
    Target {
        name,
        run,
        mutations,
    }
}

/// All targets.
pub const TARGETS: &[Target] = &[
    target("authenticated", authenticated, 6),
    target("base_ots", base_ots, 20),
    target("batch", batch, 200),
    target("bristol", bristol, 4000),
    target("direct", direct, 20),
    target("extension", extension, 40),
    target("frames", frames, 4000),
    target("gmw", gmw, 20),
    target("language", language, 2000),
    target("leases", leases, 4000),
    target("marks", marks, 4000),
    target("matching", matching, 20),
    target("messages", messages, 4000),
    target("outsourced", outsourced, 20),
    target("prepare_batch", prepare_batch, 10),
    target("prepared", prepared, 200),
    target("saved", saved, 4000),
    target("session", session, 20),
    target("silent", silent, 2),
    target("stock", stock, 200),
    target("texts", texts, 4000),
    target("tls", tls, 60),
];

/// Returns the inputs of a target in the repository, ordered by their names.
///
/// # Panics
///
/// If its folder cannot be read.
pub fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let files = fs::read_dir(folder.join(name)).expect("a folder of inputs");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    let inputs = files.iter().map(|file| fs::read(file).expect("an input"));
    inputs.collect()
}

/// Returns `count` mutations of `inputs`, the same ones each time: with bytes changed, removed,
/// repeated or taken from another input.
pub fn mutations(inputs: &[Vec<u8>], count: u32) -> impl Iterator<Item = Vec<u8>> {
    let mut prg = Prg::new(Block::from_u128(u128::from(count)));
    (0..count).map(move |_| {
        let mut draw = |below: usize| {
            let mut bytes = [0; 8];
            prg.fill_bytes(&mut bytes);
            (u64::from_le_bytes(bytes) % below.max(1) as u64) as usize
        };
        let pick = |draw: &mut dyn FnMut(usize) -> usize| -> Vec<u8> {
            inputs.get(draw(inputs.len())).cloned().unwrap_or_default()
        };
        let mut bytes = pick(&mut draw);
        for _ in 0..=draw(6) {
            let at = draw(bytes.len() + 1);
            match draw(6) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, draw(256) as u8),
                2 => {
                    let end = (at + draw(16)).min(bytes.len());
                    bytes.drain(at..end);
                }
                3 => {
                    let other = pick(&mut draw);
                    let from = draw(other.len() + 1);
                    let length = draw(64).min(other.len() - from);
                    bytes.splice(at..at, other[from..from + length].iter().copied());
                }
                4 if at < bytes.len() => bytes[at] ^= 1 << draw(8),
                _ if at < bytes.len() => {
                    bytes[at] = [0, 1, 0x7f, 0x80, 0xff, draw(256) as u8][draw(6)];
                }
                _ => bytes.push(draw(256) as u8),
            }
        }
        bytes
    })
}
