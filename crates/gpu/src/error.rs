//! The reasons why a GPU cannot be used.

use tacit_ot::DeviceError;

/// A GPU cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver's library is missing.
    #[error("there is no NVIDIA driver: its library, libcuda.so.1, was not found")]
    NoDriver,
    /// There is no GPU with this number.
    #[error("there is no GPU {number}; the driver has {found}, numbered from 0")]
    NoCard {
        /// The number.
        number: usize,
        /// The number of GPUs.
        found: usize,
    },
    /// The run-time compiler is missing.
    #[error(
        "NVRTC, which compiles for GPUs, was not found (libnvrtc.so.12 or .13): it comes with the \
         CUDA toolkit and with the pip package nvidia-cuda-nvrtc; name its folder in \
         LD_LIBRARY_PATH"
    )]
    NoCompiler,
    /// The compiler refuses the kernels.
    #[error("NVRTC does not compile for {target}: {log}")]
    NotCompiled {
        /// The target, such as `sm_90`.
        target: String,
        /// The compiler's messages.
        log: String,
    },
    /// A call of the driver failed.
    #[error("the NVIDIA driver's {call} returned {code}")]
    Driver {
        /// The call.
        call: &'static str,
        /// The driver's number of the error.
        code: u32,
    },
    /// The GPU has too little free memory for another half.
    #[error("{card} has too little memory: {reason}")]
    OutOfMemory {
        /// The GPU.
        card: String,
        /// The memory that was needed and the memory that was free.
        reason: DeviceError,
    },
}
