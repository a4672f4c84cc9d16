//! Message 0: the facts about masks that links and inputs need, before any input is used.
//!
//! Both parties open d = λ ⊕ λ' for each wire and the value that leads to it, and each opens its
//! part of the masks of the other's inputs. The MACs of these bits are compared, as one fold in
//! each direction, before the evaluator sends a masked input and before the garbler sends a label.
//! If a lie were found later, a label of the other masked value would already be sent.

use subtle::Choice;
use tacit_function::Role;
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::super::caught::Caught;
use super::super::columns::{ROWS, bit_bytes, chunks};
use super::super::epoch::Epoch;
use super::super::fold::{FOLD_BYTES, Fold};
use super::super::leaky::push_lsbs;
use super::super::oracle::{Domain, compare};
use super::super::share::Share;
use super::super::terms::Terms;
use super::wiring::Wiring;
use crate::Error;
use crate::bits::{BitWriter, bit, bytes_for, check_bits};
use crate::message::{Kind, exactly};

/// The shares that are opened with message 0, in the form in which they are kept.
pub(crate) struct ClosedLinks {
    /// d of each wire, except an input's own wire.
    differences: Zeroizing<Vec<Share>>,
    /// The masks of either party's inputs.
    inputs: [Zeroizing<Vec<Share>>; 2],
}

/// The values that message 0 opened. Only the check of the other party's MACs makes this type.
pub(crate) struct CheckedLinks {
    /// d of each wire.
    pub(super) differences: Vec<bool>,
    /// The masks of this party's inputs.
    pub(super) masks: Zeroizing<Vec<bool>>,
}

impl ClosedLinks {
    /// Returns the shares from d of each wire, and the mask of each wire.
    pub(super) fn new(
        wiring: &Wiring,
        differences: impl Iterator<Item = Share>,
        mask: impl Fn(usize) -> Share,
    ) -> Self {
        let linked = differences.enumerate();
        let linked = linked.filter(|(wire, _)| !wiring.is_input(*wire));
        let mut opened = Zeroizing::new(Vec::with_capacity(wiring.wires()));
        opened.extend(linked.map(|(_, share)| share));
        let inputs = Role::BOTH.map(|role| {
            let mut masks = Zeroizing::new(Vec::with_capacity(wiring.wires_of(role).count()));
            masks.extend(wiring.wires_of(role).map(&mask));
            masks
        });
        Self {
            differences: opened,
            inputs,
        }
    }

    /// Returns the shares that a party opens if it opens the masks of the inputs of `owner`.
    fn opened(&self, owner: Role) -> impl Iterator<Item = &Share> {
        let inputs = &self.inputs[usize::from(owner == Role::Evaluator)];
        self.differences.iter().chain(inputs.iter())
    }

    /// Returns the size of these openings in bytes.
    pub(super) fn bytes(&self, owner: Role) -> usize {
        bytes_for(self.opened(owner).count()) + FOLD_BYTES
    }

    fn fold(terms: &Terms<'_>, epoch: &Epoch, run: u64, from: Role) -> Fold<1> {
        Fold::new(terms.oracle(epoch, Domain::LinkMacs, Some(from), run))
    }

    /// Writes this party's bits, and a fold of their MACs.
    pub(super) fn open(&self, terms: &Terms<'_>, epoch: &Epoch, run: u64, out: &mut Vec<u8>) {
        let mut fold = Self::fold(terms, epoch, run, epoch.role());
        let macs = self.opened(epoch.role().other()).map(|share| share.mac);
        let mut column = Outputs::new(Vec::with_capacity(ROWS));
        let (mut macs, mut bits) = (macs.peekable(), BitWriter::default());
        out.clear();
        while macs.peek().is_some() {
            column.clear();
            column.extend(macs.by_ref().take(ROWS));
            push_lsbs(&mut bits, &column);
            let bits = bits.take();
            fold.add(&[&bits], [&column]);
            out.extend_from_slice(&bits);
        }
        out.extend_from_slice(&fold.finish()[0]);
    }

    /// Checks the other party's openings.
    pub(super) fn check(
        self,
        terms: &Terms<'_>,
        wiring: &Wiring,
        (epoch, run): (&Epoch, u64),
        payload: &[u8],
    ) -> Result<CheckedLinks, Error> {
        let (kind, role) = (Kind::LinkMasks, epoch.role());
        exactly(kind, payload, self.bytes(role))?;
        let (bits, digest) = payload.split_at(payload.len() - FOLD_BYTES);
        let shares: Vec<&Share> = self.opened(role).collect();
        check_bits(kind, bits, shares.len())?;
        let mut fold = Self::fold(terms, epoch, run, role.other());
        let mut sums = Zeroizing::new(Vec::with_capacity(shares.len()));
        let mut column = Outputs::new(Vec::with_capacity(ROWS));
        for range in chunks(shares.len()) {
            column.clear();
            for (i, share) in range.clone().zip(&shares[range.clone()]) {
                let sum = Choice::from(u8::from(bit(bits, i))) ^ share.bit();
                // The key holds this party's own bit.
                column.push(share.others_mac(sum, *epoch.delta()));
                sums.push(bool::from(sum));
            }
            fold.add(&[&bits[bit_bytes(&range)]], [&column]);
        }
        compare(&fold.finish()[0], digest, Caught::Links)?;
        let masks = Zeroizing::new(sums.split_off(self.differences.len()));
        let mut linked = sums.iter();
        let difference = |wire| {
            if wiring.is_input(wire) {
                Some(false)
            } else {
                linked.next().copied()
            }
        };
        let differences = (0..wiring.wires()).map(difference);
        Ok(CheckedLinks {
            differences: differences.map(Option::unwrap_or_default).collect(),
            masks,
        })
    }
}
