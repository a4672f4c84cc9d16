//! Files of frozen vectors. They consist of lines `field: content`, and of lines with `#` that
//! explain them.

use std::fs;
use std::path::Path;

use tacit_circuit::Port;

pub(crate) struct Vector {
    /// The name of the file, without its extension.
    pub(crate) name: String,
    lines: Vec<(String, String)>,
}

impl Vector {
    pub(crate) fn all(&self, field: &str) -> Vec<&str> {
        let of_field = self.lines.iter().filter(|(name, _)| name == field);
        of_field.map(|(_, content)| content.as_str()).collect()
    }

    pub(crate) fn one(&self, field: &str) -> &str {
        let contents = self.all(field);
        assert_eq!(contents.len(), 1, "{}: lines of {field}", self.name);
        contents[0]
    }

    pub(crate) fn ports(&self, field: &str) -> Vec<Port> {
        let port = |text: &str| {
            let (name, ty) = text.split_once(' ').expect("a name and a type");
            Port::new(name, ty.parse().expect("a type"))
        };
        self.all(field).into_iter().map(port).collect()
    }
}

/// Returns the vectors whose names start with `prefix`. There must be at least `least`.
pub(crate) fn vectors(prefix: &str, least: usize) -> Vec<Vector> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    let mut vectors = Vec::new();
    for entry in fs::read_dir(directory).expect("the directory of vectors") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a name in UTF-8");
        let Some(name) = name
            .strip_suffix(".txt")
            .filter(|name| name.starts_with(prefix))
        else {
            continue;
        };
        let text = fs::read_to_string(entry.path()).expect("a vector");
        let content = text.lines().filter(|line| !line.starts_with('#'));
        let split = |line: &str| {
            let (field, content) = line.split_once(':').expect("a field and its content");
            (field.to_owned(), content.trim().to_owned())
        };
        vectors.push(Vector {
            name: name.to_owned(),
            lines: content.map(split).collect(),
        });
    }
    assert!(
        vectors.len() >= least,
        "vectors named {prefix}: {}",
        vectors.len()
    );
    vectors
}
