//! Inputs that are made when a gate first reads them. A caller that only moves most of its inputs
//! needs no nodes for them.

use super::ports::netlist_of;
use super::{Builder, Bus};
use crate::CircuitError;
use crate::netlist::{Literal, Netlist};

/// The late inputs of a builder.
#[derive(Default)]
pub(super) struct LateInputs {
    /// The number of late inputs so far.
    count: usize,
    /// The numbers of the late inputs that a gate reads, in the order in which they became inputs.
    read: Vec<u32>,
    /// The nodes of the late inputs. An input that no gate reads stands for itself. A page is empty
    /// until a gate reads one of its inputs.
    pages: Vec<Vec<Literal>>,
}

/// The number of late inputs of a page.
const PAGE: u32 = 1 << 10;

impl Builder {
    /// Creates the next `width` late inputs, which belong to no port and are numbered from 0. Past
    /// the greatest possible number it returns constants, like gates past their limit.
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

    /// Returns all gates of a builder without ports, also those that nothing needs, and for each
    /// input of the netlist the number of its late input.
    ///
    /// # Errors
    ///
    /// The builder made more gates or late inputs than a netlist can hold.
    pub fn into_netlist(self) -> Result<(Netlist, Vec<u32>), CircuitError> {
        let netlist = netlist_of(self.gates.into_inner())?;
        Ok((netlist, self.late.into_inner().read))
    }

    /// Returns a literal of the netlist, where `literal` may name a late input.
    #[inline]
    pub(super) fn settled(&self, literal: Literal) -> Literal {
        match literal.as_late() {
            Some(number) => self.settle(number).negated_if(literal.is_negated()),
            None => literal,
        }
    }

    fn settle(&self, number: u32) -> Literal {
        let LateInputs { read, pages, .. } = &mut *self.late.borrow_mut();
        let page = (number / PAGE) as usize;
        if pages.len() <= page {
            pages.resize(page + 1, Vec::new());
        }
        let page = &mut pages[page];
        if page.is_empty() {
            let first = number / PAGE * PAGE;
            *page = (first..first + PAGE).map(Literal::late).collect();
        }
        let node = &mut page[(number % PAGE) as usize];
        if node.as_late().is_some() {
            read.push(number);
            *node = self.gates.borrow_mut().input();
        }
        *node
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
