//! Compiles the kernels when they are needed, by NVRTC.

use std::ffi::{CStr, CString};

use cudarc::nvrtc::{result, sys};

use crate::Error;
use crate::machine::{Kernel, THREADS};

/// The kernels, after what they need on a card.
const SOURCE: [&str; 2] = [include_str!("../cuda.h"), include_str!("../kernels.cu")];

/// A program of NVRTC.
struct Program(sys::nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program was created and is destroyed once.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

/// Returns the kernels' machine code for a target such as `sm_90`.
pub(super) fn compile(target: &str) -> Result<Vec<u8>, Error> {
    // SAFETY: it loads the compiler's library, whose initialisers are trusted as the compiler is.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::NoCompiler);
    }
    let refused = |log: String| Error::NotCompiled {
        target: target.to_owned(),
        log,
    };
    let source = CString::new(SOURCE.concat());
    let source = source.map_err(|_| refused("a zero in the kernels".to_owned()))?;
    let created = result::create_program(&source, Some(c"kernels.cu"));
    let program = Program(created.map_err(|error| refused(error.to_string()))?);
    let options = [
        format!("--gpu-architecture={target}"),
        format!("-DTHREADS={THREADS}"),
        format!("-DTREE_BYTES={}", Kernel::Grow.shared_bytes()),
        "--std=c++17".to_owned(),
    ];
    // SAFETY: the program was created and not destroyed.
    if let Err(error) = unsafe { result::compile_program(program.0, &options) } {
        // SAFETY: the same. The log ends in a zero.
        let log = unsafe { result::get_program_log(program.0) };
        let log = log.map(|log| log.into_iter().map(|byte| byte as u8).collect::<Vec<_>>());
        let log = log.ok().and_then(|log| {
            let text = CStr::from_bytes_until_nul(&log).ok()?;
            Some(text.to_string_lossy().into_owned())
        });
        return Err(refused(format!("{error}: {}", log.unwrap_or_default())));
    }
    let mut bytes = 0;
    // SAFETY: the program was compiled, and `bytes` takes the size.
    let size = unsafe { sys::nvrtcGetCUBINSize(program.0, &raw mut bytes) };
    size.result().map_err(|error| refused(error.to_string()))?;
    let mut binary = vec![0_u8; bytes];
    // SAFETY: the program was compiled, and `binary` has room for as many bytes as it said.
    let code = unsafe { sys::nvrtcGetCUBIN(program.0, binary.as_mut_ptr().cast()) };
    code.result().map_err(|error| refused(error.to_string()))?;
    Ok(binary)
}
