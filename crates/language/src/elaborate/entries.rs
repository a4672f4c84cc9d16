//! Parties, states, `main` and runs, and tests.

use tacit_circuit::Port;

use super::generics::{BodyProgress, Instance, InstanceKey};
use super::{Binding, Context, Done, Elaborator, Surroundings, most_like, order};
use crate::diagnostic::{Diagnostic, Reported};
use crate::program::{
    Entry, EntryId, EntryKind, Function, FunctionId, InputPort, ItemKey, LocalId, OutputPort,
    StateId, StateVariable, TypeId, TypeKind,
};
use crate::source::{Span, Symbol};
use crate::syntax::{self, Ident, ItemKind, Output, Party, StateItem, TypeExpressionKind};

/// The length of a party's longest name. The names of inputs of random bits contain it.
const MAX_PARTY_BYTES: usize = 48;

impl<'a> Elaborator<'a> {
    /// Elaborates all of the program except its tests.
    pub(super) fn program(&mut self) {
        self.params();
        let items = self.loaded.items();
        self.parties();
        let root = self.loaded.root();
        let keyed = || {
            items
                .iter()
                .enumerate()
                .map(|(n, item)| ((root, n as u32), item))
        };
        for (key, item) in keyed() {
            match &item.kind {
                ItemKind::Const(name, ..) => {
                    let _ = self.const_item(key, name.span);
                }
                ItemKind::State(state) => {
                    let _ = self.declare_state(key, state);
                }
                ItemKind::Struct(item) if item.generics.is_empty() => {
                    let _ = self.instance_type(key, Vec::new(), item.name.span);
                }
                ItemKind::Enum(item) => {
                    let _ = self.instance_type(key, Vec::new(), item.name.span);
                }
                ItemKind::Type(name, generics, _) if generics.is_empty() => {
                    let _ = self.instance_type(key, Vec::new(), name.span);
                }
                _ => {}
            }
        }
        for (key, item) in keyed() {
            if let ItemKind::Function(function) = &item.kind {
                let has_lambda = function
                    .parameters
                    .iter()
                    .any(|p| matches!(p.ty.kind, TypeExpressionKind::Function));
                if function.generics.is_empty() && !has_lambda {
                    let span = function.name.span;
                    let _ = self.instance(key, function, Vec::new(), Vec::new(), span);
                }
            }
        }
        for (key, item) in keyed() {
            if let ItemKind::Entry(entry) = &item.kind {
                let _ = self.entry(key, entry);
            }
        }
        self.make_all();
        self.check_recursion();
        self.check_chain();
        self.check_made();
        self.check_open_types();
    }

    fn parties(&mut self) {
        let items = self.loaded.items();
        let declared: Vec<(&Vec<Party>, Span)> = items
            .iter()
            .filter_map(|item| match &item.kind {
                ItemKind::Parties(parties) => Some((parties, item.span)),
                _ => None,
            })
            .collect();
        let entry = items
            .iter()
            .find(|item| matches!(item.kind, ItemKind::Entry(_)));
        match (&declared[..], entry) {
            ([], Some(_)) => {
                let error = Diagnostic::new(self.file_start(), "the file names no parties");
                self.report(error.help("begin it with `parties alice, bob;`"));
            }
            ([], None) => {}
            ([(parties, span)], _) => self.declare_parties(parties, *span),
            ([(_, first), (_, second), ..], _) => {
                let error = Diagnostic::new(*second, "parties are declared twice");
                self.report(error.related(*first, "first here"));
            }
        }
    }

    fn declare_parties(&mut self, parties: &[Party], span: Span) {
        if parties.len() != 2 {
            let message = format!("a program has two parties, not {}", parties.len());
            let help = "name the two that have inputs; the cloud of `outsourced` is not named";
            self.report(Diagnostic::new(span, message).help(help));
        }
        for (number, party) in parties.iter().enumerate() {
            if self.program.parties.contains(&party.name.name) || party.name.as_str() == "both" {
                let message = format!("`{}` cannot name a party here", party.name.name);
                let error = Diagnostic::new(party.name.span, message);
                self.report(error.help("parties have two names, and neither is `both`"));
            }
            if party.name.as_str().len() > MAX_PARTY_BYTES {
                let message = format!("a party's name has at most {MAX_PARTY_BYTES} bytes");
                self.report(Diagnostic::new(party.name.span, message));
            }
            if party.garbles {
                self.program.garbler = number;
            }
            self.program.parties.push(party.name.name.clone());
        }
    }

