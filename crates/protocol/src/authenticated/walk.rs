//! A walk over a function, batch by batch, whatever the wires carry: shares of masks, labels or
//! masked values.
//!
//! All of these are linear, so that XOR gates, negations, constants and what moves between calls
//! need nothing from the other party. Each walk stops at the same AND gates in the same order.

use std::ops::BitXor;

use tacit_circuit::{Output, Program};
use tacit_function::{Function, Outputs, Step, Values};
use tacit_kernels::{Tweak, Use};
use zeroize::{Zeroize, Zeroizing};

/// How much a walk does before it gives way: XOR gates, and bits that are moved.
const WORK: usize = 1 << 20;

/// What a wire carries.
pub(super) trait Wire: Copy + Default + Zeroize + BitXor<Output = Self> {}

impl<T: Copy + Default + Zeroize + BitXor<Output = Self>> Wire for T {}

/// What a party's wires carry for constants and negations.
#[derive(Clone, Copy)]
pub(super) struct Rules<T> {
    /// A wire that is 1 and that both parties know; one that is 0 is the default.
    pub(super) constant: T,
    /// What is added to a wire that is negated.
    pub(super) negation: T,
}

impl<T: Wire> Zeroize for Rules<T> {
    fn zeroize(&mut self) {
        self.constant.zeroize();
        self.negation.zeroize();
    }
}

/// AND gates that do not wait for each other.
#[derive(Clone, Copy)]
pub(super) struct Ands<'f> {
    program: &'f Program,
    call: u32,
    first: usize,
    count: usize,
}

/// Where a walk stops.
pub(super) enum Stop<'f> {
    /// At AND gates, whose outputs are to be given ([`Walk::pass`]).
    Ands(Ands<'f>),
    /// It gives way: walk on later.
    Pause,
    /// The function has ended.
    End,
}

/// A walk over a function.
pub(super) struct Walk<'f, T: Wire> {
    values: Values<'f, T>,
    rules: Zeroizing<Rules<T>>,
    call: Option<Call<'f>>,
    slots: Zeroizing<Vec<T>>,
    results: Zeroizing<Vec<T>>,
    work: usize,
    ended: bool,
}

/// How far the walk has come in a call.
struct Call<'f> {
    program: &'f Program,
    number: u32,
    batch: usize,
    xors: usize,
    ands: usize,
    /// Whether the XOR gates of the batch are done.
    ready: bool,
}

impl<'f, T: Wire> Walk<'f, T> {
    /// A walk over `function`, which asks `input` for each bit of each input with the input's
    /// number.
    pub(super) fn new<E>(
        function: &'f Function,
        rules: Rules<T>,
        input: impl FnMut(usize) -> Result<T, E>,
    ) -> Result<Self, E> {
        Ok(Self {
            values: Values::new(function, input)?,
            rules: Zeroizing::new(rules),
            call: None,
            slots: Zeroizing::default(),
            results: Zeroizing::default(),
            work: 0,
            ended: false,
        })
    }

    /// Walks to the next stop. At AND gates it stays until they are passed.
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
        let rules = &self.rules;
        match self.values.step(|bit| rules.constant(bit)) {
            Step::Assigned(bits) => self.work += bits + 1,
            Step::End => self.ended = true,
            Step::Call(call) => {
                let program = call.component.program();
                let arguments = self.values.arguments();
                if self.slots.len() < program.slots() {
                    // Made anew: what a vector leaves behind when it grows is not wiped.
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

    /// The AND gates of the batch, if it has some.
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

    /// Both inputs of gate `i` of these, negated where the gate says so.
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

    /// Gives the outputs of the AND gates at which the walk has stopped.
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
        self.values.finish_call(&self.results);
    }

    /// What the outputs carry, after the end.
    pub(super) fn outputs(self) -> Outputs<'f, T> {
        let rules = self.rules;
        self.values.outputs(|bit| rules.constant(bit))
    }
}

impl<T: Wire> Rules<T> {
    fn constant(&self, bit: bool) -> T {
        match bit {
            true => self.constant,
            false => T::default(),
        }
    }
}

impl Ands<'_> {
    /// How many gates these are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The tweak of the first gate's first input, or of its second. Calls and gates are counted,
    /// and each run has a start point of its own, so that no tweak comes twice.
    pub(super) fn tweak(&self, half: u8) -> Tweak {
        Tweak {
            usage: Use::And,
            instance: self.call,
            number: self.first as u64,
            a: half,
            b: 0,
        }
    }
}
