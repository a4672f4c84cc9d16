//! Wires as the text of values in steps.

use std::fmt::Write as _;

use super::{Emitter, Location};

/// Most pieces that a step puts together, which bounds its text.
const MAX_PIECES: usize = 40;

impl Emitter<'_, '_> {
    /// Wires in a row as the text of a value. Where they are in many places, steps bring them
    /// together first.
    pub(super) fn joined(&mut self, locations: &[Location]) -> String {
        self.joined_of(locations, MAX_PIECES)
    }

    /// The same for a place whose bits mean a number: it takes bits that stand in a row.
    pub(super) fn in_a_row(&mut self, locations: &[Location]) -> String {
        match locations.first() {
            Some(Location::Constant(_)) => self.joined_of(locations, 0),
            _ => self.joined_of(locations, 1),
        }
    }

    fn joined_of(&mut self, locations: &[Location], most: usize) -> String {
        let mut pieces = self.pieces(locations);
        if pieces.len() > most {
            let start = self.size;
            self.size += locations.len();
            let mut at = start;
            for chunk in pieces.chunks(MAX_PIECES) {
                let width: usize = chunk.iter().map(|(_, width)| width).sum();
                let texts: Vec<&str> = chunk.iter().map(|(text, _)| text.as_str()).collect();
                let step = format!("{}[{at}..{}]={}", self.value, at + width, texts.join("++"));
                self.builder.step(&step);
                at += width;
            }
            pieces = vec![(format!("{}[{start}..{at}]", self.value), at - start)];
        }
        let texts: Vec<&str> = pieces.iter().map(|(text, _)| text.as_str()).collect();
        texts.join("++")
    }

    /// Runs of wires that stand in a row, and constants, each with its width.
    fn pieces(&self, locations: &[Location]) -> Vec<(String, usize)> {
        let mut pieces = Vec::new();
        let mut rest = locations;
        while let Some(first) = rest.first() {
            let length = match *first {
                Location::At(start) => {
                    let follows =
                        |(k, location): &(usize, &Location)| **location == Location::At(start + k);
                    rest.iter().enumerate().take_while(follows).count()
                }
                Location::Constant(_) => {
                    let is_constant =
                        |location: &&Location| matches!(location, Location::Constant(_));
                    rest.iter().take(32).take_while(is_constant).count()
                }
            };
            let (run, after) = rest.split_at(length);
            rest = after;
            let mut text = String::new();
            match *first {
                Location::At(start) => {
                    let _ = write!(text, "{}[{start}..{}]", self.value, start + length);
                }
                Location::Constant(_) => {
                    let bits = run.iter().enumerate();
                    let number = bits.fold(0_u64, |sum, (place, location)| {
                        let is_one = *location == Location::Constant(true);
                        sum | u64::from(is_one) << place
                    });
                    let _ = write!(text, "{number}:u{length}");
                }
            }
            pieces.push((text, length));
        }
        pieces
    }
}
