//! Tests of the accepted forms of programs, and that all tools give them the same meaning.

use tacit_language::lower::{CircuitFiles, NoCircuitFiles};
use tacit_language::program::{BitOrder, EntryId};
use tacit_language::{Loaded, NoFiles, ParamValues, ProgramFolder, Signature};

use crate::both::{lower, program_of, rendered, run_tests, told};

/// Checks that the program is valid, causes no warnings, and passes its tests.
#[track_caller]
fn right(text: &str) {
    let loaded = Loaded::new("snippet.tacit", text, &NoFiles);
    let found = told(&loaded);
    assert!(found.is_empty(), "{}", rendered(&loaded, &found));
    run_tests(&loaded);
}

/// `test` and a run between two parties also accept every program that `check` accepts.
#[test]
fn a_program_that_is_right_is_lowered() {
    let long = "a".repeat(64);
    for text in [
        "parties a, b;\nstate total: u32 = 0;\nrun set(x: u32 of a) { total = x; }\n\
         run get() -> (now: u32 to b) { total }\n\
         test \"set\" { set(7); set(9); assert get() == 9; }\n",
        "parties a, b;\nmain(x: u32 public) -> (y: u32 to b) { x + 1 }\n\
         test \"public\" { assert main(7) == 8; }\n",
        "parties a, b;\nuse std::random::random;\n\
         main(random_of_a: u8 of a, random_of_b_: u8 of b) -> (y: u8 to b) {\n\
         random_of_a ^ random_of_b_ ^ (random::<u8>() & 0)\n}\n\
         test \"names\" { assert main(7, 1) == 6; }\n",
        "parties a, b;\nstate x: u32 = 0;\nrun hidden(x: u32 of a) -> (y: u32 to b) { x }\n\
         test \"hidden\" { assert hidden(7) == 7; }\n",
        &format!(
            "parties a, b;\nstate {long}: u8 = 0;\nrun {long}{long}({long}{long}{long}: u8 of a) \
             {{ {long} = 1; }}\n"
        )
        .replace(&format!("{long}{long}{long}"), &long.replace('a', "b")),
    ] {
        let loaded = Loaded::new("snippet.tacit", text, &NoFiles);
        let found = told(&loaded);
        assert!(found.is_empty(), "{}", rendered(&loaded, &found));
        let program = program_of(text);
        for (number, entry) in program.entries.iter().enumerate() {
            if entry.inputs.iter().any(|input| input.owner.is_none()) {
                continue;
            }
            let id = EntryId(number as u32);
            let lowered = program.lower(entry.name.as_str(), id, &NoCircuitFiles);
            assert!(lowered.is_ok(), "{}: {lowered:?}", entry.name);
        }
        for report in loaded.run_tests(&ParamValues::new(), &NoCircuitFiles) {
            assert!(
                report.errors.is_empty(),
                "{}",
                rendered(&loaded, &report.errors)
            );
        }
    }
}

/// A run that sets a chain's state without reading it still loads and saves the state, so that no
/// party takes the run for one that discards the chain's values. A `start` loads nothing.
#[test]
fn a_run_that_sets_a_state_goes_on_with_its_chain() {
    let program = program_of(
        "parties a, b;\nstate total: u32 = 0;\nstate other: u32 = 0;\n\
         run set(x: u32 of a) { total = x; }\n",
    );
    let names = |run: &str| {
        let function = lower(&program, run).1.function;
        let names = |ports: &[tacit_circuit::Port]| -> Vec<String> {
            ports.iter().map(|port| port.name.clone()).collect()
        };
        (names(function.loads()), names(function.saves()))
    };
    let (total, both) = (
        vec!["total".to_owned()],
        vec!["total".to_owned(), "other".to_owned()],
    );
    assert_eq!(names("set"), (total.clone(), total));
    assert_eq!(names("start"), (Vec::new(), both));
}

/// `check` refuses a name that a function cannot have.
#[test]
fn names_of_ports_have_at_most_64_bytes() {
    let long = "a".repeat(65);
    for text in [
        format!("parties a, b;\nmain({long}: u8 of a) -> (y: u8 to b) {{ {long} }}\n"),
        format!("parties a, b;\nmain(x: u8 of a) -> ({long}: u8 to b) {{ x }}\n"),
        format!("parties a, b;\nstate {long}: u8 = 0;\nrun set(x: u8 of a) {{ {long} = x; }}\n"),
    ] {
        let errors = Loaded::new("snippet.tacit", &text, &NoFiles)
            .check(&ParamValues::new(), &NoCircuitFiles);
        let is_told = errors
            .iter()
            .any(|error| error.message.contains("64 bytes"));
        assert!(is_told, "{errors:?}");
    }
}

