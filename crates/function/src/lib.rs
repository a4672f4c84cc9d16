//! Functions: what two parties agree to compute, as a graph of component calls.
//!
//! A function has ports that belong to one of the parties, results that go to one or both, and
//! calls of components in between. It is written with repetition in it: `for` over ranges, arrays
//! whose elements are assigned once under affine indices. It is never flattened: [`Values`] walks
//! its calls with the loops' counters as its state.
//!
//! ```text
//! builder ─▶ source ─▶ lower ─▶ plan ─▶ check ─▶ Function ─▶ Values: call by call
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `expression`, `steps` | indices, steps, and their text |
//! | `builder` | from Rust to a source |
//! | `source` | a function as it is written; canonical text and digests |
//! | `assemble` | from a source to a function |
//! | `lower` | from a source to a plan |
//! | `plan`, `check` | operations and loops; what can be wrong shows before anything runs |
//! | `reading` | which values may stand where |
//! | `promises` | what inputs promise, from the ports that they go into |
//! | `values` | a run over values of any kind |
//! | `schedule` | the order in which a run over XOR shares takes the calls |
//! | `join` | the stage that makes a function's inputs of two joined tables |
//!
//! **Limits**, each an error of its own: 2^16 steps as written, 8 loops in each
//! other, 2^28 steps as run, which read and assign 2^30 elements, 2^25 elements that are assigned
//! or read apart, 2^30 bits live at once or read by one step, 2^24 bits of constants as written.
//! **Cost**: making one walks all calls twice and takes 9 bytes for each such element; a run
//! takes 8 bytes for each, and one value for each bit live at once.
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

use std::convert::Infallible;

pub use tacit_circuit::Role;
use tacit_circuit::{
    Circuit, CircuitError, Component, Digest, Port, Program, Value, decode_values, encode_values,
};
use zeroize::Zeroizing;

use check::Counts;
use plan::Plan;
use source::Source;

/// Who gets a result.
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
    #[must_use]
    pub fn includes(self, role: Role) -> bool {
        match self {
            Self::Garbler => role == Role::Garbler,
            Self::Evaluator => role == Role::Evaluator,
            Self::Both => true,
        }
    }

    /// The recipient's name, as the command line has it.
    #[must_use]
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
    /// Its name and type.
    pub port: Port,
    /// Whose it is.
    pub owner: Role,
}

/// A result of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionOutput {
    /// Its name and type.
    pub port: Port,
    /// Who gets it.
    pub recipient: Recipient,
}

/// What two parties agree to compute.
///
/// # Invariants
///
/// Every element that a call or an output reads was assigned before, and none twice; every
/// argument and result is as wide as its component's port; port names are unique each way.
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
    text: String,
    digest_of_bits: Digest,
    digest: Digest,
    meaning: Option<Digest>,
    program: Option<Digest>,
}

impl Function {
    /// Most elements of all inputs and values together that steps read or assign apart.
    pub const MAX_ELEMENTS: u64 = plan::MAX_GRANULES;

    /// A plain circuit as a function of one call. `owner` says which party owns each input port and
    /// `recipient` who gets each output port; both are asked port by port.
    ///
    /// # Errors
    ///
    /// The circuit passes a limit of functions.
    pub fn of_circuit(
        name: &str,
        circuit: Circuit,
        owner: impl Fn(&Port) -> Role,
        recipient: impl Fn(&Port) -> Recipient,
    ) -> Result<Self, FunctionError> {
        Self::of_component(Component::new(name, circuit), owner, recipient)
    }

    /// [`Function::of_circuit`] of a component, under its name.
    ///
    /// # Errors
    ///
    /// As [`Function::of_circuit`].
    pub fn of_component(
        component: Component,
        owner: impl Fn(&Port) -> Role,
        recipient: impl Fn(&Port) -> Recipient,
    ) -> Result<Self, FunctionError> {
        Self::of_source(Source::of_component(component, owner, recipient))
    }

    /// Its name, for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its parameters and their values, in order, for people.
    #[must_use]
    pub fn parameters(&self) -> &[(String, u64)] {
        &self.parameters
    }

    /// What both parties compare before they run it. The module `source` says what it covers.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The same function, made by what had these parameters. Its digest does not cover them.
    #[must_use]
    pub fn with_parameters(mut self, parameters: Vec<(String, u64)>) -> Self {
        self.parameters = parameters;
        self
    }

    /// The same function of bits with a meaning: what both parties take its bits for, such as the
    /// names of fields and variants and the order that a client sorts by. The function's digest
    /// then covers it, so that parties who read the same bits in other ways do not run together.
    #[must_use]
    pub fn with_meaning(mut self, meaning: Digest) -> Self {
        self.digest = source::digest_with_meaning(self.digest_of_bits, meaning);
        self.meaning = Some(meaning);
        self
    }

