//! Matching: the keys that two parties' tables have in common.
//!
//! A [`Match`] is a semi-honest run of [plain intersection](tacit_protocol::matching). First the
//! parties tell each other what they match and how many keys they have. Then they agree on the run
//! by a proposal, as always. One of the two *asks*, and learns which of its keys the other has.
//! That is the party that alone gets the result, or else the one with fewer keys, or else the one
//! that connected. No role is given.
//!
//! | digest | SHA-256 of |
//! |---|---|
//! | what is matched, of a part of it by [`Part::agreed`] | "tacit match meaning 1\0" ‖ how keys are normalised (1) ‖ who gets the result: 1 the party that connected, 2 the one that listened, 3 both (1) ‖ for keys that are not one text each, the type of each part: 1 text, 2 bytes, 3 integer (1 each) |
//! | the run, in its proposal | "tacit match run 4\0" ‖ what is matched (32) ‖ keys of the party that connected (8) ‖ of the one that listened (8) ‖ the most columns that are packed with silent OT (8) |

mod estimate;
mod meaning;
mod served;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tacit_circuit::Digest;
use tacit_function::Role;
use tacit_garble::SchemeId;
use tacit_protocol::matching::{
    ASK_SECURITY, Keys, Plain, PlainSizes, TooManyRows, VolePlan, exchange_sizes,
};
use tacit_protocol::party::Progress;
use tacit_protocol::session::{ProtocolId, RunTag};
use tacit_protocol::{Error as ProtocolError, Incompatibility};

use crate::cost::{BaseOtSource, Clock, Cost, Phase, peak_memory_bytes};
use crate::driver::{run_script, seed};
use crate::order::Order;
use crate::protocols::ThreatModel;
use crate::session::{OrderTerms, OtNeed, Side, wants_another};
use crate::{Error, Session};
use meaning::{Meaning, PartType, in_words};

pub use estimate::MatchEstimate;
pub(crate) use estimate::vole_time;
pub use meaning::{KeyPart, MatchRecipient};
pub(crate) use served::silent_vole_bytes;
pub use served::{HeldMatch, PeerAsks, SizedMatch};

pub use tacit_function::join::{Cut, KeyKind, KeyNormalization, MAX_PARTS, Part};
pub use tacit_protocol::matching::MAX_KEYS;

/// The largest number of parts of a key.
pub const MAX_KEY_PARTS: usize = 16;

/// By default, the peer may have this many keys for each key of this party.
const PEER_KEYS_OF_KEY: u64 = 16;

/// By default, the peer may have at least this many keys.
const USUAL_PEER_KEYS: u64 = 1 << 20;

/// A matching of this party's keys with the peer's.
///
/// ```no_run
/// use tacit::matching::{Match, KeyNormalization};
/// # fn matched(session: &mut tacit::Session) -> Result<(), tacit::Error> {
/// let addresses = ["ann@example.org", "bob@example.org"];
/// let order = Match::new(addresses)?.normalized(KeyNormalization::Email);
/// for common in order.run(session)?.common.unwrap_or_default() {
///     println!("{}", addresses[common]);
/// }
/// # Ok(())
/// # }
/// ```
pub type Match = Order<'static, Intersection>;

/// An intersection of keys. [`Match`] orders one.
#[derive(Clone)]
pub struct Intersection {
    keys: Arc<Keys>,
    meaning: Meaning,
    /// The number of keys that the peer is told.
    told_keys: u64,
    /// The largest number of keys that the peer may have.
    most_peer_keys: u64,
}

/// The result of a matching.
#[derive(Debug)]
pub struct MatchOutcome {
    /// The indices of this party's keys that the peer has too, in ascending order, if this party
    /// gets the result.
    pub common: Option<Vec<usize>>,
    /// The number of the peer's keys.
    pub peer_keys: u64,
    /// Whether this party asked.
    pub asked: bool,
    /// The threat model: both parties are assumed to follow the protocol.
    pub threat_model: ThreatModel,
    /// The cost on this side.
    pub cost: Cost,
}

