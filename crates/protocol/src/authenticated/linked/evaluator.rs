//! The evaluator of a run from instances.

use tacit_function::{Outputs as Results, Role};
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::super::epoch::Epoch;
use super::super::evaluating::{Evaluating, LABEL_RULES};
use super::super::oracle::{Domain, Oracle};
use super::super::rows::{CheckingRows, row_bytes};
use super::super::share::Share;
use super::super::terms::{Terms, open_results, results};
use super::calls::Following;
use super::kept::{EvaluatorSide, Side as _};
use super::linking::{Followed, LinkedWires, Linking, follow};
use super::wiring::{Leaves, Wiring};
use super::{FRAME_LINKS, LinkedRun, check_inputs, messages};
use crate::bits::{check_bits, pack, unpack};
use crate::io::Io;
use crate::message::Kind;
use crate::prepared::Instances;
use crate::{Error, Misbehaviour};

impl<'r> LinkedRun<'r> {
    /// Runs the evaluator's side and returns its output bits, in port order. `inputs` are its input
    /// bits in port order, and `instances` its halves of instances, one for each call.
    ///
    /// # Errors
    ///
    /// The number of `inputs` is not what the function takes from the evaluator, an instance is not
    /// available or belongs to another lot or component, [`check_linked`](super::check_linked)
    /// refuses the function, the garbler cheats, or the wire fails.
    pub async fn evaluate<I>(
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
        let mut inputs = check_inputs(function, &wiring, Role::Evaluator, inputs)?;
        let how = (&wiring, self.ordered_at);
        let mut linking = Box::new(Linking::<EvaluatorSide>::new(function, how, instances)?);
        while !linking.walk() {
            io.breathe().await?;
        }
        let found = Box::new(linking.finish());
        let run = found.run();
        let epoch = Epoch::of_stock(Role::Evaluator, self.id, *found.delta, run);

        // A masked input may be sent only after the garbler's openings are checked.
        let closed = found.close(&wiring);
        closed.open(terms, &epoch, run, io.message());
        let own = messages::link_masks(closed.bytes(Role::Garbler));
        let expected = messages::link_masks(closed.bytes(Role::Evaluator));
        let payload = io.receive(expected).await?;
        let checked = closed.check(terms, &wiring, (&epoch, run), payload)?;
        io.send(own)?;
        for (input, mask) in inputs.iter_mut().zip(checked.masks.iter()) {
            *input ^= mask;
        }
        *io.message() = pack(&inputs);
        io.send(messages::masked_inputs(&wiring, Role::Evaluator))?;

        let mut links = Links {
            wiring: &wiring,
            found: &found,
            differences: &checked.differences,
            links: Zeroizing::new(vec![Block::ZERO; wiring.wires()]),
        };
        links.receive(io, Leaves::Early).await?;
        let expected = messages::masked_inputs(&wiring, Role::Garbler);
        let payload = io.receive(expected).await?;
        let count = wiring.wires_of(Role::Garbler).count();
        check_bits(Kind::MaskedInputs, payload, count)?;
        let masked = wiring.all_inputs(&unpack(payload, count), &inputs);
        links.receive(io, Leaves::Late).await?;
        let links = links.links;
        let mut opening = Vec::new();
        let evaluators = messages::result_opening(function, Role::Evaluator);
        if let Some(expected) = evaluators {
            opening = io.receive(expected).await?.to_vec();
        }

        let ended = self.prove(io, (epoch, *found), links, &masked).await?;
        let outputs = match evaluators {
            None => Zeroizing::default(),
            Some(_) => ended.open(terms, &opening)?,
        };
        if let Some(answer) = messages::result_opening(function, Role::Garbler) {
            ended.answer(terms, io.message());
            io.send(answer)?;
        }
        Ok(outputs)
    }

