//! The garbler of a preparation.

use core::ops::Range;

use tacit_garble::Scheme;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::{DIGESTS, SEEDS, check};
use crate::batch::circuit::{CircuitSeed, Secrets};
use crate::batch::consistency::RANDOM_BYTES;
use crate::batch::cut::CheckSet;
use crate::batch::frames::Outgoing;
use crate::batch::messages;
use crate::batch::oracle::{Domain, HASH_BYTES, Hash};
use crate::batch::{Batch, Caught, Circuits, GarblerExecution, Plan, cheated, parallel};
use crate::io::Io;
use crate::message::{Kind, array};
use crate::party::OnlyPeer;
use crate::setup::{GarblerOt, extension};
use crate::{Error, Incompatibility};

impl<S: Scheme<Wire = Block>> Batch<'_, S> {
    /// Runs the garbler's side of a preparation. Stores the executions in `keep` and returns it.
    /// The bytes sent do not depend on the number of threads. `seed` is random, secret and used for
    /// this batch alone.
    ///
    /// # Errors
    ///
    /// The OTs are not maliciously secure, there are no threads, the evaluator has another plan or
    /// cheats, an execution cannot be kept, or the wire fails. The stored executions must not be
    /// used then.
    pub async fn prepare_as_garbler<C: Circuits<GarblerExecution>>(
        &self,
        io: &mut Io<'_>,
        ot: &mut GarblerOt,
        mut keep: C,
        threads: usize,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<C, Error> {
        check(ot.security(), threads)?;
        let making = Making {
            batch: self,
            root: seed,
            threads,
        };
        let committed = self.read_plan(io.receive(messages::plan(self)).await?)?;
        for first in (0..self.circuits()).step_by(DIGESTS) {
            let numbers = first..self.circuits().min(first + DIGESTS as u32);
            making.digest(numbers.clone(), io.message());
            io.send(messages::digests(numbers.len()))?;
            io.progressed(self.progress(numbers.end as usize));
        }

        let opened = io.receive(messages::CHECK_SET).await?;
        let what = (Domain::CheckSet, "the check set");
        self.check_opening(what, 0, &committed.check_set, opened)?;
        let set = CheckSet::choose(self, &array(Kind::CheckSet, opened)?);
        keep.begin()?;
        for numbers in set.checked.chunks(SEEDS) {
            io.message().clear();
            for number in numbers {
                io.message().extend_from_slice(&making.seed(*number).0);
            }
            io.send(messages::seeds(numbers.len()))?;
        }
        let opened = io.receive(messages::BUCKETS).await?;
        let what = (Domain::Buckets, "the buckets");
        self.check_opening(what, 0, &committed.buckets, opened)?;
        let buckets = set.buckets(self, &array(Kind::Buckets, opened)?);

        for executions in self.groups() {
            let chains = &buckets[executions.clone()];
            let circuits = making.publish(chains, io)?;
            let count = chains.len() * self.transfers();
            let first_transfer = ot.next_index();
            let mut q = Zeroizing::new(vec![Block::ZERO; count]);
            let expected = extension(ot.extension_bytes(count));
            ot.extend(&mut q, io.receive(expected).await?)?;
            let expected = messages::half_choices(self, chains.len());
            let choices = self.open_halves(&executions, &committed, io.receive(expected).await?)?;
            let group = Group {
                first: executions.start,
                chains,
                circuits,
                transfers: (first_transfer, q, ot.delta()),
                choices,
            };
            making.open(&group, &mut keep, io)?;
        }
        io.receive(messages::CHECKED).await?;
        Ok(keep)
    }

    /// Returns the evaluator's commitments, if its plan is this party's.
    fn read_plan(&self, payload: &[u8]) -> Result<Committed, Error> {
        let (plan, commitments) = payload.split_at(Plan::BYTES);
        let plan: [u8; Plan::BYTES] = array(Kind::BatchPlan, plan)?;
        let ours = self.plan.to_bytes();
        if plan != ours {
            return Err(Incompatibility::BatchPlan {
                ours: describe_plan(&ours),
                theirs: describe_plan(&plan),
            }
            .into());
        }
        let mut commitments = commitments.as_chunks::<HASH_BYTES>().0.iter().copied();
        let mut next = || commitments.next().unwrap_or_default();
        Ok(Committed {
            check_set: next(),
            buckets: next(),
            halves: commitments.collect(),
        })
    }

    /// Checks that `opened` is the choice `number` of those committed to.
    fn check_opening(
        &self,
        (domain, what): (Domain, &'static str),
        number: u32,
        commitment: &Hash,
        opened: &[u8],
    ) -> Result<(), Error> {
        if self.oracle.parts(domain, number, 0, &[opened]) == *commitment {
            return Ok(());
        }
        Err(cheated(Caught::CommittedChoice(what)))
    }

    /// Returns W of each execution of a group.
    fn open_halves(
        &self,
        executions: &Range<usize>,
        committed: &Committed,
        payload: &[u8],
    ) -> Result<Vec<Vec<u8>>, Error> {
        let openings = payload.chunks_exact(messages::half_choice_bytes(self));
        let openings = executions.clone().zip(openings);
        let opened = openings.map(|(number, opened)| {
            let commitment = &committed.halves[number];
            let what = (Domain::Halves, "halves");
            self.check_opening(what, number as u32, commitment, opened)?;
            Ok(opened[RANDOM_BYTES..].to_vec())
        });
        opened.collect()
    }
}

/// The evaluator's commitments.
struct Committed {
    check_set: Hash,
    buckets: Hash,
    halves: Vec<Hash>,
}

/// Describes the peer's plan for people.
fn describe_plan(bytes: &[u8; Plan::BYTES]) -> String {
    let (words, _) = bytes[1..].as_chunks::<8>();
    let [n, b, m] = core::array::from_fn(|i| u64::from_le_bytes(words[i]));
    format!(
        "{n} executions at s = {}: {m} circuits in buckets of {b}",
        bytes[0]
    )
}

/// The maker of circuits.
struct Making<'a, 'f, S: Scheme> {
    batch: &'a Batch<'f, S>,
    /// The seed from which each circuit's seed is derived.
    root: &'a [u8; 32],
    threads: usize,
}

/// A group of executions after all of them are published.
struct Group<'g> {
    first: usize,
    chains: &'g [Vec<u32>],
    circuits: Vec<Vec<Secrets>>,
    /// The number of the first OT, the results of the OTs, and Δ.
    transfers: (u64, Zeroizing<Vec<Block>>, Block),
    /// W of each execution.
    choices: Vec<Vec<u8>>,
}

