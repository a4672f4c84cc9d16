//! Rounds with small parameters over dealt VOLEs and COTs: the correlation, the rounds' definition,
//! and what either party could learn of the other without the two defences.

use std::collections::HashSet;

use tacit_kernels::{Cpu, gf128_multiply};

use super::super::lpn::tests::{defined, non_zeros};
use super::*;
use crate::PeerMisbehaved;

const SMALL: Params = Params {
    trees: 24,
    batch_trees: 12,
    depth: 6,
    log_secret: 7,
    tree_inputs: 1,
    check_inputs: 0,
};
const TAG: SessionTag = SessionTag::new([4; 32]);

fn product(a: Block, b: Block) -> Block {
    gf128_multiply(Cpu::portable(), a, b)
}

/// Returns 1/a: a to the power of 2^128 − 2.
fn inverse(a: Block) -> Block {
    let (mut square, mut power) = (a, Block::from_u128(1));
    for _ in 1..128 {
        square = product(square, square);
        power = product(power, square);
    }
    power
}

/// Both halves with small rounds, and a source of their COTs.
struct Halves {
    delta: Delta,
    sender: VoleSender,
    receiver: VoleReceiver,
    prg: Prg,
}

/// A batch: its COTs, the sender's message, and the VOLEs.
struct Batch {
    t: Vec<Block>,
    message: Vec<u8>,
    v: Outputs,
    u_and_w: Outputs,
}

impl Halves {
    fn new(seed: u128) -> Self {
        let mut prg = Prg::new(Block::from_u128(seed));
        let delta = Delta::random(&mut prg);
        let (mut v, mut both) = (Vec::new(), Vec::new());
        for _ in 0..SMALL.inputs() {
            let (base, u) = (prg.next_block(), prg.next_block());
            v.push(base);
            both.extend([u, base ^ product(u, delta.to_block())]);
        }
        let rounds = |width, base| {
            let schedule = Schedule::new(SMALL, SMALL);
            let terms = (Security::SemiHonest, schedule);
            Rounds::of_width(width, TAG, terms, Zeroizing::new(base))
        };
        let (sender, receiver) = (rounds(1, v), rounds(2, both));
        Self {
            sender: VoleSender {
                delta: delta.clone(),
                rounds: sender,
            },
            receiver: VoleReceiver { rounds: receiver },
            delta,
            prg,
        }
    }

    /// Returns q and t of the next batch's COTs.
    fn cots(&mut self) -> [Vec<Block>; 2] {
        let mut q = vec![Block::ZERO; self.sender.cot_count()];
        self.prg.fill_blocks(&mut q);
        q.iter_mut().for_each(|q| *q = q.with_lsb(0.into()));
        let delta = self.delta.to_block();
        let t = q
            .iter()
            .map(|q| *q ^ delta.and_bit(self.prg.next_block().lsb()));
        let t = t.collect();
        [q, t]
    }

    fn batch(mut self) -> (Self, Batch) {
        let [q, t] = self.cots();
        let (batch, message) = self.sender.begin(&q, &mut self.prg).unwrap();
        let (receiver, u_and_w) = self.receiver.take(&t, &message).unwrap();
        let (sender, v) = batch.finish();
        let batch = Batch {
            t,
            message,
            v,
            u_and_w,
        };
        let halves = Self {
            sender,
            receiver,
            ..self
        };
        (halves, batch)
    }

    /// Returns the halves after this number of batches.
    fn after(self, batches: usize) -> Self {
        (0..batches).fold(self, |halves, _| halves.batch().0)
    }
}

/// The place of the noise in each tree, from the choices of its COTs.
fn noisy(t: &[Block]) -> Vec<usize> {
    let bit = |(level, t): (usize, &Block)| usize::from(!bool::from(t.lsb())) << level;
    let trees = t.chunks_exact(SMALL.depth);
    trees.map(|t| t.iter().enumerate().map(bit).sum()).collect()
}

