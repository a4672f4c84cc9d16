//! The garbler of a run from instances.

use tacit_function::{Function, Outputs as Results, Role, Values};
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::super::epoch::Epoch;
use super::super::garbling::label_rules;
use super::super::oracle::{Domain, Oracle};
use super::super::share::Share;
use super::super::terms::{Terms, open_results, results};
use super::kept::{GarblerSide, GarblerWire, Side as _};
#[cfg(test)]
use super::linking::LinkedWires;
use super::linking::Linking;
use super::wiring::{Leaves, Wiring};
use super::{FRAME_LINKS, LinkedRun, check_inputs, messages};
use crate::Error;
use crate::bits::{append_blocks, check_bits, pack, unpack};
use crate::io::Io;
use crate::message::Kind;
use crate::prepared::Instances;

impl LinkedRun<'_> {
    /// Runs the garbler's side and returns its output bits, in port order. `inputs` are its input
    /// bits in port order, and `instances` its halves of instances, one for each call.
    ///
    /// # Errors
    ///
    /// The number of `inputs` is not what the function takes from the garbler, an instance is not
    /// available or belongs to another lot or component, [`check_linked`](super::check_linked)
    /// refuses the function, the evaluator cheats, or the wire fails.
    pub async fn garble<I>(
        self,
        io: &mut Io<'_>,
        inputs: &[bool],
        instances: I,
    ) -> Result<Zeroizing<Vec<bool>>, Error>
    where
        I: Instances<Instance = Zeroizing<Vec<u8>>>,
    {
        let (terms, function) = (&self.terms, self.terms.function);
        let wiring = Wiring::of(function)?;
        let inputs = check_inputs(function, &wiring, Role::Garbler, inputs)?;
        let linking = Linking::<GarblerSide>::new(function, (&wiring, self.ordered_at), instances)?;
        let mut linking = Box::new(linking);
        while !linking.walk() {
            io.breathe().await?;
        }
        #[cfg_attr(not(test), expect(unused_mut))]
        let mut found = Box::new(linking.finish());
        let run = found.run();
        let epoch = Epoch::of_stock(Role::Garbler, self.id, *found.delta, run);

        let closed = found.close(&wiring);
        closed.open(terms, &epoch, run, io.message());
        io.send(messages::link_masks(closed.bytes(Role::Evaluator)))?;
        #[cfg(test)]
        cheats::turn_link(&mut found);
        let early: Vec<usize> = wiring.sent(Leaves::Early, 0).collect();
        for wires in early.chunks(FRAME_LINKS) {
            let links = wires.iter().map(|wire| link(found.sums[*wire]));
            send_links(io, &Zeroizing::new(links.collect()))?;
        }
        let expected = messages::link_masks(closed.bytes(Role::Garbler));
        let payload = io.receive(expected).await?;
        let checked = closed.check(terms, &wiring, (&epoch, run), payload)?;

        // Active labels, and the links from public labels to wires, exist only once the evaluator's
        // masked inputs are there.
        let expected = messages::masked_inputs(&wiring, Role::Evaluator);
        let payload = io.receive(expected).await?;
        let count = wiring.wires_of(Role::Evaluator).count();
        check_bits(Kind::MaskedInputs, payload, count)?;
        let others = unpack(payload, count);
        let own = inputs.iter().zip(checked.masks.iter());
        let own: Vec<bool> = own.map(|(input, mask)| input ^ mask).collect();
        let masked = wiring.all_inputs(&own, &others);
        *io.message() = pack(&own);
        io.send(messages::masked_inputs(&wiring, Role::Garbler))?;
        let rules = label_rules(*found.delta);
        let late: Vec<usize> = wiring.sent(Leaves::Late, 0).collect();
        for wires in late.chunks(FRAME_LINKS) {
            let links = wires.iter().map(|wire| {
                let input = wiring.source(*wire).is_some_and(|input| masked[input]);
                link(found.sums[*wire]) ^ rules.constant(input)
            });
            send_links(io, &Zeroizing::new(links.collect()))?;
        }

        let ended = UnopenedRun {
            masked: inputs_among_results(function, &masked)?,
            epoch,
            run,
            results: found.results,
        };
        if let Some(opening) = messages::result_opening(function, Role::Evaluator) {
            io.message().clear();
            let macs = ended.oracle(terms, Role::Garbler);
            open_results(macs, &ended.masks(Role::Evaluator), io.message());
            io.send(opening)?;
        }
        match messages::result_opening(function, Role::Garbler) {
            None => Ok(Zeroizing::default()),
            Some(opening) => ended.results(terms, io.receive(opening).await?),
        }
    }
}

