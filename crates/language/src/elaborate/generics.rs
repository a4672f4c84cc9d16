//! Instances of functions: the values of their generics, and their bodies.

use std::collections::BTreeMap;

use num_traits::ToPrimitive;

use super::calls::CallArgument;
use super::constants::{bindings, generic_context};
use super::term::Term;
use super::{Binding, Context, Done, Elaborator, Surroundings};
use crate::diagnostic::Diagnostic;
use crate::load::Definition;
use crate::program::{
    Block, Body, Expression, Function, FunctionId, GenericValue, ItemKey, LocalId, TypeId,
    TypeKind, Value,
};
use crate::source::Span;
use crate::syntax::{
    self, Argument, FunctionBody, Generic, GenericArgument, Ident, Path, TypeExpression,
    TypeExpressionKind,
};

/// The greatest number of instances of functions.
const MAX_INSTANCES: usize = 1 << 14;

/// The identity of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct InstanceKey {
    pub(super) item: ItemKey,
    pub(super) generics: Vec<GenericValue>,
    pub(super) lambdas: Vec<u32>,
}

/// The progress of an instance's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyProgress {
    New,
    Open,
    Made,
}

/// A function with values for its generics.
pub(super) struct Instance<'a> {
    pub(super) key: InstanceKey,
    /// The function in the source. It is `None` for other functions, such as a run.
    pub(super) function: Option<&'a syntax::Function>,
    /// The types of the parameters that are not lambdas.
    pub(super) parameters: Vec<TypeId>,
    pub(super) result: TypeId,
    pub(super) state: BodyProgress,
    pub(super) used_at: Option<(Span, String)>,
}

impl<'a> Elaborator<'a> {
    /// Adds an instance without its body.
    pub(super) fn new_instance(&mut self, instance: Instance<'a>) -> Done<FunctionId> {
        let function = instance.function.expect("an instance of a function");
        let span = function.name.span;
        if self.made.len() >= MAX_INSTANCES {
            let message = format!("more than {MAX_INSTANCES} instances of functions");
            let error = Diagnostic::new(span, message);
            return self.fail(error.help("is a generic function called by itself?"));
        }
        let placeholder = Function {
            name: function.name.name.clone(),
            is_component: function.is_component,
            parameters: Vec::new(),
            sorted: Vec::new(),
            result_sorted: None,
            locals: Vec::new(),
            counters: Vec::new(),
            result: instance.result,
            body: Body::Block(Block {
                statements: Vec::new(),
                value: self.unit_expression(span),
            }),
            span,
        };
        self.made.push(instance);
        self.program.functions.push(placeholder);
        Ok(FunctionId(self.made.len() as u32 - 1))
    }

    pub(super) fn unit_expression(&mut self, span: Span) -> Expression {
        Expression::constant(Value::UNIT, self.program.types.unit(), span)
    }

    /// Makes the bodies of all instances, and of those that they need.
    pub(super) fn make_all(&mut self) {
        let mut next = 0;
        while next < self.made.len() && !self.errors.is_full() {
            self.make(FunctionId(next as u32));
            next += 1;
        }
    }

    /// Makes the body of an instance, unless it has been made.
    fn make(&mut self, id: FunctionId) {
        let number = id.0 as usize;
        if self.made[number].state != BodyProgress::New {
            return;
        }
        self.made[number].state = BodyProgress::Open;
        let Instance {
            key,
            function,
            parameters,
            result,
            used_at,
            ..
        } = &self.made[number];
        let (Some(function), result) = (*function, *result) else {
            return;
        };
        let (key, parameters, used_at) = (key.clone(), parameters.clone(), used_at.clone());
        let mut context = Context::new(key.item.0, Surroundings::Function);
        context
            .scopes
            .extend(bindings(&function.generics, &key.generics));
        context.used_at = used_at;
        let (body, context) = self.within(context, |this| {
            let locals = this.bind_parameters(function, &parameters, &key.lambdas);
            let body = match &function.body {
                FunctionBody::Block(block) => this.body(block, result, function.result.is_some()),
                FunctionBody::Library(name, parameters, _) => {
                    let parameters = this.library_parameters(parameters);
                    parameters.map(|parameters| Body::Library(name.clone(), parameters))
                }
                FunctionBody::File(path, order, _) => Ok(Body::File(path.clone(), *order)),
            };
            if let (FunctionBody::Library(.., span) | FunctionBody::File(.., span), false) =
                (&function.body, function.is_component)
            {
                let error =
                    Diagnostic::new(*span, "only a `component fn` has a circuit of its own");
                this.report(error.help("write `component fn`"));
            }
            body.map(|body| (body, locals))
        });
        if let Ok((body, locals)) = body {
            let made = &mut self.program.functions[number];
            made.body = body;
            made.parameters = locals;
            made.locals = context.locals;
            made.counters = context.counters;
        }
        self.made[number].state = BodyProgress::Made;
    }

