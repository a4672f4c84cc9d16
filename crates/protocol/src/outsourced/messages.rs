//! The messages of `outsourced`, each stated once: kind, sender, receiver and length. The messages
//! that make OTs are those of [`setup`](crate::setup).

use tacit_garble::Scheme;
use tacit_kernels::Block;

use super::Peer::{self, Cloud, Evaluator, Generator};
use super::parameters::Parameters;
use super::terms::terms_bytes;
use super::toss::SHARE_BYTES;
use super::transfer::handed_bytes;
use super::work::ServerRun;
use crate::Error;
use crate::bits::bytes_for;
use crate::io::{Io, Message};
use crate::malicious::frames::{Incoming, Outgoing};
use crate::malicious::oracle::HASH_BYTES;
use crate::message::Kind;

/// A message from one party to another, or a stream of messages of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Addressed {
    pub(super) kind: Kind,
    pub(super) from: Peer,
    pub(super) to: Peer,
    /// The length of the message, or of the whole stream.
    pub(super) bytes: usize,
}

const fn addressed(kind: Kind, from: Peer, to: Peer, bytes: usize) -> Addressed {
    Addressed {
        kind,
        from,
        to,
        bytes,
    }
}

impl Addressed {
    const fn part(&self, bytes: usize) -> Message {
        Message::exactly(self.kind, bytes)
    }

    /// Sends the payload that was written.
    pub(super) fn send(&self, io: &mut Io<'_, Peer>) -> Result<(), Error> {
        io.send_to(self.to, self.part(self.bytes))
    }

    /// Sends a copy of `payload`.
    pub(super) fn send_copy(&self, io: &mut Io<'_, Peer>, payload: &[u8]) -> Result<(), Error> {
        io.message().clear();
        io.message().extend_from_slice(payload);
        self.send(io)
    }

    /// Waits for the message and returns its payload.
    pub(super) async fn receive<'i>(&self, io: &'i mut Io<'_, Peer>) -> Result<&'i [u8], Error> {
        io.receive_from(self.from, self.part(self.bytes)).await
    }

    /// Sends those messages of this stream that are full.
    pub(super) fn send_full(
        &self,
        io: &mut Io<'_, Peer>,
        stream: &mut Outgoing,
    ) -> Result<(), Error> {
        stream.send_full(io, self.to, |bytes| self.part(bytes))
    }

    /// Sends everything that is left of this stream.
    pub(super) fn send_rest(&self, io: &mut Io<'_, Peer>, stream: Outgoing) -> Result<(), Error> {
        stream.send_rest(io, self.to, |bytes| self.part(bytes))
    }

    /// Returns this stream at its receiver, in `pieces` pieces.
    pub(super) fn incoming(&self, pieces: usize) -> Incoming {
        Incoming::new(self.kind, pieces, self.bytes)
    }

    /// Waits for the next message of this stream and returns its payload.
    pub(super) async fn receive_next<'i>(
        &self,
        io: &'i mut Io<'_, Peer>,
        stream: &Incoming,
    ) -> Result<&'i [u8], Error> {
        io.receive_from(self.from, self.part(stream.next_bytes()))
            .await
    }

    /// Receives this stream, whose piece `i` is `length(i)` bytes long. Passes to `take` the pieces
    /// that each message completes, each with its number.
    pub(super) async fn receive_pieces(
        &self,
        io: &mut Io<'_, Peer>,
        pieces: usize,
        length: impl Fn(usize) -> usize,
        mut take: impl FnMut(&mut Vec<(usize, Vec<u8>)>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (mut stream, mut whole) = (self.incoming(pieces), Vec::new());
        while stream.next_bytes() > 0 {
            stream.receive(self.receive_next(io, &stream).await?, &length, &mut whole)?;
            take(&mut whole)?;
            stream.give_back(whole.drain(..).map(|(_, bytes)| bytes));
        }
        Ok(())
    }
}

/// The sender's terms and nonce, and from the servers also their state.
pub(super) const fn terms(from: Peer, to: Peer) -> Addressed {
    addressed(Kind::OutsourcedTerms, from, to, terms_bytes(from))
}

/// The cloud's commitment to its share of the toss.
pub(super) const TOSS_COMMITMENT: Addressed =
    addressed(Kind::TossCommitment, Cloud, Generator, HASH_BYTES);

/// Hashes of both keys of each circuit.
pub(super) fn key_hashes(parameters: &Parameters) -> Addressed {
    let bytes = 2 * parameters.copies() * HASH_BYTES;
    addressed(Kind::KeyHashes, Generator, Evaluator, bytes)
}

/// The split, and the hash of the keys that the cloud has.
pub(super) fn split(parameters: &Parameters) -> Addressed {
    let bytes = bytes_for(parameters.copies()) + HASH_BYTES;
    addressed(Kind::Split, Cloud, Evaluator, bytes)
}

/// The seed of the order of each transfer's strings.
pub(super) const PERMUTATION: Addressed =
    addressed(Kind::Permutation, Evaluator, Generator, Block::BYTES);

/// Bytes of the seed of all blinds.
pub(super) const BLIND_ROOT_BYTES: usize = 32;

/// The seed of all blinds, and the orders of each circuit's labels.
pub(super) fn orders(parameters: &Parameters) -> Addressed {
    let bytes = BLIND_ROOT_BYTES + parameters.copies() * Block::BYTES;
    addressed(Kind::Orders, Generator, Evaluator, bytes)
}

/// A stream: the evaluator's verdict on keys, the keys and positions of its strings, and its data
/// about each circuit.
pub(super) fn transfer_keys(parameters: &Parameters, transfers: usize) -> Addressed {
    let bytes = handed_bytes(parameters, transfers);
    addressed(Kind::TransferKeys, Evaluator, Cloud, bytes)
}

/// A stream: the generator's share of the toss, and each circuit's head.
pub(super) fn heads<S: Scheme<Wire = Block>>(work: &ServerRun<'_, S>) -> Addressed {
    let bytes = SHARE_BYTES + work.copies() * work.head_bytes();
    addressed(Kind::CopyHeads, Generator, Cloud, bytes)
}

/// The cloud's share of the toss.
pub(super) const TOSS_OPENING: Addressed =
    addressed(Kind::TossOpening, Cloud, Generator, SHARE_BYTES);

/// The decoding of the hash of the generator's input to each circuit.
pub(super) fn decodings<S: Scheme<Wire = Block>>(work: &ServerRun<'_, S>) -> Addressed {
    let bytes = work.copies() * work.decoding_bytes();
    addressed(Kind::InputDecodings, Generator, Cloud, bytes)
}

/// A stream: both strings of each transfer.
pub(super) fn strings<S: Scheme<Wire = Block>>(work: &ServerRun<'_, S>) -> Addressed {
    let bytes = work.transfers() * work.string_bytes();
    addressed(Kind::TransferStrings, Generator, Cloud, bytes)
}

/// A stream: each circuit's body.
pub(super) fn bodies<S: Scheme<Wire = Block>>(work: &ServerRun<'_, S>) -> Addressed {
    let bytes = work.copies() * work.body_bytes();
    addressed(Kind::Copies, Generator, Cloud, bytes)
}

/// The masked result of a party, in `bits` bits.
pub(super) const fn result(to: Peer, bits: usize) -> Addressed {
    addressed(Kind::OutsourcedResult, Cloud, to, bytes_for(bits))
}
