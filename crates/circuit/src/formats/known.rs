//! Known answers for the public circuit files, by file name.
//!
//! Ciphers and hashes come from their standards (FIPS-197, NIST SP 800-38A, FIPS 46-3,
//! FIPS 180-4, RFC 1321, FIPS 202), arithmetic from the machine's. Which order each file has was
//! found by trying: see [`BitOrder`]. In the old files a cipher takes the block first and then
//! the key, in Bristol Fashion the key first; `mult2_64.txt` gives the high half first.

use crate::{CircuitError, Kind, Type, Value};

use super::BitOrder;

/// What a file must compute.
pub(super) struct Known {
    /// The order in which the file numbers the bits of its values.
    pub(super) order: BitOrder,
    /// Inputs and outputs, value by value.
    pub(super) cases: Vec<Case>,
}

/// One known answer.
pub(super) struct Case {
    pub(super) inputs: Vec<Value>,
    pub(super) outputs: Vec<Value>,
}

/// The known answers for a file of this name, given without its ending and in lower case.
pub(super) fn known(name: &str) -> Option<Known> {
    ciphers(name)
        .or_else(|| hashes(name))
        .or_else(|| arithmetic(name))
}

/// Key, block and ciphertext: FIPS-197, appendices C.1 to C.3, and SP 800-38A, appendix F.1.
const AES_128: [[&str; 3]; 2] = [
    [
        "000102030405060708090a0b0c0d0e0f",
        "00112233445566778899aabbccddeeff",
        "69c4e0d86a7b0430d8cdb78070b4c55a",
    ],
    [
        "2b7e151628aed2a6abf7158809cf4f3c",
        "6bc1bee22e409f96e93d7e117393172a",
        "3ad77bb40d7a3660a89ecaf32466ef97",
    ],
];

const AES_192: [[&str; 3]; 2] = [
    [
        "000102030405060708090a0b0c0d0e0f1011121314151617",
        "00112233445566778899aabbccddeeff",
        "dda97ca4864cdfe06eaf70a0ec0d7191",
    ],
    [
        "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
        "6bc1bee22e409f96e93d7e117393172a",
        "bd334f1d6e45f25ff712a214571fa5cc",
    ],
];

const AES_256: [[&str; 3]; 2] = [
    [
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "00112233445566778899aabbccddeeff",
        "8ea2b7ca516745bfeafc49904b496089",
    ],
    [
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
        "6bc1bee22e409f96e93d7e117393172a",
        "f3eed1bdb5d2a03c064b5a7e3db181f8",
    ],
];

/// The key schedule of the first AES-128 key, whose last round key is FIPS-197's in C.1.
const AES_128_SCHEDULE: &str = concat!(
    "000102030405060708090a0b0c0d0e0fd6aa74fdd2af72fadaa678f1d6ab76feb692cf0b643dbdf1",
    "be9bc5006830b3feb6ff744ed2c2c9bf6c590cbf0469bf4147f7f7bc95353e03f96c32bcfd058dfd",
    "3caaa3e8a99f9deb50f3af57adf622aa5e390f7df7a69296a7553dc10aa31f6b14f9701ae35fe28c",
    "440adf4d4ea9c02647438735a41c65b9e016baf4aebf7ad2549932d1f08557681093ed9cbe2c974e",
    "13111d7fe3944a17f307a78b4d2b30c5",
);

/// Key, block and ciphertext; the first is the example that textbooks carry through.
const DES: [[&str; 3]; 2] = [
    ["133457799bbcdff1", "0123456789abcdef", "85e813540f0ab405"],
    ["0e329232ea6d0d73", "8787878787878787", "0000000000000000"],
];

fn ciphers(name: &str) -> Option<Known> {
    let key_first = |cases: &[[&str; 3]]| {
        let case = |[key, block, ciphertext]: &[&str; 3]| bytes(&[key, block], ciphertext);
        Known {
            order: BitOrder::ReversedBytes,
            cases: cases.iter().map(case).collect(),
        }
    };
    let block_first = |cases: &[[&str; 3]]| {
        let case = |[key, block, ciphertext]: &[&str; 3]| bytes(&[block, key], ciphertext);
        Known {
            order: BitOrder::ReversedBits,
            cases: cases.iter().map(case).collect(),
        }
    };
    Some(match name {
        "aes_128" => key_first(&AES_128),
        "aes_192" => key_first(&AES_192),
        "aes_256" => key_first(&AES_256),
        "aes-non-expanded" => block_first(&AES_128),
        "aes-expanded" => {
            let [_, block, ciphertext] = AES_128[0];
            block_first(&[[AES_128_SCHEDULE, block, ciphertext]])
        }
        "des-non-expanded" => block_first(&DES),
        _ => return None,
    })
}

