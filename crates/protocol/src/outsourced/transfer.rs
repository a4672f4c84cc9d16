//! Outsourced oblivious transfer: the evaluator chooses, the generator offers, and the cloud
//! receives.
//!
//! This is section 4 of Carter, Mood, Traynor and Butler (USENIX Security 2013), over a maliciously
//! secure extension. Its receiver is the evaluator, with its encoded input a as choices. For wire j
//! the keys are K_j^b = H(j, q_j ⊕ b·Δ), of which the evaluator has K_j^{a_j}. The generator's
//! strings for wire j are, at position v = b ⊕ p_j,
//!
//! (W_{j,c}^b ⊕ blind_{j,c}) of every circuit c, under PRG(K_j^b) from a start point for j and the
//! run,
//!
//! where p is random and known to generator and evaluator. The evaluator sends the cloud K_j^{a_j}
//! and a ⊕ p, and the blinds of the evaluated circuits. One transfer serves all circuits, so the
//! evaluator's input is the same in each.
//!
//! **Deviation.** In the paper the cloud gets the rows t_j = q_j ⊕ a_j·Δ. Here it gets the keys.
//! This costs the evaluator one hash for each wire, and the cloud sees the output of an OT and no
//! row: the extension is used in the usual way, by a receiver that then passes its outputs on.
//!
//! **The start point.** For a checked circuit the cloud knows both labels, and so a block of the
//! PRG under the key that it lacks. If it were the block with the same number under every such key
//! of a chain, one call of the cipher would test a guess against all of them.
//!
//! **Cost** for each encoded bit: 16 bytes and a bit from the evaluator; 32 bytes for each circuit
//! from the generator, and an equal number of cipher blocks; two hashes from the generator and one
//! from the cloud.

use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::parameters::Parameters;
use crate::bits::{append_blocks, bit, bytes_for, read_block};
use crate::malicious::oracle::{Domain, HASH_BYTES, Oracle};
use crate::malicious::pads::Pads;

/// Returns the hash that makes the keys of a run's wires.
pub(super) fn wire_pads(oracle: &Oracle) -> Pads {
    Pads::new(read_block(&oracle.parts(Domain::Pads, 0, 0, &[])))
}

/// Returns the hash that makes the keys of the cut.
pub(super) fn cut_pads(oracle: &Oracle) -> Pads {
    Pads::new(read_block(&oracle.parts(Domain::Pads, 1, 0, &[])))
}

/// Returns the mask of a string of wire `j` under its key.
fn string_prg(oracle: &Oracle, j: usize, key: Block) -> Prg {
    oracle.prg(Domain::TransferStart, 0, j as u32, key)
}

/// The generator's strings.
pub(crate) struct Offer {
    /// The oracle of the run.
    pub(super) oracle: Oracle,
    /// K_j^0 and K_j^1.
    pub(super) keys: [Zeroizing<Vec<Block>>; 2],
    /// p.
    pub(super) permutation: Zeroizing<Vec<u8>>,
    /// Blinded labels of 0, wire after wire for each circuit.
    pub(super) blinded: Vec<Zeroizing<Vec<Block>>>,
    /// Δ of each circuit.
    pub(super) deltas: Zeroizing<Vec<Block>>,
}

impl Offer {
    /// Appends both strings of wire `j`.
    pub(super) fn write(&self, j: usize, out: &mut Vec<u8>) {
        let copies = self.deltas.len();
        let mut strings = [(); 2].map(|()| Zeroizing::new(vec![Block::ZERO; copies]));
        for (value, (string, keys)) in (0_u8..).zip(strings.iter_mut().zip(&self.keys)) {
            string_prg(&self.oracle, j, keys[j]).fill_blocks(string);
            let circuits = self.blinded.iter().zip(self.deltas.iter());
            for (block, (zeros, delta)) in string.iter_mut().zip(circuits) {
                *block ^= zeros[j] ^ delta.and_bit(value.into());
            }
        }
        let [zero, one] = &mut strings;
        let swap = u8::from(bit(&self.permutation, j)).into();
        for (zero, one) in zero.iter_mut().zip(one.iter_mut()) {
            subtle::ConditionallySelectable::conditional_swap(zero, one, swap);
        }
        append_blocks(out, zero);
        append_blocks(out, one);
    }
}

/// Returns the bytes that the evaluator sends the cloud: its verdict on the cloud's keys, keys of
/// wires, a ⊕ p, and its data about each circuit.
pub(super) fn handed_bytes(parameters: &Parameters, transfers: usize) -> usize {
    1 + (Block::BYTES * transfers + bytes_for(transfers))
        + parameters.checked() * Block::BYTES
        + parameters.evaluated() * EVALUATED_BYTES
}

/// The verdict that the cloud's keys match the generator's for the cloud's split.
pub(super) const AGREED: u8 = 1;
/// The verdict that they do not match. The rest of the message is zeros.
pub(super) const REFUSED: u8 = 0;

/// The number of bytes about an evaluated circuit: its blinds' seed, and the hash of the select
/// bits of its labels.
pub(super) const EVALUATED_BYTES: usize = Block::BYTES + HASH_BYTES;

