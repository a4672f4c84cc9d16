//! Marks secrets as undefined memory for valgrind's memcheck (tests only).
//!
//! Memcheck follows undefined bits through memory and registers, and reports each conditional jump
//! and each address that depends on one. So marking a secret as undefined reveals every branch and
//! every index on it (Langley, "Checking that functions are constant time with Valgrind", 2010).
//! Without valgrind, and on CPUs other than x86-64, these functions do nothing.
//!
//! A *client request* reaches memcheck: an instruction sequence that does nothing, with the address
//! of the arguments in rax (valgrind's manual, section 3.1). The numbers are those of `valgrind.h`
//! and `memcheck.h`.

#[cfg(target_arch = "x86_64")]
use core::arch::asm;

/// The request that asks whether valgrind runs this.
const RUNNING_ON_VALGRIND: usize = 0x1001;
/// The request for the number of errors.
const COUNT_ERRORS: usize = 0x1201;
/// Memcheck's own requests: 'M' and 'C' in the two highest of 32 bits.
const MAKE_MEM_UNDEFINED: usize = 0x4d43_0001;
/// See [`MAKE_MEM_UNDEFINED`].
const MAKE_MEM_DEFINED: usize = 0x4d43_0002;

/// Returns whether this runs under valgrind, so that marks have an effect.
pub fn is_watched() -> bool {
    request(RUNNING_ON_VALGRIND, 0, 0) != 0
}

/// Returns the number of errors that valgrind has reported so far.
pub fn errors() -> usize {
    request(COUNT_ERRORS, 0, 0)
}

/// Marks `value` as a secret.
pub fn hide<T: ?Sized>(value: &mut T) {
    mark(MAKE_MEM_UNDEFINED, value);
}

/// Marks `value` as public, even if it was computed from a secret.
pub fn reveal<T: ?Sized>(value: &T) {
    mark(MAKE_MEM_DEFINED, value);
}

fn mark<T: ?Sized>(mark: usize, value: &T) {
    let address = core::ptr::from_ref(value).cast::<u8>() as usize;
    request(mark, address, size_of_val(value));
}

/// Sends a request to valgrind; returns 0 without valgrind.
#[cfg(target_arch = "x86_64")]
fn request(number: usize, first: usize, second: usize) -> usize {
    let arguments = [number, first, second, 0, 0, 0];
    let mut answer = 0;
    // SAFETY: on a CPU the instructions leave all registers but the flags as they were: the
    // rotations add up to 128, and rbx is exchanged with itself. Valgrind puts the answer into rdx;
    // of memory it reads the arguments, and changes only its own notes on the program's.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

/// Returns 0: there is no valgrind to ask.
#[cfg(not(target_arch = "x86_64"))]
const fn request(_: usize, _: usize, _: usize) -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_change_no_value() {
        let mut value = [1, 2, 3];
        hide(&mut value);
        reveal(&value);
        assert_eq!(value, [1, 2, 3]);
        assert!(is_watched() || errors() == 0);
    }
}