impl Match {
    /// Creates a matching of these keys, with the result for both parties. Keys are compared byte
    /// by byte, so they must already be normalised.
    ///
    /// # Errors
    ///
    /// A key occurs twice, or there are more than 2^26.
    pub fn new(keys: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Self, Error> {
        Self::of_keys(Keys::of_texts(keys), Vec::new())
    }

    /// Creates a matching of keys that consist of parts, with the result for both parties. The
    /// parts of all keys have the same types, on which both parties must agree. Keys that are one
    /// text each match those of [`new`](Self::new), and so does an empty list of keys.
    ///
    /// # Errors
    ///
    /// A key occurs twice, has other types than the first one, has no parts or more than
    /// [`MAX_KEY_PARTS`], or there are more than 2^26.
    pub fn of_parts<'k>(
        keys: impl IntoIterator<Item = impl AsRef<[KeyPart<'k>]>>,
    ) -> Result<Self, Error> {
        let mut types: Option<Vec<PartType>> = None;
        let mut encodings = Vec::new();
        for (row, key) in keys.into_iter().enumerate() {
            let parts = key.as_ref();
            if !(1..=MAX_KEY_PARTS).contains(&parts.len()) {
                let found = parts.len();
                return Err(Error::Input(format!(
                    "the key of row {row} has {found} parts; give from 1 to {MAX_KEY_PARTS}"
                )));
            }
            let own: Vec<_> = parts.iter().map(KeyPart::part_type).collect();
            let first = types.get_or_insert_with(|| own.clone());
            if own != *first {
                let (first, own) = (in_words(first), in_words(&own));
                return Err(Error::Input(format!(
                    "the key of row {row} has the type {own}, and that of row 0 {first}; give \
                     keys of one type"
                )));
            }
            encodings.push(KeyPart::encoded(parts));
        }
        let types = types.unwrap_or_default();
        let is_text = types == [PartType::Text];
        let keys = Keys::new(encodings);
        Self::of_keys(keys, if is_text { Vec::new() } else { types })
    }

    fn of_keys(keys: Result<Keys, TooManyRows>, types: Vec<PartType>) -> Result<Self, Error> {
        let keys = keys?;
        if keys.len() as u64 > MAX_KEYS {
            let found = keys.len();
            return Err(Error::Input(format!(
                "{found} keys are more than a matching takes; give at most {MAX_KEYS}"
            )));
        }
        let meaning = Meaning {
            types,
            normalization: KeyNormalization::None,
            to: MatchRecipient::Both,
            part: None,
        };
        let told_keys = keys.len() as u64;
        Ok(Self::of(Intersection {
            keys: Arc::new(keys),
            meaning,
            told_keys,
            most_peer_keys: most_peer_keys(told_keys),
        }))
    }

    /// Matches one part of a job. These keys are those that the [cut](Part::cut) of the part takes
    /// from a table with `all_keys` keys. The cut is of the [kinds](KeyPart::kind) of a key's
    /// parts.
    /// The peer must match the same part. It is told [`Part::filled`] of `all_keys`, and not how
    /// many keys there are in the part. [`most_peer_keys`](Self::most_peer_keys) counts the peer's
    /// in the same way, and is that of a part of the whole's at first: all parts together let a
    /// peer try hardly more keys than one run would.
    ///
    /// # Errors
    ///
    /// The part has room for fewer keys.
    pub fn part(mut self, part: Part, all_keys: u64) -> Result<Self, Error> {
        let checked = part.check(self.task.keys.len() as u64, all_keys);
        checked.map_err(|error| Error::Input(error.to_string()))?;
        self.task.meaning.part = Some(part);
        self.task.told_keys = part.filled(all_keys);
        self.task.most_peer_keys = part.filled(most_peer_keys(all_keys));
        Ok(self)
    }

    /// Returns the number of keys that the peer is told: those of the table, or those to which a
    /// part is filled up.
    pub fn told_keys(&self) -> u64 {
        self.task.told_keys
    }

    /// Sets how the keys were normalised, on which the peer must agree.
    #[must_use]
    pub fn normalized(mut self, how: KeyNormalization) -> Self {
        self.task.meaning.normalization = how;
        self
    }

    /// Sets who gets the result. The peer sets the same from its side.
    #[must_use]
    pub fn to(mut self, recipient: MatchRecipient) -> Self {
        self.task.meaning.to = recipient;
        self
    }

    /// Sets the largest number of keys that the peer may have. The default is 16 for each key of
    /// this party, and at least 2^20. A peer may invent keys, and a run that gives it the result
    /// answers all of them.
    #[must_use]
    pub fn most_peer_keys(mut self, most: u64) -> Self {
        self.task.most_peer_keys = most;
        self
    }

    /// Returns the threat model under which a matching is secure.
    pub const fn threat_model(&self) -> ThreatModel {
        ThreatModel::SemiHonest
    }

    /// Runs the matching over `session`; the peer runs its own.
    ///
    /// # Errors
    ///
    /// Any error that ends the run. The session is then spent.
    pub fn run(self, session: &mut Session) -> Result<MatchOutcome, Error> {
        self.tell(session)?.run(session)
    }
}

/// Returns the largest number of keys that the peer of a party with `keys` keys may have, unless it
/// is set.
fn most_peer_keys(keys: u64) -> u64 {
    keys.saturating_mul(PEER_KEYS_OF_KEY).max(USUAL_PEER_KEYS)
}

/// The sizes on which both parties have agreed, and whether this party asks.
#[derive(Clone, Copy)]
struct Agreed {
    asks: bool,
    sizes: PlainSizes,
    digest: Digest,
}

impl Intersection {
    /// Tells the peer the number of this party's keys, and returns the peer's number.
    fn tell(&self, session: &mut Session) -> Result<u64, Error> {
        let own_keys = self.told_keys;
        let meaning = self.meaning.digest(session.side());
        let heard = session.take_heard();
        let told = session.script(async |io| exchange_sizes(io, meaning, own_keys, heard).await);
        let peer_keys = told.map_err(|error| self.named(error, session.side()))?;
        if peer_keys > self.most_peer_keys {
            return Err(Error::TooManyPeerKeys {
                found: peer_keys,
                most: self.most_peer_keys,
            });
        }
        Ok(peer_keys)
    }