#[test]
fn every_output_is_a_vole_over_many_rounds() {
    let (mut halves, mut seen) = (Halves::new(1), HashSet::new());
    for _ in 0..9 {
        let expected = halves.sender.next_count();
        let delta = halves.delta.to_block();
        let (next, batch) = halves.batch();
        halves = next;
        assert_eq!(batch.v.len(), expected);
        assert_eq!(batch.u_and_w.len(), 2 * expected);
        for (v, [u, w]) in batch.v.iter().zip(batch.u_and_w.as_chunks().0) {
            assert_eq!(*w, *v ^ product(*u, delta));
            assert!(seen.insert(u.to_bytes()), "u of two VOLEs");
        }
    }
    assert!(seen.len() > 3000);
}

/// What is made of the last batch is what a whole one has first, whatever it reserves.
#[test]
fn a_last_batch_has_the_first_voles_of_a_whole_one() {
    for batches in 1..5 {
        let (_, whole) = Halves::new(3).after(batches).batch();
        let all = whole.v.len();
        for count in [0, 1, 63, 64, 65, all.saturating_sub(1), all, all + 9] {
            let mut halves = Halves::new(3).after(batches);
            let [q, t] = halves.cots();
            let (batch, message) = halves.sender.begin(&q, &mut halves.prg).unwrap();
            assert!(message == whole.message);
            let u_and_w = halves.receiver.take_last(&t, &message, count).unwrap();
            let v = batch.finish_last(count);
            let count = count.min(all);
            assert!(*v == whole.v[..count] && *u_and_w == whole.u_and_w[..2 * count]);
        }
    }
}

#[test]
fn batches_are_the_same_on_any_number_of_threads() {
    let made = |threads: usize| {
        let mut halves = Halves::new(7);
        let threads = NonZeroUsize::new(threads).unwrap();
        halves.sender.set_threads(threads);
        halves.receiver.set_threads(threads);
        let (_, batch) = halves.after(2).batch();
        (batch.message, batch.v, batch.u_and_w)
    };
    assert!(made(1) == made(3));
}

/// u is A·s plus the noise: β of a tree's VOLE at its α, and zero at all other outputs.
#[test]
fn outputs_are_those_of_the_definition() {
    // The last batch of the second round: no output is reserved.
    let halves = Halves::new(2).after(3);
    let rounds = &halves.receiver.rounds;
    let s = rounds.inputs[..2 * SMALL.secret()].to_vec();
    let base = rounds.batch_inputs().0.to_vec();
    let seed = rounds.columns();
    let (_, batch) = halves.batch();
    let mut prg = Prg::from_seed(&seed);
    let alphas = noisy(&batch.t);
    assert_eq!(batch.u_and_w.len(), 2 * SMALL.batch_outputs());
    for (number, output) in batch.u_and_w.as_chunks::<2>().0.iter().enumerate() {
        let [u, _] = defined::<2>(&mut prg, SMALL.log_secret, &s);
        let (tree, leaf) = (number / SMALL.leaves(), number % SMALL.leaves());
        let noise = if leaf == alphas[tree] {
            base[2 * tree]
        } else {
            Block::ZERO
        };
        assert_eq!(output[0], Block::from_u128(u) ^ noise, "output {number}");
    }
}

/// The receiver knows ψ, γ_P and β of each tree. If ψ were the sum of bare leaves, these would be
/// Δ ⊕ 1 ⊕ βΔ, and the receiver could divide.
#[test]
fn the_sum_of_a_tree_does_not_give_delta_away() {
    let halves = Halves::new(3);
    let delta = halves.delta.to_block();
    let base = halves.receiver.rounds.batch_inputs().0.to_vec();
    let (_, batch) = halves.batch();
    let sent = batch.message.chunks_exact(tree_bytes(SMALL));
    for (sent, [beta, gamma]) in sent.zip(base.as_chunks().0) {
        let psi = sent
            .last_chunk()
            .map(|bytes| Block::from_bytes(*bytes))
            .unwrap();
        let one = Block::from_u128(1);
        let guess = product(psi ^ *gamma ^ one, inverse(*beta ^ one));
        assert_ne!(guess, delta, "the receiver knows Δ");
    }
}