    /// Returns the number of the party `name`.
    fn party(&mut self, name: &Ident) -> Done<usize> {
        let parties = &self.program.parties;
        if let Some(number) = parties.iter().position(|party| *party == name.name) {
            return Ok(number);
        }
        let names: Vec<&str> = parties.iter().map(|party| party.as_str()).collect();
        if names.is_empty() {
            let error = Diagnostic::new(self.file_start(), "the file names no parties");
            return self.fail(error.help("begin it with `parties alice, bob;`"));
        }
        let error = Diagnostic::new(name.span, format!("there is no party `{}`", name.name));
        let help = match most_like(name.as_str(), names.iter().copied()) {
            Some(other) => format!("did you mean `{other}`?"),
            None => format!("the parties are {}", names.join(" and ")),
        };
        self.fail(error.help(help))
    }

    fn declare_state(&mut self, key: ItemKey, item: &'a StateItem) -> Done<()> {
        let context = Context::new(key.0, Surroundings::Constant);
        let (declared, _) = self.within(context, |this| {
            let ty = this.ty(&item.ty)?;
            let value = match &item.value {
                None => None,
                Some(value) => {
                    let expression = this.value(value, ty)?;
                    match expression.as_constant() {
                        Some(constant) => Some(constant.clone()),
                        None => {
                            let error = Diagnostic::new(value.span, "a state begins with a const");
                            return this.fail(error.help("assign it in a `start`"));
                        }
                    }
                }
            };
            Ok((ty, value))
        });
        let (ty, value) = declared?;
        let name = &item.name;
        self.check_port(ty, name, false)?;
        self.program.states.push(StateVariable {
            name: name.name.clone(),
            ty,
            value,
            span: name.span,
        });
        let id = StateId(self.program.states.len() as u32 - 1);
        self.states.insert(key, id);
        Ok(())
    }

    /// Reports a port that a function cannot have.
    fn check_port(&mut self, ty: TypeId, name: &Ident, is_joined: bool) -> Done<()> {
        if !Port::is_valid_name(name.as_str()) {
            let message = "an input, a result or a state has a name of at most 64 bytes that \
                           begins with a letter";
            return self.fail(Diagnostic::new(name.span, message));
        }
        if self.program.types.is_open(ty) && !is_joined {
            let message = format!("`{}` has a field of no length", name.name);
            let error = Diagnostic::new(name.span, message);
            return self.fail(error.help(
                "only a table that `main` joins has one, as its key: write `text<64>` or \
                 `bytes<16>`",
            ));
        }
        if self.program.types.width(ty) > 0 {
            return Ok(());
        }
        let message = format!("`{}` has no bits", name.name);
        self.fail(Diagnostic::new(name.span, message))
    }

    fn entry(&mut self, key: ItemKey, entry: &'a syntax::Entry) -> Done<()> {
        let span = entry.name.span;
        let mut context = Context::new(key.0, Surroundings::Entry(entry.kind));
        let (inputs, failed) = self.inputs(entry, &mut context);
        let joined = match (&entry.join, failed) {
            (Some(join), None) => Some(self.joined(join, &inputs)?),
            _ => None,
        };
        let (outputs, reported) = match self.outputs(entry) {
            Ok(outputs) => (outputs, failed),
            Err(reported) => (Vec::new(), Some(reported)),
        };
        let result = match &outputs[..] {
            [only] => only.ty,
            ports => {
                let types = ports.iter().map(|port| port.ty).collect();
                self.program.types.add(TypeKind::Tuple(types))
            }
        };
        let (body, context) = self.within(context, |this| {
            let mut locals = this.bind_inputs(entry, &inputs);
            if let (Some(join), Some(joined)) = (&entry.join, &joined) {
                locals.push(this.bind_pairs(join, joined));
            }
            let has_result = !outputs.is_empty() || reported.is_some();
            if let Some(reported) = reported {
                // The block's value has no type to meet. Only its statements are checked.
                let _ = this.block(&entry.body, None)?;
                return Err(reported);
            }
            this.result_names = outputs.iter().map(|port| port.name.clone()).collect();
            let body = this.body(&entry.body, result, has_result);
            this.result_names.clear();
            body.map(|body| (body, locals))
        });
        let (body, parameters) = body?;
        self.check_outputs(entry, &context)?;
        let assigned = context.assigned.iter();
        let assigns = assigned.map(|state| state.0 as usize).collect();
        let mut function = Function {
            name: entry.name.name.clone(),
            is_component: false,
            parameters,
            sorted: inputs
                .iter()
                .map(|input| order::key_of_input(&self.program.types, input))
                .collect(),
            result_sorted: None,
            locals: context.locals,
            counters: context.counters,
            result,
            body,
            span,
        };
        self.open_results(&mut function);
        let join = joined.map(|joined| self.finished(joined, &inputs, &outputs, &mut function));
        let join = join.transpose()?;
        let id = self.add_function(key, function, result);
        self.program.entries.push(Entry {
            kind: entry.kind,
            name: entry.name.name.clone(),
            inputs,
            outputs,
            function: id,
            join,
            assigns,
            span,
        });
        let number = EntryId(self.program.entries.len() as u32 - 1);
        self.entries.insert(key, number);
        Ok(())
    }

