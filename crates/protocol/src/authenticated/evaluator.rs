//! The evaluator of a run.

use tacit_function::Role;
use tacit_kernels::{Block, Prg};

use super::caught::Caught;
use super::evaluating::{Evaluating, LABEL_RULES};
use super::fold::FOLD_BYTES;
use super::garbling::input_label;
use super::gates::ClosedGates;
use super::messages;
use super::oracle::compare;
use super::run::{Proven, RunState};
use crate::Error;
use crate::bits::{check_bits, pack, read_block, unpack};
use crate::io::Io;
use crate::message::Kind;

/// Evaluates all gates. Succeeds only if the garbler has proven that each gate is right. Before
/// that this party neither keeps the saved values nor opens the garbler's results.
pub(super) async fn prove<'f>(io: &mut Io<'_>, mut run: RunState<'f>) -> Result<Proven<'f>, Error> {
    let function = run.terms.function;
    *io.message() = pack(&run.masked);
    io.send(messages::masked_inputs(function, Role::Evaluator))?;
    let mut gates = open_next(io, &mut run).await?;
    let inputs = io.receive(messages::masked_inputs(function, Role::Garbler));
    let mut evaluating = begin(&run, inputs.await?)?;
    loop {
        let (count, epoch) = (gates.count(), &mut run.lots.epoch);
        let checked = match messages::gate_openings(count) {
            Some(openings) => gates.check(epoch, io.receive(openings).await?)?,
            None => gates.check(epoch, &[])?,
        };
        let opened = checked.open(epoch);
        evaluating.begin(epoch.buffers.take(count));
        for frame in &opened.frames {
            let payload = io.receive(messages::tables(*frame as usize)).await?;
            evaluating.receive(*frame as usize, payload)?;
            while !evaluating.evaluate(&opened) {
                io.breathe().await?;
            }
        }
        let is_last = run.has_ended();
        while is_last && !evaluating.walk_to_end() {
            io.breathe().await?;
        }
        let values = evaluating.end_lot();
        if let Some(message) = messages::masked_values(count) {
            io.message().clear();
            io.message().extend_from_slice(values);
            io.send(message)?;
        }
        // Send the values before the following work, because the garbler works on them.
        io.breathe().await?;
        evaluating.fold(opened, &mut run.lots.epoch.buffers);
        if is_last {
            break;
        }
        gates = open_next(io, &mut run).await?;
    }
    run.lots.epoch.end_run();
    let ([labels, zeros], outputs) = evaluating.finish();
    io.message().clear();
    io.message().extend_from_slice(&labels);
    io.send(messages::LABEL_DIGEST)?;

    let payload = io.receive(messages::gate_proof(function)).await?;
    let (proof, opening) = payload.split_at(FOLD_BYTES);
    compare(&zeros, proof, Caught::GateProof)?;
    let mut proven = run.proven(outputs.map(|label| label.lsb().into()));
    if function.saves().is_empty() {
        proven.outputs = proven.results(Kind::GateProof, opening)?;
    }
    Ok(proven)
}

/// Returns the next gates, for which this party has sent its openings.
async fn open_next(io: &mut Io<'_>, run: &mut RunState<'_>) -> Result<ClosedGates, Error> {
    let gates = run.next_gates(io).await?;
    if let Some(openings) = messages::gate_openings(gates.count()) {
        gates.open(&run.lots.epoch, io.message());
        io.send(openings)?;
    }
    Ok(gates)
}

/// Returns the evaluator before the first gate, with labels from the garbler's masked inputs and
/// the seed of labels.
fn begin<'f>(run: &RunState<'f>, payload: &[u8]) -> Result<Evaluating<'f>, Error> {
    let (terms, epoch) = (run.terms, &run.lots.epoch);
    let count = terms.function.input_bits(Role::Garbler);
    let (seed, bits) = payload.split_at(Block::BYTES);
    check_bits(Kind::MaskedInputs, bits, count)?;
    let (others, mut labels) = (unpack(bits, count), Prg::new(read_block(seed)));
    let walk = terms.walk(
        Role::Evaluator,
        LABEL_RULES,
        [&run.masked[..], &others[..]],
        |bit| input_label(&mut labels, bit),
    )?;
    let hash = terms.hash(epoch, run.number());
    let fold = terms.proof_fold(epoch, run.number());
    Ok(Evaluating::new(walk, hash, fold))
}
