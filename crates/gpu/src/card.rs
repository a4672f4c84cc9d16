//! An NVIDIA GPU: its driver, the kernels compiled for it, its memory.

mod compile;
mod queue;

use core::fmt;
use std::sync::{Arc, OnceLock};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
use cudarc::driver::sys::{self, CUdevice_attribute};
use cudarc::driver::{CudaContext, CudaFunction};
use cudarc::nvrtc::Ptx;
use tacit_ot::DeviceError;
use tacit_ot::silent::{Device, DeviceHalf, HalfStart};

use self::queue::Queue;
use crate::Error;
use crate::half::take_over;
use crate::machine::Kernel;

/// The number of blocks of threads for a multiprocessor, each with 32 KiB of shared memory.
const BLOCKS_EACH: u32 = 6;

/// A card.
pub struct Card {
    number: usize,
    name: String,
    context: Arc<CudaContext>,
    multiprocessors: u32,
    kernels: OnceLock<Result<Arc<Kernels>, Error>>,
}

/// The kernels, compiled for a card.
type Kernels = [CudaFunction; Kernel::ALL.len()];

/// Returns the error of a call of the driver.
fn driver_error(call: &'static str) -> impl Fn(DriverError) -> Error {
    move |error| Error::Driver {
        call,
        code: error.0 as u32,
    }
}

/// Returns the error of a call of the driver for a half.
fn device_error(call: &'static str) -> impl Fn(DriverError) -> DeviceError {
    move |error| DeviceError::Failed {
        call,
        code: error.0 as u32,
    }
}

impl Card {
    /// Returns the number of cards.
    ///
    /// # Errors
    ///
    /// There is no driver, or it fails.
    pub fn count() -> Result<usize, Error> {
        // SAFETY: it loads the driver's library, whose initialisers are trusted as the driver is.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error::NoDriver);
        }
        match result::init().and_then(|()| result::device::get_count()) {
            Ok(count) => Ok(count.max(0) as usize),
            Err(error) if error.0 == sys::CUresult::CUDA_ERROR_NO_DEVICE => Ok(0),
            Err(error) => Err(driver_error("cuInit")(error)),
        }
    }

    /// Returns the card of this number, from 0, in the driver's order.
    ///
    /// # Errors
    ///
    /// There is no driver or no such card, or the driver fails.
    pub fn open(number: usize) -> Result<Self, Error> {
        let found = Self::count()?;
        if number >= found {
            return Err(Error::NoCard { number, found });
        }
        let context = CudaContext::new(number).map_err(driver_error("cuCtxCreate"))?;
        let count = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let count = context.attribute(count);
        let count = count.map_err(driver_error("cuDeviceGetAttribute"))?;
        Ok(Self {
            number,
            name: context.name().map_err(driver_error("cuDeviceGetName"))?,
            context,
            multiprocessors: count.max(1) as u32,
            kernels: OnceLock::new(),
        })
    }

    /// Compiles the kernels, if that is not done yet.
    ///
    /// # Errors
    ///
    /// There is no compiler, or it or the driver fails.
    pub fn compile(&self) -> Result<(), Error> {
        self.kernels().map(drop)
    }

    fn kernels(&self) -> Result<Arc<Kernels>, Error> {
        let compiled = self.kernels.get_or_init(|| self.load().map(Arc::new));
        compiled.clone()
    }

    fn load(&self) -> Result<Kernels, Error> {
        let capability = self.context.compute_capability();
        let (major, minor) = capability.map_err(driver_error("cuDeviceGetAttribute"))?;
        let binary = compile::compile(&format!("sm_{major}{minor}"))?;
        let module = self.context.load_module(Ptx::from_binary(binary));
        let module = module.map_err(driver_error("cuModuleLoadData"))?;
        let mut loaded = Vec::new();
        for kernel in Kernel::ALL {
            let function = module.load_function(kernel.name());
            let function = function.map_err(driver_error("cuModuleGetFunction"))?;
            let shared = kernel.shared_bytes() as i32;
            let set =
                function.set_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared);
            set.map_err(driver_error("cuFuncSetAttribute"))?;
            loaded.push(function);
        }
        let loaded: Result<Kernels, _> = loaded.try_into();
        loaded.map_err(|_| Error::NoCompiler)
    }
}

impl Device for Card {
    fn take_over(&self, half: HalfStart<'_>) -> Result<Box<dyn DeviceHalf>, DeviceError> {
        let kernels = self.kernels();
        let kernels = kernels.map_err(|error| match error {
            Error::Driver { call, code } => DeviceError::Failed { call, code },
            _ => DeviceError::Failed {
                call: "compiling its kernels",
                code: 0,
            },
        })?;
        take_over(Queue::new(self, kernels)?, half)
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GPU {} ({})", self.number, self.name)
    }
}

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Card({}, ..)", self.number)
    }
}
