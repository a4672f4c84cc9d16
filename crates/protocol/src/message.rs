//! The kinds of messages, and the reasons to abort: one byte each on the wire.

use core::fmt;

use crate::Misbehaviour;

macro_rules! one_byte_enum {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$doc:meta])* $variant:ident = $value:literal, $text:literal;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* $variant = $value,)* }

        impl $name {
            /// Returns the value with this byte on the wire.
            pub fn from_byte(byte: u8) -> Option<Self> {
                match byte {
                    $($value => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Returns the byte on the wire.
            pub fn byte(self) -> u8 {
                self as u8
            }

            /// Returns the name, as messages to people show it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use one_byte_enum;

one_byte_enum! {
    /// The kind of a message. The pages in `docs/protocols` have the byte tables. No kind is 0,
    /// which a channel gives to the frames that continue a message. No kind has the highest bit,
    /// which a channel sets if a side stream carries the payload.
    Kind {
        /// Greeting: magic, version of the wire, nonce.
        Hello = 1, "hello";
        /// The run that the connecting party proposes.
        Propose = 2, "propose";
        /// The listening party's agreement.
        Accept = 3, "accept";
        /// The sender stops; the payload is one [`AbortReason`].
        Abort = 4, "abort";
        /// Before the greeting, the token of a party that the other does not know.
        Introduction = 5, "introduction";
        /// Base OT, from the party that chooses.
        BaseOtChoice = 16, "base OT choice";
        /// Base OT, from the party that offers.
        BaseOtOffer = 17, "base OT offer";
        /// Extension of correlated OTs, from the party that chooses.
        CotExtension = 18, "OT extension";
        /// The instances that the evaluator has leased for a prepared run.
        Leases = 19, "leases";
        /// The name of a new epoch of the stock.
        NewEpoch = 20, "new epoch";
        /// Tables of prepared instances.
        LotTables = 21, "prepared tables";
        /// The sender has its half of a lot on disk.
        LotStored = 22, "lot stored";
        /// Whether the garbler has leased the same.
        LeasesAnswered = 23, "leases, answered";
        /// The sender's record of its stock.
        StockMarks = 24, "stock marks";
        /// The sender has recorded that the stocks were compared.
        StockMet = 25, "stocks met";
        /// OTs that are made before they are used: a message of either half of the source.
        OtRefill = 26, "OT refill";
        /// The bytes of tables from which the garbler calls a batch of lots large enough.
        BatchBytes = 27, "bytes of a batch";
        /// Start point of the hashes and seed of the public labels.
        GarblingStart = 32, "garbling start";
        /// Garbled tables.
        Tables = 33, "tables";
        /// Decoding information of the evaluator's outputs.
        Decoding = 34, "decoding";
        /// The garbler's outputs, authenticated by their labels.
        Result = 35, "result";
        /// Links from values to the inputs of prepared instances.
        Links = 36, "links";
        /// The evaluator's inputs, masked by the choices of prepared OTs.
        Corrections = 37, "corrections";
        /// The mask of the links that came before it.
        Unmask = 38, "unmask";
        /// Masked links from the labels of saved values to labels of this run.
        SavedLinks = 39, "links of saved values";
        /// The chain, version and loads of a run that takes saved values, as the sender has them.
        SavedState = 40, "state of saved values";
        /// The offers of a service to the peer that asks, as JSON.
        Offers = 41, "offers";
        /// The parameters of the sender's function, for a peer that wants another one.
        Parameters = 42, "parameters";
        /// The lanes in which the connecting party has material for its run.
        LanesHeld = 43, "lanes held";
        /// The addresses of these lanes' processes, as far as the listening party knows them.
        LaneHomes = 44, "lane homes";
        /// The name of the chain that the connecting party is about to start.
        ChainSought = 45, "chain sought";
        /// A batch's plan, and commitments to the evaluator's choices.
        BatchPlan = 48, "batch plan";
        /// Digests of a batch's circuits.
        CircuitDigests = 49, "circuit digests";
        /// The circuits that are checked.
        CheckSet = 50, "check set";
        /// Seeds of the circuits that are checked.
        CheckedSeeds = 51, "seeds of checked circuits";
        /// The bucket of each circuit.
        Buckets = 52, "buckets";
        /// The circuits to be evaluated.
        BucketCircuits = 53, "bucket circuits";
        /// The halves of the garbler's masks to open.
        HalfChoices = 54, "half choices";
        /// Halves of the garbler's masks, and the strings of oblivious transfers.
        BucketOpenings = 55, "bucket openings";
        /// The sender has checked all executions of a batch.
        BatchChecked = 56, "batch checked";
        /// The evaluator's input to a batch execution, masked.
        MaskedInput = 57, "masked input";
        /// Labels of a batch execution's inputs, and the key of recovery under its outputs.
        InputLabels = 58, "input labels";
        /// The recovery key, masked, if the evaluator has it; otherwise as many random bits,
        /// masked.
        RecoveryChoice = 59, "recovery choice";
        /// The labels against which the evaluator checks its result.
        RecoveryLabels = 60, "recovery labels";
        /// The garbler's result of a batch execution, masked, with its MAC.
        MaskedResult = 61, "masked result";
        /// The garbler has garbled the execution again. Sent before the online stage of `batch`.
        ExecutionReady = 62, "execution ready";
        /// The s with which the sender plans a batch or an epoch of `authenticated`, after earlier
        /// tries that were not finished.
        ChargedSecurity = 63, "charged security";
        /// The terms of the run as a party of `outsourced` knows them, and its nonce.
        OutsourcedTerms = 64, "outsourced terms";
        /// The cloud's commitment to its share of the coin toss.
        TossCommitment = 65, "toss commitment";
        /// Hashes of both keys of every circuit.
        KeyHashes = 66, "key hashes";
        /// Hashes of both keys of every circuit.
        Split = 67, "split";
        /// The circuits that the cloud evaluates, and a hash of the keys that it has.
        Permutation = 68, "permutation";
        /// Seeds of blinds and of the orders of labels.
        Orders = 69, "orders";
        /// Keys of the evaluator's oblivious transfers, for the cloud.
        TransferKeys = 70, "transfer keys";
        /// Commitments to the generator's inputs to each circuit, and the data that each key opens.
        CopyHeads = 71, "copy heads";
        /// The cloud's share of the coin toss.
        TossOpening = 72, "toss opening";
        /// The decoding of the hash of the generator's inputs to each circuit.
        InputDecodings = 73, "input decodings";
        /// Both strings of each oblivious transfer.
        TransferStrings = 74, "transfer strings";
        /// Commitments, partial-input gates, tables and decoding of each circuit.
        Copies = 75, "copies";
        /// A party's masked result.
        OutsourcedResult = 76, "outsourced result";
        /// The place in a chain of kept values that a server has reached, for the other server.
        ChainMarks = 77, "chain marks";
        /// The version of a chain that is durable at a server, for the other server.
        VersionKept = 78, "version kept";
        /// The run of three parties that a connection is for. The evaluator sends it, and to the
        /// generator also the cloud.
        RunTicket = 79, "run ticket";
        /// The number of runs of a chain that come before the evaluator's, from the cloud while the
        /// run waits.
        QueuePlace = 80, "place in the queue";
        /// Blocks of leaky ANDs; from the garbler also the bits that correct their outputs.
        LeakyAnds = 96, "leaky ANDs";
        /// The evaluator's bits that correct leaky ANDs.
        LeakyBits = 97, "leaky AND bits";
        /// The garbler's digest of the values that must be equal, and its commitment to its share
        /// of a coin.
        EqualityDigest = 98, "equality digest";
        /// The opening of the evaluator's commitment, and its share of the coin.
        EqualityOpening = 99, "equality opening";
        /// Opened bits of buckets with a fold of their MACs.
        TripleOpenings = 100, "triple openings";
        /// Opened inputs of gates under the masks of triples, and a digest of their MACs.
        GateOpenings = 101, "gate openings";
        /// A party's inputs under its masks. The garbler's follow the seed of the input labels.
        MaskedInputs = 102, "masked inputs";
        /// Tables of authenticated garbling.
        AuthenticatedTables = 103, "authenticated tables";
        /// Masked values of AND gates.
        MaskedValues = 104, "masked values";
        /// A digest of the labels that belong to the masked values.
        LabelDigest = 105, "label digest";
        /// The garbler's proof that every AND gate is right, and its masks of the evaluator's
        /// results.
        GateProof = 106, "gate proof";
        /// The sender's bits of the masks of the other party's results, and a digest of their MACs.
        ResultOpening = 107, "result opening";
        /// Whether the sender has enough instances or triples in stock for a run of
        /// `authenticated`: 1 or 0.
        StockThere = 108, "stock there";
        /// The evaluator's commitment to the values of leaky ANDs that must be equal.
        EqualityCommitment = 109, "equality commitment";
        /// The garbler's share of the coin that rotates layers of leaky ANDs.
        CoinOpening = 110, "coin opening";
        /// The sender's shares of the masks of instances, opened before a run links the instances.
        LinkMasks = 111, "masks of links";
        /// Links from values to the inputs of authenticated instances.
        AuthenticatedLinks = 112, "authenticated links";
        /// OTs of `gmw` whose sender is the evaluator; [`OtRefill`](Self::OtRefill) is for those
        /// whose sender is the garbler.
        OtRefillBack = 113, "OT refill of the other direction";
        /// A part of a step's bits, opened under the masks of crosses.
        Layer = 114, "layer";
        /// The sender's shares of the receiver's results.
        ResultShares = 115, "result shares";
        /// A digest of the sender's matching, and the sizes of its tables.
        MatchSizes = 116, "sizes of a matching";
        /// The placer's encoding of the points of its keys, under its VOLE.
        MatchAsk = 117, "ask of a matching";
        /// The programmer's masked rows, encoded at the points of its keys in bins.
        MatchHint = 118, "hint of a matching";
        /// A tag of each key of the programmer.
        MatchTags = 119, "tags of a matching";
        /// The tags of the programmer that the placer has too.
        Matches = 120, "matches";
        /// The trees of a batch of the silent VOLE under an ask.
        MatchTrees = 121, "trees of a matching";
    }
}

one_byte_enum! {
    /// The reason that a party stopped, as it tells the other.
    AbortReason {
        /// The other sent something that no honest party sends.
        Misbehaved = 1, "it found that we broke the protocol";
        /// The parties want different things.
        Incompatible = 2, "it was told to run something else";
        /// A person or a signal cancelled the run.
        Cancelled = 3, "it was cancelled";
        /// Something failed on its side.
        Failed = 4, "it failed on its side";
        /// It does not allow what was proposed.
        NotAllowed = 5, "it does not allow this party to run this function in this way";
        /// It waited for too long.
        TimedOut = 6, "it waited for too long";
        /// The party has no room for more sessions or runs for now, or is about to stop.
        Busy = 7, "it is busy, or about to stop";
        /// The other asked more often than the party allows.
        TooOften = 8, "it allows this no more often for now";
        /// The party keeps no such order in stock, or one for fewer runs.
        OrderNotAllowed = 9, "it does not allow this party to order this, or this number of \
            runs";
        /// The order does not fit into the party's stock.
        NoRoom = 10, "it has no room for this order in its stock";
        /// The stock of the party holds nothing that the run can use.
        NothingInStock = 11, "it has nothing in stock for this run";
        /// The party is the other one of the two servers of an outsourced run.
        OtherServer = 12, "it is the other one of the two servers";
        /// The third of three parties ended the run.
        OtherParty = 13, "the third party failed, left or broke the protocol";
        /// Its disk is full.
        DiskFull = 14, "its disk is full";
        /// The party pins a chain or a version that the servers do not have.
        Pinned = 15, "its pin asks for another chain, or for a later version than those who keep \
            it have";
        /// The keys that the party answers the other on a day do not suffice for the run.
        KeysSpent = 16, "it answers this party no more keys today, or fewer than this run asks";
        /// The other party has more keys than the party accepts, or runs of these sizes take more
        /// memory, or tell of more keys, than it ever allows.
        TooLarge = 17, "this party has more keys than it accepts, or runs with tables of these \
            sizes take more memory, or more keys of a day, than it allows";
        /// Another process of the party keeps the chain of the run.
        OtherLane = 18, "another one of its processes keeps this chain";
        /// The party holds no such table for the other, or joins none in this way.
        TableNotAllowed = 19, "it does not allow this party to match or join tables in this way";
        /// The party does not know the other, and accepts no token of it.
        Unknown = 20, "it does not know this party, and accepts no token from it";
    }
}

impl Kind {
    /// The largest payload of any message but tables, in bytes. A peer that announces more is
    /// refused.
    pub const MAX_CONTROL_BYTES: usize = 1 << 10;

    /// Returns the kind with this byte.
    ///
    /// # Errors
    ///
    /// No kind has this byte.
    pub fn parse(byte: u8) -> Result<Self, Misbehaviour> {
        Self::from_byte(byte).ok_or(Misbehaviour::UnknownKind(byte))
    }
}

/// Checks that the payload is exactly `expected` bytes long.
pub(crate) fn exactly(kind: Kind, payload: &[u8], expected: usize) -> Result<(), Misbehaviour> {
    if payload.len() == expected {
        return Ok(());
    }
    let (expected, found) = (expected as u64, payload.len() as u64);
    Err(Misbehaviour::WrongLength {
        kind,
        expected,
        found,
    })
}

/// Returns the payload as an array, if it is exactly as long.
pub(crate) fn array<const N: usize>(kind: Kind, payload: &[u8]) -> Result<[u8; N], Misbehaviour> {
    exactly(kind, payload, N)?;
    payload.try_into().map_err(|_| Misbehaviour::InvalidField {
        kind,
        field: "length",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_has_a_kind_that_channels_use() {
        for byte in [0].into_iter().chain(128..=u8::MAX) {
            assert_eq!(Kind::from_byte(byte), None);
        }
    }
}