    /// Binds each input to a local. A table that is joined has no other use.
    fn bind_inputs(&mut self, entry: &syntax::Entry, inputs: &[InputPort]) -> Vec<LocalId> {
        let mut locals = Vec::new();
        for port in inputs {
            let local = self.local(port.name.clone(), port.ty);
            let binding = if entry.joins(&port.name) {
                Binding::Table
            } else {
                Binding::Local(local, false)
            };
            self.bind(port.name.clone(), binding);
            locals.push(local);
            if port.owner.is_none() {
                self.context.public.push(local);
            }
        }
        locals
    }

    /// Returns the valid inputs. The names of the others, and then that of the pairs, are marked as
    /// broken in `context`.
    fn inputs(
        &mut self,
        entry: &'a syntax::Entry,
        context: &mut Context,
    ) -> (Vec<InputPort>, Option<Reported>) {
        let mut inputs = Vec::new();
        let mut failed = None;
        for input in &entry.inputs {
            match self.input(input, &inputs, entry.joins(&input.name.name)) {
                Ok(port) => inputs.push(port),
                Err(reported) => {
                    let broken = Binding::Broken(reported);
                    context.scopes.bind(input.name.name.clone(), broken);
                    failed = Some(reported);
                }
            }
        }
        if let (Some(join), Some(reported)) = (&entry.join, failed) {
            let broken = Binding::Broken(reported);
            context.scopes.bind(join.name.name.clone(), broken);
        }
        (inputs, failed)
    }

    /// Adds a finished function to the instances.
    fn add_function(&mut self, key: ItemKey, function: Function, result: TypeId) -> FunctionId {
        self.made.push(Instance {
            key: InstanceKey {
                item: key,
                generics: Vec::new(),
                lambdas: Vec::new(),
            },
            function: None,
            parameters: Vec::new(),
            result,
            state: BodyProgress::Made,
            used_at: None,
        });
        self.program.functions.push(function);
        FunctionId(self.program.functions.len() as u32 - 1)
    }

    fn input(
        &mut self,
        input: &'a syntax::Input,
        before: &[InputPort],
        is_joined: bool,
    ) -> Done<InputPort> {
        let name = &input.name;
        if before.iter().any(|port| port.name == name.name) {
            let message = format!("two inputs `{}`", name.name);
            return self.fail(Diagnostic::new(name.span, message));
        }
        let context = Context::new(self.loaded.root(), Surroundings::Constant);
        let ty = self
            .within(context, |this| {
                if is_joined {
                    this.joined_type(input)
                } else {
                    this.ty(&input.ty)
                }
            })
            .0;
        let owner = input.owner.as_ref();
        let owner = owner.map(|party| self.party(party)).transpose()?;
        let ty = ty?;
        self.check_port(ty, name, is_joined)?;
        let sorted = match &input.sorted {
            None => None,
            Some(sorted) => {
                self.sort_key(ty, sorted, &[])?;
                Some(sorted.by.as_ref().map(|field| field.name.clone()))
            }
        };
        Ok(InputPort {
            name: name.name.clone(),
            ty,
            owner,
            sorted,
            is_strict: input.sorted.as_ref().is_some_and(|sorted| sorted.is_strict),
        })
    }

