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
//! Constants are folded, equal gates are shared, and gates that no output depends on are dropped.
//! NOT is a flag and becomes a gate only in [`Builder::finish`]. The docs of an operation state its
//! cost in AND gates, for inputs that are neither constant nor shared and for
//! [`CircuitForm::Small`].
//!
//! # Edge cases
//!
//! No operation fails because of a value, since the failure would reveal the value. Sums,
//! differences and products wrap around, and the `…_widening` forms lose nothing. Division by zero
//! gives a quotient of all ones and the dividend as remainder. A shift by the width or more leaves
//! zeros, or copies of the sign, and a rotation counts modulo the width. An index past the end of a
//! table selects the last entry. An error that does not depend on values, such as two widths in one
//! sum, panics.
//!
//! # How handles reach the builder
//!
//! A handle borrows its builder, which keeps its gates behind a `RefCell`. [`Bit`] is therefore
//! `Copy` and as small as a pointer and a number, a wide handle has one pointer, and the compiler
//! refuses a handle that outlives [`Builder::finish`]. The price is a lifetime in the signatures of
//! component generators. A reference-counted builder would avoid the lifetime, but would count
//! references for each bit. Mixing handles of two builders panics.
//!
//! # Cost
//!
//! A gate takes 16 bytes, 8 of which serve to find equal gates. A gate takes up to 13 bytes more in
//! a table if an earlier gate also reads the younger of its two inputs.

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

use core::cell::RefCell;
use core::fmt;

use crate::{Circuit, CircuitError};

pub use array::Array;
pub use bit::Bit;
pub use bus::Bus;
pub use bytes::Bytes;
pub use choose::Ordered;
pub use fixed::Fixed;
pub use handle::Handle;
pub use integer::{Int, UInt};
pub use run_counter::RunCounter;
pub use shallow::CircuitForm;

use crate::netlist::{Literal, Sharing};
use late::LateInputs;
use ports::Draft;
use shallow::Layers;

/// A circuit under construction.
///
/// Ports may be declared at any time. Input ports are placed in the order in which they are
/// declared. [`Builder::finish`] reports errors in the names of ports.
#[derive(Default)]
pub struct Builder {
    gates: RefCell<Sharing>,
    draft: RefCell<Draft>,
    late: RefCell<LateInputs>,
    form: CircuitForm,
    layers: RefCell<Layers>,
}

impl Builder {
    /// Creates a builder of an empty circuit.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a builder that makes at most `gates` gates. Past this limit, operations return
    /// constants and [`Builder::finish`] returns an error. A caller that watches
    /// [`Builder::gate_count`] can refuse a circuit that is too large before the circuit takes
    /// memory.
    pub fn bounded(gates: usize) -> Self {
        Self {
            gates: RefCell::new(Sharing::bounded(gates)),
            ..Self::default()
        }
    }

    /// Returns the same builder, which builds all further operations in `form`. The default is
    /// [`CircuitForm::Small`], for which the docs state the costs.
    #[must_use]
    pub fn in_form(self, form: CircuitForm) -> Self {
        Self { form, ..self }
    }

    /// Returns the form in which operations are built.
    pub fn form(&self) -> CircuitForm {
        self.form
    }

    pub(crate) fn is_shallow(&self) -> bool {
        self.form == CircuitForm::Shallow
    }

    /// Returns the constant `value`.
    pub fn constant(&self, value: bool) -> Bit<'_> {
        Bit::new(self, Literal::constant(value))
    }

    /// Returns the number of gates so far. Gates that no output needs count; NOT does not.
    pub fn gate_count(&self) -> usize {
        self.gates.borrow().gate_count()
    }

    /// Appends `circuit` with one bus of `inputs` for each of its input ports. Returns one bus for
    /// each of its output ports.
    ///
    /// # Panics
    ///
    /// If `inputs` do not match the ports in number and width.
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

    /// Returns the finished circuit. Its live gates stay in the order in which they were made. Each
    /// negation becomes one INV gate for all its readers, right before the first of them.
    ///
    /// # Errors
    ///
    /// A port's name is invalid or already taken, there is no input or no output, or the circuit
    /// has more wires than [`Circuit::MAX_WIRES`].
    pub fn finish(self) -> Result<Circuit, CircuitError> {
        ports::finish(self.gates.into_inner(), self.draft.into_inner())
    }

    /// Returns the finished circuit and one number for each of its gates. The number is the value
    /// of [`Builder::gate_count`] before the gate of the builder was made from which this gate
    /// comes. A caller can thus assign the circuit's gates, and their costs, to the operations that
    /// made them.
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

    /// Panics if handles of two builders are mixed, which the types cannot prevent.
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
