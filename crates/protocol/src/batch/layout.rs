//! A batch as both parties know it, and the bytes that are published of a circuit.
//!
//! | part | content |
//! |---|---|
//! | start | start point, 16 |
//! | tables | of all calls, then of the returned result's component |
//! | inputs | 2 commitments for each bit of the garbler, at position p to the label of p ⊕ m |
//! | outputs | 2 commitments for each bit, to O^0 and O^1 |
//! | second | 2 commitments for each bit of the evaluator and of D, to the second shares of 0 and 1 |
//! | λ | 1 commitment |
//! | lock | the seed of m and its pairs, under the labels of 0 of D's wires, 32 |
//! | first | 2 commitments for each encoded bit, to the first shares of 0 and 1 |
//! | pairs | 2 (s + 2) commitments to halves |
//! | seed | 1 commitment |
//!
//! The evaluator keeps the parts before `first`, and a hash of `pairs`. It needs the other parts
//! only until they are checked.

use core::ops::Range;

use tacit_circuit::Component;
use tacit_function::{Function, Role};
use tacit_garble::{Scheme, SchemeId};
use tacit_kernels::Block;

use super::consistency::Chaining;
use super::encoding::Encoding;
use super::offline::GROUP_BYTES;
use super::oracle::{Domain, HASH_BYTES, Hash, Oracle};
use super::plan::Plan;
use super::returned;
use crate::Error;
use crate::malicious::walk::Whole;
use crate::saved::keeps_under;
use crate::session::RunTag;

/// The number of bits of D. The evaluator has a wire for each, as for its input.
pub(super) const KEY_BITS: usize = 128;

/// The size of a lock in bytes.
pub(super) const LOCK_BYTES: usize = 32;

/// The largest number of bytes that are published of the circuits of one execution.
const MAX_EXECUTION_BYTES: u64 = 1 << 32;

/// The positions of the parts of the published data.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) tables: Range<usize>,
    pub(super) inputs: Range<usize>,
    pub(super) outputs: Range<usize>,
    pub(super) second: Range<usize>,
    pub(super) lambda: Range<usize>,
    pub(super) lock: Range<usize>,
    pub(super) first: Range<usize>,
    pub(super) pairs: Range<usize>,
    /// The number of bytes in all.
    pub(super) total: usize,
}

impl Layout {
    /// Returns the number of bytes that the evaluator keeps.
    pub(super) fn kept(&self) -> usize {
        self.first.start
    }
}

/// A batch as both parties know it: its function, and its numbers of circuits.
pub struct Batch<'f, S: Scheme> {
    pub(super) scheme: S,
    pub(super) function: &'f Function,
    pub(super) plan: Plan,
    pub(super) oracle: Oracle,
    /// The component that masks the garbler's result, if it gets one.
    pub(super) returned: Option<Component>,
    /// The number of bits of the garbler's input, including those added for its result.
    pub(super) input_bits: usize,
    /// The number of output bits of a circuit: the evaluator's, followed by those to be returned.
    pub(super) output_bits: usize,
    /// The number of bits of the evaluator's input.
    pub(super) choice_bits: usize,
    /// The encoding of the evaluator's input and D together.
    pub(super) encoding: Encoding,
    pub(super) chaining: Chaining,
    pub(super) layout: Layout,
    /// The size of the circuits of a group in bytes.
    pub(super) group_bytes: usize,
    /// The cheat of a test's garbler.
    #[cfg(test)]
    pub(super) spoiling: Option<super::tests::Spoiling>,
}

impl<'f, S: Scheme<Wire = Block>> Batch<'f, S> {
    /// Returns the batch of `plan` that is prepared in the run `tag`.
    ///
    /// # Errors
    ///
    /// The function has saved values or is too large, or the scheme does not have the ideal-cipher
    /// assumption, under which tables may be sent before inputs are chosen.
    pub fn new(scheme: S, function: &'f Function, plan: Plan, tag: &RunTag) -> Result<Self, Error> {
        Self::with_oracle(scheme, function, plan, Oracle::new(tag))
    }

