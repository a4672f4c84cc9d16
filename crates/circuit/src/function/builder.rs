//! Functions written in Rust, by machines: people write programs of the language.
//!
//! ```
//! use std::collections::BTreeMap;
//! use tacit_circuit::{FunctionBuilder, Recipient, Role};
//!
//! let mut builder = FunctionBuilder::new("sum");
//! builder
//!     .parameter("n", 1..=1000, Some(10))
//!     .library("add", "adder", &[("bits", "32")])
//!     .input("x", "u32[n]", Role::Garbler)
//!     .input("y", "u32[n]", Role::Evaluator)
//!     .value("partial", "u32[n+1]")
//!     .value("both", "u32[n]")
//!     .step("partial[0] = 0")
//!     .repeat("i in 0..n", |each| {
//!         each.step("both[i] = add(x[i], y[i])");
//!         each.step("partial[i+1] = add(partial[i], both[i])");
//!     })
//!     .output("sum", "u32", Recipient::Both, "partial[n]");
//! let function = builder.finish()?.instantiate(&BTreeMap::from([("n".to_owned(), 3)]))?;
//! assert_eq!(function.call_count(), 6);
//! # Ok::<(), tacit_circuit::FunctionError>(())
//! ```

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::expression::Expression;
use super::source::{
    ComponentSource, Destination, InputSource, OutputSource, Owner, Source, StepSource,
    ValueSource, shown,
};
use super::syntax::{Assignment, Head, TypeExpression, parse_value};
use super::{
    Component, ErrorLocation, FunctionError, FunctionFamily, FunctionParameter, Recipient, Role,
};

/// Makes a [`FunctionFamily`] step by step. The first thing that is wrong is said by
/// [`FunctionBuilder::finish`].
///
/// A **step** is `sum, carry = add(a[i], b[i])`, a call with a value for each input port of the
/// component and a place for each output port, `_` for one that is dropped; or `x = y[2..4] ++
/// 0:u8`, which moves bits. **Types** are those of circuits with expressions for their sizes,
/// `bytes[16][n]`. Arrays are read from right to left: of a `u8[m+1][n+1]`, `d[i]` is a `u8[m+1]`.
/// An index behind the last dimension picks a byte of a byte string or a bit of anything else.
/// **Expressions** have `+ - * / %`, parentheses, `bits(x)`, `min(x,y)` and `max(x,y)`; indices are
/// affine in the loops' counters. **Constants** take the type of where they stand, or say it.
///
/// A value and the place where it is put have one width, and their bits mean the same, except that
/// `bit`, `bits[n]` and `bytes[n]` go anywhere and anything goes into them. An input that goes into
/// a port with a [promise](crate::Promise) takes it over, and must go there as it is.
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

    /// A parameter with its range and default.
    pub fn parameter(
        &mut self,
        name: &str,
        range: RangeInclusive<u64>,
        default: Option<u64>,
    ) -> &mut Self {
        let (minimum, maximum) = range.into_inner();
        let parameter = FunctionParameter {
            name: name.to_owned(),
            minimum,
            maximum,
            default,
        };
        self.source.parameters.push(parameter);
        self
    }

    /// A component under the name by which steps call it.
    pub fn component(&mut self, name: &str, component: Component) -> &mut Self {
        self.source
            .components
            .push((name.to_owned(), ComponentSource::Given(component)));
        self
    }

    /// A component of the library, with expressions for its parameters.
    pub fn library(&mut self, name: &str, library: &str, parameters: &[(&str, &str)]) -> &mut Self {
        let place = ErrorLocation::new(format!("component {}", shown(name)));
        let mut expressions = BTreeMap::new();
        for (parameter, text) in parameters {
            if let Some(expression) = self.taken(Expression::parse(&place, text)) {
                expressions.insert((*parameter).to_owned(), expression);
            }
        }
        let source = ComponentSource::Library {
            name: library.to_owned(),
            parameters: expressions,
        };
        self.source.components.push((name.to_owned(), source));
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
        let place = ErrorLocation::new(format!("input {}", shown(name)));
        if let Some(ty) = self.taken(TypeExpression::parse(&place, ty)) {
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
        let place = ErrorLocation::new(format!("value {}", shown(name)));
        if let Some(ty) = self.taken(TypeExpression::parse(&place, ty)) {
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
        let ty = self.taken(TypeExpression::parse(&place, ty));
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

    /// The function, whose parameters are yet to be given.
    ///
    /// # Errors
    ///
    /// The first thing that was wrong: a text that does not parse, a name that is not allowed or
    /// taken, a number past its limit.
    pub fn finish(&mut self) -> Result<FunctionFamily, FunctionError> {
        let Self { source, error, .. } = std::mem::take(self);
        match error {
            Some(error) => Err(error),
            None => FunctionFamily::of_source(source),
        }
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
