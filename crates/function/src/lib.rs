//! Functions: a computation on which two parties agree, as a graph of component calls.
//!
//! A function has ports that belong to one of the parties, results that go to one or both, and
//! calls of components in between. It is written with repetition: `for` over ranges, and arrays
//! whose elements are assigned under affine indices: once, or again in a *variable*, such as the
//! rows that a sorting network exchanges. It is never flattened: [`Values`] walks
//! its calls with the loops' counters as its only state.
//!
//! ```text
//! builder ─▶ source ─▶ lower ─▶ plan ─▶ check ─▶ Function ─▶ Values: call by call
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `expression`, `steps` | indices, steps, and their text |
//! | `builder` | from Rust to a source |
//! | `source` | a function in its written form; canonical text and digests |
//! | `assemble` | from a source to a function |
//! | `lower` | from a source to a plan |
//! | `plan`, `check` | operations and loops; every error is found before anything runs |
//! | `reading` | the values that may go into a port |
//! | `promises` | the promises of inputs, from the ports that they go into |
//! | `values` | a run over values of any kind |
//! | `schedule` | the order in which a run over XOR shares takes the calls |
//! | `join` | the stage that makes a function's inputs from two joined tables |
//!
//! **Limits**, each with its own error: 2^16 steps as written, 8 nested loops, 2^28 steps as run,
//! which together read and assign 2^30 elements, 2^25 elements that are assigned or read
//! separately, 2^30 bits live at once or read by one step, and 2^24 bits of constants as written.
//! **Cost**: building a function walks all calls twice and takes 9 bytes for each such element. A
//! run takes 8 bytes for each element, and one value for each bit that is live at once. A function
//! that runs [over shares](FunctionBuilder::over_shares) has no such values: building it walks all
//! calls once and takes a byte for each element, and the limit on live bits is for [`Values`]
//! alone.
//!
//! **Streams.** In such a function, a loop that stands in no other one, around a single call, is a
//! *stream* if each turn assigns the elements behind those of the turn before, and reads elements
//! behind those that it read, or the same ones. It is checked and scheduled as a loop, in a time
//! and a memory that do not depend on its turns: they count as one step, and elements that streams
//! alone assign, or inputs, count for no limit but 2^31 elements in all. A function makes up to
//! 2^30 calls. Turns that do not read what the turn before read, moved on by whole calls, are
//! scheduled one by one. All of these together read and assign up to 2^30 elements.
#![forbid(unsafe_code)]

mod assemble;
mod builder;
mod check;
mod error;
mod expression;
pub mod join;
mod lower;
mod plan;
mod promises;
mod reading;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
pub mod schedule;
mod source;
mod steps;
#[cfg(test)]
mod tests;
mod values;

pub use builder::FunctionBuilder;
pub use error::{ErrorLocation, FunctionError};
pub use expression::Expression;
pub use schedule::Schedule;
pub use steps::{Operand, Part};
pub use values::{Call, Outputs, Step, Values};

use std::borrow::Cow;
use std::convert::Infallible;

pub use tacit_circuit::Role;
use tacit_circuit::{
    Circuit, CircuitError, Component, Digest, Port, Program, Value, decode_values, encode_values,
};
use zeroize::Zeroizing;

use check::Counts;
use plan::{Plan, WalkPlan};
use source::Source;

/// The recipient of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recipient {
    /// The garbler alone.
    Garbler,
    /// The evaluator alone.
    Evaluator,
    /// Both parties.
    Both,
}

impl Recipient {
    /// Whether `role` gets the result.
    pub fn includes(self, role: Role) -> bool {
        match self {
            Self::Garbler => role == Role::Garbler,
            Self::Evaluator => role == Role::Evaluator,
            Self::Both => true,
        }
    }

    /// Returns the recipient's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Garbler => "garbler",
            Self::Evaluator => "evaluator",
            Self::Both => "both",
        }
    }
}

/// An input of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionInput {
    /// The name and type.
    pub port: Port,
    /// The owner.
    pub owner: Role,
}

/// A result of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionOutput {
    /// The name and type.
    pub port: Port,
    /// The recipient.
    pub recipient: Recipient,
}

/// A function on which two parties agree.
///
/// # Invariants
///
/// Every element that a call or an output reads was assigned before, and no element is assigned
/// twice, except in variables. Every argument and result is as wide as its component's port. Port
/// names are unique among inputs and among outputs.
#[derive(Clone, Debug)]
pub struct Function {
    name: String,
    parameters: Vec<(String, u64)>,
    inputs: Vec<FunctionInput>,
    loads: Vec<Port>,
    outputs: Vec<FunctionOutput>,
    saves: Vec<Port>,
    components: Vec<Component>,
    plan: Plan,
    counts: Counts,
    /// The plan of a walk that keeps values. A function over shares makes it when it is walked.
    walk_plan: Option<WalkPlan>,
    text: String,
    digest_of_bits: Digest,
    digest: Digest,
    meaning: Option<Digest>,
    program: Option<Digest>,
}

