//! Tweaks: 16 bytes that no two uses of a hash share.

use crate::Block;

/// The use of a hash: the first byte of its tweak.
///
/// A value never gets a second meaning; new uses take new numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Use {
    /// A row or half of an AND gate.
    And = 1,
    /// A row of a XOR gate in a scheme without free XOR.
    Xor = 2,
    /// A link between two instances.
    Link = 3,
    /// A decoding value of an output wire.
    Out = 4,
    /// Recovery of the garbler's input.
    Recovery = 5,
    /// A label made from a correlated OT.
    CorrelatedOt = 6,
    /// The choice of a cipher key for an epoch of gates.
    KeyEpoch = 7,
    /// A label that both parties derive from a public seed.
    PublicLabel = 8,
    /// A leaky AND of authenticated garbling.
    LeakyAnd = 9,
    /// Masks of products over XOR shares, made from a correlated OT.
    Cross = 10,
}

/// A tweak with fixed fields, so that no two tweaks collide:
///
/// | byte | field |
/// |---|---|
/// | 0 | use |
/// | 1 | `a`: first small index (row, input value, half) |
/// | 2 | `b`: second small index |
/// | 3 | zero |
/// | 4..8 | instance, little-endian |
/// | 8..16 | number (gate, wire, OT), little-endian |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tweak {
    /// The use of the hash.
    pub usage: Use,
    /// The instance within the execution or lot that shares a start point.
    pub instance: u32,
    /// The gate's, wire's or OT's number within the instance.
    pub number: u64,
    /// The first small index.
    pub a: u8,
    /// The second small index.
    pub b: u8,
}

impl Tweak {
    /// Returns the tweak of the hash with this number, where there is one instance and one hash.
    #[inline(always)]
    pub const fn of(usage: Use, number: u64) -> Self {
        Self {
            usage,
            instance: 0,
            number,
            a: 0,
            b: 0,
        }
    }

    /// Returns the tweak's 16 bytes as a block. Injective.
    #[inline(always)]
    #[must_use]
    pub const fn to_block(self) -> Block {
        let low = self.usage as u64
            | (self.a as u64) << 8
            | (self.b as u64) << 16
            | (self.instance as u64) << 32;
        Block::from_u128(low as u128 | (self.number as u128) << 64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_has_its_own_bytes() {
        let tweak = Tweak {
            usage: Use::Out,
            instance: 0x0403_0201,
            number: 0x1817_1615_1413_1211,
            a: 9,
            b: 7,
        };
        let expected = [
            4, 9, 7, 0, 1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
        ];
        assert_eq!(tweak.to_block().to_bytes(), expected);
    }
}
