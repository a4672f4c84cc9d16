//! Calls of functions, lambdas and, in tests, of runs.

use super::constants::bindings;
use super::expression::block_of;
use super::generics::{BodyProgress, Instance, InstanceKey};
use super::names::Meaning;
use super::term::Term;
use super::{Binding, Context, Done, Elaborator, Lambda, Surroundings, order};
use crate::diagnostic::Diagnostic;
use crate::interpret;
use crate::load::Definition;
use crate::program::{
    Body, EntryId, Expression, ExpressionKind, FunctionId, GenericValue, ItemKey, TypeId, Value,
};
use crate::source::{Span, Symbol};
use crate::syntax::{
    self, Argument, ExpressionKind as Syntax, Function, Generic, GenericArgument, Ident, ItemKind,
    Path, TypeExpression, TypeExpressionKind,
};

/// An argument in the form in which it is written.
#[derive(Clone, Copy)]
pub(super) struct CallArgument<'a> {
    pub(super) name: Option<&'a Ident>,
    pub(super) value: &'a syntax::Expression,
}

impl<'a> CallArgument<'a> {
    pub(super) fn of(argument: &'a Argument) -> Self {
        Self {
            name: argument.name.as_ref(),
            value: &argument.value,
        }
    }
}

impl<'a> Elaborator<'a> {
    pub(super) fn call(
        &mut self,
        path: &'a Path,
        given: Vec<CallArgument<'a>>,
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        let meaning = self.meaning(path)?;
        self.call_meaning(meaning, path.last(), &path.generics, given, hint, span)
    }

    /// Elaborates `a.f(b)`, which is `f(a, b)`. `f` is a method of `a`'s struct, or else the name's
    /// meaning at this place.
    pub(super) fn method(
        &mut self,
        name: &'a Ident,
        generics: &'a [GenericArgument],
        given: Vec<CallArgument<'a>>,
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        if self.loaded.has_method(name.as_str()) {
            let receiver = given[0].value;
            let term = self.expression(receiver, None)?;
            let origin = term.ty().and_then(|ty| self.program.types.origin(ty));
            let method = origin.and_then(|(key, _)| self.loaded.method(*key, name.as_str()));
            // The call takes this term instead of elaborating the receiver again.
            self.receiver = Some((receiver, term));
            let called = match method {
                Some(method) => {
                    let meaning = Meaning::Definition(method);
                    self.call_meaning(meaning, name, generics, given, hint, span)
                }
                None => self.call_plain(name, generics, given, hint, span),
            };
            self.receiver = None;
            return called;
        }
        self.call_plain(name, generics, given, hint, span)
    }

    fn call_plain(
        &mut self,
        name: &'a Ident,
        generics: &'a [GenericArgument],
        given: Vec<CallArgument<'a>>,
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        let meaning = self.meaning(&Path::of(name.clone()))?;
        self.call_meaning(meaning, name, generics, given, hint, span)
    }

    fn call_meaning(
        &mut self,
        meaning: Meaning,
        name: &Ident,
        generics: &'a [GenericArgument],
        given: Vec<CallArgument<'a>>,
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        match meaning {
            Meaning::Binding(Binding::Lambda(lambda)) => {
                self.call_lambda(lambda, &given, hint, span)
            }
            Meaning::Definition(Definition::Builtin(builtin)) => {
                self.builtin(builtin, generics, &given, hint, span)
            }
            Meaning::Definition(Definition::Item(key)) => match &self.loaded.item(key).kind {
                ItemKind::Function(function) => {
                    self.call_function((key, function), generics, given, hint, span)
                }
                ItemKind::Entry(_) => self.call_entry(key, &given, span),
                _ => self.not_a_function(name),
            },
            _ => self.not_a_function(name),
        }
    }

    fn not_a_function<T>(&mut self, name: &Ident) -> Done<T> {
        let message = format!("`{}` is not a function", name.name);
        self.fail(Diagnostic::new(name.span, message))
    }

