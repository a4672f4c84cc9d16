//! What editors ask about places in a program.

use tacit_language::{Loaded, NoFiles, ParamValues};

const TEXT: &str = "parties a, b;\n\
    fn twice(x: u8) -> u8 { let y = x; let (p, mut q) = (y, x); q += p; q }\n\
    main(x: u8 of a, y: u8 of b) -> (z: u8 to both) { twice(x) ^ y }\n";

/// The text from where the name at the `number`th `word` is declared.
fn declared(word: &str, number: usize) -> Option<usize> {
    let loaded = Loaded::new("a.tacit", TEXT, &NoFiles);
    let (place, _) = TEXT.match_indices(word).nth(number).expect("the word");
    let span = loaded.definition(place)?;
    assert_eq!(loaded.source_map().text(span), word);
    Some(span.start as usize)
}

#[test]
fn names_lead_to_where_they_are_declared() {
    let first = |text: &str| TEXT.find(text).expect("the text");
    assert_eq!(declared("twice", 1), Some(first("twice")));
    assert_eq!(declared("x", 2), Some(first("x: u8) ->")));
    assert_eq!(declared("q", 2), Some(first("q)")));
    assert_eq!(declared("p", 2), Some(first("p, mut")));
    assert_eq!(declared("y", 3), Some(first("y: u8 of b")));
}

#[test]
fn expressions_have_types() {
    let loaded = Loaded::new("a.tacit", TEXT, &NoFiles);
    let program = loaded.program(&ParamValues::new()).expect("a program");
    let at = TEXT.find("twice(x) ^").expect("the call");
    let (span, name) = program.type_at(loaded.root(), at).expect("an expression");
    assert_eq!(
        (loaded.source_map().text(span), name.as_str()),
        ("twice(x)", "u8")
    );
}
