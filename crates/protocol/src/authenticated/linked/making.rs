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
//! A mask of an input is the sum of a random bit of each party, both authenticated. Instances are
//! made in groups. The gates of a group take one lot, or as many as its only instance needs.

use tacit_circuit::Component;
use tacit_function::Role;
use tacit_kernels::{Block, Construction, Prg};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::super::bucket::Triples;
use super::super::epoch::Epoch;
use super::super::garbling::{Garbling, label_rules};
use super::super::gates::{ClosedGates, OpenGates};
use super::super::lot::{InputCounts, make};
use super::super::messages;
use super::super::oracle::Domain;
use super::super::parameters::SecurityBits;
use super::super::rows::{GarblingRows, row_bytes};
use super::super::share::{Share, Shares};
use super::super::terms::next_lot;
use super::super::walk::{CallWalk, Rules, Stop};
use super::calls::{Member, Sequence};
use super::kept::{Layout, header, instance_bytes};
use super::order::Order;
use crate::Error;
use crate::bits::{append_blocks, bit, bytes_for, check_bits};
use crate::io::{Io, boxed};
use crate::message::Kind;
use crate::party::Progress;

/// Instances of components for a stock, on which both parties have agreed.
#[derive(Clone, Copy)]
pub struct InstanceOrder<'o, 'f> {
    /// The components and the number of instances of each. There is at least one instance in all.
    pub components: &'o [(&'f Component, u64)],
    /// The statistical security parameter s.
    pub security: SecurityBits,
    /// The hash of gates.
    pub construction: Construction,
    /// The s with which the lot was ordered. It determines the size of rows.
    pub ordered_at: SecurityBits,
}

impl<'f> InstanceOrder<'_, 'f> {
    /// Makes the instances under a new epoch, of which nothing else remains. Calls `keep` with the
    /// position of a component in the order and the bytes of an instance, in order. `seed` is
    /// random, secret and used only here.
    ///
    /// The peer may still fail a check after instances are passed to `keep`. Neither party may use
    /// any of them before this has succeeded at both parties.
    ///
    /// # Errors
    ///
    /// No instance is ordered, or too many are; `keep` fails, the peer cheats, or the wire fails.
    pub async fn make(
        self,
        io: &mut Io<'_>,
        mut epoch: Epoch,
        mut keep: impl FnMut(usize, &[u8]) -> Result<(), Error>,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<(), Error> {
        let each = self.components.iter().map(|(component, count)| {
            let ands = component.program().ands().len() as u64;
            ands.saturating_mul(*count)
        });
        let mut progress = Progress {
            done_ands: 0,
            total_ands: each.fold(0, u64::saturating_add),
        };
        let mut order = Order::new(self.components)?;
        let mut rng = Box::new(Prg::from_seed(seed));
        loop {
            let members = order.group();
            if members.is_empty() {
                return Ok(());
            }
            let inputs = members.iter();
            let inputs = inputs.map(|member| member.component.circuit().input_bits());
            let inputs = inputs.sum();
            let counts = InputCounts {
                own: inputs,
                others: inputs,
            };
            let mut left = ands(&members);
            let size = next_lot(left, self.security);
            let mut made = boxed(|| make(io, &mut epoch, &mut rng, size, counts)).await?;
            let mut group = Group::new(&self, (&epoch, &mut rng), members, &made.inputs);
            loop {
                let count = group.add_gates(io, &mut epoch, made.triples).await? as u64;
                left -= count;
                progress.done_ands += count;
                io.progressed(progress);
                if left == 0 {
                    break;
                }
                let (size, none) = (next_lot(left, self.security), InputCounts::default());
                made = boxed(|| make(io, &mut epoch, &mut rng, size, none)).await?;
            }
            // Constants and negations may follow the last gate.
            while !group.walk_to_end() {
                io.breathe().await?;
            }
            group.hand_over(&epoch, &mut keep)?;
        }
    }
}