#[test]
fn a_conversion_is_compared() {
    right(
        "parties a, b;\ntype Wide = u16;\ntype Sized<const N> = u<N>;\n\
         main(x: u8 of a, y: u16 of b) -> (r: [bool; 6] to both) {\n\
         let z = x as Sized<9> < 300;\n\
         let up = if x as Wide < y { true } else { false };\n\
         [x as u16 < y, x as Wide < y && x as u16 > 3, y > x as u16, (x as u12) < 9, z, up]\n}\n\
         test \"compares\" { assert main(5, 6) == [true, true, true, true, true, true]; }\n",
    );
}

/// A struct's fields determine its generics, as arguments do for a function.
#[test]
fn the_fields_of_a_struct_tell_its_generics() {
    right(
        "parties a, b;\nstruct Pair<T, const N> { all: [T; N], one: T }\n\
         fn maybe<T>(some: bool, value: T) -> Maybe<Maybe<T>> {\n\
         let inner = Maybe { some, value };\nMaybe { value: inner, some: true }\n}\n\
         main(x: u8 of a) -> (r: [u8; 2] to both) {\n\
         let pair = Pair { one: x, all: [x + 1, x, x] };\n\
         let twice = maybe(x == 3, Pair::<u8, 3> { all: [0; 3], one: pair.all[1] });\n\
         [pair.all[0], twice.value.value.one]\n}\n\
         test \"told\" { assert main(3) == [4, 3]; }\n",
    );
}

#[test]
fn modules_of_the_standard_library_are_used_as_wholes() {
    right(
        "parties a, b;\nuse std::psi;\nuse std::{order, tree};\nuse std::order::sort;\n\
         main(x: [u8; 2] of a sorted, node: tree::Node<2, u8> of b) -> (r: [u8; 3] to both) {\n\
         [psi::count(x, x) as u8, order::median(sort(x)), node.threshold]\n}\n\
         test \"used\" { assert main([3, 4], tree::Node::<2, u8> { feature: 1, threshold: 9 }) \
         == [2, 3, 9]; }\n",
    );
}

/// Two structs may have methods of the same name. A struct's method takes precedence over a
/// function of its name.
#[test]
fn structs_have_methods() {
    let text = "parties a, b;\n\nstruct Point { x: u8, y: u8 }\n\
        struct Line { from: Point, to: Point }\n\
        struct Pair<T> { one: T, two: T }\ntype Bytes = Pair<u8>;\n\n\
        fn Point::size(p: Point) -> u8 {\n    p.x + p.y\n}\n\
        component fn Line::size(l: Line) -> u8 {\n    l.to.size() - l.from.size()\n}\n\
        fn Pair::swap<T>(p: Pair<T>) -> Pair<T> {\n    Pair { one: p.two, two: p.one }\n}\n\
        fn size(x: u8) -> u8 {\n    x ^ 1\n}\n\
        fn moved(p: Point, by: u8) -> Point {\n    Point { x: p.x + by, y: p.y }\n}\n\n\
        main(a: u8 of a, b: u8 of b) -> (r: [u8; 5] to both) {\n    \
        let p = Point { x: a, y: b };\n    \
        let line = Line { from: p, to: p.moved(3).moved(1) };\n    \
        let pair = Pair { one: a, two: b }.swap();\n    \
        [p.size(), line.size(), a.size(), Point::size(line.to), Bytes::swap(pair).one]\n}\n\n\
        test \"sizes\" {\n    assert main(2, 5) == [7, 4, 3, 11, 2];\n}\n";
    right(text);
    let formatted = tacit_language::format("methods.tacit", text).expect("a right program");
    assert_eq!(formatted, text);
    let program = program_of(text);
    assert!(lower(&program, "main").1.function.call_count() > 0);
}

