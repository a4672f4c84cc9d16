// kernels.cu as C++: a launch runs through its blocks, and each step of a block through its threads.
#define THREADS 256
#define TREE_BYTES sizeof shared_words
#define DEVICE static inline
#define KERNEL(name) static void name
#define __align__(bytes) alignas(bytes)
#define EACH(t) for (unsigned t = 0; t < THREADS; t++)
#define SYNC()
#define BLOCK_INDEX block_index
#define BLOCK_COUNT block_count
#define SHARED_MEMORY unsigned *shared = shared_words;
#define UNROLL
#define PACK(t, bit, word)                          \
    do {                                            \
        if ((t) % 32 == 0) *(word) = 0;             \
        *(word) |= (unsigned)(bit) << (t) % 32;     \
    } while (0)

static thread_local unsigned block_index, block_count;
alignas(16) static thread_local unsigned shared_words[1 << 15];

#include "../../src/kernels.cu"

#define A(i, type) *(type *)args[i]

// Runs `blocks` blocks of the kernel of this number; arguments as cuLaunchKernel takes them.
extern "C" void tacit_launch(u32 kernel, u32 blocks, void **args) {
    block_count = blocks;
    for (block_index = 0; block_index < blocks; block_index++) {
        switch (kernel) {
        case 0:
            expand_keys(A(0, const u32 *), A(1, const Block *), A(2, u32), A(3, u32 *));
            break;
        case 1:
            expand_stream(A(0, const u32 *), A(1, const u32 *), A(2, u64), A(3, u64), A(4, u32),
                          A(5, u32 *));
            break;
        case 2:
            grow(A(0, const u32 *), A(1, const u32 *), A(2, u32), A(3, const Block *),
                 A(4, const Block *), A(5, const Block *), A(6, Block *), A(7, Block *));
            break;
        case 3:
            grow_punctured(A(0, const u32 *), A(1, const u32 *), A(2, u32), A(3, const Block *),
                           A(4, const Block *), A(5, Block *));
            break;
        case 4:
            add_columns(A(0, const u32 *), A(1, const u32 *), A(2, u64), A(3, u64),
                        A(4, const Block *), A(5, u32), A(6, u32), A(7, Block *));
            break;
        case 5:
            hash_sent(A(0, const u32 *), A(1, const u32 *), A(2, u64), A(3, u32), A(4, u32),
                      A(5, const Block *), A(6, const Block *), A(7, u32 *), A(8, u32 *));
            break;
        case 6:
            hash_received(A(0, const u32 *), A(1, const u32 *), A(2, u64), A(3, u32), A(4, u32),
                          A(5, const Block *), A(6, u32 *), A(7, u32 *));
            break;
        }
    }
}
