//! The operations of a card that a half uses: memory, copies and launches.
//!
//! All calls of a machine take effect in their order. Only [`download`](Machine::download) waits
//! for those before it.

use tacit_ot::DeviceError;

/// The threads of a block, as the kernels are compiled.
pub const THREADS: u32 = 256;

/// The bytes of a key's schedule.
pub(crate) const KEY_BYTES: usize = 176;

/// The depth of the deepest tree whose nodes fit into the memory that a block's threads share.
pub(crate) const MAX_DEPTH: usize = 11;

/// The kernels of `kernels.cu`, by their numbers in tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Expands keys.
    ExpandKeys,
    /// Expands the blocks of a stream as keys.
    ExpandStream,
    /// Grows a sender's trees.
    Grow,
    /// Grows a receiver's trees.
    GrowPunctured,
    /// Adds sums of the secret.
    AddColumns,
    /// Hashes OTs at their sender.
    HashSent,
    /// Hashes OTs at their receiver.
    HashReceived,
}

impl Kernel {
    /// All kernels, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::ExpandKeys,
        Self::ExpandStream,
        Self::Grow,
        Self::GrowPunctured,
        Self::AddColumns,
        Self::HashSent,
        Self::HashReceived,
    ];

    /// Returns the name of the kernel's function.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ExpandKeys => "expand_keys",
            Self::ExpandStream => "expand_stream",
            Self::Grow => "grow",
            Self::GrowPunctured => "grow_punctured",
            Self::AddColumns => "add_columns",
            Self::HashSent => "hash_sent",
            Self::HashReceived => "hash_received",
        }
    }

    /// Returns the bytes that the threads of a block share: copies of the table of AES, and what a
    /// tree needs.
    #[must_use]
    pub const fn shared_bytes(self) -> u32 {
        match self {
            Self::ExpandKeys | Self::ExpandStream => 0,
            Self::AddColumns | Self::HashSent | Self::HashReceived => 32 << 10,
            Self::Grow | Self::GrowPunctured => 73 << 10,
        }
    }
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// A number, or an address in the machine's memory.
    Long(u64),
    /// A shorter number.
    Word(u32),
}

/// The memory and the queue of calls of one half.
pub trait Machine: Send + Sync {
    /// Memory of the machine, of a fixed length. It is wiped on drop.
    type Memory: Send + Sync;

    /// Returns new memory.
    ///
    /// # Errors
    ///
    /// There is too little of it, or the driver fails.
    fn allocate(&self, bytes: usize) -> Result<Self::Memory, DeviceError>;

    /// Returns the address of the first byte.
    fn address(&self, memory: &Self::Memory) -> u64;

    /// Returns how many blocks of [`THREADS`] threads with 32 KiB of shared memory run at once.
    fn blocks_at_once(&self) -> u32;

    /// Copies bytes into memory from byte `at` on.
    ///
    /// # Errors
    ///
    /// The driver fails.
    ///
    /// # Panics
    ///
    /// Panics if they do not fit, as all copies do.
    fn upload(&self, memory: &mut Self::Memory, at: usize, bytes: &[u8])
    -> Result<(), DeviceError>;

    /// Copies bytes out of memory, once all earlier calls are done.
    ///
    /// # Errors
    ///
    /// The driver or an earlier call fails.
    fn download(
        &self,
        memory: &Self::Memory,
        at: usize,
        into: &mut [u8],
    ) -> Result<(), DeviceError>;

    /// Copies bytes from one memory to another.
    ///
    /// # Errors
    ///
    /// The driver fails.
    fn copy(
        &self,
        from: (&Self::Memory, usize),
        to: (&mut Self::Memory, usize),
        bytes: usize,
    ) -> Result<(), DeviceError>;

    /// Writes zeros.
    ///
    /// # Errors
    ///
    /// The driver fails.
    fn wipe(&self, memory: &mut Self::Memory, at: usize, bytes: usize) -> Result<(), DeviceError>;

    /// Runs a kernel on this many blocks of threads.
    ///
    /// # Safety
    ///
    /// The arguments are the kernel's. What it reads and writes lies in memory of this machine that
    /// no reference covers and that is not dropped during this call.
    ///
    /// # Errors
    ///
    /// The driver fails.
    unsafe fn launch(
        &self,
        kernel: Kernel,
        blocks: u32,
        arguments: &[Argument],
    ) -> Result<(), DeviceError>;
}