    /// Returns the batch that was prepared under this [name](Self::name).
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new).
    pub fn named(
        scheme: S,
        function: &'f Function,
        plan: Plan,
        name: [u8; 16],
    ) -> Result<Self, Error> {
        Self::with_oracle(scheme, function, plan, Oracle::named(name))
    }

    fn with_oracle(
        scheme: S,
        function: &'f Function,
        plan: Plan,
        oracle: Oracle,
    ) -> Result<Self, Error> {
        check(scheme.id(), function)?;
        let result_bits = function.output_bits(Role::Garbler);
        let returned =
            match result_bits {
                0 => None,
                bits => Some(returned::component(bits).map_err(|_| {
                    Error::ApiMisuse("a result for the garbler that fits a circuit")
                })?),
            };
        let share = plan.share_bits();
        let input_bits = function.input_bits(Role::Garbler) + returned::added_inputs(result_bits);
        let output_bits =
            function.output_bits(Role::Evaluator) + returned::returned_bits(result_bits);
        let choice_bits = function.input_bits(Role::Evaluator);
        let encoding = Encoding::new(choice_bits + KEY_BITS, share + 1)?;
        let chaining = Chaining::new(input_bits, share);
        let whole = Whole {
            scheme,
            function,
            for_garbler: returned.clone(),
            for_evaluator: None,
        };
        let tables = whole.table_bytes();
        let layout = layout(tables, input_bits, output_bits, &encoding, chaining);
        let fits = |layout: &Layout| {
            let bytes = (layout.total as u64).checked_mul(plan.cut().bucket);
            bytes.is_some_and(|bytes| bytes <= MAX_EXECUTION_BYTES)
        };
        let layout = layout.filter(fits).ok_or(Error::ApiMisuse(
            "`batch` holds the circuits of an execution at once, at most 4 GiB of them; prepare \
             more executions together, which takes fewer circuits for each, or cut the function \
             into smaller ones",
        ))?;
        Ok(Self {
            scheme,
            function,
            plan,
            oracle,
            returned,
            input_bits,
            output_bits,
            choice_bits,
            encoding,
            chaining,
            layout,
            group_bytes: GROUP_BYTES,
            #[cfg(test)]
            spoiling: None,
        })
    }

    /// Returns the name that the batch's hashes are bound to. It is stored with the executions.
    pub fn name(&self) -> [u8; 16] {
        self.oracle.name()
    }

    /// Returns the garbling scheme.
    pub fn scheme(&self) -> S {
        self.scheme
    }

    /// Returns the plan.
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// Returns the function.
    pub fn function(&self) -> &'f Function {
        self.function
    }

    /// Returns the function to garble, with the results of the garbler.
    pub(super) fn whole(&self) -> Whole<'f, S> {
        Whole {
            scheme: self.scheme,
            function: self.function,
            for_garbler: self.returned.clone(),
            for_evaluator: None,
        }
    }

    /// Returns B: the number of circuits of an execution.
    pub(super) fn bucket(&self) -> usize {
        self.plan.cut().bucket as usize
    }

    /// Returns M: the number of all circuits.
    pub(super) fn circuits(&self) -> u32 {
        // A cut has at most 2^22.
        self.plan.cut().circuits as u32
    }

    /// Returns the number of bytes that are published of an execution's circuits.
    pub(super) fn execution_bytes(&self) -> usize {
        self.bucket() * self.layout.total
    }

    /// Returns the number of bytes that are sent for all neighbours of a chain.
    pub(super) fn steps_bytes(&self) -> usize {
        (self.bucket() - 1) * self.chaining.step_bytes()
    }

    /// Returns the hash of a circuit's commitments to halves, which the evaluator keeps.
    pub(super) fn hash_pairs(&self, number: u32, commitments: &[u8]) -> Hash {
        self.oracle.parts(Domain::Pairs, number, 0, &[commitments])
    }
}

/// Checks that `batch` can run `function` under a scheme.
fn check(scheme: SchemeId, function: &Function) -> Result<(), Error> {
    crate::direct::check_without_values(function, "batch")?;
    if !keeps_under(scheme) {
        return Err(Error::ApiMisuse(
            "`batch` sends tables before inputs are chosen: half-gates or three-halves",
        ));
    }
    Ok(())
}

/// A cursor that cuts off parts of given lengths, one after the other.
struct Parts(usize);

impl Parts {
    fn next(&mut self, bytes: usize) -> Range<usize> {
        let start = self.0;
        self.0 += bytes;
        start..self.0
    }
}

fn layout(
    tables: Option<usize>,
    input_bits: usize,
    output_bits: usize,
    encoding: &Encoding,
    chaining: Chaining,
) -> Option<Layout> {
    let tables = tables.filter(|bytes| *bytes as u64 <= MAX_EXECUTION_BYTES)?;
    let mut parts = Parts(Block::BYTES);
    Some(Layout {
        tables: parts.next(tables),
        inputs: parts.next(2 * input_bits * HASH_BYTES),
        outputs: parts.next(2 * output_bits * HASH_BYTES),
        second: parts.next(2 * encoding.bits() * HASH_BYTES),
        lambda: parts.next(HASH_BYTES),
        lock: parts.next(LOCK_BYTES),
        first: parts.next(2 * encoding.encoded_bits() * HASH_BYTES),
        pairs: parts.next(chaining.commitment_bytes()),
        total: parts.next(HASH_BYTES).end,
    })
}
