//! What a run sends, without running it: its messages, their exact lengths, and between which of
//! them what is garbled and evaluated.
//!
//! Both protocols have the same outline: messages of the garbler that need nothing of the
//! evaluator's, the evaluator's answer to them, the rest of the garbler's, and the result that goes
//! back where the garbler gets one. All of it follows from the function and the scheme alone, so
//! that it can be known before anybody is met; tests hold it to what runs send.

use std::convert::Infallible;
use std::iter;

use tacit_function::{Function, Step, Values};

use crate::prepared::comes_late;

/// Bytes before each frame: its kind and its length.
const HEADER_BYTES: u64 = 5;

/// Most bytes of a message in one frame.
pub const FRAME_BYTES: u64 = 256 << 10;

/// Bytes of the frames of a message of this many bytes.
#[must_use]
pub const fn message_bytes(payload: u64) -> u64 {
    let frames = payload.div_ceil(FRAME_BYTES);
    payload + HEADER_BYTES * if frames == 0 { 1 } else { frames }
}

/// A message, and what of the function's calls goes with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// Its length, header included.
    pub bytes: u64,
    /// How many calls of each of the function's components are garbled into it (`direct`), or can
    /// be evaluated once it is there and no earlier (`prepared`); of a call that is cut, the share.
    pub calls: Vec<f64>,
}

/// The messages of a run between two parties who have agreed on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outline {
    /// From the garbler, and need nothing of the evaluator's.
    pub early: Vec<Part>,
    /// From the evaluator: what its inputs choose, in bytes, headers included.
    pub choices: Vec<u64>,
    /// From the garbler, once the choices are there.
    pub late: Vec<Part>,
    /// From the evaluator to the garbler, in bytes, header included.
    pub result: Option<u64>,
    /// From each to the other, in bytes, header included: that what the run saves is durable, which
    /// both have heard before a result leaves. Nothing where it saves nothing.
    pub kept: Option<u64>,
    /// Links that no input of the evaluator decides; none under `direct`.
    pub early_links: u64,
    /// Links that one does.
    pub late_links: u64,
}

impl Outline {
    /// Bytes of the garbler's messages that need nothing of the evaluator's.
    #[must_use]
    pub fn early_bytes(&self) -> u64 {
        self.early.iter().map(|part| part.bytes).sum()
    }

    /// Bytes of the garbler's other messages.
    #[must_use]
    pub fn late_bytes(&self) -> u64 {
        self.late.iter().map(|part| part.bytes).sum::<u64>() + self.kept.unwrap_or(0)
    }

    /// Bytes of the evaluator's messages.
    #[must_use]
    pub fn evaluator_bytes(&self) -> u64 {
        self.choices.iter().sum::<u64>() + self.kept.unwrap_or(0) + self.result.unwrap_or(0)
    }
}

/// The steps of a function in order, which the outlines under all schemes go by: a walk over a
/// large function takes seconds.
#[derive(Clone, Debug)]
pub struct FunctionSteps {
    steps: Vec<Steps>,
}

/// Equal steps in a row. There may be tens of millions of these, so they are small.
#[derive(Clone, Copy, Debug)]
struct Steps {
    /// Of a call; [`NO_CALL`] where bits are assigned.
    component: u32,
    /// Bits of a call's arguments, or bits that are assigned.
    bits: u32,
    late: u32,
    times: u32,
}

/// In the place of a component.
const NO_CALL: u32 = u32::MAX;

impl Steps {
    /// A function's limits keep all its numbers within 32 bits.
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
        /// Its component's place among the function's.
        component: usize,
        /// Bits of its arguments.
        arguments: usize,
        /// How many of them an input of the evaluator decides.
        late: usize,
    },
}

impl FunctionSteps {
    /// Walks over `function` once.
    #[must_use]
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

/// Messages that are filled call by call.
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

    /// Payload bytes of the message that is being filled.
    pub(crate) fn filled(&self) -> u64 {
        self.open.bytes
    }

    /// Puts `bytes` into the message, and a share of a call of this component with them.
    pub(crate) fn put(&mut self, bytes: u64, component: usize, share: f64) {
        self.open.bytes += bytes;
        self.open.calls[component] += share;
    }

    /// Ends a message, if it holds anything.
    pub(crate) fn end(&mut self) {
        if self.open.bytes > 0 {
            let calls = vec![0.0; self.open.calls.len()];
            let part = std::mem::replace(&mut self.open, Part { bytes: 0, calls });
            self.done.push(part);
        }
    }

    /// Ends the last message. Calls without bytes go with the message before.
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

/// A message of `payload` bytes with which no call goes.
pub(crate) fn bare(payload: usize) -> Part {
    Part {
        bytes: message_bytes(payload as u64),
        calls: Vec::new(),
    }
}
