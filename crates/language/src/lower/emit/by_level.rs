//! Gates and calls by level.

/// Gates or calls, sorted by level and in their order within each level.
pub(super) struct ByLevel {
    numbers: Vec<u32>,
    /// The start of each level in `numbers`, followed by the end of the last level.
    starts: Vec<usize>,
}

impl ByLevel {
    /// Sorts those that are `kept`. `levels` holds their levels, up to `last`.
    pub(super) fn new(last: u32, levels: &[u32], kept: impl Fn(usize) -> bool) -> Self {
        let kept = || (0..levels.len()).filter(|number| kept(*number));
        let mut starts = vec![0; last as usize + 2];
        kept().for_each(|number| starts[levels[number] as usize + 1] += 1);
        for level in 0..=last as usize {
            starts[level + 1] += starts[level];
        }
        let mut next = starts.clone();
        let mut numbers = vec![0; starts[last as usize + 1]];
        for number in kept() {
            let place = &mut next[levels[number] as usize];
            numbers[*place] = number as u32;
            *place += 1;
        }
        Self { numbers, starts }
    }

    pub(super) fn at(&self, level: usize) -> &[u32] {
        &self.numbers[self.starts[level]..self.starts[level + 1]]
    }
}
