//! The digest of a run's meaning.
//!
//! The digest is SHA-256 over the tag below and a walk of the typed program that starts at the run:
//! its params with their ranges and values, its parties, states and ports, and the functions that
//! it calls, in the order of their first calls. Types, functions and variables are numbered in the
//! order in which they first appear, and types come with all their names. Every word is preceded by
//! its length, every node by its kind and every list by its count, so that no two programs have the
//! same bytes.
//!
//! The digest does not cover comments, places in the source, the names of functions, variables and
//! counters, or the choice of functions that are components.

use std::collections::{HashMap, VecDeque};

use num_bigint::BigInt;
use sha2::{Digest as _, Sha256};
use tacit_circuit::Digest;
use tacit_function::join::{Counted, KeyKind, KeyNormalization};

use super::BorderError;
use crate::lower::CircuitFiles;
use crate::program::{
    Block, Body, Condition, EntryId, Expression, ExpressionKind, Function, FunctionId,
    GenericValue, InputPort, Join, LocalId, Number, NumberOperator, OutputPort, Program, Root,
    Statement, StatementKind, Step, TypeId, TypeKind, Value, ValuePath,
};
use crate::source::Symbol;

/// The tag, with the edition of the language that defines these meanings.
const TAG: &[u8] = b"tacit meaning, edition 1\0";
const CHAIN_TAG: &[u8] = b"tacit chain, edition 1\0";

/// Returns the meaning of a run.
pub(super) fn digest(
    program: &Program,
    id: EntryId,
    files: &dyn CircuitFiles,
) -> Result<Digest, String> {
    let mut walk = MeaningHasher {
        program,
        files,
        hash: Sha256::new_with_prefix(TAG),
        types: HashMap::new(),
        numbers: HashMap::new(),
        functions: VecDeque::new(),
    };
    walk.program(id);
    walk.refer(program.entries[id.0 as usize].function);
    while let Some(function) = walk.functions.pop_front() {
        walk.function(&program.functions[function.0 as usize])?;
    }
    Ok(Digest(walk.hash.finalize().into()))
}

impl Program {
    /// Returns the digest that binds a chain to the program: SHA-256 over a tag, the number of the
    /// garbling party, and the meaning of each run, which covers the params and the states. Returns
    /// `None` if the program has no states.
    ///
    /// # Errors
    ///
    /// A circuit file that a run uses does not exist.
    pub fn chain_digest(&self, files: &dyn CircuitFiles) -> Result<Option<Digest>, BorderError> {
        if self.states.is_empty() {
            return Ok(None);
        }
        let mut hash = Sha256::new_with_prefix(CHAIN_TAG);
        // If no party is named, the garbling party identifies the two.
        hash.update((self.garbler as u64).to_le_bytes());
        for place in 0..self.entries.len() {
            let meaning = digest(self, EntryId(place as u32), files);
            hash.update(meaning.map_err(BorderError::Request)?.0);
        }
        Ok(Some(Digest(hash.finalize().into())))
    }
}

struct MeaningHasher<'p> {
    program: &'p Program,
    files: &'p dyn CircuitFiles,
    hash: Sha256,
    types: HashMap<TypeId, usize>,
    /// The numbers of the functions that were named, including those that are still to be walked.
    numbers: HashMap<FunctionId, usize>,
    functions: VecDeque<FunctionId>,
}

