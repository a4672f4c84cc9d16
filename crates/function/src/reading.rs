//! Which values may stand where: types are compared by what their bits mean.
//!
//! `bit`, `bits[n]` and `bytes[n]` mean bits and nothing else, so that they go anywhere and
//! anything goes into them, if the widths agree. A number goes where the same kind of number of
//! the same width is expected, in arrays of any shape. Some components of the library mean the same
//! for numbers of several kinds ([`alike`](tacit_components::library::alike)): a call of one takes
//! the kind of what it is given.

use tacit_circuit::{Kind, Port, Type};
use tacit_components::library::Alike;

/// The type of the numbers that a value is made of; nothing where its bits are only bits.
pub(super) fn number(mut ty: &Type) -> Option<&Type> {
    loop {
        match ty.kind() {
            Kind::Array(of, _) => ty = of,
            Kind::Bit | Kind::Bits(_) | Kind::Bytes(_) => return None,
            Kind::Unsigned(_) | Kind::Signed(_) | Kind::Fixed { .. } => return Some(ty),
        }
    }
}

/// Whether bits of a `from` mean the same as a `to`.
pub(super) fn reads_as(from: &Type, to: &Type) -> bool {
    match (number(from), number(to)) {
        (Some(from), Some(to)) => from == to,
        _ => true,
    }
}

/// The types of a component's ports in one call.
pub(super) struct PortTypes {
    pub(super) inputs: Vec<Type>,
    pub(super) outputs: Vec<Type>,
}

impl PortTypes {
    /// The types of these ports where `given` are the numbers that the call gives and takes, by
    /// port: of ports that are alike, those of the first that says its kind.
    pub(super) fn of_call(
        (inputs, outputs): (&[Port], &[Port]),
        alike: &[Alike],
        given: impl Fn(&str) -> Option<Type>,
    ) -> Self {
        let kind = |port: &Port| {
            let own = number(&port.ty)?;
            let group = alike
                .iter()
                .find(|one| one.ports.contains(&port.name.as_str()))?;
            let mut said = group.ports.iter().filter_map(|port| given(port));
            said.find(|ty| group.kinds.includes(ty) && ty.width() == own.width())
        };
        let types = |ports: &[Port]| {
            let ty = |port: &Port| match kind(port) {
                Some(kind) => of_numbers(&port.ty, &kind),
                None => port.ty.clone(),
            };
            ports.iter().map(ty).collect()
        };
        Self {
            inputs: types(inputs),
            outputs: types(outputs),
        }
    }
}

/// The same arrays of other numbers, which are as wide.
fn of_numbers(ty: &Type, number: &Type) -> Type {
    match ty.kind() {
        Kind::Array(of, n) => of_numbers(of, number).array(*n as usize),
        _ => number.clone(),
    }
}
