//! Tests of commitments to labels, and of labels that do not open them.

use tacit_kernels::Prg;

use super::*;

const COUNT: usize = WIRES + 21;

/// Returns Δ, and labels at position 0.
fn drawn() -> (Block, Vec<Block>) {
    let mut prg = Prg::new(Block::ONES);
    let delta = prg.next_block().with_lsb(1.into());
    (delta, (0..COUNT).map(|_| prg.next_block()).collect())
}

fn oracle() -> Oracle {
    Oracle::named([4; 16])
}

/// A commitment is AES of σ(x) under two keys, as its definition says.
#[test]
fn a_commitment_is_two_hashes_under_two_keys() {
    let (delta, labels) = drawn();
    let mut commitments = Vec::new();
    let committing = Committing::new(&oracle(), Domain::SecondShare, 5);
    committing.commit(&labels, delta, &mut commitments);
    let start = read_block(&oracle().parts(Domain::SecondShare, 5, 0, &[]));
    let hash = TweakableHash::new(Construction::Rekeyed, start);
    for wire in [0, 1, WIRES - 1, WIRES, COUNT - 1] {
        for (position, label) in [labels[wire], labels[wire] ^ delta].into_iter().enumerate() {
            let halves = [0, 1].map(|a| {
                let (usage, number) = (Use::Out, wire as u64);
                let tweak = Tweak {
                    a,
                    ..Tweak::of(usage, number)
                };
                hash.hash_one(tweak, label).to_bytes()
            });
            let at = wire * PAIR_BYTES + position * HASH_BYTES;
            let found = &commitments[at..at + HASH_BYTES];
            assert_eq!(found, halves.as_flattened(), "wire {wire}");
        }
    }
}

#[test]
fn both_labels_open_at_their_positions_and_no_other_does() {
    let (delta, first) = drawn();
    let committing = Committing::new(&oracle(), Domain::GarblerInput, 3);
    let mut commitments = Vec::new();
    committing.commit(&first, delta, &mut commitments);
    assert_eq!(commitments.len(), PAIR_BYTES * COUNT);
    let position = |i: usize| Choice::from(u8::from(i % 3 == 1));
    let labels = first.iter().enumerate();
    let labels = labels.map(|(i, first)| *first ^ delta.and_bit(position(i)));
    let mut labels: Vec<Block> = labels.collect();
    let open =
        |labels: &[Block], commitments: &[u8]| committing.open(0, labels, position, commitments);
    assert!(open(&labels, &commitments));
    assert!(!committing.open(0, &labels, |i| !position(i), &commitments));
    for other in [
        Committing::new(&oracle(), Domain::EvaluatorInput, 3),
        Committing::new(&oracle(), Domain::GarblerInput, 4),
        Committing::new(&Oracle::named([5; 16]), Domain::GarblerInput, 3),
    ] {
        assert!(!other.open(0, &labels, position, &commitments));
    }
    // There are as many labels as commitments, either all or from a later wire on.
    assert!(!open(&labels[1..], &commitments) && !open(&labels, &commitments[PAIR_BYTES..]));
    let later = |i| position(i + 20);
    let after = &commitments[20 * PAIR_BYTES..];
    assert!(committing.open(20, &labels[20..], later, after));
    assert!(!committing.open(19, &labels[20..], later, after));
    for wire in [0, 1, COUNT - 1] {
        // A change of the other label's commitment does not matter; a change of this label's does.
        for at_one in [false, true] {
            let of_this = bool::from(position(wire)) == at_one;
            for byte in [0, HASH_BYTES - 1] {
                let mut changed = commitments.clone();
                changed[wire * PAIR_BYTES + usize::from(at_one) * HASH_BYTES + byte] ^= 1;
                assert_eq!(
                    open(&labels, &changed),
                    !of_this,
                    "wire {wire}, byte {byte}"
                );
            }
        }
    }
    labels[COUNT - 1] ^= Block::from_u128(2);
    assert!(!open(&labels, &commitments));
    labels[COUNT - 1] ^= Block::from_u128(2);
    labels.swap(0, 2);
    assert!(!open(&labels, &commitments));
}

