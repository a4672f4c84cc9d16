//! A server's chain of kept values in a run: opened, compared with the other server's, moved
//! forward before the attempt, and given a new version after it.

use tacit_circuit::{Function, Port, Role};
use tacit_protocol::Misbehaviour;
use tacit_protocol::message::Kind;
use tacit_protocol::outsourced::{
    CloudChain, CloudValue, GeneratorChain, GeneratorValue, Peer, kills_chain,
};
use tacit_stock::{
    Access, Chain, ChainAgreement, ChainMarks, ChainStatus, PeerId, Policy, StockError,
    check_chain_name,
};
use zeroize::Zeroizing;

use super::links::Links;
use super::{ChainPlace, OutsourcedJob};
use crate::{Category, Error, Fingerprint, Stocks};

/// In place of the digest of a policy: the servers need not have the same.
const ANY_POLICY: [u8; 32] = [0; 32];
/// What a server tells of its chain at most: marks, policy and name.
const MAX_TOLD_BYTES: usize = ChainMarks::BYTES + 32 + 255;

/// What a server keeps of a chain and of a value, as its protocol has them.
pub(super) trait Keeper {
    /// The chain's secret.
    type Chain;
    /// A value.
    type Value;
    /// As which role its stock is.
    const ROLE: Role;

    fn read_chain(bytes: &[u8]) -> Result<Self::Chain, tacit_protocol::Error>;
    fn forward(chain: &mut Self::Chain, attempt: u64) -> Result<(), tacit_protocol::Error>;
    fn at_version(chain: Self::Chain, version: u64) -> Self::Chain;
    fn chain_bytes(chain: &Self::Chain) -> ([u8; 16], Zeroizing<Vec<u8>>);
    fn read_value(bytes: &[u8]) -> Result<Self::Value, tacit_protocol::Error>;
    fn value_bytes(value: &Self::Value) -> Zeroizing<Vec<u8>>;
}

macro_rules! keeper {
    ($keeper:ident, $chain:ident, $value:ident, $role:expr, $doc:literal) => {
        #[doc = $doc]
        pub(super) struct $keeper;

        impl Keeper for $keeper {
            type Chain = $chain;
            type Value = $value;
            const ROLE: Role = $role;

            fn read_chain(bytes: &[u8]) -> Result<$chain, tacit_protocol::Error> {
                $chain::from_bytes(bytes)
            }

            fn forward(chain: &mut $chain, attempt: u64) -> Result<(), tacit_protocol::Error> {
                chain.forward_to(attempt)
            }

            fn at_version(chain: $chain, version: u64) -> $chain {
                chain.at_version(version)
            }

            fn chain_bytes(chain: &$chain) -> ([u8; 16], Zeroizing<Vec<u8>>) {
                (chain.id().0, chain.to_bytes())
            }

            fn read_value(bytes: &[u8]) -> Result<$value, tacit_protocol::Error> {
                $value::from_bytes(bytes)
            }

            fn value_bytes(value: &$value) -> Zeroizing<Vec<u8>> {
                value.to_bytes()
            }
        }
    };
}

keeper!(
    GeneratorKeeps,
    GeneratorChain,
    GeneratorValue,
    Role::Garbler,
    "What the generator keeps."
);
keeper!(
    CloudKeeps,
    CloudChain,
    CloudValue,
    Role::Evaluator,
    "What the cloud keeps."
);

/// A server's chain while a run uses it.
pub(super) struct ChainInUse {
    stocks: Stocks,
    chain: Chain,
    agreed: ChainAgreement,
    policy: Policy,
}

/// What a run starts from.
pub(super) struct Past<K: Keeper> {
    /// The chain that it goes on, moved forward; none where it begins one.
    pub(super) chain: Option<K::Chain>,
    /// What the function loads, in order.
    pub(super) loads: Vec<K::Value>,
}

impl<K: Keeper> Default for Past<K> {
    fn default() -> Self {
        Self {
            chain: None,
            loads: Vec::new(),
        }
    }
}

/// A chain, and the stocks that it is among.
pub(super) type Opened = (Stocks, Chain);

