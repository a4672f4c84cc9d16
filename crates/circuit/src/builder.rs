//! The builder: circuits written as ordinary expressions over typed handles.
//!
//! ```
//! use tacit_circuit::builder::Builder;
//!
//! let builder = Builder::new();
//! let (a, b) = (builder.uint("a", 32), builder.uint("b", 32));
//! let sum = &a + &b;
//! builder.output("sum", &sum);
//! builder.output("a_is_greater", &a.greater_than(&b));
//! let circuit = builder.finish()?;
//! assert_eq!(circuit.outputs().len(), 2);
//! # Ok::<(), tacit_circuit::CircuitError>(())
//! ```
//!
//! Constants are folded, NOT is a flag and never a gate of its own before [`Builder::finish`],
//! equal gates are shared, and gates that no output depends on are dropped. What an operation
//! costs in AND gates stands with it, for inputs that are neither constant nor shared and for
//! [`CircuitForm::Small`].
//!
//! # What happens at the edges
//!
//! Nothing is an error that depends on a value, since an error would show it. Sums, differences
//! and products wrap around, and `…_widening` forms lose nothing. Division by zero gives a quotient
//! of all ones and the dividend as remainder. A shift by the width or more leaves zeros, or copies
//! of the sign, and a rotation counts modulo the width. An index past the end of a table means its
//! last entry. What is wrong whatever the values, such as two widths in one sum, panics.
//!
//! # How handles reach the builder
//!
//! A handle borrows its builder, which keeps its gates behind a `RefCell`. [`Bit`] is thereby
//! `Copy` and as small as a pointer and a number, wide handles have one pointer each, and the
//! compiler refuses a handle that outlives [`Builder::finish`]. The price is a lifetime in the
//! signatures of component generators; a reference-counted builder would spare it and count
//! references for each bit instead. Handles of two builders do not mix: that panics.
//!
//! # Cost
//!
//! A gate takes 16 bytes, 8 of them to find equal gates; one whose younger input others read before
//! takes up to 13 more in a table.

mod array;
mod bit;
mod bus;
mod bytes;
mod choose;
mod columns;
mod count;
mod divide;
mod fixed;
mod handle;
mod integer;
mod late;
mod multiply;
mod ports;
mod run_counter;
mod shallow;
mod shift;
mod sort;

use core::cell::RefCell;
use core::fmt;

use crate::{Circuit, CircuitError};

pub use array::Array;
pub use bit::Bit;
pub use bus::Bus;
pub use bytes::Bytes;
pub use choose::{Ordered, exchange_if};
pub use fixed::Fixed;
pub use handle::Handle;
pub use integer::{Int, UInt};
pub use run_counter::RunCounter;
pub use shallow::CircuitForm;

use crate::netlist::{Literal, Sharing};
use late::Late;
use ports::Draft;
use shallow::Layers;

pub(crate) use sort::sorting_network;

/// A circuit under construction.
///
/// Ports may be declared at any time; input ports take their place in the order in which they are
/// declared. What is wrong with a port's name is said by [`Builder::finish`].
#[derive(Default)]
pub struct Builder {
    gates: RefCell<Sharing>,
    draft: RefCell<Draft>,
    late: RefCell<Late>,
    form: CircuitForm,
    layers: RefCell<Layers>,
}

impl Builder {
    /// A builder of an empty circuit.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A builder that makes at most this many gates. Once there are as many, operations give
    /// constants and [`Builder::finish`] an error: a caller that watches [`Builder::gate_count`]
    /// refuses what is too large before it takes memory.
    #[must_use]
    pub fn bounded(gates: usize) -> Self {
        Self {
            gates: RefCell::new(Sharing::bounded(gates)),
            ..Self::default()
        }
    }

    /// The same builder, which makes operations of this form from here on; without it they are
    /// [`CircuitForm::Small`], whose costs stand with them.
    #[must_use]
    pub fn in_form(self, form: CircuitForm) -> Self {
        Self { form, ..self }
    }

    /// What operations are made of.
    #[must_use]
    pub fn form(&self) -> CircuitForm {
        self.form
    }

    pub(crate) fn is_shallow(&self) -> bool {
        self.form == CircuitForm::Shallow
    }

    /// The constant `value`.
    #[must_use]
    pub fn constant(&self, value: bool) -> Bit<'_> {
        Bit::new(self, Literal::constant(value))
    }

    /// Number of gates so far, those among them that no output needs, and no NOT.
    #[must_use]
    pub fn gate_count(&self) -> usize {
        self.gates.borrow().gate_count()
    }

    /// Appends `circuit`, fed with `inputs`, one bus for each of its input ports, and gives one
    /// bus for each of its output ports.
    ///
    /// # Panics
    ///
    /// If `inputs` do not match the ports in number and width.
    #[must_use]
    pub fn call<'b>(&'b self, circuit: &Circuit, inputs: &[Bus<'b>]) -> Vec<Bus<'b>> {
        assert_eq!(
            inputs.len(),
            circuit.inputs().len(),
            "one bus for each input port"
        );
        let mut literals = Vec::with_capacity(circuit.input_bits());
        for (bus, port) in inputs.iter().zip(circuit.inputs()) {
            assert_eq!(
                bus.width(),
                port.ty.width(),
                "width of the bus for {}",
                port.name
            );
            self.assert_owns(bus.builder());
            literals.extend(bus.literals().iter().map(|literal| self.settled(*literal)));
        }
        let roots = self.gates.borrow_mut().splice(circuit, literals);
        let mut roots = roots.into_iter();
        let widths = circuit.outputs().iter().map(|port| port.ty.width());
        widths
            .map(|width| Bus::new(self, roots.by_ref().take(width).collect()))
            .collect()
    }

    /// The finished circuit: live gates in the order in which they were made, each negation as
    /// one INV gate for all that read it, right before the first of them.
    ///
    /// # Errors
    ///
    /// A port's name is not allowed or taken, there is no input or no output, or the circuit has
    /// more wires than [`Circuit::MAX_WIRES`].
    pub fn finish(self) -> Result<Circuit, CircuitError> {
        ports::finish(self.gates.into_inner(), self.draft.into_inner())
    }

    /// The finished circuit, and for each of its gates what [`Builder::gate_count`] was before the
    /// gate that it was written for was made: whose gates they are, for who counts costs.
    ///
    /// # Errors
    ///
    /// As [`Builder::finish`].
    pub fn finish_numbered(self) -> Result<(Circuit, Vec<u32>), CircuitError> {
        ports::finish_numbered(self.gates.into_inner(), self.draft.into_inner())
    }

    pub(crate) fn xor(&self, a: Literal, b: Literal) -> Literal {
        let (a, b) = (self.settled(a), self.settled(b));
        self.gates.borrow_mut().xor(a, b)
    }

    pub(crate) fn and(&self, a: Literal, b: Literal) -> Literal {
        let (a, b) = (self.settled(a), self.settled(b));
        self.gates.borrow_mut().and(a, b)
    }

    /// Panics where two builders' handles are mixed, which no type can refuse.
    pub(crate) fn assert_owns(&self, other: &Self) {
        assert!(
            core::ptr::eq(self, other),
            "handles of two builders in one operation"
        );
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("gates", &self.gate_count())
            .finish_non_exhaustive()
    }
}
