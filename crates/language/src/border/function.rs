//! A run as a function between two parties, with each party's inputs and results.

use std::collections::BTreeMap;

use num_traits::ToPrimitive;
use sha2::{Digest as _, Sha256};
use tacit_circuit::{Digest, Value as Bits};
use tacit_function::Function;
use tacit_function::join::JoinPlan;
use zeroize::Zeroizing;

use super::{BorderError, PortValue, Signature};
use crate::Diagnostic;
use crate::lower::{CircuitFiles, LineCosts, Lowered, Watch};
use crate::program::{
    Body, EntryId, Expression, ExpressionKind, InputPort, Program, Statement, StatementKind,
    TypeId, Value,
};

/// A run of a program as a function of bits, with the meaning of the bits.
#[derive(Clone, Debug)]
pub struct TypedFunction {
    signature: Signature,
    function: Function,
    meaning: Digest,
    /// The function's inputs of random bits, one for each party, in the parties' order.
    random: Vec<String>,
    join: Option<JoinPlan>,
}

impl TypedFunction {
    /// Creates the function `name` of a run, with `public` values for all its public inputs. Both
    /// parties agree on these values, which become constants.
    ///
    /// The function's digest covers the run's meaning and the public values. Compiling may take
    /// seconds. The signature can read values and [`Signature::check_size`] can check limits before
    /// that, both at once.
    ///
    /// # Errors
    ///
    /// A public input has no value, the run exceeds a limit, or a circuit file that it uses does
    /// not exist.
    pub fn new(
        signature: Signature,
        name: &str,
        public: &BTreeMap<String, PortValue>,
        files: &dyn CircuitFiles,
    ) -> Result<Self, BorderError> {
        Self::watched(signature, name, public, files, &|_| {})
    }

    /// Creates the function like [`TypedFunction::new`], and reports progress to `watch`.
    ///
    /// # Errors
    ///
    /// Those of [`TypedFunction::new`].
    pub fn watched(
        signature: Signature,
        name: &str,
        public: &BTreeMap<String, PortValue>,
        files: &dyn CircuitFiles,
        watch: Watch<'_>,
    ) -> Result<Self, BorderError> {
        let agreed = Agreed::new(&signature, public, files)?;
        let program = &agreed.program;
        let lowered = program.lower_watched(name, signature.id, files, watch);
        Ok(agreed.function(signature, lowered.map_err(wrong)?))
    }

    /// Creates the function like [`TypedFunction::new`], and returns the costs of each line.
    ///
    /// # Errors
    ///
    /// Those of [`TypedFunction::new`].
    pub fn with_costs(
        signature: Signature,
        name: &str,
        public: &BTreeMap<String, PortValue>,
        files: &dyn CircuitFiles,
    ) -> Result<(Self, LineCosts), BorderError> {
        let agreed = Agreed::new(&signature, public, files)?;
        let lowered = agreed.program.lower_with_costs(name, signature.id, files);
        let (lowered, costs) = lowered.map_err(wrong)?;
        Ok((agreed.function(signature, lowered), costs))
    }

    /// Returns the ports and the types of their values.
    #[must_use]
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Returns the function of bits, which two parties run.
    #[must_use]
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// Returns the join of two tables, if the run joins any. The stage of the join provides two
    /// inputs of the function.
    #[must_use]
    pub fn join(&self) -> Option<&JoinPlan> {
        self.join.as_ref()
    }

    /// Returns the digest of the program's meaning: [`Signature::meaning`].
    #[must_use]
    pub fn meaning(&self) -> Digest {
        self.meaning
    }

    /// Returns the function's inputs of a party, except those that the stage of a join provides.
    /// These are the bits of `values`, and random bits that this party draws by `draw`, which fills
    /// bytes from the machine's own randomness. The run uses the XOR of both parties' random bits.
    ///
    /// # Errors
    ///
    /// An input of the party has no value.
    pub fn inputs(
        &self,
        party: usize,
        values: &BTreeMap<String, PortValue>,
        draw: &mut dyn FnMut(&mut [u8]),
    ) -> Result<BTreeMap<String, Bits>, BorderError> {
        self.signature.check_given(party, values)?;
        let role = self.signature.role(party);
        let mut inputs = BTreeMap::new();
        for input in self
            .function
            .inputs()
            .iter()
            .filter(|input| input.owner == role)
        {
            let (name, ty) = (&input.port.name, &input.port.ty);
            if self.join.as_ref().is_some_and(|join| join.gives(name)) {
                continue;
            }
            let bits = if self.random.get(party) == Some(name) {
                random_bits(ty.width(), draw)
            } else {
                values[name].bits.clone()
            };
            inputs.insert(name.clone(), Bits::from_bits(ty, &bits)?);
        }
        Ok(inputs)
    }

