//! Making instances: their masks, the openings of their gates, and their tables.
//!
//! ```text
//! garbler                                                     evaluator
//!   ⇄ a lot of triples, with masks of inputs
//!   ◀── gate openings ────────────────────────────────────────────
//!   ── gate openings ────────────────────────────────────────────▶  the evaluator's are checked
//!   ── tables, in frames of some 64 KiB ─────────────────────────▶
//!       … and again, as long as there are instances …
//! ```
//!
//! A mask of an input is a random bit of each party, both authenticated. Instances are made in
//! groups, whose gates take one lot, or as many as the one instance of the group needs.

use tacit_circuit::Component;
use tacit_function::Role;
use tacit_kernels::{Block, Construction, Prg};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::super::epoch::Epoch;
use super::super::garbling::{Garbling, frame_bytes, label_rules};
use super::super::gates::{ClosedGates, OpenGates};
use super::super::lot::{InputCounts, Made, Making};
use super::super::oracle::Domain;
use super::super::parameters::SecurityBits;
use super::super::rows::{GATE_ROWS, GarblingRows, row_bytes};
use super::super::share::{Share, Shares};
use super::super::terms::next_lot;
use super::super::walk::{Rules, Walk};
use super::calls::{Member, Sequence};
use super::kept::{Layout, header, instance_bytes};
use super::order::Order;
use crate::Error;
use crate::bits::{append_blocks, bit, check_bits};
use crate::message::{Kind, exactly};
use crate::party::{Action, Machine, NOT_ASKED, Party as _, Progress};

/// One party's side of making instances. The epoch ends with it: nothing of it is left but the
/// instances.
///
/// The peer may still fail what is handed over. Nothing of it is to be used before the party is
/// done, at both.
pub struct MakingInstances<'f, K> {
    stage: Option<Stage<'f>>,
    order: Order<'f>,
    security: SecurityBits,
    construction: Construction,
    /// The s that the lot was ordered at, by which rows are as long as they are.
    ordered_at: SecurityBits,
    /// AND gates in all, and those that are made.
    total_ands: u64,
    done_ands: u64,
    /// Takes the component's place in the order, and what this party keeps of an instance of it.
    keep: K,
}

