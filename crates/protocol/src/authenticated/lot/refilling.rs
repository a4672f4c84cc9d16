//! OTs that are made before a lot takes them, where the extension has that.

use tacit_function::Role;

use super::{Context, Unchecked, random};
use crate::Error;
use crate::party::{Action, NOT_ASKED};
use crate::setup::{Half, RefillSteps};

/// OTs that are made before a lot takes them, where the extension has that: first those that the
/// garbler sends, then the others.
pub(crate) struct Refilling {
    /// Those that the garbler sends, and those that the evaluator sends.
    left: Vec<(Role, RefillSteps)>,
}

impl Refilling {
    /// Whether all OTs are made.
    pub(super) fn is_done(&self) -> bool {
        self.left.is_empty()
    }

    /// What is next; nothing where all OTs are made.
    pub(super) fn next(
        &mut self,
        lot: &mut Unchecked,
        message: &mut Vec<u8>,
    ) -> Result<Option<Action>, Error> {
        while let Some((sender, steps)) = self.left.last_mut() {
            let action = match lot.half(*sender)? {
                Some(half) => steps.next(half, message)?,
                None => Action::Done,
            };
            match action {
                Action::Done => drop(self.left.pop()),
                action => return Ok(Some(action)),
            }
        }
        Ok(None)
    }

    pub(super) fn receive(&self, lot: &mut Unchecked, payload: &[u8]) -> Result<(), Error> {
        let (sender, _) = self.left.last().ok_or(NOT_ASKED)?;
        Ok(lot.half(*sender)?.ok_or(NOT_ASKED)?.receive(payload)?)
    }
}

impl Unchecked {
    /// The making of all OTs that the lot takes.
    pub(super) fn refilling(&mut self) -> Refilling {
        let both = self.size.ots();
        let Context {
            rng,
            epoch,
            own_inputs,
            others_inputs,
        } = &mut self.context;
        let left = [Role::Evaluator, Role::Garbler].map(|sender| {
            let inputs = match sender == epoch.role() {
                true => others_inputs.len(),
                false => own_inputs.len(),
            };
            let steps = RefillSteps::from_seed((both + inputs) as u64, &random(rng));
            (sender, steps)
        });
        Refilling { left: left.into() }
    }

    /// The half that makes OTs that `sender` sends, where they are made before they are taken.
    fn half(&mut self, sender: Role) -> Result<Option<&mut dyn Half>, Error> {
        let epoch = &mut self.context.epoch;
        Ok(match sender == epoch.role() {
            true => epoch.sender()?.half(),
            false => epoch.receiver()?.half(),
        })
    }
}
