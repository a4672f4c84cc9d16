//! Checks which values may go into which ports: types are compared by the meaning of their bits.
//!
//! `bit`, `bits[n]` and `bytes[n]` mean just bits. They go anywhere, and anything goes into them,
//! if the widths agree. A number goes where the same kind of number of the same width is expected,
//! in arrays of any shape.

use tacit_circuit::{Kind, Type};

/// Returns the type of the numbers in a value, or `None` if its bits are just bits.
fn number(mut ty: &Type) -> Option<&Type> {
    loop {
        match ty.kind() {
            Kind::Array(of, _) => ty = of,
            Kind::Bit | Kind::Bits(_) | Kind::Bytes(_) => return None,
            Kind::Unsigned(_) | Kind::Signed(_) | Kind::Fixed { .. } => return Some(ty),
        }
    }
}

/// Whether the bits of a `from` mean the same as those of a `to`.
pub(super) fn reads_as(from: &Type, to: &Type) -> bool {
    match (number(from), number(to)) {
        (Some(from), Some(to)) => from == to,
        _ => true,
    }
}