/// The committing party chooses every bit of a commitment, and so every difference.
#[test]
fn no_difference_makes_up_for_another() {
    let (delta, labels) = drawn();
    let committing = Committing::new(&oracle(), Domain::GarblerInput, 3);
    let mut commitments = Vec::new();
    committing.commit(&labels, delta, &mut commitments);
    let wires = [0, 1, WIRES, COUNT - 1];
    let halves = [0, Block::BYTES];
    let halves = wires
        .iter()
        .flat_map(|wire| halves.map(|half| wire * PAIR_BYTES + half));
    let halves: Vec<usize> = halves.collect();
    for (i, one) in halves.iter().enumerate() {
        for other in &halves[..i] {
            let mut changed = commitments.clone();
            changed[*one] ^= 1;
            changed[*other] ^= 1;
            let opens = committing.open(0, &labels, |_| Choice::from(0), &changed);
            assert!(!opens, "bytes {one} and {other}");
        }
    }
}

/// The committing party chooses every bit. No change cancels another.
#[test]
fn by_select_bits_every_change_is_seen() {
    let (delta, zeros) = drawn();
    let committing = Committing::new(&oracle(), Domain::GarblerInput, 3);
    let mut commitments = Vec::new();
    committing.commit_by_select_bits(&zeros, delta, &mut commitments);
    let labels = zeros.iter().enumerate();
    let labels = labels.map(|(i, zero)| *zero ^ delta.and_bit(u8::from(i % 3 == 1).into()));
    let labels: Vec<Block> = labels.collect();
    let compare = |commitments: &[u8]| {
        let (mut found, made) = (Differences::default(), (&zeros[..], delta));
        committing.compare_by_select_bits(0, made, &labels, commitments, &mut found);
        [found.differ_from_made(), found.differ_from_opened()]
    };
    assert_eq!(compare(&commitments), [false; 2]);
    assert!(committing.open(0, &labels, |i| labels[i].lsb(), &commitments));
    let mut places = Vec::new();
    for wire in [0, 1, WIRES, COUNT - 1] {
        for at in (0..PAIR_BYTES).step_by(Block::BYTES) {
            let is_opened = bool::from(labels[wire].lsb()) == (at >= HASH_BYTES);
            let at = wire * PAIR_BYTES + at;
            let mut changed = commitments.clone();
            changed[at] ^= 1;
            assert_eq!(compare(&changed), [true, is_opened], "byte {at}");
            places.push((at, is_opened));
        }
    }
    for (i, (one, first)) in places.iter().enumerate() {
        for (other, second) in &places[..i] {
            let mut changed = commitments.clone();
            changed[*one] ^= 1;
            changed[*other] ^= 1;
            let expected = [true, *first || *second];
            assert_eq!(compare(&changed), expected, "bytes {one} and {other}");
        }
    }
}

/// Pairs that a Δ relates are committed to like any others.
#[test]
fn pairs_are_committed_to_as_labels_are() {
    let (delta, first) = drawn();
    let pairs: Vec<[Block; 2]> = first.iter().map(|x| [*x, *x ^ delta]).collect();
    let committing = Committing::new(&oracle(), Domain::OutputCommitment, 1);
    let [mut of_labels, mut of_pairs] = [vec![7], vec![7]];
    committing.commit(&first, delta, &mut of_labels);
    committing.commit_pairs(&pairs, &mut of_pairs);
    assert_eq!(of_labels, of_pairs);
    let mut found = vec![[false; 2]; COUNT];
    committing.compare(0, &first, &of_pairs[1..], |i, opens| {
        found[i] = opens.map(bool::from);
    });
    assert_eq!(found, [[true, false]; COUNT]);
}

#[test]
fn pads_of_pairs_are_those_of_each() {
    let (delta, first) = drawn();
    let mut pairs: Vec<[Block; 2]> = first.iter().map(|x| [*x, *x ^ delta]).collect();
    pads_of_pairs(&oracle(), Domain::OutputMask, 1, &mut pairs);
    for position in 0..2 {
        let labels = first
            .iter()
            .map(|x| *x ^ delta.and_bit((position as u8).into()));
        let mut alone: Vec<Block> = labels.collect();
        pads(&oracle(), Domain::OutputMask, 1, &mut alone);
        assert!(pairs.iter().map(|pair| pair[position]).eq(alone));
    }
}

/// All halves of all commitments, of both labels, differ.
#[test]
fn halves_wires_and_labels_are_apart() {
    let committing = Committing::new(&oracle(), Domain::GarblerInput, 0);
    let mut commitments = Vec::new();
    let labels = [Block::ZERO; 8];
    committing.commit(&labels, Block::from_u128(5), &mut commitments);
    let halves: std::collections::HashSet<_> = commitments.chunks(Block::BYTES).collect();
    assert_eq!(halves.len(), 4 * labels.len());
}
