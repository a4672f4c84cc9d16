//! The agreement of the three parties before a run, and the name of the run.
//!
//! Each party sends both others its terms of the run and a nonce. Generator and cloud also send the
//! state that they bring. `outsourced terms`, numbers little-endian:
//!
//! | byte | field |
//! |---|---|
//! | 0..32 | nonce |
//! | 32..64 | the function's digest |
//! | 64..68 | scheme id |
//! | 68..70 | σ |
//! | 70 | k |
//! | 71 | generator and cloud: 1 if they continue a chain; 0, and then zeros, if they start one |
//! | 72..88 | the chain's id |
//! | 88..96 | its attempt |
//! | 96..104 | the version that is loaded |
//! | 104..136 | hash of the marks and types of all loads |
//!
//! Generator and cloud compare their state, the fields from 71 on, with each other. The evaluator
//! compares both states, and compares the chain and version with its pin. States that differ end
//! the run before a key is used. Everything that follows is bound to a name made from terms, states
//! and the three nonces.

use sha2::{Digest as _, Sha256};
use tacit_circuit::Digest;
use tacit_function::{Function, Role};
use tacit_garble::SchemeId;

use super::messages;
use super::parameters::Parameters;
use super::work::encoding_of;
use crate::io::Io;
use crate::malicious::oracle::Oracle;
use crate::message::Kind;
use crate::party::Peer;
use crate::saved::{ChainId, ChainVersion, SavedState};
use crate::session::Version;
use crate::{Error, Incompatibility, Misbehaviour};

/// The run that a party was told to join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The function.
    pub function: Digest,
    /// The garbling scheme.
    pub scheme: SchemeId,
    /// The number of circuits, and the security.
    pub parameters: Parameters,
}

/// The evaluator's view of a function: its numbers of input and output bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvaluatorBits {
    /// The number of bits of its input.
    pub input_bits: usize,
    /// The number of bits of its result.
    pub output_bits: usize,
}

impl EvaluatorBits {
    /// Returns the evaluator's part of `function`.
    pub fn of(function: &Function) -> Self {
        Self {
            input_bits: function.input_bits(Role::Evaluator),
            output_bits: function.output_bits(Role::Evaluator),
        }
    }

    /// Returns the number of OTs between generator and evaluator that a run takes. (Between
    /// generator and cloud a new chain takes σ OTs, and a later run none.)
    ///
    /// # Errors
    ///
    /// There are more input bits than can be encoded.
    pub fn transfers(&self, parameters: &Parameters) -> Result<usize, Error> {
        Ok(encoding_of(*self, parameters)?.encoded_bits())
    }
}

/// A party's nonce.
pub(super) type Nonce = [u8; 32];

const TERMS_BYTES: usize = 71;

/// Returns the bytes of the terms that `from` sends.
pub(super) const fn terms_bytes(from: Peer) -> usize {
    match from {
        Peer::Evaluator => TERMS_BYTES,
        Peer::Generator | Peer::Cloud => TERMS_BYTES + SavedState::BYTES,
    }
}

/// Writes the terms that a party sends to both others. The evaluator's have no state.
fn write_terms(terms: &Terms, nonce: &Nonce, state: Option<&SavedState>, message: &mut Vec<u8>) {
    message.clear();
    message.extend_from_slice(nonce);
    message.extend_from_slice(&terms.function.0);
    message.extend_from_slice(&terms.scheme.to_bytes());
    message.extend_from_slice(&(terms.parameters.copies() as u16).to_le_bytes());
    message.push(terms.parameters.statistical_security_bits());
    if let Some(state) = state {
        message.extend_from_slice(&state.to_bytes());
    }
}

/// Returns what a peer's terms contain in addition to ours: its nonce and, from generator or cloud,
/// its state.
fn read_terms(
    terms: &Terms,
    from: Peer,
    payload: &[u8],
) -> Result<(Nonce, Option<SavedState>), Error> {
    let kind = Kind::OutsourcedTerms;
    let invalid = |field| Misbehaviour::invalid(kind, field);
    let nonce = payload[..32].try_into().map_err(|_| invalid("nonce"))?;
    let function = payload[32..64]
        .try_into()
        .map_err(|_| invalid("function"))?;
    let scheme = payload[64..68].try_into().map_err(|_| invalid("scheme"))?;
    let scheme =
        SchemeId::from_bytes(scheme).map_err(|_| Incompatibility::Unknown("garbling scheme"))?;
    let copies = u16::from_le_bytes([payload[68], payload[69]]);
    let parameters =
        Parameters::from_fields(copies, payload[70]).ok_or_else(|| invalid("parameters"))?;
    let theirs = Terms {
        function: Digest(function),
        scheme,
        parameters,
    };
    compare(terms, &theirs)?;
    let state = match from {
        Peer::Evaluator => None,
        _ => Some(SavedState::parse(&payload[TERMS_BYTES..]).ok_or_else(|| invalid("state"))?),
    };
    Ok((nonce, state))
}

