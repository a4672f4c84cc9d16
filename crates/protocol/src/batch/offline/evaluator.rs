//! The evaluator of a preparation.

use std::borrow::Cow;

use rand_core::CryptoRng;
use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::{DIGESTS, SEEDS, check};
use crate::Error;
use crate::batch::circuit::{CircuitSeed, Secrets};
use crate::batch::consistency::{RANDOM_BYTES, find_inconsistent};
use crate::batch::cut::{CheckSet, ChoiceSeed};
use crate::batch::execution::KeptCircuit;
use crate::batch::frames::Incoming;
use crate::batch::messages;
use crate::batch::oracle::{Domain, Hash};
use crate::batch::{Batch, Caught, Circuits, EvaluatorExecution, cheated, parallel};
use crate::bits::{clear_unused, random_bits};
use crate::io::Io;
use crate::malicious::commitment::Committing;
use crate::message::Kind;
use crate::setup::{EvaluatorOt, extension};

impl<S: Scheme<Wire = Block>> Batch<'_, S> {
    /// Runs the evaluator's side of a preparation on this number of threads. Stores the executions
    /// in `keep` and returns it.
    ///
    /// # Errors
    ///
    /// The OTs are not maliciously secure, there are no threads, the garbler cheats, an execution
    /// cannot be kept, or the wire fails. The stored executions must not be used then.
    pub async fn prepare_as_evaluator<C, R>(
        &self,
        io: &mut Io<'_>,
        ot: &mut EvaluatorOt,
        mut keep: C,
        threads: usize,
        rng: &mut R,
    ) -> Result<C, Error>
    where
        C: for<'k> Circuits<EvaluatorExecution<'k>>,
        R: CryptoRng + ?Sized,
    {
        check(ot.security(), threads)?;
        let mut choices = Box::new(Choices::draw(self, rng));
        choices.commit(self, io.message());
        io.send(messages::plan(self))?;
        let mut digests = Vec::new();
        while digests.len() < self.circuits() as usize {
            let count = DIGESTS.min(self.circuits() as usize - digests.len());
            let payload = io.receive(messages::digests(count)).await?;
            digests.extend_from_slice(payload.as_chunks().0);
        }

        let checking = Checking {
            batch: self,
            digests,
            threads,
        };
        // Before the check set leaves: a try that is not counted could be repeated.
        keep.begin()?;
        io.message().clear();
        io.message().extend_from_slice(&choices.check_set);
        io.send(messages::CHECK_SET)?;
        let set = CheckSet::choose(self, &choices.check_set);
        let mut done = 0;
        for numbers in set.checked.chunks(SEEDS) {
            let expected = messages::seeds(numbers.len());
            checking.check(numbers, io.receive(expected).await?)?;
            done += numbers.len();
            io.progressed(self.progress(done));
        }
        io.message().clear();
        io.message().extend_from_slice(&choices.buckets);
        io.send(messages::BUCKETS)?;
        let buckets = set.buckets(self, &choices.buckets);

        let mut pieces = Vec::new();
        for executions in self.groups() {
            let chains = &buckets[executions.clone()];
            pieces = checking.receive(chains, pieces, io).await?;
            // ŷ of each execution, for its input followed by D.
            let encoded = random_bits(&mut choices.prg, chains.len() * self.transfers());
            let first_transfer = ot.next_index();
            let mut t = Zeroizing::new(vec![Block::ZERO; encoded.len()]);
            ot.extend(&encoded, &mut t, io.message())?;
            let bytes = io.message().len();
            io.send(extension(bytes))?;
            let halves = &choices.halves[executions.clone()];
            io.message().clear();
            io.message().extend(halves.iter().flatten());
            io.send(messages::half_choices(self, halves.len()))?;

            let group = Group {
                batch: self,
                first: executions.start,
                done,
                chains,
                pieces: &pieces,
                transfers: (first_transfer, &encoded, &t),
                halves,
            };
            done = group.receive(&mut keep, threads, io).await?;
        }
        io.message().clear();
        io.send(messages::CHECKED)?;
        Ok(keep)
    }
}

/// The values to which the evaluator commits, and the generator for its OTs.
#[derive(Zeroize, ZeroizeOnDrop)]
struct Choices {
    check_set: ChoiceSeed,
    buckets: ChoiceSeed,
    /// The randomness of the commitment and W, for each execution.
    halves: Vec<Vec<u8>>,
    /// The generator of ŷ of each execution.
    #[zeroize(skip)]
    prg: Prg,
}