    /// Returns the arguments in the order of the parameters.
    fn in_order(
        &mut self,
        parameters: &[&Symbol],
        given: &[CallArgument<'a>],
        name: &str,
        span: Span,
    ) -> Done<Vec<&'a syntax::Expression>> {
        let mut ordered: Vec<Option<&syntax::Expression>> = vec![None; parameters.len()];
        for (number, argument) in given.iter().enumerate() {
            let place = match argument.name {
                None => number,
                Some(named) => {
                    let place = parameters.iter().position(|p| **p == named.name);
                    match place {
                        Some(place) => place,
                        None => {
                            let message = format!("`{name}` has no parameter `{}`", named.name);
                            return self.fail(Diagnostic::new(named.span, message));
                        }
                    }
                }
            };
            match ordered.get_mut(place) {
                Some(free @ None) => *free = Some(argument.value),
                Some(Some(_)) => {
                    let message = format!("`{}` is given twice", parameters[place]);
                    return self.fail(Diagnostic::new(argument.value.span, message));
                }
                None => return self.wrong_count(name, parameters, given.len(), span),
            }
        }
        let complete: Option<Vec<_>> = ordered.into_iter().collect();
        match complete {
            Some(complete) => Ok(complete),
            None => self.wrong_count(name, parameters, given.len(), span),
        }
    }

    fn wrong_count<T>(
        &mut self,
        name: &str,
        parameters: &[&Symbol],
        found: usize,
        span: Span,
    ) -> Done<T> {
        let names: Vec<&str> = parameters.iter().map(|p| p.as_str()).collect();
        let message = match names.len() {
            1 => format!("`{name}` takes 1 argument, not {found}"),
            count => format!("`{name}` takes {count} arguments, not {found}"),
        };
        let error = Diagnostic::new(span, message);
        if names.is_empty() {
            self.fail(error)
        } else {
            self.fail(error.help(format!("write `{name}({})`", names.join(", "))))
        }
    }

