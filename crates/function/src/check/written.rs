//! The granules that have a value.

use core::ops::Range;
use std::collections::BTreeMap;

/// A set of granules: a flag for each of the first ones, and intervals of the ones in runs.
pub(super) struct Written {
    each: Vec<bool>,
    /// The end of each interval, by its first granule. No two intervals touch.
    intervals: BTreeMap<usize, usize>,
}

impl Written {
    /// Creates an empty set, with a flag for each of this many granules.
    pub(super) fn new(each: usize) -> Self {
        Self {
            each: vec![false; each],
            intervals: BTreeMap::new(),
        }
    }

    /// Returns the first of an array's granules that is not in the set.
    pub(super) fn first_without(&self, granules: &Range<usize>) -> Option<usize> {
        if let Some(each) = self.each.get(granules.clone()) {
            let at = each.iter().position(|written| !written);
            return at.map(|at| granules.start + at);
        }
        let end = self.end_of_interval(granules.start);
        Some(end.unwrap_or(granules.start)).filter(|first| *first < granules.end)
    }

    /// Returns the first of an array's granules that is in the set.
    pub(super) fn first_with(&self, granules: &Range<usize>) -> Option<usize> {
        if let Some(each) = self.each.get(granules.clone()) {
            let at = each.iter().position(|written| *written);
            return at.map(|at| granules.start + at);
        }
        if self.end_of_interval(granules.start).is_some() {
            return Some(granules.start);
        }
        let mut intervals = self.intervals.range(granules.clone());
        intervals.next().map(|(first, _)| *first)
    }

    /// Adds an array's granules. Those in runs must not be in the set.
    pub(super) fn add(&mut self, granules: Range<usize>) {
        if let Some(each) = self.each.get_mut(granules.clone()) {
            each.fill(true);
            return;
        }
        let Range { start, end } = granules;
        let end = self.intervals.remove(&end).unwrap_or(end);
        match self.intervals.range_mut(..start).next_back() {
            Some((_, before)) if *before == start => *before = end,
            _ => drop(self.intervals.insert(start, end)),
        }
    }

    fn end_of_interval(&self, granule: usize) -> Option<usize> {
        let (_, end) = self.intervals.range(..=granule).next_back()?;
        (*end > granule).then_some(*end)
    }
}
