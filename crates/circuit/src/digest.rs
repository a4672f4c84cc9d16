//! Digests: the identities of circuits, components and functions.
//!
//! A circuit's digest is SHA-256 over these bytes, integers little-endian:
//!
//! | bytes | field |
//! |---|---|
//! | 16 | the tag `tacit circuit v1` |
//! | 4 | number of input ports |
//! | for each | name: 1 byte of length and the name; type: 1 byte of length and the type's text |
//! | 4 | number of output ports |
//! | for each | name and type, as above |
//! | 4 | number of gates |
//! | 8 each | 4: first input + 2^30 · kind (XOR 0, AND 1, INV 2); 4: second input, 0 for INV |
//! | 4 | number of output bits |
//! | 4 each | the wire of the output bit |
//!
//! Every field has a fixed size or follows its length, so that no two circuits have the same bytes.
//! Gates are hashed as given. A circuit that computes the same function by other gates, or by the
//! same gates in another order, has another digest.

use core::fmt;
use core::str::FromStr;

use sha2::{Digest as _, Sha256};

use crate::circuit::PackedGate;
use crate::{Circuit, Port};

/// A SHA-256 digest under a domain tag. It is shown as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// The error of a text that is not 64 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 hex digits")]
pub struct NotADigest;

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(NotADigest);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = core::str::from_utf8(pair).map_err(|_| NotADigest)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| NotADigest)?;
        }
        Ok(Self(bytes))
    }
}

const CIRCUIT_TAG: &[u8; 16] = b"tacit circuit v1";

impl Circuit {
    /// Returns the circuit's digest. Each call computes it anew, which takes about a second for 100
    /// million gates.
    pub fn digest(&self) -> Digest {
        let mut hash = Sha256::new();
        hash.update(CIRCUIT_TAG);
        hash_ports(&mut hash, self.inputs());
        hash_ports(&mut hash, self.outputs());
        hash_all(&mut hash, self.packed_gates().map(PackedGate::to_le_bytes));
        let wires = self.output_wires().iter();
        hash_all(&mut hash, wires.map(|wire| wire.to_le_bytes()));
        Digest(hash.finalize().into())
    }
}

/// Hashes a count below 2^32 and then the items, four kibibytes at a time.
fn hash_all<const N: usize>(hash: &mut Sha256, mut items: impl ExactSizeIterator<Item = [u8; N]>) {
    hash.update((items.len() as u32).to_le_bytes());
    let mut buffer = [[0; N]; 512];
    while items.len() > 0 {
        let mut filled = 0;
        for (place, item) in buffer.iter_mut().zip(&mut items) {
            *place = item;
            filled += 1;
        }
        hash.update(buffer[..filled].as_flattened());
    }
}

fn hash_ports(hash: &mut Sha256, ports: &[Port]) {
    hash.update((ports.len() as u32).to_le_bytes());
    for port in ports {
        // A name has at most 64 bytes. A type's text has at most 22 bytes for its kind and 12 for
        // each of its at most 8 dimensions.
        for text in [port.name.as_str(), &port.ty.to_string()] {
            hash.update([text.len() as u8]);
            hash.update(text.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gate, Type};

    fn half_adder(port: &str, ty: Type, gates: [Gate; 2], outputs: [u32; 2]) -> Circuit {
        let inputs = vec![Port::new(port, ty)];
        let sum = vec![Port::new("sum", Type::unsigned(2))];
        Circuit::new(inputs, sum, gates, outputs.to_vec()).unwrap()
    }

    #[test]
    fn the_bytes_hashed_are_the_documented_ones() {
        let gates = [Gate::Xor(0, 1), Gate::And(0, 1)];
        let circuit = half_adder("ab", Type::bits(2), gates, [2, 3]);
        let mut bytes = b"tacit circuit v1".to_vec();
        bytes.extend(b"\x01\0\0\0\x02ab\x07bits[2]\x01\0\0\0\x03sum\x02u2\x02\0\0\0");
        bytes.extend([0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x40, 1, 0, 0, 0]);
        bytes.extend([2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(circuit.digest().0, <[u8; 32]>::from(Sha256::digest(&bytes)));
    }

    #[test]
    fn whatever_differs_shows() {
        let gates = [Gate::Xor(0, 1), Gate::And(0, 1)];
        let circuits = [
            half_adder("a", Type::bits(2), gates, [2, 3]),
            half_adder("b", Type::bits(2), gates, [2, 3]),
            half_adder("a", Type::unsigned(2), gates, [2, 3]),
            half_adder("a", Type::bits(2), gates, [3, 2]),
            half_adder(
                "a",
                Type::bits(2),
                [Gate::Xor(1, 0), Gate::And(0, 1)],
                [2, 3],
            ),
            half_adder(
                "a",
                Type::bits(2),
                [Gate::And(0, 1), Gate::And(0, 1)],
                [2, 3],
            ),
            half_adder("a", Type::bits(2), [Gate::Inv(0), Gate::And(0, 1)], [2, 3]),
            half_adder(
                "a",
                Type::bits(2),
                [Gate::Xor(0, 0), Gate::And(0, 1)],
                [2, 3],
            ),
        ];
        let digests: std::collections::HashSet<Digest> =
            circuits.iter().map(Circuit::digest).collect();
        assert_eq!(digests.len(), circuits.len());
    }

    #[test]
    fn digests_are_read_as_they_are_shown() {
        let digest = Digest(core::array::from_fn(|i| i as u8 * 8));
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(digest.to_string()[..8], *"00081018");
        for text in ["", &"0".repeat(63), &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(text.parse::<Digest>(), Err(NotADigest), "{text}");
        }
    }
}