impl<S: Scheme<Wire = Block>> Making<'_, '_, S> {
    fn seed(&self, number: u32) -> CircuitSeed {
        CircuitSeed::derive(&self.batch.oracle, self.root, number)
    }

    /// Makes a circuit, and appends its published bytes.
    fn make(&self, number: u32, out: &mut Vec<u8>) -> Secrets {
        let circuit = Secrets::derive(self.batch, number, self.seed(number));
        circuit.publish(self.batch, out);
        circuit
    }

    /// Writes the digests of circuits into a message.
    fn digest(&self, numbers: Range<u32>, message: &mut Vec<u8>) {
        let numbers: Vec<u32> = numbers.collect();
        let digests = parallel::map(self.threads, &numbers, |published, number| {
            self.make(*number, published);
            self.batch.digest(*number, published)
        });
        message.clear();
        message.extend_from_slice(digests.as_flattened());
    }

    /// Sends the circuits of a group, execution by execution, each followed by the steps of its
    /// chain.
    fn publish(&self, chains: &[Vec<u32>], io: &mut Io<'_>) -> Result<Vec<Vec<Secrets>>, Error> {
        let mut stream = Outgoing::default();
        let mut circuits = Vec::with_capacity(chains.len());
        for chain in chains {
            let mut made: Vec<Secrets> = Vec::with_capacity(chain.len());
            for numbers in chain.chunks(self.batch.together(self.threads)) {
                let out = stream.buffer();
                made.extend(parallel::append(
                    self.threads,
                    numbers,
                    out,
                    |out, number| self.make(*number, out),
                ));
                stream.send_full(io, OnlyPeer, messages::circuits)?;
            }
            for pair in made.windows(2) {
                pair[0].pairs.step(&pair[1].pairs, stream.buffer());
            }
            circuits.push(made);
        }
        stream.send_rest(io, OnlyPeer, messages::circuits)?;
        Ok(circuits)
    }

    /// Keeps the executions of a group, and sends their openings.
    fn open<C: Circuits<GarblerExecution>>(
        &self,
        group: &Group<'_>,
        keep: &mut C,
        io: &mut Io<'_>,
    ) -> Result<(), Error> {
        let transfers = self.batch.transfers();
        let (first_transfer, q, delta) = &group.transfers;
        let mut stream = Outgoing::default();
        for (index, circuits) in group.circuits.iter().enumerate() {
            let out = stream.buffer();
            for circuit in circuits {
                circuit.pairs.open(&group.choices[index], out);
            }
            let before = index * transfers;
            let first = first_transfer + before as u64;
            let q = &q[before..before + transfers];
            self.batch.offer(circuits, first, q, *delta, out);
            let chain = group.chains[index].iter();
            let execution = GarblerExecution {
                circuits: chain.map(|n| (*n, self.seed(*n))).collect(),
            };
            keep.keep((group.first + index) as u32, execution)?;
            stream.send_full(io, OnlyPeer, messages::openings)?;
        }
        stream.send_rest(io, OnlyPeer, messages::openings)
    }
}
