//! Finds the statements that form a network, and their steps.

use std::collections::BTreeMap;

use num_integer::Integer as _;

use super::super::order_free::variable;
use super::{
    ArgumentPiece, Assignment, Loops, NetworkLoop, NetworkStep, NetworkVariable, Place, PlaceIndex,
};
use crate::program::{
    Body, Condition, Expression, ExpressionKind, Function, FunctionId, LocalId, Loop, Number,
    Program, Root, Statement, StatementKind, Step, TypeId, ValuePath, Variable, VariableUse,
    variable_uses,
};

/// Returns the loops at the start of these statements that form a network, if the first one does.
pub(in super::super) fn network_at(
    program: &Program,
    function: &Function,
    statements: &[Statement],
) -> Option<Loops> {
    let mut compiler = Compiler {
        program,
        function,
        inner: Vec::new(),
        variables: BTreeMap::new(),
        order: Vec::new(),
        width: 0,
        granule: 0,
    };
    let mut steps = Vec::new();
    for statement in statements {
        if !matches!(statement.kind, StatementKind::For(_)) {
            break;
        }
        let mark = compiler.order.len();
        let Some(step) = compiler.statement(statement) else {
            compiler.forget(mark);
            break;
        };
        steps.push(step);
    }
    if !has_calls(&steps) {
        return None;
    }
    let first = statements.first()?.span;
    let last = statements.get(steps.len().checked_sub(1)?)?.span;
    Some(Loops {
        statements: steps.len(),
        span: first.to(last),
        width: compiler.width,
        granule: compiler.granule.max(1),
        variables: compiler.order,
        steps,
    })
}

struct Compiler<'p> {
    program: &'p Program,
    function: &'p Function,
    /// The variables of the turns of loops.
    inner: Vec<LocalId>,
    variables: BTreeMap<Variable, usize>,
    order: Vec<NetworkVariable>,
    width: usize,
    granule: usize,
}

