//! Groups of at most 64 calls, such as the gates of `main`, which are one call. A row is one word.
//! The opened bits of a layer, and its masks, are written and read as consecutive bits.
//!
//! **Cost** of an AND of shared bits: some twenty word operations, and two memory accesses for each
//! of its operands and its result.

use core::ops::{Deref, DerefMut};

use tacit_circuit::{CROSS_GATES, Piece, Role, RowAction, RowProgram};
use zeroize::Zeroizing;

use super::CrossMasks;
use super::bits::{BitReader, BitWriter};
use super::group::{LayerPass, mask};
use super::opened::OpenedWriter;

/// A party's rows of a group, one word each.
pub(super) struct OneWordRows<R> {
    pub(super) role: Role,
    pub(super) instances: usize,
    pub(super) rows: R,
}

impl<R: Deref<Target = [u64]>> OneWordRows<R> {
    /// Appends this party's rows of a layer.
    pub(super) fn open<M: CrossMasks>(
        &self,
        mut pass: LayerPass<'_, M>,
        out: &mut OpenedWriter<'_>,
    ) {
        pass.fetch_packed(self.role, self.instances);
        let (me, bits) = (self.role, self.instances as u32);
        let valid = u64::MAX >> (64 - bits);
        let packed = &pass.room.packed;
        let mut alpha = BitReader::new(packed[me as usize][1].words(), 0);
        let mut choices = BitReader::new(packed[me.other() as usize][0].words(), 0);
        for piece in pass.layer.program.pieces(pass.layer.number) {
            for chooser in Role::BOTH {
                if piece.widths[chooser as usize] == 0 {
                    continue;
                }
                if chooser == me {
                    // x is opened without negation, even where a gate negates it.
                    let x = self.rows[piece.common as usize] & valid;
                    out.push_word(x ^ choices.take(bits), self.instances);
                    continue;
                }
                for gate in piece.gates.iter().filter(|gate| gate.is_chosen_by(chooser)) {
                    let y = self.rows[gate.other()] ^ mask(gate.inverts_other(me));
                    out.push_word(y & valid ^ alpha.take(bits), self.instances);
                }
            }
        }
    }
}

/// The bits of a layer that are not used yet.
struct LayerBits<'m> {
    /// The number of instances.
    bits: u32,
    /// The bits that the peer opens.
    peer: BitReader<'m>,
    /// The masks of crosses that this party chooses (`rho`), and of those that it sends (`r`,
    /// `alpha`).
    rho: BitReader<'m>,
    r: BitReader<'m>,
    alpha: BitReader<'m>,
    /// The peer's rows of the cross that this party chooses.
    opened: Zeroizing<[u64; CROSS_GATES]>,
}

impl LayerBits<'_> {
    /// Takes the peer's rows of a piece. Returns the peer's row of the cross that the peer chooses.
    #[inline(always)]
    fn take_peer(&mut self, piece: &Piece<'_>, me: Role) -> u64 {
        let mut chosen = 0;
        for chooser in Role::BOTH {
            let width = piece.widths[chooser as usize];
            if chooser == me {
                for opened in &mut self.opened[..width] {
                    *opened = self.peer.take(self.bits);
                }
            } else if width > 0 {
                chosen = self.peer.take(self.bits);
            }
        }
        chosen
    }
}

impl<R: DerefMut<Target = [u64]>> OneWordRows<R> {
    /// Takes the peer's rows of a layer.
    pub(super) fn absorb<M: CrossMasks>(&mut self, mut pass: LayerPass<'_, M>, peer: &[u64]) {
        pass.fetch_packed(self.role, self.instances);
        let (me, bits) = (self.role, self.instances as u32);
        let rows = |sender: Role, of: usize| {
            let rows: &BitWriter = &pass.room.packed[sender as usize][of];
            BitReader::new(rows.words(), 0)
        };
        let mut layer_bits = LayerBits {
            bits,
            peer: BitReader::new(peer, pass.bits_before(me.other()) as usize),
            rho: rows(me.other(), 1),
            r: rows(me, 0),
            alpha: rows(me, 1),
            opened: Zeroizing::new([0; CROSS_GATES]),
        };
        for piece in pass.layer.program.pieces(pass.layer.number) {
            self.absorb_piece(&piece, &mut layer_bits);
        }
    }

    #[inline(always)]
    fn absorb_piece(&mut self, piece: &Piece<'_>, layer: &mut LayerBits<'_>) {
        let (me, bits) = (self.role, layer.bits);
        let d = layer.take_peer(piece, me);
        let x = self.rows[piece.common as usize];
        let mut chosen = 0;
        for gate in piece.gates {
            let y = self.rows[gate.other()] ^ mask(gate.inverts_other(me));
            // If x is negated, (x ⊕ 1)·y = x·y ⊕ y, with y's own negation.
            let mut result = (x ^ mask(gate.negates_common())) & y;
            if gate.is_chosen_by(me) {
                result ^= x & layer.opened[chosen] ^ layer.rho.take(bits);
                chosen += 1;
            }
            if gate.is_chosen_by(me.other()) {
                result ^= layer.r.take(bits) ^ d & layer.alpha.take(bits);
            }
            self.rows[gate.result()] = result;
        }
    }

    /// Performs the local operations of a layer.
    pub(super) fn operate(&mut self, program: &RowProgram, layer: u32) {
        for operation in program.operations(layer) {
            let [a, b] = operation.operands().map(|slot| self.rows[slot]);
            let result = match operation.action(self.role) {
                RowAction::And {
                    invert_first,
                    invert_second,
                } => (a ^ mask(invert_first)) & (b ^ mask(invert_second)),
                RowAction::Xor {
                    first,
                    second,
                    invert,
                } => a & mask(first) ^ b & mask(second) ^ mask(invert),
            };
            self.rows[operation.result()] = result;
        }
    }
}