impl Choices {
    fn draw<S: Scheme<Wire = Block>, R: CryptoRng + ?Sized>(
        batch: &Batch<'_, S>,
        rng: &mut R,
    ) -> Self {
        let mut draw = |bytes: &mut [u8]| rng.fill_bytes(bytes);
        let mut seed = Zeroizing::new([0; 32]);
        draw(&mut *seed);
        let (mut check_set, mut buckets) = ([0; 32], [0; 32]);
        draw(&mut check_set);
        draw(&mut buckets);
        let halves = (0..batch.plan.executions()).map(|_| {
            let mut opening = vec![0; messages::half_choice_bytes(batch)];
            draw(&mut opening);
            clear_unused(&mut opening[RANDOM_BYTES..], batch.chaining.pairs);
            opening
        });
        Self {
            check_set,
            buckets,
            halves: halves.collect(),
            prg: Prg::from_seed(&seed),
        }
    }

    /// Writes the plan and the commitments.
    fn commit<S: Scheme<Wire = Block>>(&self, batch: &Batch<'_, S>, message: &mut Vec<u8>) {
        let oracle = &batch.oracle;
        message.clear();
        message.extend_from_slice(&batch.plan.to_bytes());
        message.extend_from_slice(&oracle.parts(Domain::CheckSet, 0, 0, &[&self.check_set]));
        message.extend_from_slice(&oracle.parts(Domain::Buckets, 0, 0, &[&self.buckets]));
        for (execution, opening) in (0..).zip(&self.halves) {
            message.extend_from_slice(&oracle.parts(Domain::Halves, execution, 0, &[opening]));
        }
    }
}

/// The comparison of circuits with their digests.
struct Checking<'a, 'f, S: Scheme> {
    batch: &'a Batch<'f, S>,
    /// The digest of each circuit.
    digests: Vec<Hash>,
    threads: usize,
}

impl<S: Scheme<Wire = Block>> Checking<'_, '_, S> {
    fn fits(&self, number: u32, published: &[u8]) -> bool {
        self.batch.digest(number, published) == self.digests[number as usize]
    }

    /// Makes circuits again from their seeds, and compares them with their digests.
    fn check(&self, numbers: &[u32], seeds: &[u8]) -> Result<(), Error> {
        let these: Vec<_> = numbers.iter().zip(seeds.as_chunks().0).collect();
        let fits = parallel::map(self.threads, &these, |published, (number, seed)| {
            let circuit = Secrets::derive(self.batch, **number, CircuitSeed(**seed));
            circuit.publish(self.batch, published);
            self.fits(**number, published)
        });
        match fits.iter().position(|fits| !fits) {
            Some(wrong) => Err(cheated(Caught::CheckedCircuit(numbers[wrong]))),
            None => Ok(()),
        }
    }

    /// Receives the circuits of a group, execution by execution, each followed by the steps of its
    /// chain. Compares them as they come. `spare` is memory for them.
    async fn receive(
        &self,
        chains: &[Vec<u32>],
        spare: Vec<Vec<u8>>,
        io: &mut Io<'_>,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let batch = self.batch;
        let of_chain = |chain: &Vec<u32>| [chain.iter().copied().map(Some).collect(), vec![None]];
        let numbers: Vec<Option<u32>> = chains.iter().flat_map(of_chain).flatten().collect();
        let due = chains.len() * (batch.execution_bytes() + batch.steps_bytes());
        let mut stream = Incoming::new(Kind::BucketCircuits, numbers.len(), due);
        stream.give_back(spare);
        let piece_bytes = |index: usize| match numbers[index] {
            Some(_) => batch.layout.total,
            None => batch.steps_bytes(),
        };
        let mut pieces = Vec::with_capacity(numbers.len());
        let mut compared = 0;
        while let Some(expected) = stream.expected() {
            let payload = io.receive(expected).await?;
            stream.receive(payload, piece_bytes, &mut pieces)?;
            if pieces.len() - compared >= self.threads || stream.expected().is_none() {
                let new = pieces[compared..].iter();
                let new = new.filter_map(|(index, piece)| Some((numbers[*index]?, piece)));
                self.compare(&new.collect::<Vec<_>>())?;
                compared = pieces.len();
            }
        }
        Ok(pieces.into_iter().map(|(_, piece)| piece).collect())
    }

    fn compare(&self, circuits: &[(u32, &Vec<u8>)]) -> Result<(), Error> {
        let fits = parallel::map(self.threads, circuits, |_, (number, published)| {
            self.fits(*number, published)
        });
        match fits.iter().position(|fits| !fits) {
            Some(wrong) => Err(cheated(Caught::PublishedCircuit(circuits[wrong].0))),
            None => Ok(()),
        }
    }
}