    /// Calls a run or `main` in a test.
    fn call_entry(&mut self, key: ItemKey, given: &[CallArgument<'a>], span: Span) -> Done<Term> {
        let Some(&EntryId(number)) = self.entries.get(&key) else {
            return self.fail(Diagnostic::new(span, "this run has an error"));
        };
        let entry = &self.program.entries[number as usize];
        if self.context.surroundings != Surroundings::Test {
            let message = format!("`{}` is called, which only tests do", entry.name);
            let error = Diagnostic::new(span, message);
            return self.fail(error.help("put what both need into a `fn`"));
        }
        let ports: Vec<(Symbol, TypeId)> = entry
            .inputs
            .iter()
            .map(|port| (port.name.clone(), port.ty))
            .collect();
        let (name, function) = (entry.name.clone(), entry.function);
        let names: Vec<&Symbol> = ports.iter().map(|(name, _)| name).collect();
        let ordered = self.in_order(&names, given, name.as_str(), span)?;
        let mut values = Vec::with_capacity(ports.len());
        self.note_lengths(&names, &ordered, span)?;
        for (argument, (_, ty)) in ordered.into_iter().zip(&ports) {
            values.push(self.value(argument, *ty)?);
        }
        let ty = self.program.functions[function.0 as usize].result;
        Ok(Term::Value(Expression::new(
            ExpressionKind::Run(EntryId(number), values),
            ty,
            span,
        )))
    }

    fn call_function(
        &mut self,
        (key, function): (ItemKey, &'a Function),
        generics: &'a [GenericArgument],
        given: Vec<CallArgument<'a>>,
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        let names: Vec<&Symbol> = function.parameters.iter().map(|p| &p.name.name).collect();
        let ordered = self.in_order(&names, &given, function.name.as_str(), span)?;
        let written = self.generic_values(&function.generics, generics, span)?;
        let mut bound: Vec<Option<GenericValue>> = written.into_iter().map(Some).collect();
        bound.resize(function.generics.len(), None);
        let mut terms = Vec::with_capacity(ordered.len());
        let mut lambdas = Vec::new();
        for (parameter, argument) in function.parameters.iter().zip(&ordered) {
            if matches!(parameter.ty.kind, TypeExpressionKind::Function) {
                lambdas.push(self.lambda_of(argument)?);
                terms.push(None);
                continue;
            }
            let expected = self.known_type(key, &function.generics, &bound, &parameter.ty);
            let term = self.expression(argument, expected)?;
            self.unify_term(key, &function.generics, &parameter.ty, &term, &mut bound);
            terms.push(Some((term, argument.span)));
        }
        if let (Some(hint), Some(result)) = (hint, &function.result) {
            self.unify(key, &function.generics, result, hint, &mut bound);
        }
        let generics = self.all_bound(function, bound, span)?;
        let id = self.instance(key, function, generics, lambdas, span)?;
        let types = self.made[id.0 as usize].parameters.clone();
        let values = self.meet_all(terms.into_iter().flatten(), types)?;
        let ty = self.made[id.0 as usize].result;
        if let Some(value) = self.folded(id, function, &values, span)? {
            return Ok(Term::constant(value, ty, span));
        }
        Ok(Term::Value(Expression::new(
            ExpressionKind::Call(id, values),
            ty,
            span,
        )))
    }

    /// Infers generics from an argument, which may not have a type yet.
    fn unify_term(
        &mut self,
        key: ItemKey,
        generics: &[Generic],
        pattern: &TypeExpression,
        term: &Term,
        bound: &mut [Option<GenericValue>],
    ) {
        match (term, &pattern.kind) {
            (Term::Value(value), _) => self.unify(key, generics, pattern, value.ty, bound),
            (Term::List(parts, false), TypeExpressionKind::Array(element, size)) => {
                if let Syntax::Path(path) = &size.kind
                    && let Some(name) = path.as_name()
                    && let Some(place) = generics.iter().position(|g| g.name.name == name.name)
                {
                    let length = GenericValue::Number(parts.len().into());
                    bound[place].get_or_insert(length);
                }
                for (part, _) in parts {
                    self.unify_term(key, generics, element, part, bound);
                }
            }
            (Term::List(parts, true), TypeExpressionKind::Tuple(patterns)) => {
                for ((part, _), pattern) in parts.iter().zip(patterns) {
                    self.unify_term(key, generics, pattern, part, bound);
                }
            }
            _ => {}
        }
    }

    /// Returns the generics of a call, all of which must be known.
    fn all_bound(
        &mut self,
        function: &Function,
        bound: Vec<Option<GenericValue>>,
        span: Span,
    ) -> Done<Vec<GenericValue>> {
        let mut generics = Vec::with_capacity(bound.len());
        for (value, generic) in bound.into_iter().zip(&function.generics) {
            let Some(value) = value else {
                let message = format!(
                    "the arguments do not tell the `{}` of `{}`",
                    generic.name.name, function.name.name
                );
                let names: Vec<&str> = function.generics.iter().map(|g| g.name.as_str()).collect();
                let help = format!("write `{}::<{}>(…)`", function.name.name, names.join(", "));
                let error = Diagnostic::new(span, message)
                    .related(generic.name.span, "declared here")
                    .help(help);
                return self.fail(error);
            };
            generics.push(value);
        }
        Ok(generics)
    }

    /// Returns the lambda of an argument.
    fn lambda_of(&mut self, argument: &'a syntax::Expression) -> Done<u32> {
        match &argument.kind {
            Syntax::Lambda(parameters, body) => {
                let scopes = self.context.scopes.all().iter();
                // A lambda captures no variable and no counter, since its body ends up in another
                // function.
                let names = scopes.filter(|(_, binding)| match binding {
                    Binding::Local(..) => false,
                    Binding::Term(term) => term.is_const() && !term.has_counters(),
                    _ => true,
                });
                let names = names.cloned().collect();
                self.lambdas.push(Lambda {
                    parameters,
                    body,
                    names,
                    module: self.context.module,
                    span: argument.span,
                });
                Ok(self.lambdas.len() as u32 - 1)
            }
            Syntax::Path(path) => match self.meaning(path)? {
                Meaning::Binding(Binding::Lambda(lambda)) => Ok(lambda),
                _ => self.no_lambda(argument.span),
            },
            _ => self.no_lambda(argument.span),
        }
    }

    fn no_lambda<T>(&mut self, span: Span) -> Done<T> {
        let error = Diagnostic::new(span, "a lambda is expected here");
        self.fail(error.help("write `|x| x.id`"))
    }

    /// Elaborates a lambda's body in the place of its call.
    fn call_lambda(
        &mut self,
        lambda: u32,
        given: &[CallArgument<'a>],
        hint: Option<TypeId>,
        span: Span,
    ) -> Done<Term> {
        let Lambda {
            parameters, body, ..
        } = self.lambdas[lambda as usize];
        if given.len() != parameters.len() {
            let message = format!(
                "this lambda takes {} arguments, not {}",
                parameters.len(),
                given.len()
            );
            let at = self.lambdas[lambda as usize].span;
            return self.fail(Diagnostic::new(span, message).related(at, "the lambda"));
        }
        let mut terms = Vec::with_capacity(given.len());
        for argument in given {
            let term = self.expression(argument.value, None)?;
            terms.push((term, argument.value.span));
        }
        let names = self.lambdas[lambda as usize].names.iter().cloned();
        let outer = std::mem::replace(&mut self.context.scopes, names.collect());
        let module = self.lambdas[lambda as usize].module;
        let outer_module = std::mem::replace(&mut self.context.module, module);
        let mut statements = Vec::new();
        let result = self.deeper(span, |this| {
            for ((term, at), pattern) in terms.into_iter().zip(parameters) {
                this.bind_pattern(pattern, term, at, &mut statements)?;
            }
            let term = this.expression(body, hint)?;
            if statements.is_empty() {
                Ok(term)
            } else {
                let value = this.typed(term, body.span)?;
                let statements = std::mem::take(&mut statements);
                Ok(Term::Value(block_of(statements, value)))
            }
        });
        self.context.scopes = outer;
        self.context.module = outer_module;
        result
    }

    /// Returns the instance of a function with these generics and lambdas.
    pub(super) fn instance(
        &mut self,
        key: ItemKey,
        function: &'a Function,
        generics: Vec<GenericValue>,
        lambdas: Vec<u32>,
        span: Span,
    ) -> Done<FunctionId> {
        let id = InstanceKey {
            item: key,
            generics,
            lambdas,
        };
        if let Some(known) = self.instances.get(&id) {
            return *known;
        }
        let mut context = Context::new(key.0, Surroundings::Function);
        context
            .scopes
            .extend(bindings(&function.generics, &id.generics));
        if !id.generics.is_empty() {
            let generics = self.program.types.generics_text(&id.generics);
            context.used_at = Some((span, format!("{}::<{generics}>", function.name.name)));
        }
        let used_at = context.used_at.clone();
        let (signature, _) = self.within(context, |this| {
            let mut parameters = Vec::new();
            for parameter in &function.parameters {
                if !matches!(parameter.ty.kind, TypeExpressionKind::Function) {
                    parameters.push(this.ty(&parameter.ty)?);
                }
            }
            let result = match &function.result {
                Some(result) => this.ty(result)?,
                None => this.program.types.unit(),
            };
            let keys = this.sort_keys(function, &parameters, result, &id.lambdas)?;
            Ok((parameters, result, keys))
        });
        let made = signature.and_then(|(parameters, result, (sorted, result_sorted))| {
            let made = self.new_instance(Instance {
                key: id.clone(),
                function: Some(function),
                parameters,
                result,
                state: BodyProgress::New,
                used_at,
            })?;
            let function = &mut self.program.functions[made.0 as usize];
            (function.sorted, function.result_sorted) = (sorted, result_sorted);
            Ok(made)
        });
        self.instances.insert(id, made);
        made
    }

    /// Returns the result of a function called with constants.
    fn folded(
        &mut self,
        id: FunctionId,
        function: &Function,
        values: &[Expression],
        span: Span,
    ) -> Done<Option<Value>> {
        let is_plain = matches!(function.body, syntax::FunctionBody::Block(_));
        let is_plain = is_plain && function.result.is_some();
        let Some(constants) = Expression::constants(values).filter(|_| is_plain) else {
            return Ok(None);
        };
        if !self.deeper(span, |this| this.make_reachable(id))? {
            return Ok(None);
        }
        if let Some(error) = order::constant_error(&self.program, &self.folded, id, values) {
            return self.fail(error);
        }
        if let Body::Block(_) = self.program.functions[id.0 as usize].body {
            let value = match interpret::call(&self.program, id, constants, &mut self.fuel) {
                Ok(value) => value,
                Err(error) => return self.fail(*error),
            };
            let sorted = &self.program.functions[id.0 as usize].result_sorted;
            if let Some(key) = sorted.as_ref().filter(|key| order::is_computed(key)) {
                let found = (value.clone(), key.clone());
                if !self.folded.contains(&found) {
                    self.folded.push(found);
                }
            }
            return Ok(Some(value));
        }
        Ok(None)
    }
}
