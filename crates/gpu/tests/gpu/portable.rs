//! The kernels as C++ on the processor: a machine whose memory is the processor's.

use std::ffi::c_void;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use libloading::{Library, Symbol};
use tacit_gpu::half::take_over;
use tacit_gpu::machine::{Argument, Kernel, Machine};
use tacit_ot::DeviceError;
use tacit_ot::silent::{Device, DeviceHalf, HalfStart};

/// Runs blocks of a kernel, by its number.
type Launch = unsafe extern "C" fn(u32, u32, *const *const c_void);

/// The kernels, loaded.
#[derive(Clone)]
pub(crate) struct Portable {
    library: Arc<Library>,
    /// The bytes that are left.
    free: Arc<AtomicUsize>,
}

/// Memory that counts what is left.
pub(crate) struct Memory {
    words: Vec<u64>,
    bytes: usize,
    free: Arc<AtomicUsize>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.free.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

impl Portable {
    /// Compiles and loads the kernels, if there is a compiler.
    pub(crate) fn build() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let library = folder.path().join("kernels.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gpu/portable.cpp");
        let flags = [
            "-std=c++17",
            "-O2",
            "-fno-strict-aliasing",
            "-shared",
            "-fPIC",
            "-pthread",
        ];
        let mut compiler = Command::new("c++");
        let compiler = compiler.args(flags).arg("-o").arg(&library).arg(source);
        let built = compiler.status().ok()?;
        assert!(built.success(), "the kernels compile as C++");
        // SAFETY: the library is that of `portable.cpp`, which initialises nothing.
        let library = unsafe { Library::new(&library) };
        let free = Arc::new(AtomicUsize::new(usize::MAX / 2));
        Some(Self {
            library: Arc::new(library.expect("the library")),
            free,
        })
    }

    /// Returns a machine with this much memory.
    pub(crate) fn with_memory(self, bytes: usize) -> Self {
        self.free.store(bytes, Ordering::Relaxed);
        self
    }
}

impl Device for Portable {
    fn take_over(&self, half: HalfStart<'_>) -> Result<Box<dyn DeviceHalf>, DeviceError> {
        take_over(self.clone(), half)
    }
}

impl Memory {
    fn part(&self, at: usize, bytes: usize) -> *mut u8 {
        assert!(at + bytes <= self.bytes);
        // SAFETY: the part is within the words.
        unsafe { self.words.as_ptr().cast::<u8>().cast_mut().add(at) }
    }
}

impl Machine for Portable {
    type Memory = Memory;

    fn allocate(&self, bytes: usize) -> Result<Memory, DeviceError> {
        let free = self.free.load(Ordering::Relaxed);
        if bytes > free {
            return Err(DeviceError::OutOfMemory {
                needed_bytes: bytes as u64,
                free_bytes: free as u64,
            });
        }
        self.free.fetch_sub(bytes, Ordering::Relaxed);
        // What nobody wrote is not zero.
        let words = vec![0xa5a5_a5a5_a5a5_a5a5; bytes.div_ceil(8)];
        let free = self.free.clone();
        Ok(Memory { words, bytes, free })
    }

    fn address(&self, memory: &Memory) -> u64 {
        memory.words.as_ptr() as u64
    }

    fn blocks_at_once(&self) -> u32 {
        5
    }

    fn upload(&self, memory: &mut Memory, at: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        let to = memory.part(at, bytes.len());
        // SAFETY: the part has as many bytes.
        unsafe { to.copy_from(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    fn download(&self, memory: &Memory, at: usize, into: &mut [u8]) -> Result<(), DeviceError> {
        let from = memory.part(at, into.len());
        // SAFETY: the part has as many bytes.
        unsafe { from.copy_to(into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    fn copy(
        &self,
        (from, from_at): (&Memory, usize),
        (to, to_at): (&mut Memory, usize),
        bytes: usize,
    ) -> Result<(), DeviceError> {
        let (from, to) = (from.part(from_at, bytes), to.part(to_at, bytes));
        // SAFETY: both parts have as many bytes.
        unsafe { to.copy_from(from, bytes) };
        Ok(())
    }

    fn wipe(&self, memory: &mut Memory, at: usize, bytes: usize) -> Result<(), DeviceError> {
        // SAFETY: the part has as many bytes.
        unsafe { memory.part(at, bytes).write_bytes(0, bytes) };
        Ok(())
    }

    unsafe fn launch(
        &self,
        kernel: Kernel,
        blocks: u32,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        let pointers = arguments.iter().map(|argument| match argument {
            Argument::Long(long) => std::ptr::from_ref(long).cast::<c_void>(),
            Argument::Word(word) => std::ptr::from_ref(word).cast(),
        });
        let pointers: Vec<_> = pointers.collect();
        // SAFETY: the function has this type. The caller gives the kernel's arguments.
        unsafe {
            let launch: Symbol<'_, Launch> =
                self.library.get(b"tacit_launch").expect("the function");
            launch(kernel as u32, blocks, pointers.as_ptr());
        }
        Ok(())
    }
}
