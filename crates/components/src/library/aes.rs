//! AES-128 (FIPS 197): encryption of one block, including the key expansion.
//!
//! The S-box is the circuit of 113 gates, 32 of them AND, of Boyar, Matthews and Peralta, "Logic
//! minimization techniques with applications to cryptology", J. Cryptology 26 (2013): an input
//! basis change, an inversion in GF(2^8) over GF(2^4), and an output basis change with the
//! affine map. Names are the paper's. (The depth-16 circuit of Boyar and Peralta needs 34 AND
//! gates, so this one is used.)
//!
//! Cost: 200 S-boxes, 160 of the rounds and 40 of the key expansion, 6400 AND gates.

use tacit_circuit::Type;
use tacit_circuit::builder::{Array, Bit, Builder, Bytes, UInt};

const ROUNDS: usize = 10;

/// Encrypts `block` under `key` with AES-128. Both are 16 bytes, in the byte order of FIPS 197.
fn aes_128<'b>(key: &Bytes<'b>, block: &Bytes<'b>) -> Bytes<'b> {
    assert_eq!((key.len(), block.len()), (16, 16), "bytes of key and block");
    let builder = key.bus().builder();
    let mut round_key: Vec<UInt<'b>> = key.bytes().collect();
    let mut state: Vec<UInt<'b>> = (block ^ key).bytes().collect();
    let mut round_constant = 1_u8;
    for round in 1..=ROUNDS {
        // Make each round key when its round needs it, so that gates are close to their readers.
        round_key = next_round_key(&round_key, round_constant);
        round_constant = double_constant(round_constant);
        state = shift_rows(&state.iter().map(s_box).collect::<Vec<_>>());
        if round < ROUNDS {
            state = state.chunks(4).flat_map(mix_column).collect();
        }
        state = state
            .iter()
            .zip(&round_key)
            .map(|(byte, key)| byte ^ key)
            .collect();
    }
    Bytes::from_bytes(builder, &state)
}

/// Encrypts each block under the key of the same index.
fn aes_128_copies<'b>(keys: &Array<Bytes<'b>>, blocks: &Array<Bytes<'b>>) -> Array<Bytes<'b>> {
    assert_eq!(keys.len(), blocks.len(), "keys for as many blocks");
    Array::new(
        keys.iter()
            .zip(blocks)
            .map(|(key, block)| aes_128(key, block))
            .collect(),
    )
}

/// Returns the next round key (FIPS 197, section 5.2). Bytes are column by column, as in the state.
fn next_round_key<'b>(key: &[UInt<'b>], round_constant: u8) -> Vec<UInt<'b>> {
    let builder = key[0].bus().builder();
    let constant = UInt::constant(builder, 8, round_constant.into());
    let mut next: Vec<UInt<'b>> = (0..4)
        .map(|row| &key[row] ^ s_box(&key[12 + (row + 1) % 4]))
        .collect();
    next[0] = &next[0] ^ &constant;
    for index in 4..16 {
        next.push(&key[index] ^ &next[index - 4]);
    }
    next
}

/// Rotates row `row` of the state by `row` columns to the left (FIPS 197, section 5.1.2).
pub(super) fn shift_rows<'b>(state: &[UInt<'b>]) -> Vec<UInt<'b>> {
    (0..16)
        .map(|index| state[(index + 4 * (index % 4)) % 16].clone())
        .collect()
}

/// Applies the S-box. U0 and S0 of the paper are the most significant bits.
pub(super) fn s_box<'b>(byte: &UInt<'b>) -> UInt<'b> {
    let builder = byte.bus().builder();
    let u: [Bit<'b>; 8] = core::array::from_fn(|index| byte.bus().bit(7 - index));
    let y = input_basis(u);
    let z = inversion(&y, u[7]);
    let s = output_basis(&z);
    UInt::from_bits(builder, s.into_iter().rev())
}

/// Computes the linear layer at the input: y_1 to y_21, each at its own index. y_0 is unused.
fn input_basis<'b>(u: [Bit<'b>; 8]) -> [Bit<'b>; 22] {
    let y14 = u[3] ^ u[5];
    let y13 = u[0] ^ u[6];
    let y9 = u[0] ^ u[3];
    let y8 = u[0] ^ u[5];
    let t0 = u[1] ^ u[2];
    let y1 = t0 ^ u[7];
    let y4 = y1 ^ u[3];
    let y12 = y13 ^ y14;
    let y2 = y1 ^ u[0];
    let y5 = y1 ^ u[6];
    let y3 = y5 ^ y8;
    let t1 = u[4] ^ y12;
    let y15 = t1 ^ u[5];
    let y20 = t1 ^ u[1];
    let y6 = y15 ^ u[7];
    let y10 = y15 ^ t0;
    let y11 = y20 ^ y9;
    let y7 = u[7] ^ y11;
    let y17 = y10 ^ y11;
    let y19 = y10 ^ y8;
    let y16 = t0 ^ y11;
    let y21 = y13 ^ y16;
    let y18 = u[0] ^ y16;
    [
        u[0], y1, y2, y3, y4, y5, y6, y7, y8, y9, y10, y11, y12, y13, y14, y15, y16, y17, y18, y19,
        y20, y21,
    ]
}