fn compare(ours: &Terms, theirs: &Terms) -> Result<(), Incompatibility> {
    if ours.function != theirs.function {
        let (ours, theirs) = (ours.function, theirs.function);
        return Err(Incompatibility::Function { ours, theirs });
    }
    if ours.scheme != theirs.scheme {
        let (ours, theirs) = (ours.scheme, theirs.scheme);
        return Err(Incompatibility::Scheme { ours, theirs });
    }
    if ours.parameters != theirs.parameters {
        return Err(Incompatibility::Circuits {
            ours: ours.parameters.to_string(),
            theirs: theirs.parameters.to_string(),
        });
    }
    Ok(())
}

/// The exchange of terms, which is the same for all three parties.
pub(super) struct Meeting {
    own: Peer,
    terms: Terms,
    /// The known nonces of generator, evaluator and cloud.
    nonces: [Nonce; 3],
    /// The state of the servers: this party's, or the first one received.
    state: Option<SavedState>,
    /// The evaluator's pin: it continues only if the servers bring this chain, at this version or a
    /// later one.
    pub(super) pin: Option<ChainVersion>,
}

impl Meeting {
    /// Starts a meeting. Generator and cloud bring their state.
    pub(super) fn new(own: Peer, terms: Terms, nonce: Nonce, state: Option<SavedState>) -> Self {
        Self {
            own,
            terms,
            nonces: [nonce; 3],
            state,
            pin: None,
        }
    }

    /// Sends the terms to both others and receives theirs. Returns the run's oracle, and the chain
    /// that the run continues or starts: at the version that it loads, which is 0 if it starts the
    /// chain, and at the version that it saves, if it saves any.
    pub(super) async fn meet(
        mut self,
        io: &mut Io<'_, Peer>,
    ) -> Result<(Oracle, [ChainVersion; 2]), Error> {
        let own = self.own;
        let others = Peer::ALL.into_iter().filter(|peer| *peer != own);
        for to in others.clone() {
            let nonce = &self.nonces[own as usize];
            write_terms(&self.terms, nonce, self.state.as_ref(), io.message());
            messages::terms(own, to).send(io)?;
        }
        for from in others {
            let payload = messages::terms(from, own).receive(io).await?;
            self.hear(from, payload)?;
        }
        let oracle = self.oracle()?;
        let begun = ChainVersion {
            id: ChainId::new(&oracle),
            version: 0,
        };
        let chain = self.state.and_then(|state| state.chain());
        let (loaded, attempt) = chain.unwrap_or((begun, 0));
        let saved = ChainVersion {
            version: attempt.saturating_add(1),
            ..loaded
        };
        Ok((oracle, [loaded, saved]))
    }

    /// Takes the terms of `from`. Compares the states of both servers with this party's state, or
    /// with each other.
    pub(super) fn hear(&mut self, from: Peer, payload: &[u8]) -> Result<(), Error> {
        let (nonce, theirs) = read_terms(&self.terms, from, payload)?;
        self.nonces[from as usize] = nonce;
        let Some(theirs) = theirs else {
            return Ok(());
        };
        self.state.get_or_insert(theirs).check(&theirs)?;
        let found = theirs.chain().map(|chain| chain.0);
        match self.pin {
            Some(pinned) if !pinned.is_reached_by(found.as_ref()) => {
                Err(Incompatibility::Pinned { pinned, found }.into())
            }
            _ => Ok(()),
        }
    }

    /// Returns the oracle of the run, after everything is received.
    pub(super) fn oracle(&self) -> Result<Oracle, Error> {
        let missing = Error::ApiMisuse("a server brings its state");
        let state = self.state.as_ref().ok_or(missing)?;
        Ok(run_oracle(&self.terms, state, &self.nonces))
    }
}

/// Returns the oracle of a run, which is named by the nonces of generator, evaluator and cloud.
fn run_oracle(terms: &Terms, state: &SavedState, nonces: &[Nonce; 3]) -> Oracle {
    let mut hash = Sha256::new_with_prefix(b"tacit outsourced run 1\0")
        .chain_update(Version::CURRENT.0.to_le_bytes())
        .chain_update(terms.function.0)
        .chain_update(terms.scheme.to_bytes())
        .chain_update((terms.parameters.copies() as u16).to_le_bytes())
        .chain_update([terms.parameters.statistical_security_bits()])
        .chain_update(state.hash());
    nonces.iter().for_each(|nonce| hash.update(nonce));
    let mut name = [0; 16];
    name.copy_from_slice(&hash.finalize()[..16]);
    Oracle::named(name)
}