    fn run(
        &self,
        session: &mut Session,
        peer_keys: u64,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<MatchOutcome, Error> {
        let threat_model = ThreatModel::SemiHonest;
        let mut clock = Clock::start(session);
        let own_keys = self.told_keys;
        let agreed = self.agreed(session.side(), peer_keys)?;
        let tag = session.agree(&agreed.terms(session.side()))?;
        let mut phases = vec![clock.stop(Phase::Agreement, session)];
        clock = Clock::start(session);
        let common = self.intersect(session, (agreed, tag), watch)?;
        phases.push(clock.stop(Phase::Run, session));
        let has_ots = own_keys > 0 && peer_keys > 0;
        let numbers = |common: Vec<bool>| {
            let common = common.into_iter().enumerate();
            common
                .filter_map(|(key, is_common)| is_common.then_some(key))
                .collect()
        };
        Ok(MatchOutcome {
            common: common.map(numbers),
            peer_keys,
            asked: agreed.asks,
            threat_model,
            cost: Cost {
                phases,
                and_gates: 0,
                and_gates_on_the_spot: 0,
                ot_extension: has_ots.then(|| session.ot_extension()),
                from_stock: None,
                base_ots: has_ots.then_some(BaseOtSource::Fresh),
                peak_memory_bytes: peak_memory_bytes(),
            },
        })
    }

    /// Computes the sizes and the digest from both numbers of keys.
    fn agreed(&self, side: Side, peer_keys: u64) -> Result<Agreed, Error> {
        let own_keys = self.told_keys;
        let asks = match self.meaning.to {
            MatchRecipient::Me => true,
            MatchRecipient::Peer => false,
            MatchRecipient::Both if own_keys == peer_keys => side == Side::Connecting,
            MatchRecipient::Both => own_keys < peer_keys,
        };
        let [placer, programmer] = in_order(asks, own_keys, peer_keys);
        let sizes = PlainSizes::of(placer, programmer);
        let sizes = sizes.map_err(|error| Error::Input(error.to_string()))?;
        let [connecting, listening] = in_order(side == Side::Connecting, own_keys, peer_keys);
        let digest = Sha256::new_with_prefix(b"tacit match run 4\0")
            .chain_update(self.meaning.digest(side).0)
            .chain_update(connecting.to_le_bytes())
            .chain_update(listening.to_le_bytes())
            .chain_update(VolePlan::MOST_PACKED_COLUMNS.to_le_bytes());
        Ok(Agreed {
            asks,
            sizes,
            digest: Digest(digest.finalize().into()),
        })
    }

    /// Returns, for each of this party's keys, whether the peer has it, if this party gets the
    /// result.
    fn intersect(
        &self,
        session: &mut Session,
        (agreed, tag): (Agreed, RunTag),
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Option<Vec<bool>>, Error> {
        let to_both = self.meaning.to == MatchRecipient::Both;
        let plain = Plain::new(agreed.sizes, tag, session.ot_settings(), to_both);
        let (keys, seed) = (&self.keys, seed());
        if agreed.asks {
            return run_script(session.channel(), watch, async |io| {
                plain.place(io, keys, &seed).await.map(Some)
            });
        }
        run_script(session.channel(), watch, async |io| {
            plain.program(io, keys, &seed).await
        })
    }

    /// Turns an error in the exchange of sizes into one that says what the peer wanted, if that is
    /// known.
    fn named(&self, error: Error, side: Side) -> Error {
        let ours = self.meaning.text();
        let theirs = match error {
            Error::Protocol(ProtocolError::PeerIncompatible(Incompatibility::Matching {
                ref theirs,
                ..
            })) => {
                let mut known = self.meaning.mistaken();
                let known = known.find(|known| theirs.ends_with(&known.digest(side).to_string()));
                known.map_or_else(|| theirs.clone(), |known| known.text())
            }
            // So far only the fact that this is a matching was sent, so nothing else can be wrong.
            error if wants_another(&error) => "to do something other than matching".to_owned(),
            error => return error,
        };
        Incompatibility::Matching { ours, theirs }.into()
    }
}

impl Agreed {
    fn terms(self, side: Side) -> OrderTerms {
        OrderTerms {
            protocol: ProtocolId::Match,
            // The role stands for the side: both know who asks.
            role: match side {
                Side::Connecting => Role::Evaluator,
                Side::Listening => Role::Garbler,
            },
            statistical_security_bits: 0,
            // There is no scheme, and both say the same.
            scheme: SchemeId::HALF_GATES_TWO_CALL,
            function: self.digest,
            ots: OtNeed::bulk(
                ASK_SECURITY,
                128 * self.sizes.ask_columns * self.sizes.shards,
            ),
        }
    }
}

/// Returns both values, this party's own first if `is_own_first`.
fn in_order(is_own_first: bool, own: u64, peers: u64) -> [u64; 2] {
    if is_own_first {
        [own, peers]
    } else {
        [peers, own]
    }
}