/// Instances that are made together.
struct Group<'f> {
    members: Vec<Member<'f>>,
    /// The s with which the lot was ordered.
    ordered_at: SecurityBits,
    masks: CallWalk<'f, Share, Sequence<'f, Share>>,
    /// The garbler's walk; `None` at the evaluator.
    garbling: Option<Garbling<'f, Sequence<'f, Block>>>,
    /// The data that is kept of all inputs, and of all AND gates so far.
    inputs: Zeroizing<Vec<u8>>,
    ands: Zeroizing<Vec<u8>>,
    /// The evaluator's rows of all AND gates so far.
    rows: Vec<u8>,
}

/// Splits the first `count` items off `left` and returns them.
fn take<'a, T>(left: &mut &'a [T], count: usize) -> &'a [T] {
    let (first, rest) = left.split_at(count);
    *left = rest;
    first
}

fn ands(members: &[Member<'_>]) -> u64 {
    let ands = |member: &Member<'_>| member.component.program().ands().len() as u64;
    members.iter().map(ands).sum()
}

impl<'f> Group<'f> {
    /// Returns a group of instances whose inputs have these masks.
    fn new(
        order: &InstanceOrder<'_, 'f>,
        (epoch, rng): (&Epoch, &mut Prg),
        members: Vec<Member<'f>>,
        masks: &Shares,
    ) -> Self {
        let delta = Zeroizing::new(*epoch.delta());
        let pairs = masks.macs.iter().zip(masks.keys.iter());
        let shares = pairs.map(|(mac, key)| Share {
            mac: *mac,
            key: *key,
        });
        let shares: Zeroizing<Vec<Share>> = Zeroizing::new(shares.collect());
        let layout = Layout::of(epoch.role(), order.ordered_at);
        let room = |blocks: usize| Zeroizing::new(Vec::with_capacity(blocks * Block::BYTES));
        let mut inputs = room(layout.input * shares.len());
        let mut garbling = None;
        match epoch.role() {
            Role::Garbler => {
                let mut labels = Outputs::new(Vec::with_capacity(shares.len()));
                for share in shares.iter() {
                    let label = rng.next_block().with_lsb(0.into());
                    let share = share.turned(*delta);
                    append_blocks(&mut inputs, &[share.mac, share.key, label]);
                    labels.push(label);
                }
                let walk = CallWalk::over(Sequence::new(&members, labels), label_rules(*delta));
                let hash = epoch.hash(order.construction, Domain::InstanceStart, 0);
                let rows = epoch.hash(order.construction, Domain::RowStart, 0);
                let rows = GarblingRows::new(rows, row_bytes(order.ordered_at));
                garbling = Some(Garbling::new(walk, hash, *delta).with_rows(Some(rows)));
            }
            Role::Evaluator => {
                for share in shares.iter() {
                    let share = share.turned(*delta);
                    append_blocks(&mut inputs, &[share.mac, share.key]);
                }
            }
        }
        let rules = Rules {
            constant: Share::default(),
            negation: epoch.one(),
        };
        Self {
            ordered_at: order.ordered_at,
            masks: CallWalk::over(Sequence::new(&members, shares), rules),
            garbling,
            inputs,
            ands: room(layout.and * ands(&members) as usize),
            rows: Vec::new(),
            members,
        }
    }

    /// Makes the next gates, up to the number of triples. Returns the number of gates made.
    async fn add_gates(
        &mut self,
        io: &mut Io<'_>,
        epoch: &mut Epoch,
        triples: Triples,
    ) -> Result<usize, Error> {
        let mut gates = ClosedGates::new(triples, &mut epoch.buffers);
        while !gates.fill(&mut self.masks) {
            io.breathe().await?;
        }
        let count = gates.count();
        let Some(openings) = messages::gate_openings(count) else {
            gates
                .check(epoch, &[])?
                .open(epoch)
                .give_back(Outputs::default(), &mut epoch.buffers);
            return Ok(0);
        };
        let ordered_at = self.ordered_at;
        let message = |gates: u32| messages::tables_with_rows(gates as usize, ordered_at);
        let mut own = Vec::new();
        gates.open(epoch, &mut own);
        if let Some(garbling) = &mut self.garbling {
            let checked = gates.check(epoch, io.receive(openings).await?)?;
            *io.message() = own;
            io.send(openings)?;
            let gates = checked.open(epoch);
            garbling.begin(epoch.buffers.take(count));
            for frame in &gates.frames {
                while !garbling.frame(&gates, *frame as usize, io.message()) {
                    io.breathe().await?;
                }
                io.send(message(*frame))?;
            }
            // The garbler keeps nothing of a gate, because rows prove it.
            gates.give_back(garbling.take_labels(), &mut epoch.buffers);
        } else {
            *io.message() = own;
            io.send(openings)?;
            let kept = gates.kept_masks(epoch.delta());
            let gates = gates.check(epoch, io.receive(openings).await?)?.open(epoch);
            let mut first = 0;
            for frame in &gates.frames {
                let payload = io.receive(message(*frame)).await?;
                first += self.keep_frame(payload, *frame as usize, (&gates, &kept, first))?;
            }
            gates.give_back(Outputs::default(), &mut epoch.buffers);
        }
        Ok(count)
    }

    /// Keeps the gates of a frame. The first gate has the number `first` in its lot, and `kept` are
    /// the masks of the lot's outputs.
    fn keep_frame(
        &mut self,
        payload: &[u8],
        count: usize,
        (gates, kept, first): (&OpenGates, &Shares, usize),
    ) -> Result<usize, Error> {
        let (tables, rest) = payload.split_at(2 * count * Block::BYTES);
        let (selects, rows) = rest.split_at(bytes_for(count));
        check_bits(Kind::AuthenticatedTables, selects, count)?;
        self.rows.extend_from_slice(rows);
        let [parts, proof] = gates.outputs();
        let tables = tables.as_chunks().0.as_chunks::<2>().0;
        for (i, tables) in tables.iter().enumerate() {
            let [t0, t1] = tables.map(Block::from_bytes);
            let select = Block::from_u128(u128::from(bit(selects, i)));
            let (mask, i) = (kept.at(first + i), first + i);
            let blocks = [t0, t1, mask.mac, mask.key, parts[i] ^ select, proof[i]];
            append_blocks(&mut self.ands, &blocks);
        }
        Ok(count)
    }

    /// Walks on towards the end of the last instance. Returns whether it is reached.
    fn walk_to_end(&mut self) -> bool {
        let garbling = self.garbling.as_mut();
        !matches!(self.masks.next(), Stop::Pause) && garbling.is_none_or(Garbling::walk_to_end)
    }

    /// Passes the instances to `keep`.
    fn hand_over(
        mut self,
        epoch: &Epoch,
        keep: &mut impl FnMut(usize, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (delta, role) = (Zeroizing::new(*epoch.delta()), epoch.role());
        let layout = Layout::of(role, self.ordered_at);
        let (mut inputs, mut ands, mut rows) = (&self.inputs[..], &self.ands[..], &self.rows[..]);
        let mut outputs = self.masks.calls().outputs();
        let garbling = self.garbling.as_mut();
        let mut labels = garbling.map_or(&[][..], |garbling| garbling.calls().outputs());
        for member in &self.members {
            let circuit = member.component.circuit();
            let gates = member.component.program().ands().len();
            let bytes = instance_bytes(role, member.component, self.ordered_at);
            let mut bytes = Zeroizing::new(Vec::with_capacity(bytes as usize));
            append_blocks(&mut bytes, &header(*delta, member.number, self.ordered_at));
            let these = layout.input * Block::BYTES * circuit.input_bits();
            bytes.extend_from_slice(take(&mut inputs, these));
            bytes.extend_from_slice(take(&mut ands, layout.and * Block::BYTES * gates));
            if role == Role::Garbler {
                let results = take(&mut outputs, circuit.output_bits());
                let labels = take(&mut labels, circuit.output_bits());
                for (result, label) in results.iter().zip(labels) {
                    let result = result.turned(*delta);
                    append_blocks(&mut bytes, &[result.mac, result.key, *label]);
                }
            }
            bytes.extend_from_slice(take(&mut rows, layout.row_bytes * gates));
            keep(member.place, &bytes)?;
        }
        Ok(())
    }
}