    /// Returns the parameters of a library component, which are named consts.
    fn library_parameters(&mut self, given: &'a [Argument]) -> Done<BTreeMap<String, u64>> {
        let mut parameters = BTreeMap::new();
        for Argument { name, value } in given {
            let Some(name) = name else {
                let error = Diagnostic::new(value.span, "a parameter of the library has no name");
                return self.fail(error.help("write `library \"adder\"(bits: 8)`"));
            };
            let number = self.const_integer(value, "a parameter of the library")?;
            let Some(number) = number.to_u64() else {
                let message = format!("{number} is not a parameter of the library");
                let error = Diagnostic::new(value.span, message);
                return self.fail(error.help("it is a number from 0 to below 2^64"));
            };
            if parameters.insert(name.name.to_string(), number).is_some() {
                let message = format!("`{}` is given twice", name.name);
                return self.fail(Diagnostic::new(name.span, message));
            }
        }
        Ok(parameters)
    }

    fn bind_parameters(
        &mut self,
        function: &syntax::Function,
        types: &[TypeId],
        lambdas: &[u32],
    ) -> Vec<LocalId> {
        let (mut types, mut lambdas) = (types.iter(), lambdas.iter());
        let mut locals = Vec::new();
        for parameter in &function.parameters {
            let name = parameter.name.name.clone();
            if matches!(parameter.ty.kind, TypeExpressionKind::Function) {
                let lambda = *lambdas.next().expect("a lambda for each such parameter");
                self.bind(name, Binding::Lambda(lambda));
                continue;
            }
            let ty = *types.next().expect("a type for each parameter");
            let local = self.local(name.clone(), ty);
            self.bind(name, Binding::Local(local, parameter.is_mutable));
            locals.push(local);
        }
        locals
    }

    /// Elaborates a block as a function's body.
    pub(super) fn body(
        &mut self,
        block: &'a syntax::Block,
        result: TypeId,
        has_result: bool,
    ) -> Done<Body> {
        let hint = has_result.then_some(result);
        let branch = self.block(block, hint)?;
        let mut statements = branch.statements;
        if !has_result {
            self.emit(branch.term, &mut statements);
            let value = self.unit_expression(block.span);
            return Ok(Body::Block(Block { statements, value }));
        }
        if block.value.is_none() {
            let name = self.type_name(result);
            let message = format!("this block ends without its value, a `{name}`");
            let end = Span {
                start: block.span.end - 1,
                ..block.span
            };
            let error = Diagnostic::new(end, message);
            return self.fail(error.help("its last line is an expression without `;`"));
        }
        let of_tuple = matches!(self.program.types.kind(result), TypeKind::Tuple(_));
        let is_tuple = match &branch.term {
            Term::List(_, is_tuple) => *is_tuple,
            term => term
                .ty()
                .is_some_and(|ty| matches!(self.program.types.kind(ty), TypeKind::Tuple(_))),
        };
        if !self.result_names.is_empty() && of_tuple && !is_tuple {
            let names: Vec<&str> = self.result_names.iter().map(|name| name.as_str()).collect();
            let message = format!(
                "the run has {} results, and its block gives one",
                names.len()
            );
            let error = Diagnostic::new(branch.span, message);
            return self.fail(error.help(format!("end it with `({})`", names.join(", "))));
        }
        let value = self.meet(branch.term, result, branch.span)?;
        Ok(Body::Block(Block { statements, value }))
    }

    /// Makes all bodies that a call needs. Returns false if one of them is being made.
    pub(super) fn make_reachable(&mut self, from: FunctionId) -> Done<bool> {
        let errors = self.errors.len();
        let mut seen = vec![from];
        let mut next = 0;
        while let Some(&id) = seen.get(next) {
            next += 1;
            self.make(id);
            if self.made[id.0 as usize].state != BodyProgress::Made || self.errors.len() > errors {
                return Ok(false);
            }
            self.program.functions[id.0 as usize].callees(&mut |callee, _| {
                if !seen.contains(&callee) {
                    seen.push(callee);
                }
            });
        }
        Ok(true)
    }

