use super::*;
use crate::Aes128;

const START: Block = Block::from_u128(0x0123_4567_89ab_cdef_1122_3344_5566_7788);

fn tweak(number: u64) -> Tweak {
    Tweak {
        usage: Use::CorrelatedOt,
        instance: 7,
        number,
        a: 1,
        b: 0,
    }
}

/// Computes both constructions by their formulas, one block at a time.
fn by_definition(construction: Construction, number: u64, x: Block) -> Block {
    let aes = |key, x| Aes128::new(Cpu::portable(), key).encrypt(x);
    let i = tweak(number).to_block();
    match construction {
        Construction::TwoCall => {
            let epoch = Tweak {
                usage: Use::KeyEpoch,
                number: number / 1024,
                a: 0,
                ..tweak(0)
            };
            let pi = |x| aes(START ^ epoch.to_block(), x);
            pi(pi(x) ^ i) ^ pi(x)
        }
        Construction::Rekeyed => {
            let (high, low) = (x.to_u128() >> 64, x.to_u128() as u64 as u128);
            let sigma = Block::from_u128((high ^ low) << 64 | high);
            aes(START ^ i, sigma) ^ sigma
        }
    }
}

fn labels(count: u64) -> Vec<Block> {
    const ODD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    (1..=u128::from(count))
        .map(|i| Block::from_u128((i * i).wrapping_mul(ODD)))
        .collect()
}

#[test]
fn batches_agree_with_the_formulas_across_vectors_and_epochs() {
    for construction in [Construction::TwoCall, Construction::Rekeyed] {
        for (first, count) in [(0, 1), (1, 3), (1021, 2), (1020, 40), (1024, 17), (5, 0)] {
            let expected: Vec<Block> = (first..first + count)
                .zip(labels(count))
                .map(|(number, x)| by_definition(construction, number, x))
                .collect();
            for cpu in Cpu::available() {
                let mut blocks = labels(count);
                TweakableHash::on(cpu, construction, START).hash(tweak(first), &mut blocks);
                assert_eq!(blocks, expected, "{construction:?} on {cpu:?} from {first}");
            }
        }
    }
}

#[test]
fn both_hashes_agree_with_each() {
    let offset = Block::from_u128(0x0f0f_f0f0_1234 << 40 | 1);
    for construction in [Construction::TwoCall, Construction::Rekeyed] {
        for cpu in Cpu::available() {
            let hash = TweakableHash::on(cpu, construction, START);
            let (mut zeros, mut ones) = (labels(37), vec![Block::ZERO; 37]);
            hash.hash_both(tweak(1000), &offset, &mut zeros, &mut ones);
            for (i, x) in labels(37).into_iter().enumerate() {
                let tweak = tweak(1000 + i as u64);
                assert_eq!(zeros[i], hash.hash_one(tweak, x));
                assert_eq!(ones[i], hash.hash_one(tweak, x ^ offset));
            }
        }
    }
}

#[test]
fn three_hashes_agree_with_each() {
    let offset = Block::from_u128(0x0f0f_f0f0_1234 << 40 | 1);
    for construction in [Construction::TwoCall, Construction::Rekeyed] {
        for cpu in Cpu::available() {
            for count in [1, 16, 37] {
                let hash = TweakableHash::on(cpu, construction, START);
                let labels = labels(74);
                let [mut zeros, mut others] = [0, 37].map(|at| labels[at..at + count].to_vec());
                let [mut both, mut ones, mut both_ones] =
                    [zeros.clone(), others.clone(), others.clone()];
                let first = tweak(1000);
                hash.hash_both(first, &offset, &mut both, &mut both_ones);
                let mut alone = others.clone();
                hash.hash(first, &mut alone);
                let more = [&mut ones[..], &mut others];
                hash.hash_both_and(first, &offset, &mut zeros, more);
                assert_eq!([zeros, ones, others], [both, both_ones, alone], "{count}");
            }
        }
    }
}

#[test]
fn hashes_of_both_inputs_agree_with_each() {
    let offset = Block::from_u128(0x0f0f_f0f0_1234 << 40 | 1);
    for construction in [Construction::TwoCall, Construction::Rekeyed] {
        for cpu in Cpu::available() {
            let hash = TweakableHash::on(cpu, construction, START);
            let [mut a, mut b] = [labels(37), labels(74).split_off(37)];
            let inputs = [a.clone(), b.clone()];
            hash.hash_inputs(tweak(1000), [&mut a, &mut b]);
            let [mut a_0, mut b_0] = inputs.clone();
            let [mut a_1, mut b_1] = [(); 2].map(|()| vec![Block::ZERO; 37]);
            let both = [[&mut a_0[..], &mut a_1], [&mut b_0, &mut b_1]];
            hash.hash_both_inputs(tweak(1000), &offset, both);
            let all = [[a, a_0, a_1], [b, b_0, b_1]];
            for ((more, [one, zero, other]), inputs) in (0..).zip(all).zip(inputs) {
                for (i, x) in inputs.into_iter().enumerate() {
                    let tweak = tweak(1000 + i as u64);
                    let tweak = Tweak {
                        a: tweak.a + more,
                        ..tweak
                    };
                    assert_eq!(one[i], hash.hash_one(tweak, x));
                    assert_eq!(zero[i], one[i]);
                    assert_eq!(other[i], hash.hash_one(tweak, x ^ offset));
                }
            }
        }
    }
}

#[test]
fn expanded_keys_give_the_same_hash() {
    struct Both;
    impl Kernel for Both {
        type Output = [[Block; 4]; 2];

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> [[Block; 4]; 2] {
            let mut keys = [simd.splat(START); 4];
            for (key, i) in keys.iter_mut().zip(1..) {
                *key = simd.xor(*key, simd.splat(Block::from_u128(i)));
            }
            let x = keys.map(|key| [key]);
            let mut schedules = [simd.expand(keys[0]); 4];
            simd.expand_four(keys, &mut schedules);
            let [on_the_way] = rekeyed(simd, [keys], [x]);
            let beforehand = rekeyed_expanded(simd, schedules.each_ref(), x);
            [on_the_way, beforehand].map(|hashes| {
                hashes.map(|[hash]| {
                    let mut lanes = [Block::ZERO; 4];
                    simd.store(hash, &mut lanes);
                    lanes[0]
                })
            })
        }
    }
    for cpu in Cpu::available() {
        let [on_the_way, beforehand] = cpu.dispatch(Both);
        assert_eq!(on_the_way, beforehand, "{cpu:?}");
        for (hash, i) in beforehand.into_iter().zip(1..) {
            let key = START ^ Block::from_u128(i);
            let (high, low) = (key.to_u128() >> 64, u128::from(key.to_u128() as u64));
            let sigma = Block::from_u128((high ^ low) << 64 | high);
            assert_eq!(hash, Aes128::new(cpu, key).encrypt(sigma) ^ sigma);
        }
    }
}