/// The sender reads bit 0 of each output that it learns. If all coefficients were 1, these would be
/// outputs of LPN over GF(2) under the same code and bit 0 of the secret, and noise whose bit 0 is
/// clear, half of it, would not count.
#[test]
fn a_bit_of_the_outputs_is_no_lpn_over_bits() {
    let halves = Halves::new(4).after(3);
    let rounds = &halves.receiver.rounds;
    let s = rounds.inputs[..2 * SMALL.secret()].to_vec();
    let seed = rounds.columns();
    let (_, batch) = halves.batch();
    let mut prg = Prg::from_seed(&seed);
    let outputs = batch.u_and_w.as_chunks::<2>().0.iter();
    let wrong = outputs.filter(|[u, _]| {
        let elements = non_zeros(&mut prg, SMALL.log_secret);
        let bits = elements.iter().map(|(element, _)| s[2 * element]);
        let sum = bits.fold(Block::ZERO, |sum, element| sum ^ element);
        bool::from((sum ^ *u).lsb())
    });
    let (wrong, all) = (wrong.count(), SMALL.batch_outputs());
    assert!(wrong > all / 3, "{wrong} of {all} outputs are noisy");
}

/// A table of AES under one key applies to the leaves of one tree.
#[test]
fn the_leaves_of_every_tree_have_a_key_of_their_own() {
    let (mut hashes, mut halves) = (HashSet::new(), Halves::new(5));
    for _ in 0..2 * SMALL.batches() {
        let grower = &mut Grower::all(&halves.sender.rounds)[0];
        for tree in 0..SMALL.batch_trees {
            grower.pass_to(tree, SMALL.depth);
            for _ in 1..SMALL.depth {
                let mut nodes = [Block::ONES, Block::ZERO];
                grower.hashes.double(&mut nodes, Block::ZERO);
                hashes.insert(nodes[0].to_bytes());
            }
            let mut hash = [Block::ZERO];
            grower.hashes.hash_leaves(&[Block::ONES], &mut hash);
            hashes.insert(hash[0].to_bytes());
        }
        halves = halves.after(1);
    }
    assert_eq!(hashes.len(), 2 * SMALL.trees * SMALL.depth);
}

#[test]
fn wrong_lengths_are_refused() {
    for longer in [false, true] {
        let mut halves = Halves::new(6);
        let [q, t] = halves.cots();
        let (_, mut message) = halves.sender.begin(&q, &mut halves.prg).unwrap();
        message.resize(
            if longer {
                message.len() + 1
            } else {
                message.len() - 1
            },
            0,
        );
        let refused = halves.receiver.take(&t, &message).unwrap_err();
        let wrong = matches!(
            refused,
            Error::PeerMisbehaved(PeerMisbehaved::WrongLength { .. })
        );
        assert!(wrong, "{refused}");
    }
    let few = || Zeroizing::new(vec![Block::ZERO; VOLE_BASE_COUNT - 1]);
    let delta = Delta::random(&mut Prg::new(Block::ZERO));
    assert!(VoleSender::start(delta, &TAG, few()).is_err());
    assert!(VoleReceiver::start(&TAG, few()).is_err());
    let halves = Halves::new(6);
    assert!(halves.receiver.take(&[], &[0; 12 * 16 * 7]).is_err());
    let mut prg = halves.prg;
    assert!(halves.sender.begin(&[], &mut prg).is_err());
}

#[test]
fn costs_are_those_of_the_batches() {
    let of = |count| VoleCost::of(count);
    assert_eq!(of(0), VoleCost::default());
    // The first round gives nothing, and the first batch after it what the next round does not
    // take.
    let (first, batch) = (1120 * 9 * 16, 380 * 12 * 16);
    let cost = |batches: u64| VoleCost {
        cots: 1120 * 8 + batches * 380 * 11,
        sender_bytes: first + batches * batch,
        messages: 1 + batches,
    };
    assert_eq!(
        [of(1), of(514_196), of(514_197)],
        [cost(1), cost(1), cost(2)]
    );
    assert_eq!(of(514_196 + 4 * 778_240), cost(5));
    assert_eq!(of(514_197 + 4 * 778_240), cost(6));
}
