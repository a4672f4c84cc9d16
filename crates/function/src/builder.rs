//! A builder of functions for Rust code. People write programs of the language instead.
//!
//! ```
//! use tacit_function::{FunctionBuilder, Operand, Part, Recipient, Role};
//!
//! let mut builder = FunctionBuilder::new("sum");
//! builder
//!     .library("add", "adder", &[("bits", 32)])
//!     .input("x", "u32[3]", Role::Garbler)
//!     .input("y", "u32[3]", Role::Evaluator)
//!     .value("partial", "u32[4]")
//!     .value("both", "u32[3]")
//!     .assign(Part::of("partial").at(0), Operand::number(0))
//!     .repeat("i", 0, 3, |each, i| {
//!         let at = |name: &str| Part::of(name).at(i);
//!         each.call([at("both")], "add", [at("x"), at("y")]);
//!         let next = Part::of("partial").at(i.plus(1));
//!         each.call([next], "add", [at("partial"), at("both")]);
//!     })
//!     .output("sum", "u32", Recipient::Both, Part::of("partial").at(3));
//! let function = builder.finish()?;
//! assert_eq!(function.call_count(), 6);
//! # Ok::<(), tacit_function::FunctionError>(())
//! ```

use tacit_circuit::{Component, Type};
use tacit_components::library;

use crate::expression::Expression;
use crate::source::{
    ComponentSource, Destination, InputSource, OutputSource, Owner, Source, StepSource,
    ValueSource, shown,
};
use crate::steps::{Assignment, Head, Operand, Part};
use crate::{ErrorLocation, Function, FunctionError, Recipient, Role};

/// Builds a [`Function`] step by step. [`FunctionBuilder::finish`] returns the first error.
///
/// A step moves bits, or calls a component with an [`Operand`] for each input port and a [`Part`]
/// of a value for each output port. Array types are read from right to left: with `d` of type
/// `u8[5][9]`, `d[i]` is a `u8[5]`. An index after the last dimension selects a byte of a byte
/// string or a bit of anything else.
///
/// A value and its destination must have the same width, and their bits must have the same meaning.
/// `bit`, `bits[n]` and `bytes[n]` are an exception: they go anywhere, and anything goes into them.
/// An input that goes into a port with a [promise](tacit_circuit::Promise) takes over the promise,
/// and must go there unchanged.
#[derive(Debug, Default)]
pub struct FunctionBuilder {
    source: Source,
    /// The open loops, innermost last, with their steps.
    open: Vec<(Head, Vec<StepSource>)>,
    error: Option<FunctionError>,
}

impl FunctionBuilder {
    /// Starts a function of this name, without ports or steps.
    pub fn new(name: &str) -> Self {
        let source = Source {
            name: name.to_owned(),
            ..Source::default()
        };
        Self {
            source,
            ..Self::default()
        }
    }

    /// Marks the function as one that runs over XOR shares, by its [schedule](Function::schedule).
    /// It may then be too large for [`Values`](crate::Values), and its loops may be
    /// [streams](crate). The function's digest and its schedule are the same.
    pub fn over_shares(&mut self) -> &mut Self {
        self.source.is_over_shares = true;
        self
    }

    /// Declares a component under the name by which steps call it.
    pub fn component(&mut self, name: &str, component: Component) -> &mut Self {
        let name = name.to_owned();
        self.source.components.push(ComponentSource {
            name,
            component,
            library: None,
        });
        self
    }

    /// Declares a component of the library with these parameters.
    pub fn library(&mut self, name: &str, library: &str, parameters: &[(&str, u64)]) -> &mut Self {
        let parameters = parameters.iter();
        let parameters = parameters.map(|(name, value)| ((*name).to_owned(), *value));
        let parameters = parameters.collect();
        let circuit = library::find(library, &parameters);
        let circuit = circuit.map_err(|error| FunctionError::Library {
            component: shown(name),
            error: Box::new(error),
        });
        if let Some(circuit) = self.taken(circuit) {
            self.source.components.push(ComponentSource {
                name: name.to_owned(),
                component: Component::new(name, circuit),
                library: Some((library.to_owned(), parameters)),
            });
        }
        self
    }

    /// Declares an input of a party.
    pub fn input(&mut self, name: &str, ty: &str, owner: Role) -> &mut Self {
        self.input_of(name, ty, Owner::Party(owner))
    }

    /// Declares an input that is the saved value of this name.
    pub fn load(&mut self, name: &str, ty: &str) -> &mut Self {
        self.input_of(name, ty, Owner::Saved)
    }

