//! Known answers: `name: value` lines, one case per file.

use std::fs;
use std::path::Path;

pub(crate) struct Vector {
    name: String,
    text: String,
}

impl Vector {
    pub(crate) fn load(name: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
        let text = fs::read_to_string(root.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let name = name.to_owned();
        Self { name, text }
    }

    /// Compares the field `field` with `found`.
    pub(crate) fn check(&self, field: &str, found: &[u8]) {
        let fields = self.text.lines().filter_map(|line| line.split_once(": "));
        let expected = fields
            .into_iter()
            .find(|(name, _)| *name == field)
            .map(|(_, value)| value);
        let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            expected,
            Some(found.as_str()),
            "{field} of vectors/{}",
            self.name
        );
    }
}
