//! The ANDs of each layer that need crosses, in the order in which they are opened.

use super::{CROSS_GATES, Layers, Literal};
use crate::{Circuit, Gate, Role, Wire};

/// An AND that needs crosses. The operand whose group it belongs to comes first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LayerAnd {
    pub(crate) gate: Wire,
    pub(crate) x: Literal,
    pub(crate) y: Literal,
}

impl LayerAnd {
    /// Whether the cross that `chooser` chooses contains this AND: `chooser` owns x, and the other
    /// party owns y.
    pub(crate) fn is_chosen_by(&self, chooser: Role, layers: &Layers) -> bool {
        let owns_x = layers.owners(self.x.wire()).includes(chooser);
        owns_x && layers.owners(self.y.wire()).includes(chooser.other())
    }
}

impl Layers {
    /// Returns the gates that compute and need crosses, with their operands.
    fn crossing<'l>(&'l self, circuit: &'l Circuit) -> impl Iterator<Item = LayerAnd> + 'l {
        let gates = (circuit.input_bits() as Wire..).zip(circuit.gates());
        gates.filter_map(|(gate, kind)| {
            let Gate::And(a, b) = kind else { return None };
            let (x, y) = (self.under(a), self.under(b));
            let crosses = self.owners(x.wire()).need_crosses(self.owners(y.wire()));
            (crosses && self.computes(gate)).then_some(LayerAnd { gate, x, y })
        })
    }

    /// Sorts the ANDs by layer and within a layer by the operand of their group, and cuts the
    /// groups into pieces.
    pub(super) fn group(&mut self, circuit: &Circuit, depth: u32) {
        let mut ends = vec![0_usize; depth as usize + 1];
        for and in self.crossing(circuit) {
            ends[self.layer(and.gate) as usize] += 1;
        }
        let mut total = 0;
        for end in &mut ends {
            // At first the start of the layer's ANDs. It moves to their end as they are added.
            total += std::mem::replace(end, total);
        }
        let nothing = Literal::of(0);
        let mut ands = vec![
            LayerAnd {
                gate: 0,
                x: nothing,
                y: nothing
            };
            total
        ];
        for and in self.crossing(circuit) {
            let place = &mut ends[self.layer(and.gate) as usize];
            ands[*place] = and;
            *place += 1;
        }
        let mut count = vec![0_u32; self.under.len()];
        let mut begin = 0;
        for end in ends {
            choose_operands(&mut ands[begin..end], &mut count);
            self.cut(&ands, begin..end);
            self.ends.push(self.pieces.len() as u32);
            begin = end;
        }
        self.ands = ands;
    }

    fn cut(&mut self, ands: &[LayerAnd], layer: core::ops::Range<usize>) {
        let mut begin = layer.start;
        for at in layer.clone() {
            let next = ands[..layer.end].get(at + 1).map(|and| and.x.wire());
            if next != Some(ands[at].x.wire()) || at + 1 - begin == CROSS_GATES {
                self.pieces.push(at as u32 + 1);
                begin = at + 1;
            }
        }
    }
}

/// Swaps the operands of each AND so that the operand that more of the ANDs have comes first, or
/// the lower wire if both have equally many. Sorts the ANDs by this operand and then by their own
/// wires. `count` is zero for each wire, before and after the call.
fn choose_operands(ands: &mut [LayerAnd], count: &mut [u32]) {
    for and in &*ands {
        count[and.x.wire() as usize] += 1;
        count[and.y.wire() as usize] += 1;
    }
    for and in &mut *ands {
        let rank = |operand: Literal| {
            let wire = operand.wire();
            (core::cmp::Reverse(count[wire as usize]), wire)
        };
        if rank(and.y) < rank(and.x) {
            (and.x, and.y) = (and.y, and.x);
        }
    }
    for and in &*ands {
        count[and.x.wire() as usize] = 0;
        count[and.y.wire() as usize] = 0;
    }
    ands.sort_unstable_by_key(|and| (and.x.wire(), and.gate));
}
