//! Lots of correlated OTs: made for random choices of the evaluator, under the Δ of the stock.

use tacit_kernels::Block;
use zeroize::Zeroizing;

use crate::Error;
use crate::direct::EXTENSION_OTS;
use crate::message::Kind;
use crate::party::{Action, NOT_ASKED, NOT_DONE, Party, SPENT};
use crate::setup::{EvaluatorOt, GarblerOt};

/// The garbler's side of a lot of OTs.
pub struct OfferingOts<'a> {
    ot: &'a mut GarblerOt,
    q: Zeroizing<Vec<Block>>,
    done: usize,
    spent: bool,
}

impl<'a> OfferingOts<'a> {
    /// A lot of `count` OTs from those of a setup.
    #[must_use]
    pub fn new(ot: &'a mut GarblerOt, count: usize) -> Self {
        Self {
            ot,
            q: Zeroizing::new(vec![Block::ZERO; count]),
            done: 0,
            spent: false,
        }
    }

    /// The garbler's half: q of each.
    ///
    /// # Errors
    ///
    /// The lot is not done.
    pub fn finish(self) -> Result<Zeroizing<Vec<Block>>, Error> {
        if self.spent || self.done < self.q.len() {
            return Err(NOT_DONE);
        }
        Ok(self.q)
    }

    fn now(&self) -> usize {
        EXTENSION_OTS.min(self.q.len() - self.done)
    }
}

impl Party for OfferingOts<'_> {
    fn next(&mut self, _message: &mut Vec<u8>) -> Result<Action, Error> {
        if self.spent {
            return Err(SPENT);
        }
        Ok(match self.now() {
            0 => Action::Done,
            count => Action::receive(Kind::CotExtension, self.ot.extension_bytes(count)),
        })
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        if self.spent {
            return Err(SPENT);
        }
        let count = self.now();
        if count == 0 {
            return Err(NOT_ASKED);
        }
        let these = &mut self.q[self.done..self.done + count];
        let made = self.ot.extend(these, payload);
        self.spent = made.is_err();
        self.done += count;
        made
    }
}

/// The evaluator's side of a lot of OTs.
pub struct ChoosingOts<'a> {
    ot: &'a mut EvaluatorOt,
    choices: Zeroizing<Vec<bool>>,
    labels: Zeroizing<Vec<Block>>,
    done: usize,
}

impl<'a> ChoosingOts<'a> {
    /// A lot with these choices, which are random, from the OTs of a setup.
    #[must_use]
    pub fn new(ot: &'a mut EvaluatorOt, choices: Zeroizing<Vec<bool>>) -> Self {
        let labels = Zeroizing::new(vec![Block::ZERO; choices.len()]);
        Self {
            ot,
            choices,
            labels,
            done: 0,
        }
    }

    /// The evaluator's half apart from its choices: the label t = q ⊕ bΔ of each.
    ///
    /// # Errors
    ///
    /// The lot is not done.
    pub fn finish(self) -> Result<Zeroizing<Vec<Block>>, Error> {
        if self.done < self.choices.len() {
            return Err(NOT_DONE);
        }
        Ok(self.labels)
    }
}

impl Party for ChoosingOts<'_> {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action, Error> {
        let count = EXTENSION_OTS.min(self.choices.len() - self.done);
        if count == 0 {
            return Ok(Action::Done);
        }
        let these = self.done..self.done + count;
        let labels = &mut self.labels[these.clone()];
        self.ot.extend(&self.choices[these], labels, message)?;
        self.done += count;
        Ok(Action::send(Kind::CotExtension))
    }

    fn receive(&mut self, _payload: &[u8]) -> Result<(), Error> {
        Err(NOT_ASKED)
    }
}
