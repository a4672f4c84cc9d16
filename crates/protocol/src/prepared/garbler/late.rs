//! The garbler's run when the evaluator's inputs are wires.

use tacit_function::{Outputs, Role};
use tacit_garble::Scheme;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::{Carried, LateLink, Links};
use crate::prepared::FRAME_BYTES;
use crate::prepared::saving::label_of_0;
use crate::saved::SavedCopy;

/// When the evaluator's inputs are wires.
pub(crate) struct Late<'f, S: Scheme> {
    pub(super) links: Links<S>,
    pub(super) delta: Zeroizing<Block>,
    pub(super) inputs: Zeroizing<Vec<S::Wire>>,
    pub(super) late: Zeroizing<Vec<LateLink<S::Wire>>>,
    pub(super) done: usize,
    pub(super) outputs: Outputs<'f, Carried<S::Wire>>,
}

impl<S: Scheme> Late<'_, S> {
    /// The links from the evaluator's inputs, up to a full frame.
    pub(super) fn fill(&mut self, message: &mut Vec<u8>) {
        message.clear();
        let left = &self.late[self.done..];
        let these = &left[..left.len().min(FRAME_BYTES / self.links.scheme.link_bytes())];
        let from = these.iter().map(|link| self.inputs[link.input as usize]);
        let from = Zeroizing::new(from.collect::<Vec<_>>());
        let to = Zeroizing::new(these.iter().map(|link| link.to).collect::<Vec<_>>());
        self.done += these.len();
        self.links.append(&from, &to, message);
    }

    pub(super) fn output_wires(&self, role: Role) -> Zeroizing<Vec<S::Wire>> {
        let outputs = self.outputs.of(role);
        Zeroizing::new(outputs.iter().map(|output| self.wire(output)).collect())
    }

    fn wire(&self, output: &Carried<S::Wire>) -> S::Wire {
        match output.input.checked_sub(1) {
            Some(input) => self.inputs[input as usize],
            None => output.wire,
        }
    }

    /// What is kept of the values that are saved.
    pub(super) fn saved(&self) -> SavedCopy {
        let (garbler, delta) = (&self.links.garbler, *self.delta);
        let wires = self.outputs.saved().iter().map(|output| self.wire(output));
        SavedCopy {
            delta,
            labels: wires
                .map(|wire| label_of_0(garbler, &wire, delta))
                .collect(),
        }
    }
}
