//! Known answers and frozen transcripts: files of lines `name: value`, with `#` for comments.

use std::collections::BTreeMap;
use std::path::Path;

/// A file of `vectors/`: one case.
pub struct Vector {
    file: String,
    fields: BTreeMap<String, String>,
}

impl Vector {
    /// Reads `vectors/<file>` of this repository.
    ///
    /// # Panics
    ///
    /// If there is no such file, a line is not `name: value`, or a name occurs twice.
    pub fn read(file: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../vectors")
            .join(file);
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("vectors/{file} cannot be read: {error}"));
        let mut fields = BTreeMap::new();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, value) = line
                .split_once(": ")
                .unwrap_or_else(|| panic!("vectors/{file}: `{line}` is not `name: value`"));
            let before = fields.insert(name.to_owned(), value.trim().to_owned());
            assert!(before.is_none(), "vectors/{file} has `{name}` twice");
        }
        Self {
            file: file.to_owned(),
            fields,
        }
    }

    /// Returns the field's text.
    ///
    /// # Panics
    ///
    /// If there is no such field.
    pub fn text(&self, name: &str) -> &str {
        self.fields
            .get(name)
            .unwrap_or_else(|| panic!("vectors/{} has no field `{name}`", self.file))
    }

    /// Returns the field as a decimal number.
    ///
    /// # Panics
    ///
    /// If it is no number.
    pub fn number(&self, name: &str) -> u64 {
        let text = self.text(name);
        text.parse()
            .unwrap_or_else(|_| panic!("vectors/{}: `{name}` is no number: {text}", self.file))
    }

    /// Returns the field as bytes, from hex.
    ///
    /// # Panics
    ///
    /// If it is not hex, or not `N` bytes.
    pub fn bytes<const N: usize>(&self, name: &str) -> [u8; N] {
        let text = self.text(name);
        let digit = |digit: u8| (digit as char).to_digit(16).map(|digit| digit as u8);
        let byte = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks_exact(2).map(byte).collect();
        bytes
            .filter(|_| text.len() == 2 * N)
            .and_then(|bytes| bytes.try_into().ok())
            .unwrap_or_else(|| panic!("vectors/{}: `{name}` is not {N} bytes of hex", self.file))
    }

    /// Checks that the field's text is `found`.
    ///
    /// # Panics
    ///
    /// If it is not.
    pub fn assert_text(&self, name: &str, found: &str) {
        assert_eq!(self.text(name), found, "`{name}` of vectors/{}", self.file);
    }
}

/// Returns bytes in hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_differs_fails() {
        let vector = Vector {
            file: "x".to_owned(),
            fields: [("a".into(), "0f".into())].into(),
        };
        assert_eq!(vector.bytes("a"), [15]);
        vector.assert_text("a", &hex(&[15]));
        let fails = std::panic::catch_unwind(|| vector.assert_text("a", "0e"));
        assert!(fails.is_err());
        assert!(std::panic::catch_unwind(|| vector.bytes::<2>("a")).is_err());
        assert!(std::panic::catch_unwind(|| vector.text("b").len()).is_err());
    }
}
