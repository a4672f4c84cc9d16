// The batches of silent OT on a GPU, and the hashes of crosses: the same bits as `tacit-ot` and
// `tacit-kernels` make. Compiled at run time; the same text compiles as C++ for tests
// (`portable.cpp`), where EACH runs through a block's threads one after the other. So a kernel
// keeps nothing in a thread's variables from one EACH to the next.
//
// Time: no branch and no address depends on a secret. AES reads tables in shared memory, of which
// each of its 32 banks has a copy: lane i reads bank i and no other, so that no two lanes of a
// warp meet in a bank, whatever they read.

typedef unsigned int u32;
typedef unsigned long long u64;

struct __align__(16) Block {
    u32 w[4];
};

// The words of a table of 256 with a copy for each bank, and of an expanded key.
#define BANKS 32
#define TABLE_WORDS (256 * BANKS)
#define KEY_WORDS 44
#define MAX_DEPTH 11

// What a block of threads that grows a tree has in shared memory, in words.
#define NODES_AT TABLE_WORDS
#define PARTIAL_AT (NODES_AT + 4 * (1 << MAX_DEPTH))
#define STAGE_AT (PARTIAL_AT + 4 * THREADS)
#define SUM_AT (STAGE_AT + 128)
#define COTS_AT (SUM_AT + 4)
#define SENT_AT (COTS_AT + 4 * MAX_DEPTH)
#define KEYS_AT (SENT_AT + 4 * MAX_DEPTH)
#define TREE_WORDS (KEYS_AT + KEY_WORDS * (MAX_DEPTH - 1))
static_assert(4 * TREE_WORDS <= TREE_BYTES, "room for a tree");

DEVICE Block block_xor(Block a, Block b) {
    for (int i = 0; i < 4; i++) a.w[i] ^= b.w[i];
    return a;
}

DEVICE Block block_and(Block a, u32 mask) {
    for (int i = 0; i < 4; i++) a.w[i] &= mask;
    return a;
}

DEVICE Block block_zero() {
    Block zero = {{0, 0, 0, 0}};
    return zero;
}

DEVICE u32 rotate(u32 x, int bits) {
    return x << bits | x >> (32 - bits);
}

// A column after a round but for the key: a table word is (2s, s, s, 3s), from the lowest byte on.
template <int STRIDE>
DEVICE u32 mix(const u32 *table, u32 a, u32 b, u32 c, u32 d) {
    return table[(a & 255) * STRIDE] ^ rotate(table[(b >> 8 & 255) * STRIDE], 8) ^
           rotate(table[(c >> 16 & 255) * STRIDE], 16) ^ rotate(table[(d >> 24) * STRIDE], 24);
}

// A column after the last round but for the key.
template <int STRIDE>
DEVICE u32 substitute(const u32 *table, u32 a, u32 b, u32 c, u32 d) {
    return (table[(a & 255) * STRIDE] >> 8 & 0xff) | (table[(b >> 8 & 255) * STRIDE] & 0xff00) |
           (table[(c >> 16 & 255) * STRIDE] & 0xff0000) |
           (table[(d >> 24) * STRIDE] << 8 & 0xff000000);
}

// AES-128 of N blocks under one key.
template <int STRIDE, int N>
DEVICE void encrypt(const u32 *table, const u32 *key, Block *blocks) {
    for (int n = 0; n < N; n++) {
        for (int i = 0; i < 4; i++) blocks[n].w[i] ^= key[i];
    }
    UNROLL
    for (int round = 1; round < 10; round++) {
        UNROLL
        for (int n = 0; n < N; n++) {
            const Block s = blocks[n];
            UNROLL
            for (int i = 0; i < 4; i++) {
                blocks[n].w[i] = key[4 * round + i] ^
                    mix<STRIDE>(table, s.w[i], s.w[(i + 1) & 3], s.w[(i + 2) & 3], s.w[(i + 3) & 3]);
            }
        }
    }
    UNROLL
    for (int n = 0; n < N; n++) {
        const Block s = blocks[n];
        UNROLL
        for (int i = 0; i < 4; i++) {
            blocks[n].w[i] = key[40 + i] ^ substitute<STRIDE>(
                table, s.w[i], s.w[(i + 1) & 3], s.w[(i + 2) & 3], s.w[(i + 3) & 3]);
        }
    }
}

// H(x) = AES(σ(x)) ⊕ σ(x), σ(high ‖ low) = (high ⊕ low ‖ high).
template <int N>
DEVICE void hash(const u32 *table, const u32 *key, Block *blocks) {
    Block sigma[N];
    UNROLL
    for (int n = 0; n < N; n++) {
        const Block x = blocks[n];
        const Block s = {{x.w[2], x.w[3], x.w[2] ^ x.w[0], x.w[3] ^ x.w[1]}};
        sigma[n] = blocks[n] = s;
    }
    encrypt<BANKS, N>(table, key, blocks);
    UNROLL
    for (int n = 0; n < N; n++) blocks[n] = block_xor(blocks[n], sigma[n]);
}

