//! The session's OTs, lent to runs.

use std::num::NonZeroUsize;

use tacit_protocol::setup::{EvaluatorOt, GarblerOt};

use crate::Error;
use crate::session::Session;

const NOT_SET_UP: Error = Error::ApiMisuse("set up before running");

impl Session {
    /// Makes OTs on this many threads from now on.
    pub(crate) fn work_on(&mut self, threads: NonZeroUsize) {
        self.transfers.settings.threads = threads;
    }

    /// Takes the garbler's OTs for a run, which gives them back if it succeeds.
    pub(crate) fn take_garbler_ot(&mut self) -> Result<GarblerOt, Error> {
        let mut ot = self.transfers.garbler.take().ok_or(NOT_SET_UP)?;
        ot.set_threads(self.transfers.settings.threads);
        Ok(ot)
    }

    /// Takes the evaluator's OTs for a run, which gives them back if it succeeds.
    pub(crate) fn take_evaluator_ot(&mut self) -> Result<EvaluatorOt, Error> {
        let mut ot = self.transfers.evaluator.take().ok_or(NOT_SET_UP)?;
        ot.set_threads(self.transfers.settings.threads);
        Ok(ot)
    }

    /// Keeps the garbler's OTs for the next run.
    pub(crate) fn keep_garbler_ot(&mut self, ot: GarblerOt) {
        self.transfers.garbler = Some(ot);
    }

    /// Keeps the evaluator's OTs for the next run.
    pub(crate) fn keep_evaluator_ot(&mut self, ot: EvaluatorOt) {
        self.transfers.evaluator = Some(ot);
    }
}