/// A group of executions after all of them are received.
struct Group<'g, 'f, S: Scheme> {
    batch: &'g Batch<'f, S>,
    first: usize,
    /// The number of circuits that were checked or kept before.
    done: usize,
    chains: &'g [Vec<u32>],
    /// For each execution, the published bytes of its circuits, followed by the steps of its chain.
    pieces: &'g [Vec<u8>],
    /// The number of the first OT, the choices, and the results of the OTs.
    transfers: (u64, &'g [bool], &'g [Block]),
    /// The randomness of the commitment and W, for each execution.
    halves: &'g [Vec<u8>],
}

impl<S: Scheme<Wire = Block>> Group<'_, '_, S> {
    /// Receives the openings of the executions, and keeps each execution that passes. Returns the
    /// number of circuits that are then checked or kept.
    async fn receive<C: for<'k> Circuits<EvaluatorExecution<'k>>>(
        &self,
        keep: &mut C,
        threads: usize,
        io: &mut Io<'_>,
    ) -> Result<usize, Error> {
        let mut done = self.done;
        let (count, bytes) = (self.chains.len(), self.batch.opening_bytes());
        let mut stream = Incoming::new(Kind::BucketOpenings, count, count * bytes);
        while let Some(expected) = stream.expected() {
            let mut openings = Vec::new();
            stream.receive(io.receive(expected).await?, |_| bytes, &mut openings)?;
            let opened = parallel::map(threads, &openings, |_, (index, opening)| {
                self.open(*index, opening)
            });
            for (execution, (index, _)) in opened.into_iter().zip(&openings) {
                keep.keep((self.first + index) as u32, execution?)?;
                done += self.batch.bucket();
            }
            io.progressed(self.batch.progress(done));
        }
        Ok(done)
    }

    /// Checks an execution's halves and first shares.
    fn open(&self, index: usize, opening: &[u8]) -> Result<EvaluatorExecution<'_>, Error> {
        let (batch, chain) = (self.batch, &self.chains[index]);
        let pieces = &self.pieces[index * (chain.len() + 1)..][..chain.len() + 1];
        let (published, steps) = pieces.split_at(chain.len());
        let half_bytes = batch.chaining.opening_bytes();
        let (halves, strings) = opening.split_at(chain.len() * half_bytes);
        let numbered = chain.iter().copied().zip(published);
        let chained = numbered.clone().enumerate();
        let chained = chained.map(|(place, (number, published))| {
            let commitments = &published[batch.layout.pairs.clone()];
            let halves = &halves[place * half_bytes..][..half_bytes];
            (number, commitments, halves)
        });
        let choices = &self.halves[index][RANDOM_BYTES..];
        let (sizes, oracle) = (batch.chaining, &batch.oracle);
        if let Some(circuit) = find_inconsistent(sizes, oracle, choices, chained, &steps[0]) {
            return Err(cheated(Caught::Inconsistent(circuit)));
        }

        let transfers = index * batch.transfers()..(index + 1) * batch.transfers();
        let (first, encoded, t) = self.transfers;
        let first = first + transfers.start as u64;
        let (encoded, t) = (&encoded[transfers.clone()], &t[transfers]);
        let shares = batch.accept(encoded, first, t, strings);
        let mut circuits = Vec::with_capacity(chain.len());
        for ((number, published), shares) in numbered.zip(shares) {
            let commitments = &published[batch.layout.first.clone()];
            let committing = Committing::new(oracle, Domain::FirstShare, number);
            let choice = |k: usize| u8::from(encoded[k]).into();
            if !committing.open(0, &shares, choice, commitments) {
                return Err(cheated(Caught::TransferredLabel(number)));
            }
            circuits.push(KeptCircuit {
                number,
                published: Cow::Borrowed(&published[..batch.layout.kept()]),
                pairs: batch.hash_pairs(number, &published[batch.layout.pairs.clone()]),
                shares: batch.encoding.decode_blocks(&shares),
            });
        }
        let steps = steps[0].chunks_exact(sizes.step_bytes().max(1));
        let differences = steps.flat_map(|step| &step[..sizes.half_bytes()]);
        Ok(EvaluatorExecution {
            circuits,
            differences: differences.copied().collect(),
            offset: Zeroizing::new(batch.encoding.decode_bits(encoded)),
        })
    }
}