// Expands a key, with the table as it lies in memory: keys are public.
DEVICE void expand(const u32 *table, Block key, u32 *into) {
    u32 constant = 1;
    for (int i = 0; i < 4; i++) into[i] = key.w[i];
    for (int round = 1; round <= 10; round++) {
        const u32 last = rotate(key.w[3], 24);
        key.w[0] ^= substitute<1>(table, last, last, last, last) ^ constant;
        for (int i = 1; i < 4; i++) key.w[i] ^= key.w[i - 1];
        for (int i = 0; i < 4; i++) into[4 * round + i] = key.w[i];
        constant = constant << 1 ^ (0x11b & (0 - (constant >> 7)));
    }
}

// The block of a counter: start + count.
DEVICE Block counter(u64 low, u64 high, u64 count) {
    const u64 sum = low + count;
    high += sum < low;
    const Block block = {{(u32)sum, (u32)(sum >> 32), (u32)high, (u32)(high >> 32)}};
    return block;
}

DEVICE void fill_table(u32 t, const u32 *table, u32 *copies) {
    for (u32 i = t; i < TABLE_WORDS; i += THREADS) copies[i] = table[i / BANKS];
}

// Expands `count` keys.
KERNEL(expand_keys)(const u32 *table, const Block *keys, u32 count, u32 *into) {
    EACH(t) {
        const u32 i = BLOCK_INDEX * THREADS + t;
        if (i < count) expand(table, keys[i], into + (u64)i * KEY_WORDS);
    }
}

// Expands the first `count` blocks of a stream: AES in counter mode under an expanded key.
KERNEL(expand_stream)(const u32 *table, const u32 *key, u64 low, u64 high, u32 count, u32 *into) {
    EACH(t) {
        const u32 i = BLOCK_INDEX * THREADS + t;
        if (i < count) {
            Block block = counter(low, high, i);
            encrypt<1, 1>(table, key, &block);
            expand(table, block, into + (u64)i * KEY_WORDS);
        }
    }
}

// Sums what the threads left in PARTIAL_AT to SUM_AT, in two steps, each followed by a SYNC.
DEVICE void sum_first(u32 t, u32 *shared) {
    if (t >= 128) return;
    u32 sum = 0;
    for (u32 i = t & 31; i < THREADS; i += 32) sum ^= shared[PARTIAL_AT + (t >> 5) * THREADS + i];
    shared[STAGE_AT + (t & 31) * 4 + (t >> 5)] = sum;
}

DEVICE void sum_second(u32 t, u32 *shared) {
    if (t >= 4) return;
    u32 sum = 0;
    for (u32 i = 0; i < 32; i++) sum ^= shared[STAGE_AT + i * 4 + t];
    shared[SUM_AT + t] = sum;
}

DEVICE void leave_partial(u32 t, Block sum, u32 *shared) {
    for (int i = 0; i < 4; i++) shared[PARTIAL_AT + i * THREADS + t] = sum.w[i];
}

// Fills what a tree needs: tables, keys, COTs.
DEVICE void fill_tree(u32 t, u32 depth, const u32 *table, const u32 *keys, const Block *cots,
                      u32 *shared) {
    const u64 tree = BLOCK_INDEX;
    fill_table(t, table, shared);
    keys += tree * (depth - 1) * KEY_WORDS;
    for (u32 i = t; i < (depth - 1) * KEY_WORDS; i += THREADS) shared[KEYS_AT + i] = keys[i];
    const u32 *words = (const u32 *)(cots + tree * depth);
    for (u32 i = t; i < 4 * depth; i += THREADS) shared[COTS_AT + i] = words[i];
}