const SHA_256_START: &str = "6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19";

const SHA_512_START: &str = concat!(
    "6a09e667f3bcc908bb67ae8584caa73b3c6ef372fe94f82ba54ff53a5f1d36f1",
    "510e527fade682d19b05688c2b3e6c1f1f83d9abfb41bd6b5be0cd19137e2179",
);

/// The digests of "abc" and of the empty string.
const SHA_256: [&str; 2] = [
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
];

const SHA_512: [&str; 2] = [
    concat!(
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a",
        "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
    ),
    concat!(
        "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce",
        "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
    ),
];

const SHA_1: [&str; 2] = [
    "a9993e364706816aba3e25717850c26c9cd0d89d",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709",
];

const MD5: [&str; 2] = [
    "900150983cd24fb0d6963f7d28e17f72",
    "d41d8cd98f00b204e9800998ecf8427e",
];

/// Keccak-f[1600] of the state of zeros: lanes in order, each little-endian.
const KECCAK_F_OF_ZEROS: &str = concat!(
    "e7dde140798f25f18a47c033f9ccd584eea95aa61e2698d54d49806f304715bd57d05362054e288b",
    "d46f8e7f2da497ffc44746a4a0e5fe90762e19d60cda5b8c9c05191bf7a630ad64fc8fd0b75a9330",
    "35d617233fa95aeb0321710d26e6a6a95f55cfdb167ca58126c84703cd31b8439f56a5111a2ff201",
    "61aed9215a63e505f270c98cf2febe641166c47b95703661cb0ed04f555a7cb8c832cf1c8ae83e8c",
    "14263aae22790c94e409c5a224f94118c26504e72635f5163ba1307fe944f67549a2ec5c7bfff1ea",
);

fn hashes(name: &str) -> Option<Known> {
    // A whole message is one block: compression with the standard's start value.
    let hash = |order, block_bytes, start: Option<&str>, digests: &[&str; 2]| {
        let case = |(message, digest): (&str, &&str)| {
            let block = padded(message, block_bytes, name == "md5");
            let inputs: Vec<&str> = core::iter::once(block.as_str()).chain(start).collect();
            bytes(&inputs, digest)
        };
        Known {
            order,
            cases: ["abc", ""].into_iter().zip(digests).map(case).collect(),
        }
    };
    Some(match name {
        "sha256" => hash(BitOrder::ReversedBytes, 64, Some(SHA_256_START), &SHA_256),
        "sha512" => hash(BitOrder::ReversedBytes, 128, Some(SHA_512_START), &SHA_512),
        "sha-256" => hash(BitOrder::ReversedBits, 64, None, &SHA_256),
        "sha-1" => hash(BitOrder::ReversedBits, 64, None, &SHA_1),
        "md5" => hash(BitOrder::ReversedBits, 64, None, &MD5),
        "keccak_f" => {
            let case = bytes(&[&"00".repeat(200)], KECCAK_F_OF_ZEROS);
            Known {
                order: BitOrder::ReversedBytes,
                cases: vec![case],
            }
        }
        _ => return None,
    })
}