    /// Reports functions that call themselves, or that call each other too deeply.
    pub(super) fn check_recursion(&mut self) {
        let count = self.program.functions.len();
        let mut edges: Vec<Vec<(FunctionId, Span)>> = Vec::with_capacity(count);
        for function in &self.program.functions {
            let mut called = Vec::new();
            function.callees(&mut |callee, span| called.push((callee, span)));
            edges.push(called);
        }
        // 0: not visited, 1: being visited, 2: done.
        let mut marks = vec![0_u8; count];
        let mut heights = vec![0_usize; count];
        for start in 0..count {
            let mut open = vec![(start, 0_usize)];
            while let Some((node, edge)) = open.pop() {
                marks[node] = marks[node].max(1);
                let Some(&(callee, span)) = edges[node].get(edge) else {
                    marks[node] = 2;
                    let below = edges[node]
                        .iter()
                        .map(|(callee, _)| heights[callee.0 as usize]);
                    heights[node] = 1 + below.max().unwrap_or(0);
                    continue;
                };
                open.push((node, edge + 1));
                match marks[callee.0 as usize] {
                    0 => open.push((callee.0 as usize, 0)),
                    1 => {
                        let name = self.program.functions[callee.0 as usize].name.clone();
                        let message = format!("`{name}` calls itself");
                        let error = Diagnostic::new(span, message);
                        let help = "other const generics end such calls; else write a loop";
                        self.report(error.help(help));
                        return;
                    }
                    _ => {}
                }
            }
        }
        let deep = (0..count).find(|&number| heights[number] > 64);
        if let Some(number) = deep {
            let span = self.program.functions[number].span;
            let error = Diagnostic::new(span, "more than 64 functions call each other in a row");
            self.report(error);
        }
    }

    /// Returns a parameter's type if all generics that it names are known.
    pub(super) fn known_type(
        &mut self,
        key: ItemKey,
        generics: &[Generic],
        bound: &[Option<GenericValue>],
        ty: &'a TypeExpression,
    ) -> Option<TypeId> {
        let is_known = generics
            .iter()
            .zip(bound)
            .all(|(generic, value)| value.is_some() || !mentions(ty, generic.name.as_str()));
        if !is_known {
            return None;
        }
        let zero = GenericValue::Number(0.into());
        let values: Vec<GenericValue> = bound
            .iter()
            .map(|value| value.clone().unwrap_or(zero.clone()))
            .collect();
        let context = generic_context(key.0, generics, &values);
        self.within(context, |this| this.ty(ty)).0.ok()
    }

    /// Infers generics from a type and the type of the value that meets it.
    pub(super) fn unify(
        &mut self,
        key: ItemKey,
        generics: &[Generic],
        pattern: &TypeExpression,
        ty: TypeId,
        bound: &mut [Option<GenericValue>],
    ) {
        let place = |name: &Ident, is_const: bool| {
            generics
                .iter()
                .position(|g| g.name.name == name.name && g.is_const == is_const)
        };
        let mut learn = |place: Option<usize>, value: GenericValue| {
            if let Some(place) = place {
                bound[place].get_or_insert(value);
            }
        };
        let kind = self.program.types.kind(ty).clone();
        match (&pattern.kind, kind) {
            (TypeExpressionKind::Named(path), kind) => {
                if let Some(name) = path.as_name() {
                    learn(place(name, false), GenericValue::Type(ty));
                    return;
                }
                let sizes: Vec<u32> = match (path.last().as_str(), kind) {
                    ("u", TypeKind::Unsigned(n)) | ("i", TypeKind::Signed(n)) => vec![n],
                    ("bytes", TypeKind::Bytes(n)) | ("text", TypeKind::Text(n)) => vec![n],
                    ("fixed", TypeKind::Fixed(i, f)) => vec![i, f],
                    (_, TypeKind::Struct(_)) => {
                        return self.unify_struct(key, generics, path, ty, bound);
                    }
                    _ => return,
                };
                for (argument, size) in path.generics.iter().zip(sizes) {
                    if let Some(name) = bare_name(argument) {
                        learn(place(name, true), GenericValue::Number(size.into()));
                    }
                }
            }
            (TypeExpressionKind::Array(element, size), TypeKind::Array(of, n))
            | (TypeExpressionKind::Table(element, size), TypeKind::Table(of, n)) => {
                if let syntax::ExpressionKind::Path(path) = &size.kind
                    && let Some(name) = path.as_name()
                {
                    learn(place(name, true), GenericValue::Number(n.into()));
                }
                self.unify(key, generics, element, of, bound);
            }
            (TypeExpressionKind::Tuple(parts), TypeKind::Tuple(types)) => {
                for (part, ty) in parts.iter().zip(types) {
                    self.unify(key, generics, part, ty, bound);
                }
            }
            _ => {}
        }
    }

