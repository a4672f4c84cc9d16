//! The forms in which OTs are used once they are made.

use std::collections::VecDeque;
use std::hint::black_box;

use serde::{Deserialize, Serialize};
use tacit_kernels::Block;
use tacit_net::Channel;
use tacit_ot::precomputed::ChosenOts;

use super::half::{EvaluatorHalf, GarblerHalf, Half, TAG};
use crate::Error;

/// The form in which OTs are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Correlated OTs, as they are made.
    Correlated,
    /// Hashed to random OTs.
    Random,
    /// Corrected and linked to labels under the same Δ.
    Linked,
    /// One of two chosen blocks.
    Blocks,
    /// One of two chosen strings of 256 bytes.
    Strings,
}

impl Form {
    /// All forms.
    pub const ALL: [Self; 5] = [
        Self::Correlated,
        Self::Random,
        Self::Linked,
        Self::Blocks,
        Self::Strings,
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Correlated => "correlated",
            Self::Random => "random",
            Self::Linked => "linked",
            Self::Blocks => "blocks",
            Self::Strings => "strings",
        }
    }

    /// Returns the bytes of an OT's answer.
    fn answer_bytes(self) -> usize {
        match self {
            Self::Correlated | Self::Random => 0,
            Self::Linked => Block::BYTES,
            Self::Blocks => 2 * Block::BYTES,
            Self::Strings => 2 * STRING_BYTES,
        }
    }
}

/// The length of the strings, in bytes.
const STRING_BYTES: usize = 256;

/// The number of OTs in one message.
const CHUNK: usize = 1 << 15;

/// The number of messages with choices that the receiver sends ahead of their answers.
const AHEAD: usize = 4;

/// Returns the first number of each chunk of `count` OTs, and the chunk's length.
fn chunks(first: u64, count: usize) -> impl Iterator<Item = (u64, usize)> {
    let offsets = (0..count).step_by(CHUNK);
    offsets.map(move |offset| (first + offset as u64, CHUNK.min(count - offset)))
}

/// Plays the garbler's part in `count` OTs, the last ones made.
pub(super) fn send(
    form: Form,
    half: &mut GarblerHalf,
    count: usize,
    channel: &mut Channel,
) -> Result<(), Error> {
    let first = half.end() - count as u64;
    for (first, count) in chunks(first, count) {
        let taken = half.0.take(first, count)?;
        match form {
            Form::Correlated => {
                black_box(taken);
                continue;
            }
            Form::Random => {
                black_box(taken.into_random(&TAG));
                continue;
            }
            _ => {}
        }
        let corrections = channel.receive(count.div_ceil(8))?.payload;
        let labels = vec![Block::ONES; 2 * count];
        let answer = match form {
            Form::Linked => taken.link(corrections, &labels[..count]),
            Form::Blocks => taken.send_blocks(&TAG, corrections, labels.as_chunks().0),
            _ => {
                let strings = vec![7; count * STRING_BYTES];
                taken.send_strings(&TAG, corrections, STRING_BYTES, &strings, &strings)
            }
        };
        channel.send(1, &answer?)?;
        channel.flush()?;
    }
    Ok(())
}

/// Plays the evaluator's part in `count` OTs, the last ones made.
pub(super) fn receive(
    form: Form,
    half: &mut EvaluatorHalf,
    count: usize,
    channel: &mut Channel,
) -> Result<(), Error> {
    let first = half.end() - count as u64;
    let mut waiting = VecDeque::new();
    for (first, count) in chunks(first, count) {
        let taken = half.0.take(first, count)?;
        match form {
            Form::Correlated => {
                black_box(taken);
                continue;
            }
            Form::Random => {
                black_box(taken.into_random(&TAG));
                continue;
            }
            _ => {}
        }
        let choices: Vec<bool> = (0..count).map(|i| i % 3 == 0).collect();
        let (chosen, corrections) = taken.choose(&choices)?;
        waiting.push_back((chosen, count));
        channel.send(1, &corrections)?;
        channel.flush()?;
        if waiting.len() > AHEAD {
            open(form, &mut waiting, channel)?;
        }
    }
    while !waiting.is_empty() {
        open(form, &mut waiting, channel)?;
    }
    Ok(())
}

/// Opens the answer to the oldest unanswered choices.
fn open(
    form: Form,
    waiting: &mut VecDeque<(ChosenOts, usize)>,
    channel: &mut Channel,
) -> Result<(), Error> {
    let Some((chosen, count)) = waiting.pop_front() else {
        return Ok(());
    };
    let answer = channel.receive(count * form.answer_bytes())?.payload;
    match form {
        Form::Linked => drop(black_box(chosen.open_links(answer)?)),
        Form::Blocks => drop(black_box(chosen.open_blocks(&TAG, answer)?)),
        _ => drop(black_box(chosen.open_strings(
            &TAG,
            STRING_BYTES,
            answer,
        )?)),
    }
    Ok(())
}
