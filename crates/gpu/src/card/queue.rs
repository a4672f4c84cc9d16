//! A queue of calls of a card, and its memory.

use core::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::{CUdeviceptr, CUresult};
use cudarc::driver::{CudaStream, result};
use tacit_ot::DeviceError;

use super::{BLOCKS_EACH, Card, Kernels, device_error};
use crate::machine::{Argument, Kernel, Machine, THREADS};

/// A stream of a card.
pub(super) struct Queue {
    stream: Arc<CudaStream>,
    kernels: Arc<Kernels>,
    blocks: u32,
}

/// Memory of a card. Wiped on drop.
pub(super) struct Memory {
    address: CUdeviceptr,
    bytes: usize,
    stream: Arc<CudaStream>,
}

impl Memory {
    /// Returns the address of a part.
    fn part(&self, at: usize, bytes: usize) -> CUdeviceptr {
        let end = at.checked_add(bytes);
        assert!(
            end.is_some_and(|end| end <= self.bytes),
            "a part of the memory"
        );
        self.address + at as u64
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // An error has no one to go to. The driver clears memory that it gives to another process.
        let _ = self.stream.context().bind_to_thread();
        // SAFETY: this memory was allocated, is freed once, and after all calls of its stream.
        unsafe {
            let stream = self.stream.cu_stream();
            let _ = result::memset_d8_async(self.address, 0, self.bytes, stream);
            let _ = self.stream.synchronize();
            let _ = result::free_sync(self.address);
        }
    }
}

impl Queue {
    pub(super) fn new(card: &Card, kernels: Arc<Kernels>) -> Result<Self, DeviceError> {
        let stream = card.context.new_stream();
        Ok(Self {
            stream: stream.map_err(device_error("cuStreamCreate"))?,
            kernels,
            blocks: card.multiprocessors * BLOCKS_EACH,
        })
    }

    fn bind(&self) -> Result<(), DeviceError> {
        let bound = self.stream.context().bind_to_thread();
        bound.map_err(device_error("cuCtxSetCurrent"))
    }
}

impl Machine for Queue {
    type Memory = Memory;

    fn allocate(&self, bytes: usize) -> Result<Memory, DeviceError> {
        self.bind()?;
        // SAFETY: nothing reads the memory before something is written to it.
        match unsafe { result::malloc_sync(bytes) } {
            Ok(address) => Ok(Memory {
                address,
                bytes,
                stream: self.stream.clone(),
            }),
            Err(error) if error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                let free = result::mem_get_info().map_or(0, |(free, _)| free);
                Err(DeviceError::OutOfMemory {
                    needed_bytes: bytes as u64,
                    free_bytes: free as u64,
                })
            }
            Err(error) => Err(device_error("cuMemAlloc")(error)),
        }
    }

    fn address(&self, memory: &Memory) -> u64 {
        memory.address
    }

    fn blocks_at_once(&self) -> u32 {
        self.blocks
    }

    fn upload(&self, memory: &mut Memory, at: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        self.bind()?;
        let to = memory.part(at, bytes.len());
        // SAFETY: the part is of this memory. The driver has read pageable bytes when it returns.
        let copied = unsafe { result::memcpy_htod_async(to, bytes, self.stream.cu_stream()) };
        copied.map_err(device_error("cuMemcpyHtoDAsync"))
    }

    fn download(&self, memory: &Memory, at: usize, into: &mut [u8]) -> Result<(), DeviceError> {
        self.bind()?;
        let from = memory.part(at, into.len());
        // SAFETY: the part is of this memory, and `into` is borrowed until the stream is done.
        let copied = unsafe { result::memcpy_dtoh_async(into, from, self.stream.cu_stream()) };
        let done = self.stream.synchronize();
        copied.map_err(device_error("cuMemcpyDtoHAsync"))?;
        done.map_err(device_error("cuStreamSynchronize"))
    }

    fn copy(
        &self,
        (from, from_at): (&Memory, usize),
        (to, to_at): (&mut Memory, usize),
        bytes: usize,
    ) -> Result<(), DeviceError> {
        if bytes == 0 {
            return Ok(());
        }
        self.bind()?;
        let (from, to) = (from.part(from_at, bytes), to.part(to_at, bytes));
        // SAFETY: both parts are of memory of this card.
        let copied = unsafe { result::memcpy_dtod_async(to, from, bytes, self.stream.cu_stream()) };
        copied.map_err(device_error("cuMemcpyDtoDAsync"))
    }

    fn wipe(&self, memory: &mut Memory, at: usize, bytes: usize) -> Result<(), DeviceError> {
        if bytes == 0 {
            return Ok(());
        }
        self.bind()?;
        let part = memory.part(at, bytes);
        // SAFETY: the part is of this memory.
        let wiped = unsafe { result::memset_d8_async(part, 0, bytes, self.stream.cu_stream()) };
        wiped.map_err(device_error("cuMemsetD8Async"))
    }

    unsafe fn launch(
        &self,
        kernel: Kernel,
        blocks: u32,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        self.bind()?;
        let pointers = arguments.iter().map(|argument| match argument {
            Argument::Long(long) => core::ptr::from_ref(long).cast_mut().cast::<c_void>(),
            Argument::Word(word) => core::ptr::from_ref(word).cast_mut().cast(),
        });
        let mut pointers: Vec<_> = pointers.collect();
        let function = self.kernels[kernel as usize].cu_function();
        // SAFETY: the caller gives the kernel's arguments, and the driver copies them.
        let launched = unsafe {
            result::launch_kernel(
                function,
                (blocks, 1, 1),
                (THREADS, 1, 1),
                kernel.shared_bytes(),
                self.stream.cu_stream(),
                &mut pointers,
            )
        };
        launched.map_err(device_error("cuLaunchKernel"))
    }
}
