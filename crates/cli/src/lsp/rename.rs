//! Renames a symbol in all programs of a folder that refer to it.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use lsp_types::Position;
use tacit_language::editor::{Places, place_with_name, with_name};
use tacit_language::{Span, read_source};

use super::document::{Document, Texts};

/// The largest number of programs in a folder that are searched.
const MAX_PROGRAMS: usize = 256;

/// The byte ranges of each file that get a new text.
pub(super) type Edits = BTreeMap<PathBuf, Places>;

/// Finds all places that refer to the symbol at a position, in all programs of the folder.
pub(super) fn uses(document: &Document, at: Position, texts: &Texts) -> Result<Edits, String> {
    let declared = document.declared(at);
    let place = declared.and_then(|span| Some((document.path_of(span.file)?, span)));
    let (path, span) = place.ok_or("no name of these files is here")?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut found = Edits::new();
    for program in programs(folder, texts) {
        for (path, range) in uses_in(&program, &path, span.start..span.end) {
            found.entry(path).or_default().insert(range);
        }
    }
    Ok(found)
}

/// Returns the edits that rename the symbol at a position.
pub(super) fn rename(
    document: &Document,
    at: Position,
    name: &str,
    texts: &Texts,
) -> Result<Edits, String> {
    let edits = uses(document, at, texts)?;
    let declared = document.declared(at).ok_or("no name is here")?;
    let path = document.path_of(declared.file).ok_or("no file")?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let before = programs(folder, texts);
    let mut renamed = texts.clone();
    for (path, places) in &edits {
        let text = match texts.get(path) {
            Some(text) => text.clone(),
            None => read_source(path).map_err(|error| error.to_string())?,
        };
        renamed.insert(path.clone(), with_name(&text, places, name));
    }
    let new = place_with_name(&(declared.start..declared.end), &edits[&path], name);
    let after = programs(folder, &renamed);
    for (program, other) in before.iter().zip(&after) {
        let is_right = |program: &Document| program.errors().is_empty();
        let old = declared.start..declared.end;
        let is_same =
            uses_in(program, &path, old).len() == uses_in(other, &path, new.clone()).len();
        if !is_same || (is_right(program) && !is_right(other)) {
            return Err(format!(
                "`{name}` cannot be its name: {} would be another program, or wrong",
                other.name()
            ));
        }
    }
    Ok(edits)
}

/// Returns the programs in a folder, including the open ones, by their file names.
fn programs(folder: &Path, texts: &Texts) -> Vec<Document> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_program = path.extension().is_some_and(|ending| ending == "tacit");
        if is_program
            && files.len() < MAX_PROGRAMS
            && let Ok(text) = read_source(&path)
        {
            files.insert(path, text);
        }
    }
    let open = texts
        .iter()
        .filter(|(path, _)| path.parent() == Some(folder));
    files.extend(open.map(|(path, text)| (path.clone(), text.clone())));
    let programs = files.into_iter();
    programs
        .map(|(path, text)| Document::new(path, &text, texts))
        .collect()
}

/// Finds the places where a program refers to the symbol at a place of a file.
fn uses_in(program: &Document, path: &Path, place: Range<u32>) -> Vec<(PathBuf, (u32, u32))> {
    let mut files = program.loaded.source_map().ids();
    let Some(file) = files.find(|file| program.path_of(*file).as_deref() == Some(path)) else {
        return Vec::new();
    };
    let text = &program.loaded.source_map().file(file).text;
    if text.get(place.start as usize..place.end as usize).is_none() {
        return Vec::new();
    }
    let uses = program.loaded.uses(Span {
        file,
        start: place.start,
        end: place.end,
    });
    let places = uses.into_iter();
    places
        .filter_map(|span| Some((program.path_of(span.file)?, (span.start, span.end))))
        .collect()
}
