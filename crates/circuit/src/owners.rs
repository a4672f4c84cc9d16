//! The owners of a bit that is shared by exclusive or.

use crate::Role;

/// The parties whose shares of a bit may differ from 0. A public bit, whose value both parties
/// hold, has no owner. A party owns its own bit, and both parties own a shared bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owners(u8);

impl Owners {
    /// The owners of a public bit: none.
    pub const PUBLIC: Self = Self(0);
    /// The owners of a shared bit: both parties.
    pub const BOTH: Self = Self(3);

    /// Returns `role` as the only owner.
    pub const fn of(role: Role) -> Self {
        Self(1 << role as u8)
    }

    /// Returns the owners in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `role` is an owner.
    pub const fn includes(self, role: Role) -> bool {
        self.0 >> role as u8 & 1 == 1
    }

    /// Whether both parties know the bit.
    pub const fn is_public(self) -> bool {
        self.0 == 0
    }

    /// Whether both parties own the bit.
    pub const fn is_shared(self) -> bool {
        self.0 == 3
    }

    /// Whether a negation or an added public bit changes the share of `role`. It changes the
    /// evaluator's share if the evaluator is the only owner, both shares if there is no owner, and
    /// the garbler's share otherwise.
    pub const fn adds_public(self, role: Role) -> bool {
        let only_evaluator = self.0 == Self::of(Role::Evaluator).0;
        self.is_public() || matches!(role, Role::Evaluator) == only_evaluator
    }

    /// Whether an AND of bits with these owners needs crosses: neither bit is public, and each
    /// party owns at least one of them.
    pub const fn need_crosses(self, other: Self) -> bool {
        !self.is_public() && !other.is_public() && self.union(other).is_shared()
    }
}

#[cfg(test)]
mod tests {
    use super::Owners;
    use crate::Role::{Evaluator, Garbler};

    #[test]
    fn one_party_adds_what_is_public_except_to_a_public_bit() {
        let adding = |owners: Owners| [Garbler, Evaluator].map(|role| owners.adds_public(role));
        assert_eq!(adding(Owners::PUBLIC), [true, true]);
        assert_eq!(adding(Owners::of(Garbler)), [true, false]);
        assert_eq!(adding(Owners::of(Evaluator)), [false, true]);
        assert_eq!(adding(Owners::BOTH), [true, false]);
    }

    #[test]
    fn only_what_mixes_two_parties_needs_crosses() {
        let [a, b] = [Owners::of(Garbler), Owners::of(Evaluator)];
        for (x, y, crosses) in [
            (Owners::PUBLIC, Owners::BOTH, false),
            (a, a, false),
            (a, b, true),
            (a, Owners::BOTH, true),
            (Owners::BOTH, Owners::BOTH, true),
        ] {
            assert_eq!(x.need_crosses(y), crosses);
            assert_eq!(y.need_crosses(x), crosses);
        }
    }
}
