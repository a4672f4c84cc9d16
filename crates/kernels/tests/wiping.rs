//! The memory after kernels run: the tests' own finder first, then secrets that must not be found.

use tacit_kernels::leftovers::{Watching, on_own_stack, watch};
use tacit_kernels::{
    Aes128, Block, Construction, Cpu, Tweak, TweakableHash, Use, WipedVec, encrypt_each,
    encrypt_each_twice, wiping_stack,
};
use zeroize::Zeroizing;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

#[test]
fn what_is_not_wiped_is_found() {
    let secret = *b"a secret that is in no other place";
    let ((), memory) = watch(|| drop(Vec::from(secret)));
    assert_eq!((memory.freed(&secret), memory.anywhere(&secret)), (1, 1));
    let (kept, memory) = watch(|| Vec::from(secret));
    assert_eq!((memory.freed(&secret), memory.anywhere(&secret)), (0, 1));
    drop(kept);
    assert_eq!(memory.freed(&secret), 1);
    let ((), memory) = watch(|| drop(Zeroizing::new(Vec::from(secret))));
    assert_eq!(memory.anywhere(&secret), 0);
    // Growth leaves the old memory behind.
    let (_, memory) = watch(|| {
        let mut grows = Vec::from(secret);
        grows.reserve(1000);
        Zeroizing::new(grows)
    });
    assert_eq!(memory.freed(&secret), 1);
    let stack = on_own_stack(|| {
        core::hint::black_box(secret.map(core::hint::black_box));
    });
    if let Some(stack) = stack {
        assert!(stack.count(&secret) > 0);
    }
}

#[test]
fn a_long_vector_of_secrets_is_wiped_as_a_whole() {
    let secret = blocks(7, 100);
    let bytes: Vec<u8> = secret.iter().flat_map(|block| block.to_bytes()).collect();
    let ((), memory) = watch(|| {
        drop(WipedVec::of(secret.iter().copied()));
        let mut filled = WipedVec::zeros(100);
        filled.copy_from_slice(&secret);
        drop(core::mem::replace(&mut filled, WipedVec::zeros(1)));
    });
    for block in bytes.chunks(Block::BYTES) {
        assert_eq!(memory.anywhere(block), 0);
    }
}

fn blocks(first: u128, count: usize) -> Vec<Block> {
    let cipher = Aes128::new(Cpu::detect(), Block::from_u128(first));
    let blocks = (0..count as u128).map(|i| cipher.encrypt(Block::from_u128(i)));
    blocks.collect()
}

/// The data that is encrypted under many keys passes through the stack, whether or not it fills a
/// step.
#[test]
fn encryption_under_many_keys_leaves_no_result_on_the_stack() {
    for cpu in Cpu::available() {
        for count in [1, 2, 3, 5, 8, 9, 16, 17, 32, 33] {
            let keys = blocks(1, count);
            let (mut once, mut twice) = (blocks(2, count), blocks(3, 2 * count));
            let stack = on_own_stack(|| {
                wiping_stack(|| {
                    encrypt_each(cpu, &keys, &mut once);
                    encrypt_each_twice(cpu, &keys, &mut twice);
                });
            });
            let Some(stack) = stack else { return };
            for secret in once.iter().chain(&twice) {
                let found = stack.count(&secret.to_bytes());
                assert_eq!(found, 0, "{cpu:?}, {count} keys");
            }
        }
    }
}

/// Two hashes that Δ connects: neither Δ nor a label stays, whether or not they fill a step.
#[test]
fn hashes_of_both_labels_leave_no_secret_on_the_stack() {
    let offset = blocks(4, 1)[0];
    let tweak = Tweak::of(Use::CorrelatedOt, 0);
    for construction in [Construction::TwoCall, Construction::Rekeyed] {
        for cpu in Cpu::available() {
            for count in [1, 3, 64, 100] {
                let labels = blocks(5, count);
                let (mut zeros, mut ones) = (labels.clone(), labels.clone());
                let hash = TweakableHash::on(cpu, construction, Block::ONES);
                let stack = on_own_stack(|| hash.hash_both(tweak, &offset, &mut zeros, &mut ones));
                let Some(stack) = stack else { return };
                let others = labels.iter().map(|&label| label ^ offset);
                for secret in labels.iter().copied().chain(others).chain([offset]) {
                    let found = stack.count(&secret.to_bytes());
                    assert_eq!(found, 0, "{construction:?} on {cpu:?}, {count} labels");
                }
            }
        }
    }
}
