//! One oblivious transfer an encoded bit serves all circuits of a bucket.
//!
//! For encoded bit k the garbler offers two strings: the first shares of value 0, and those of
//! value 1, of every circuit of the bucket in the chain's order. They are masked by a PRG under the
//! OT's two keys H(i, q) and H(i, q ⊕ Δ), H the re-keyed tweakable hash of `kernels` under the
//! OT's number and a start point from the batch's name (the form "chosen strings" of
//! `tacit_ot::precomputed`, over random choices, so without corrections). The evaluator gets the
//! shares of ŷ_k, with no word about the others, and checks each against its commitment.

use tacit_garble::Scheme;
use tacit_kernels::{Block, Construction, Prg, Tweak, TweakableHash, Use};
use zeroize::Zeroizing;

use super::circuit::Secrets;
use super::layout::{Batch, CircuitKind};
use super::oracle::{Domain, first_block};

impl<S: Scheme<Wire = Block>> Batch<'_, S> {
    /// OTs of an execution: one an encoded bit of the evaluator's input, and of D.
    pub(super) fn transfers(&self) -> usize {
        self.encoding.encoded_bits() + self.key_encoding.encoded_bits()
    }

    /// Bytes of all strings of an execution.
    pub(super) fn transfer_bytes(&self) -> usize {
        let of = |kind| 2 * self.encoding(kind).encoded_bits() * self.bucket(kind) * Block::BYTES;
        of(CircuitKind::Main) + of(CircuitKind::Recovery)
    }

    fn pad_hash(&self) -> TweakableHash {
        let start = self.oracle.parts(Domain::Pads, 0, 0, &[]);
        TweakableHash::new(Construction::Rekeyed, first_block(&start))
    }

    /// Appends an execution's strings. `q` are its OTs, number `first…`, under `delta`;
    /// `circuits` are in the chain's order.
    pub(super) fn offer(
        &self,
        circuits: &[Secrets],
        first: u64,
        q: &[Block],
        delta: Block,
        out: &mut Vec<u8>,
    ) {
        let mut zeros = Zeroizing::new(q.to_vec());
        let mut ones = Zeroizing::new(vec![Block::ZERO; q.len()]);
        self.pad_hash()
            .hash_both(tweak(first), delta, &mut zeros, &mut ones);
        let (main, recovery) = circuits.split_at(self.bucket(CircuitKind::Main));
        let mut keys = zeros.iter().zip(ones.iter());
        for (circuits, kind) in [(main, CircuitKind::Main), (recovery, CircuitKind::Recovery)] {
            let mut pads = Zeroizing::new(vec![Block::ZERO; circuits.len()]);
            let bits = self.encoding(kind).encoded_bits();
            for (k, (zero, one)) in keys.by_ref().take(bits).enumerate() {
                for (value, key) in [(false, zero), (true, one)] {
                    Prg::new(*key).fill_blocks(&mut pads);
                    for (circuit, pad) in circuits.iter().zip(&*pads) {
                        let share = circuit.label(circuit.first[k], value);
                        out.extend_from_slice(&(share ^ *pad).to_bytes());
                    }
                }
            }
        }
    }

    /// The first shares that an execution's strings give for `choices`, circuit by circuit in the
    /// chain's order. `t` are the OTs, number `first…`; `strings` are as long as they should be.
    pub(super) fn accept(
        &self,
        choices: &[bool],
        first: u64,
        t: &[Block],
        strings: &[u8],
    ) -> Vec<Zeroizing<Vec<Block>>> {
        let mut keys = Zeroizing::new(t.to_vec());
        self.pad_hash().hash(tweak(first), &mut keys);
        let mut shares = Vec::with_capacity(self.chain_length());
        let mut rest = strings;
        let mut chosen = choices.iter().zip(keys.iter());
        for kind in [CircuitKind::Main, CircuitKind::Recovery] {
            let (bits, bucket) = (self.encoding(kind).encoded_bits(), self.bucket(kind));
            let mut pads = Zeroizing::new(vec![Block::ZERO; bucket]);
            let mut of_kind = vec![Zeroizing::new(Vec::with_capacity(bits)); bucket];
            for (choice, key) in chosen.by_ref().take(bits) {
                let (strings, after) = rest.split_at(2 * bucket * Block::BYTES);
                rest = after;
                let (zero, one) = strings.as_chunks::<{ Block::BYTES }>().0.split_at(bucket);
                Prg::new(*key).fill_blocks(&mut pads);
                let select = u8::from(*choice).into();
                for (j, shares) in of_kind.iter_mut().enumerate() {
                    let [zero, one] = [zero[j], one[j]].map(Block::from_bytes);
                    shares.push(zero ^ (zero ^ one).and_bit(select) ^ pads[j]);
                }
            }
            shares.append(&mut of_kind);
        }
        shares
    }
}

fn tweak(first: u64) -> Tweak {
    Tweak {
        usage: Use::CorrelatedOt,
        instance: 0,
        number: first,
        a: 0,
        b: 0,
    }
}