// Grows a sender's tree, one for each block of threads. Writes the leaves, with bit 0 clear, and
// for each level what is sent of it.
KERNEL(grow)(const u32 *table, const u32 *keys, u32 depth, const Block *delta, const Block *roots,
             const Block *q, Block *leaves, Block *sent) {
    SHARED_MEMORY
    Block *nodes = (Block *)(shared + NODES_AT);
    const Block *cots = (const Block *)(shared + COTS_AT);
    const Block *sum = (const Block *)(shared + SUM_AT);
    sent += (u64)BLOCK_INDEX * depth;
    leaves += (u64)BLOCK_INDEX << depth;
    EACH(t) {
        fill_tree(t, depth, table, keys, q, shared);
        if (t == 0) {
            nodes[0] = roots[BLOCK_INDEX];
            nodes[1] = block_xor(nodes[0], *delta);
        }
    }
    SYNC();
    EACH(t) {
        if (t == 0) sent[0] = block_xor(cots[0], nodes[0]);
    }
    SYNC();
    for (u32 level = 1; level < depth; level++) {
        const u32 count = 1u << level;
        const u32 *key = shared + KEYS_AT + (level - 1) * KEY_WORDS;
        EACH(t) {
            Block zeros = block_zero();
            for (u32 x = t; x < count; x += THREADS) {
                const Block node = nodes[x];
                Block left = node;
                hash<1>(shared + t % BANKS, key, &left);
                nodes[x] = left;
                nodes[x + count] = block_xor(node, left);
                zeros = block_xor(zeros, left);
            }
            leave_partial(t, zeros, shared);
        }
        SYNC();
        EACH(t) { sum_first(t, shared); }
        SYNC();
        EACH(t) { sum_second(t, shared); }
        SYNC();
        EACH(t) {
            if (t == 0) sent[level] = block_xor(cots[level], *sum);
        }
    }
    EACH(t) {
        for (u32 x = t; x < 1u << depth; x += THREADS) {
            Block leaf = nodes[x];
            leaf.w[0] &= ~1u;
            leaves[x] = leaf;
            nodes[x] = block_zero();
        }
    }
}

// All ones if the numbers are equal.
DEVICE u32 equal_mask(u32 a, u32 b) {
    return 0u - (u32)(a == b);
}

// What a receiver knows after a level: the number of its unknown node, and the correction of that
// node's sibling. They take effect where nodes are read next, at every node alike.
struct Known {
    u32 unknown;
    u32 sibling;
};

DEVICE Block settled(Known known, Block correction, u32 x, Block node) {
    node = block_xor(node, block_and(correction, equal_mask(x, known.sibling)));
    return block_and(node, ~equal_mask(x, known.unknown));
}

// Bits of α up to a level: the complements of the COTs' choices.
DEVICE Known known_at(const Block *cots, u32 level) {
    Known known = {0, 0};
    for (u32 i = 0; i <= level; i++) known.unknown |= (~cots[i].w[0] & 1) << i;
    known.sibling = known.unknown ^ 1u << level;
    return known;
}

// Grows a receiver's tree, one for each block of threads, from t of each level's COT and what the
// sender sent. Nodes are numbered as the sender's are: what is unknown is found by comparing all
// numbers with it, so that no address depends on it.
KERNEL(grow_punctured)(const u32 *table, const u32 *keys, u32 depth, const Block *t_of_cots,
                       const Block *sent, Block *leaves) {
    SHARED_MEMORY
    Block *nodes = (Block *)(shared + NODES_AT);
    const Block *cots = (const Block *)(shared + COTS_AT);
    Block *levels = (Block *)(shared + SENT_AT);
    Block *sum = (Block *)(shared + SUM_AT);
    leaves += (u64)BLOCK_INDEX << depth;
    EACH(t) { fill_tree(t, depth, table, keys, t_of_cots, shared); }
    SYNC();
    EACH(t) {
        if (t < depth) levels[t] = block_xor(sent[(u64)BLOCK_INDEX * depth + t], cots[t]);
    }
    SYNC();
    EACH(t) {
        const u32 first = 0u - (~cots[0].w[0] & 1);
        if (t == 0) nodes[0] = block_and(levels[0], first);
        if (t == 1) nodes[1] = block_and(levels[0], ~first);
        if (t == 2) *sum = block_zero();
    }
    SYNC();
    for (u32 level = 1; level < depth; level++) {
        const u32 count = 1u << level;
        const u32 *key = shared + KEYS_AT + (level - 1) * KEY_WORDS;
        EACH(t) {
            const Known known = known_at(cots, level - 1);
            const u32 is_left = 0u - (~cots[level].w[0] & 1);
            const Block correction = *sum;
            Block others = block_zero();
            for (u32 x = t; x < count; x += THREADS) {
                const Block node = settled(known, correction, x, nodes[x]);
                Block left = node;
                hash<1>(shared + t % BANKS, key, &left);
                const Block right = block_xor(node, left);
                nodes[x] = left;
                nodes[x + count] = right;
                others = block_xor(others, block_and(left, is_left));
                others = block_xor(others, block_and(right, ~is_left));
            }
            leave_partial(t, others, shared);
        }
        SYNC();
        EACH(t) { sum_first(t, shared); }
        SYNC();
        EACH(t) { sum_second(t, shared); }
        SYNC();
        EACH(t) {
            if (t == 0) *sum = block_xor(*sum, levels[level]);
        }
        SYNC();
    }
    EACH(t) {
        const Known known = known_at(cots, depth - 1);
        const Block correction = *sum;
        Block all = block_zero();
        for (u32 x = t; x < 1u << depth; x += THREADS) {
            Block leaf = settled(known, correction, x, nodes[x]);
            leaf.w[0] &= ~1u;
            nodes[x] = leaf;
            all = block_xor(all, leaf);
        }
        leave_partial(t, all, shared);
    }
    SYNC();
    EACH(t) { sum_first(t, shared); }
    SYNC();
    EACH(t) { sum_second(t, shared); }
    SYNC();
    EACH(t) {
        const Known known = known_at(cots, depth - 1);
        Block missing = *sum;
        missing.w[0] ^= 1;
        for (u32 x = t; x < 1u << depth; x += THREADS) {
            const u32 mask = equal_mask(x, known.unknown);
            leaves[x] = block_xor(nodes[x], block_and(missing, mask));
            nodes[x] = block_zero();
        }
    }
}