impl Function {
    /// The most elements that steps read or assign separately, over all inputs and values.
    pub const MAX_ELEMENTS: u64 = plan::MAX_GRANULES;

    /// Creates a function of one call from a plain circuit. `owner` returns the party that owns an
    /// input port, and `recipient` who gets an output port. Both are called for each port.
    ///
    /// # Errors
    ///
    /// The circuit exceeds a limit of functions.
    pub fn of_circuit(
        name: &str,
        circuit: Circuit,
        owner: impl Fn(&Port) -> Role,
        recipient: impl Fn(&Port) -> Recipient,
    ) -> Result<Self, FunctionError> {
        Self::of_component(Component::new(name, circuit), owner, recipient)
    }

    /// Creates a function from a component as [`Function::of_circuit`] does, under the component's
    /// name.
    ///
    /// # Errors
    ///
    /// The same as for [`Function::of_circuit`].
    pub fn of_component(
        component: Component,
        owner: impl Fn(&Port) -> Role,
        recipient: impl Fn(&Port) -> Recipient,
    ) -> Result<Self, FunctionError> {
        Self::of_source(Source::of_component(component, owner, recipient))
    }

    /// Returns the function's name, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the parameters and their values, in order, for people.
    pub fn parameters(&self) -> &[(String, u64)] {
        &self.parameters
    }

    /// Returns the digest that both parties compare before they run the function. The module
    /// `source` says what it covers.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the same function, marked as made with these parameters. Its digest does not cover
    /// them.
    #[must_use]
    pub fn with_parameters(mut self, parameters: Vec<(String, u64)>) -> Self {
        self.parameters = parameters;
        self
    }

    /// Returns the same function with a meaning of its bits, such as the names of fields and
    /// variants, and the order by which a client sorts. The function's digest then covers the
    /// meaning, so that parties who read the same bits differently do not run together.
    #[must_use]
    pub fn with_meaning(mut self, meaning: Digest) -> Self {
        self.digest = source::digest_with_meaning(self.digest_of_bits, meaning);
        self.meaning = Some(meaning);
        self
    }

    /// Returns the same function as a run of a program. `program` is the digest of everything that
    /// the program's runs do with saved values. Only runs of one program share a chain.
    #[must_use]
    pub fn of_program(mut self, program: Digest) -> Self {
        self.program = Some(program);
        self
    }

    /// Returns the program, if the function is a run of one.
    pub fn program(&self) -> Option<Digest> {
        self.program
    }

    /// Returns the meaning that the function's digest covers, if it has one.
    pub fn meaning(&self) -> Option<Digest> {
        self.meaning
    }

    /// Returns the function's digest without its meaning.
    pub fn digest_of_bits(&self) -> Digest {
        self.digest_of_bits
    }

    /// Returns the function as text, with one step per line. The digest covers this text.
    pub fn canonical_text(&self) -> &str {
        &self.text
    }

    /// Returns the inputs of both parties, in order.
    pub fn inputs(&self) -> &[FunctionInput] {
        &self.inputs
    }

    /// Returns the saved values that the function loads, each under the name by which it was saved.
    pub fn loads(&self) -> &[Port] {
        &self.loads
    }

    /// Returns the results, in order.
    pub fn outputs(&self) -> &[FunctionOutput] {
        &self.outputs
    }

    /// Returns the values that the function saves, each under its name.
    pub fn saves(&self) -> &[Port] {
        &self.saves
    }

    /// Whether the function loads or saves values, which not every protocol can keep.
    pub fn has_saved_values(&self) -> bool {
        !self.loads.is_empty() || !self.saves.is_empty()
    }

    /// Returns the components that the function calls.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Returns the number of calls in a run.
    pub fn call_count(&self) -> u32 {
        self.counts.calls
    }

    /// Returns the number of calls of each of [`Function::components`].
    pub fn component_calls(&self) -> &[u32] {
        &self.counts.by_component
    }

    /// Whether the function was built to run [over shares](FunctionBuilder::over_shares). It may
    /// then be too large for [`Values`].
    pub fn is_over_shares(&self) -> bool {
        self.walk_plan.is_none()
    }

    /// Returns the most bits of values that a walk by [`Values`] holds at once.
    ///
    /// # Panics
    ///
    /// The same as for [`Values::new`].
    pub fn live_bits(&self) -> usize {
        self.walk_plan().places
    }