/// Each part of the walk returns `self` for the next part.
impl MeaningHasher<'_> {
    fn word(&mut self, text: &str) -> &mut Self {
        self.count(text.len()).hash.update(text);
        self
    }

    fn count(&mut self, count: usize) -> &mut Self {
        self.hash.update((count as u64).to_le_bytes());
        self
    }

    fn list<T>(&mut self, list: &[T], part: impl Fn(&mut Self, &T)) -> &mut Self {
        self.count(list.len());
        list.iter().for_each(|one| part(self, one));
        self
    }

    fn whole(&mut self, number: &BigInt) -> &mut Self {
        self.word(&number.to_string())
    }

    fn name(&mut self, name: &Symbol) -> &mut Self {
        self.word(name.as_str())
    }

    fn program(&mut self, id: EntryId) {
        let program = self.program;
        self.list(&program.params, |this, param| {
            let named = this.name(&param.name).whole(&param.minimum);
            named.whole(&param.maximum).whole(&param.value);
            if let Some(open) = &param.open {
                this.word(match open.counted {
                    Counted::Rows => "rows",
                    Counted::Keys => "keys",
                });
                this.name(&open.input);
            }
        });
        self.list(&program.parties, |this, party| _ = this.name(party));
        self.list(&program.states, |this, state| {
            this.name(&state.name).ty(state.ty);
            match &state.value {
                None => this.word("open"),
                Some(value) => this.value(value),
            };
        });
        let entry = &program.entries[id.0 as usize];
        self.word(entry.kind.word()).name(&entry.name);
        self.list(&entry.inputs, Self::input);
        self.list(&entry.outputs, Self::output);
        if let Some(join) = &entry.join {
            self.join(join);
        }
    }

    /// Hashes which tables are joined by which keys. Sizes and roles follow from this and the
    /// params.
    fn join(&mut self, join: &Join) {
        self.word("join");
        for (table, key) in join.tables.iter().zip(&join.key) {
            self.count(*table).list(key, |this, part| {
                this.count(part.field as usize);
                match part.kind {
                    KeyKind::Text(KeyNormalization::None) => this.word("text"),
                    KeyKind::Text(KeyNormalization::Email) => this.word("text as email in NFC"),
                    KeyKind::Text(KeyNormalization::Phone) => this.word("text as phone"),
                    KeyKind::Text(KeyNormalization::Date) => this.word("text as date"),
                    KeyKind::Bytes => this.word("bytes"),
                    KeyKind::Fixed { bits } => this.sized("bits", bits),
                };
            });
        }
        self.count(join.most_rows_of_key as usize);
    }

    fn input(&mut self, input: &InputPort) {
        self.name(&input.name).ty(input.ty);
        match input.owner {
            None => self.word("public"),
            Some(party) => self.word("of").count(party),
        };
        if input.is_strict {
            self.word("strictly");
        }
        match &input.sorted {
            None => self.word("as given"),
            Some(None) => self.word("sorted"),
            Some(Some(field)) => self.word("sorted by").name(field),
        };
    }

    fn output(&mut self, output: &OutputPort) {
        self.name(&output.name).ty(output.ty);
        match output.to {
            None => self.word("both"),
            Some(party) => self.word("to").count(party),
        };
    }

    fn ty(&mut self, id: TypeId) -> &mut Self {
        if let Some(&number) = self.types.get(&id) {
            return self.word("type").count(number);
        }
        self.types.insert(id, self.types.len());
        let types = &self.program.types;
        match types.kind(id) {
            TypeKind::Bool => self.word("bool"),
            TypeKind::Unsigned(width) => self.sized("u", *width),
            TypeKind::Signed(width) => self.sized("i", *width),
            TypeKind::Fixed(integer, fraction) => {
                self.sized("fixed", *integer).count(*fraction as usize)
            }
            TypeKind::Bytes(n) => self.sized("bytes", *n),
            TypeKind::Text(n) => self.sized("text", *n),
            TypeKind::OpenBytes => self.word("bytes of any length"),
            TypeKind::OpenText => self.word("text of any length"),
            TypeKind::Array(element, n) => self.sized("array", *n).ty(*element),
            TypeKind::Table(element, n) => self.sized("table", *n).ty(*element),
            TypeKind::Tuple(parts) => self
                .word("tuple")
                .list(parts, |this, part| _ = this.ty(*part)),
            TypeKind::Struct(number) => {
                let of = types.struct_type(*number);
                self.word("struct").name(&of.name);
                self.list(&of.generics, |this, generic| {
                    match generic {
                        GenericValue::Type(ty) => this.ty(*ty),
                        GenericValue::Number(number) => this.whole(number),
                    };
                });
                self.list(&of.fields, |this, (name, ty)| _ = this.name(name).ty(*ty))
            }
            TypeKind::Enum(number) => {
                let of = types.enum_type(*number);
                self.word("enum").name(&of.name);
                self.list(&of.variants, |this, variant| _ = this.name(variant))
            }
        }
    }

    fn sized(&mut self, word: &str, size: u32) -> &mut Self {
        self.word(word).count(size as usize)
    }

    fn value(&mut self, value: &Value) -> &mut Self {
        match value {
            Value::Bool(bit) => self.word(if *bit { "true" } else { "false" }),
            Value::Integer(number) => self.word("number").whole(number),
            Value::List(parts) => self
                .word("list")
                .list(parts, |this, part| _ = this.value(part)),
        }
    }

    fn function(&mut self, function: &Function) -> Result<(), String> {
        self.list(&function.parameters, |this, local| _ = this.local(*local));
        self.ty(function.result);
        self.list(&function.locals, |this, local| _ = this.ty(local.ty));
        match &function.body {
            Body::Block(block) => _ = self.block(block),
            Body::Library(name, parameters) => {
                let word = if parameters.is_empty() {
                    "library"
                } else {
                    "library with"
                };
                self.word(word).name(name);
                for (name, value) in parameters {
                    self.word(name).count(*value as usize);
                }
            }
            Body::File(path, order) => {
                let circuit = self.files.circuit(path.as_str(), *order);
                let circuit =
                    circuit.map_err(|reason| format!("{path} cannot be used: {reason}"))?;
                self.word("circuit").hash.update(circuit.digest().0);
            }
        }
        Ok(())
    }

    fn local(&mut self, local: LocalId) -> &mut Self {
        self.count(local.0 as usize)
    }

    fn block(&mut self, block: &Block) -> &mut Self {
        self.statements(&block.statements).expression(&block.value)
    }

    fn statements(&mut self, statements: &[Statement]) -> &mut Self {
        self.list(statements, Self::statement)
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Let(local, value) => self.word("let").local(*local).expression(value),
            StatementKind::Assign(place, value) => {
                self.word("assign").place(place).expression(value)
            }
            StatementKind::If(condition, then, otherwise) => {
                self.word("if").condition(condition);
                self.statements(then).statements(otherwise)
            }
            StatementKind::For(each) => {
                self.sized("for", each.counter.0).number(&each.from);
                self.number(&each.to).statements(&each.body)
            }
            StatementKind::Evaluate(value) => self.word("evaluate").expression(value),
            StatementKind::Assert(value) => self.word("assert").expression(value),
            StatementKind::Debug(value) => self.word("debug").expression(value),
        };
    }

    fn condition(&mut self, condition: &Condition) -> &mut Self {
        match condition {
            Condition::Guard(number) => self.word("guard").number(number),
            Condition::Secret(value) => self.word("secret").expression(value),
        }
    }

    fn number(&mut self, number: &Number) -> &mut Self {
        match number {
            Number::Constant(value) => self.word("constant").word(&value.to_string()),
            Number::Counter(counter) => self.sized("counter", counter.0),
            Number::Apply(operator, operands) => {
                let operator = self.word(&match operator {
                    NumberOperator::Binary(operator) => format!("{operator:?}"),
                    operator => format!("{operator:?}"),
                });
                operator.list(operands, |this, operand| _ = this.number(operand))
            }
        }
    }

    fn place(&mut self, place: &ValuePath) -> &mut Self {
        match &place.root {
            Root::Local(local) => self.word("local").local(*local),
            Root::State(state) => self.sized("state", state.0),
            Root::Value(value) => self.word("value").expression(value),
        };
        self.list(&place.path, |this, step| {
            match step {
                Step::Field(field) => this.sized("field", *field),
                Step::At(number, _) => this.word("at").number(number),
                Step::AtSecret(index) => this.word("at secret").expression(index),
                Step::Slice(from, length, _) => this.sized("slice", *length).number(from),
            };
        })
    }

    fn expressions(&mut self, parts: &[Expression]) -> &mut Self {
        self.list(parts, |this, part| _ = this.expression(part))
    }

    fn expression(&mut self, expression: &Expression) -> &mut Self {
        use ExpressionKind as K;
        self.ty(expression.ty);
        match &expression.kind {
            K::Constant(value) => self.word("constant").value(value),
            K::Number(number) => self.word("number").number(number),
            K::Read(place) => self.word("read").place(place),
            K::Unary(operator, of) => self.word(&format!("{operator:?}")).expression(of),
            K::Binary(operator, a, b) => {
                let operator = self.word(&format!("{operator:?}"));
                operator.expression(a).expression(b)
            }
            K::Shift(operator, of, by) => {
                let operator = self.word(&format!("{operator:?} by"));
                operator.expression(of).number(by)
            }
            K::Cast(of) => self.word("as").expression(of),
            K::If(condition, a, b) => {
                self.word("if").condition(condition);
                self.expression(a).expression(b)
            }
            K::Block(block) => self.word("block").block(block),
            K::Aggregate(parts) => self.word("aggregate").expressions(parts),
            K::Repeat(of) => self.word("repeat").expression(of),
            K::Comprehension(counter, from, of) => self
                .sized("comprehension", counter.0)
                .number(from)
                .expression(of),
            K::ForEachPair(counter, of) => self.sized("for each pair", counter.0).expression(of),
            K::Call(function, arguments) => self.call(*function, arguments),
            K::Run(run, arguments) => self.sized("run", run.0).expressions(arguments),
            K::Intrinsic(intrinsic, arguments) => {
                self.word(&format!("{intrinsic:?}")).expressions(arguments)
            }
        }
    }

    fn call(&mut self, function: FunctionId, arguments: &[Expression]) -> &mut Self {
        self.word("call").refer(function).expressions(arguments)
    }

    fn refer(&mut self, function: FunctionId) -> &mut Self {
        let next = self.numbers.len();
        let number = *self.numbers.entry(function).or_insert(next);
        if number == next {
            self.functions.push_back(function);
        }
        self.count(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::NoCircuitFiles;
    use crate::{Loaded, NoFiles, ParamValues};

    const KEPT: &str = "
parties a, b;
param GOAL: 1..=9 = 5;
struct Pair { left: u8, right: u8 }
state pair: Pair = Pair { left: 0, right: 0 };
run add(x: u8 of a) -> () { pair.left += x; }
run shows(y: u8 of b) -> (above: bool to both) { pair.left + y > GOAL as u8 }
";

    fn chain_digest(text: &str, goal: u8) -> Option<Digest> {
        let loaded = Loaded::new("kept.tacit", text, &NoFiles);
        let params = ParamValues::from([("GOAL".to_owned(), goal.into())]);
        let program = loaded.program(&params).expect("a program");
        program.chain_digest(&NoCircuitFiles).expect("no files")
    }

    #[test]
    fn a_chain_is_bound_to_states_params_and_all_that_runs_mean() {
        let kept = chain_digest(KEPT, 5).expect("a program with a state");
        let same = KEPT.replace("run add", "// Adds.\nrun add");
        assert_eq!(chain_digest(&same, 5), Some(kept));
        assert_ne!(chain_digest(KEPT, 6), Some(kept));
        for (old, new) in [
            ("parties a, b", "parties a, b garbles"),
            ("left", "first"),
            ("right: u8", "right: i8"),
            ("+= x", "-= x"),
            ("y > GOAL", "y >= GOAL"),
            (
                "run shows",
                "run leak() -> (all: u8 to b) { pair.left }\nrun shows",
            ),
        ] {
            assert_ne!(
                chain_digest(&KEPT.replace(old, new), 5),
                Some(kept),
                "{new}"
            );
        }
        let none = "parties a, b; param GOAL: 1..=9 = 5; main(x: u8 of a) -> (y: u8 to b) { x }";
        assert_eq!(chain_digest(none, 5), None);
    }
}
