//! The order in which a circuit file numbers the bits of a value.
//!
//! In Tacit, wire 0 of a number is its least significant bit. A byte string keeps its order, and
//! each byte starts at its least significant bit. Public files number their bits in other ways, and
//! a file does not state its way. Known answers show:
//!
//! | file | byte string | number |
//! |---|---|---|
//! | Bristol Fashion | [`BitOrder::ReversedBytes`] | [`BitOrder::AsGiven`] |
//! | old Bristol format | [`BitOrder::ReversedBits`] | [`BitOrder::AsGiven`] |
//!
//! Bristol Fashion starts every value at its least significant bit and treats a byte string as a
//! big-endian integer, so that its bytes come last to first. The ciphers and hashes of the old
//! format start at the most significant bit of the first byte.
//!
//! Each of the four orders is its own inverse, so that one function serves import and export.

use core::fmt;
use core::str::FromStr;

/// The numbering of the bits of a value in a file, relative to Tacit's numbering.
///
/// The default is right for byte strings in Bristol Fashion: with it, `aes_128.txt` takes the key
/// and then the block, and returns the ciphertext, as FIPS-197 writes them. For files whose values
/// are numbers (`adder64.txt`), use [`BitOrder::AsGiven`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BitOrder {
    /// Tacit's order. For numbers, the least significant bit comes first.
    AsGiven,
    /// The bytes of a value in reverse, and the bits of each byte as given. A value whose width is
    /// not a multiple of 8 is not a byte string and is taken as given.
    #[default]
    ReversedBytes,
    /// The bits of each byte in reverse, and the bytes as given. A value whose width is not a
    /// multiple of 8 is taken as given.
    ReversedBits,
    /// All bits of a value in reverse: a number with its most significant bit first.
    Reversed,
}

/// A text that names no [`BitOrder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a bit order is as-given, reversed-bytes, reversed-bits or reversed")]
pub struct NotABitOrder;

impl BitOrder {
    /// Returns the place in the file of bit `index` of a value of `width` bits, and vice versa.
    pub fn place(self, index: u32, width: u32) -> u32 {
        match self {
            Self::ReversedBytes if width.is_multiple_of(8) => {
                (width - 8 - (index & !7)) | index & 7
            }
            Self::ReversedBits if width.is_multiple_of(8) => index ^ 7,
            Self::Reversed => width - 1 - index,
            _ => index,
        }
    }
}

impl fmt::Display for BitOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AsGiven => "as-given",
            Self::ReversedBytes => "reversed-bytes",
            Self::ReversedBits => "reversed-bits",
            Self::Reversed => "reversed",
        })
    }
}

impl FromStr for BitOrder {
    type Err = NotABitOrder;

    fn from_str(text: &str) -> Result<Self, NotABitOrder> {
        let orders = [
            Self::AsGiven,
            Self::ReversedBytes,
            Self::ReversedBits,
            Self::Reversed,
        ];
        orders
            .into_iter()
            .find(|order| order.to_string() == text)
            .ok_or(NotABitOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [BitOrder; 4] = [
        BitOrder::AsGiven,
        BitOrder::ReversedBytes,
        BitOrder::ReversedBits,
        BitOrder::Reversed,
    ];

    #[test]
    fn places_of_two_bytes_and_of_no_bytes() {
        let places = |order: BitOrder, width| (0..width).map(|i| order.place(i, width)).collect();
        let known: [Vec<u32>; 4] = ALL.map(|order| places(order, 16));
        assert_eq!(known[0], (0..16).collect::<Vec<_>>());
        assert_eq!(known[1], (8..16).chain(0..8).collect::<Vec<_>>());
        assert_eq!(
            known[2],
            (0..8).rev().chain((8..16).rev()).collect::<Vec<_>>()
        );
        assert_eq!(known[3], (0..16).rev().collect::<Vec<_>>());
        let odd: [Vec<u32>; 4] = ALL.map(|order| places(order, 3));
        assert_eq!(
            odd,
            [vec![0, 1, 2], vec![0, 1, 2], vec![0, 1, 2], vec![2, 1, 0]]
        );
    }

    #[test]
    fn every_order_is_its_own_inverse_and_has_one_name() {
        for order in ALL {
            for width in [1, 7, 8, 24, 33, 64] {
                assert!((0..width).all(|i| order.place(order.place(i, width), width) == i));
            }
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        assert_eq!("".parse::<BitOrder>(), Err(NotABitOrder));
    }
}
