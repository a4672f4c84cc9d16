//! The garbler of a run.

use subtle::Choice;
use tacit_function::Role;
use tacit_kernels::Prg;
use zeroize::Zeroizing;

use super::garbling::{Garbling, Proof, input_label, label_rules};
use super::messages;
use super::run::{Proven, RunState};
use crate::Error;
use crate::bits::{check_bits, pack, unpack};
use crate::io::Io;
use crate::message::Kind;

/// Garbles all gates, and proves them to the evaluator.
pub(super) async fn prove<'f>(io: &mut Io<'_>, mut run: RunState<'f>) -> Result<Proven<'f>, Error> {
    let function = run.terms.function;
    // No label is active before this message: those of inputs come from a seed that is sent later.
    let others = io.receive(messages::masked_inputs(function, Role::Evaluator));
    let (mut garbling, mut proof, inputs) = begin(&mut run, others.await?)?;
    let mut inputs = Some(inputs);
    loop {
        let gates = run.next_gates(io).await?;
        let (count, epoch) = (gates.count(), &mut run.lots.epoch);
        let (mut own, mut others) = (Vec::new(), Vec::new());
        gates.open(epoch, &mut own);
        let openings = messages::gate_openings(count);
        if let Some(openings) = openings {
            others = io.receive(openings).await?.to_vec();
        }
        if let Some(inputs) = inputs.take() {
            *io.message() = inputs;
            io.send(messages::masked_inputs(function, Role::Garbler))?;
        }
        if let Some(openings) = openings {
            *io.message() = own;
            io.send(openings)?;
        }
        // Send the openings now: the evaluator works on them while its own are checked.
        io.breathe().await?;
        let gates = gates.check(epoch, &others)?.open(epoch);
        garbling.begin(epoch.buffers.take(count));
        for frame in &gates.frames {
            while !garbling.frame(&gates, *frame as usize, io.message()) {
                io.breathe().await?;
            }
            io.send(messages::tables(*frame as usize))?;
        }
        let is_last = run.has_ended();
        while is_last && !garbling.walk_to_end() {
            io.breathe().await?;
        }
        let labels = garbling.take_labels();
        let mut told = Vec::new();
        if let Some(values) = messages::masked_values(count) {
            told = io.receive(values).await?.to_vec();
            check_bits(Kind::MaskedValues, &told, count)?;
        }
        while !proof.add(&gates, &labels, &told, is_last) {
            io.breathe().await?;
        }
        gates.give_back(labels, &mut run.lots.epoch.buffers);
        if is_last {
            break;
        }
    }
    run.lots.epoch.end_run();
    let (zeros, masked) = proof.check(io.receive(messages::LABEL_DIGEST).await?)?;
    let proven = run.proven(masked);
    io.message().clear();
    io.message().extend_from_slice(&zeros);
    if function.saves().is_empty() {
        proven.open_results(io.message());
    }
    io.send(messages::gate_proof(function))?;
    Ok(proven)
}

/// Uses the evaluator's masked inputs to compute the labels and masked values before the first
/// gate, and the payload that gives the evaluator its first labels.
fn begin<'f>(
    run: &mut RunState<'f>,
    payload: &[u8],
) -> Result<(Garbling<'f>, Proof<'f>, Vec<u8>), Error> {
    let (terms, epoch) = (run.terms, &run.lots.epoch);
    let count = terms.function.input_bits(Role::Evaluator);
    check_bits(Kind::MaskedInputs, payload, count)?;
    let others = unpack(payload, count);
    let delta = Zeroizing::new(*epoch.delta());
    let seed = run.lots.rng.next_block();
    let mut labels = Prg::new(seed);
    let both = [&run.masked[..], &others[..]];
    let zero = |bit: bool| {
        let bit_of = Choice::from(u8::from(bit));
        input_label(&mut labels, bit) ^ delta.and_bit(bit_of)
    };
    let garbling = terms.walk(Role::Garbler, label_rules(*delta), both, zero)?;
    let proof = terms.walk(Role::Garbler, Proof::RULES, both, |bit| bit)?;
    let hash = terms.hash(epoch, run.number());
    let fold = terms.proof_fold(epoch, run.number());
    let mut inputs = seed.to_bytes().to_vec();
    inputs.extend_from_slice(&pack(&run.masked));
    let garbling = Garbling::new(garbling, hash, *delta);
    Ok((garbling, Proof::new(proof, *delta, fold), inputs))
}

#[cfg(test)]
pub(super) mod cheats;