/// Returns the blocks that the strings of wire `j` hold for each evaluated circuit, under `key` at
/// position `position`.
pub(super) fn accept(
    oracle: &Oracle,
    j: usize,
    key: Block,
    position: bool,
    strings: &[u8],
    evaluated: &[usize],
) -> Zeroizing<Vec<Block>> {
    let (blocks, _) = strings.as_chunks::<{ Block::BYTES }>();
    let copies = blocks.len() / 2;
    let (zero, one) = blocks.split_at(copies);
    // The choice of the evaluator is masked by p, which the cloud does not know.
    let chosen = if position { one } else { zero };
    let mut pads = Zeroizing::new(vec![Block::ZERO; copies]);
    string_prg(oracle, j, key).fill_blocks(&mut pads);
    let blocks = evaluated.iter();
    let blocks = blocks.map(|copy| Block::from_bytes(chosen[*copy]) ^ pads[*copy]);
    Zeroizing::new(blocks.collect())
}

/// Draws the blinds of the labels of circuit `copy`, wire after wire. Their start point is specific
/// to the run and the circuit, so that one table of AES does not serve against many of them.
pub(super) fn blinds(
    oracle: &Oracle,
    copy: usize,
    seed: Block,
    transfers: usize,
) -> Zeroizing<Vec<Block>> {
    let mut blinds = Zeroizing::new(vec![Block::ZERO; transfers]);
    let mut prg = oracle.prg(Domain::BlindStart, copy as u32, 0, seed);
    prg.fill_blocks(&mut blinds);
    blinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::pack;

    /// The cloud gets the blinded label of each chosen value, for any order of the strings.
    #[test]
    fn the_cloud_gets_what_the_evaluator_chose() {
        let mut prg = Prg::new(Block::ONES);
        let (wires, copies) = (9, 4);
        let mut draw = |count| {
            let mut blocks = Zeroizing::new(vec![Block::ZERO; count]);
            prg.fill_blocks(&mut blocks);
            blocks
        };
        let choices: Vec<bool> = (0..wires).map(|i| i % 2 == 0).collect();
        let permutation: Vec<bool> = (0..wires).map(|i| i % 3 == 0).collect();
        let oracle = Oracle::named([1; 16]);
        let offer = Offer {
            oracle,
            keys: [draw(wires), draw(wires)],
            permutation: Zeroizing::new(pack(&permutation)),
            blinded: (0..copies).map(|_| draw(wires)).collect(),
            deltas: draw(copies),
        };
        let evaluated = [1, 3];
        let mut labels: Vec<_> = evaluated
            .map(|_| Zeroizing::new(vec![Block::ZERO; wires]))
            .into();
        for j in 0..wires {
            let mut strings = Vec::new();
            offer.write(j, &mut strings);
            let key = offer.keys[usize::from(choices[j])][j];
            let position = choices[j] ^ permutation[j];
            let accepted = accept(&oracle, j, key, position, &strings, &evaluated);
            for (labels, block) in labels.iter_mut().zip(accepted.iter()) {
                labels[j] ^= *block;
            }
        }
        for (copy, labels) in evaluated.iter().zip(&labels) {
            for j in 0..wires {
                let delta = offer.deltas[*copy].and_bit(u8::from(choices[j]).into());
                assert_eq!(labels[j], offer.blinded[*copy][j] ^ delta, "{copy}, {j}");
            }
        }
    }

    /// For a checked circuit the cloud knows Δ, so each wire's two strings give it a block under
    /// the key of the value that was not chosen. Here that key is the same everywhere. If blocks
    /// were equal, one call of the cipher would test them together.
    #[test]
    fn a_guess_at_a_key_is_tested_against_one_wire_of_one_run() {
        let (wires, checked) = (3, 1);
        let [chosen, other] = [3, 4].map(Block::from_u128);
        let deltas = [5, 6].map(Block::from_u128);
        let mut blocks = Vec::new();
        for run in [1, 2] {
            let oracle = Oracle::named([run; 16]);
            let offer = Offer {
                oracle,
                keys: [chosen, other].map(|key| Zeroizing::new(vec![key; wires])),
                permutation: Zeroizing::new(vec![0]),
                blinded: vec![Zeroizing::new(vec![Block::ONES; wires]); 2],
                deltas: Zeroizing::new(deltas.to_vec()),
            };
            for j in 0..wires {
                let mut strings = Vec::new();
                offer.write(j, &mut strings);
                let label = accept(&oracle, j, chosen, false, &strings, &[checked])[0];
                let of_other = read_block(&strings[Block::BYTES * (deltas.len() + checked)..]);
                blocks.push(of_other ^ label ^ deltas[checked]);
            }
        }
        let mut at_fixed_place = [Block::ZERO; 2];
        Prg::new(other).fill_blocks(&mut at_fixed_place);
        blocks.push(at_fixed_place[checked]);
        for (i, block) in blocks.iter().enumerate() {
            assert!(!blocks[..i].contains(block), "block {i}");
        }
    }
}
