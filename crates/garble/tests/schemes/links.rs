//! Links between wires, under every scheme of the ladder.

use tacit_garble::{Assumption, Evaluator, FlexOrForm, Garbler, SCHEMES, Scheme, SchemeVisitor};
use tacit_garble::{FlexOr, with_scheme};
use tacit_kernels::{Block, Prg};

const WIRES: usize = 67;

/// Returns the labels of `wires` for these bits.
fn labels<G: Garbler>(garbler: &G, wires: &[G::Wire], bits: &[bool]) -> Vec<Block> {
    let of = |(wire, bit): (&G::Wire, &bool)| {
        let labels = [false, true].map(|select| garbler.label_with_select(wire, select));
        let wanted = labels.into_iter().find(|(_, value)| value == bit);
        wanted.expect("one label for each value").0
    };
    wires.iter().zip(bits).map(of).collect()
}

struct EveryWireArrives;

impl SchemeVisitor for EveryWireArrives {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
        let mut prg = Prg::new(Block::from_u128(11));
        let delta = prg.next_block().with_lsb(1.into());
        let start = prg.next_block();
        let mut wires = |seed: u8| {
            let mut garbler = scheme.garbler([seed; 32], start, delta);
            let wire = |_| garbler.wire_with_active(prg.next_block(), false);
            (0..WIRES).map(wire).collect::<Vec<_>>()
        };
        let (from, to) = (wires(1), wires(2));
        let garbler = scheme.garbler([3; 32], start, delta);
        let mut links = Vec::new();
        garbler.link(start, 5, &from, &to, &mut links);
        assert_eq!(links.len(), WIRES * scheme.link_bytes(), "{}", scheme.id());
        let bits: Vec<bool> = (0..WIRES).map(|i| i * i % 7 < 3).collect();
        let evaluator = scheme.evaluator(start);
        let (given, wanted) = (labels(&garbler, &from, &bits), labels(&garbler, &to, &bits));
        let mut arrived = given.clone();
        evaluator.follow_links(start, 5, &mut arrived, &links);
        assert_eq!(arrived, wanted, "{}", scheme.id());

        links[0] ^= 4;
        links[16] ^= 4;
        let mut damaged = given.clone();
        evaluator.follow_links(start, 5, &mut damaged, &links);
        assert_ne!(
            damaged,
            wanted,
            "a damaged link leads elsewhere under {}",
            scheme.id()
        );
        if scheme.link_bytes() > Block::BYTES {
            links[0] ^= 4;
            links[16] ^= 4;
            let mut astray = given;
            evaluator.follow_links(start, 6, &mut astray, &links);
            let same = astray.iter().zip(&wanted).filter(|(a, b)| a == b);
            assert_eq!(
                same.count(),
                0,
                "links of other numbers under {}",
                scheme.id()
            );
        }
    }
}

#[test]
fn every_wire_arrives() {
    for rung in &SCHEMES {
        with_scheme(rung.id, EveryWireArrives).expect("it is one of SCHEMES");
    }
}

/// A link is one label only if all wires have one Δ. Otherwise it would reveal the difference of
/// offsets.
#[test]
fn a_link_is_one_label_only_where_wires_share_an_offset() {
    struct LinkBytes;
    impl SchemeVisitor for LinkBytes {
        type Output = usize;
        fn visit<S: Scheme>(self, scheme: S) -> usize {
            scheme.link_bytes()
        }
    }
    for rung in &SCHEMES {
        let expected = match rung.assumption {
            Assumption::PseudorandomFunction | Assumption::RelatedKey => 32,
            _ => 16,
        };
        let found = with_scheme(rung.id, LinkBytes).expect("it is one of SCHEMES");
        assert_eq!(found, expected, "{}", rung.id);
    }
}

#[test]
#[should_panic(expected = "wires of garblers with different Δ are not linked")]
fn wires_of_different_offsets_are_not_linked_by_one_label() {
    let scheme = FlexOr::new(FlexOrForm::CircularHalfGates);
    let [mut one, mut other] = [5, 7].map(|delta| {
        let delta = Block::from_u128(delta);
        scheme.garbler([1; 32], Block::ZERO, delta)
    });
    let from = one.wire_with_active(Block::ONES, false);
    let to = other.wire_with_active(Block::ZERO, false);
    one.link(Block::ZERO, 0, &[from], &[to], &mut Vec::new());
}

/// Computes the XORs of a hashed link's ciphertexts and of the labels to which they lead. No pad
/// may be left in them.
struct NoPadTwice;

impl SchemeVisitor for NoPadTwice {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
        let delta = Block::from_u128(0x1234_5679);
        let mut garbler = scheme.garbler([4; 32], Block::ONES, delta);
        let mut prg = Prg::new(Block::from_u128(12));
        let mut wire = || garbler.wire_with_active(prg.next_block(), false);
        let (from, to) = (wire(), [wire(), wire()]);
        let mut links = Vec::new();
        for (number, to) in (0..).zip(to) {
            let from = std::slice::from_ref(&from);
            garbler.link(Block::ONES, number, from, &[to], &mut links);
        }
        let rows: Vec<Block> = links
            .as_chunks()
            .0
            .iter()
            .map(|row| Block::from_bytes(*row))
            .collect();
        let of = |wire| [false, true].map(|select| garbler.label_with_select(wire, select).0);
        let labels: Vec<Block> = to.iter().flat_map(of).collect();
        for (i, row) in rows.iter().enumerate() {
            for other in &rows[i + 1..] {
                let difference = *row ^ *other;
                let mut targets = labels.iter().flat_map(|a| labels.iter().map(|b| *a ^ *b));
                assert!(
                    targets.all(|target| target != difference),
                    "{}",
                    scheme.id()
                );
            }
        }
    }
}

#[test]
fn a_wire_that_is_linked_twice_repeats_no_pad() {
    for rung in &SCHEMES {
        if matches!(
            rung.assumption,
            Assumption::PseudorandomFunction | Assumption::RelatedKey
        ) {
            with_scheme(rung.id, NoPadTwice).expect("it is one of SCHEMES");
        }
    }
}

struct Mismatch;

impl SchemeVisitor for Mismatch {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
        let delta = Block::from_u128(1);
        let mut garbler = scheme.garbler([1; 32], Block::ZERO, delta);
        let wire = garbler.wire_with_active(Block::ZERO, false);
        let link = || garbler.link(Block::ZERO, 0, &[wire], &[], &mut Vec::new());
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(link)).is_err());
        let evaluator = scheme.evaluator(Block::ZERO);
        let follow = || evaluator.follow_links(Block::ZERO, 0, &mut [Block::ZERO], &[0; 15]);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(follow)).is_err());
    }
}

#[test]
fn a_wire_without_its_like_is_refused() {
    for rung in &SCHEMES {
        with_scheme(rung.id, Mismatch).expect("it is one of SCHEMES");
    }
}
