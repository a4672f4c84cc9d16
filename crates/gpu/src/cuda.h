// What kernels.cu needs on a card.
#define DEVICE static __device__ __forceinline__
#define KERNEL(name) extern "C" __global__ void __launch_bounds__(THREADS) name
#define EACH(t) for (unsigned t = threadIdx.x, once = 1; once; once = 0)
#define SYNC() __syncthreads()
#define BLOCK_INDEX blockIdx.x
#define BLOCK_COUNT gridDim.x
#define SHARED_MEMORY extern __shared__ __align__(16) unsigned shared[];
#define UNROLL _Pragma("unroll")
// Writes the bit of each lane of a warp to one word. All lanes of the warp call it.
#define PACK(t, bit, word)                                          \
    do {                                                            \
        const unsigned packed = __ballot_sync(0xffffffffu, (bit));  \
        if ((t) % 32 == 0) *(word) = packed;                        \
    } while (0)