    fn unify_struct(
        &mut self,
        key: ItemKey,
        generics: &[Generic],
        path: &Path,
        ty: TypeId,
        bound: &mut [Option<GenericValue>],
    ) {
        let named = self.loaded.lookup(key.0, path.last().as_str());
        let Some((origin, values)) = self.program.types.origin(ty).cloned() else {
            return;
        };
        if named != Some(Definition::Item(origin)) {
            return;
        }
        for (argument, value) in path.generics.iter().zip(values) {
            match (argument, value) {
                (GenericArgument::Type(pattern), GenericValue::Type(ty)) => {
                    self.unify(key, generics, pattern, ty, bound);
                }
                (argument, value @ GenericValue::Number(_)) => {
                    let place = bare_name(argument)
                        .and_then(|name| generics.iter().position(|g| g.name.name == name.name));
                    if let Some(place) = place {
                        bound[place].get_or_insert(value);
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the arguments of a function of the prelude, by position.
    pub(super) fn positional<const N: usize>(
        &mut self,
        name: &str,
        given: &[CallArgument<'a>],
        span: Span,
    ) -> Done<[&'a syntax::Expression; N]> {
        let values: Vec<&syntax::Expression> = given.iter().map(|given| given.value).collect();
        match values.try_into() {
            Ok(values) => Ok(values),
            Err(_) => {
                let message = format!("`{name}` takes {N} arguments, not {}", given.len());
                let error = Diagnostic::new(span, message);
                if !["min", "max"].contains(&name) {
                    return self.fail(error);
                }
                let help =
                    format!("of an array: `let mut m = a[0]; for x in a {{ m = {name}(m, x); }}`");
                self.fail(error.help(help))
            }
        }
    }
}

/// Returns a generic argument that is just a name.
fn bare_name(argument: &GenericArgument) -> Option<&Ident> {
    match argument {
        GenericArgument::Type(ty) => match &ty.kind {
            TypeExpressionKind::Named(path) => path.as_name(),
            _ => None,
        },
        GenericArgument::Number(number) => match &number.kind {
            syntax::ExpressionKind::Path(path) => path.as_name(),
            _ => None,
        },
    }
}

/// Whether a type may mention a generic's name.
pub(super) fn mentions(ty: &TypeExpression, name: &str) -> bool {
    let in_number = |number: &syntax::Expression| names_in(number, name);
    match &ty.kind {
        TypeExpressionKind::Named(path) => {
            path.segments.iter().any(|segment| segment.as_str() == name)
                || path.generics.iter().any(|argument| match argument {
                    GenericArgument::Type(ty) => mentions(ty, name),
                    GenericArgument::Number(number) => in_number(number),
                })
        }
        TypeExpressionKind::Array(element, size) | TypeExpressionKind::Table(element, size) => {
            mentions(element, name) || in_number(size)
        }
        TypeExpressionKind::Tuple(parts) => parts.iter().any(|part| mentions(part, name)),
        TypeExpressionKind::Function => true,
    }
}

/// Whether an expression of sizes may mention a name.
fn names_in(number: &syntax::Expression, name: &str) -> bool {
    use syntax::ExpressionKind as K;
    match &number.kind {
        K::Bool(_) | K::Integer(_) | K::Fraction(_) | K::Text(_) => false,
        K::Path(path) => path.segments.iter().any(|segment| segment.as_str() == name),
        K::Unary(_, of) => names_in(of, name),
        K::Binary(_, _, a, b) => names_in(a, name) || names_in(b, name),
        K::Call(_, arguments) => arguments.iter().any(|a| names_in(&a.value, name)),
        _ => true,
    }
}
