//! Functions: what two parties agree to compute, as a graph of component calls.
//!
//! A function has ports that belong to one of the parties, results that go to one or both, and
//! calls of components in between. Its values live in one flat space of bits: the input ports
//! first, in order, and then whatever the calls write. A protocol walks the calls in order and
//! keeps one wire for each bit of that space, so that the function is never flattened into one
//! circuit.
//!
//! # Digest
//!
//! SHA-256 over the fields below, after the tag `tacit function 1\0`. Numbers are little-endian
//! `u32`, strings their length and bytes.
//!
//! | field | bytes |
//! |---|---|
//! | number of inputs; for each its name, its type as text, its owner (1 garbler, 2 evaluator) | |
//! | number of components; for each its circuit's digest | 32 each |
//! | number of calls; for each its component, the number of its arguments, and for each argument its first bit and width | |
//! | number of outputs; for each its name, its type as text, its recipient (1 garbler, 2 evaluator, 3 both), the number of its parts, and for each its first bit and width | |
//!
//! Where a call writes follows from the calls before it, so it is not digested. The function's own
//! name and its components' names are not part of it either.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::{Circuit, Digest, FunctionError, Port, Program, Type};

/// One of the two parties, by what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Makes the garbled circuit.
    Garbler,
    /// Evaluates it.
    Evaluator,
}

impl Role {
    /// The other party.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Garbler => Self::Evaluator,
            Self::Evaluator => Self::Garbler,
        }
    }

    /// The role's name, as the command line has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Garbler => "garbler",
            Self::Evaluator => "evaluator",
        }
    }
}

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

/// A circuit with a name, compiled once; its identity is its circuit's digest.
#[derive(Clone, Debug)]
pub struct Component {
    name: String,
    circuit: Arc<Circuit>,
    program: Arc<Program>,
}

impl Component {
    /// Compiles `circuit` as the component `name`.
    #[must_use]
    pub fn new(name: impl Into<String>, circuit: Circuit) -> Self {
        let program = Arc::new(Program::compile(&circuit));
        Self { name: name.into(), circuit: Arc::new(circuit), program }
    }

    /// Its name, for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The circuit.
    #[must_use]
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// The circuit compiled for garbling.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }
}

/// A run of bits in a function's space of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// The first bit.
    pub start: u32,
    /// How many.
    pub width: u32,
}

impl Bits {
    /// The bits as a range of indices.
    #[must_use]
    pub fn range(self) -> core::ops::Range<usize> {
        self.start as usize..(self.start + self.width) as usize
    }

    /// `width` of these bits from the `offset`-th on, or `None` where they end before that.
    #[must_use]
    pub fn slice(self, offset: u32, width: u32) -> Option<Self> {
        (offset.checked_add(width)? <= self.width)
            .then_some(Self { start: self.start + offset, width })
    }
}

/// An input of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionInput {
    /// Its name and type.
    pub port: Port,
    /// Whose it is.
    pub owner: Role,
    /// Where it stands.
    pub bits: Bits,
}

/// An output of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionOutput {
    /// Its name and type.
    pub port: Port,
    /// Who gets it.
    pub recipient: Recipient,
    /// The bits that make it up, one part after the other.
    pub parts: Vec<Bits>,
}

/// One call of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which component, an index into [`Function::components`].
    pub component: usize,
    /// The bits that make up its input, one after the other.
    pub arguments: Vec<Bits>,
    /// Where its output goes.
    pub results: Bits,
}

/// What two parties agree to compute.
///
/// # Invariants
///
/// Every bit that a call or an output reads was written by an input or by an earlier call; a
/// call's arguments are together as wide as its component's input; port names are unique.
#[derive(Clone, Debug)]
pub struct Function {
    name: String,
    inputs: Vec<FunctionInput>,
    outputs: Vec<FunctionOutput>,
    components: Vec<Component>,
    calls: Vec<Call>,
    value_bits: u32,
    digest: Digest,
}

impl Function {
    /// A plain circuit as a function of one call. `owner` says whose each input port is and
    /// `recipient` who gets each output port; both are asked port by port.
    ///
    /// # Errors
    ///
    /// What `owner` or `recipient` answers with.
    pub fn of_circuit(
        name: &str,
        circuit: Circuit,
        mut owner: impl FnMut(&Port) -> Result<Role, FunctionError>,
        mut recipient: impl FnMut(&Port) -> Result<Recipient, FunctionError>,
    ) -> Result<Self, FunctionError> {
        let (inputs, outputs) = (circuit.inputs().to_vec(), circuit.outputs().to_vec());
        let mut builder = FunctionBuilder::new(name);
        let component = builder.component(Component::new(name, circuit));
        let mut arguments = Vec::new();
        for port in inputs {
            let owner = owner(&port)?;
            arguments.push(builder.input(&port.name, port.ty, owner)?);
        }
        let results = builder.call(component, &arguments)?;
        for (port, bits) in outputs.into_iter().zip(results) {
            let recipient = recipient(&port)?;
            builder.output(&port.name, port.ty, recipient, &[bits])?;
        }
        Ok(builder.finish())
    }

