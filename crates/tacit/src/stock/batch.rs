//! Checked batches, which are prepared into the stock. Each run takes one execution from it.
//!
//! | file | what it does |
//! |---|---|
//! | `prepare` | fills the stock: one lot for each batch, published once both parties have checked it |
//! | `run` | leases an execution at both parties, and runs it |
//!
//! An execution is an instance of a kind, like a garbled component. In the place of the tables its
//! record starts with a header ([`HEADER_BYTES`]) that names its batch: the plan, and the name to
//! which the batch's hashes are bound. **The kind** stands for the function, s, and the number of
//! circuits per execution, since the size of a record follows from these. Its digest is the first
//! 31 bytes of a hash of the function and s, followed by the size of a bucket. So a run finds all
//! batches of its function, whatever their plans.
//!
//! **Tries are counted** ([`tries`](super::tries)). The evaluator plans a batch at an s that is
//! raised for the tries that this peer started and did not finish. It tells the garbler that s
//! before both make the batch. If the peer is caught in a run, both parties set the batch aside,
//! and this is counted, too.
//!
//! The whole batch is one lot. It is pending once this party's offline stage has ended well, and
//! published once the other party's has ended well, too. If a check fails or the connection is lost
//! before that, nothing is left.

mod prepare;
mod run;

use sha2::{Digest as _, Sha256};
use tacit_function::{Function, Role};
use tacit_garble::Scheme;
use tacit_kernels::Block;
use tacit_protocol::batch::plan::MAX_EXECUTIONS;
use tacit_protocol::batch::{Batch, EvaluatorExecution, GarblerExecution, Plan};
use tacit_stock::{ComponentDigest, InstanceSize, MAX_INSTANCE_BYTES};

use super::OpenedStock;
use crate::Error;

pub use prepare::{BatchPreparation, Executions};
pub(crate) use run::BatchRun;
pub use tacit_protocol::batch::{Bound as BatchBound, Plan as BatchPlan};

/// Bytes of a batch's name.
pub(crate) const NAME_BYTES: usize = 16;

/// The length of the header of an execution: the plan, then the name.
const HEADER_BYTES: usize = Plan::BYTES + NAME_BYTES;

/// The bytes of a kind that depend on the function and s alone.
const FAMILY_BYTES: usize = 31;

/// Returns the first bytes of all kinds of executions of a function at one s.
pub(crate) fn family(function: &Function, statistical_security_bits: u8) -> [u8; FAMILY_BYTES] {
    let hash = Sha256::new_with_prefix(b"tacit batch kind 2\0")
        .chain_update(function.digest().0)
        .chain_update([statistical_security_bits])
        .finalize();
    let mut family = [0; FAMILY_BYTES];
    family.copy_from_slice(&hash[..FAMILY_BYTES]);
    family
}

/// Returns the kind under which executions of `plan` are kept that were ordered at this s. The
/// plan's own s is higher if it was charged for tries.
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

/// Returns the kinds of executions of `function` that both parties had when they met, in an order
/// that both know.
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

/// Returns the name for people of executions of `function`.
fn name_of(function: &Function, statistical_security_bits: u8) -> String {
    let name = function.name();
    format!("{name}, checked executions at s = {statistical_security_bits}")
}

/// Returns the size of an execution of `batch` at a party.
fn instance_size<S: Scheme<Wire = Block>>(
    role: Role,
    batch: &Batch<'_, S>,
) -> Result<InstanceSize, Error> {
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
        Role::Garbler => InstanceSize {
            secret_bytes: GarblerExecution::bytes(batch) as u32,
            table_bytes: HEADER_BYTES as u32,
        },
        Role::Evaluator => InstanceSize {
            secret_bytes: evaluators.secret as u32,
            table_bytes: table_bytes as u32,
        },
    })
}

/// Returns the bytes of an execution's record at the evaluator, including the tag that the stock
/// adds.
fn kept_bytes<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>) -> u64 {
    let evaluators = EvaluatorExecution::bytes(batch);
    (evaluators.secret + HEADER_BYTES + evaluators.published) as u64 + 64
}

/// Returns the number of executions to prepare together so that each takes few enough circuits to
/// fit into a stock. It is a power of two, or `None` if no number is enough.
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

/// Returns the header of an execution's record, which names its batch.
fn header<S: Scheme<Wire = Block>>(batch: &Batch<'_, S>) -> Vec<u8> {
    [&batch.plan().to_bytes()[..], &batch.name()].concat()
}
