//! The keys that two parties' tables have in common.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyList, PyString, PyTuple};
use tacit::matching::{KeyNormalization, KeyPart, Match, MatchOutcome, MatchRecipient, Part};
use zeroize::Zeroizing;

use crate::error;
use crate::party::{part, seconds, threads};
use crate::session::{PhaseRow, phases};

/// The terms of a matching, as Python gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CommonTerms {
    to: String,
    normalize: String,
    most_keys: Option<i128>,
    threads: Option<i64>,
    timeout: Option<f64>,
    shard: Option<Py<PyAny>>,
    /// The number of rows with an id, of which some may be left out.
    rows: u64,
    pub(crate) progress: Option<Py<PyAny>>,
}

/// The result of a matching.
#[derive(IntoPyObject)]
pub(crate) struct Common {
    rows: Option<Vec<usize>>,
    peer_ids: u64,
    asked: bool,
    security: String,
    phases: Vec<PhaseRow>,
}

/// A part of a key.
enum OwnedPart {
    Text(Zeroizing<String>),
    Bytes(Zeroizing<Vec<u8>>),
    Integer(Zeroizing<i128>),
}

impl OwnedPart {
    fn lent(&self) -> KeyPart<'_> {
        match self {
            Self::Text(text) => KeyPart::Text(text),
            Self::Bytes(bytes) => KeyPart::Bytes(bytes),
            Self::Integer(integer) => KeyPart::Integer(**integer),
        }
    }
}

/// A matching, checked.
pub(crate) struct Ordered {
    pub(crate) order: Match,
    pub(crate) limit: Option<Duration>,
    /// The indices of the keys that are matched, if only one part of them is.
    pub(crate) taken: Option<Vec<usize>>,
}

/// Returns the matching of these keys, which are texts, bytes, integers, or tuples of these.
pub(crate) fn order(keys: &Bound<'_, PyList>, terms: &CommonTerms) -> PyResult<Ordered> {
    let py = keys.py();
    let said = |name: &str, error: String| error::usage(py, &format!("{name}: {error}"));
    let to: MatchRecipient = terms.to.parse().map_err(|error| said("to", error))?;
    let how = terms.normalize.parse();
    let how: KeyNormalization = how.map_err(|error| said("normalize", error))?;
    let threads = threads(py, terms.threads)?;
    let part = part(py, terms.shard.as_ref())?.filter(|part| !part.is_all());
    let limit = terms.timeout.map(|given| seconds(py, "timeout", given));
    let limit = limit.transpose()?;
    let parts = owned(keys, how)?;
    let taken = part.map(|part| -> Vec<usize> {
        let (number, _) = part.numbers();
        let of_rows = numbers(&parts, part, how).into_iter().enumerate();
        let taken = of_rows.filter(|(_, of_row)| *of_row == number);
        taken.map(|(row, _)| row).collect()
    });
    let order = match &taken {
        None => Match::of_parts(parts.iter().map(|key| lent(key))),
        Some(taken) => Match::of_parts(taken.iter().map(|row| lent(&parts[*row]))),
    };
    let mut order = order.map_err(|error| error::raise(py, error))?;
    if let Some(part) = part {
        let of_part = order.part(part, terms.rows);
        order = of_part.map_err(|error| error::raise(py, error))?;
    }
    let order = order
        .normalized(how)
        .to(to)
        .threads(threads)
        .time_limit(limit);
    let order = match terms.most_keys {
        Some(most) => {
            let most = u64::try_from(most);
            let most =
                most.map_err(|_| error::input(py, "most_keys is a number from 0 to 2^64"))?;
            order.most_peer_keys(most)
        }
        None => order,
    };
    Ok(Ordered {
        order,
        limit,
        taken,
    })
}

/// Returns ids in the form in which they are compared: their texts normalised. Leaves a text that
/// is none of Unicode as it is.
#[pyfunction]
pub(crate) fn normalized<'py>(ids: &Bound<'py, PyList>, how: &str) -> PyResult<Bound<'py, PyList>> {
    let py = ids.py();
    let how: KeyNormalization = match how.parse() {
        Ok(KeyNormalization::None) => return Ok(ids.clone()),
        Ok(how) => how,
        Err(error) => return Err(error::usage(py, &format!("normalize: {error}"))),
    };
    let normalized = |part: Bound<'py, PyAny>| match part.cast::<PyString>().map(|it| it.to_str()) {
        Ok(Ok(text)) => PyString::new(py, &how.apply(text)).into_any(),
        _ => part.clone(),
    };
    let ids = ids.iter().map(|id| match id.cast::<PyTuple>() {
        Ok(parts) => Ok(PyTuple::new(py, parts.iter().map(normalized))?.into_any()),
        Err(_) => Ok(normalized(id)),
    });
    PyList::new(py, ids.collect::<PyResult<Vec<_>>>()?)
}

