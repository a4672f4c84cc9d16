//! Lowers a function from its written form to its plan: names become arrays, expressions become
//! affine, and all widths are compared.

mod call;
mod constants;
mod granules;

use std::cell::Cell;
use std::collections::HashMap;

use tacit_circuit::{Kind, Type};

use crate::expression::{Affine, Expression};
use crate::plan::{Array, Bound, Instruction, Operation, Part, Piece, Plan};
use crate::source::{Destination, InputSource, OutputSource, Owner, Source, StepSource};
use crate::steps::Part as PartSource;
use crate::steps::{Assignment, Head, Index, Item, Operand};
use crate::{ErrorLocation, FunctionError};

/// The state of a lowering: the source, and the present position in it.
pub(super) struct Lowering<'s> {
    source: &'s Source,
    arrays: HashMap<&'s str, u32>,
    types: Vec<&'s Type>,
    counters: Vec<&'s str>,
    place: ErrorLocation,
    /// The bits of all constants so far.
    constant_bits: Cell<u64>,
    plan: Plan,
}

impl<'s> Lowering<'s> {
    /// Lowers all of `source`.
    pub(super) fn lower(source: &'s Source) -> Result<Plan, FunctionError> {
        let mut lowering = Self {
            source,
            arrays: HashMap::new(),
            types: Vec::new(),
            counters: Vec::new(),
            place: ErrorLocation::new("the function"),
            constant_bits: Cell::new(0),
            plan: Plan::default(),
        };
        let saved = |input: &&InputSource| input.owner == Owner::Saved;
        let (inputs, loads) = (source.inputs.iter(), source.inputs.iter());
        for input in inputs.filter(|i| !saved(i)).chain(loads.filter(saved)) {
            lowering.array(&input.name, &input.ty, false);
        }
        lowering.plan.given = lowering.plan.arrays.len();
        for value in &source.values {
            lowering.array(&value.name, &value.ty, value.is_variable);
        }
        lowering.steps(&source.steps)?;
        lowering.outputs()?;
        granules::cut(&mut lowering.plan, source.is_over_shares)?;
        Ok(lowering.plan)
    }

    fn array(&mut self, name: &'s str, ty: &'s Type, is_variable: bool) {
        self.arrays.insert(name, self.plan.arrays.len() as u32);
        self.plan.arrays.push(Array {
            name: name.to_owned(),
            width: ty.width() as u64,
            granule: 0,
            first: 0,
            class: 0,
            is_variable,
        });
        self.types.push(ty);
    }

    fn steps(&mut self, steps: &'s [StepSource]) -> Result<(), FunctionError> {
        for step in steps {
            match step {
                StepSource::Assignment(assignment) => {
                    self.place = ErrorLocation::new(assignment.text(str::to_owned));
                    let operation = self.assignment(assignment)?;
                    let number = self.plan.operations.len();
                    self.plan.operations.push(operation);
                    self.plan.instructions.push(Instruction::Run(number));
                }
                StepSource::Loop(head, steps) => self.repetition(head, steps)?,
            }
        }
        Ok(())
    }

    fn repetition(&mut self, head: &'s Head, steps: &'s [StepSource]) -> Result<(), FunctionError> {
        self.place = ErrorLocation::new(format!("for {head}"));
        let bound = |bound: &Expression| bound.affine(&self.counters, &self.place);
        let (from, to) = (bound(&head.from)?, bound(&head.to)?);
        let (depth, begin) = (self.counters.len(), self.plan.instructions.len());
        let exit = usize::MAX;
        self.plan.instructions.push(Instruction::Enter {
            depth,
            from,
            to,
            exit,
            head: head.to_string(),
        });
        self.counters.push(&head.counter);
        self.steps(steps)?;
        self.counters.pop();
        let repeat = Instruction::Repeat {
            depth,
            body: begin + 1,
        };
        self.plan.instructions.push(repeat);
        let end = self.plan.instructions.len();
        if let Instruction::Enter { exit, .. } = &mut self.plan.instructions[begin] {
            *exit = end;
        }
        Ok(())
    }

    fn assignment(&self, assignment: &'s Assignment) -> Result<Operation, FunctionError> {
        let mut operation = self.operation(self.place.to_string());
        match assignment {
            Assignment::Move(target, value) => {
                let what = target.to_string();
                let (part, ty) = self.pick(target, &what, &mut operation.bounds)?;
                let port = format!("{what} ({ty})");
                self.argument(value, &ty, &port, &mut operation)?;
                operation.results.push((ty.width() as u64, Some(part)));
            }
            Assignment::Call(targets, name, arguments) => {
                let declared = &self.source.components;
                let Some(number) = self.source.component(name) else {
                    let known: Vec<&str> = declared.iter().map(|c| c.name.as_str()).collect();
                    let known = if known.is_empty() {
                        vec!["none"]
                    } else {
                        known
                    };
                    return Err(FunctionError::UnknownComponent {
                        place: self.place.clone(),
                        name: name.clone(),
                        known: known.join(", "),
                    });
                };
                operation.component = Some(number as u32);
                self.call(&declared[number], targets, arguments, &mut operation)?;
            }
        }
        Ok(operation)
    }

    fn operation(&self, text: String) -> Operation {
        Operation {
            component: None,
            is_stream: false,
            arguments: Vec::new(),
            results: Vec::new(),
            bounds: Vec::new(),
            text,
            counters: self.counters.iter().map(ToString::to_string).collect(),
        }
    }

