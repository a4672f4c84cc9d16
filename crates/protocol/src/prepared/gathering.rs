//! The evaluator before its inputs matter: it gathers the links that do not depend on them.

use tacit_function::Function;
use tacit_garble::Scheme;
use tacit_kernels::Block;

use super::{Demand, FRAME_BYTES};
use crate::bits::read_blocks;
use crate::message::{Kind, exactly};
use crate::party::{Action, NOT_ASKED, NOT_DONE, Party, SPENT};
use crate::{Error, Misbehaviour};

/// The garbler's first two messages, while they arrive.
pub struct Gathering {
    demand: Demand,
    link_bytes: usize,
    max_frame_bytes: usize,
    /// Bytes of the links of saved values that are still to come.
    saved_due: usize,
    saved: Vec<u8>,
    due: usize,
    bytes: Vec<u8>,
    start: Option<[Block; 2]>,
    spent: bool,
}

/// All links that no input of the evaluator decides, masked.
pub struct EarlyLinks {
    pub(super) start: Block,
    pub(super) label_seed: Block,
    /// Of saved values.
    pub(super) saved: Vec<u8>,
    /// Of all other values.
    pub(super) bytes: Vec<u8>,
    pub(super) demand: Demand,
}

impl Gathering {
    /// Of a run of `function` under `scheme`.
    ///
    /// # Errors
    ///
    /// The function needs too many links.
    pub fn new<S: Scheme>(scheme: S, function: &Function) -> Result<Self, Error> {
        let demand = Demand::of(function)?;
        let components = function.components().iter();
        let widest = components.map(|component| component.circuit().input_bits());
        let max_frame_bytes = FRAME_BYTES + scheme.link_bytes() * widest.max().unwrap_or(0);
        let due = demand.early_bytes(scheme.link_bytes())?;
        demand.late_bytes(scheme.link_bytes())?;
        Ok(Self {
            saved_due: demand.saved_bytes(),
            saved: Vec::new(),
            demand,
            link_bytes: scheme.link_bytes(),
            max_frame_bytes,
            due,
            bytes: Vec::new(),
            start: None,
            spent: false,
        })
    }

    /// What was gathered.
    ///
    /// # Errors
    ///
    /// Something is still to come.
    pub fn finish(self) -> Result<EarlyLinks, Error> {
        match self.start {
            Some([start, label_seed]) if self.saved_due + self.due == 0 && !self.spent => {
                Ok(EarlyLinks {
                    start,
                    label_seed,
                    saved: self.saved,
                    bytes: self.bytes,
                    demand: self.demand,
                })
            }
            _ => Err(NOT_DONE),
        }
    }

    fn take(&mut self, payload: &[u8]) -> Result<(), Error> {
        if self.start.is_none() {
            self.start = Some(read_blocks(Kind::GarblingStart, payload)?);
            return Ok(());
        }
        if self.saved_due > 0 {
            let expected = self.saved_due.min(FRAME_BYTES);
            exactly(Kind::SavedLinks, payload, expected)?;
            self.saved.extend_from_slice(payload);
            self.saved_due -= expected;
            return Ok(());
        }
        // A frame ends with a call, so that no link is cut.
        let whole = payload.len().is_multiple_of(self.link_bytes);
        if payload.is_empty() || payload.len() > self.due || !whole {
            return Err(match self.due {
                0 => NOT_ASKED,
                due => Misbehaviour::WrongLength {
                    kind: Kind::Links,
                    expected: due as u64,
                    found: payload.len() as u64,
                }
                .into(),
            });
        }
        self.bytes.extend_from_slice(payload);
        self.due -= payload.len();
        Ok(())
    }
}

impl Party for Gathering {
    fn next(&mut self, _message: &mut Vec<u8>) -> Result<Action, Error> {
        if self.spent {
            return Err(SPENT);
        }
        let (kind, max_bytes) = match (self.start, self.saved_due, self.due) {
            (None, ..) => (Kind::GarblingStart, 2 * Block::BYTES),
            (Some(_), 0, 0) => return Ok(Action::Done),
            (Some(_), saved @ 1.., _) => (Kind::SavedLinks, saved.min(FRAME_BYTES)),
            (Some(_), 0, due) => (Kind::Links, due.min(self.max_frame_bytes)),
        };
        Ok(Action::receive(kind, max_bytes))
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        if self.spent {
            return Err(SPENT);
        }
        let taken = self.take(payload);
        self.spent = taken.is_err();
        taken
    }
}
