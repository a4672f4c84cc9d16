//! Oblivious transfers of first shares: one for each encoded bit serves all circuits of a bucket.
//!
//! For encoded bit k the garbler offers two strings: the first shares of value 0, and those of
//! value 1, of every circuit of the bucket in the chain's order. They are masked by a PRG under the
//! OT's two keys H(i, q) and H(i, q ⊕ Δ). H is the re-keyed tweakable hash of `kernels` under the
//! OT's number and a start point from the batch's name. The choices are the OTs' random ones, so
//! nothing corrects them. The evaluator gets the shares of ŷ_k, learns nothing about the others,
//! and checks each against its commitment.

use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::circuit::Secrets;
use super::layout::Batch;
use super::oracle::Domain;
use crate::bits::read_block;
use crate::malicious::pads::Pads;

impl<S: Scheme<Wire = Block>> Batch<'_, S> {
    /// Returns the number of OTs of an execution: one for each encoded bit of the evaluator's input
    /// and D.
    pub(super) fn transfers(&self) -> usize {
        self.encoding.encoded_bits()
    }

    /// Returns the number of OTs that a preparation of all executions takes.
    pub fn ots(&self) -> u64 {
        self.plan().executions() * self.transfers() as u64
    }

    /// Returns the bytes of all strings of an execution.
    pub(super) fn transfer_bytes(&self) -> usize {
        2 * self.transfers() * self.bucket() * Block::BYTES
    }

    fn pads(&self) -> Pads {
        Pads::new(read_block(&self.oracle.parts(Domain::Pads, 0, 0, &[])))
    }

    /// Appends an execution's strings. `q` are its OTs, numbered from `first`, under `delta`.
    /// `circuits` are in the chain's order.
    pub(super) fn offer(
        &self,
        circuits: &[Secrets],
        first: u64,
        q: &[Block],
        delta: Block,
        out: &mut Vec<u8>,
    ) {
        let [zeros, ones] = self.pads().both(first, q, delta);
        let mut pads = Zeroizing::new(vec![Block::ZERO; circuits.len()]);
        for (k, (zero, one)) in zeros.iter().zip(ones.iter()).enumerate() {
            for (value, key) in [(false, zero), (true, one)] {
                Prg::new(*key).fill_blocks(&mut pads);
                for (circuit, pad) in circuits.iter().zip(&*pads) {
                    let share = circuit.label(circuit.first[k], value);
                    out.extend_from_slice(&(share ^ *pad).to_bytes());
                }
            }
        }
    }

    /// Returns the first shares that an execution's strings give for `choices`, circuit by circuit
    /// in the chain's order. `t` are the OTs, numbered from `first`. `strings` must have the right
    /// length.
    pub(super) fn accept(
        &self,
        choices: &[bool],
        first: u64,
        t: &[Block],
        strings: &[u8],
    ) -> Vec<Zeroizing<Vec<Block>>> {
        let keys = self.pads().chosen(first, t);
        let bucket = self.bucket();
        let mut pads = Zeroizing::new(vec![Block::ZERO; bucket]);
        let mut shares = vec![Zeroizing::new(Vec::with_capacity(choices.len())); bucket];
        let strings = strings.chunks_exact(2 * bucket * Block::BYTES);
        for ((choice, key), strings) in choices.iter().zip(keys.iter()).zip(strings) {
            let (zero, one) = strings.as_chunks::<{ Block::BYTES }>().0.split_at(bucket);
            Prg::new(*key).fill_blocks(&mut pads);
            let select = u8::from(*choice).into();
            for (j, shares) in shares.iter_mut().enumerate() {
                let [zero, one] = [zero[j], one[j]].map(Block::from_bytes);
                shares.push(zero ^ (zero ^ one).and_bit(select) ^ pads[j]);
            }
        }
        shares
    }
}
