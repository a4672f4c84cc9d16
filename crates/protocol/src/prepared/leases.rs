//! The agreement on the prepared material of a run: the evaluator names what it has leased, and the
//! garbler leases the same or says what is spent.
//!
//! The kinds of material have an order that both parties know: OTs, then the function's components.
//! Numbers are little-endian in both messages. The evaluator may also name material for later runs
//! of the session. A run for which enough was named needs no such messages.
//!
//! From the evaluator (`leases`):
//!
//! | byte | field |
//! |---|---|
//! | 0 | 0: named, 1: short |
//! | 1.. | named: for each kind the number of its spans (4), and of each span the first number (8) and the count (8); short: the number of runs to prepare for (1) |
//!
//! From the garbler (`leases, answered`), to `named`:
//!
//! | byte | field |
//! |---|---|
//! | 0 | 0: followed, 1: behind |
//! | 1.. | followed: nothing; behind: for each kind the number below which all material is spent (8) |

use core::ops::RangeInclusive;

use tacit_circuit::Span;

use crate::message::Kind;
use crate::{Error, Misbehaviour};

/// The largest number of spans of a kind in a message.
pub const MAX_SPANS: usize = 1024;

/// The largest number of runs after the next one for which leases are named.
pub const MAX_RUNS_AHEAD: u64 = 64;

/// The largest number of runs for which material is prepared on demand, including the run that
/// lacks it. If other sessions take some of it meanwhile, more is prepared for that one run only.
pub const MAX_RUNS_ON_THE_SPOT: u8 = 8;

/// The material that the evaluator has for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leases {
    /// The numbers that it has leased of each kind, for this run and later ones.
    Named(Vec<Vec<Span>>),
    /// It has too little material: the run's needs are to be prepared now.
    Short {
        /// The number of runs to prepare for, including this one: at most [`MAX_RUNS_ON_THE_SPOT`].
        runs: u8,
    },
}

/// The garbler's answer to the leases that the evaluator named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeasesAnswer {
    /// The garbler has leased the same.
    Followed,
    /// Some are spent on the garbler's side: for each kind, the number to continue from.
    Behind(Vec<u64>),
}

impl Leases {
    /// Returns the largest size of a message about `kinds` kinds.
    pub fn max_bytes(kinds: usize) -> usize {
        2 + kinds * (4 + 16 * MAX_SPANS)
    }

    /// Writes the message.
    ///
    /// # Errors
    ///
    /// A kind has more than [`MAX_SPANS`] spans.
    pub fn write(&self, message: &mut Vec<u8>) -> Result<(), Error> {
        message.clear();
        match self {
            Self::Named(kinds) => {
                message.push(0);
                for spans in kinds {
                    if spans.len() > MAX_SPANS {
                        return Err(Error::ApiMisuse("a run takes at most 1024 spans of a kind"));
                    }
                    message.extend_from_slice(&(spans.len() as u32).to_le_bytes());
                    for span in spans {
                        message.extend_from_slice(&span.first.to_le_bytes());
                        message.extend_from_slice(&span.count.to_le_bytes());
                    }
                }
            }
            Self::Short { runs } => message.extend_from_slice(&[1, *runs]),
        }
        Ok(())
    }

    /// Reads the message. `counts` are the allowed numbers of named instances of each kind, and
    /// `most_runs` is the largest number of runs to prepare for.
    ///
    /// # Errors
    ///
    /// The message is malformed, or exceeds these bounds.
    pub fn parse(
        payload: &[u8],
        counts: &[RangeInclusive<u64>],
        most_runs: u8,
    ) -> Result<Self, Error> {
        let mut fields = Fields(Kind::Leases, payload);
        let leases = match fields.byte()? {
            0 => {
                let kinds = counts.iter().map(|counts| fields.spans(counts));
                Self::Named(kinds.collect::<Result<_, _>>()?)
            }
            1 => {
                let runs = fields.byte()?;
                if !(1..=most_runs).contains(&runs) {
                    return Err(fields.invalid("number of runs"));
                }
                Self::Short { runs }
            }
            _ => return Err(fields.invalid("tag")),
        };
        fields.end()?;
        Ok(leases)
    }
}

impl LeasesAnswer {
    /// Returns the largest size of a message about `kinds` kinds.
    pub fn max_bytes(kinds: usize) -> usize {
        1 + 8 * kinds
    }

    /// Writes the message.
    pub fn write(&self, message: &mut Vec<u8>) {
        message.clear();
        match self {
            Self::Followed => message.push(0),
            Self::Behind(marks) => {
                message.push(1);
                message.extend(marks.iter().flat_map(|mark| mark.to_le_bytes()));
            }
        }
    }

    /// Reads the message about `kinds` kinds.
    ///
    /// # Errors
    ///
    /// The message is malformed.
    pub fn parse(payload: &[u8], kinds: usize) -> Result<Self, Error> {
        let mut fields = Fields(Kind::LeasesAnswered, payload);
        let answer = match fields.byte()? {
            0 => Self::Followed,
            1 => Self::Behind(
                (0..kinds)
                    .map(|_| fields.number())
                    .collect::<Result<_, _>>()?,
            ),
            _ => return Err(fields.invalid("tag")),
        };
        fields.end()?;
        Ok(answer)
    }
}

/// The rest of a message.
struct Fields<'a>(Kind, &'a [u8]);

impl Fields<'_> {
    fn invalid(&self, field: &'static str) -> Error {
        Misbehaviour::invalid(self.0, field).into()
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (field, rest) = self
            .1
            .split_first_chunk()
            .ok_or_else(|| self.invalid("length"))?;
        self.1 = rest;
        Ok(*field)
    }

    fn byte(&mut self) -> Result<u8, Error> {
        self.array().map(|[byte]| byte)
    }

    fn number(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads spans in order, which must have an allowed number of instances in all.
    fn spans(&mut self, counts: &RangeInclusive<u64>) -> Result<Vec<Span>, Error> {
        let count = self.array().map(u32::from_le_bytes)? as usize;
        if count > MAX_SPANS {
            return Err(self.invalid("number of spans"));
        }
        let (mut spans, mut next, mut named) = (Vec::with_capacity(count), 0_u64, 0_u64);
        for _ in 0..count {
            let (first, count) = (self.number()?, self.number()?);
            let end = first.checked_add(count);
            match end {
                Some(end) if first >= next && count > 0 => next = end,
                _ => return Err(self.invalid("span")),
            }
            named = named.saturating_add(count);
            spans.push(Span { first, count });
        }
        if !counts.contains(&named) {
            return Err(self.invalid("number of instances"));
        }
        Ok(spans)
    }

    fn end(&self) -> Result<(), Error> {
        match self.1 {
            [] => Ok(()),
            _ => Err(self.invalid("length")),
        }
    }
}
