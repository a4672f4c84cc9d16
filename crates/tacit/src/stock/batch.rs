//! Checked batches: prepared into the stock, and run from it, one execution a run.
//!
//! | file | what it does |
//! |---|---|
//! | `prepare` | fills the stock: one lot for each batch, published when both have checked it |
//! | `run` | leases an execution at both parties, and runs it |
//!
//! An execution is an instance of a kind, as a garbled component is; its record begins, where the
//! tables are, with the batch that it belongs to: the plan and the name that its hashes are bound
//! to, [`HEADER_BYTES`]. **The kind** says of what function, at which s, and how many circuits an
//! execution has, since the size of its record follows from these. Its digest is the
//! first 31 bytes of a hash of the function and s, then the size of a bucket, so that a run finds
//! all batches of its function whatever their plans.
//!
//! **Tries are counted** ([`tries`](super::tries)): the evaluator plans a batch at an s that is
//! raised for those that this peer began and did not finish, and tells the garbler that s before
//! both make the batch. A batch whose peer was caught in a run is set aside by both, and counted,
//! too.
//!
//! The whole batch is one lot, which is pending when this party's offline stage has ended well and
//! published when the other's has, too: a failed check or a connection lost before leaves nothing.

mod prepare;
mod run;

use sha2::{Digest as _, Sha256};
use tacit_function::{Function, Role};
use tacit_garble::{HalfGates, Scheme, SchemeId, ThreeHalves};
use tacit_kernels::{Block, Construction};
use tacit_protocol::batch::plan::MAX_EXECUTIONS;
use tacit_protocol::batch::{Batch, EvaluatorExecution, GarblerExecution, Plan};
use tacit_stock::{ComponentDigest, MAX_INSTANCE_BYTES, Shape};

use super::OpenedStock;
use crate::Error;

pub use prepare::{BatchPreparation, Executions};
pub(crate) use run::{BatchOutcome, BatchRun};
pub use tacit_protocol::batch::{Bound as BatchBound, Plan as BatchPlan};

/// Bytes of a batch's name.
pub(crate) const NAME_BYTES: usize = 16;

/// What the record of an execution says of its batch: the plan, then the name.
const HEADER_BYTES: usize = Plan::BYTES + NAME_BYTES;

/// Bytes of a kind that the function and s decide.
const FAMILY_BYTES: usize = 31;

/// What all kinds of executions of a function at one s begin with.
pub(crate) fn family(function: &Function, statistical_security_bits: u8) -> [u8; FAMILY_BYTES] {
    let hash = Sha256::new_with_prefix(b"tacit batch kind 2\0")
        .chain_update(function.digest().0)
        .chain_update([statistical_security_bits])
        .finalize();
    let mut family = [0; FAMILY_BYTES];
    family.copy_from_slice(&hash[..FAMILY_BYTES]);
    family
}

/// The kind under which executions of `plan` are kept, which are ordered at this s. The plan's own
/// is higher where it was charged for tries.
fn kind_of(
    function: &Function,
    statistical_security_bits: u8,
    plan: &Plan,
) -> Result<ComponentDigest, Error> {
    let bucket = u8::try_from(plan.cut().bucket);
    let bucket = bucket.map_err(|_| Error::ApiMisuse("buckets of at most 255 circuits"))?;
    let mut kind = [bucket; 32];
    kind[..FAMILY_BYTES].copy_from_slice(&family(function, statistical_security_bits));
    Ok(ComponentDigest(kind))
}

/// The kinds of executions of `function` of which both parties had something when they met, in
/// an order that both know.
fn kinds_in_stock(
    opened: &OpenedStock,
    function: &Function,
    statistical_security_bits: u8,
) -> Vec<ComponentDigest> {
    let family = family(function, statistical_security_bits);
    let kinds = opened.agreement.kinds.iter();
    let kinds = kinds.filter(|agreed| agreed.available > 0 && agreed.kind.0.starts_with(&family));
    let mut kinds: Vec<_> = kinds.map(|agreed| agreed.kind).collect();
    kinds.sort_unstable();
    kinds
}

