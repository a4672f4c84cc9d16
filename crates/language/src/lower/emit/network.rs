//! The emission of networks: a variable for their arrays, which their calls assign again.

use super::super::Lower;
use super::super::chains::ChainedLoop;
use super::super::network::Network;
use super::super::pieces::Piece;
use super::super::trace::{Call, Called};
use super::roll::MadeStep;
use super::{Emitter, MAX_PIECES};

/// The greatest number of pieces that make an element of a network's variable.
const MAX_ELEMENT: usize = 12;

impl Emitter<'_, '_> {
    /// Emits a network: moves its arrays to a variable, calls its components, and moves the results
    /// to their places.
    pub(super) fn network(&mut self, call: &Call, number: u32) -> Lower<()> {
        let run = self.run;
        let of = &run.networks[number as usize];
        let mut components = Vec::with_capacity(of.components.len());
        for component in &of.components {
            let number = match self.cut_components.get(component) {
                Some(number) => *number,
                None => {
                    let called = Called::Function(component.function);
                    self.new_component(called, Some(&component.results), call.span)?
                }
            };
            self.cut_components.insert(component.clone(), number);
            components.push(number);
        }
        self.note_calls(of);
        let value = self.free_value("rows");
        self.builder
            .variable(&value, &format!("bits[{}]", of.width));
        let arguments: Vec<&[Piece]> = run.calls.arguments_of(call).collect();
        for ((start, _), pieces) in of.given.iter().zip(arguments) {
            let wires = self.joined_by_element(pieces);
            for piece in &wires {
                if let Piece::Wires(start, width) = piece {
                    self.steps.cut(*start, *width);
                }
            }
            self.steps.push_made(MadeStep::Fill {
                to: value.clone(),
                start: *start,
                wires,
            });
        }
        self.steps.push_made(MadeStep::Network {
            value: value.clone(),
            steps: of.steps.clone(),
            components,
        });
        let mut place = call.result.start;
        for (start, width) in &of.results {
            self.steps.cut(place, *width);
            self.steps.push_made(MadeStep::Move {
                from: value.clone(),
                start: *start as u64,
                width: *width,
                place,
            });
            place += width;
        }
        Ok(())
    }

    /// Records the calls of a network, if costs are recorded.
    fn note_calls(&mut self, of: &Network) {
        if self.run.recorder.is_none() {
            return;
        }
        let mut deepest = 0;
        for component in &of.components {
            let depth = self.depths.get(&Called::Function(component.function));
            deepest = depth.copied().unwrap_or(0).max(deepest);
        }
        for (site, component, times) in &of.calls {
            let function = of.components[*component].function;
            let parameters = &self.program.functions[function.0 as usize];
            let types = &self.program.types;
            let locals = parameters.parameters.iter();
            let widths = locals.map(|of| types.width(parameters.locals[of.0 as usize].ty));
            let bits = widths.sum();
            self.costs
                .calls(*site, Called::Function(function), *times, bits);
        }
        self.network_depth = deepest.max(self.network_depth);
    }

    /// Returns the loops of networks that remain chains. Their layers are upper bounds.
    pub(super) fn network_chains(&self) -> Vec<ChainedLoop> {
        let chains = self.run.networks.iter().flat_map(|network| &network.chains);
        let chains = chains.map(|chain| ChainedLoop {
            span: chain.span,
            function: chain.function.clone(),
            variables: chain.variables.clone(),
            turns: chain.turns,
            layers: chain.calls.saturating_mul(self.network_depth),
        });
        chains.filter(|chain| chain.layers > 0).collect()
    }

    /// Returns pieces as few ones. Steps bring them together element by element, so that they
    /// repeat.
    fn joined_by_element(&mut self, pieces: &[Piece]) -> Vec<Piece> {
        if pieces.len() <= MAX_PIECES {
            return self.joined(pieces, MAX_PIECES);
        }
        let length = element_of(pieces);
        let mut all = Vec::new();
        for chunk in pieces.chunks(length) {
            for piece in self.joined(chunk, 0) {
                super::push(&mut all, piece);
            }
        }
        all
    }
}

/// Returns the number of pieces after which their widths repeat, or else the most of a step.
fn element_of(pieces: &[Piece]) -> usize {
    let tried = &pieces[..pieces.len().min(1 << 10)];
    let repeats = |length: &usize| {
        let later = tried.iter().skip(*length);
        tried
            .iter()
            .zip(later)
            .all(|(one, other)| one.width() == other.width())
    };
    (1..=MAX_ELEMENT).find(repeats).unwrap_or(MAX_PIECES)
}