/// Sends a frame of links.
fn send_links(io: &mut Io<'_>, links: &Zeroizing<Vec<Block>>) -> Result<(), Error> {
    io.message().clear();
    append_blocks(io.message(), links);
    io.send(messages::links(links.len()))
}

/// Returns the link to a wire, from the sum of its content and the content that leads to it. The
/// evaluator adds its MAC of d, which completes this part of dΔ. So nothing that the evaluator
/// sends enters the link.
fn link(sum: GarblerWire) -> Block {
    sum.label ^ GarblerSide::mask(sum).key
}

/// Returns the masked value of each result that is an input, and 0 for the others.
fn inputs_among_results<'f>(
    function: &'f Function,
    masked: &[bool],
) -> Result<Results<'f, bool>, Error> {
    let mut bits = masked.iter();
    let next = |_| Ok::<_, Error>(bits.next().copied().unwrap_or_default());
    let (mut values, mut none) = (Values::new(function, next)?, Vec::new());
    while let Some(call) = values.next_call(|_| false) {
        none.resize(call.component.circuit().output_bits(), false);
        values.finish_call(&none);
    }
    Ok(values.outputs(|_| false))
}

/// A run whose links are sent, and whose results are not opened.
struct UnopenedRun<'f> {
    epoch: Epoch,
    run: u64,
    results: Results<'f, GarblerWire>,
    /// The masked value of each result that is an input, and 0 for the others, whose masked values
    /// the garbler does not know.
    masked: Results<'f, bool>,
}

impl UnopenedRun<'_> {
    /// Returns the masks of the results of `role`.
    fn masks(&self, role: Role) -> Zeroizing<Vec<Share>> {
        let delta = *self.epoch.delta();
        let results = self.results.of(role);
        let masks = results.iter();
        let masks = masks.map(|wire| GarblerSide::mask(*wire).turned(delta));
        Zeroizing::new(masks.collect())
    }

    /// Returns the garbler's results from the evaluator's opening. The label of masked value 0 is
    /// added to each key. So the evaluator opens a result that only this party's bit of its mask
    /// hides.
    fn results(&self, terms: &Terms<'_>, payload: &[u8]) -> Result<Zeroizing<Vec<bool>>, Error> {
        let delta = *self.epoch.delta();
        let mut masks = self.masks(Role::Garbler);
        let rules = label_rules(delta);
        let wires = self.results.of(Role::Garbler);
        let inputs = self.masked.of(Role::Garbler);
        for ((mask, wire), input) in masks.iter_mut().zip(wires.iter()).zip(inputs.iter()) {
            // The label of an input is public.
            mask.key ^= wire.label ^ rules.constant(*input);
        }
        let macs = self.oracle(terms, Role::Evaluator);
        let masked = std::iter::repeat_n(false, masks.len());
        results(macs, delta, &masks, masked, (Kind::ResultOpening, payload))
    }

    fn oracle(&self, terms: &Terms<'_>, from: Role) -> Oracle {
        terms.oracle(&self.epoch, Domain::ResultMacs, Some(from), self.run)
    }
}

/// The deviations of a cheating garbler in tests, in the middle of a run.
#[cfg(test)]
pub(crate) mod cheats {
    use core::cell::Cell;

    use super::*;

    thread_local! {
        /// The wire for whose link this thread's garblers use the opposite of the opened d.
        pub(crate) static TURNED_LINK: Cell<Option<usize>> = const { Cell::new(None) };
    }

    pub(super) fn turn_link(found: &mut LinkedWires<'_, GarblerSide>) {
        if let Some(wire) = TURNED_LINK.get() {
            found.sums[wire].label ^= *found.delta;
        }
    }
}
