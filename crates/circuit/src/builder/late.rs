//! Inputs that are made when a gate first reads them: a caller that moves most of what it is given
//! needs no node for what it moves.

use std::collections::HashMap;

use super::ports::netlist_of;
use super::{Builder, Bus};
use crate::CircuitError;
use crate::netlist::{Literal, Netlist};

/// The late inputs of a builder.
#[derive(Default)]
pub(super) struct Late {
    /// How many there are.
    count: usize,
    /// Those that a gate reads, in the order in which they became inputs.
    read: Vec<u32>,
    settled: HashMap<u32, Literal>,
}

impl Builder {
    /// The next late inputs, which are numbered from 0 and are of no port. Past the most that there
    /// can be they are constants, as gates are past their bound.
    #[must_use]
    pub fn late_inputs(&self, width: usize) -> Bus<'_> {
        let mut late = self.late.borrow_mut();
        let first = late.count;
        if Literal::MAX_LATE - first < width {
            self.gates.borrow_mut().overflow();
            return Bus::new(self, vec![Literal::FALSE; width]);
        }
        late.count += width;
        let numbers = first as u32..late.count as u32;
        Bus::new(self, numbers.map(Literal::late).collect())
    }

    /// The gates of a builder without ports, those that nothing needs among them, and for each of
    /// the netlist's inputs which late input it is.
    ///
    /// # Errors
    ///
    /// More gates or late inputs were asked for than a netlist holds.
    pub fn into_netlist(self) -> Result<(Netlist, Vec<u32>), CircuitError> {
        let netlist = netlist_of(self.gates.into_inner())?;
        Ok((netlist, self.late.into_inner().read))
    }

    /// A literal of the netlist in the place of one that may be of a late input.
    #[inline]
    pub(super) fn settled(&self, literal: Literal) -> Literal {
        match literal.as_late() {
            Some(number) => self.settle(number).negated_if(literal.is_negated()),
            None => literal,
        }
    }

    fn settle(&self, number: u32) -> Literal {
        let Late { read, settled, .. } = &mut *self.late.borrow_mut();
        *settled.entry(number).or_insert_with(|| {
            read.push(number);
            self.gates.borrow_mut().input()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlist::Node;

    #[test]
    fn a_late_input_is_made_when_a_gate_reads_it() {
        let builder = Builder::new();
        let bits = builder.late_inputs(4);
        let moved = !bits.bit(3);
        assert_eq!(builder.gate_count(), 0);
        let read = bits.bit(2) & !bits.bit(1);
        assert_eq!(read.literal(), (bits.bit(2) & !bits.bit(1)).literal());
        assert_eq!(moved.literal().as_late(), Some(3));
        assert!(moved.literal().is_negated());
        let gate = read.literal().node();
        let (netlist, numbers) = builder.into_netlist().unwrap();
        assert_eq!(numbers, [2, 1]);
        assert_eq!(netlist.node_count(), 3);
        let [first, second] = [0, 1].map(Literal::of);
        assert_eq!(netlist.node(gate), Node::And(first, !second));
    }
}
