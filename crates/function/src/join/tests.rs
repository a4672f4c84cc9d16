//! Tests of the choice of the placer, of the number of bins, and of the normalisation of keys.

mod bins;

use proptest::prelude::{prop_assert_eq, proptest};
use unicode_normalization::UnicodeNormalization as _;

use super::{JoinSide, KeyNormalization, MAX_HINT_BYTES, Sizes, TooLarge, Widths, cheaper_placer};

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

/// Of 2^20 keys of 64 rows each, rows of up to 18 bytes.
#[test]
fn a_hint_that_no_memory_holds_is_refused() {
    let sizes = |programmer_bits| {
        let placer_bits = 1;
        let widths = Widths {
            placer_bits,
            programmer_bits,
        };
        Sizes::of(1 << 20, 1 << 20, 64, widths)
    };
    let most = sizes(144).expect("sizes");
    assert!(most.turn_shards() * most.hint_bytes() <= MAX_HINT_BYTES);
    for bits in [160, u32::MAX] {
        let Err(TooLarge::Hint { found }) = sizes(bits) else {
            panic!("{bits} bits are too many");
        };
        assert!(found > MAX_HINT_BYTES);
    }
    // The side with the wide rows places, whatever its price.
    let placer = |bits| cheaper_placer([1 << 20, 1 << 10], bits).map(|found| found.0);
    assert_eq!(placer([1 << 14, 1]), Ok(JoinSide::Left));
    assert_eq!(placer([1, 1]), Ok(JoinSide::Right));
    assert!(cheaper_placer([1 << 20; 2], [1 << 14; 2]).is_err());
}

#[test]
fn texts_are_made_alike_once_and_for_all() {
    use KeyNormalization::{Email, None};
    for (text, none, email) in [
        ("ann@x", "ann@x", "ann@x"),
        (" Ann@X\r\n", " Ann@X\r\n", "ann@x"),
        ("\u{a0}ann@x\u{3000}", "\u{a0}ann@x\u{3000}", "ann@x"),
        ("ann@x\0\0\0", "ann@x", "ann@x"),
        // Zeros that fill a text up, behind white space, and white space behind a zero.
        ("ann@x \0\0", "ann@x ", "ann@x"),
        ("\0ann@x\0 ", "\0ann@x\0 ", "ann@x"),
        ("a nn\0@x", "a nn\0@x", "a nn\0@x"),
        // It has no width, and is no white space.
        ("ann@x\u{200b}", "ann@x\u{200b}", "ann@x\u{200b}"),
        ("\0 \u{3000}\r\n", "\0 \u{3000}\r\n", ""),
        // One text in several forms: composed, decomposed, with marks in another order, and by
        // characters that stand for others.
        ("JOS\u{c9}@x", "JOS\u{c9}@x", "jos\u{e9}@x"),
        ("JOSE\u{301}@x", "JOSE\u{301}@x", "jos\u{e9}@x"),
        ("a\u{307}\u{323}", "a\u{307}\u{323}", "\u{1ea1}\u{307}"),
        ("A\u{323}\u{307}", "A\u{323}\u{307}", "\u{1ea1}\u{307}"),
        ("\u{212b}@x", "\u{212b}@x", "\u{e5}@x"),
        (
            "\u{1100}\u{1161}\u{11a8}",
            "\u{1100}\u{1161}\u{11a8}",
            "\u{ac01}",
        ),
        // Its lower case is two characters.
        ("\u{130}@x", "\u{130}@x", "i\u{307}@x"),
        ("I\u{307}@x", "I\u{307}@x", "i\u{307}@x"),
        // Alike for people, and other characters for Unicode.
        ("\u{fb01}@x", "\u{fb01}@x", "\u{fb01}@x"),
    ] {
        for (how, expected) in [(None, none), (Email, email)] {
            let once = how.apply(text);
            assert_eq!(*once, expected, "{text:?}");
            assert_eq!(how.apply(&once), once, "{text:?}");
        }
    }
}

fn is_made_alike(how: KeyNormalization, texts: &[&str], expected: &str) {
    for text in texts {
        let once = how.apply(text);
        assert_eq!(*once, expected, "{text:?}");
        assert_eq!(how.apply(&once), once, "{text:?}");
    }
}

#[test]
fn telephone_numbers_have_one_form() {
    let is_alike = |texts: &[&str], expected| {
        is_made_alike(KeyNormalization::Phone, texts, expected);
    };
    let abroad = [
        "+49 30 1234-567",
        "0049 (0)30/1234567",
        " (+49) 30 1234567\0",
        "+49.30.1234\u{2011}567",
    ];
    is_alike(&abroad, "+49301234567");
    is_alike(
        &["030 1234", "(030)1234", "\u{ff10}30 1234", "(0)30 1234"],
        "0301234",
    );
    let others = "|+|030 1234 ext. 5|+49 30 +1|n/a|1+2|\u{663}";
    is_alike(&others.split('|').collect::<Vec<_>>(), "");
    for how in KeyNormalization::ALL {
        assert_eq!(how.name().parse(), Ok(how));
    }
}

#[test]
fn dates_have_one_form() {
    let is_alike = |texts: &str, expected| {
        let texts: Vec<_> = texts.split('|').collect();
        is_made_alike(KeyNormalization::Date, &texts, expected);
    };
    is_alike(
        "2024-03-01|2024-3-1|20240301|2024/03/01|2024.3.1|01.03.2024| 1.3.2024 |\
         2024-03-01T10:00:00Z|2024-03-01 00:00:00.000",
        "2024-03-01",
    );
    is_alike("2024-02-29", "2024-02-29");
    is_alike(
        "|2023-02-29|1900-02-29|3/4/2024|3-4-2024|24-03-01|2024-13-01|2024-03|2024-03-01-5|\
         March 1, 2024|2024-03-01 or so|2024-+3-01|0000-01-01|2024-04-31|1.3.24",
        "",
    );
}

proptest! {
    /// Two parties have one address in the forms of two programs.
    #[test]
    fn equal_texts_are_made_alike(text in "[\\PC\u{300}-\u{345}\u{1100}-\u{11ff}]{0,12}") {
        let apply = |text: &str| KeyNormalization::Email.apply(text);
        let once = apply(&text);
        prop_assert_eq!(&apply(&text.nfd().collect::<String>()), &once);
        prop_assert_eq!(&apply(&text.nfc().collect::<String>()), &once);
        prop_assert_eq!(&apply(&once), &once);
    }
}
