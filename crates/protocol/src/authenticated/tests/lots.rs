//! The properties of lots: triples under matching MACs, and tweaks and numbers that are unique.

use std::collections::HashSet;
use std::num::NonZeroUsize;

use tacit_kernels::Block;
use tacit_ot::FieldBits;

use super::bucket::Triples;
use super::lot::{EXTENSION_OTS, InputCounts, MadeLot};
use super::share::{Share, Shares};
use super::*;

fn make([a, b]: &mut [Epoch; 2], size: LotSize, inputs: [usize; 2]) -> [MadeLot; 2] {
    let counts = |own, others| InputCounts { own, others };
    let (mine, yours) = (counts(inputs[0], inputs[1]), counts(inputs[1], inputs[0]));
    let [mut first, mut second] = [prg(), prg()];
    let (made, _) = run_changed(
        async |io| lot::make(io, a, &mut first, size, mine).await,
        async |io| lot::make(io, b, &mut second, size, yours).await,
        &mut unchanged,
    );
    made.unwrap_or_else(|failure| panic!("{failure:?}")).into()
}

/// Checks the MACs of both halves and returns the shared bit.
fn open(epochs: &[Epoch; 2], halves: [Share; 2]) -> bool {
    for (own, others) in [(0, 1), (1, 0)] {
        let delta = *epochs[others].delta();
        let expected = halves[others].others_mac(halves[own].bit(), delta);
        assert_eq!(halves[own].mac, expected);
        assert!(!bool::from(halves[own].key.lsb()));
    }
    bool::from(halves[0].bit() ^ halves[1].bit())
}

#[test]
fn triples_are_products_under_right_macs() {
    // The last size takes several messages with OTs.
    let several = (EXTENSION_OTS / 2 + 7, 2);
    for (size, bits, threads) in [
        ((100, 3), 9, [1, 1]),
        ((5, 4), 9, [1, 1]),
        ((1, 10), 9, [1, 1]),
        ((4200, 2), 12, [1, 1]),
        (several, 14, [1, 1]),
        (several, 14, [3, 1]),
        (several, 14, [2, 8]),
    ] {
        let size = LotSize {
            triples: size.0,
            layers: size.1,
        };
        assert!(size.security_bits() >= bits);
        let mut epochs = epochs();
        for (epoch, threads) in epochs.iter_mut().zip(threads) {
            epoch.set_threads(NonZeroUsize::new(threads).expect("not zero"));
        }
        let made = make(&mut epochs, size, [3, 70]);
        let [a, b] = [&made[0].triples, &made[1].triples];
        assert_eq!(a.len(), size.triples);
        let opened = |of: fn(&Triples) -> &Shares, i| open(&epochs, [of(a).at(i), of(b).at(i)]);
        let mut ones = [0; 4];
        for i in 0..size.triples {
            let bits = [
                opened(|t| &t.x, i),
                opened(|t| &t.y, i),
                opened(|t| &t.z, i),
                opened(|t| &t.masks, i),
            ];
            assert_eq!(bits[2], bits[0] & bits[1], "triple {i} of {size:?}");
            ones.iter_mut()
                .zip(bits)
                .for_each(|(ones, bit)| *ones += usize::from(bit));
        }
        if size.triples > 1000 {
            let share = |ones| ones as f64 / size.triples as f64;
            for (ones, expected) in ones.into_iter().zip([0.5, 0.5, 0.25, 0.5]) {
                assert!((share(ones) - expected).abs() < 0.05, "{ones} {expected}");
            }
        }
        for (own, others) in [(0, 1), (1, 0)] {
            let delta = *epochs[others].delta();
            let macs = made[own].inputs.macs.iter();
            for (mac, key) in macs.zip(made[others].inputs.keys.iter()) {
                assert_eq!(*mac, *key ^ delta.and_bit(mac.lsb()));
            }
        }
    }
}

/// Under fixed seeds, the threads of neither party change a message or a triple.
#[test]
fn threads_change_no_byte_of_a_lot() {
    let size = LotSize {
        triples: 20_001,
        layers: 3,
    };
    let none = InputCounts::default;
    let on = |threads: [usize; 2]| {
        let mut base = Prg::new(Block::from_u128(5));
        let deltas = fresh_deltas(&mut base);
        let [mut a, mut b] = dealt(tags(Extension::default()), deltas, &mut base);
        let [own, others] = threads.map(|threads| NonZeroUsize::new(threads).expect("not zero"));
        a.set_threads(own);
        b.set_threads(others);
        let [mut first, mut second] = [6, 7].map(|seed| Prg::new(Block::from_u128(seed)));
        let (made, sent) = run_changed(
            async |io| lot::make(io, &mut a, &mut first, size, none()).await,
            async |io| lot::make(io, &mut b, &mut second, size, none()).await,
            &mut unchanged,
        );
        let (a, b) = made.unwrap();
        let triples = [a, b].map(|made| {
            let Triples { x, y, z, masks, .. } = made.triples;
            [x, y, z, masks].map(|shares| [shares.macs, shares.keys])
        });
        (sent, triples)
    };
    let (sent, triples) = on([1, 1]);
    for threads in [[2, 1], [1, 3], [8, 5]] {
        let (sent_on_threads, triples_on_threads) = on(threads);
        assert!(sent == sent_on_threads, "messages on {threads:?} threads");
        let is_equal = triples == triples_on_threads;
        assert!(is_equal, "triples on {threads:?} threads");
    }
}

