//! Tests of the choice of the placer, and of the number of bins.

use super::{JoinSide, Sizes, Widths, cheaper_placer};

#[test]
fn the_cheaper_side_places_and_the_left_one_of_two_alike() {
    let placer = |keys, bits| cheaper_placer(keys, bits).unwrap().0;
    assert_eq!(placer([1000, 1000], [32, 32]), JoinSide::Left);
    assert_eq!(placer([1 << 12, 1 << 20], [32, 64]), JoinSide::Left);
    assert_eq!(placer([1 << 20, 1 << 12], [32, 64]), JoinSide::Right);
    // A row of the programmer is masked twice, and one of the placer once.
    assert_eq!(placer([1000, 1000], [64, 0]), JoinSide::Left);
    assert_eq!(placer([1000, 1000], [0, 64]), JoinSide::Right);
}

#[test]
fn sizes_are_of_the_side_that_places() {
    let (_, sizes) = cheaper_placer([1 << 20, 1 << 12], [32, 64]).unwrap();
    let widths = Widths {
        placer_bits: 64,
        programmer_bits: 32,
    };
    assert_eq!(sizes, Sizes::of(1 << 12, 1 << 20, 1, widths).unwrap());
}

#[test]
fn a_table_without_keys_leaves_no_bins() {
    let none = Widths {
        placer_bits: 1,
        programmer_bits: 1,
    };
    let bins = |placer, programmer| Sizes::of(placer, programmer, 1, none).unwrap().all_bins();
    assert_eq!([bins(0, 5), bins(5, 0), bins(0, 0)], [0; 3]);
    assert_eq!(bins(1000, 5), 2328);
    let large = Sizes::of(10_000_000, 3, 1, none).unwrap();
    assert_eq!(large.all_bins(), 16 * large.bins);
}