/// A short message as the one padded block of SHA-1, SHA-2 or MD5, in hex.
fn padded(message: &str, block_bytes: usize, little_endian: bool) -> String {
    let mut block = message.as_bytes().to_vec();
    block.push(0x80);
    block.resize(block_bytes - 8, 0);
    let bits = 8 * message.len() as u64;
    block.extend(if little_endian {
        bits.to_le_bytes()
    } else {
        bits.to_be_bytes()
    });
    block.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Operands with carries, borrows, signs and equal values.
const PAIRS: [[u64; 2]; 6] = [
    [0, 1],
    [1, u64::MAX],
    [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210],
    [0x8123_4567_89ab_cdef, 0x1122_3344_5566_7788],
    [0xffff_ffff_ffff_fff9, 3],
    [0x7fff_ffff_8000_0000, 0x7fff_ffff_8000_0000],
];

fn arithmetic(name: &str) -> Option<Known> {
    let case = |inputs: &[(u64, usize)], outputs: &[(u128, usize)]| Case {
        inputs: inputs
            .iter()
            .map(|&(n, bits)| number(u128::from(n), bits))
            .collect(),
        outputs: outputs.iter().map(|&(n, bits)| number(n, bits)).collect(),
    };
    let low = |n: u64| u128::from(n);
    let of_64 = |[x, y]: [u64; 2]| -> Option<Case> {
        let pair = [(x, 64), (y, 64)];
        let (product, quotient) = (low(x) * low(y), (x as i64).checked_div(y as i64));
        Some(match name {
            "adder64" => case(&pair, &[(low(x.wrapping_add(y)), 64)]),
            "sub64" => case(&pair, &[(low(x.wrapping_sub(y)), 64)]),
            "mult64" => case(&pair, &[(low(product as u64), 64)]),
            "mult2_64" => case(&pair, &[(product >> 64, 64), (low(product as u64), 64)]),
            "divide64" => case(&pair, &[(low(quotient? as u64), 64)]),
            "udivide64" => case(&pair, &[(low(x / y), 64)]),
            "neg64" => case(&[(x, 64)], &[(low(x.wrapping_neg()), 64)]),
            "zero_equal" => case(&[(x, 64)], &[(u128::from(x == 0), 1)]),
            "adder_64bit" => case(&pair, &[(low(x) + low(y), 65)]),
            _ => return None,
        })
    };
    let of_32 = |[x, y]: [u64; 2]| -> Option<Case> {
        let (x, y) = (x as u32, y as u32);
        let pair = [(u64::from(x), 32), (u64::from(y), 32)];
        let (signed_x, signed_y) = (x as i32, y as i32);
        let (wide_x, wide_y) = (u128::from(x), u128::from(y));
        Some(match name {
            "adder_32bit" => case(&pair, &[(wide_x + wide_y, 33)]),
            "mult_32x32" => case(&pair, &[(wide_x * wide_y, 64)]),
            "comparator_32bit_signed_lt" => case(&pair, &[(u128::from(signed_x < signed_y), 1)]),
            "comparator_32bit_signed_lteq" => case(&pair, &[(u128::from(signed_x <= signed_y), 1)]),
            "comparator_32bit_unsigned_lt" => case(&pair, &[(u128::from(x < y), 1)]),
            "comparator_32bit_unsigned_lteq" => case(&pair, &[(u128::from(x <= y), 1)]),
            _ => return None,
        })
    };
    let cases: Vec<Case> = PAIRS
        .into_iter()
        .filter_map(|pair| of_64(pair).or_else(|| of_32(pair)))
        .collect();
    (!cases.is_empty()).then_some(Known {
        order: BitOrder::AsGiven,
        cases,
    })
}

fn number(value: u128, bits: usize) -> Value {
    constant(Value::from(value).convert(&Type::unsigned(bits)))
}

/// Byte strings in hex.
fn bytes(inputs: &[&str], output: &str) -> Case {
    let value = |hex: &str| {
        let ty = Type::new(Kind::Bytes(hex.len() as u32 / 2));
        constant(ty.and_then(|ty| Value::parse(&ty, hex)))
    };
    Case {
        inputs: inputs.iter().map(|hex| value(hex)).collect(),
        outputs: vec![value(output)],
    }
}

/// The values of this module are constants, and its tests make each of them.
fn constant(value: Result<Value, CircuitError>) -> Value {
    value.unwrap_or_else(|error| panic!("a known answer is not well formed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_cases_that_are_well_formed() {
        let names = [
            ("aes_128", 2),
            ("aes_192", 2),
            ("aes_256", 2),
            ("aes-non-expanded", 2),
            ("aes-expanded", 1),
            ("des-non-expanded", 2),
            ("sha256", 2),
            ("sha512", 2),
            ("sha-256", 2),
            ("sha-1", 2),
            ("md5", 2),
            ("keccak_f", 1),
            ("adder64", 6),
            ("sub64", 6),
            ("mult64", 6),
            ("mult2_64", 6),
            ("divide64", 6),
            ("udivide64", 6),
            ("neg64", 6),
            ("zero_equal", 6),
            ("adder_32bit", 6),
            ("adder_64bit", 6),
            ("mult_32x32", 6),
            ("comparator_32bit_signed_lt", 6),
            ("comparator_32bit_signed_lteq", 6),
            ("comparator_32bit_unsigned_lt", 6),
            ("comparator_32bit_unsigned_lteq", 6),
        ];
        for (name, cases) in names {
            assert_eq!(
                known(name).map(|known| known.cases.len()),
                Some(cases),
                "{name}"
            );
        }
        assert!(known("fp-add").is_none());
    }

    #[test]
    fn a_padded_block_is_the_standards() {
        let block = padded("abc", 64, false);
        assert_eq!(block.len(), 128);
        assert!(
            block.starts_with("6162638000") && block.ends_with("000018"),
            "{block}"
        );
        assert!(padded("abc", 64, true).ends_with("1800000000000000"));
    }
}
