//! What the generator makes of each circuit, in the order of its messages, and its result.

use core::mem;
use core::ops::Range;

use tacit_function::Role;
use tacit_garble::Scheme;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::super::copy::{Body, CopySecrets, Drawing, blind_seed};
use super::super::cut::Fate;
use super::super::read_result;
use super::super::same_input::InputHash;
use super::super::transfer::{Offer, blinds, wire_pads};
use super::super::work::ServerRun;
use super::{Generator, GeneratorValue, Running};
use crate::Error;
use crate::bits::unpack;
use crate::malicious::frames::Outgoing;
use crate::malicious::parallel;

impl<S: Scheme<Wire = Block>> Generator<'_, S> {
    /// What ω of each circuit says to the evaluator, and the seed of all blinds.
    pub(super) fn write_orders(&self, running: &Running, message: &mut Vec<u8>) {
        message.clear();
        message.extend_from_slice(&*running.brought.blind_root);
        for copy in 0..self.work.copies() {
            let drawing = Drawing::begin(&running.seed(copy));
            message.extend_from_slice(&drawing.order.to_bytes());
        }
    }

    /// Circuits from `done` on that are worked on together, when each has this many bytes.
    fn group(&self, done: usize, bytes: usize) -> Range<usize> {
        /// Bytes for which a thread is worth its start.
        const THREAD_BYTES: usize = 1 << 18;
        let together = self.threads * (THREAD_BYTES / bytes.max(1)).max(1);
        done..self.work.copies().min(done + together)
    }

    /// Makes heads until a message is full or all are made; whether there is a message.
    pub(super) fn send_heads(
        &self,
        running: &Running,
        (stream, done): (&mut Outgoing, &mut usize),
        message: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        let (work, oracle) = (&self.work, &running.oracle);
        let keys = &running.chain()?.keys;
        #[cfg(test)]
        let spoiling = &self.spoiling;
        while !stream.is_full() && *done < work.copies() {
            let group = self.group(*done, work.head_bytes());
            let copies: Vec<usize> = group.clone().collect();
            parallel::append(self.threads, &copies, stream.buffer(), |head, copy| {
                let seed = running.seed(*copy);
                let secrets = CopySecrets::derive(work, oracle, *copy, &seed);
                head.reserve(work.head_bytes());
                secrets.write_head(oracle, head);
                let first = head.len();
                secrets.write_opening(&running.brought.input, head);
                #[cfg(test)]
                if let Some(spoiling) = spoiling {
                    spoiling.spoil_opening(*copy, secrets.delta, &mut head[first..]);
                }
                let [check, evaluate] = &keys[*copy];
                evaluate.open(oracle, *copy, Fate::Evaluate, &mut head[first..]);
                let first = head.len();
                head.extend_from_slice(&seed.0);
                check.open(oracle, *copy, Fate::Check, &mut head[first..]);
            });
            *done = group.end;
        }
        Ok(stream.take(message))
    }

    /// What decodes the hash of the generator's input to each circuit.
    pub(super) fn write_decodings(
        &self,
        running: &Running,
        hash: &InputHash,
        message: &mut Vec<u8>,
    ) {
        message.clear();
        for copy in 0..self.work.copies() {
            let sum = Drawing::begin(&running.seed(copy)).hash_permute_bits(hash);
            message.extend_from_slice(&sum.to_bytes()[..self.work.decoding_bytes()]);
        }
        #[cfg(test)]
        if let Some(spoiling) = &self.spoiling {
            let first = hash.of(0, &[Block::ONES]);
            spoiling.spoil_decodings(self.work.decoding_bytes(), first, message);
        }
    }

    /// All that the strings of transfers are made of.
    pub(super) fn offer(&self, running: &mut Running) -> Offer {
        let (work, oracle) = (&self.work, running.oracle);
        let copies: Vec<usize> = (0..work.copies()).collect();
        let made = parallel::map(self.threads, &copies, |_, copy| {
            let drawing = Drawing::begin(&running.seed(*copy));
            let delta = *drawing.delta;
            let mut zeros = drawing.encoded_alone(work, &oracle, *copy);
            let seed = blind_seed(&oracle, &running.brought.blind_root, *copy);
            let blinds = blinds(&oracle, *copy, seed, zeros.len());
            zeros
                .iter_mut()
                .zip(blinds.iter())
                .for_each(|(a, b)| *a ^= *b);
            (zeros, delta)
        });
        let q = mem::take(&mut running.q);
        let keys = wire_pads(&oracle).both(running.first, &q, running.brought.ot.delta());
        let (blinded, deltas) = made.into_iter().unzip::<_, _, _, Vec<Block>>();
        Offer {
            oracle,
            keys,
            permutation: mem::take(&mut running.permutation),
            blinded,
            deltas: Zeroizing::new(deltas),
        }
    }

    /// Makes bodies until a message is full or all are made; whether there is a message.
    pub(super) fn send_bodies(
        &mut self,
        running: &mut Running,
        (stream, done): (&mut Outgoing, &mut usize),
        message: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        while !stream.is_full() && *done < self.work.copies() {
            let group = match self.threads {
                1 => {
                    *done..*done + usize::from(self.append_segment(running, *done, stream.buffer()))
                }
                _ => self.append_bodies(running, *done, stream.buffer()),
            };
            self.made += group.len() as u64;
            *done = group.end;
        }
        let is_more = stream.take(message);
        if !is_more {
            let made = mem::take(&mut running.made);
            let id = running.chain()?.head.id;
            let saved = self.work.saved(id, &running.oracle, made).into_iter();
            running.saved = saved.map(GeneratorValue).collect();
        }
        Ok(is_more)
    }

    /// Appends a segment of the body of circuit `copy`; whether it was the last.
    fn append_segment(&mut self, running: &mut Running, copy: usize, out: &mut Vec<u8>) -> bool {
        let mut body = match self.body.take() {
            Some(body) => body,
            None => Box::new(running.begin_body(&self.work, copy, out)),
        };
        if body.append(out) {
            self.body = Some(body);
            return false;
        }
        running.made.push(body.finish(out));
        true
    }

    /// Appends whole bodies from circuit `done` on; which they are.
    fn append_bodies(&self, running: &mut Running, done: usize, out: &mut Vec<u8>) -> Range<usize> {
        let (work, group) = (&self.work, self.group(done, self.work.body_bytes()));
        let copies: Vec<usize> = group.clone().collect();
        let made = parallel::append(self.threads, &copies, out, |out, copy| {
            out.reserve(work.body_bytes());
            let mut body = running.begin_body(work, *copy, out);
            while body.append(out) {}
            body.finish(out)
        });
        running.made.extend(made);
        group
    }

    /// The generator's result, from what the cloud returned.
    pub(super) fn result(
        &self,
        running: &Running,
        payload: &[u8],
    ) -> Result<Zeroizing<Vec<bool>>, Error> {
        let first = self.work.function.input_bits(Role::Garbler);
        let input = unpack(&running.brought.input, self.work.garbled_bits);
        read_result(payload, self.work.masked_bits[1], &input[first..])
    }
}

impl Running {
    /// Appends what the body of circuit `copy` has before its tables.
    fn begin_body<'f, S: Scheme<Wire = Block>>(
        &self,
        work: &ServerRun<'f, S>,
        copy: usize,
        out: &mut Vec<u8>,
    ) -> Body<'f, S> {
        let secrets = self.secrets(work, copy);
        let loads = self.brought.loads.iter();
        let loaded = loads.map(|value| &value.0.copies[copy]);
        Body::begin(work, &self.oracle, &secrets, loaded, out)
    }
}