    /// Evaluates all gates. Succeeds only if the rows of each are right. Nothing is sent before
    /// that.
    async fn prove(
        &self,
        io: &mut Io<'_>,
        (mut epoch, found): (Epoch, LinkedWires<'r, EvaluatorSide>),
        links: Zeroizing<Vec<Block>>,
        masked: &[bool],
    ) -> Result<UnopenedRun<'r>, Error> {
        let run = found.run();
        let LinkedWires {
            numbers,
            mut pieces,
            results,
            ..
        } = found;
        let walk = follow(self.terms.function, LABEL_RULES, numbers, links, masked)?;
        let mut evaluating = Box::new(self.evaluating(&epoch, run, walk));
        while let Some((count, piece)) = pieces.pop_front() {
            let (gates, tables, rows) = piece.open(*epoch.delta());
            evaluating.begin(epoch.buffers.take(count));
            evaluating.load(tables, rows)?;
            let last = pieces.is_empty();
            while !(evaluating.evaluate(&gates) && (!last || evaluating.walk_to_end())) {
                io.breathe().await?;
            }
            evaluating.end_lot();
            evaluating.fold(gates, &mut epoch.buffers);
        }
        evaluating.check_rows()?;
        Ok(UnopenedRun {
            labels: evaluating.finish().1,
            epoch,
            run,
            results,
        })
    }

    /// Returns the walk over the gates, with a check of their rows.
    fn evaluating<'f>(
        &self,
        epoch: &Epoch,
        run: u64,
        walk: Followed<'f>,
    ) -> Evaluating<'f, Following<'f, Block>> {
        let terms = &self.terms;
        let hash = epoch.hash(terms.construction, Domain::InstanceStart, 0);
        let rows = epoch.hash(terms.construction, Domain::RowStart, 0);
        let rows = CheckingRows::new(rows, row_bytes(self.ordered_at));
        Evaluating::new(walk, hash, terms.proof_fold(epoch, run)).with_rows(Some(rows))
    }
}

/// The links to wires, while they arrive.
struct Links<'a, 'f> {
    wiring: &'a Wiring,
    found: &'a LinkedWires<'f, EvaluatorSide>,
    /// d of each wire.
    differences: &'a [bool],
    /// The link to each wire that has arrived.
    links: Zeroizing<Vec<Block>>,
}

impl Links<'_, '_> {
    /// Takes all links that are sent at this stage. This party's MAC of d completes each link. Bit
    /// 0 of the complete link is d, which both parties know.
    async fn receive(&mut self, io: &mut Io<'_>, when: Leaves) -> Result<(), Error> {
        let wires: Vec<usize> = self.wiring.sent(when, 0).collect();
        for wires in wires.chunks(FRAME_LINKS) {
            let payload = io.receive(messages::links(wires.len())).await?;
            let mut differs = false;
            for (wire, part) in wires.iter().zip(payload.as_chunks().0) {
                let own = EvaluatorSide::mask(self.found.sums[*wire]).mac;
                let link = Block::from_bytes(*part) ^ own;
                differs |= bool::from(link.lsb()) != self.differences[*wire];
                self.links[*wire] = link;
            }
            if differs {
                return Err(Misbehaviour::invalid(Kind::AuthenticatedLinks, "select bit").into());
            }
        }
        Ok(())
    }
}

/// A run whose gates are proven by rows, and whose results are not opened.
struct UnopenedRun<'f> {
    epoch: Epoch,
    run: u64,
    labels: Results<'f, Block>,
    results: Results<'f, Share>,
}

impl UnopenedRun<'_> {
    fn masks(&self, role: Role) -> Zeroizing<Vec<Share>> {
        let delta = *self.epoch.delta();
        let results = self.results.of(role);
        Zeroizing::new(results.iter().map(|mask| mask.turned(delta)).collect())
    }

    fn oracle(&self, terms: &Terms<'_>, from: Role) -> Oracle {
        terms.oracle(&self.epoch, Domain::ResultMacs, Some(from), self.run)
    }

    /// Opens this party's results.
    fn open(&self, terms: &Terms<'_>, opening: &[u8]) -> Result<Zeroizing<Vec<bool>>, Error> {
        let role = Role::Evaluator;
        let macs = self.oracle(terms, Role::Garbler);
        let labels = self.labels.of(role);
        let masked = labels.iter().map(|label| label.lsb().into());
        let delta = *self.epoch.delta();
        let opening = (Kind::ResultOpening, opening);
        results(macs, delta, &self.masks(role), masked, opening)
    }

    /// Opens the garbler's results. Sends the shares of its masks with the labels added, because
    /// the garbler knows no masked value.
    fn answer(&self, terms: &Terms<'_>, message: &mut Vec<u8>) {
        let mut masks = self.masks(Role::Garbler);
        let labels = self.labels.of(Role::Garbler);
        for (mask, label) in masks.iter_mut().zip(labels.iter()) {
            mask.mac ^= *label;
        }
        message.clear();
        open_results(self.oracle(terms, Role::Evaluator), &masks, message);
    }
}
