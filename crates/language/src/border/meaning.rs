//! The digest of what a run means.
//!
//! It is SHA-256 over the tag below and a walk of the typed program from the run on: its params
//! with their ranges and values, its parties, states, ports, and the functions that it calls in the
//! order in which they are first called. Types, functions and variables stand as numbers in the
//! order in which they first come, types with all their names. Every word has its length before it,
//! every node its kind, every list its count, so that no two programs have the same bytes.
//!
//! Not in it: comments, places in the source, names of functions, variables and counters, which
//! functions are components, and `#[cut]`.

use std::collections::{HashMap, VecDeque};

use num_bigint::BigInt;
use sha2::{Digest as _, Sha256};
use tacit_circuit::Digest;

use crate::lower::CircuitFiles;
use crate::program::{
    Block, Body, Condition, EntryId, Expression, ExpressionKind, Function, FunctionId,
    GenericValue, InputPort, LocalId, Number, OutputPort, Place, Program, Root, Statement,
    StatementKind, Step, TypeId, TypeKind, Value,
};
use crate::source::Symbol;

/// The edition of the language whose meanings these are.
const TAG: &[u8] = b"tacit meaning, edition 1\0";

/// The meaning of a run.
///
/// # Errors
///
/// Why there is no circuit file, as the end of a sentence.
pub(super) fn digest(
    program: &Program,
    id: EntryId,
    files: &dyn CircuitFiles,
) -> Result<Digest, String> {
    let mut walk = Walk {
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

struct Walk<'p> {
    program: &'p Program,
    files: &'p dyn CircuitFiles,
    hash: Sha256,
    types: HashMap<TypeId, usize>,
    /// The functions that were named, and those of them that are still to be walked.
    numbers: HashMap<FunctionId, usize>,
    functions: VecDeque<FunctionId>,
}

impl Walk<'_> {
    fn word(&mut self, text: &str) {
        self.count(text.len());
        self.hash.update(text);
    }

    fn count(&mut self, count: usize) {
        self.hash.update((count as u64).to_le_bytes());
    }

    fn whole(&mut self, number: &BigInt) {
        self.word(&number.to_string());
    }

    fn name(&mut self, name: &Symbol) {
        self.word(name.as_str());
    }

    fn program(&mut self, id: EntryId) {
        let program = self.program;
        self.count(program.params.len());
        for param in &program.params {
            self.name(&param.name);
            self.whole(&param.minimum);
            self.whole(&param.maximum);
            self.whole(&param.value);
        }
        self.count(program.parties.len());
        program.parties.iter().for_each(|party| self.name(party));
        self.count(program.states.len());
        for state in &program.states {
            self.name(&state.name);
            self.ty(state.ty);
            match &state.value {
                None => self.word("open"),
                Some(value) => self.value(value),
            }
        }
        let entry = &program.entries[id.0 as usize];
        self.word(entry.kind.word());
        self.name(&entry.name);
        self.count(entry.inputs.len());
        entry.inputs.iter().for_each(|input| self.input(input));
        self.count(entry.outputs.len());
        entry.outputs.iter().for_each(|output| self.output(output));
    }

    fn input(&mut self, input: &InputPort) {
        self.name(&input.name);
        self.ty(input.ty);
        match input.owner {
            None => self.word("public"),
            Some(party) => {
                self.word("of");
                self.count(party);
            }
        }
        match &input.sorted {
            None => self.word("as given"),
            Some(None) => self.word("sorted"),
            Some(Some(field)) => {
                self.word("sorted by");
                self.name(field);
            }
        }
    }

    fn output(&mut self, output: &OutputPort) {
        self.name(&output.name);
        self.ty(output.ty);
        match output.to {
            None => self.word("both"),
            Some(party) => {
                self.word("to");
                self.count(party);
            }
        }
    }

    fn ty(&mut self, id: TypeId) {
        if let Some(&number) = self.types.get(&id) {
            self.word("type");
            return self.count(number);
        }
        self.types.insert(id, self.types.len());
        let types = &self.program.types;
        match types.kind(id) {
            TypeKind::Bool => self.word("bool"),
            TypeKind::Unsigned(width) => self.sized("u", &[*width]),
            TypeKind::Signed(width) => self.sized("i", &[*width]),
            TypeKind::Fixed(integer, fraction) => self.sized("fixed", &[*integer, *fraction]),
            TypeKind::Bytes(n) => self.sized("bytes", &[*n]),
            TypeKind::Text(n) => self.sized("text", &[*n]),
            TypeKind::Array(element, n) => {
                self.sized("array", &[*n]);
                self.ty(*element);
            }
            TypeKind::Table(element, n) => {
                self.sized("table", &[*n]);
                self.ty(*element);
            }
            TypeKind::Tuple(parts) => {
                self.word("tuple");
                self.count(parts.len());
                parts.iter().for_each(|part| self.ty(*part));
            }
            TypeKind::Struct(number) => {
                let of = types.struct_type(*number);
                self.word("struct");
                self.name(&of.name);
                self.count(of.generics.len());
                for generic in &of.generics {
                    match generic {
                        GenericValue::Type(ty) => self.ty(*ty),
                        GenericValue::Number(number) => self.whole(number),
                    }
                }
                self.count(of.fields.len());
                for (name, ty) in &of.fields {
                    self.name(name);
                    self.ty(*ty);
                }
            }
            TypeKind::Enum(number) => {
                let of = types.enum_type(*number);
                self.word("enum");
                self.name(&of.name);
                self.count(of.variants.len());
                of.variants.iter().for_each(|variant| self.name(variant));
            }
        }
    }

    fn sized(&mut self, word: &str, sizes: &[u32]) {
        self.word(word);
        sizes.iter().for_each(|size| self.count(*size as usize));
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Bool(bit) => self.word(if *bit { "true" } else { "false" }),
            Value::Integer(number) => {
                self.word("number");
                self.whole(number);
            }
            Value::List(parts) => {
                self.word("list");
                self.count(parts.len());
                parts.iter().for_each(|part| self.value(part));
            }
        }
    }

    fn function(&mut self, function: &Function) -> Result<(), String> {
        self.count(function.parameters.len());
        function
            .parameters
            .iter()
            .for_each(|local| self.local(*local));
        self.ty(function.result);
        self.count(function.locals.len());
        function.locals.iter().for_each(|local| self.ty(local.ty));
        match &function.body {
            Body::Block(block) => self.block(block),
            Body::Library(name) => {
                self.word("library");
                self.name(name);
            }
            Body::File(path, order) => {
                let circuit = self.files.circuit(path.as_str(), *order);
                let circuit =
                    circuit.map_err(|reason| format!("{path} cannot be used: {reason}"))?;
                self.word("circuit");
                self.hash.update(circuit.digest().0);
            }
        }
        Ok(())
    }

    fn local(&mut self, local: LocalId) {
        self.count(local.0 as usize);
    }

    fn block(&mut self, block: &Block) {
        self.statements(&block.statements);
        self.expression(&block.value);
    }

    fn statements(&mut self, statements: &[Statement]) {
        self.count(statements.len());
        statements
            .iter()
            .for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Let(local, value) => {
                self.word("let");
                self.local(*local);
                self.expression(value);
            }
            StatementKind::Assign(place, value) => {
                self.word("assign");
                self.place(place);
                self.expression(value);
            }
            StatementKind::If(condition, then, otherwise) => {
                self.word("if");
                self.condition(condition);
                self.statements(then);
                self.statements(otherwise);
            }
            StatementKind::For(each) => {
                self.word("for");
                self.count(each.counter.0 as usize);
                self.number(&each.from);
                self.number(&each.to);
                self.statements(&each.body);
            }
            StatementKind::Evaluate(value) => {
                self.word("evaluate");
                self.expression(value);
            }
            StatementKind::Assert(value) => {
                self.word("assert");
                self.expression(value);
            }
        }
    }

    fn condition(&mut self, condition: &Condition) {
        match condition {
            Condition::Guard(number) => {
                self.word("guard");
                self.number(number);
            }
            Condition::Secret(value) => {
                self.word("secret");
                self.expression(value);
            }
        }
    }

    fn number(&mut self, number: &Number) {
        match number {
            Number::Constant(value) => {
                self.word("constant");
                self.word(&value.to_string());
            }
            Number::Counter(counter) => {
                self.word("counter");
                self.count(counter.0 as usize);
            }
            Number::Apply(operator, operands) => {
                self.word(&format!("{operator:?}"));
                self.count(operands.len());
                operands.iter().for_each(|operand| self.number(operand));
            }
        }
    }

    fn place(&mut self, place: &Place) {
        match &place.root {
            Root::Local(local) => {
                self.word("local");
                self.local(*local);
            }
            Root::State(state) => {
                self.word("state");
                self.count(state.0 as usize);
            }
            Root::Value(value) => {
                self.word("value");
                self.expression(value);
            }
        }
        self.count(place.path.len());
        for step in &place.path {
            match step {
                Step::Field(field) => self.sized("field", &[*field]),
                Step::At(number, _) => {
                    self.word("at");
                    self.number(number);
                }
                Step::AtSecret(index) => {
                    self.word("at secret");
                    self.expression(index);
                }
                Step::Slice(from, length, _) => {
                    self.sized("slice", &[*length]);
                    self.number(from);
                }
            }
        }
    }

    fn expressions(&mut self, parts: &[Expression]) {
        self.count(parts.len());
        parts.iter().for_each(|part| self.expression(part));
    }

    fn expression(&mut self, expression: &Expression) {
        use ExpressionKind as K;
        self.ty(expression.ty);
        match &expression.kind {
            K::Constant(value) => {
                self.word("constant");
                self.value(value);
            }
            K::Number(number) => {
                self.word("number");
                self.number(number);
            }
            K::Read(place) => {
                self.word("read");
                self.place(place);
            }
            K::Unary(operator, of) => {
                self.word(&format!("{operator:?}"));
                self.expression(of);
            }
            K::Binary(operator, a, b) => {
                self.word(&format!("{operator:?}"));
                self.expression(a);
                self.expression(b);
            }
            K::Shift(operator, of, by) => {
                self.word(&format!("{operator:?} by"));
                self.expression(of);
                self.number(by);
            }
            K::Cast(of) => {
                self.word("as");
                self.expression(of);
            }
            K::If(condition, a, b) => {
                self.word("if");
                self.condition(condition);
                self.expression(a);
                self.expression(b);
            }
            K::Block(block) => {
                self.word("block");
                self.block(block);
            }
            K::Aggregate(parts) => {
                self.word("aggregate");
                self.expressions(parts);
            }
            K::Repeat(of) => {
                self.word("repeat");
                self.expression(of);
            }
            K::Comprehension(counter, from, of) => {
                self.sized("comprehension", &[counter.0]);
                self.number(from);
                self.expression(of);
            }
            K::Call(function, arguments) => self.call(*function, arguments),
            K::Run(run, arguments) => {
                self.sized("run", &[run.0]);
                self.expressions(arguments);
            }
            K::Intrinsic(intrinsic, arguments) => {
                self.word(&format!("{intrinsic:?}"));
                self.expressions(arguments);
            }
        }
    }

    fn call(&mut self, function: FunctionId, arguments: &[Expression]) {
        self.word("call");
        self.refer(function);
        self.expressions(arguments);
    }

    fn refer(&mut self, function: FunctionId) {
        let next = self.numbers.len();
        let number = *self.numbers.entry(function).or_insert(next);
        if number == next {
            self.functions.push_back(function);
        }
        self.count(number);
    }
}
