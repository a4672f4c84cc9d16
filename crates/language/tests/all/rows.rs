//! Loops over tables and over the pairs of joins count the rows that are there alone.

use tacit_language::{Loaded, NoFiles};

use crate::both::{lower, program_of, run_tests, told};

/// Runs the tests of a program without warnings, and returns the AND gates of its `main`.
fn gates(text: &str) -> u64 {
    let program = program_of(text);
    let loaded = Loaded::new("snippet.tacit", text, &NoFiles);
    assert!(told(&loaded).is_empty(), "{:?}", program.warnings);
    run_tests(&loaded);
    lower(&program, "main").1.function.and_gates()
}

const JOINED: &str = "parties a, b;\nparam N: 1..=100 = 3;\nparam M: 1..=100 = 4;\n\
    struct L { id: u16, v: u8 }\nstruct R { id: u16, w: u8 }\n\
    main(left: [L; ..N] of a, right: [R; ..2 * M] of b, bound: u8 of a,\n\
    pairs: join left by id with right by id upto 2)\n\
    -> (n: u16 to both, least: u8 to both, seen: [u8; 4] to both, rows: u8 to both) {\n\
    let (mut n, mut rows): (u16, u8) = (0, 0);\nlet mut least: u8 = 255;\n\
    let mut seen: [u8; 4] = [0; 4];\nfor p in pairs { BODY }\n(n, least, seen, rows)\n}\n\
    test \"two pairs\" {\n\
    let left = [L { id: 5, v: 2 }, L { id: 1, v: 0 }, L { id: 9, v: 1 }];\n\
    let right = [R { id: 1, w: 7 }, R { id: 9, w: 4 }, R { id: 9, w: 6 }, R { id: 8, w: 1 }];\n\
    assert main(left, right, 3) == (2, 4, [1, 1, 0, 0], 3);\n}\n";

/// Elements that are no pairs do not count, at the cost of a condition where one is needed.
#[test]
fn a_loop_over_pairs_counts_pairs_alone() {
    let plain = "n += 1;\nseen[p.left.v as u2] += if bound == 0 { 0 } else { 1 };\n\
        for r in p.right { least = min(least, r.w); rows += 1; }";
    let by_hand = "if p.matched {\nn += 1;\n\
        seen[p.left.v as u2] += if bound == 0 { 0 } else { 1 };\n}\n\
        for k in 0..2 {\nif k < p.right.len {\n\
        least = min(least, p.right.items[k].w);\nrows += 1;\n}\n}";
    let cost = |body: &str| gates(&JOINED.replace("BODY", body));
    assert_eq!(cost(plain), cost(by_hand));
}

/// What adds nothing where all is zero is under no condition, so that it costs what it did.
#[test]
fn what_zeros_do_not_change_is_under_no_condition() {
    let body = "n += p.left.v as u16;\nlet far = p.left.v > bound;\n\
        if far && p.matched { rows += 1; }\n\
        for k in 0..2 { if k < p.right.len { seen[k] += p.right.items[k].w; } }";
    let text = JOINED.replace("BODY", body);
    let program = program_of(text.split("test").next().expect("a program"));
    let main = &program.functions[program.entries[0].function.0 as usize];
    let mut matched = 0;
    main.expressions(&mut |of| {
        use tacit_language::program::{ExpressionKind, Root, Step};
        if let ExpressionKind::Read(place) = &of.kind
            && matches!(&place.root, Root::Local(of) if *of == *main.parameters.last().unwrap())
        {
            matched += usize::from(matches!(place.path.last(), Some(Step::Field(0))));
        }
    });
    assert_eq!(matched, 0);
}

#[test]
fn a_loop_over_a_table_has_a_turn_for_each_row() {
    let text = "parties a, b;\nenum Sex { F, M }\nstruct Person { sex: Sex, pay: u16 }\n\
        main(x: [Person; ..6] of a, y: [u8; ..4] of b)\n\
        -> (women: u8 to both, least: u16 to both, pay: [u16; ..6] to both, n: u3 to both) {\n\
        let mut women: u8 = 0;\nlet mut least: u16 = 65_535;\n\
        for p in x {\nif p.sex == Sex::F { women += 1; }\nleast = min(least, p.pay);\n}\n\
        let mut n: u3 = 0;\nfor _ in y { n += 1; }\n\
        (women, least, [for p in x { p.pay + 1 }], n)\n}\n\
        test \"one woman of three people\" {\n\
        let x = [Person { sex: Sex::M, pay: 30 }, Person { sex: Sex::F, pay: 20 }, \
        Person { sex: Sex::M, pay: 50 }];\n\
        assert main(x, [9, 9]) == (1, 20, [31, 21, 51], 2);\n\
        assert main([], []) == (0, 65_535, [], 0);\n}\n";
    let _ = gates(text);
}

#[test]
fn quantiles_of_rows_that_are_there() {
    let text = "parties a, b;\nuse std::order::{median_of, quantiles_of};\n\
        use std::table::{rows, with_zeros, group_sums};\n\
        main(x: [i16; ..4] of a, y: [i16; ..3] of b, g: [u2; ..3] of b)\n\
        -> (middle: Maybe<i16> to both, quarters: [Maybe<i16>; 3] to both, \
        all: Maybe<i16> to both, sums: [u4; 2] to both) {\n\
        let (left, right) = (rows(x), rows(y));\n\
        let both: [Maybe<i16>; 7] =\n\
        [for i in 0..7 { if i < 4 { left[i] } else { right[i - 4] } }];\n\
        (median_of(rows(x)), quantiles_of::<4>(rows(x)), median_of(both),\n\
        group_sums::<2>(with_zeros(g), [for v in with_zeros(y) { v as u2 }]))\n}\n\
        fn none() -> Maybe<i16> { Maybe { some: false, value: 0 } }\n\
        fn some(value: i16) -> Maybe<i16> { Maybe { some: true, value } }\n\
        test \"of three, four and none\" {\n\
        assert main([9, -5, 7], [], []) == \
        (some(7), [some(-5), some(7), some(9)], some(7), [0, 0]);\n\
        assert main([4, 1, 3, 2], [-1, -2], [0, 1]) == \
        (some(2), [some(1), some(2), some(3)], some(1), [3, 2]);\n\
        assert main([], [6], [1]) == (none(), [none(), none(), none()], some(6), [0, 2]);\n}\n";
    let _ = gates(text);
}

/// The cookbook's program of two payrolls.
#[test]
fn the_cookbooks_median_is_right() {
    let cookbook = include_str!("../../../../docs/cookbook.md");
    let text = cookbook.split("```tacit payroll.tacit\n").nth(1);
    let text = text.and_then(|text| text.split("```").next());
    let _ = gates(text.expect("the program"));
}