    /// Returns the results that a run gave a party, in the order of the program's results.
    ///
    /// # Errors
    ///
    /// The results belong to another function.
    pub fn results(
        &self,
        results: &BTreeMap<String, Bits>,
    ) -> Result<Vec<(&str, PortValue)>, BorderError> {
        let mut values = Vec::new();
        for port in self.signature.results() {
            let name = port.name.as_str();
            let Some(value) = results.get(name) else {
                continue;
            };
            let bits = value.to_bits();
            if bits.len() as u64 != self.signature.program.types.width(port.ty) {
                let text = format!("{name} is a result of another function");
                return Err(BorderError::Request(text));
            }
            values.push((name, PortValue::of_bits(port.ty, bits)));
        }
        Ok(values)
    }
}

fn wrong(error: Diagnostic) -> BorderError {
    BorderError::Program(vec![error])
}

impl Signature {
    /// Checks that each public input has a value.
    ///
    /// # Errors
    ///
    /// A public input has no value.
    pub fn check_public(&self, public: &BTreeMap<String, PortValue>) -> Result<(), BorderError> {
        let inputs = self.inputs().iter();
        let mut inputs = inputs.filter(|input| input.owner.is_none());
        inputs.try_for_each(|input| self.public_value(input, public).map(drop))
    }

    fn public_value<'v>(
        &self,
        input: &InputPort,
        public: &'v BTreeMap<String, PortValue>,
    ) -> Result<&'v PortValue, BorderError> {
        public.get(input.name.as_str()).ok_or_else(|| {
            BorderError::Request(format!(
                "the public input {:?} of type {} has no value; both parties give it the same",
                input.name.as_str(),
                self.type_name(input.ty)
            ))
        })
    }
}

/// A run with values for its public inputs.
struct Agreed {
    /// The program in which the public inputs are constants.
    program: Program,
    meaning: Digest,
    /// The digest of the meaning and the values.
    digest: Digest,
    /// The digest that binds a chain to the program.
    chain: Option<Digest>,
}

impl Agreed {
    fn new(
        signature: &Signature,
        public: &BTreeMap<String, PortValue>,
        files: &dyn CircuitFiles,
    ) -> Result<Self, BorderError> {
        let meaning = signature.meaning(files)?;
        let chain = signature.program().chain_digest(files)?;
        let program = &signature.program;
        let mut values = Vec::new();
        let mut digest = Sha256::new_with_prefix(b"tacit public inputs v1\0");
        digest.update(meaning.0);
        for (place, input) in signature.inputs().iter().enumerate() {
            if input.owner.is_some() {
                continue;
            }
            let value = signature.public_value(input, public)?;
            let bytes: Vec<u8> = value.bits.iter().map(|bit| u8::from(*bit)).collect();
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(&bytes);
            values.push((place, program.types.value_of_bits(input.ty, &value.bits)));
        }
        let digest = if values.is_empty() {
            meaning
        } else {
            Digest(digest.finalize().into())
        };
        let program = program.with_known_inputs(signature.id, values);
        Ok(Self {
            program,
            meaning,
            digest,
            chain,
        })
    }

    fn function(&self, signature: Signature, lowered: Lowered) -> TypedFunction {
        let params = signature.params().iter();
        let params =
            params.filter_map(|param| Some((param.name.to_string(), param.value.to_u64()?)));
        let function = lowered.function.with_parameters(params.collect());
        let function = function.with_meaning(self.digest);
        TypedFunction {
            function: match self.chain {
                Some(program) => function.of_program(program),
                None => function,
            },
            signature,
            meaning: self.meaning,
            random: lowered.random,
            join: lowered.join,
        }
    }
}

fn random_bits(width: usize, draw: &mut dyn FnMut(&mut [u8])) -> Zeroizing<Vec<bool>> {
    let mut bytes = Zeroizing::new(vec![0; width.div_ceil(8)]);
    draw(&mut bytes);
    let bit = |place: usize| bytes[place / 8] >> (place % 8) & 1 == 1;
    Zeroizing::new((0..width).map(bit).collect())
}

impl Program {
    /// Returns the program in which the inputs of a run at these places are constants.
    pub(crate) fn with_known_inputs(&self, id: EntryId, known: Vec<(usize, Value)>) -> Self {
        let mut program = self.clone();
        let entry = &mut program.entries[id.0 as usize];
        let function = &mut program.functions[entry.function.0 as usize];
        let Body::Block(block) = &mut function.body else {
            return program;
        };
        for (place, value) in known.into_iter().rev() {
            let (input, local) = (
                entry.inputs.remove(place),
                function.parameters.remove(place),
            );
            if let Some(join) = &mut entry.join {
                for table in join.tables.iter_mut().filter(|table| **table > place) {
                    *table -= 1;
                }
            }
            let value = constant(input.ty, value, entry.span);
            let kind = StatementKind::Let(local, value);
            let span = entry.span;
            block.statements.insert(0, Statement { kind, span });
        }
        program
    }
}

fn constant(ty: TypeId, value: Value, span: crate::Span) -> Expression {
    let kind = ExpressionKind::Constant(value);
    Expression { kind, ty, span }
}
