//! Values that a run loads and saves: the labels that both parties keep.

use tacit_function::Function;
use tacit_garble::{Garbler, Scheme, SchemeId};
use tacit_kernels::Block;
use zeroize::Zeroizing;

use crate::Error;
use crate::saved::{
    ChainId, GATE_BYTES, GarblerHalf, Labels, check_loads, keeps_under, write_gates,
};

/// The saved state that a run continues from: the chain, if there is one, and this party's half of
/// each value that the function loads, in order.
#[derive(Clone, Copy)]
pub struct Past<'a, V> {
    /// The chain.
    pub chain: Option<ChainId>,
    /// The values.
    pub loads: &'a [V],
}

impl<V> Past<'_, V> {
    /// The state of a run that loads nothing.
    pub const NOTHING: Self = Self {
        chain: None,
        loads: &[],
    };
}

/// Checks that `prepared` can run `function` under `scheme`.
///
/// # Errors
///
/// [`Error::SchemeKeepsNothing`] if the function saves or loads values, and the scheme does not
/// support that.
pub fn check(function: &Function, scheme: SchemeId) -> Result<(), Error> {
    if function.has_saved_values() && !keeps_under(scheme) {
        return Err(Error::SchemeKeepsNothing { scheme });
    }
    Ok(())
}

/// Checks that `function` can load `loads` in `chain` under `scheme`, and save its own values.
pub(super) fn check_past<'a, S: Scheme>(
    scheme: S,
    function: &Function,
    chain: Option<ChainId>,
    loads: impl ExactSizeIterator<Item = &'a Labels>,
) -> Result<(), Error> {
    check(function, scheme.id())?;
    check_loads(chain, 1, loads, function.loads())
}

/// Returns the label of 0 of a wire, under the Δ that all wires share.
pub(super) fn label_of_0<G: Garbler>(garbler: &G, wire: &G::Wire, delta: Block) -> Block {
    let (label, value) = garbler.label_with_select(wire, false);
    label ^ delta.and_bit(u8::from(value).into())
}

/// Returns the links from the labels of `loads`, which may be under another Δ, to the wires `to`.
pub(super) fn links_of_saved<G: Garbler>(
    garbler: &G,
    (start, delta): (Block, Block),
    loads: &[GarblerHalf],
    to: &[G::Wire],
) -> Vec<u8> {
    let to = to.iter().map(|wire| label_of_0(garbler, wire, delta));
    let to = Zeroizing::new(to.collect::<Vec<_>>());
    let from = loads.iter().flat_map(|half| &half.0.copies);
    let mut links = Vec::with_capacity(to.len() * GATE_BYTES);
    write_gates(start, from, &to, delta, &mut links);
    links
}
