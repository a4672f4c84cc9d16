//! A walk over a function, or over instances of components, batch by batch. Wires may carry shares
//! of masks, labels or masked values.
//!
//! All of these are linear, so XOR gates, negations, constants and moves between calls need nothing
//! from the other party. Each walk stops at the same AND gates in the same order.

use std::ops::BitXor;

use tacit_circuit::{Output, Program};
use tacit_function::{Function, Outputs, Step, Values};
use tacit_kernels::{Tweak, Use};
use zeroize::{Zeroize, Zeroizing};

/// The amount of work that a walk does before it yields, in XOR gates and moved bits.
const WORK: usize = 1 << 20;

/// The content of a wire.
pub(crate) trait Wire: Copy + Default + Zeroize + BitXor<Output = Self> {}

impl<T: Copy + Default + Zeroize + BitXor<Output = Self>> Wire for T {}

/// A party's wire contents for constants and negations.
#[derive(Clone, Copy)]
pub(crate) struct Rules<T> {
    /// The content of a wire that is 1 and known to both parties. The default is the content of one
    /// that is 0.
    pub(super) constant: T,
    /// The value that is added to a wire that is negated.
    pub(super) negation: T,
}

impl<T: Wire> Zeroize for Rules<T> {
    fn zeroize(&mut self) {
        self.constant.zeroize();
        self.negation.zeroize();
    }
}

/// AND gates that do not depend on each other.
#[derive(Clone, Copy)]
pub(super) struct Ands<'f> {
    program: &'f Program,
    call: u32,
    first: usize,
    count: usize,
}

/// The reason that a walk stops.
pub(super) enum Stop<'f> {
    /// AND gates, whose outputs the caller passes to [`CallWalk::pass`].
    Ands(Ands<'f>),
    /// It is time to yield; the walk continues later.
    Pause,
    /// The function has ended.
    End,
}

/// The source of a walk's calls and of the contents of their inputs. The number of a call
/// identifies an instance of its component, and is unique under one start point of the hash.
pub(crate) trait Calls<'f, T: Wire> {
    /// Returns the next step.
    fn step(&mut self, rules: &Rules<T>) -> Step<'f>;

    /// Returns the contents of the inputs of the call that [`step`](Self::step) returned.
    fn arguments(&self) -> &[T];

    /// Takes the contents of the call's outputs.
    fn finish_call(&mut self, results: &[T]);
}

/// The calls of a function, each of which is its own instance.
impl<'f, T: Wire> Calls<'f, T> for Values<'f, T> {
    fn step(&mut self, rules: &Rules<T>) -> Step<'f> {
        Values::step(self, |bit| rules.constant(bit))
    }

    fn arguments(&self) -> &[T] {
        Values::arguments(self)
    }

    fn finish_call(&mut self, results: &[T]) {
        Values::finish_call(self, results);
    }
}

/// A walk over the calls of a function, or over other calls.
pub(super) struct CallWalk<'f, T: Wire, C = Values<'f, T>> {
    calls: C,
    /// Boxed, so that a moved walk leaves no Δ behind.
    rules: Box<Zeroizing<Rules<T>>>,
    call: Option<Call<'f>>,
    slots: Zeroizing<Vec<T>>,
    results: Zeroizing<Vec<T>>,
    work: usize,
    ended: bool,
}

/// The position of the walk within a call.
struct Call<'f> {
    program: &'f Program,
    number: u32,
    batch: usize,
    xors: usize,
    ands: usize,
    /// Whether the XOR gates of the batch are done.
    ready: bool,
}

impl<'f, T: Wire> CallWalk<'f, T> {
    /// Returns a walk over `function`. It calls `input` for each bit of each input, with the
    /// input's number.
    pub(super) fn new<E>(
        function: &'f Function,
        rules: Rules<T>,
        input: impl FnMut(usize) -> Result<T, E>,
    ) -> Result<Self, E> {
        Ok(Self::over(Values::new(function, input)?, rules))
    }
}