    /// Its name, for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What both parties compare before they run it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The inputs of both parties, in order.
    #[must_use]
    pub fn inputs(&self) -> &[FunctionInput] {
        &self.inputs
    }

    /// The results, in order.
    #[must_use]
    pub fn outputs(&self) -> &[FunctionOutput] {
        &self.outputs
    }

    /// The components that it calls.
    #[must_use]
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// The calls, in the order in which they run.
    #[must_use]
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The component and the program of a call.
    #[must_use]
    pub fn program(&self, call: &Call) -> &Program {
        self.components[call.component].program()
    }

    /// Size of the space of values, in bits.
    #[must_use]
    pub fn value_bits(&self) -> usize {
        self.value_bits as usize
    }

    /// Number of input bits that belong to `owner`.
    #[must_use]
    pub fn input_bits(&self, owner: Role) -> usize {
        self.inputs.iter().filter(|i| i.owner == owner).map(|i| i.bits.width as usize).sum()
    }

    /// Number of output bits that go to `role`.
    #[must_use]
    pub fn output_bits(&self, role: Role) -> usize {
        let mine = self.outputs.iter().filter(|output| output.recipient.includes(role));
        mine.flat_map(|output| &output.parts).map(|bits| bits.width as usize).sum()
    }

    /// AND gates over all calls.
    #[must_use]
    pub fn and_gates(&self) -> u64 {
        self.calls.iter().map(|call| self.program(call).ands().len() as u64).sum()
    }

    /// XOR gates over all calls, as compiled.
    #[must_use]
    pub fn xor_gates(&self) -> u64 {
        self.calls.iter().map(|call| self.program(call).xors().len() as u64).sum()
    }

    /// The function in the clear: all input bits in port order to all output bits in port order.
    ///
    /// # Panics
    ///
    /// If `inputs` is not as long as the input ports are wide.
    #[must_use]
    pub fn evaluate(&self, inputs: &[bool]) -> Vec<bool> {
        let mut values = vec![false; self.value_bits()];
        values[..inputs.len()].copy_from_slice(inputs);
        assert_eq!(
            inputs.len(),
            self.input_bits(Role::Garbler) + self.input_bits(Role::Evaluator),
            "as many input bits as the function has"
        );
        for call in &self.calls {
            let arguments = gather(&values, &call.arguments);
            let results = self.components[call.component].circuit().evaluate(&arguments);
            values[call.results.range()].copy_from_slice(&results);
        }
        self.outputs.iter().flat_map(|output| gather(&values, &output.parts)).collect()
    }
}

/// The items of `values` that `parts` name, one part after the other.
pub fn gather<T: Copy>(values: &[T], parts: &[Bits]) -> Vec<T> {
    let mut gathered = Vec::with_capacity(parts.iter().map(|bits| bits.width as usize).sum());
    for bits in parts {
        gathered.extend_from_slice(&values[bits.range()]);
    }
    gathered
}

/// Names a component within the [`FunctionBuilder`] that issued it.
#[derive(Clone, Copy, Debug)]
pub struct ComponentId(usize);

/// Makes a function call by call.
#[derive(Debug)]
pub struct FunctionBuilder {
    name: String,
    inputs: Vec<FunctionInput>,
    outputs: Vec<FunctionOutput>,
    components: Vec<Component>,
    calls: Vec<Call>,
    value_bits: u32,
}

impl FunctionBuilder {
    /// Most bits that a function's space of values may have.
    pub const MAX_VALUE_BITS: u32 = 1 << 30;

