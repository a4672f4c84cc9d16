//! A run of a function over values of any kind: bits, labels, pairs of labels.
//!
//! [`Values`] walks the calls in order. It gathers a call's arguments and takes its results, moves
//! what is assigned without a call, and drops each value after its last use. Both parties' walks
//! are the same, whatever their values are.

mod ahead;

use core::fmt;

use ahead::Ahead;
use tacit_circuit::Component;
use zeroize::{Zeroize, Zeroizing};

use crate::plan::{Cursor, Operation, Part, Piece, Places, Plan};
use crate::{Function, Role};

/// A call whose arguments have been gathered.
#[derive(Clone, Copy, Debug)]
pub struct Call<'f> {
    /// The call's number among the function's calls, from 0.
    pub number: u32,
    /// The component that is called.
    pub component: &'f Component,
    /// The component's index in the function's [components](Function::components).
    pub component_index: usize,
}

/// The result of a step of a walk.
#[derive(Clone, Copy, Debug)]
pub enum Step<'f> {
    /// A call, whose results the caller must give.
    Call(Call<'f>),
    /// This many bits were assigned without a call.
    Assigned(usize),
    /// The walk has ended.
    End,
}

/// The values of a run, kept from their assignment to their last use. They are wiped on drop.
pub struct Values<'f, T: Copy + Default + Zeroize> {
    function: &'f Function,
    cursor: Cursor,
    places: Places,
    values: Zeroizing<Vec<T>>,
    arguments: Zeroizing<Vec<T>>,
    calls: u32,
    /// The call whose results are awaited.
    pending: Option<&'f Operation>,
    /// The calls that [`Values::step_ahead`] gave out.
    ahead: Ahead<'f>,
}

impl<T: Copy + Default + Zeroize> fmt::Debug for Values<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Values")
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

impl<T: Copy + Default + Zeroize> Drop for Values<'_, T> {
    fn drop(&mut self) {
        // Without this, the unused capacity would be wiped byte by byte.
        let room = self.arguments.capacity();
        self.arguments.resize(room, T::default());
    }
}

impl<'f, T: Copy + Default + Zeroize> Values<'f, T> {
    /// Creates the values before the first call. `input` is called for each bit of each input, in
    /// port order, with the input's number. Then it is called for each bit of each loaded value,
    /// with the numbers that follow.
    ///
    /// # Errors
    ///
    /// The error of `input`.
    ///
    /// # Panics
    ///
    /// If the function is [over shares](Function::is_over_shares) and exceeds a limit of functions
    /// that are not.
    pub fn new<E>(
        function: &'f Function,
        mut input: impl FnMut(usize) -> Result<T, E>,
    ) -> Result<Self, E> {
        let plan = function.plan();
        let walk_plan = function.walk_plan();
        let mut values = Zeroizing::new(vec![T::default(); walk_plan.places]);
        let arguments = Zeroizing::new(Vec::with_capacity(walk_plan.widest));
        let mut places = Places::new(plan, walk_plan.into_owned().uses);
        for (number, array) in plan.arrays[..plan.given].iter().enumerate() {
            for granule in array.granules() {
                let place = places.write(array, granule);
                for bit in 0..array.granule as usize {
                    let value = input(number)?;
                    if let Some(place) = place {
                        values[place + bit] = value;
                    }
                }
            }
        }
        Ok(Self {
            function,
            cursor: Cursor::new(),
            places,
            values,
            arguments,
            calls: 0,
            pending: None,
            ahead: Ahead::default(),
        })
    }

