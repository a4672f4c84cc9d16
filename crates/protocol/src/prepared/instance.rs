//! A component garbled in advance, and the data that each party keeps of it.
//!
//! The garbler keeps 48 bytes. From these it garbles the instance again when it leases it, off the
//! online path. The evaluator keeps the start point and the tables:
//!
//! | byte | field |
//! |---|---|
//! | 0..16 | start point |
//! | 16.. | the tables of all segments, in order |

use rand_core::CryptoRng;
use tacit_circuit::Program;
use tacit_garble::{Garbler, Scheme, WholeGarbling};
use tacit_kernels::{Block, Prg};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::bits::read_block;

/// The largest number of instances that are garbled together.
const SIDE_BY_SIDE: usize = 16;

/// The size of an instance's tables, in bytes, above which instances are garbled again one by one.
const SIDE_BY_SIDE_BYTES: usize = 64 << 10;

/// The seed that an instance is garbled from. Secret; used for one instance.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct InstanceSeed {
    seed: [u8; 32],
    start: [u8; 16],
}

impl InstanceSeed {
    /// The size in bytes.
    pub const BYTES: usize = 48;

    /// Returns a fresh seed.
    pub fn random<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let (mut seed, mut start) = ([0; 32], [0; 16]);
        rng.fill_bytes(&mut seed);
        rng.fill_bytes(&mut start);
        Self { seed, start }
    }

    /// Returns the seed with these bytes.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let (mut seed, mut start) = ([0; 32], [0; 16]);
        seed.copy_from_slice(&bytes[..32]);
        start.copy_from_slice(&bytes[32..]);
        Self { seed, start }
    }

    /// Returns the seed's bytes.
    pub fn to_bytes(&self) -> Zeroizing<[u8; Self::BYTES]> {
        let mut bytes = Zeroizing::new([0; Self::BYTES]);
        bytes[..32].copy_from_slice(&self.seed);
        bytes[32..].copy_from_slice(&self.start);
        bytes
    }

    /// Garbles the instance and appends the evaluator's half of it to `out`.
    pub fn garble<S: Scheme>(&self, scheme: S, program: &Program, delta: Block, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.start);
        let (mut garbler, inputs) = self.garbler(scheme, program, delta);
        garbler.begin(0, program, &inputs);
        for segment in 0..program.segments().len() {
            let begin = out.len();
            out.resize(begin + scheme.table_bytes(program, segment), 0);
            garbler.garble(program, segment, &mut out[begin..]);
        }
    }

    /// Garbles an instance from each of `seeds`, several at once, and writes the evaluator's halves
    /// into `out`: the bytes of [`InstanceSeed::garble`], in order.
    ///
    /// # Panics
    ///
    /// Panics if `out` is not as long as these bytes.
    pub fn garble_all<S: Scheme>(
        seeds: &[Self],
        scheme: S,
        program: &Program,
        delta: Block,
        out: &mut [u8],
    ) {
        let size = InstanceTables::size(scheme, program) as usize;
        assert_eq!(out.len(), seeds.len() * size, "room for the instances");
        let rooms = out.chunks_mut(SIDE_BY_SIDE * size);
        for (seeds, rooms) in seeds.chunks(SIDE_BY_SIDE).zip(rooms) {
            let each = |seed: &Self| seed.garbler(scheme, program, delta);
            let (garblers, inputs): (Vec<_>, Vec<_>) = seeds.iter().map(each).unzip();
            let rooms = seeds.iter().zip(rooms.chunks_exact_mut(size));
            let tables = rooms.map(|(seed, room)| {
                let (start, tables) = room.split_at_mut(Block::BYTES);
                start.copy_from_slice(&seed.start);
                tables
            });
            let garblings = garblers.into_iter().zip(&inputs).zip(tables);
            let mut garblings: Vec<_> = garblings
                .map(|((garbler, inputs), tables)| WholeGarbling {
                    garbler,
                    inputs,
                    tables,
                })
                .collect();
            scheme.garble_side_by_side(0, program, &mut garblings);
        }
    }

    /// Returns the wires of the instance, by garbling it again.
    pub fn wires<S: Scheme>(
        &self,
        scheme: S,
        program: &Program,
        delta: Block,
    ) -> GarblerInstance<S::Wire> {
        let (mut garbler, inputs) = self.garbler(scheme, program, delta);
        garbler.begin(0, program, &inputs);
        let mut tables = Vec::new();
        for segment in 0..program.segments().len() {
            tables.resize(scheme.table_bytes(program, segment), 0);
            garbler.garble(program, segment, &mut tables);
        }
        let mut outputs = Zeroizing::new(Vec::new());
        garbler.finish(program, &mut outputs);
        GarblerInstance { inputs, outputs }
    }

    /// Returns the wires of an instance of each of `seeds`, in order. Garbles several small
    /// instances at once.
    pub fn wires_all<S: Scheme>(
        seeds: &[Self],
        scheme: S,
        program: &Program,
        delta: Block,
    ) -> Vec<GarblerInstance<S::Wire>> {
        let size = (InstanceTables::size(scheme, program) as usize) - Block::BYTES;
        if size > SIDE_BY_SIDE_BYTES {
            let wires = |seed: &Self| seed.wires(scheme, program, delta);
            return seeds.iter().map(wires).collect();
        }
        let mut instances = Vec::with_capacity(seeds.len());
        let mut tables = vec![0; size * SIDE_BY_SIDE];
        for seeds in seeds.chunks(SIDE_BY_SIDE) {
            let each = |seed: &Self| seed.garbler(scheme, program, delta);
            let (garblers, inputs): (Vec<_>, Vec<_>) = seeds.iter().map(each).unzip();
            let mut left = &mut tables[..];
            let mut garblings = Vec::with_capacity(seeds.len());
            for (garbler, inputs) in garblers.into_iter().zip(&inputs) {
                let (these, rest) = left.split_at_mut(size);
                left = rest;
                garblings.push(WholeGarbling {
                    garbler,
                    inputs,
                    tables: these,
                });
            }
            scheme.garble_side_by_side(0, program, &mut garblings);
            let finished = garblings.into_iter().map(|mut one| {
                let mut outputs = Zeroizing::new(Vec::new());
                one.garbler.finish(program, &mut outputs);
                outputs
            });
            let finished: Vec<_> = finished.collect();
            let both = inputs.into_iter().zip(finished);
            instances.extend(both.map(|(inputs, outputs)| GarblerInstance { inputs, outputs }));
        }
        instances
    }

    fn garbler<S: Scheme>(
        &self,
        scheme: S,
        program: &Program,
        delta: Block,
    ) -> (S::Garbler, Zeroizing<Vec<S::Wire>>) {
        let mut prg = Prg::from_seed(&self.seed);
        let mut seed = Zeroizing::new([0; 32]);
        prg.fill_bytes(&mut *seed);
        let mut garbler = scheme.garbler(*seed, Block::from_bytes(self.start), delta);
        let wire = |_| garbler.wire_with_active(prg.next_block(), false);
        let inputs = (0..program.inputs()).map(wire).collect();
        (garbler, Zeroizing::new(inputs))
    }
}

