//! Growth of secret memory that leaves no copy behind.

use zeroize::{Zeroize, Zeroizing};

/// Makes room for `more` further values. If the memory has to grow, it grows by half at least, and
/// the old memory is wiped: a vector that grows by itself would leave a copy behind.
pub fn reserve_wiping<T: Zeroize + Clone>(values: &mut Zeroizing<Vec<T>>, more: usize) {
    let needed = values.len() + more;
    if needed > values.capacity() {
        let room = needed.max(values.capacity() + values.capacity() / 2);
        let mut larger = Zeroizing::new(Vec::with_capacity(room));
        larger.extend_from_slice(values);
        *values = larger;
    }
}

/// Texts one after another, wiped on drop.
#[derive(Clone, Default)]
pub struct WipedTexts {
    bytes: Zeroizing<Vec<u8>>,
    ends: Vec<usize>,
}

impl WipedTexts {
    /// Adds a text.
    pub fn push(&mut self, text: &[u8]) {
        reserve_wiping(&mut self.bytes, text.len());
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
    }

    /// Makes room for `texts` more texts of `bytes` bytes in all.
    pub fn reserve(&mut self, texts: usize, bytes: usize) {
        reserve_wiping(&mut self.bytes, bytes);
        self.ends.reserve(texts);
    }

    /// Adds all texts of another collection, in order.
    pub fn append(&mut self, others: &Self) {
        let before = self.bytes.len();
        reserve_wiping(&mut self.bytes, others.bytes.len());
        self.bytes.extend_from_slice(&others.bytes);
        self.ends.extend(others.ends.iter().map(|end| before + end));
    }

    /// Removes the texts behind the first `texts`. Their bytes stay in the memory until others
    /// overwrite them, or until it is wiped.
    pub fn truncate(&mut self, texts: usize) {
        self.ends.truncate(texts);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// Returns a text by its number from 0.
    ///
    /// # Panics
    ///
    /// If there are not that many.
    #[must_use]
    pub fn get(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }

    /// Returns the number of texts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no texts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the number of bytes of all texts.
    #[must_use]
    pub fn byte_count(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_grow() {
        let mut texts = WipedTexts::default();
        assert!(texts.is_empty());
        for number in 0..100 {
            texts.push(number.to_string().as_bytes());
        }
        assert_eq!(texts.len(), 100);
        texts.push(b"removed");
        texts.truncate(100);
        texts.truncate(101);
        let mut twice = texts.clone();
        twice.append(&texts);
        assert_eq!((twice.len(), twice.byte_count()), (200, 2 * 190));
        for number in 0..100 {
            let text = number.to_string();
            for texts in [
                texts.get(number),
                twice.get(number),
                twice.get(100 + number),
            ] {
                assert_eq!(texts, text.as_bytes());
            }
        }
    }
}
