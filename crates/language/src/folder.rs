//! The folder of a program, which contains the files that the program names.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use tacit_circuit::Circuit;
use tacit_circuit::formats::{Import, read_bristol_file};

use crate::lower::CircuitFiles;
use crate::program::BitOrder;
use crate::{SourceMap, Sources};

/// The folder that contains a program's file. A program can read files only from this folder and
/// below.
#[derive(Clone)]
pub struct ProgramFolder(PathBuf);

impl ProgramFolder {
    /// Creates a program folder. An empty path means the working folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// Returns the folder of the program in the file `program`.
    pub fn of(program: &Path) -> Self {
        Self::new(program.parent().unwrap_or(Path::new("")))
    }

    /// Returns the path of a file that the program names. After all links are followed, it must be
    /// in the folder or below. A program from somebody else can thus read no other file, nor a
    /// pipe, on which it would block.
    fn path_of(&self, name: &str) -> Result<PathBuf, String> {
        let mut parts = Path::new(name).components();
        // `./and.txt` is also in the folder.
        if !parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err("a file that a program names is in its folder or below".to_owned());
        }
        let canonical = |path: &Path| fs::canonicalize(path).map_err(|error| error.to_string());
        // The folder of `program.tacit` has an empty name.
        let folder = canonical(&Path::new(".").join(&self.0))?;
        let file = canonical(&self.0.join(name))?;
        match file.starts_with(folder) {
            true if file.is_file() => Ok(file),
            true => Err("it is not a file".to_owned()),
            false => Err("it is a link out of the program's folder; copy the file".to_owned()),
        }
    }
}

impl Sources for ProgramFolder {
    fn read(&self, name: &str) -> Result<String, String> {
        read_source(&self.path_of(name)?).map_err(|error| error.to_string())
    }
}

impl CircuitFiles for ProgramFolder {
    fn circuit(&self, path: &str, order: BitOrder) -> Result<Circuit, String> {
        let path = self.path_of(path)?;
        let import = Import {
            order: order.of_file(),
            ..Import::default()
        };
        read_bristol_file(&path, &import).map_err(|error| error.to_string())
    }
}

/// The byte order mark.
const MARK: char = '\u{feff}';

/// Reads the text of a program's file, without the byte order mark that some editors write at its
/// start. Reads a few bytes more than the limit for programs.
///
/// # Errors
///
/// The file cannot be read, or is not UTF-8.
pub fn read_source(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let most = (SourceMap::MAX_BYTES + MARK.len_utf8()) as u64 + 1;
    let read = File::open(path)?.take(most).read_to_string(&mut text);
    match read {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(io::Error::new(error.kind(), "it is not text in UTF-8"))
        }
        read => read.map(|_| match text.strip_prefix(MARK) {
            Some(marked) => marked.to_owned(),
            None => text,
        }),
    }
}
