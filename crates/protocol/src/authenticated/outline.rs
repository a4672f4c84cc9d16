//! The messages of a run, computed without running it.

use tacit_function::{Function, Role};
use tacit_ot::Security;
use tacit_ot::source::Extension;

use super::garbling::Proof;
use super::gates::LotGates;
use super::leaky::CHUNK;
use super::lot::{EXTENSION_OTS, pieces};
use super::messages;
use super::parameters::{LotSize, SecurityBits};
use super::terms::{check, next_lot};
use super::walk::{CallWalk, Stop};
use crate::Error;
use crate::io::Message;
use crate::message::Kind;
use crate::outline::message_bytes;
use crate::setup::{self, extension_bytes};

/// From either party: the version that is now durable at it.
const VERSION_KEPT: Message = Message::exactly(Kind::VersionKept, 8);

/// The size of the messages of both parties of a run, headers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Bytes from the garbler.
    pub garbler_bytes: u64,
    /// Bytes from the evaluator.
    pub evaluator_bytes: u64,
    /// The number of messages of both parties.
    pub messages: u64,
    /// The number of times that a message has to wait for one from the other side, counting the
    /// first message: half round trips.
    pub trips: u64,
    /// The number of lots of triples.
    pub lots: u64,
    /// The number of leaky ANDs of all lots.
    pub leaky_ands: u64,
}

impl Outline {
    /// Adds a message.
    fn send(&mut self, from: Role, message: Message) {
        let total = match from {
            Role::Garbler => &mut self.garbler_bytes,
            Role::Evaluator => &mut self.evaluator_bytes,
        };
        *total += message_bytes(message.max_bytes as u64);
        self.messages += 1;
    }

    /// Adds OTs with random choices of the party `to`.
    fn ots(&mut self, to: Role, extension: Extension, count: usize) {
        let is_silent = extension == Extension::Silent;
        for ots in pieces(0..if is_silent { 0 } else { count }, EXTENSION_OTS) {
            let bytes = extension_bytes(extension, Security::Malicious, ots.len());
            self.send(to, setup::extension(bytes as usize));
        }
    }

    /// Adds a lot, and `inputs` bits for each party's inputs.
    fn lot(&mut self, size: LotSize, extension: Extension, inputs: [usize; 2]) {
        let (garbler, evaluator) = (Role::Garbler, Role::Evaluator);
        let leaky = size.leaky_ands();
        for (to, inputs) in [garbler, evaluator].into_iter().zip(inputs) {
            for count in [leaky, leaky, leaky, size.triples, inputs] {
                self.ots(to, extension, count);
            }
        }
        self.trips += 2;
        if size == LotSize::EMPTY {
            return;
        }
        self.lots += 1;
        self.leaky_ands += leaky as u64;
        for ands in pieces(0..leaky, CHUNK) {
            self.send(evaluator, messages::evaluators_blocks(ands.len()));
            self.send(garbler, messages::garblers_blocks(ands.len()));
        }
        self.send(evaluator, messages::leaky_bits(size));
        self.send(evaluator, messages::EQUALITY_COMMITMENT);
        self.send(garbler, messages::EQUALITY_DIGEST);
        self.send(evaluator, messages::EQUALITY_OPENING);
        self.send(garbler, messages::COIN_OPENING);
        self.send(garbler, messages::triple_openings(size));
        self.send(evaluator, messages::triple_openings(size));
        self.trips += 6;
    }

    /// Adds the gates of a lot.
    fn gates(&mut self, extent: &LotGates) {
        self.trips += 2;
        if let Some(openings) = messages::gate_openings(extent.count()) {
            self.send(Role::Evaluator, openings);
            self.send(Role::Garbler, openings);
        }
        for frame in extent.frames() {
            self.send(Role::Garbler, messages::tables(*frame as usize));
        }
        if let Some(values) = messages::masked_values(extent.count()) {
            self.send(Role::Evaluator, values);
        }
    }

    /// Adds the messages that follow the masked values of the last gates.
    fn end(&mut self, function: &Function) {
        self.send(Role::Evaluator, messages::LABEL_DIGEST);
        self.send(Role::Garbler, messages::gate_proof(function));
        if !function.saves().is_empty() {
            for role in [Role::Evaluator, Role::Garbler] {
                self.send(role, VERSION_KEPT);
            }
            self.trips += 2;
            if let Some(opening) = messages::result_opening(function, Role::Evaluator) {
                self.send(Role::Garbler, opening);
            }
        }
        self.trips += 1;
        if let Some(opening) = messages::result_opening(function, Role::Garbler) {
            self.send(Role::Evaluator, opening);
            self.trips += 1;
        }
    }
}

/// Returns the messages of a run of `function` from nothing, in a session that has its epoch and
/// has run before. In a new session the first message of each direction's OTs is longer by its
/// corrections. The messages of silent OT are not included. Neither are those that start a chain:
/// base OTs, and the parties' exchange about the chain.
///
/// # Errors
///
/// The function loads or saves more bits than one run may.
pub fn outline(
    function: &Function,
    security: SecurityBits,
    extension: Extension,
) -> Result<Outline, Error> {
    check(function)?;
    let mut outline = Outline::default();
    let mut walk = CallWalk::new(function, Proof::RULES, |_| Ok::<_, Error>(false))?;
    let mut left = function.and_gates();
    let inputs = Role::BOTH.map(|role| function.input_bits(role));
    let mut first = Some(inputs);
    loop {
        let size = next_lot(left, security);
        outline.lot(size, extension, first.unwrap_or_default());
        if first.take().is_some() {
            for role in [Role::Evaluator, Role::Garbler] {
                outline.send(role, messages::masked_inputs(function, role));
            }
        }
        let mut extent = LotGates::new(size.triples);
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
