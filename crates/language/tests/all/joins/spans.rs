//! The bins of a large join are cut into spans.

use tacit_language::program::EntryId;

use super::*;

/// Returns the numbers of bins of the spans of a join of these sizes.
fn spans(sizes: [u64; 2], most_bins: u64) -> Vec<u64> {
    let mut program = sized(KINDS, sizes);
    cut(&mut program, most_bins);
    let plan = lower(&program, "main").1.join.expect("a join");
    plan.spans.iter().map(|span| span.bins).collect()
}

/// A span ends where a tree of 64 results ends.
#[test]
fn spans_are_whole_trees() {
    let bins = lower(&sized(KINDS, [70, 90]), "main")
        .1
        .join
        .expect("a join")
        .bin_count();
    assert!(bins > 320 && !bins.is_multiple_of(64), "{bins}");
    for most_bins in [bins, bins + 1, u64::MAX] {
        assert_eq!(spans([70, 90], most_bins), [bins]);
    }
    for (most_bins, expected) in [
        (0, 64),
        (64, 64),
        (127, 64),
        (128, 128),
        (bins - 1, bins / 64 * 64),
    ] {
        let found = spans([70, 90], most_bins);
        let (last, others) = found.split_last().expect("a span");
        assert!(others.iter().all(|bins| *bins == expected), "{found:?}");
        assert!(*last > 0 && *last <= expected, "{found:?}");
        assert_eq!(found.iter().sum::<u64>(), bins);
    }
    assert_eq!(spans([0, 90], 64), [0]);
}

/// Spans add lines to a function, and no calls.
#[test]
fn a_function_grows_by_its_spans_alone() {
    let lowered = |most_bins| {
        let mut program = sized(KINDS, [4_000, 4_000]);
        cut(&mut program, most_bins);
        let function = lower(&program, "main").1.function;
        (function.canonical_text().len(), function.call_count())
    };
    let (one, few, many) = (lowered(u64::MAX), lowered(1 << 11), lowered(1 << 10));
    assert_eq!([few.1, many.1], [one.1; 2]);
    assert!(
        many.0 - one.0 < 3 * (few.0 - one.0),
        "{one:?} {few:?} {many:?}"
    );
}

/// The sizes of a join are announced by its parties, so what they cost is bounded before anything
/// is built for them.
#[test]
fn joins_of_too_many_bits_are_refused() {
    let refused = |fields: &str, sizes: [u64; 2]| {
        let text = format!(
            "parties a, b;
            param N: 0..=67_108_864 = len(left);
            param M: 0..=67_108_864 = len(right);
            struct L {{ id: u32, x: {fields} }}
            struct R {{ id: u32 }}
            main(left: [L; ..N] of a, right: [R; ..M] of b, pairs: join left by id with right by id)
                -> (count: u32 to both) {{
                let mut count: u32 = 0;
                for p in pairs {{ count += (p.matched && p.left.x == p.left.x) as u32; }}
                count
            }}"
        );
        let checked = sized(&text, sizes).check_size(EntryId(0));
        checked.err().map(|error| error.message)
    };
    let told = |fields, sizes, words: &str| {
        let message = refused(fields, sizes).expect("too large");
        assert!(message.contains(words), "{message}");
    };
    assert_eq!(refused("u32", [1 << 24; 2]), None);
    assert_eq!(refused("u512", [1 << 24; 2]), None);
    told("[u64; 32]", [1 << 24; 2], "take 11 GiB at each party");
    assert_eq!(refused("bytes<1000000>", [64, 64]), None);
    told("bytes<3000000>", [64, 64], "64 bins of this join have");
}

/// A value of a function has at most 2^30 bits, and the first sums of a loop are one.
#[test]
fn sums_of_too_many_bits_are_refused() {
    let added = |number: &str, shift: u32| {
        let text = format!(
            "parties a, b;
            param N: 0..=67_108_864 = len(left);
            param M: 0..=67_108_864 = len(right);
            struct L {{ id: u32, x: u32 }}
            struct R {{ id: u32 }}
            main(left: [L; ..N] of a, right: [R; ..M] of b, pairs: join left by id with right by id)
                -> (sum: {number} to both) {{
                let mut sum: {number} = 0;
                for p in pairs {{
                    let x = p.left.x as {number};
                    sum += x << {shift} | x;
                }}
                sum
            }}"
        );
        let program = sized(&text, [1 << 26; 2]);
        let lowered = program.lower("main", EntryId(0), &tacit_language::lower::NoCircuitFiles);
        lowered.err().map(|error| error.message)
    };
    assert_eq!(added("u256", 200), None);
    let message = added("u448", 408).expect("too many bits");
    assert!(
        message.contains("the first sums of this loop have"),
        "{message}"
    );
}