/// Computes the non-linear part: z_0 to z_17 from y and U7.
fn inversion<'b>(y: &[Bit<'b>; 22], u7: Bit<'b>) -> [Bit<'b>; 18] {
    let t2 = y[12] & y[15];
    let t4 = (y[3] & y[6]) ^ t2;
    let t6 = (y[4] & u7) ^ t2;
    let t7 = y[13] & y[16];
    let t9 = (y[5] & y[1]) ^ t7;
    let t11 = (y[2] & y[7]) ^ t7;
    let t12 = y[9] & y[11];
    let t14 = (y[14] & y[17]) ^ t12;
    let t16 = (y[8] & y[10]) ^ t12;
    let t21 = t4 ^ t14 ^ y[20];
    let t22 = t6 ^ t16 ^ y[19];
    let t23 = t9 ^ t14 ^ y[21];
    let t24 = t11 ^ t16 ^ y[18];
    let t25 = t21 ^ t22;
    let t26 = t21 & t23;
    let t27 = t24 ^ t26;
    let t29 = (t25 & t27) ^ t22;
    let t33 = ((t22 ^ t26) & (t23 ^ t24)) ^ t24;
    let t36 = t24 & (t27 ^ t33);
    let t37 = t36 ^ t23 ^ t33;
    let t40 = t25 ^ (t29 & (t27 ^ t36));
    let t41 = t40 ^ t37;
    let t42 = t29 ^ t33;
    let t43 = t29 ^ t40;
    let t44 = t33 ^ t37;
    let t45 = t42 ^ t41;
    [
        t44 & y[15],
        t37 & y[6],
        t33 & u7,
        t43 & y[16],
        t40 & y[1],
        t29 & y[7],
        t42 & y[11],
        t45 & y[17],
        t41 & y[10],
        t44 & y[12],
        t37 & y[3],
        t33 & y[4],
        t43 & y[13],
        t40 & y[5],
        t29 & y[2],
        t42 & y[9],
        t45 & y[14],
        t41 & y[8],
    ]
}

/// Computes the linear layer at the output, with the affine map: S0 to S7.
fn output_basis<'b>(z: &[Bit<'b>; 18]) -> [Bit<'b>; 8] {
    let t46 = z[15] ^ z[16];
    let t48 = z[5] ^ z[13];
    let t49 = z[9] ^ z[10];
    let t53 = z[0] ^ z[3];
    let t57 = z[2] ^ z[12] ^ t53;
    let t58 = z[4] ^ t46;
    let t59 = z[6] ^ z[7] ^ z[3];
    let t62 = z[7] ^ z[8] ^ t58;
    let t63 = t49 ^ t58;
    let t64 = z[4] ^ t59;
    let t65 = z[14] ^ t57 ^ t62;
    let t66 = z[1] ^ t63;
    let t67 = t64 ^ t65;
    let s3 = t53 ^ t66;
    [
        t59 ^ t63,
        !(t64 ^ s3),
        !(z[16] ^ z[17] ^ t67),
        s3,
        z[2] ^ z[5] ^ t66,
        z[10] ^ z[11] ^ t65,
        !(z[12] ^ t48 ^ t62),
        !(t48 ^ t46 ^ t57),
    ]
}

/// Multiplies a column by the matrix of MixColumns (FIPS 197, section 5.1.3): byte i becomes 2(a_i
/// ⊕ a_{i+1}) ⊕ a_{i+1} ⊕ (a_{i+2} ⊕ a_{i+3}). The four sums of neighbours are shared.
pub(super) fn mix_column<'b>(column: &[UInt<'b>]) -> Vec<UInt<'b>> {
    let sums: Vec<UInt<'b>> = (0..4)
        .map(|row| &column[row] ^ &column[(row + 1) % 4])
        .collect();
    let byte = |row: usize| double(&sums[row]) ^ (&column[(row + 1) % 4] ^ &sums[(row + 2) % 4]);
    (0..4).map(byte).collect()
}

/// Doubles a constant in the field of AES.
pub(super) fn double_constant(byte: u8) -> u8 {
    byte << 1 ^ if byte >> 7 == 1 { 0x1b } else { 0 }
}

/// Doubles a byte in the field of AES.
fn double<'b>(byte: &UInt<'b>) -> UInt<'b> {
    let top = byte.bus().bit(7);
    let bits = byte.rotate_left(1);
    let bits = bits.bus().bits().enumerate();
    let reduced = bits.map(|(index, bit)| {
        if matches!(index, 1 | 3 | 4) {
            bit ^ top
        } else {
            bit
        }
    });
    UInt::from_bits(byte.bus().builder(), reduced)
}

pub(super) fn circuit(builder: &Builder) {
    let (key, block) = (builder.bytes("key", 16), builder.bytes("block", 16));
    builder.output("ciphertext", &aes_128(&key, &block));
}

pub(super) fn circuit_of_copies(builder: &Builder, copies: usize) {
    let ty = Type::bytes(16).array(copies);
    let keys = builder.input("keys", ty.clone());
    let blocks = builder.input("blocks", ty);
    builder.output("ciphertexts", &aes_128_copies(&keys, &blocks));
}