pub(crate) enum Stage<'f> {
    /// Until there are triples for a group that has none yet.
    Beginning(Making, Vec<Member<'f>>),
    /// Until there are more for a group under way.
    Making(Making, Box<Group<'f>>),
    Masking(Box<Lot<'f, ClosedGates>>),
    SendingGates(Box<Lot<'f, ClosedGates>>),
    AwaitingGates(Box<Lot<'f, ClosedGates>>),
    /// With the garbler's openings, which wait to be sent.
    Checked(Box<Lot<'f, OpenGates>>, Vec<u8>),
    Garbling(Box<Lot<'f, OpenGates>>, usize),
    AwaitingTables(Box<Lot<'f, OpenGates>>, usize),
    Done,
}

/// Instances that are made together.
pub(crate) struct Group<'f> {
    members: Vec<Member<'f>>,
    masks: Walk<'f, Share, Sequence<'f, Share>>,
    /// The garbler's.
    garbling: Option<Garbling<'f, Sequence<'f, Block>>>,
    /// What is kept of all inputs, and of all AND gates so far.
    inputs: Zeroizing<Vec<u8>>,
    ands: Zeroizing<Vec<u8>>,
    /// The evaluator's rows of all AND gates so far, and the size of one.
    rows: Vec<u8>,
    row_bytes: usize,
    /// AND gates that have no triples.
    left: u64,
}

/// A group with a lot.
pub(crate) struct Lot<'f, G> {
    epoch: Epoch,
    rng: Prg,
    group: Group<'f>,
    gates: G,
    /// Masks of the gates' outputs, as they are kept.
    kept: Shares,
    /// Tables that the evaluator has, and the select bits.
    tables: Vec<[u8; Block::BYTES]>,
    selects: Vec<bool>,
}

/// The first `count` of what is left, which is the rest then.
fn take<'a, T>(left: &mut &'a [T], count: usize) -> &'a [T] {
    let (first, rest) = left.split_at(count);
    *left = rest;
    first
}

fn ands(members: &[Member<'_>]) -> u64 {
    let ands = |member: &Member<'_>| member.component.program().ands().len() as u64;
    members.iter().map(ands).sum()
}

impl<'f, K: FnMut(usize, &[u8]) -> Result<(), Error>> MakingInstances<'f, K> {
    /// The making of instances of components under a new epoch, as many of each as the order says.
    /// `keep` is called with the place of a component in it and the bytes of an instance, in order.
    /// `seed` is random, secret and used for this alone.
    ///
    /// # Errors
    ///
    /// No instance is wanted, or too many are.
    pub fn new(
        epoch: Epoch,
        order: &[(&'f Component, u64)],
        (security, construction, ordered_at): (SecurityBits, Construction, SecurityBits),
        keep: K,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        let each = order.iter().map(|(component, count)| {
            let ands = component.program().ands().len() as u64;
            ands.saturating_mul(*count)
        });
        let mut making = Self {
            stage: None,
            total_ands: each.fold(0, u64::saturating_add),
            done_ands: 0,
            order: Order::new(order)?,
            security,
            construction,
            ordered_at,
            keep,
        };
        making.stage = Some(making.next_group(epoch, Prg::from_seed(seed)));
        Ok(making)
    }

    /// The stage that begins the next group, or ends.
    fn next_group(&mut self, epoch: Epoch, rng: Prg) -> Stage<'f> {
        let members = self.order.group();
        if members.is_empty() {
            return Stage::Done;
        }
        let inputs = members.iter();
        let inputs = inputs.map(|member| member.component.circuit().input_bits());
        let inputs: usize = inputs.sum();
        let both = InputCounts {
            own: inputs,
            others: inputs,
        };
        let size = next_lot(ands(&members), self.security);
        Stage::Beginning(Making::new(epoch, size, both, rng), members)
    }

    /// A group with its first lot.
    fn begin(&self, mut made: Made, members: Vec<Member<'f>>) -> Lot<'f, ClosedGates> {
        let (epoch, delta) = (&made.epoch, *made.epoch.delta());
        let pairs = made.own_inputs.iter().zip(made.others_inputs.iter());
        let shares = pairs.map(|(mac, key)| Share {
            mac: *mac,
            key: *key,
        });
        let shares: Zeroizing<Vec<Share>> = Zeroizing::new(shares.collect());
        let layout = Layout::of(epoch.role(), self.ordered_at);
        let room = |blocks: usize| Zeroizing::new(Vec::with_capacity(blocks * Block::BYTES));
        let mut inputs = room(layout.input * shares.len());
        let mut garbling = None;
        match epoch.role() {
            Role::Garbler => {
                let mut labels = Outputs::new(Vec::with_capacity(shares.len()));
                for share in shares.iter() {
                    let label = made.rng.next_block().with_lsb(0.into());
                    let share = share.turned(delta);
                    append_blocks(&mut inputs, &[share.mac, share.key, label]);
                    labels.push(label);
                }
                let walk = Walk::over(Sequence::new(&members, labels), label_rules(delta));
                let hash = epoch.hash(self.construction, Domain::InstanceStart, 0);
                let rows = epoch.hash(self.construction, Domain::RowStart, 0);
                let rows = GarblingRows::new(rows, row_bytes(self.ordered_at));
                garbling = Some(Garbling::new(walk, hash, delta).with_rows(Some(rows)));
            }
            Role::Evaluator => {
                for share in shares.iter() {
                    let share = share.turned(delta);
                    append_blocks(&mut inputs, &[share.mac, share.key]);
                }
            }
        }
        let rules = Rules {
            constant: Share::default(),
            negation: epoch.one(),
        };
        let group = Group {
            masks: Walk::over(Sequence::new(&members, shares), rules),
            garbling,
            inputs,
            ands: room(layout.and * ands(&members) as usize),
            rows: Vec::new(),
            row_bytes: row_bytes(self.ordered_at),
            left: ands(&members),
            members,
        };
        Lot::new(made, group)
    }

    /// The stage after the masks of a lot's gates are known.
    fn masked(&mut self, mut lot: Box<Lot<'f, ClosedGates>>) -> Result<Stage<'f>, Error> {
        lot.group.left -= lot.gates.count() as u64;
        Ok(match (lot.gates.count(), lot.epoch.role()) {
            (0, _) => self.end_lot(lot.check(&[])?)?,
            (_, Role::Garbler) => Stage::AwaitingGates(lot),
            (_, Role::Evaluator) => Stage::SendingGates(lot),
        })
    }

    /// The stage after a lot's gates are there.
    fn end_lot(&mut self, mut lot: Lot<'f, OpenGates>) -> Result<Stage<'f>, Error> {
        let labels = lot.keep();
        self.done_ands += lot.kept.macs.len() as u64;
        let Lot {
            mut epoch,
            rng,
            group,
            gates,
            ..
        } = lot;
        gates.give_back(labels, &mut epoch.buffers);
        if group.left == 0 {
            self.keep(&epoch, group)?;
            return Ok(self.next_group(epoch, rng));
        }
        let size = next_lot(group.left, self.security);
        let making = Making::new(epoch, size, InputCounts::default(), rng);
        Ok(Stage::Making(making, Box::new(group)))
    }

    /// Hands over the instances of a group.
    fn keep(&mut self, epoch: &Epoch, mut group: Group<'f>) -> Result<(), Error> {
        // Constants and negations behind the last gate.
        while !group.masks.has_ended() {
            group.masks.next();
        }
        if let Some(garbling) = &mut group.garbling {
            while !garbling.walk_to_end() {}
        }
        let delta = *epoch.delta();
        let (mut inputs, mut ands, mut rows) =
            (&group.inputs[..], &group.ands[..], &group.rows[..]);
        let mut outputs = group.masks.calls().outputs();
        let labels = group
            .garbling
            .as_mut()
            .map(|garbling| garbling.calls().outputs());
        let mut labels = labels.unwrap_or_default();
        let layout = Layout::of(epoch.role(), self.ordered_at);
        for member in &group.members {
            let circuit = member.component.circuit();
            let gates = member.component.program().ands().len();
            let these = take(
                &mut inputs,
                layout.input * Block::BYTES * circuit.input_bits(),
            );
            let gates_rows = take(&mut rows, layout.row_bytes * gates);
            let gates = take(&mut ands, layout.and * Block::BYTES * gates);
            let mut bytes = Zeroizing::new(Vec::with_capacity(instance_bytes(
                epoch.role(),
                member.component,
                self.ordered_at,
            ) as usize));
            append_blocks(&mut bytes, &header(delta, member.number, self.ordered_at));
            bytes.extend_from_slice(these);
            bytes.extend_from_slice(gates);
            if epoch.role() == Role::Garbler {
                let results = take(&mut outputs, circuit.output_bits());
                let labels = take(&mut labels, circuit.output_bits());
                for (result, label) in results.iter().zip(labels) {
                    let result = result.turned(delta);
                    append_blocks(&mut bytes, &[result.mac, result.key, *label]);
                }
            }
            bytes.extend_from_slice(gates_rows);
            (self.keep)(member.place, &bytes)?;
        }
        Ok(())
    }
}

impl<'f> Lot<'f, ClosedGates> {
    fn new(mut made: Made, group: Group<'f>) -> Self {
        Self {
            gates: ClosedGates::new(made.triples, &mut made.epoch.buffers),
            epoch: made.epoch,
            rng: made.rng,
            group,
            kept: Shares::default(),
            tables: Vec::new(),
            selects: Vec::new(),
        }
    }

    /// Checks the other party's openings, and opens the gates.
    fn check(mut self, payload: &[u8]) -> Result<Lot<'f, OpenGates>, Error> {
        let labels = self.epoch.buffers.take(self.gates.count());
        let kept = self.gates.kept_masks(self.epoch.delta());
        let gates = self.gates.check(&self.epoch, payload)?;
        if let Some(garbling) = &mut self.group.garbling {
            garbling.begin(labels);
        }
        Ok(Lot {
            gates: gates.open(&mut self.epoch),
            epoch: self.epoch,
            rng: self.rng,
            group: self.group,
            kept,
            tables: self.tables,
            selects: self.selects,
        })
    }
}

impl Group<'_> {
    /// The length of a message with the tables and rows of this many gates, in bytes.
    fn frame_bytes(&self, count: usize) -> usize {
        frame_bytes(count) + GATE_ROWS * self.row_bytes * count
    }
}

impl Lot<'_, OpenGates> {
    /// Takes the tables of the next `count` gates.
    fn receive(&mut self, count: usize, payload: &[u8]) -> Result<(), Error> {
        let kind = Kind::AuthenticatedTables;
        exactly(kind, payload, self.group.frame_bytes(count))?;
        let (gates, rows) = payload.split_at(frame_bytes(count));
        let (tables, selects) = gates.split_at(2 * count * Block::BYTES);
        check_bits(kind, selects, count)?;
        self.group.rows.extend_from_slice(rows);
        self.tables.extend_from_slice(tables.as_chunks().0);
        self.selects.extend((0..count).map(|i| bit(selects, i)));
        Ok(())
    }

    /// Keeps the gates. Returns the labels of their outputs, which an evaluator has none of.
    fn keep(&mut self) -> Outputs {
        let [parts, proof] = self.gates.outputs();
        let Shares { macs, keys } = &self.kept;
        let ands = &mut self.group.ands;
        match &mut self.group.garbling {
            Some(garbling) => {
                // It keeps nothing of a gate, since rows prove it.
                garbling.take_labels()
            }
            None => {
                let tables = self.tables.as_chunks::<2>().0;
                for (i, (tables, select)) in tables.iter().zip(&self.selects).enumerate() {
                    let [t0, t1] = tables.map(Block::from_bytes);
                    let part = parts[i] ^ Block::from_u128(u128::from(*select));
                    append_blocks(ands, &[t0, t1, macs[i], keys[i], part, proof[i]]);
                }
                Outputs::default()
            }
        }
    }
}

impl<'f, K: FnMut(usize, &[u8]) -> Result<(), Error>> Machine for MakingInstances<'f, K> {
    type State = Stage<'f>;

    fn state(&mut self) -> &mut Option<Stage<'f>> {
        &mut self.stage
    }

    fn awaited(&self, stage: &Stage<'f>) -> Option<Action> {
        Some(match stage {
            Stage::AwaitingGates(lot) => {
                Action::receive(Kind::GateOpenings, lot.gates.opening_bytes())
            }
            Stage::AwaitingTables(lot, frame) => {
                let count = *lot.gates.frames.get(*frame)? as usize;
                Action::receive(Kind::AuthenticatedTables, lot.group.frame_bytes(count))
            }
            _ => return None,
        })
    }

    fn step(
        &mut self,
        stage: Stage<'f>,
        message: &mut Vec<u8>,
    ) -> Result<(Stage<'f>, Option<Action>), Error> {
        Ok(match stage {
            Stage::Beginning(mut making, members) => match making.next(message)? {
                Action::Done => {
                    let lot = self.begin(making.finish()?, members);
                    (Stage::Masking(Box::new(lot)), None)
                }
                action => (Stage::Beginning(making, members), Some(action)),
            },
            Stage::Making(mut making, group) => match making.next(message)? {
                Action::Done => {
                    let lot = Lot::new(making.finish()?, *group);
                    (Stage::Masking(Box::new(lot)), None)
                }
                action => (Stage::Making(making, group), Some(action)),
            },
            Stage::Masking(mut lot) => match lot.gates.fill(&mut lot.group.masks) {
                false => (Stage::Masking(lot), Some(Action::Continue)),
                true => (self.masked(lot)?, None),
            },
            Stage::SendingGates(lot) => {
                lot.gates.open(&lot.epoch, message);
                let action = Action::send(Kind::GateOpenings);
                (Stage::AwaitingGates(lot), Some(action))
            }
            Stage::Checked(lot, own) => {
                *message = own;
                let action = Action::send(Kind::GateOpenings);
                (Stage::Garbling(lot, 0), Some(action))
            }
            Stage::Garbling(mut lot, frame) => {
                let Some(count) = lot.gates.frames.get(frame) else {
                    return Ok((self.end_lot(*lot)?, None));
                };
                let Some(garbling) = &mut lot.group.garbling else {
                    return Err(NOT_ASKED);
                };
                match garbling.frame(&lot.gates, *count as usize, message) {
                    false => (Stage::Garbling(lot, frame), Some(Action::Continue)),
                    true => {
                        let action = Action::send(Kind::AuthenticatedTables);
                        (Stage::Garbling(lot, frame + 1), Some(action))
                    }
                }
            }
            // The last tables are there.
            Stage::AwaitingTables(lot, _) => (self.end_lot(*lot)?, None),
            Stage::Done => (Stage::Done, Some(Action::Done)),
            Stage::AwaitingGates(_) => return Err(NOT_ASKED),
        })
    }

    fn take(&mut self, stage: Stage<'f>, payload: &[u8]) -> Result<Stage<'f>, Error> {
        Ok(match stage {
            Stage::Beginning(mut making, members) => {
                making.receive(payload)?;
                Stage::Beginning(making, members)
            }
            Stage::Making(mut making, group) => {
                making.receive(payload)?;
                Stage::Making(making, group)
            }
            Stage::AwaitingGates(lot) => match lot.epoch.role() {
                Role::Garbler => {
                    let mut own = Vec::new();
                    lot.gates.open(&lot.epoch, &mut own);
                    Stage::Checked(Box::new(lot.check(payload)?), own)
                }
                Role::Evaluator => Stage::AwaitingTables(Box::new(lot.check(payload)?), 0),
            },
            Stage::AwaitingTables(mut lot, frame) => {
                let count = lot.gates.frames.get(frame).ok_or(NOT_ASKED)?;
                lot.receive(*count as usize, payload)?;
                Stage::AwaitingTables(lot, frame + 1)
            }
            _ => return Err(NOT_ASKED),
        })
    }

    fn progress(&self) -> Progress {
        Progress {
            done_ands: self.done_ands,
            total_ands: self.total_ands,
        }
    }
}
