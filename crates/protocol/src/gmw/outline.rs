//! The messages of a run, computed without running it.

use tacit_circuit::Role;
use tacit_function::{Function, Schedule};
use tacit_ot::Security;
use tacit_ot::source::{Cost, Extension};

use super::directions::REFILL_PART_OTS;
use super::messages::{self, LAYER_FRAME_BYTES};
use super::run::check;
use crate::Error;
use crate::outline::message_bytes;

/// The messages of a run between two parties who have agreed on it. Arrays have one entry for each
/// [`Role`], by its number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The number of steps. Each waits for one message each way, which both parties send at once.
    pub steps: u32,
    /// The bits that the steps open, by sender.
    pub opened_bits: [u64; 2],
    /// The OTs that the steps take, by the OTs' sender.
    pub ots: [u64; 2],
    /// The bytes of the steps' messages, by sender, headers included.
    pub layer_bytes: [u64; 2],
    /// The bytes of refills, by sender.
    pub refill_bytes: [u64; 2],
    /// The half round trips of refills.
    pub refill_trips: u64,
    /// The bytes of the shares of the other party's results, by sender.
    pub result_bytes: [u64; 2],
}

impl Outline {
    /// Returns the bytes of all messages, by sender.
    pub fn bytes(&self) -> [u64; 2] {
        Role::BOTH.map(|role| {
            let role = role as usize;
            self.layer_bytes[role] + self.refill_bytes[role] + self.result_bytes[role]
        })
    }

    /// Returns the half round trips: those of refills and steps, and one for the results.
    pub fn trips(&self) -> u64 {
        let results = self.result_bytes != [0, 0];
        self.refill_trips + u64::from(self.steps) + u64::from(results)
    }
}

/// Returns the messages of a run of `function` with this schedule. OTs are made by `extension` in a
/// session that has its base OTs and has made no OTs yet. Without an extension, masks come from
/// stock.
///
/// # Errors
///
/// The function has saved values.
pub fn outline(
    function: &Function,
    schedule: &Schedule,
    extension: Option<Extension>,
) -> Result<Outline, Error> {
    check(function)?;
    let mut outline = Outline {
        steps: schedule.step_count(),
        ots: schedule.total_ots(),
        ..Outline::default()
    };
    let mut refills = extension.map(Refills::new);
    for step in schedule.steps() {
        if let Some(refills) = &mut refills {
            let counts = schedule.refill(&step, refills.made());
            refills.add(counts, &mut outline);
        }
        for role in Role::BOTH.map(|role| role as usize) {
            outline.opened_bits[role] += step.bits[role];
            outline.layer_bytes[role] += layer_bytes(step.bits[role]);
        }
    }
    outline.result_bytes = Role::BOTH.map(|sender| {
        let message = messages::result(function.output_bits(sender.other()));
        message.map_or(0, |message| message_bytes(message.max_bytes as u64))
    });
    Ok(outline)
}

/// Returns the bytes of a party's message of a step.
fn layer_bytes(bits: u64) -> u64 {
    let (mut left, mut bytes) = (bits.div_ceil(8), 0);
    while left > 0 {
        bytes += message_bytes(messages::layer(left).max_bytes as u64);
        left -= left.min(LAYER_FRAME_BYTES as u64);
    }
    bytes
}

/// The refills of both directions so far.
struct Refills {
    extension: Extension,
    /// The number of OTs made, by sender.
    made: [u64; 2],
    /// The bytes and messages of silent OT that each OTs' sender has sent.
    sent: [Sent; 2],
}

/// The bytes and messages that an OTs' sender has sent.
#[derive(Clone, Copy, Default)]
struct Sent {
    bytes: u64,
    messages: u64,
}

impl Refills {
    fn new(extension: Extension) -> Self {
        Self {
            extension,
            made: [0; 2],
            sent: Default::default(),
        }
    }

    fn made(&self) -> [u64; 2] {
        self.made
    }

    /// Adds a refill of `counts` OTs, by their sender.
    fn add(&mut self, counts: [u64; 2], outline: &mut Outline) {
        let mut trips = 0;
        for sender in Role::BOTH
            .into_iter()
            .filter(|sender| counts[*sender as usize] > 0)
        {
            let total = self.made[sender as usize] + counts[sender as usize];
            let is_first = self.made[sender as usize] == 0;
            let waits = match self.extension {
                Extension::SoftSpoken(_) => 1,
                Extension::Silent => 1 + u64::from(is_first),
            };
            trips = waits.max(trips);
            while self.made[sender as usize] < total {
                let missing = total - self.made[sender as usize];
                match self.extension {
                    Extension::SoftSpoken(_) => self.extend(sender, missing, outline),
                    Extension::Silent => self.batch(sender, outline),
                }
            }
        }
        outline.refill_trips += trips;
    }

    fn cost(&self, count: u64) -> Cost {
        Cost::first_refill(self.extension, Security::SemiHonest, count as usize)
    }

    /// Adds the next message of SoftSpoken, from the OTs' receiver.
    fn extend(&mut self, sender: Role, missing: u64, outline: &mut Outline) {
        let count = missing.min(REFILL_PART_OTS).min(MESSAGE_OTS);
        let head = match self.made[sender as usize] {
            0 => 0,
            _ => self.cost(0).receiver_bytes,
        };
        let bytes = self.cost(count).receiver_bytes - head;
        outline.refill_bytes[sender.other() as usize] += message_bytes(bytes);
        self.made[sender as usize] += count;
    }

    /// Adds the next batch of silent OT, from the OTs' sender. The receiver's message precedes the
    /// first batch.
    fn batch(&mut self, sender: Role, outline: &mut Outline) {
        let (made, sent) = (self.made[sender as usize], self.sent[sender as usize]);
        if made == 0 {
            let first = self.cost(0).receiver_bytes;
            outline.refill_bytes[sender.other() as usize] += message_bytes(first);
        }
        let cost = self.cost(made + 1);
        // The first batch takes two messages; each fits in a frame.
        let headers = (cost.sender_messages - sent.messages) * message_bytes(0);
        outline.refill_bytes[sender as usize] += cost.sender_bytes - sent.bytes + headers;
        self.made[sender as usize] = cost.made;
        self.sent[sender as usize] = Sent {
            bytes: cost.sender_bytes,
            messages: cost.sender_messages,
        };
    }
}

/// The number of OTs in a message of SoftSpoken, as in the source.
const MESSAGE_OTS: u64 = crate::setup::EXTENSION_OTS as u64;
