use super::*;

/// Returns the 16 bytes of 32 hex digits in byte order.
fn block(hex: &str) -> Block {
    let value = u128::from_str_radix(hex, 16).expect("32 hex digits");
    Block::from_bytes(value.to_be_bytes())
}

/// Returns blocks without a pattern, from a 64-bit linear congruential generator (Knuth's MMIX).
fn sample(count: usize, seed: u64) -> Vec<Block> {
    let mut state = seed;
    let mut word = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u128::from(state ^ state >> 29)
    };
    (0..count)
        .map(|_| Block::from_u128(word() | word() << 64))
        .collect()
}

/// Lengths on both sides of the multiples of a vector and of a step, on every backend.
const LENGTHS: [usize; 22] = [
    0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 19, 31, 32, 33, 63, 64, 65, 100, 131,
];

#[test]
fn fips_197_appendix_b_and_c1() {
    for cpu in Cpu::available() {
        let aes = Aes128::new(cpu, block("2b7e151628aed2a6abf7158809cf4f3c"));
        let cipher = aes.encrypt(block("3243f6a8885a308d313198a2e0370734"));
        assert_eq!(
            cipher.to_bytes(),
            block("3925841d02dc09fbdc118597196a0b32").to_bytes()
        );
        let aes = Aes128::new(cpu, block("000102030405060708090a0b0c0d0e0f"));
        let cipher = aes.encrypt(block("00112233445566778899aabbccddeeff"));
        assert_eq!(
            cipher.to_bytes(),
            block("69c4e0d86a7b0430d8cdb78070b4c55a").to_bytes()
        );
    }
}

#[test]
fn fips_197_appendix_a1_last_round_key() {
    for cpu in Cpu::available() {
        let aes = Aes128::new(cpu, block("2b7e151628aed2a6abf7158809cf4f3c"));
        let expected = block("d014f9a8c9ee2589e13f0cc8b6630ca6");
        assert_eq!(
            aes.round_keys[10].to_bytes(),
            expected.to_bytes(),
            "{cpu:?}"
        );
    }
}

#[test]
fn sp_800_38a_ecb_aes128() {
    let plain = [
        "6bc1bee22e409f96e93d7e117393172a",
        "ae2d8a571e03ac9c9eb76fac45af8e51",
        "30c81c46a35ce411e5fbc1191a0a52ef",
        "f69f2445df4f9b17ad2b417be66c3710",
    ];
    let cipher = [
        "3ad77bb40d7a3660a89ecaf32466ef97",
        "f5d3d58503b9699de785895a96fdbaaf",
        "43b1cd7f598ece23881b00e3ed030688",
        "7b0c785e27e8ad3f8223207104725dd4",
    ];
    let key = block("2b7e151628aed2a6abf7158809cf4f3c");
    for cpu in Cpu::available() {
        let mut blocks = plain.map(block);
        Aes128::new(cpu, key).encrypt_blocks(&mut blocks);
        assert_eq!(blocks, cipher.map(block), "{cpu:?}");
        let mut blocks = plain.map(block);
        encrypt_each(cpu, &[key; 4], &mut blocks);
        assert_eq!(blocks, cipher.map(block), "{cpu:?}, one block a key");
        let mut blocks = plain.map(block);
        encrypt_each_twice(cpu, &[key; 2], &mut blocks);
        assert_eq!(blocks, cipher.map(block), "{cpu:?}, two blocks a key");
    }
}

#[test]
fn every_backend_agrees_with_portable() {
    for length in LENGTHS {
        let (keys, plain) = (sample(length, 1), sample(2 * length, 2));
        let run = |cpu| {
            let mut one_key = plain.clone();
            Aes128::new(cpu, Block::from_u128(7)).encrypt_blocks(&mut one_key);
            let mut one_each = plain[..length].to_vec();
            encrypt_each(cpu, &keys, &mut one_each);
            let mut two_each = plain.clone();
            encrypt_each_twice(cpu, &keys, &mut two_each);
            (one_key, one_each, two_each)
        };
        let expected = run(Cpu::portable());
        for cpu in Cpu::available() {
            assert_eq!(run(cpu), expected, "{length} blocks, {cpu:?}");
        }
    }
}

#[test]
fn many_keys_agree_with_one_key_at_a_time() {
    let (keys, plain) = (sample(11, 3), sample(22, 4));
    for cpu in Cpu::available() {
        let mut blocks = plain.clone();
        encrypt_each_twice(cpu, &keys, &mut blocks);
        for (i, key) in keys.iter().enumerate() {
            let aes = Aes128::new(cpu, *key);
            assert_eq!(blocks[2 * i], aes.encrypt(plain[2 * i]));
            assert_eq!(blocks[2 * i + 1], aes.encrypt(plain[2 * i + 1]));
        }
    }
}

#[test]
fn debug_prints_no_key() {
    let aes = Aes128::new(Cpu::portable(), Block::from_u128(0x1234));
    assert_eq!(format!("{aes:?}"), "Aes128(Cpu(portable))");
}