/// The garbler's half of a leased instance.
pub struct GarblerInstance<W: Zeroize> {
    /// The input wires.
    pub(super) inputs: Zeroizing<Vec<W>>,
    /// The output wires.
    pub(super) outputs: Zeroizing<Vec<W>>,
}

/// The evaluator's half of an instance.
pub struct InstanceTables {
    bytes: Vec<u8>,
}

impl InstanceTables {
    /// Returns the size in bytes.
    pub fn size<S: Scheme>(scheme: S, program: &Program) -> u64 {
        let segments = 0..program.segments().len();
        let tables = segments.map(|segment| scheme.table_bytes(program, segment) as u64);
        Block::BYTES as u64 + tables.sum::<u64>()
    }

    /// Returns the instance with these bytes, if their number is what `program` needs under
    /// `scheme`.
    pub fn from_bytes<S: Scheme>(scheme: S, program: &Program, bytes: Vec<u8>) -> Option<Self> {
        (bytes.len() as u64 == Self::size(scheme, program)).then_some(Self { bytes })
    }

    /// Evaluates the instance on these input labels, and appends the output labels to `outputs`.
    pub(super) fn evaluate<S: Scheme>(
        &self,
        scheme: S,
        program: &Program,
        inputs: &[Block],
        outputs: &mut Vec<Block>,
    ) {
        use tacit_garble::Evaluator as _;
        let (start, mut tables) = self.bytes.split_at(Block::BYTES);
        let mut evaluator = scheme.evaluator(read_block(start));
        evaluator.begin(0, program, inputs);
        for segment in 0..program.segments().len() {
            let these;
            (these, tables) = tables.split_at(scheme.table_bytes(program, segment));
            evaluator.evaluate(program, segment, these);
        }
        evaluator.finish(program, outputs);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tacit_garble::HalfGates;
    use tacit_kernels::Construction;

    use super::*;

    /// All instances of a lot share one Δ. If they shared a cipher key, one table of the cipher
    /// would test guesses of Δ against all of them. Keys are start ⊕ tweak, and tweaks of different
    /// instances of a lot differ only outside bytes 3 to 8.
    #[test]
    fn instances_of_a_lot_share_no_cipher_key() {
        let circuit = tacit_components::library::find("adder", &BTreeMap::new());
        let program = Program::compile(&circuit.expect("the library has it"));
        let mut prg = Prg::new(Block::from_u128(5));
        let delta = prg.next_block().with_lsb(1.into());
        let seeds: Vec<_> = (0..100).map(|_| InstanceSeed::random(&mut prg)).collect();
        for construction in [Construction::TwoCall, Construction::Rekeyed] {
            let scheme = HalfGates::new(construction);
            let size = InstanceTables::size(scheme, &program) as usize;
            let mut lot = vec![0; seeds.len() * size];
            InstanceSeed::garble_all(&seeds, scheme, &program, delta, &mut lot);
            // The evaluator's half of each instance starts with its start point.
            let starts: Vec<_> = lot.chunks_exact(size).map(|held| &held[3..8]).collect();
            for (i, start) in starts.iter().enumerate() {
                assert!(
                    !starts[..i].contains(start),
                    "instance {i} under {construction:?}"
                );
            }
        }
    }
}