    /// Adds `value` to the operation's arguments, for a destination of type `ty`.
    fn argument(
        &self,
        value: &Operand,
        ty: &Type,
        port: &str,
        operation: &mut Operation,
    ) -> Result<(), FunctionError> {
        let found = self.value(value, Some(ty), port, operation)?;
        if found == ty.width() as u64 {
            return Ok(());
        }
        Err(FunctionError::Width {
            place: self.place.clone(),
            port: port.to_owned(),
            value: value.to_string(),
            expected: ty.width() as u64,
            found,
        })
    }

    /// Adds `value` to the operation's arguments. Returns its width.
    fn value(
        &self,
        value: &Operand,
        ty: Option<&Type>,
        port: &str,
        operation: &mut Operation,
    ) -> Result<u64, FunctionError> {
        // If there are several items, each is a part of an array, or all are bits of one number.
        let place = ty.filter(|ty| value.0.len() == 1 || matches!(ty.kind(), Kind::Array(..)));
        let ty = ty.filter(|_| value.0.len() == 1);
        value.0.iter().try_fold(0_u64, |width, item| {
            let more = self.item(item, (ty, place), port, operation)?;
            let overflow = || FunctionError::overflow(&self.place, value);
            width.checked_add(more).ok_or_else(overflow)
        })
    }

    /// Adds an item. `ty` is the type of a constant without a type of its own. `place` is the type
    /// of the destination that the item fills wholly or in part.
    fn item(
        &self,
        item: &Item,
        (ty, place): (Option<&Type>, Option<&Type>),
        port: &str,
        operation: &mut Operation,
    ) -> Result<u64, FunctionError> {
        match item {
            Item::Part(reference) => {
                let what = format!("{port}, {reference}");
                let (part, ty) = self.pick(reference, &what, &mut operation.bounds)?;
                if let Some(place) = place {
                    self.reads(&reference.to_string(), &ty, port, place)?;
                }
                operation.arguments.push(Piece::Part(part));
                Ok(ty.width() as u64)
            }
            Item::Constant(number, said) => {
                // Zero is a value of every type.
                if let (Some(said), Some(place)) = (said, place)
                    && *number != 0
                {
                    self.reads(&item.to_string(), said, port, place)?;
                }
                let bits = self.constant(*number, said.as_ref().or(ty))?;
                let width = bits.len() as u64;
                operation.arguments.push(Piece::Constant(bits));
                Ok(width)
            }
        }
    }

    /// Returns the bits that `reference` selects, and their type.
    fn pick(
        &self,
        reference: &PartSource,
        what: &str,
        bounds: &mut Vec<Bound>,
    ) -> Result<(Part, Type), FunctionError> {
        let name = reference.name.as_str();
        let unknown = || FunctionError::unknown_name(&self.place, name);
        let array = *self.arrays.get(name).ok_or_else(unknown)?;
        let mut ty = Type::clone(self.types[array as usize]);
        let mut start = Affine::default();
        for index in &reference.indices {
            let (element, size) = self.dimension(&ty, reference)?;
            let (at, picked) = index.extent(&self.counters, &self.place)?;
            let stride = element.width() as i64;
            let overflow = || FunctionError::overflow(&self.place, reference);
            start = start.plus(stride, &at).ok_or_else(overflow)?;
            let bound = Bound {
                index: at,
                picked,
                size,
                what: what.to_owned(),
            };
            let invalid = |error| FunctionError::Type {
                place: self.place.clone(),
                error: Box::new(error),
            };
            ty = match index {
                Index::At(_) => element,
                Index::Range(..) if (1..=size).contains(&picked) => {
                    range(&ty, picked as u32).map_err(invalid)?
                }
                Index::Range(from, to) => {
                    return Err(FunctionError::Index {
                        place: self.place.clone(),
                        reference: what.to_owned(),
                        found: format!("{from}..{to}"),
                        size: size as u64,
                    });
                }
            };
            bounds.push(bound);
        }
        let granules = ty.width() as u32;
        Ok((
            Part {
                array,
                start,
                granules,
            },
            ty,
        ))
    }

    /// Returns the type of an element of `ty`, and the number of elements.
    fn dimension(&self, ty: &Type, reference: &PartSource) -> Result<(Type, i64), FunctionError> {
        Ok(match ty.kind() {
            Kind::Array(of, n) => (Type::clone(of), i64::from(*n)),
            Kind::Bytes(n) => (Type::unsigned(8), i64::from(*n)),
            Kind::Bit => {
                return Err(FunctionError::Dimensions {
                    place: self.place.clone(),
                    reference: reference.to_string(),
                    ty: self.types[self.arrays[reference.name.as_str()] as usize].to_string(),
                });
            }
            _ => (Type::BIT, ty.width() as i64),
        })
    }

    fn outputs(&mut self) -> Result<(), FunctionError> {
        let saved = |output: &&OutputSource| output.destination == Destination::Saved;
        let (outputs, saves) = (self.source.outputs.iter(), self.source.outputs.iter());
        for output in outputs.filter(|o| !saved(o)).chain(saves.filter(saved)) {
            self.place = ErrorLocation::new(format!("output {}", output.name));
            let mut operation = self.operation(self.place.to_string());
            let port = format!("{} ({})", output.name, output.ty);
            self.argument(&output.value, &output.ty, &port, &mut operation)?;
            self.plan.outputs.push(operation);
        }
        Ok(())
    }
}

/// Returns the type of `picked` elements of `ty`.
fn range(ty: &Type, picked: u32) -> Result<Type, tacit_circuit::CircuitError> {
    Type::new(match ty.kind() {
        Kind::Array(of, _) => Kind::Array(of.clone(), picked),
        Kind::Bytes(_) => Kind::Bytes(picked),
        _ => Kind::Bits(picked),
    })
}