/// Refuses a scheme that `batch` does not run under.
pub(crate) fn check_scheme(id: SchemeId) -> Result<(), Error> {
    with_batch_scheme(id, Nothing)
}

/// Does nothing with a scheme: that there is one is all that is asked.
struct Nothing;

impl BatchVisitor for Nothing {
    type Output = ();

    fn visit<S: Scheme<Wire = Block>>(self, _scheme: S) {}
}

/// What people call executions of `function`.
fn name_of(function: &Function, statistical_security_bits: u8) -> String {
    let name = function.name();
    format!("{name}, checked executions at s = {statistical_security_bits}")
}

/// How large an execution of `batch` is at a party.
///
/// # Errors
///
/// It is too large for a stock, at the evaluator. Both parties say so.
fn shape<S: Scheme<Wire = Block>>(role: Role, batch: &Batch<'_, S>) -> Result<Shape, Error> {
    let evaluators = EvaluatorExecution::bytes(batch);
    let table_bytes = HEADER_BYTES + evaluators.published;
    let bytes = kept_bytes(batch);
    if bytes > MAX_INSTANCE_BYTES {
        return Err(Error::ExecutionTooLarge {
            function: batch.function().name().to_owned(),
            executions: batch.plan().executions(),
            bytes,
            limit: MAX_INSTANCE_BYTES,
            enough: fitting(batch),
        });
    }
    Ok(match role {
        Role::Garbler => Shape {
            secret_bytes: GarblerExecution::bytes(batch) as u32,
            table_bytes: HEADER_BYTES as u32,
        },
        Role::Evaluator => Shape {
            secret_bytes: evaluators.secret as u32,
            table_bytes: table_bytes as u32,
        },
    })
}

/// Bytes of an execution's record at the evaluator, with room for the tag that the stock adds.
fn kept_bytes<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>) -> u64 {
    let evaluators = EvaluatorExecution::bytes(batch);
    (evaluators.secret + HEADER_BYTES + evaluators.published) as u64 + 64
}

/// How many executions, prepared together, take so few circuits each that one fits into a stock: a
/// power of two, if any number does.
fn fitting<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>) -> Option<u64> {
    let (function, bits) = (batch.function(), batch.plan().statistical_security_bits());
    let mut counts = (0..=MAX_EXECUTIONS.ilog2()).map(|power| 1 << power);
    counts.find(|executions| {
        let plan = Plan::cheapest(function, *executions, bits);
        let of_plan = |plan| Batch::named(batch.scheme(), function, plan, [0; NAME_BYTES]);
        plan.and_then(of_plan)
            .is_ok_and(|batch| kept_bytes(&batch) <= MAX_INSTANCE_BYTES)
    })
}

/// What an execution's record says of its batch.
fn header<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>) -> Vec<u8> {
    [&batch.plan().to_bytes()[..], &batch.name()].concat()
}

/// What is done with a scheme whose tables may be sent before inputs are chosen.
pub(crate) trait BatchVisitor {
    /// The result.
    type Output;

    /// Does it.
    fn visit<S: Scheme<Wire = Block>>(self, scheme: S) -> Self::Output;
}

/// Gives the scheme named `id` to `visitor`.
///
/// # Errors
///
/// `batch` does not run under it.
pub(crate) fn with_batch_scheme<V: BatchVisitor>(
    id: SchemeId,
    visitor: V,
) -> Result<V::Output, Error> {
    Ok(match id {
        SchemeId::HALF_GATES_TWO_CALL => visitor.visit(HalfGates::new(Construction::TwoCall)),
        SchemeId::HALF_GATES_REKEYED => visitor.visit(HalfGates::new(Construction::Rekeyed)),
        SchemeId::THREE_HALVES => visitor.visit(ThreeHalves::new()),
        _ => return Err(Error::SchemeNotForBatch { scheme: id }),
    })
}