/// Opens the job's chain where its function keeps values; alone with it until it is dropped.
pub(super) fn open<K: Keeper>(
    job: &OutsourcedJob<'_>,
    own: Option<Fingerprint>,
    other_server: Option<Fingerprint>,
) -> Result<Option<Opened>, Error> {
    match (&job.chain, job.function.has_saved_values()) {
        (None, false) => Ok(None),
        (Some(_), false) => Err(Error::ApiMisuse(
            "a chain is for a function that saves or loads values",
        )),
        (None, true) => Err(Error::ApiMisuse(
            "a function that saves or loads values runs in a chain; name one",
        )),
        (Some(ChainPlace { stocks, name, .. }), true) => {
            let (Some(own), Some(peer)) = (own, other_server) else {
                return Err(Error::ApiMisuse(
                    "a chain belongs to two identities; authenticate the sessions",
                ));
            };
            let chain = stocks.chain_with(own, peer, K::ROLE, name)?;
            Ok(Some((stocks.clone(), chain)))
        }
    }
}

impl ChainInUse {
    /// Compares the chain with the other server's, checks what the evaluator may do, and makes the
    /// next attempt durable. Gives what the run starts from.
    pub(super) fn begin<K: Keeper>(
        (stocks, chain): Opened,
        job: &OutsourcedJob<'_>,
        links: &mut Links<'_>,
        other: Peer,
        evaluator: Option<Fingerprint>,
    ) -> Result<(Self, Past<K>), Error> {
        let agreed = meet(&chain, job, links, other, evaluator)?;
        let policy = policy(&chain, job, agreed.latest.is_some(), evaluator)?;
        check_policy(&policy, &chain, job.function, evaluator)?;
        let mut past = Past::<K>::default();
        if let Some(latest) = agreed.latest {
            check_replaced(&chain, job)?;
            let mut state = K::read_chain(&chain.state()?)?;
            // What was kept here is in reach: only the other server's word can be so far ahead.
            K::forward(&mut state, agreed.next_attempt).map_err(|_| {
                let (kind, field) = (Kind::ChainMarks, "attempt");
                Error::PeerMisbehaved(Misbehaviour::InvalidField { kind, field })
            })?;
            chain.begin_attempt(agreed.next_attempt, &K::chain_bytes(&state).1)?;
            past.chain = Some(K::at_version(state, latest));
        }
        for port in job.function.loads() {
            let (_, bytes) = chain.load(&port.name)?;
            past.loads.push(K::read_value(&bytes)?);
        }
        Ok((
            Self {
                stocks,
                chain,
                agreed,
                policy,
            },
            past,
        ))
    }

    /// Keeps what the run saves: durable at both servers before either calls it the latest, and the
    /// latest before the cloud gives out a result, or the generator tells the evaluator that it is
    /// kept. So neither server can go back to the version before, by a crash or a lie, once anyone
    /// has a result: the other's latest is later, and the chain stops.
    pub(super) fn save<K: Keeper>(
        &self,
        saves: &[Port],
        state: &K::Chain,
        values: &[K::Value],
        links: &mut Links<'_>,
        other: Peer,
    ) -> Result<(), Error> {
        if saves.is_empty() {
            return Ok(());
        }
        let version = self.agreed.next_attempt + 1;
        let mut new = match self.agreed.latest {
            Some(_) => self.chain.begin_version(version)?,
            None => {
                let (id, bytes) = K::chain_bytes(state);
                self.chain.create(id, &self.policy, &bytes)?
            }
        };
        for (port, value) in saves.iter().zip(values) {
            new.put(&port.name, &K::value_bytes(value))?;
        }
        let version = new.finish()?;
        let ours = version.to_le_bytes();
        let theirs = exchange(links, other, Kind::VersionKept, &ours, ours.len())?;
        if theirs != version.to_le_bytes() {
            let kind = Kind::VersionKept;
            let field = "version";
            return Err(Error::from(Misbehaviour::InvalidField { kind, field }).of_party(other));
        }
        self.chain.publish(version)?;
        if K::ROLE == Role::Garbler {
            links.with(Peer::Evaluator, |session| {
                let channel = session.channel();
                crate::driver::send(channel, Kind::VersionKept, &version.to_le_bytes())?;
                crate::driver::flush(channel)
            })?;
        }
        Ok(())
    }

