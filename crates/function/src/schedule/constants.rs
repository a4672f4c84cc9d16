//! Constants that calls and outputs read.

/// Constants of one width. Bit r of constant i is row r of instance i of the block.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    width: u32,
    count: u32,
    words: Vec<u64>,
}

impl Constants {
    pub(super) fn new(width: u32) -> Self {
        Self {
            width,
            ..Self::default()
        }
    }

    /// Returns the bits of each constant.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns the number of constants.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns bit `row` of the constant `instance`.
    ///
    /// # Panics
    ///
    /// If there is no such constant.
    pub fn bit(&self, row: u32, instance: u32) -> bool {
        let bit = u64::from(self.width) * u64::from(instance) + u64::from(row);
        self.words[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }

    /// Returns the number of the constant with these bits: the last one if it has them, or a new
    /// one. Returns `None` if there are already 2^32.
    pub(super) fn put(&mut self, bits: impl Iterator<Item = bool> + Clone) -> Option<u32> {
        if let Some(last) = self.count.checked_sub(1) {
            let mut rows = (0..).zip(bits.clone());
            if rows.all(|(row, bit)| self.bit(row, last) == bit) {
                return Some(last);
            }
        }
        let number = self.count;
        self.count = self.count.checked_add(1)?;
        let first = u64::from(self.width) * u64::from(number);
        for (at, bit) in (first..).zip(bits) {
            let word = (at / 64) as usize;
            if word == self.words.len() {
                self.words.push(0);
            }
            self.words[word] |= u64::from(bit) << (at % 64);
        }
        Some(number)
    }
}
