//! Tweaks: 16 bytes with fixed fields.

/// The use of a hash: byte 0 of its tweak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A row or half of an AND gate.
    And = 1,
    /// A row of a XOR gate.
    Xor = 2,
    /// A decoding value.
    Out = 4,
    /// A cipher key for an epoch of gates.
    KeyEpoch = 7,
}

/// Returns the tweak with these fields: use in byte 0, `a` and `b` in bytes 1 and 2, the instance
/// in bytes 4 to 7, the number in bytes 8 to 15.
#[must_use]
pub fn tweak(usage: Use, instance: u32, number: u64, a: u8, b: u8) -> u128 {
    let mut bytes = [0; 16];
    bytes[0] = usage as u8;
    bytes[1] = a;
    bytes[2] = b;
    bytes[4..8].copy_from_slice(&instance.to_le_bytes());
    bytes[8..].copy_from_slice(&number.to_le_bytes());
    u128::from_le_bytes(bytes)
}