    /// The same function as a run of a program: the digest of all that the program's runs do with
    /// what they save. Only runs of one program share a chain.
    #[must_use]
    pub fn of_program(mut self, program: Digest) -> Self {
        self.program = Some(program);
        self
    }

    /// The program that the function is a run of, if it is one.
    #[must_use]
    pub fn program(&self) -> Option<Digest> {
        self.program
    }

    /// The meaning that the function's digest covers, if it has one.
    #[must_use]
    pub fn meaning(&self) -> Option<Digest> {
        self.meaning
    }

    /// The function's digest without its meaning.
    #[must_use]
    pub fn digest_of_bits(&self) -> Digest {
        self.digest_of_bits
    }

    /// The function as text, one step a line, which its digest covers.
    #[must_use]
    pub fn canonical_text(&self) -> &str {
        &self.text
    }

    /// The inputs of both parties, in order.
    #[must_use]
    pub fn inputs(&self) -> &[FunctionInput] {
        &self.inputs
    }

    /// The saved values that it takes, each under the name that it was saved by.
    #[must_use]
    pub fn loads(&self) -> &[Port] {
        &self.loads
    }

    /// The results, in order.
    #[must_use]
    pub fn outputs(&self) -> &[FunctionOutput] {
        &self.outputs
    }

    /// The values that it saves, each under its name.
    #[must_use]
    pub fn saves(&self) -> &[Port] {
        &self.saves
    }

    /// Whether it takes or leaves saved values, which not every protocol can keep.
    #[must_use]
    pub fn has_saved_values(&self) -> bool {
        !self.loads.is_empty() || !self.saves.is_empty()
    }

    /// The components that it calls.
    #[must_use]
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Number of calls that a run makes.
    #[must_use]
    pub fn call_count(&self) -> u32 {
        self.counts.calls
    }

    /// For each of [`Function::components`], how many of the calls are its.
    #[must_use]
    pub fn component_calls(&self) -> &[u32] {
        &self.counts.by_component
    }

    /// Most bits of values that a run holds at once.
    #[must_use]
    pub fn live_bits(&self) -> usize {
        self.plan.places
    }

    /// Number of input bits that belong to `owner`.
    #[must_use]
    pub fn input_bits(&self, owner: Role) -> usize {
        self.inputs
            .iter()
            .filter(|i| i.owner == owner)
            .map(|i| i.port.ty.width())
            .sum()
    }

    /// Number of output bits that go to `role`.
    #[must_use]
    pub fn output_bits(&self, role: Role) -> usize {
        let mine = self
            .outputs
            .iter()
            .filter(|output| output.recipient.includes(role));
        mine.map(|output| output.port.ty.width()).sum()
    }

    /// Compiles the components now, where that was not done before. Runs do it themselves before
    /// they talk to a peer; who meets a peer first has it done before the peer waits.
    pub fn compile(&self) {
        for component in &self.components {
            let _ = component.program();
        }
    }

    /// AND gates over all calls, as compiled, which they then are.
    #[must_use]
    pub fn and_gates(&self) -> u64 {
        self.gates(|program| program.ands().len())
    }

    /// XOR gates over all calls, as compiled, which they then are.
    #[must_use]
    pub fn xor_gates(&self) -> u64 {
        self.gates(|program| program.xors().len())
    }

    fn gates(&self, of: fn(&Program) -> usize) -> u64 {
        let calls = self.counts.by_component.iter();
        let components = self.components.iter().zip(calls);
        // Components that no call names need no program.
        let called = components.filter(|(_, calls)| **calls > 0);
        called
            .map(|(component, calls)| of(component.program()) as u64 * u64::from(*calls))
            .sum()
    }

    /// The function in the clear: all input bits in port order, and then those of loaded values,
    /// to all output bits in port order, and then those of saved values.
    ///
    /// # Panics
    ///
    /// If `inputs` is not as long as the input ports and loaded values are wide.
    #[must_use]
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

    /// The same by the components' programs, for callers that have compiled them; `input` gives
    /// each input bit, in port order, of the port with the number that it is called with. It shares
    /// the compiler's faults, and is no oracle of anything.
    #[must_use]
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

    /// The function in the clear: a value for each input, and then for each loaded value, to those
    /// of all results, and then of saved values. An input is converted to its port's type where
    /// [`Value::convert`] can.
    ///
    /// # Errors
    ///
    /// [`CircuitError::ValueCount`] if the values are not as many as the inputs and loaded values,
    /// [`CircuitError::Value`] if one does not fit its port.
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
}