    /// Returns the function that runs.
    pub fn function(&self) -> &'f Function {
        self.function
    }

    /// Advances to the next call and gathers its [`arguments`](Self::arguments). `constant` returns
    /// a value for each constant bit on the way, in an order that the function fixes.
    ///
    /// # Panics
    ///
    /// If the previous call was not [finished](Self::finish_call).
    pub fn next_call(&mut self, mut constant: impl FnMut(bool) -> T) -> Option<Call<'f>> {
        loop {
            match self.step(&mut constant) {
                Step::Call(call) => return Some(call),
                Step::Assigned(_) => {}
                Step::End => return None,
            }
        }
    }

    /// Takes one step of [`next_call`](Self::next_call), for callers with something else to do
    /// meanwhile: there may be many assignments before a call.
    ///
    /// # Panics
    ///
    /// The same as for [`next_call`](Self::next_call).
    pub fn step(&mut self, mut constant: impl FnMut(bool) -> T) -> Step<'f> {
        assert!(
            self.pending.is_none() && self.ahead.is_empty(),
            "the call before has not been finished"
        );
        let Some(operation) = self.cursor.advance(self.function.plan()) else {
            return Step::End;
        };
        let step = self.take(operation, &mut constant);
        if matches!(step, Step::Call(_)) {
            self.pending = Some(operation);
        }
        step
    }

    /// Gathers the operands of an operation and, if it is not a call, performs it.
    fn take(&mut self, operation: &'f Operation, constant: &mut impl FnMut(bool) -> T) -> Step<'f> {
        self.arguments.clear();
        self.gather(operation, true, constant);
        let Some(component) = operation.component else {
            let values = std::mem::take(&mut self.arguments);
            self.keep(operation, &values);
            self.arguments = values;
            return Step::Assigned(self.arguments.len());
        };
        let number = self.calls;
        self.calls += 1;
        let component_index = component as usize;
        Step::Call(Call {
            number,
            component: &self.function.components()[component_index],
            component_index,
        })
    }

    /// Returns the arguments of the call from [`next_call`](Self::next_call), in the order of its
    /// component's input bits.
    pub fn arguments(&self) -> &[T] {
        &self.arguments
    }

    /// Takes the results of the call, in the order of its component's output bits.
    ///
    /// # Panics
    ///
    /// If there is no such call, or the number of results is wrong.
    pub fn finish_call(&mut self, results: &[T]) {
        let operation = self.pending.take().expect("a call that awaits its results");
        self.keep(operation, results);
    }

    /// Returns the bits of all outputs, in port order, followed by those of all saved values. Call
    /// this after the last call.
    ///
    /// # Panics
    ///
    /// If a call was not finished.
    pub fn outputs(mut self, mut constant: impl FnMut(bool) -> T) -> Outputs<'f, T> {
        assert!(
            self.pending.is_none() && self.ahead.is_empty(),
            "the last call has not been finished"
        );
        self.arguments.clear();
        for output in &self.function.plan().outputs {
            self.gather(output, false, &mut constant);
        }
        Outputs {
            function: self.function,
            values: Zeroizing::new(self.arguments.to_vec()),
        }
    }

    /// Appends the operands of the operation to the arguments. If `release` is set, this counts as
    /// a read, after which a value may be dropped.
    fn gather(
        &mut self,
        operation: &Operation,
        release: bool,
        constant: &mut impl FnMut(bool) -> T,
    ) {
        let (plan, counters) = (self.function.plan(), self.cursor.counters());
        for piece in &operation.arguments {
            match piece {
                Piece::Part(part) => {
                    let array = plan.array(part);
                    for granule in plan.granules(part, counters) {
                        let place = if release {
                            self.places.read(array, granule)
                        } else {
                            self.places.look(granule)
                        };
                        let bits = place..place + array.granule as usize;
                        self.arguments.extend_from_slice(&self.values[bits]);
                    }
                }
                Piece::Constant(bits) => {
                    self.arguments.extend(bits.iter().map(|bit| constant(*bit)));
                }
            }
        }
    }

    fn keep(&mut self, operation: &Operation, results: &[T]) {
        let plan = self.function.plan();
        let mut rest = results;
        for (width, part) in &operation.results {
            let (result, after) = rest.split_at(*width as usize);
            rest = after;
            if let Some(part) = part {
                self.keep_part(plan, part, result);
            }
        }
        assert!(
            rest.is_empty(),
            "as many results as the component has output bits"
        );
    }

    fn keep_part(&mut self, plan: &Plan, part: &Part, result: &[T]) {
        let array = plan.array(part);
        let width = array.granule as usize;
        let granules = plan.granules(part, self.cursor.counters());
        for (granule, bits) in granules.zip(result.chunks_exact(width)) {
            if let Some(place) = self.places.write(array, granule) {
                self.values[place..place + width].copy_from_slice(bits);
            }
        }
    }
}

/// The results of a run. They are wiped on drop.
pub struct Outputs<'f, T: Zeroize> {
    function: &'f Function,
    values: Zeroizing<Vec<T>>,
}

impl<T: Zeroize> fmt::Debug for Outputs<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outputs")
            .field("bits", &self.values.len())
            .finish_non_exhaustive()
    }
}

impl<'f, T: Copy + Zeroize> Outputs<'f, T> {
    /// Applies `of` to each value.
    pub fn map<U: Zeroize>(&self, of: impl Fn(T) -> U) -> Outputs<'f, U> {
        let values = self.values.iter().map(|value| of(*value));
        Outputs {
            function: self.function,
            values: Zeroizing::new(values.collect()),
        }
    }

    /// Returns all bits, in port order, with those of saved values at the end.
    pub fn all(&self) -> &[T] {
        &self.values
    }

    /// Returns the bits of all saved values, in port order.
    pub fn saved(&self) -> &[T] {
        let outputs = self.function.outputs().iter();
        let bits: usize = outputs.map(|output| output.port.ty.width()).sum();
        &self.values[bits..]
    }

    /// Returns the bits of the outputs that go to `role`, in port order.
    pub fn of(&self, role: Role) -> Zeroizing<Vec<T>> {
        let mut mine = Zeroizing::new(Vec::with_capacity(self.function.output_bits(role)));
        let mut rest = &self.values[..];
        for output in self.function.outputs() {
            let (bits, after) = rest.split_at(output.port.ty.width());
            rest = after;
            if output.recipient.includes(role) {
                mine.extend_from_slice(bits);
            }
        }
        mine
    }
}