    /// A function without ports or calls.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            components: Vec::new(),
            calls: Vec::new(),
            value_bits: 0,
        }
    }

    /// Makes a component known, to be called any number of times.
    pub fn component(&mut self, component: Component) -> ComponentId {
        self.components.push(component);
        ComponentId(self.components.len() - 1)
    }

    /// An input port of `owner`.
    ///
    /// # Errors
    ///
    /// The name is taken, a call was made before, or the space of values is full.
    pub fn input(&mut self, name: &str, ty: Type, owner: Role) -> Result<Bits, FunctionError> {
        if !self.calls.is_empty() {
            return Err(FunctionError::InputAfterCall { port: name.to_owned() });
        }
        if self.inputs.iter().any(|input| input.port.name == name) {
            return Err(FunctionError::DuplicatePort { port: name.to_owned() });
        }
        let bits = self.allocate(ty.width(), name)?;
        self.inputs.push(FunctionInput { port: Port { name: name.to_owned(), ty }, owner, bits });
        Ok(bits)
    }

    /// Calls `component` on `arguments`, which together are as wide as its input. Returns the bits
    /// of each of its output ports.
    ///
    /// # Errors
    ///
    /// The arguments are too wide or too narrow, or are not yet written; or the space is full.
    pub fn call(
        &mut self,
        component: ComponentId,
        arguments: &[Bits],
    ) -> Result<Vec<Bits>, FunctionError> {
        let called = self
            .components
            .get(component.0)
            .ok_or_else(|| FunctionError::UnknownComponent { call: self.calls.len() })?;
        let (name, expected) = (called.name.clone(), called.circuit.input_bits());
        let ports: Vec<usize> = called.circuit.outputs().iter().map(|p| p.ty.width()).collect();
        self.check_written(arguments, &name)?;
        let found = arguments.iter().map(|bits| bits.width as usize).sum();
        if found != expected {
            return Err(FunctionError::ArgumentWidth {
                call: self.calls.len(),
                component: name,
                expected,
                found,
            });
        }
        let results = self.allocate(ports.iter().sum(), &name)?;
        self.calls.push(Call { component: component.0, arguments: arguments.to_vec(), results });
        let mut start = results.start;
        let bits = ports.into_iter().map(|width| {
            let width = width as u32;
            start += width;
            Bits { start: start - width, width }
        });
        Ok(bits.collect())
    }

    /// An output port made up of `parts`.
    ///
    /// # Errors
    ///
    /// The name is taken, the parts' width is not the type's, or they are not yet written.
    pub fn output(
        &mut self,
        name: &str,
        ty: Type,
        recipient: Recipient,
        parts: &[Bits],
    ) -> Result<(), FunctionError> {
        if self.outputs.iter().any(|output| output.port.name == name) {
            return Err(FunctionError::DuplicatePort { port: name.to_owned() });
        }
        self.check_written(parts, name)?;
        let found: usize = parts.iter().map(|bits| bits.width as usize).sum();
        if found != ty.width() {
            let (port, expected) = (name.to_owned(), ty.width());
            return Err(FunctionError::OutputWidth { port, expected, found });
        }
        let port = Port { name: name.to_owned(), ty };
        self.outputs.push(FunctionOutput { port, recipient, parts: parts.to_vec() });
        Ok(())
    }

    /// The function.
    #[must_use]
    pub fn finish(self) -> Function {
        let digest = self.digest();
        let Self { name, inputs, outputs, components, calls, value_bits } = self;
        Function { name, inputs, outputs, components, calls, value_bits, digest }
    }

    fn allocate(&mut self, width: usize, at: &str) -> Result<Bits, FunctionError> {
        let end = self.value_bits as usize + width;
        if end > Self::MAX_VALUE_BITS as usize {
            return Err(FunctionError::TooManyBits { at: at.to_owned() });
        }
        let bits = Bits { start: self.value_bits, width: width as u32 };
        self.value_bits = end as u32;
        Ok(bits)
    }

    fn check_written(&self, parts: &[Bits], at: &str) -> Result<(), FunctionError> {
        let written = |bits: &Bits| {
            bits.start.checked_add(bits.width).is_some_and(|end| end <= self.value_bits)
        };
        if parts.iter().all(written) {
            Ok(())
        } else {
            Err(FunctionError::NotYetWritten { at: at.to_owned() })
        }
    }

    fn digest(&self) -> Digest {
        let mut hash = Sha256::new_with_prefix(b"tacit function 1\0");
        let number = |hash: &mut Sha256, n: usize| hash.update((n as u32).to_le_bytes());
        let port = |hash: &mut Sha256, port: &Port| {
            for text in [port.name.as_str(), &port.ty.to_string()] {
                hash.update((text.len() as u32).to_le_bytes());
                hash.update(text);
            }
        };
        number(&mut hash, self.inputs.len());
        for input in &self.inputs {
            port(&mut hash, &input.port);
            hash.update([match input.owner {
                Role::Garbler => 1,
                Role::Evaluator => 2,
            }]);
        }
        number(&mut hash, self.components.len());
        for component in &self.components {
            hash.update(component.circuit.digest().0);
        }
        number(&mut hash, self.calls.len());
        for call in &self.calls {
            number(&mut hash, call.component);
            digest_parts(&mut hash, &call.arguments);
        }
        number(&mut hash, self.outputs.len());
        for output in &self.outputs {
            port(&mut hash, &output.port);
            hash.update([match output.recipient {
                Recipient::Garbler => 1,
                Recipient::Evaluator => 2,
                Recipient::Both => 3,
            }]);
            digest_parts(&mut hash, &output.parts);
        }
        Digest(hash.finalize().into())
    }
}

fn digest_parts(hash: &mut Sha256, parts: &[Bits]) {
    hash.update((parts.len() as u32).to_le_bytes());
    for bits in parts {
        hash.update(bits.start.to_le_bytes());
        hash.update(bits.width.to_le_bytes());
    }
}