impl Compiler<'_> {
    /// Removes the variables from this number on, which no step uses.
    fn forget(&mut self, mark: usize) {
        for variable in self.order.drain(mark..).rev() {
            self.width = variable.start;
            self.variables.remove(&variable.variable);
        }
    }

    fn statements(&mut self, all: &[Statement]) -> Option<Vec<NetworkStep>> {
        let mut steps = Vec::new();
        let mut rest = all;
        while let Some((statement, after)) = rest.split_first() {
            rest = after;
            match &statement.kind {
                StatementKind::Assert(_) | StatementKind::Debug(_) => {}
                StatementKind::Evaluate(value) if is_nothing(value) => {}
                StatementKind::Let(local, value) => {
                    if let Some((taken, step)) = self.taken_apart(*local, value, rest) {
                        steps.push(step);
                        rest = &rest[taken..];
                        continue;
                    }
                    self.inner.push(*local);
                    steps.push(self.assign(&ValuePath::whole(Root::Local(*local)), value)?);
                }
                _ => steps.push(self.statement(statement)?),
            }
        }
        Some(steps)
    }

    fn statement(&mut self, statement: &Statement) -> Option<NetworkStep> {
        let span = statement.span;
        match &statement.kind {
            StatementKind::For(each) if !each.is_over_pairs => {
                let Loop {
                    counter, from, to, ..
                } = &**each;
                Some(NetworkStep::For(NetworkLoop {
                    counter: *counter,
                    from: from.clone(),
                    to: to.clone(),
                    span,
                    body: self.statements(&each.body)?,
                }))
            }
            StatementKind::If(Condition::Guard(number), then, otherwise) => {
                let branches = [self.statements(otherwise)?, self.statements(then)?];
                Some(NetworkStep::If(number.clone(), span, branches))
            }
            StatementKind::Assign(place, value) => self.assign(place, value),
            _ => None,
        }
    }

    fn assign(&mut self, place: &ValuePath, value: &Expression) -> Option<NetworkStep> {
        let (component, arguments) = self.computed(value)?;
        let target = self.place(place)?;
        self.note_assigned(place);
        Some(NetworkStep::Assign(Assignment {
            component,
            span: value.span,
            targets: vec![target],
            arguments,
        }))
    }

    /// Returns the component and its arguments, or the parts that are moved.
    fn computed(
        &mut self,
        value: &Expression,
    ) -> Option<(Option<FunctionId>, Vec<Vec<ArgumentPiece>>)> {
        let ExpressionKind::Call(id, given) = &value.kind else {
            let mut pieces = Vec::new();
            self.given(value, &mut pieces)?;
            return Some((None, vec![pieces]));
        };
        let called = &self.program.functions[id.0 as usize];
        if !called.is_component || !matches!(called.body, Body::Block(_)) {
            return None;
        }
        let mut arguments = Vec::new();
        for argument in given {
            let mut pieces = Vec::new();
            self.given(argument, &mut pieces)?;
            if !pieces.is_empty() {
                arguments.push(pieces);
            }
        }
        let has_result = self.program.types.width(called.result) > 0;
        (has_result && !arguments.is_empty()).then_some((Some(*id), arguments))
    }

    fn given(&mut self, value: &Expression, pieces: &mut Vec<ArgumentPiece>) -> Option<()> {
        match &value.kind {
            ExpressionKind::Read(path) => {
                let place = self.place(path)?;
                if place.width > 0 {
                    pieces.push(ArgumentPiece::Place(place));
                }
            }
            ExpressionKind::Constant(constant) => {
                let bits = self.program.types.bits_of_value(value.ty, constant);
                if !bits.is_empty() {
                    pieces.push(ArgumentPiece::Constant(bits));
                }
            }
            ExpressionKind::Aggregate(parts) => {
                for part in parts {
                    self.given(part, pieces)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns the step of a call whose result is read only by the next statements, which assign
    /// its parts one after the other, and their number.
    fn taken_apart(
        &mut self,
        local: LocalId,
        value: &Expression,
        rest: &[Statement],
    ) -> Option<(usize, NetworkStep)> {
        let mark = self.order.len();
        let found = self.try_apart(local, value, rest);
        if found.is_none() {
            self.forget(mark);
        }
        found
    }

    fn try_apart(
        &mut self,
        local: LocalId,
        value: &Expression,
        rest: &[Statement],
    ) -> Option<(usize, NetworkStep)> {
        let (component @ Some(_), arguments) = self.computed(value)? else {
            return None;
        };
        let ty = self.function.locals[local.0 as usize].ty;
        let width = self.program.types.width(ty) as usize;
        let (mut at, mut taken, mut targets) = (0, 0, Vec::new());
        while at < width {
            let StatementKind::Assign(place, part) = &rest.get(taken)?.kind else {
                return None;
            };
            let ExpressionKind::Read(path) = &part.kind else {
                return None;
            };
            if path.local() != Some(local) {
                return None;
            }
            let (offset, indices, part_width) = self.path(&path.path, ty)?;
            if offset != at || !indices.is_empty() {
                return None;
            }
            if part_width > 0 {
                targets.push(self.place(place)?);
                self.note_assigned(place);
            }
            (at, taken) = (at + part_width, taken + 1);
        }
        let mut is_read = false;
        variable_uses(&rest[taken..], None, |of| {
            is_read |= matches!(of, VariableUse::Read(place, _) if place.local() == Some(local));
        });
        if is_read {
            return None;
        }
        let span = value.span;
        let step = NetworkStep::Assign(Assignment {
            component,
            span,
            targets,
            arguments,
        });
        Some((taken, step))
    }

    fn note_assigned(&mut self, place: &ValuePath) {
        if let Some(number) = variable(place).and_then(|of| self.variables.get(&of)) {
            self.order[*number].is_assigned = true;
        }
    }

    /// Returns the place of a variable, or of a part of one.
    fn place(&mut self, path: &ValuePath) -> Option<Place> {
        let of = variable(path)?;
        let (_, ty) = self.program.variable(self.function, of);
        let (offset, indices, width) = self.path(&path.path, ty)?;
        let start = self.start(of, ty) + offset;
        self.granule = self.granule.gcd(&start).gcd(&width);
        for index in &indices {
            self.granule = self.granule.gcd(&index.stride);
        }
        Some(Place {
            start,
            width,
            indices,
        })
    }

    /// Returns the first bit of a variable, which gets its place when it is first named.
    fn start(&mut self, of: Variable, ty: TypeId) -> usize {
        if let Some(number) = self.variables.get(&of) {
            return self.order[*number].start;
        }
        let (start, width) = (self.width, self.program.types.width(ty) as usize);
        self.variables.insert(of, self.order.len());
        let is_inner = matches!(of, Variable::Local(local) if self.inner.contains(&LocalId(local)));
        self.order.push(NetworkVariable {
            variable: of,
            start,
            width,
            is_inner,
            is_assigned: false,
        });
        self.width += width;
        start
    }

    /// Returns the offset of a part, the indices on the way to it, and its width.
    fn path(&self, steps: &[Step], mut ty: TypeId) -> Option<(usize, Vec<PlaceIndex>, usize)> {
        let types = &self.program.types;
        let (mut offset, mut indices) = (0, Vec::new());
        for step in steps {
            let (number, picked, span) = match step {
                Step::Field(field) => {
                    let fields = types.fields(ty);
                    let before = &fields[..*field as usize];
                    offset += before.iter().map(|ty| types.width(*ty)).sum::<u64>() as usize;
                    ty = fields[*field as usize];
                    continue;
                }
                Step::At(number, span) => (number, None, *span),
                Step::Slice(from, picked, span) => (from, Some(*picked), *span),
                Step::AtSecret(_) => return None,
            };
            let (element, elements) = types.element(ty)?;
            indices.push(PlaceIndex {
                number: Number::clone(number),
                stride: types.width(element) as usize,
                elements,
                last: i64::from(elements) - i64::from(picked.unwrap_or(1)),
                span,
            });
            ty = match picked {
                None => element,
                Some(count) => types.find(&types.slice(ty, count))?,
            };
        }
        Some((offset, indices, types.width(ty) as usize))
    }
}

fn has_calls(steps: &[NetworkStep]) -> bool {
    steps.iter().any(|step| match step {
        NetworkStep::Assign(assignment) => assignment.component.is_some(),
        NetworkStep::If(_, _, branches) => branches.iter().any(|all| has_calls(all)),
        NetworkStep::For(each) => has_calls(&each.body),
    })
}

/// Whether computing a value does nothing.
fn is_nothing(value: &Expression) -> bool {
    match &value.kind {
        ExpressionKind::Constant(_) => true,
        ExpressionKind::Aggregate(parts) => parts.is_empty(),
        ExpressionKind::Block(block) => block.statements.is_empty() && is_nothing(&block.value),
        _ => false,
    }
}