impl<'f, T: Wire, C: Calls<'f, T>> CallWalk<'f, T, C> {
    /// Returns a walk over `calls`.
    pub(super) fn over(calls: C, rules: Rules<T>) -> Self {
        Self {
            calls,
            rules: Box::new(Zeroizing::new(rules)),
            call: None,
            slots: Zeroizing::default(),
            results: Zeroizing::default(),
            work: 0,
            ended: false,
        }
    }

    /// Returns the calls.
    pub(super) fn calls(&mut self) -> &mut C {
        &mut self.calls
    }

    /// Walks to the next stop. At AND gates it stays until their outputs are passed.
    pub(super) fn next(&mut self) -> Stop<'f> {
        while !self.ended {
            if self.work >= WORK {
                self.work = 0;
                return Stop::Pause;
            }
            match &self.call {
                None => self.begin(),
                Some(call) if call.batch < call.program.batches().len() => {
                    if let Some(ands) = self.batch() {
                        return Stop::Ands(ands);
                    }
                }
                Some(_) => self.finish_call(),
            }
        }
        Stop::End
    }

    /// Whether the function has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    fn begin(&mut self) {
        match self.calls.step(&self.rules) {
            Step::Assigned(bits) => self.work += bits + 1,
            Step::End => self.ended = true,
            Step::Call(call) => {
                let program = call.component.program();
                let arguments = self.calls.arguments();
                if self.slots.len() < program.slots() {
                    // Allocated anew, because a vector that grows leaves its old memory unwiped.
                    self.slots = Zeroizing::new(vec![T::default(); program.slots()]);
                }
                self.slots[..arguments.len()].copy_from_slice(arguments);
                self.work += arguments.len() + program.outputs().len() + 1;
                self.call = Some(Call {
                    program,
                    number: call.number,
                    batch: 0,
                    xors: 0,
                    ands: 0,
                    ready: false,
                });
            }
        }
    }

    /// Returns the AND gates of the batch, if it has any.
    fn batch(&mut self) -> Option<Ands<'f>> {
        let call = self.call.as_mut()?;
        let program = call.program;
        let batch = program.batches()[call.batch];
        if !call.ready {
            let end = call.xors + batch.xors as usize;
            let slots = &mut self.slots[..];
            for gate in &program.xors()[call.xors..end] {
                slots[gate.out as usize] = slots[gate.a as usize] ^ slots[gate.b as usize];
            }
            self.work += batch.xors as usize + 1;
            (call.xors, call.ready) = (end, true);
        }
        let ands = Ands {
            program,
            call: call.number,
            first: call.ands,
            count: batch.ands as usize,
        };
        if ands.count == 0 {
            self.pass(ands, |_| T::default());
            return None;
        }
        Some(ands)
    }

    /// Returns both inputs of gate `i` of these gates, negated where the gate negates them.
    #[inline(always)]
    pub(super) fn inputs(&self, ands: Ands<'_>, i: usize) -> [T; 2] {
        use tacit_circuit::NEGATED;
        let gate = ands.program.ands()[ands.first + i];
        [gate.a, gate.b].map(|input| {
            let value = self.slots[(input & !NEGATED) as usize];
            match input & NEGATED {
                0 => value,
                _ => value ^ self.rules.negation,
            }
        })
    }

    /// Takes the outputs of the AND gates at which the walk stopped.
    pub(super) fn pass(&mut self, ands: Ands<'_>, output: impl Fn(usize) -> T) {
        let gates = &ands.program.ands()[ands.first..ands.first + ands.count];
        for (i, gate) in gates.iter().enumerate() {
            self.slots[gate.out as usize] = output(i);
        }
        if let Some(call) = &mut self.call {
            call.batch += 1;
            call.ands += ands.count;
            call.ready = false;
        }
    }

    fn finish_call(&mut self) {
        let Some(call) = self.call.take() else {
            return;
        };
        let (slots, rules) = (&self.slots, &self.rules);
        let value = |output: &Output| match *output {
            Output::Slot { slot, negated } => {
                let value = slots[slot as usize];
                if negated {
                    value ^ rules.negation
                } else {
                    value
                }
            }
            Output::Constant(bit) => rules.constant(bit),
        };
        self.results.clear();
        self.results.reserve(call.program.outputs().len());
        self.results
            .extend(call.program.outputs().iter().map(value));
        self.calls.finish_call(&self.results);
    }

    /// Returns the contents of the function's outputs, after the end.
    pub(super) fn outputs(self) -> Outputs<'f, T>
    where
        C: Into<Values<'f, T>>,
    {
        let rules = self.rules;
        self.calls.into().outputs(|bit| rules.constant(bit))
    }
}

impl<T: Wire> Rules<T> {
    /// Returns the content of a wire whose bit both parties know.
    pub(super) fn constant(&self, bit: bool) -> T {
        if bit {
            return self.constant;
        }
        T::default()
    }
}

impl Ands<'_> {
    /// Returns the number of gates.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the tweak of the first gate's first input. The tweak of its second input has 1 in
    /// its field `a`. Calls and gates are counted, and each run, and the instances of an epoch,
    /// have their own start point, so no tweak occurs twice.
    pub(super) fn tweak(&self) -> Tweak {
        Tweak {
            instance: self.call,
            ..Tweak::of(Use::And, self.first as u64)
        }
    }
}
