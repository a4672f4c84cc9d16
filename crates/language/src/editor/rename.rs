//! New names for what a program declares.

use core::ops::Range;
use std::collections::BTreeSet;

use crate::elaborate::ParamValues;
use crate::load::Loaded;
use crate::lower::CircuitFiles;
use crate::source::{NoFiles, Span};

/// The byte ranges of a file that get a new text.
pub type Places = BTreeSet<(u32, u32)>;

/// Returns a text with `name` at these places.
fn with_name(text: &str, places: &Places, name: &str) -> String {
    let mut renamed = String::with_capacity(text.len());
    let mut done = 0;
    for &(start, end) in places {
        renamed += text.get(done..start as usize).unwrap_or_default();
        renamed += name;
        done = end as usize;
    }
    renamed + text.get(done..).unwrap_or_default()
}

/// Returns the place of a declaration once it and the other places of its file have `name`.
fn place_with_name(declared: &Range<u32>, places: &Places, name: &str) -> Range<u32> {
    let earlier = places.iter().filter(|(start, _)| *start < declared.start);
    let growth = name.len() as i64 - i64::from(declared.end - declared.start);
    let start = i64::from(declared.start) + earlier.count() as i64 * growth;
    start as u32..start as u32 + name.len() as u32
}

impl Loaded {
    /// Returns the places in a program of one file that must get `name`, so that what is named at a
    /// byte of the file has this name.
    ///
    /// # Errors
    ///
    /// No name of the file is there, or `name` would change the meaning of the program. The text
    /// says so.
    pub fn renamed(
        &self,
        offset: usize,
        name: &str,
        (params, files): (&ParamValues, &dyn CircuitFiles),
    ) -> Result<Places, String> {
        let root = self.root();
        let declared = self.definition(root, offset);
        let declared = declared.filter(|declared| declared.file == root);
        let declared = declared.ok_or("no name that this program declares is here")?;
        let places: Places = self
            .uses(declared)
            .iter()
            .map(|span| (span.start, span.end))
            .collect();
        let file = self.source_map().file(root);
        let text = with_name(&file.text, &places, name);
        let other = Self::new(&file.name, &text, &NoFiles);
        let place = place_with_name(&(declared.start..declared.end), &places, name);
        let moved = Span {
            file: other.root(),
            start: place.start,
            end: place.end,
        };
        let is_right = |program: &Self| program.check(params, files).is_empty();
        if other.uses(moved).len() != places.len() || (is_right(self) && !is_right(&other)) {
            return Err(format!(
                "{name:?} cannot be its name: the program would be another, or wrong"
            ));
        }
        Ok(places)
    }
}