    /// Returns the number of input bits that belong to `owner`.
    pub fn input_bits(&self, owner: Role) -> usize {
        self.inputs
            .iter()
            .filter(|i| i.owner == owner)
            .map(|i| i.port.ty.width())
            .sum()
    }

    /// Returns the number of output bits that go to `role`.
    pub fn output_bits(&self, role: Role) -> usize {
        let mine = self
            .outputs
            .iter()
            .filter(|output| output.recipient.includes(role));
        mine.map(|output| output.port.ty.width()).sum()
    }

    /// Compiles the components now, if they are not compiled yet. A run does this itself before it
    /// talks to a peer. Call it earlier if a peer would otherwise wait for it.
    pub fn compile(&self) {
        for component in &self.components {
            let _ = component.program();
        }
    }

    /// Returns the number of AND gates over all calls, after compiling the components.
    pub fn and_gates(&self) -> u64 {
        self.gates(|program| program.ands().len())
    }

    /// Returns the number of XOR gates over all calls, after compiling the components.
    pub fn xor_gates(&self) -> u64 {
        self.gates(|program| program.xors().len())
    }

    fn gates(&self, of: fn(&Program) -> usize) -> u64 {
        let calls = self.counts.by_component.iter();
        let components = self.components.iter().zip(calls);
        // Components that are never called need no program.
        let called = components.filter(|(_, calls)| **calls > 0);
        called
            .map(|(component, calls)| of(component.program()) as u64 * u64::from(*calls))
            .sum()
    }

    /// Evaluates the function in the clear. It takes all input bits in port order, followed by
    /// those of loaded values. It returns all output bits in port order, followed by those of saved
    /// values.
    ///
    /// # Panics
    ///
    /// If the length of `inputs` is not the width of the input ports and loaded values together.
    pub fn evaluate(&self, inputs: &[bool]) -> Vec<bool> {
        let ports = self.inputs.iter().map(|input| &input.port);
        let widths = ports.chain(&self.loads).map(|port| port.ty.width());
        assert_eq!(
            inputs.len(),
            widths.sum::<usize>(),
            "as many input bits as the function has"
        );
        let mut bits = inputs.iter().copied();
        let input = |_| bits.next().unwrap_or_default();
        let outputs = self.walk(input, |component, bits| component.circuit().evaluate(bits));
        outputs.all().to_vec()
    }

    /// Evaluates the function with the components' programs, for callers that have compiled them.
    /// `input` is called for each input bit, in port order, with the number of the bit's port. This
    /// shares the compiler's faults, so it is not an independent reference.
    pub fn interpret(&self, input: impl FnMut(usize) -> bool) -> Outputs<'_, bool> {
        self.walk(input, |component, bits| component.program().interpret(bits))
    }

    fn walk(
        &self,
        mut input: impl FnMut(usize) -> bool,
        call: impl Fn(&Component, &[bool]) -> Vec<bool>,
    ) -> Outputs<'_, bool> {
        let input = |port| Ok::<_, Infallible>(input(port));
        let Ok(mut values) = Values::new(self, input);
        while let Some(next) = values.next_call(|bit| bit) {
            let results = Zeroizing::new(call(next.component, values.arguments()));
            values.finish_call(&results);
        }
        values.outputs(|bit| bit)
    }

    /// Evaluates the function in the clear on values: one for each input, followed by one for each
    /// loaded value. Returns the values of all results, followed by those of saved values. An input
    /// is converted to its port's type if [`Value::convert`] can do that.
    ///
    /// # Errors
    ///
    /// [`CircuitError::ValueCount`] if the number of values is not that of the inputs and loaded
    /// values, [`CircuitError::Value`] if one does not fit its port.
    pub fn evaluate_values(&self, inputs: &[Value]) -> Result<Vec<Value>, CircuitError> {
        let ports = self.inputs.iter().map(|input| &input.port);
        let bits = encode_values(ports.chain(&self.loads), inputs)?;
        let results = Zeroizing::new(self.evaluate(&bits));
        let ports = self.outputs.iter().map(|output| &output.port);
        Ok(decode_values(ports.chain(&self.saves), &results))
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns what a walk that keeps values needs.
    fn walk_plan(&self) -> Cow<'_, WalkPlan> {
        if let Some(walk_plan) = &self.walk_plan {
            return Cow::Borrowed(walk_plan);
        }
        match check::check_walk(&self.plan, self.components.len()) {
            Ok((_, walk_plan)) => Cow::Owned(walk_plan),
            Err(error) => panic!("a function over shares is walked by its schedule: {error}"),
        }
    }
}