/// Each lot has its own start points, digests and numbers, so nothing of one lot serves in another.
#[test]
fn lots_and_runs_of_an_epoch_have_numbers_of_their_own() {
    use super::oracle::Domain;
    let [mut a, b] = epochs();
    assert_eq!(
        [a.next_lot(), a.next_lot(), a.next_run(), a.next_run()],
        [0, 1, 0, 1]
    );
    let start = |epoch: &Epoch, domain, number| {
        let hash = epoch.hash(Construction::TwoCall, domain, number);
        let tweak = tacit_kernels::Tweak::of(tacit_kernels::Use::LeakyAnd, 0);
        hash.hash_one(tweak, Block::ZERO)
    };
    let mut starts = Vec::new();
    for domain in [Domain::LeakyStart, Domain::GateStart] {
        for number in [0, 1, 256] {
            assert_eq!(start(&a, domain, number), start(&b, domain, number));
            starts.push(start(&a, domain, number).to_u128());
        }
    }
    starts.sort_unstable();
    starts.dedup();
    assert_eq!(starts.len(), 6);
}

/// An epoch's id depends on the tags of both set-ups: a party that reuses its own, or echoes the
/// other's, has another epoch all the same.
#[test]
fn an_epoch_is_named_after_both_set_ups() {
    let [x, y, z] = [FieldBits::new(1), FieldBits::new(2), FieldBits::new(4)]
        .map(|bits| tags(Extension::SoftSpoken(bits.expect("a field"))).garbler);
    let mut prg = prg();
    let pairs = [(x, y), (y, x), (x, z), (z, y), (x, x)];
    let ids = pairs.map(|(garbler, evaluator)| {
        let deltas = fresh_deltas(&mut prg);
        let [a, b] = dealt(EpochTags { garbler, evaluator }, deltas, &mut prg);
        assert_eq!(a.id(), b.id());
        *a.id()
    });
    assert_eq!(HashSet::from(ids).len(), pairs.len());
}

/// No two hashes of the protocol have one key: use, party, number and epoch are all in it.
#[test]
fn no_two_hashes_have_one_key() {
    use super::oracle::{Domain, Oracle};
    let domains = [
        Domain::Epoch,
        Domain::LeakyStart,
        Domain::GateStart,
        Domain::Equality,
        Domain::EqualityCommitment,
        Domain::CoinCommitment,
        Domain::BucketMacs,
        Domain::GateMacs,
        Domain::Proof,
        Domain::ResultMacs,
        Domain::InstanceStart,
        Domain::LinkMacs,
        Domain::RowStart,
    ];
    let mut keys = HashSet::new();
    for domain in domains {
        for from in [None, Some(Role::Garbler), Some(Role::Evaluator)] {
            for number in [0, 1, 256, 1 << 32, u64::MAX] {
                for epoch in [[1; 32], [2; 32]] {
                    keys.insert(Oracle::key(&epoch, domain, from, number));
                }
            }
        }
    }
    assert_eq!(keys.len(), domains.len() * 3 * 5 * 2);
}

/// Runs of one epoch, and runs of one number under two tags, have no start point of their gates and
/// no coefficient of their proofs in common.
#[test]
fn each_run_has_hashes_of_its_own() {
    let [a, _] = epochs();
    let function = component("adder", Recipient::Both);
    let own = terms(&function, 40);
    let other = Terms {
        tag: tag_of(ProtocolId::Prepare, &function),
        ..own
    };
    let tweak = tacit_kernels::Tweak::of(tacit_kernels::Use::And, 0);
    let mut seen = HashSet::new();
    for terms in [own, other] {
        for run in [0, 1, 256] {
            let mut proof = terms.proof_fold(&a, run);
            seen.insert(proof.seed_after(&[&[1]]).to_vec());
            let start = terms.hash(&a, run).hash_one(tweak, Block::ZERO);
            seen.insert(start.to_bytes().to_vec());
        }
    }
    assert_eq!(seen.len(), 12);
}