#[test]
fn a_comment_between_signs_changes_nothing() {
    let text = "/* of/* a */\n   program */\nparties a, b; /* two */\n\n\
                main(/* x */ x: u8 of a, y: u8 of b /* b's */) -> (r: u8 to both) {\n\
                \x20   /* a\n  sum */\n    x /* and */ ^ y /* last */\n}\n\n\
                test \"sum\" { assert main(1, 2) /**/ == 3; } // the end\n";
    right(text);
    let formatted = tacit_language::format("comments.tacit", text).expect("a right program");
    assert_eq!(formatted, text);
    let wide = text
        .replace(" /*", "   /*")
        .replace("*/ ", "*/   ")
        .replace("(/*", "(  /*");
    let formatted = tacit_language::format("comments.tacit", &wide).expect("a right program");
    assert_eq!(formatted, text);
}

/// A program may also name a file in its folder as a shell does, but no file outside of it.
#[test]
fn a_circuit_file_may_be_named_from_its_folder() {
    let name = format!("tacit-folder-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let text = "1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n";
    std::fs::write(folder.join("and.txt"), text).expect("to write a circuit");
    let files = ProgramFolder::new(&folder);
    for path in ["and.txt", "./and.txt", "././and.txt"] {
        let circuit = files.circuit(path, BitOrder::LsbFirst);
        assert!(circuit.is_ok(), "{path}: {circuit:?}");
    }
    for path in ["../and.txt", "./../and.txt", "/and.txt", "."] {
        assert!(files.circuit(path, BitOrder::LsbFirst).is_err(), "{path}");
    }
    std::fs::remove_dir_all(&folder).expect("to remove the folder");
}

const DEBUGGED: &str = "parties a, b;\nuse std::random::random;\n\
    fn twice(x: u8) -> u8 { debug(x); x + x }\n\
    main(x: u8 of a, name: text<8> of b) -> (y: u8 to b) {\n\
    debug(name);\nlet y = twice(x);\n\
    if y > 9 { debug((x, y)); } else { debug(1); }\n\
    for i in 0..2 { debug(i + 1); }\n\
    y ^ (random::<u8>() & 0)\n}\n\
    test \"shown\" { debug(main(7, \"Ann\")); assert main(1, \"Ben\") == 2; }\n";

/// A test and an evaluation show the values of `debug`, but only in the branch that is taken.
#[test]
fn debug_shows_values_in_tests() {
    let loaded = Loaded::new("shown.tacit", DEBUGGED, &NoFiles);
    let reports = loaded.run_tests(&ParamValues::new(), &NoCircuitFiles);
    assert!(
        reports[0].errors.is_empty(),
        "{}",
        rendered(&loaded, &reports[0].errors)
    );
    let expected = [
        "shown.tacit:5: name = \"Ann\"",
        "shown.tacit:3: x = 7",
        "shown.tacit:7: (x, y) = (7, 14)",
        "shown.tacit:8: i + 1 = 1",
        "shown.tacit:8: i + 1 = 2",
        "shown.tacit:11: main(7, \"Ann\") = 14",
        "shown.tacit:5: name = \"Ben\"",
        "shown.tacit:3: x = 1",
        "shown.tacit:7: 1 = 1",
        "shown.tacit:8: i + 1 = 1",
        "shown.tacit:8: i + 1 = 2",
    ];
    assert_eq!(reports[0].debugged, expected);
}

/// A program that is run contains no `debug`. It equals the program without it, and there is a
/// warning.
#[test]
fn debug_is_in_no_run() {
    let loaded = Loaded::new("shown.tacit", DEBUGGED, &NoFiles);
    let program = program_of(DEBUGGED);
    let shown = "`debug` shows nothing in a run";
    assert!(
        program
            .warnings
            .iter()
            .all(|warning| warning.message == shown)
    );
    assert_eq!(program.warnings.len(), 5);
    assert!(!format!("{:?}", program.functions).contains("Debug("));
    let without: String = DEBUGGED
        .replace("debug(x); ", "")
        .replace("debug(name);", "")
        .replace("debug((x, y)); ", "")
        .replace("debug(1); ", "")
        .replace("debug(i + 1); ", "");
    let other = Loaded::new("other.tacit", &without, &NoFiles);
    let meaning = |loaded: &Loaded| {
        let signature = Signature::new(loaded, &ParamValues::new(), None).expect("a program");
        signature.meaning(&NoCircuitFiles).expect("no files")
    };
    assert_eq!(meaning(&loaded), meaning(&other));
}
