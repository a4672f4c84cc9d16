//! What a service counts of a peer's sizes before it answers.

use tacit::join::peer_asks;

use super::*;

/// A party holds the bins of all shards at once, and its table.
#[test]
fn the_bins_of_all_shards_are_counted() {
    let function = function(&plan([3, 3], 1, JoinSide::Left));
    for most_rows_of_key in [1, 40] {
        let plan = plan([1 << 22, 1 << 21], most_rows_of_key, JoinSide::Left);
        assert_eq!(plan.sizes.shards, 32);
        for role in ROLES {
            let asks = |key_bytes| {
                let asks = peer_asks(&plan, (role, key_bytes), &function).expect("an answer");
                asks.memory_bytes
            };
            let sizes = &plan.sizes;
            let (keys, element_bits) = match role {
                Role::Garbler => (1 << 22, sizes.placer_element_bits()),
                Role::Evaluator => (1 << 21, sizes.programmer_element_bits()),
            };
            let value_bits = u64::from(sizes.tag_bits) + sizes.payload_bits;
            let bin_bytes = 16 * value_bits.div_ceil(128) + 2 * element_bits / 8;
            let row_of_bin = if role == Role::Garbler { 8 } else { 0 };
            // Of a key: its end, digest, row and shard, and at least a block of its row.
            let least = plan.bin_count() * (bin_bytes + row_of_bin) + 60 * keys;
            assert!(asks(0) > least, "{} and {least}", asks(0));
            assert!(asks(1 << 30) >= asks(0) + (1 << 30));
        }
    }
}

/// A table of one shard has turns of one, and a service counts no more for it.
#[test]
fn a_turn_is_counted_by_its_shards() {
    let function = function(&plan([3, 3], 1, JoinSide::Left));
    let plan = plan([1 << 17, 1 << 17], 1, JoinSide::Left);
    assert_eq!((plan.sizes.shards, plan.sizes.turn_shards()), (1, 1));
    for role in ROLES {
        let asks = peer_asks(&plan, (role, 0), &function).expect("an answer");
        assert!(asks.memory_bytes < 256 << 20, "{}", asks.memory_bytes);
    }
}
