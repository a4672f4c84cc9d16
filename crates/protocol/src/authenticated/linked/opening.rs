//! Message 0: what links and inputs need to be known of masks, before any input is.
//!
//! Both parties open d = λ ⊕ λ' of each wire and of the value that comes to it, and each opens its
//! part of the masks of the other's inputs. The bits' MACs are compared, as one fold each way,
//! before a masked input of the evaluator leaves, and before a label of the garbler does: with a
//! lie that is found later, a label of the other masked value has left.

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

/// Parts of shares that are opened with message 0, as they are kept.
pub(crate) struct ClosedLinks {
    /// d of each wire that is not an input's own.
    differences: Zeroizing<Vec<Share>>,
    /// Masks of the inputs of either party.
    inputs: [Zeroizing<Vec<Share>>; 2],
}

/// What message 0 opened. Only the check of the other party's MACs makes it.
pub(crate) struct CheckedLinks {
    /// d of each wire.
    pub(super) differences: Vec<bool>,
    /// The masks of this party's inputs.
    pub(super) masks: Zeroizing<Vec<bool>>,
}

impl ClosedLinks {
    /// From d of each wire, and the mask of each.
    pub(super) fn new(
        wiring: &Wiring,
        differences: impl Iterator<Item = Share>,
        mask: impl Fn(usize) -> Share,
    ) -> Self {
        let linked = differences.enumerate();
        let linked = linked.filter(|(wire, _)| !wiring.is_input(*wire));
        let mut opened = Zeroizing::new(Vec::with_capacity(wiring.wires()));
        opened.extend(linked.map(|(_, share)| share));
        let inputs = [Role::Garbler, Role::Evaluator].map(|role| {
            let mut masks = Zeroizing::new(Vec::with_capacity(wiring.wires_of(role).count()));
            masks.extend(wiring.wires_of(role).map(&mask));
            masks
        });
        Self {
            differences: opened,
            inputs,
        }
    }

    /// What the party opens that opens masks of the inputs of `owner`.
    fn opened(&self, owner: Role) -> impl Iterator<Item = &Share> {
        let inputs = &self.inputs[usize::from(owner == Role::Evaluator)];
        self.differences.iter().chain(inputs.iter())
    }

    /// The length of what it opens, in bytes.
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

    /// Takes the other party's.
    ///
    /// # Errors
    ///
    /// They are malformed, or their MACs are not those of the bits that were opened.
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
        let difference = |wire| match wiring.is_input(wire) {
            true => Some(false),
            false => linked.next().copied(),
        };
        let differences = (0..wiring.wires()).map(difference);
        Ok(CheckedLinks {
            differences: differences.map(Option::unwrap_or_default).collect(),
            masks,
        })
    }
}
