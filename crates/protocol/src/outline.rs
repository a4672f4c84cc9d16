//! The messages of a run, computed without running it: their exact lengths, and the calls that are
//! garbled and evaluated between them.
//!
//! Both protocols have the same outline: messages of the garbler that need nothing from the
//! evaluator, the evaluator's answer, the rest of the garbler's messages, and the result for the
//! garbler if it gets one. The function and the scheme alone decide the outline, so it is known
//! before the parties connect. Tests compare it with the messages that runs send.

use std::convert::Infallible;
use std::iter;

use tacit_function::{Function, Step, Values};

use crate::prepared::comes_late;

/// Bytes before each frame: its kind and its length.
const HEADER_BYTES: u64 = 5;

/// The largest part of a message in one frame, in bytes.
pub const FRAME_BYTES: u64 = 256 << 10;

/// Returns the bytes of all frames of a message with `payload` bytes.
pub const fn message_bytes(payload: u64) -> u64 {
    let frames = payload.div_ceil(FRAME_BYTES);
    payload + HEADER_BYTES * if frames == 0 { 1 } else { frames }
}

/// A message, and the share of the function's calls that belongs to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// Its length, header included.
    pub bytes: u64,
    /// The number of calls of each of the function's components that are garbled into the message
    /// (`direct`), or that can be evaluated as soon as the message is there (`prepared`). A call
    /// that is cut counts by its share.
    pub calls: Vec<f64>,
}

/// The messages of a run between two parties who have agreed on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outline {
    /// From the garbler: messages that need nothing from the evaluator.
    pub early: Vec<Part>,
    /// From the evaluator: the messages that its inputs decide, in bytes, headers included.
    pub choices: Vec<u64>,
    /// From the garbler: messages that it sends once it has the choices.
    pub late: Vec<Part>,
    /// From the evaluator to the garbler, in bytes, header included.
    pub result: Option<u64>,
    /// From each party to the other, in bytes, header included: the notice that the values that the
    /// run saves are durable. Both parties have received it before a result leaves. `None` if the
    /// run saves nothing.
    pub kept: Option<u64>,
    /// The number of links that no input of the evaluator decides; 0 under `direct`.
    pub early_links: u64,
    /// The number of links that an input of the evaluator decides.
    pub late_links: u64,
}

impl Outline {
    /// Returns the bytes of the garbler's messages that need nothing from the evaluator.
    pub fn early_bytes(&self) -> u64 {
        self.early.iter().map(|part| part.bytes).sum()
    }

    /// Returns the bytes of the garbler's other messages.
    pub fn late_bytes(&self) -> u64 {
        self.late.iter().map(|part| part.bytes).sum::<u64>() + self.kept.unwrap_or(0)
    }

    /// Returns the bytes of the evaluator's messages.
    pub fn evaluator_bytes(&self) -> u64 {
        self.choices.iter().sum::<u64>() + self.kept.unwrap_or(0) + self.result.unwrap_or(0)
    }
}

/// The steps of a function in order, shared by the outlines under all schemes: a walk over a large
/// function takes seconds.
#[derive(Clone, Debug)]
pub struct FunctionSteps {
    steps: Vec<Steps>,
}

/// A number of equal steps in a row. A function may have tens of millions of these, so they are
/// small.
#[derive(Clone, Copy, Debug)]
struct Steps {
    /// The component of a call, or [`NO_CALL`] where bits are assigned.
    component: u32,
    /// The bits of a call's arguments, or the number of assigned bits.
    bits: u32,
    late: u32,
    times: u32,
}

/// The value of `component` for a step that is no call.
const NO_CALL: u32 = u32::MAX;

impl Steps {
    /// Packs one step. A function's limits keep all its numbers within 32 bits.
    fn once(step: WalkedStep) -> Self {
        let (component, bits, late) = match step {
            WalkedStep::Assigned(bits) => (NO_CALL, bits as u32, 0),
            WalkedStep::Call {
                component,
                arguments,
                late,
            } => (component as u32, arguments as u32, late as u32),
        };
        let times = 1;
        Self {
            component,
            bits,
            late,
            times,
        }
    }

    fn step(self) -> WalkedStep {
        match self.component {
            NO_CALL => WalkedStep::Assigned(self.bits as usize),
            component => WalkedStep::Call {
                component: component as usize,
                arguments: self.bits as usize,
                late: self.late as usize,
            },
        }
    }
}

/// A step of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WalkedStep {
    /// This many bits are assigned without a call.
    Assigned(usize),
    /// A call.
    Call {
        /// The position of its component among the function's.
        component: usize,
        /// The number of bits of its arguments.
        arguments: usize,
        /// The number of argument bits that an input of the evaluator decides.
        late: usize,
    },
}

impl FunctionSteps {
    /// Walks over `function` once.
    pub fn of(function: &Function) -> Self {
        let late_input = |port| Ok::<_, Infallible>(comes_late(function, port));
        let Ok(mut values) = Values::new(function, late_input);
        let mut steps: Vec<Steps> = Vec::new();
        let mut results = Vec::new();
        loop {
            let step = match values.step(|_| false) {
                Step::End => break,
                Step::Assigned(bits) => WalkedStep::Assigned(bits),
                Step::Call(call) => {
                    let arguments = values.arguments();
                    let step = WalkedStep::Call {
                        component: call.component_index,
                        arguments: arguments.len(),
                        late: arguments.iter().filter(|late| **late).count(),
                    };
                    results.clear();
                    results.resize(call.component.circuit().output_bits(), false);
                    values.finish_call(&results);
                    step
                }
            };
            match steps.last_mut() {
                Some(last) if last.step() == step => last.times += 1,
                _ => steps.push(Steps::once(step)),
            }
        }
        Self { steps }
    }

    pub(crate) fn steps(&self) -> impl Iterator<Item = WalkedStep> {
        let steps = self.steps.iter();
        steps.flat_map(|steps| iter::repeat_n(steps.step(), steps.times as usize))
    }
}

/// Messages that are filled one call at a time.
pub(crate) struct Parts {
    done: Vec<Part>,
    open: Part,
}

impl Parts {
    pub(crate) fn of(function: &Function) -> Self {
        let open = Part {
            bytes: 0,
            calls: vec![0.0; function.components().len()],
        };
        let done = Vec::new();
        Self { done, open }
    }

    /// Returns the payload bytes of the message that is being filled.
    pub(crate) fn filled(&self) -> u64 {
        self.open.bytes
    }

    /// Adds `bytes` to the message, together with a share of a call of this component.
    pub(crate) fn put(&mut self, bytes: u64, component: usize, share: f64) {
        self.open.bytes += bytes;
        self.open.calls[component] += share;
    }

    /// Ends the current message, if it holds anything.
    pub(crate) fn end(&mut self) {
        if self.open.bytes > 0 {
            let calls = vec![0.0; self.open.calls.len()];
            let part = std::mem::replace(&mut self.open, Part { bytes: 0, calls });
            self.done.push(part);
        }
    }

    /// Ends the last message. Calls without bytes count with the message before.
    pub(crate) fn finish(mut self) -> Vec<Part> {
        self.end();
        if let Some(last) = self.done.last_mut() {
            let rest = self.open.calls.iter();
            last.calls.iter_mut().zip(rest).for_each(|(a, b)| *a += b);
        }
        for part in &mut self.done {
            part.bytes = message_bytes(part.bytes);
        }
        self.done
    }
}

/// Returns a message of `payload` bytes that belongs to no call.
pub(crate) fn bare(payload: usize) -> Part {
    Part {
        bytes: message_bytes(payload as u64),
        calls: Vec::new(),
    }
}
