//! What the editor of a page asks about a program: names, their meaning, new names, its tests.

use serde_json::{Value as Json, json};
use tacit_language::TestReport;
use tacit_language::editor::{Meaning, words};
use tacit_language::lower::NoCircuitFiles;

use crate::Refused;
use crate::program::{GivenProgram, error_json, place, units};
use crate::session::parsed;

fn meaning_json(meaning: &Meaning) -> Json {
    json!({ "declared": meaning.declared, "documentation": meaning.documentation })
}

/// Returns the names that may be used everywhere in a program, and the words of the language.
pub(crate) fn names(program: &str) -> Result<Json, Refused> {
    let given = GivenProgram::new(&parsed(program)?)?;
    let names = given.loaded.names_in_sight();
    let names = names.into_iter().map(|(name, meaning)| {
        let mut json = meaning_json(&meaning);
        json["name"] = name.into();
        json
    });
    Ok(json!({ "names": names.collect::<Vec<_>>(), "words": words() }))
}

/// Converts a place in JavaScript's units to bytes.
fn byte_of(text: &str, place: usize) -> usize {
    let mut left = place;
    let mut bytes = 0;
    for letter in text.chars() {
        if left < letter.len_utf16() {
            break;
        }
        left -= letter.len_utf16();
        bytes += letter.len_utf8();
    }
    bytes
}

fn byte_at(given: &GivenProgram, offset: u32) -> usize {
    let file = given.loaded.source_map().file(given.loaded.root());
    byte_of(&file.text, offset as usize)
}

/// Returns the meaning of what is at a place, and its type. Each is null if there is none.
pub(crate) fn explain(program: &str, offset: u32) -> Result<Json, Refused> {
    let given = GivenProgram::new(&parsed(program)?)?;
    let (loaded, offset) = (&given.loaded, byte_at(&given, offset));
    let declared = loaded.definition(loaded.root(), offset);
    let meaning = declared.and_then(|declared| loaded.meaning(declared));
    let typed = loaded.program(&given.params).ok();
    let typed = typed.and_then(|program| program.type_at(loaded.root(), offset));
    Ok(json!({
        "meaning": meaning.map(|meaning| meaning_json(&meaning)),
        "type": typed.map(|(_, name)| name),
    }))
}

/// Returns the places that get another name, so that what is at a place has it.
pub(crate) fn rename(program: &str, offset: u32, name: &str) -> Result<Json, Refused> {
    let given = GivenProgram::new(&parsed(program)?)?;
    let at = byte_at(&given, offset);
    let places = given
        .loaded
        .renamed(at, name, (&given.params, &NoCircuitFiles))?;
    let text = &given.loaded.source_map().file(given.loaded.root()).text;
    let places = places
        .iter()
        .map(|&(from, to)| json!({ "from": units(text, from), "to": units(text, to) }));
    Ok(places.collect())
}

/// Runs the tests of a program.
pub(crate) fn test(program: &str) -> Result<Json, Refused> {
    let given = GivenProgram::new(&parsed(program)?)?;
    let map = given.loaded.source_map();
    let report = |report: &TestReport| {
        let errors = report.errors.iter().map(|error| error_json(map, error));
        json!({
            "name": report.name.as_str(),
            "at": place(map, report.place),
            "errors": errors.collect::<Vec<_>>(),
            "debugged": report.debugged,
        })
    };
    let reports = given.loaded.run_tests(&given.params, &NoCircuitFiles);
    Ok(reports.iter().map(report).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "parties alice, bob;\n\n\
        /// The \u{1d538} larger.\n\
        fn larger(a: u8, b: u8) -> u8 {\n    max(a, b)\n}\n\n\
        main(x: u8 of alice, y: u8 of bob) -> (most: u8 to both) {\n    larger(x, y)\n}\n\n\
        test \"right\" {\n    assert main(1, 2) == 2;\n}\n\n\
        test \"wrong\" {\n    assert main(1, 2) == 1;\n}\n";

    fn program(text: &str) -> String {
        json!({ "text": text }).to_string()
    }

    fn unit_of(part: &str) -> u32 {
        let (before, _) = TEXT.split_once(part).unwrap();
        before.encode_utf16().count() as u32
    }

    #[test]
    fn names_of_the_program_and_of_tacit_are_offered() {
        let found = names(&program(TEXT)).unwrap();
        let named = |name: &str| {
            let mut all = found["names"].as_array().unwrap().iter();
            all.find(|one| one["name"] == name).unwrap().clone()
        };
        assert_eq!(named("larger")["declared"], "fn larger(a: u8, b: u8) -> u8");
        assert!(named("max")["declared"].is_string());
        let words = found["words"].as_array().unwrap();
        assert!(words.contains(&"let".into()));
    }

    #[test]
    fn a_name_is_explained_behind_letters_of_two_units() {
        let found = explain(&program(TEXT), unit_of("larger(x")).unwrap();
        let meaning = &found["meaning"];
        assert_eq!(meaning["declared"], "fn larger(a: u8, b: u8) -> u8");
        assert_eq!(meaning["documentation"], "The \u{1d538} larger.");
        assert_eq!(found["type"], "u8");
        let nothing = explain(&program(TEXT), 5).unwrap();
        assert_eq!(nothing, json!({ "meaning": null, "type": null }));
    }

    #[test]
    fn a_name_is_changed_in_all_places_unless_that_changes_the_program() {
        let places = rename(&program(TEXT), unit_of("larger(x"), "most_of").unwrap();
        assert_eq!(places.as_array().unwrap().len(), 2);
        assert_eq!(places[0]["from"], unit_of("larger(a"));
        for (offset, name) in [
            (unit_of("larger(x"), "1x"),
            (unit_of("larger(x"), "main"),
            (unit_of("x, y"), "y"),
            (unit_of("max("), "least"),
            (0, "other"),
        ] {
            assert!(rename(&program(TEXT), offset, name).is_err(), "{name}");
        }
    }

    #[test]
    fn each_test_has_a_verdict() {
        let found = test(&program(TEXT)).unwrap();
        assert_eq!(found[0]["name"], "right");
        assert_eq!(found[0]["errors"], json!([]));
        assert_eq!(found[1]["at"]["line"], 16);
        assert_eq!(found[1]["errors"][0]["label"], "left 2, right 1");
    }
}