/// Returns for each id in which of `of` parts it is, from 1. All ids have one type.
#[pyfunction]
pub(crate) fn shards(ids: &Bound<'_, PyList>, how: &str, of: u32) -> PyResult<Vec<u32>> {
    let py = ids.py();
    let how = how.parse();
    let how: KeyNormalization =
        how.map_err(|error: String| error::usage(py, &format!("normalize: {error}")))?;
    let part = Part::new(1, of).map_err(|error| error::usage(py, &error.to_string()))?;
    Ok(numbers(&owned(ids, how)?, part, how))
}

fn owned(keys: &Bound<'_, PyList>, how: KeyNormalization) -> PyResult<Vec<Vec<OwnedPart>>> {
    let keys = keys.iter().enumerate();
    let keys = keys.map(|(row, key)| key_of(&format!("ids[{row}]"), &key, how));
    keys.collect()
}

fn lent(key: &[OwnedPart]) -> Vec<KeyPart<'_>> {
    key.iter().map(OwnedPart::lent).collect()
}

/// Returns the number of the part in which each key is, of as many parts as `part` is of.
fn numbers(keys: &[Vec<OwnedPart>], part: Part, how: KeyNormalization) -> Vec<u32> {
    let kinds = keys.first().map(|key| lent(key)).unwrap_or_default();
    let cut = part.cut(kinds.iter().map(|kind| kind.kind(how)));
    let number = |key: &Vec<OwnedPart>| cut.number_of(KeyPart::encoded(&lent(key)).bytes());
    keys.iter().map(number).collect()
}

fn key_of(at: &str, key: &Bound<'_, PyAny>, how: KeyNormalization) -> PyResult<Vec<OwnedPart>> {
    match key.cast::<PyTuple>() {
        Ok(parts) => {
            let parts = parts.iter().enumerate();
            let parts = parts.map(|(number, part)| part_of(&format!("{at}[{number}]"), &part, how));
            parts.collect()
        }
        Err(_) => Ok(vec![part_of(at, key, how)?]),
    }
}

fn part_of(at: &str, part: &Bound<'_, PyAny>, how: KeyNormalization) -> PyResult<OwnedPart> {
    let py = part.py();
    let refused = |why: &str| Err(error::input(py, &format!("{at} {why}")));
    if let Ok(text) = part.cast::<PyString>() {
        let Ok(text) = text.to_str() else {
            return refused("has half of a surrogate pair, which is no character; leave it out");
        };
        let text = how.apply(text);
        return if text.trim().is_empty() {
            refused("is an empty text; fill it, or leave its row out")
        } else {
            Ok(OwnedPart::Text(text))
        };
    }
    if let Ok(bytes) = part.cast::<PyBytes>() {
        return Ok(OwnedPart::Bytes(Zeroizing::new(bytes.as_bytes().to_vec())));
    }
    if part.is_instance_of::<PyInt>() && !part.is_instance_of::<PyBool>() {
        return match part.extract::<i128>() {
            Ok(integer) => Ok(OwnedPart::Integer(Zeroizing::new(integer))),
            Err(_) => refused("is an integer of more than 128 bits; give texts"),
        };
    }
    let class = part.get_type().name()?;
    refused(&format!(
        "has the class {class}, and ids are texts, integers, bytes, or tuples of these; give \
         texts, \
         by str()"
    ))
}

impl Common {
    /// Returns the result of a matching of the keys with the indices `taken`, or of all.
    pub(crate) fn new(outcome: MatchOutcome, taken: Option<&[usize]>) -> Self {
        let row = |key| taken.map_or(key, |taken| taken[key]);
        let rows = |common: Vec<usize>| common.into_iter().map(row).collect();
        Self {
            rows: outcome.common.map(rows),
            peer_ids: outcome.peer_keys,
            asked: outcome.asked,
            security: outcome.threat_model.to_string(),
            phases: phases(&outcome.cost),
        }
    }
}
