//! Checks public circuit files against known answers and gives their digests.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Circuit, CircuitError, Digest, Statistics};

use super::known::{Case, known};
use super::{BitOrder, Import, Limits, read_bristol_file};

/// What a check says of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// It computes all known answers.
    Correct {
        /// How many there are.
        cases: usize,
    },
    /// It computes something else.
    Wrong {
        /// The number of the first known answer that it misses, from 0.
        case: usize,
    },
    /// Its ports are not those of the known file of this name.
    OtherPorts(CircuitError),
    /// It is a valid circuit; no answer is known for its name.
    NoKnownAnswer,
    /// It is not a valid circuit.
    Unreadable(CircuitError),
}

/// A file and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReport {
    /// The file.
    pub path: PathBuf,
    /// What was found.
    pub finding: Finding,
    /// The bit order under which it was read: the known one, or the default.
    pub order: BitOrder,
    /// The circuit's digest and statistics as read under that order.
    pub circuit: Option<(Digest, Statistics)>,
}

impl FileReport {
    /// Whether nothing is wrong with the file.
    #[must_use]
    pub fn is_good(&self) -> bool {
        matches!(
            self.finding,
            Finding::Correct { .. } | Finding::NoKnownAnswer
        )
    }
}

/// Checks every file of a directory whose name ends in `.txt` or `.bristol`, in upper or lower
/// case, by name; see
/// [`check_file`]. Directories within it are left out.
///
/// # Errors
///
/// [`CircuitError::Io`] if the directory cannot be listed. What is wrong with a file is in its
/// report.
pub fn check_directory(directory: &Path, limits: &Limits) -> Result<Vec<FileReport>, CircuitError> {
    let io = |error: std::io::Error| CircuitError::Io {
        path: directory.display().to_string(),
        message: error.to_string(),
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let is_circuit = path.extension().is_some_and(|end| {
            ["txt", "bristol"]
                .iter()
                .any(|known| end.eq_ignore_ascii_case(known))
        });
        if is_circuit && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths.iter().map(|path| check_file(path, limits)).collect())
}

/// Checks a Bristol file against the answers known for its name: the ciphers, hashes and
/// arithmetic of the Bristol Fashion page (`aes_128.txt`, `sha256.txt`, `adder64.txt`, …) and of
/// the page of the old format (`AES-non-expanded.txt`, `sha-256.txt`, `adder_32bit.txt`, …).
/// Upper and lower case are one, and either format is taken under every name.
#[must_use]
pub fn check_file(path: &Path, limits: &Limits) -> FileReport {
    let name = path
        .file_stem()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let known = known(&name.to_ascii_lowercase());
    let order = known
        .as_ref()
        .map_or(BitOrder::default(), |known| known.order);
    let report = |finding, circuit| FileReport {
        path: path.to_owned(),
        finding,
        order,
        circuit,
    };
    let import = Import {
        format: None,
        order,
        limits: *limits,
    };
    let circuit = match read_bristol_file(path, &import) {
        Ok(circuit) => circuit,
        Err(error) => return report(Finding::Unreadable(error), None),
    };
    let finding = known.map_or(Finding::NoKnownAnswer, |known| {
        check(&circuit, &known.cases)
    });
    report(finding, Some((circuit.digest(), circuit.statistics())))
}

fn check(circuit: &Circuit, cases: &[Case]) -> Finding {
    for (number, case) in cases.iter().enumerate() {
        match computes(circuit, case) {
            Ok(true) => {}
            Ok(false) => return Finding::Wrong { case: number },
            Err(error) => return Finding::OtherPorts(error),
        }
    }
    Finding::Correct { cases: cases.len() }
}

fn computes(circuit: &Circuit, case: &Case) -> Result<bool, CircuitError> {
    let outputs = circuit.evaluate_values(&case.inputs)?;
    if outputs.len() != case.outputs.len() {
        let (expected, found) = (outputs.len(), case.outputs.len());
        return Err(CircuitError::ValueCount { expected, found });
    }
    let mut is_right = true;
    for (port, (expected, found)) in circuit
        .outputs()
        .iter()
        .zip(case.outputs.iter().zip(outputs))
    {
        is_right &= port.convert_value(expected)? == found;
    }
    Ok(is_right)
}

#[cfg(test)]
mod tests;