    fn input_of(&mut self, name: &str, ty: &str, owner: Owner) -> &mut Self {
        if let Some(ty) = self.ty("input", name, ty) {
            self.source.inputs.push(InputSource {
                name: name.to_owned(),
                ty,
                owner,
            });
        }
        self
    }

    /// Declares a value that steps assign. No element is assigned twice.
    pub fn value(&mut self, name: &str, ty: &str) -> &mut Self {
        self.value_of(name, ty, false)
    }

    /// Declares a value whose elements steps may assign again. A step reads what was assigned last.
    pub fn variable(&mut self, name: &str, ty: &str) -> &mut Self {
        self.value_of(name, ty, true)
    }

    fn value_of(&mut self, name: &str, ty: &str, is_variable: bool) -> &mut Self {
        if let Some(ty) = self.ty("value", name, ty) {
            self.source.values.push(ValueSource {
                name: name.to_owned(),
                ty,
                is_variable,
            });
        }
        self
    }

    /// Adds a step that moves bits: `x = y[2..4] ++ 0:u8`.
    pub fn assign(&mut self, target: impl Into<Part>, value: impl Into<Operand>) -> &mut Self {
        let step = Assignment::Move(target.into(), value.into());
        self.push(StepSource::Assignment(step))
    }

    /// Adds a step that calls a component: `sum, carry = add(a[i], b[i])`. The target `_` drops an
    /// output.
    pub fn call(
        &mut self,
        targets: impl IntoIterator<Item = impl Into<Part>>,
        component: &str,
        arguments: impl IntoIterator<Item = impl Into<Operand>>,
    ) -> &mut Self {
        let targets = targets.into_iter().map(Into::into);
        let targets = targets.map(|part: Part| (part.name != "_").then_some(part));
        let arguments = arguments.into_iter().map(Into::into).collect();
        let step = Assignment::Call(targets.collect(), component.to_owned(), arguments);
        self.push(StepSource::Assignment(step))
    }

    /// Adds a loop with the steps that `steps` adds. Its counter runs from `from` up to, but not
    /// including, `to`.
    pub fn repeat(
        &mut self,
        counter: &str,
        from: impl Into<Expression>,
        to: impl Into<Expression>,
        steps: impl FnOnce(&mut Self, &Expression),
    ) -> &mut Self {
        let head = Head {
            counter: counter.to_owned(),
            from: from.into(),
            to: to.into(),
        };
        self.open.push((head, Vec::new()));
        steps(self, &Expression::counter(counter));
        match self.open.pop() {
            Some((head, steps)) => self.push(StepSource::Loop(head, steps)),
            None => self,
        }
    }

    /// Declares a result for one party or both.
    pub fn output(
        &mut self,
        name: &str,
        ty: &str,
        to: Recipient,
        value: impl Into<Operand>,
    ) -> &mut Self {
        self.output_to(name, ty, Destination::Parties(to), value.into())
    }

    /// Declares a result that is kept as the saved value of this name.
    pub fn save(&mut self, name: &str, ty: &str, value: impl Into<Operand>) -> &mut Self {
        self.output_to(name, ty, Destination::Saved, value.into())
    }

    fn output_to(
        &mut self,
        name: &str,
        ty: &str,
        destination: Destination,
        value: Operand,
    ) -> &mut Self {
        if let Some(ty) = self.ty("output", name, ty) {
            self.source.outputs.push(OutputSource {
                name: name.to_owned(),
                ty,
                destination,
                value,
            });
        }
        self
    }

    /// Checks and returns the function. This takes time for each of its calls, and memory for each
    /// element of its arrays, except for those of [streams](crate).
    ///
    /// # Errors
    ///
    /// The first problem: a type that does not parse, a name that is not allowed or already taken,
    /// a component that the library cannot make; then a step that does not fit the components, the
    /// types or the earlier steps, or a function that exceeds the limits. The error names the call,
    /// the port and the loops' counters.
    pub fn finish(&mut self) -> Result<Function, FunctionError> {
        let Self { source, error, .. } = std::mem::take(self);
        match error {
            Some(error) => Err(error),
            None => Function::of_source(source),
        }
    }

    fn ty(&mut self, kind: &str, name: &str, text: &str) -> Option<Type> {
        let ty = text.parse().map_err(|error| FunctionError::Type {
            place: ErrorLocation::new(format!("{kind} {}", shown(name))),
            error: Box::new(error),
        });
        self.taken(ty)
    }

    fn push(&mut self, step: StepSource) -> &mut Self {
        match self.open.last_mut() {
            Some((_, steps)) => steps.push(step),
            None => self.source.steps.push(step),
        }
        self
    }

    fn taken<T>(&mut self, result: Result<T, FunctionError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }
}
