//! Tests of an editor's questions about places in a program.

use tacit_language::{Loaded, ParamValues, Sources};

const TEXT: &str = "parties a, b;\n\
    use ledger::{total, Band};\n\
    fn twice(x: u8) -> u8 { let y = x; let (p, mut q) = (y, x); q += p; q }\n\
    main(x: u8 of a, y: u8 of b) -> (z: u8 to both) {\n\
    let y = if x > 3 { y } else { total };\n\
    for i in 0..2 { let y = y; }\n\
    let band = Band::Low;\n\
    twice(x) ^ y }\n";

const LEDGER: &str = "const total = 7;\nenum Band { Low, High }\nfn low() -> Band { Band::Low }\n";

struct Ledger;

impl Sources for Ledger {
    fn read(&self, name: &str) -> Result<String, String> {
        assert_eq!(name, "ledger.tacit");
        Ok(LEDGER.to_owned())
    }
}

/// Returns the file and the place of the declaration of the name at the `number`th `word`.
fn declared(word: &str, number: usize) -> Option<(String, usize)> {
    let loaded = Loaded::new("a.tacit", TEXT, &Ledger);
    let (place, _) = TEXT.match_indices(word).nth(number).expect("the word");
    let span = loaded.definition(loaded.root(), place)?;
    let file = &loaded.source_map().file(span.file);
    assert!(word.starts_with(loaded.source_map().text(span)));
    Some((file.name.clone(), span.start as usize))
}

#[test]
fn names_lead_to_where_they_are_declared() {
    let place = |text: &str| Some(("a.tacit".to_owned(), TEXT.find(text).expect("the text")));
    assert_eq!(declared("twice", 1), place("twice"));
    assert_eq!(declared("x", 2), place("x: u8) ->"));
    assert_eq!(declared("q", 2), place("q)"));
    assert_eq!(declared("p", 2), place("p, mut"));
    // A variable is not in scope in its own first value, nor after the block that contains it.
    assert_eq!(declared("y }", 0), place("y: u8 of b"));
    assert_eq!(declared("y; }", 0), place("y = if"));
    assert_eq!(declared("y }", 1), place("y = if"));
}

#[test]
fn names_lead_to_other_files() {
    let ledger = |text: &str| Some(("ledger.tacit".to_owned(), LEDGER.find(text).unwrap()));
    assert_eq!(declared("ledger", 0), ledger("const"));
    assert_eq!(declared("total", 0), ledger("total"));
    assert_eq!(declared("total", 1), ledger("total"));
    assert_eq!(declared("Low", 0), ledger("Low"));
    let loaded = Loaded::new("a.tacit", TEXT, &Ledger);
    let span = loaded.definition(loaded.root(), TEXT.find("Low").expect("a variant"));
    let uses = loaded.uses(span.expect("its declaration"));
    let uses: Vec<(&str, u32)> = uses
        .iter()
        .map(|span| (&*loaded.source_map().file(span.file).name, span.start))
        .collect();
    let place = |text: &str, word: &str| text.find(word).unwrap() as u32;
    let expected = [
        ("a.tacit", place(TEXT, "Low")),
        ("ledger.tacit", place(LEDGER, "Low")),
        ("ledger.tacit", place(LEDGER, "Band::Low") + 6),
    ];
    assert_eq!(uses, expected);
}

#[test]
fn expressions_have_types() {
    let loaded = Loaded::new("a.tacit", TEXT, &Ledger);
    let program = loaded.program(&ParamValues::new()).expect("a program");
    let at = TEXT.find("twice(x) ^").expect("the call");
    let (span, name) = program.type_at(loaded.root(), at).expect("an expression");
    assert_eq!(
        (loaded.source_map().text(span), name.as_str()),
        ("twice(x)", "u8")
    );
}