    /// Kills the chain where `error` ends it ([`kills_chain`]), before anyone is told of it. Frames
    /// that are too long count like any other malformed message.
    pub(super) fn kill_for(&self, error: &Error) -> Result<(), Error> {
        let kills = match error.of_protocol() {
            Some(of_protocol) => kills_chain(&of_protocol, error.party()),
            None => error.category() == Category::Peer && error.party() != Some(Peer::Evaluator),
        };
        match kills {
            true => self.stocks.kill_chain(&self.chain, &error.to_string()),
            false => Ok(()),
        }
    }
}

/// Waits for the generator's word that both servers have kept what the run saves.
pub(super) fn hear_kept(links: &mut Links<'_>) -> Result<(), Error> {
    let (kind, expected) = (Kind::VersionKept, size_of::<u64>());
    let found = links.with(Peer::Generator, |session| {
        Ok(crate::driver::receive(session.channel(), kind, expected)?.len())
    })?;
    if found != expected {
        let (expected, found) = (expected as u64, found as u64);
        let wrong = Misbehaviour::WrongLength {
            kind,
            expected,
            found,
        };
        return Err(Error::from(wrong).of_party(Peer::Generator));
    }
    Ok(())
}

/// Sends a short message to the other server and takes its own, of at most `max_bytes`.
fn exchange(
    links: &mut Links<'_>,
    other: Peer,
    kind: Kind,
    ours: &[u8],
    max_bytes: usize,
) -> Result<Vec<u8>, Error> {
    links.with(other, |session| {
        let channel = session.channel();
        crate::driver::send(channel, kind, ours)?;
        Ok(crate::driver::receive(channel, kind, max_bytes)?.to_vec())
    })
}

/// Compares the chain with the other server's: what both call it, to whom both open it where they
/// begin it, and how far it is, in this order, so that a slip of the pen is not taken for a chain
/// that went back.
fn meet(
    chain: &Chain,
    job: &OutsourcedJob<'_>,
    links: &mut Links<'_>,
    other: Peer,
    evaluator: Option<Fingerprint>,
) -> Result<ChainAgreement, Error> {
    let marks = chain.marks()?;
    let is_exact = job.chain.as_ref().is_some_and(|place| place.is_exact);
    // A service says anew with every run for whom the chain is, and may be told so before the
    // other.
    let ours = match marks.status == ChainStatus::Absent && !is_exact {
        true => policy(chain, job, false, evaluator)?.digest(),
        false => ANY_POLICY,
    };
    let told = [&marks.to_bytes()[..], &ours, chain.name().as_bytes()].concat();
    let theirs = exchange(links, other, Kind::ChainMarks, &told, MAX_TOLD_BYTES)?;
    let parsed = theirs
        .split_at_checked(ChainMarks::BYTES)
        .and_then(|(marks, rest)| Some((marks, rest.split_first_chunk()?)))
        .and_then(|(marks, (policy, name))| Some((marks, policy, str::from_utf8(name).ok()?)))
        .filter(|(.., name)| check_chain_name(name).is_ok());
    let Some((theirs, policy, name)) = parsed else {
        let (kind, field) = (Kind::ChainMarks, "name");
        return Err(Error::from(Misbehaviour::InvalidField { kind, field }).of_party(other));
    };
    if name != chain.name() {
        return Err(Error::ChainsDiffer(format!(
            "the {other} names it {name:?} and we {:?}; give both servers the same --chain, or \
             chain in [[serve.function]]",
            chain.name()
        )));
    }
    if ours != ANY_POLICY && *policy != ANY_POLICY && ours != *policy {
        return Err(Error::ChainsDiffer(format!(
            "the {other} and we were told to open the new chain {name:?} to different parties; \
             give both servers the same --allow"
        )));
    }
    let theirs = ChainMarks::parse(theirs).map_err(Error::from);
    Ok(chain.reconcile(&theirs.map_err(|error| error.of_party(other))?)?)
}

