//! Functions written in Rust, by machines: people write programs of the language.
//!
//! ```
//! use tacit_function::{FunctionBuilder, Recipient, Role};
//!
//! let mut builder = FunctionBuilder::new("sum");
//! builder
//!     .library("add", "adder", &[("bits", 32)])
//!     .input("x", "u32[3]", Role::Garbler)
//!     .input("y", "u32[3]", Role::Evaluator)
//!     .value("partial", "u32[4]")
//!     .value("both", "u32[3]")
//!     .step("partial[0] = 0")
//!     .repeat("i in 0..3", |each| {
//!         each.step("both[i] = add(x[i], y[i])");
//!         each.step("partial[i+1] = add(partial[i], both[i])");
//!     })
//!     .output("sum", "u32", Recipient::Both, "partial[3]");
//! let function = builder.finish()?;
//! assert_eq!(function.call_count(), 6);
//! # Ok::<(), tacit_function::FunctionError>(())
//! ```

use tacit_circuit::{Component, Type};
use tacit_components::library;

use crate::source::{
    ComponentSource, Destination, InputSource, OutputSource, Owner, Source, StepSource,
    ValueSource, shown,
};
use crate::syntax::{Assignment, Head, parse_value};
use crate::{ErrorLocation, Function, FunctionError, Recipient, Role};

/// Makes a [`Function`] step by step. [`FunctionBuilder::finish`] returns the first error.
///
/// A **step** is `sum, carry = add(a[i], b[i])`, a call with a value for each input port of the
/// component and a place for each output port, `_` for one that is dropped; or `x = y[2..4] ++
/// 0:u8`, which moves bits. Arrays are read from right to left: of a `u8[5][9]`, `d[i]` is a
/// `u8[5]`. An index behind the last dimension picks a byte of a byte string or a bit of anything
/// else. **Indices** are sums of numbers, of the loops' counters and of multiples of them, such as
/// `2*i+1`. **Constants** take the type of where they stand, or say it.
///
/// A value and the place where it is put have one width, and their bits mean the same, except that
/// `bit`, `bits[n]` and `bytes[n]` go anywhere and anything goes into them. An input that goes into
/// a port with a [promise](tacit_circuit::Promise) takes it over, and must go there as it is.
#[derive(Debug, Default)]
pub struct FunctionBuilder {
    source: Source,
    /// The loops that are open, innermost last, with their steps.
    open: Vec<(Head, Vec<StepSource>)>,
    error: Option<FunctionError>,
}

impl FunctionBuilder {
    /// A function of this name, without ports or steps.
    #[must_use]
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

    /// A component under the name by which steps call it.
    pub fn component(&mut self, name: &str, component: Component) -> &mut Self {
        let name = name.to_owned();
        self.source.components.push(ComponentSource {
            name,
            component,
            library: None,
        });
        self
    }

    /// A component of the library with these parameters.
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

    /// An input of a party.
    pub fn input(&mut self, name: &str, ty: &str, owner: Role) -> &mut Self {
        self.input_of(name, ty, Owner::Party(owner))
    }

    /// An input that is the saved value of this name.
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

    /// A value that steps assign.
    pub fn value(&mut self, name: &str, ty: &str) -> &mut Self {
        if let Some(ty) = self.ty("value", name, ty) {
            self.source.values.push(ValueSource {
                name: name.to_owned(),
                ty,
            });
        }
        self
    }

    /// A step: `sum, carry = add(a[i], b[i])` or `x = y[2..4] ++ 0:u8`.
    pub fn step(&mut self, text: &str) -> &mut Self {
        let assignment = Assignment::parse(&ErrorLocation::new("a step"), text);
        if let Some(assignment) = self.taken(assignment) {
            self.push(StepSource::Assignment(assignment));
        }
        self
    }

    /// The steps that `steps` adds, for each value of a counter: `i in 0..n`.
    pub fn repeat(&mut self, head: &str, steps: impl FnOnce(&mut Self)) -> &mut Self {
        let Some(head) = self.taken(Head::parse(&ErrorLocation::new("a loop"), head)) else {
            return self;
        };
        self.open.push((head, Vec::new()));
        steps(self);
        if let Some((head, steps)) = self.open.pop() {
            self.push(StepSource::Loop(head, steps));
        }
        self
    }

    /// A result that goes to one party or both.
    pub fn output(&mut self, name: &str, ty: &str, to: Recipient, value: &str) -> &mut Self {
        self.output_to(name, ty, Destination::Parties(to), value)
    }

    /// A result that is kept as the saved value of this name.
    pub fn save(&mut self, name: &str, ty: &str, value: &str) -> &mut Self {
        self.output_to(name, ty, Destination::Saved, value)
    }

    fn output_to(
        &mut self,
        name: &str,
        ty: &str,
        destination: Destination,
        value: &str,
    ) -> &mut Self {
        let place = ErrorLocation::new(format!("output {}", shown(name)));
        let ty = self.ty("output", name, ty);
        let value = self.taken(parse_value(&place, value));
        if let (Some(ty), Some(value)) = (ty, value) {
            let name = name.to_owned();
            self.source.outputs.push(OutputSource {
                name,
                ty,
                destination,
                value,
            });
        }
        self
    }

    /// The function. All of it is checked; that takes time for each of its calls, and memory for
    /// each element of its arrays.
    ///
    /// # Errors
    ///
    /// The first thing that was wrong: a text that does not parse, a name that is not allowed or
    /// taken, a component that the library cannot make; then a step that does not fit the
    /// components, the types or the steps before it, or the whole past the limits. The error names
    /// the call, the port and the loops' counters.
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

    fn push(&mut self, step: StepSource) {
        match self.open.last_mut() {
            Some((_, steps)) => steps.push(step),
            None => self.source.steps.push(step),
        }
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