DEVICE u64 half(Block block, int which) {
    return (u64)block.w[2 * which + 1] << 32 | block.w[2 * which];
}

// Adds to each output its ten elements of the secret, of 2^log_secret elements, at public places.
KERNEL(add_columns)(const u32 *table, const u32 *key, u64 low, u64 high, const Block *secret,
                    u32 log_secret, u32 count, Block *outputs) {
    SHARED_MEMORY
    EACH(t) { fill_table(t, table, shared); }
    SYNC();
    EACH(t) {
        const u32 mask = (1u << log_secret) - 1;
        for (u32 i = BLOCK_INDEX * THREADS + t; i < count; i += BLOCK_COUNT * THREADS) {
            Block random[2] = {counter(low, high, 2ull * i), counter(low, high, 2ull * i + 1)};
            encrypt<BANKS, 2>(shared + t % BANKS, key, random);
            Block sum = outputs[i];
            UNROLL
            for (int n = 0; n < 2; n++) {
                const u64 a = half(random[n], 0), b = half(random[n], 1);
                sum = block_xor(sum, secret[(u32)a & mask]);
                sum = block_xor(sum, secret[(u32)(a >> log_secret) & mask]);
                sum = block_xor(sum, secret[(u32)(a >> 2 * log_secret) & mask]);
                sum = block_xor(sum, secret[(u32)b & mask]);
                sum = block_xor(sum, secret[(u32)(b >> log_secret) & mask]);
            }
            outputs[i] = sum;
        }
    }
}

// Hashes `count` OTs from number `number` on and writes two bits of each, after `lead` bits of
// zero: at their sender those of H(q) and H(q) ⊕ H(q ⊕ Δ), at their receiver the choice and that of
// H(t). The keys are those of each 2^10 numbers, from the first OT's on.
template <int SENDS>
DEVICE void hash_bits(u32 t, const u32 *table, const u32 *keys, u64 number, u32 count, u32 lead,
                      Block delta, const Block *blocks, u32 *first, u32 *second) {
    const u32 places = (lead + count + 31) / 32 * 32;
    const u64 epoch = number >> 10;
    for (u32 base = BLOCK_INDEX * THREADS; base < places; base += BLOCK_COUNT * THREADS) {
        const u32 place = base + t;
        const u32 is_there = place >= lead && place - lead < count;
        const u32 i = is_there ? place - lead : 0;
        const Block x = blocks[i];
        const u32 *key = keys + (((number + i) >> 10) - epoch) * KEY_WORDS;
        Block hashes[1 + SENDS];
        hashes[0] = x;
        if (SENDS) hashes[SENDS] = block_xor(x, delta);
        hash<1 + SENDS>(table + t % BANKS, key, hashes);
        const u32 one = SENDS ? hashes[0].w[0] : x.w[0];
        const u32 two = SENDS ? hashes[0].w[0] ^ hashes[SENDS].w[0] : hashes[0].w[0];
        if (place < places) {
            PACK(t, one & is_there, first + place / 32);
            PACK(t, two & is_there, second + place / 32);
        }
    }
}

KERNEL(hash_sent)(const u32 *table, const u32 *keys, u64 number, u32 count, u32 lead,
                  const Block *delta, const Block *blocks, u32 *first, u32 *second) {
    SHARED_MEMORY
    EACH(t) { fill_table(t, table, shared); }
    SYNC();
    EACH(t) {
        hash_bits<1>(t, shared, keys, number, count, lead, *delta, blocks, first, second);
    }
}

KERNEL(hash_received)(const u32 *table, const u32 *keys, u64 number, u32 count, u32 lead,
                      const Block *blocks, u32 *first, u32 *second) {
    SHARED_MEMORY
    EACH(t) { fill_table(t, table, shared); }
    SYNC();
    EACH(t) {
        hash_bits<0>(t, shared, keys, number, count, lead, block_zero(), blocks, first, second);
    }
}