/// Refuses to save a value anew that is there and was not loaded, unless the job says so.
fn check_replaced(chain: &Chain, job: &OutsourcedJob<'_>) -> Result<(), Error> {
    let (saves, loads) = (job.function.saves(), job.function.loads());
    if job.chain.as_ref().is_some_and(|place| place.replaces) {
        return Ok(());
    }
    let is_loaded = |port: &Port| loads.iter().any(|load| load.name == port.name);
    for port in saves.iter().filter(|port| !is_loaded(port)) {
        if chain.holds(&port.name)? {
            return Err(Error::Replaces {
                chain: chain.name().to_owned(),
                value: port.name.clone(),
            });
        }
    }
    Ok(())
}

/// Who may use the chain's values in this run.
fn policy(
    chain: &Chain,
    job: &OutsourcedJob<'_>,
    is_there: bool,
    evaluator: Option<Fingerprint>,
) -> Result<Policy, Error> {
    let is_exact = job.chain.as_ref().is_some_and(|place| place.is_exact);
    if is_there && !is_exact {
        return Ok(chain.policy()?);
    }
    let allowed = job.chain.iter().flat_map(|place| &place.allowed);
    let all = evaluator.iter().filter(|_| !is_exact).chain(allowed);
    let mut all: Vec<PeerId> = all.map(|one| PeerId(one.0)).collect();
    all.sort_unstable();
    all.dedup();
    let policy = Policy::open_to(&all)?;
    if is_there && policy != chain.policy()? {
        chain.set_policy(&policy)?;
    }
    Ok(policy)
}

fn check_policy(
    policy: &Policy,
    chain: &Chain,
    function: &Function,
    evaluator: Option<Fingerprint>,
) -> Result<(), Error> {
    let loads = function.loads().iter().map(|port| (port, Access::Load));
    let saves = function.saves().iter().map(|port| (port, Access::Save));
    for (port, access) in loads.chain(saves) {
        let is_allowed =
            evaluator.is_some_and(|who| policy.allows(&PeerId(who.0), &port.name, access));
        if !is_allowed {
            return Err(StockError::NotAllowed {
                who: evaluator.map_or_else(|| "nobody known".to_owned(), |who| who.to_string()),
                chain: chain.name().to_owned(),
                value: port.name.clone(),
                access,
            }
            .into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use tacit_net::{Awaited, NetError};
    use tacit_stock::Memory;

    use super::*;

    #[test]
    fn what_the_other_server_does_wrong_kills_the_chain_and_a_lost_connection_does_not() {
        let disk = Arc::new(Memory::new());
        let stocks = Stocks::over(disk, Path::new("s"), 1 << 20).expect("room");
        let [own, peer] = [1, 2].map(|party| Fingerprint([party; 32]));
        let chain = stocks.chain_with(own, peer, Role::Garbler, "friends");
        let chain = chain.expect("room");
        let policy = Policy::default();
        let new = chain.create([7; 16], &policy, b"keys").expect("room");
        let version = new.finish().expect("room");
        chain.publish(version).expect("room");
        let agreed = ChainAgreement {
            latest: Some(version),
            next_attempt: 1,
        };
        let kept = ChainInUse {
            stocks,
            chain,
            agreed,
            policy,
        };
        let lost = || NetError::Closed {
            awaited: Awaited::Message,
        };
        let too_long = || NetError::TooLong {
            kind: Kind::TransferKeys.byte(),
            announced: u32::MAX,
            limit: 100,
        };
        let errors: [(&dyn Fn() -> NetError, _); 2] =
            [(&lost, ChainStatus::Live), (&too_long, ChainStatus::Killed)];
        for (error, status) in errors {
            for party in [Peer::Evaluator, Peer::Cloud] {
                let of_party = Error::from(error()).of_party(party);
                kept.kill_for(&of_party).expect("room");
                let ends = party == Peer::Cloud && status == ChainStatus::Killed;
                let due = if ends { status } else { ChainStatus::Live };
                assert_eq!(
                    kept.chain.marks().expect("a record").status,
                    due,
                    "{of_party}"
                );
            }
        }
    }
}
