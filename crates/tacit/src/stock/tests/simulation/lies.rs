//! The lies of a simulation: messages that are changed on their way.

use tacit_protocol::message::Kind;
use tacit_stock::{Marks, Span};

use super::super::LOT;
use super::machine::Dice;

/// A change of a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lie {
    /// These bits of this byte.
    Bits(u64, u64),
    /// An earlier message of the kind in its place.
    Old,
    /// The evaluator names the numbers of its last leases again, whenever it names any.
    Again,
    /// A record of marks that has the form of one, with this field raised or lowered.
    Record { field: u64, by: i64 },
}

impl Lie {
    /// Draws a lie, and the message of a session that it changes: by its number among all, or among
    /// the records.
    pub(super) fn draw(dice: &mut Dice) -> (u64, Self) {
        let lie = match dice.below(4) {
            0 => Lie::Bits(dice.below(1 << 20), 1 + dice.below(255)),
            1 => Lie::Old,
            2 => Lie::Again,
            _ => Lie::Record {
                field: dice.below(12),
                by: dice.below(2 * LOT) as i64 - LOT as i64,
            },
        };
        let most = match lie {
            // One of the first two records of a session, or of those of a preparation.
            Lie::Record { .. } => 4,
            _ => 12,
        };
        (dice.below(most), lie)
    }

    /// Whether a message of this kind is changed, if the message or the record `is_drawn` or not.
    pub(super) fn is_told(
        self,
        (message_is_drawn, record_is_drawn): (bool, bool),
        kind: Kind,
    ) -> bool {
        match self {
            Self::Again => kind == Kind::Leases,
            Self::Bits(..) | Self::Old => message_is_drawn,
            Self::Record { .. } => kind == Kind::StockMarks && record_is_drawn,
        }
    }

    pub(super) fn tell(self, old: Option<&Vec<u8>>, message: &mut Vec<u8>) {
        match self {
            Self::Bits(at, bits) if !message.is_empty() => {
                let at = at as usize % message.len();
                message[at] ^= bits as u8;
            }
            Self::Old | Self::Again => message.clone_from(old.unwrap_or(&Vec::new())),
            Self::Bits(..) => {}
            Self::Record { field, by } => {
                if let Ok(mut record) = Marks::parse(message) {
                    change(&mut record, field, by);
                    *message = record.to_bytes();
                }
            }
        }
    }
}

/// Changes a field of a record of marks.
fn change(record: &mut Marks, field: u64, by: i64) {
    let changed = |number: u64| number.saturating_add_signed(by);
    let kind = record.kinds.get_mut(field as usize % 2);
    match (field / 2, kind) {
        (0, _) => record.meeting = changed(record.meeting),
        (1, _) => record.confirmed = changed(record.confirmed),
        (2, Some(kind)) => kind.leased = changed(kind.leased).min(kind.reserved),
        (3, Some(kind)) => kind.reserved = changed(kind.reserved).max(kind.leased),
        (4, Some(kind)) => kind.published = changed(kind.published),
        (_, Some(kind)) if kind.pending.is_empty() && kind.reserved > 0 => {
            let (first, count) = (kind.reserved.saturating_sub(by.unsigned_abs()), 1);
            kind.withdrawn = vec![Span { first, count }];
            kind.reserved = kind.reserved.max(first + count);
        }
        (_, Some(kind)) => kind.pending.clear(),
        (_, None) => {}
    }
}
