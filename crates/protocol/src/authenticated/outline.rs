//! What a run sends, without running it.

use tacit_function::{Function, Role};
use tacit_kernels::Block;
use tacit_ot::Security;
use tacit_ot::source::Extension;

use super::fold::FOLD_BYTES;
use super::garbling::{Proof, frame_bytes};
use super::gates::{Extent, opening_bytes};
use super::leaky::CHUNK;
use super::lot::EXTENSION_OTS;
use super::oracle::DIGEST_BYTES;
use super::parameters::{LotSize, SecurityBits};
use super::stocked::{BLOCK_TRIPLES, piece_blocks};
use super::terms::{check, next_lot, result_bytes};
use super::walk::{Stop, Walk};
use crate::Error;
use crate::bits::bytes_for;
use crate::direct::check_without_values;
use crate::outline::message_bytes;
use crate::setup::extension_bytes;

/// A version that a party says it has kept.
const VERSION_BYTES: usize = 8;

/// What both parties of a run send, headers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// From the garbler.
    pub garbler_bytes: u64,
    /// From the evaluator.
    pub evaluator_bytes: u64,
    /// Messages of both.
    pub messages: u64,
    /// Times that a message has to wait for one from the other side, counting the first: half
    /// round trips.
    pub trips: u64,
    /// Lots of triples.
    pub lots: u64,
    /// Leaky ANDs of all lots.
    pub leaky_ands: u64,
}

impl Outline {
    /// A message.
    pub(super) fn send(&mut self, from: Role, bytes: usize) {
        let total = match from {
            Role::Garbler => &mut self.garbler_bytes,
            Role::Evaluator => &mut self.evaluator_bytes,
        };
        *total += message_bytes(bytes as u64);
        self.messages += 1;
    }

    /// OTs with random choices of the party `to`.
    fn ots(&mut self, to: Role, extension: Extension, count: usize) {
        let mut left = count;
        while left > 0 {
            let now = left.min(EXTENSION_OTS);
            if let Extension::SoftSpoken(_) = extension {
                self.send(
                    to,
                    extension_bytes(extension, Security::Malicious, now) as usize,
                );
            }
            left -= now;
        }
    }

    /// A lot, and `inputs` bits of each party's inputs.
    fn lot(&mut self, size: LotSize, extension: Extension, inputs: [usize; 2]) {
        let (garbler, evaluator) = (Role::Garbler, Role::Evaluator);
        let leaky = size.leaky_ands();
        for (to, inputs) in [garbler, evaluator].into_iter().zip(inputs) {
            for count in [leaky, leaky, leaky, size.triples, inputs] {
                self.ots(to, extension, count);
            }
        }
        self.trips += 2;
        if size.triples == 0 {
            return;
        }
        self.lots += 1;
        self.leaky_ands += leaky as u64;
        let mut left = leaky;
        while left > 0 {
            let now = left.min(CHUNK);
            self.send(evaluator, now * Block::BYTES);
            self.send(garbler, now * Block::BYTES + bytes_for(now));
            left -= now;
        }
        let openings = bytes_for(size.triples * (size.layers - 1)) + FOLD_BYTES;
        self.send(evaluator, bytes_for(leaky));
        self.send(evaluator, DIGEST_BYTES);
        self.send(garbler, 2 * DIGEST_BYTES);
        self.send(evaluator, 2 * DIGEST_BYTES);
        self.send(garbler, DIGEST_BYTES);
        self.send(garbler, openings);
        self.send(evaluator, openings);
        self.trips += 6;
    }

    /// Gates of a lot.
    fn gates(&mut self, extent: &Extent) {
        let (garbler, evaluator) = (Role::Garbler, Role::Evaluator);
        self.trips += 2;
        if extent.count() == 0 {
            return;
        }
        self.send(evaluator, opening_bytes(extent.count()));
        self.send(garbler, opening_bytes(extent.count()));
        for frame in extent.frames() {
            self.send(garbler, frame_bytes(*frame as usize));
        }
        self.send(evaluator, bytes_for(extent.count()));
    }

    /// What follows the masked values of the last gates.
    pub(super) fn end(&mut self, function: &Function) {
        let results = |role| function.output_bits(role);
        let opening = result_bytes(results(Role::Evaluator));
        self.send(Role::Evaluator, FOLD_BYTES);
        if function.saves().is_empty() {
            self.send(Role::Garbler, FOLD_BYTES + opening);
        } else {
            self.send(Role::Garbler, FOLD_BYTES);
            for role in [Role::Evaluator, Role::Garbler] {
                self.send(role, VERSION_BYTES);
            }
            self.trips += 2;
            if results(Role::Evaluator) > 0 {
                self.send(Role::Garbler, opening);
            }
        }
        self.trips += 1;
        if results(Role::Garbler) > 0 {
            self.send(Role::Evaluator, result_bytes(results(Role::Garbler)));
            self.trips += 1;
        }
    }
}

/// What a run of `function` from nothing sends in a session that has its epoch and ran before: the
/// first message of each direction's OTs is longer by its corrections, and the messages of silent
/// OT are apart.
/// What a chain begins with is apart: base OTs, and what the parties tell each other of it.
///
/// # Errors
///
/// The function loads or saves more than is kept.
pub fn outline(
    function: &Function,
    security: SecurityBits,
    extension: Extension,
) -> Result<Outline, Error> {
    outline_of(function, |outline, left, inputs| {
        let size = next_lot(left, security);
        outline.lot(size, extension, inputs.unwrap_or_default());
        size.triples
    })
}

/// What a run of `function` sends whose triples are all in stock.
///
/// # Errors
///
/// The function has saved values.
pub fn stocked_outline(function: &Function) -> Result<Outline, Error> {
    check_without_values(function, "authenticated, from triples in stock,")?;
    let (gates, mut read) = (function.and_gates(), 0);
    outline_of(function, |outline, left, inputs| {
        // The evaluator begins.
        outline.trips += u64::from(inputs.is_some());
        let spare = (read - (gates - left)) as usize;
        let triples = spare + piece_blocks(left, spare) * BLOCK_TRIPLES;
        read += (triples - spare) as u64;
        triples
    })
}

/// The outline of a run. `next` is told the AND gates left and, the first time, each party's input
/// bits, and returns the triples of the next lot.
fn outline_of(
    function: &Function,
    mut next: impl FnMut(&mut Outline, u64, Option<[usize; 2]>) -> usize,
) -> Result<Outline, Error> {
    check(function)?;
    let mut outline = Outline::default();
    let mut walk = Walk::new(function, Proof::RULES, |_| Ok::<_, Error>(false))?;
    let mut left = function.and_gates();
    let inputs = [Role::Garbler, Role::Evaluator].map(|role| function.input_bits(role));
    let mut first = Some(inputs);
    loop {
        let triples = next(&mut outline, left, first);
        if first.take().is_some() {
            outline.send(Role::Evaluator, bytes_for(inputs[1]));
            outline.send(Role::Garbler, Block::BYTES + bytes_for(inputs[0]));
        }
        let mut extent = Extent::new(triples);
        loop {
            match walk.next() {
                Stop::Ands(ands) if extent.takes(ands.count()) => {
                    walk.pass(ands, |_| false);
                    extent.add(ands.count());
                }
                Stop::Pause => {}
                Stop::Ands(_) | Stop::End => break,
            }
        }
        extent.end();
        outline.gates(&extent);
        left -= extent.count() as u64;
        if walk.has_ended() {
            break;
        }
    }
    outline.end(function);
    Ok(outline)
}
