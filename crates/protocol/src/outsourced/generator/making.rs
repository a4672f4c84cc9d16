//! The data that the generator makes of each circuit, in the order of its messages.

use core::ops::Range;

use tacit_garble::Scheme;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::super::copy::{Body, CopySecrets, CopySeed, Drawing, blind_seed};
use super::super::cut::Fate;
use super::super::messages;
use super::super::same_input::InputHash;
use super::super::transfer::{Offer, blinds, wire_pads};
use super::{GeneratorValue, Making};
use crate::Error;
use crate::io::Io;
use crate::malicious::frames::Outgoing;
use crate::malicious::parallel;
use crate::party::Peer;

impl<'f, S: Scheme<Wire = Block>> Making<'_, 'f, S> {
    fn seed(&self, copy: usize) -> CopySeed {
        CopySeed::derive(&self.oracle, &self.secrets.root, copy)
    }

    fn secrets(&self, copy: usize, seed: &CopySeed) -> CopySecrets {
        CopySecrets::derive(self.work, &self.oracle, copy, seed)
    }

    /// Writes the comparison hashes of both keys of each circuit.
    pub(super) fn write_hashes(&self, message: &mut Vec<u8>) {
        message.clear();
        for (copy, [check, evaluate]) in self.chain.keys.iter().enumerate() {
            message.extend_from_slice(&check.compare(&self.oracle, copy, Fate::Check));
            message.extend_from_slice(&evaluate.compare(&self.oracle, copy, Fate::Evaluate));
        }
    }

    /// Writes ω of each circuit for the evaluator, and the seed of all blinds.
    pub(super) fn write_orders(&self, message: &mut Vec<u8>) {
        message.clear();
        message.extend_from_slice(&*self.secrets.blind_root);
        for copy in 0..self.work.copies() {
            let drawing = Drawing::begin(&self.seed(copy));
            message.extend_from_slice(&drawing.order.to_bytes());
        }
    }

    /// Returns the items from `done` on, of `all`, that are processed together, if each has `bytes`
    /// bytes.
    fn group(&self, done: usize, all: usize, bytes: usize) -> Range<usize> {
        /// The number of bytes for which starting a thread pays off.
        const THREAD_BYTES: usize = 1 << 18;
        let together = self.threads * (THREAD_BYTES / bytes.max(1)).max(1);
        done..all.min(done + together)
    }

    /// Sends the share of the toss, and all heads.
    pub(super) fn send_heads(&self, io: &mut Io<'_, Peer>) -> Result<(), Error> {
        let (heads, mut stream, mut done) = (messages::heads(self.work), Outgoing::default(), 0);
        stream.append(&self.secrets.share.0);
        while done < self.work.copies() {
            let group = self.group(done, self.work.copies(), self.work.head_bytes());
            done = group.end;
            let copies: Vec<usize> = group.collect();
            parallel::append(self.threads, &copies, stream.buffer(), |out, copy| {
                self.append_head(*copy, out);
            });
            heads.send_full(io, &mut stream)?;
        }
        heads.send_rest(io, stream)
    }

    fn append_head(&self, copy: usize, head: &mut Vec<u8>) {
        let seed = self.seed(copy);
        let secrets = self.secrets(copy, &seed);
        head.reserve(self.work.head_bytes());
        secrets.write_head(&self.oracle, head);
        let first = head.len();
        secrets.write_opening(&self.secrets.input, head);
        #[cfg(test)]
        if let Some(spoiling) = self.spoiling {
            spoiling.spoil_opening(copy, secrets.delta, &mut head[first..]);
        }
        let [check, evaluate] = &self.chain.keys[copy];
        evaluate.open(&self.oracle, copy, Fate::Evaluate, &mut head[first..]);
        let first = head.len();
        head.extend_from_slice(&seed.0);
        check.open(&self.oracle, copy, Fate::Check, &mut head[first..]);
    }

    /// Writes the decoding of the hash of the generator's input to each circuit.
    pub(super) fn write_decodings(&self, hash: &InputHash, message: &mut Vec<u8>) {
        message.clear();
        for copy in 0..self.work.copies() {
            let sum = Drawing::begin(&self.seed(copy)).hash_permute_bits(hash);
            message.extend_from_slice(&sum.to_bytes()[..self.work.decoding_bytes()]);
        }
        #[cfg(test)]
        if let Some(spoiling) = self.spoiling {
            let first = hash.of(0, &[Block::ONES]);
            spoiling.spoil_decodings(self.work.decoding_bytes(), first, message);
        }
    }

    /// Sends the strings of all transfers. `q` are those of the OTs from number `first` on.
    pub(super) fn send_strings(
        &self,
        io: &mut Io<'_, Peer>,
        (first, q, delta): (u64, &[Block], Block),
        permutation: Zeroizing<Vec<u8>>,
    ) -> Result<(), Error> {
        let (work, oracle) = (self.work, self.oracle);
        let copies: Vec<usize> = (0..work.copies()).collect();
        let made = parallel::map(self.threads, &copies, |_, copy| {
            let drawing = Drawing::begin(&self.seed(*copy));
            let delta = *drawing.delta;
            let mut zeros = drawing.encoded_alone(work, &oracle, *copy);
            let seed = blind_seed(&oracle, &self.secrets.blind_root, *copy);
            let blinds = blinds(&oracle, *copy, seed, zeros.len());
            zeros
                .iter_mut()
                .zip(blinds.iter())
                .for_each(|(a, b)| *a ^= *b);
            (zeros, delta)
        });
        let (blinded, deltas) = made.into_iter().unzip::<_, _, _, Vec<Block>>();
        let offer = Offer {
            oracle,
            keys: wire_pads(&oracle).both(first, q, delta),
            permutation,
            blinded,
            deltas: Zeroizing::new(deltas),
        };
        let (strings, mut stream) = (messages::strings(work), Outgoing::default());
        let mut done = 0;
        while done < work.transfers() {
            let group = self.group(done, work.transfers(), work.string_bytes());
            done = group.end;
            let wires: Vec<usize> = group.collect();
            parallel::append(self.threads, &wires, stream.buffer(), |out, wire| {
                offer.write(*wire, out);
            });
            strings.send_full(io, &mut stream)?;
        }
        strings.send_rest(io, stream)
    }

    /// Sends all bodies. Returns the generator's half of each saved value.
    pub(super) fn send_bodies(&self, io: &mut Io<'_, Peer>) -> Result<Vec<GeneratorValue>, Error> {
        let work = self.work;
        let (bodies, mut stream) = (messages::bodies(work), Outgoing::default());
        let mut made = Vec::with_capacity(work.copies());
        // The current body, if bodies are written one at a time.
        let mut body = None;
        while made.len() < work.copies() {
            if self.threads > 1 {
                let group = self.group(made.len(), work.copies(), work.body_bytes());
                let copies: Vec<usize> = group.collect();
                let out = stream.buffer();
                made.extend(parallel::append(self.threads, &copies, out, |out, copy| {
                    out.reserve(work.body_bytes());
                    let mut body = self.begin_body(*copy, out);
                    while body.append(out) {}
                    body.finish(out)
                }));
                io.progressed(work.progress(made.len()));
            } else {
                let out = stream.buffer();
                let begun = body.take();
                let mut writing =
                    begun.unwrap_or_else(|| Box::new(self.begin_body(made.len(), out)));
                if writing.append(out) {
                    body = Some(writing);
                } else {
                    made.push(writing.finish(out));
                    io.progressed(work.progress(made.len()));
                }
            }
            bodies.send_full(io, &mut stream)?;
        }
        bodies.send_rest(io, stream)?;
        let saved = work.saved(self.chain.head.id, &self.oracle, made);
        Ok(saved.into_iter().map(GeneratorValue).collect())
    }

    /// Appends the part of the body of circuit `copy` before its tables.
    fn begin_body(&self, copy: usize, out: &mut Vec<u8>) -> Body<'f, S> {
        let secrets = self.secrets(copy, &self.seed(copy));
        let loads = self.secrets.loads.iter();
        let loaded = loads.map(|value| &value.0.copies[copy]);
        Body::begin(self.work, &self.oracle, &secrets, loaded, out)
    }
}