    fn outputs(&mut self, entry: &'a syntax::Entry) -> Done<Vec<OutputPort>> {
        let mut outputs: Vec<OutputPort> = Vec::new();
        let mut failed = None;
        for output in &entry.outputs {
            match self.output(output) {
                Ok(port) if outputs.iter().any(|other| other.name == port.name) => {
                    let message = format!("two results `{}`", port.name);
                    failed = Some(self.report(Diagnostic::new(output.name.span, message)));
                }
                Ok(port) => outputs.push(port),
                Err(reported) => failed = Some(reported),
            }
        }
        match failed {
            None => Ok(outputs),
            Some(reported) => Err(reported),
        }
    }

    fn output(&mut self, output: &'a Output) -> Done<OutputPort> {
        let context = Context::new(self.loaded.root(), Surroundings::Constant);
        let ty = self.within(context, |this| this.ty(&output.ty)).0;
        let to = output.to.as_ref();
        let to = to.map(|party| self.party(party)).transpose()?;
        let ty = ty?;
        self.check_port(ty, &output.name, false)?;
        Ok(OutputPort {
            name: output.name.name.clone(),
            ty,
            to,
        })
    }

    /// Reports a result with the name of a state that changes, and a `main`, run or `start` without
    /// any effect.
    fn check_outputs(&mut self, entry: &syntax::Entry, context: &Context) -> Done<()> {
        let name = &entry.name;
        for output in &entry.outputs {
            let states = self.program.states.iter().enumerate();
            let mut saved = states.filter(|(number, _)| {
                entry.kind == EntryKind::Start
                    || context.assigned.contains(&StateId(*number as u32))
            });
            if saved.any(|(_, state)| state.name == output.name.name) {
                let result = &output.name.name;
                let message = format!("the result `{result}` has the name of a state");
                let error = Diagnostic::new(output.name.span, message);
                let label = format!("`{name}` changes the state `{result}`", name = name.name);
                return self.fail(error.label(label).help("rename the one or the other"));
            }
        }
        match entry.kind {
            EntryKind::Main if entry.outputs.is_empty() => {
                let error = Diagnostic::new(name.span, "`main` has no results");
                self.fail(error.help("write `-> (total: u32 to both)` before its block"))
            }
            EntryKind::Run if entry.outputs.is_empty() && context.assigned.is_empty() => {
                let message = format!("`{}` has no results and changes no state", name.name);
                let error = Diagnostic::new(name.span, message);
                self.fail(error.help("write `-> (total: u32 to both)` before its block"))
            }
            EntryKind::Start if entry.outputs.is_empty() && self.program.states.is_empty() => {
                let message = format!("`{}` has no results and begins no state", name.name);
                let error = Diagnostic::new(name.span, message);
                self.fail(error.help("declare one, such as `state total: u64 = 0;`"))
            }
            EntryKind::Start => {
                let states = self.program.states.iter().enumerate();
                let open: Vec<Symbol> = states
                    .filter(|(number, state)| {
                        let id = StateId(*number as u32);
                        state.value.is_none() && !context.assigned.contains(&id)
                    })
                    .map(|(_, state)| state.name.clone())
                    .collect();
                let Some(state) = open.first() else {
                    return Ok(());
                };
                let message = format!("`{}` begins a chain and leaves `{state}` open", name.name);
                let error = Diagnostic::new(name.span, message);
                self.fail(error.help(format!("assign `{state}`, or give it a const value")))
            }
            EntryKind::Main | EntryKind::Run => Ok(()),
        }
    }

    /// Reports a state without a first value in a program that has runs but no `start`.
    fn check_chain(&mut self) {
        let has = |kind: EntryKind| {
            let mut items = self.loaded.items().iter();
            items.any(|item| matches!(&item.kind, ItemKind::Entry(entry) if entry.kind == kind))
        };
        let (has_start, has_run) = (has(EntryKind::Start), has(EntryKind::Run));
        let open = self
            .program
            .states
            .iter()
            .find(|state| state.value.is_none());
        if let Some(state) = open.filter(|_| !has_start && has_run) {
            let message = format!("nothing gives the state `{}` its first value", state.name);
            let error = Diagnostic::new(state.span, message);
            self.report(error.help("write `= …` after its type, or a `start`"));
        }
    }
}
