//! A chain of kept values during a run, at one of the two parties that keep it. The run opens the
//! chain, compares it with the other party's, moves it forward before the attempt, and gives it a
//! new version afterwards. Garbler and evaluator of `prepared` and of `authenticated` keep chains,
//! and so do generator and cloud of `outsourced`.

mod by_two;

use tacit_circuit::Port;
use tacit_function::{Function, Role};
use tacit_protocol::io::Message;
use tacit_protocol::message::Kind;
use tacit_protocol::saved::{ChainVersion, MAX_FORWARD, StoredChain, StoredValue};
use tacit_protocol::{Incompatibility, Misbehaviour};
use tacit_stock::{
    Access, Chain, ChainAgreement, ChainMarks, ChainStatus, PeerId, Policy, Stock, StockError,
    check_chain_name,
};

use crate::advice::advice;
use crate::protocols::Protocol;
use crate::stock::{Home, Keepers, Stocks, wait_for};
use crate::{Error, Fingerprint, Session};

pub(crate) use by_two::Agreed;
pub use by_two::ChainAttempt;

/// Stands in place of a policy's digest where the parties need not have the same policy.
const ANY_POLICY: [u8; 32] = [0; 32];
/// Sent by both: marks, policy and name of the chain, in this order.
const MARKS: Message = Message::up_to(Kind::ChainMarks, ChainMarks::BYTES + 32 + 255);
/// Sent by both: the version that the sender has kept.
pub(crate) const VERSION_KEPT: Message = Message::exactly(Kind::VersionKept, size_of::<u64>());

/// The place where a party keeps what a function saves.
pub(crate) struct ChainPlace {
    pub(crate) stocks: Stocks,
    pub(crate) name: String,
    /// The parties that may use the values of a chain that this run starts, in addition to its
    /// evaluator.
    pub(crate) allowed: Vec<Fingerprint>,
    /// Whether the chain's values are for `allowed` alone, whatever its start said.
    pub(crate) is_exact: bool,
    /// Whether a run may discard values of an existing chain.
    pub(crate) replaces: bool,
    /// The version of this chain that a run must continue from, or a later one.
    pub(crate) pin: Option<ChainVersion>,
}

/// The party for which a run uses the values of a chain.
#[derive(Clone, Copy)]
pub(crate) enum ChainUser {
    /// The two parties that keep the chain.
    Keepers,
    /// The evaluator of three parties, if it is known. The chain's policy allows it or not.
    Evaluator(Option<Fingerprint>),
}

/// The connection to the other party that keeps a chain.
pub(crate) trait OtherKeeper {
    /// Returns the word for the other party in messages.
    fn name(&self) -> &'static str;

    /// Sends a short message to the other party and receives its message.
    fn swap(&mut self, message: Message, ours: &[u8]) -> Result<Vec<u8>, Error>;

    /// Marks the other party as the source of the error.
    fn blame(&self, error: Error) -> Error;
}

impl OtherKeeper for Session {
    fn name(&self) -> &'static str {
        "other party"
    }

    fn swap(&mut self, message: Message, ours: &[u8]) -> Result<Vec<u8>, Error> {
        self.exchange(async |io| {
            io.message().clear();
            io.message().extend_from_slice(ours);
            io.send(message)?;
            Ok(io.receive(message).await?.to_vec())
        })
    }

    fn blame(&self, error: Error) -> Error {
        error
    }
}

/// A party's chain while a run uses it.
pub(crate) struct ChainInUse {
    pub(crate) stocks: Stocks,
    pub(crate) home: Home,
    pub(crate) chain: Chain,
    pub(crate) agreed: ChainAgreement,
    pub(crate) policy: Policy,
    /// The program of the run, if it has one.
    pub(crate) program: Option<[u8; 32]>,
}

/// The past of a chain that a run starts from: this party's state and the loaded values.
pub(crate) struct Past<C, V> {
    /// The chain that the run continues, moved forward. `None` if the run starts a chain.
    pub(crate) chain: Option<C>,
    /// The values that the function loads, in order.
    pub(crate) loads: Vec<V>,
}

impl<C, V> Default for Past<C, V> {
    fn default() -> Self {
        Self {
            chain: None,
            loads: Vec::new(),
        }
    }
}

/// The stock with the chain of a run. Another run of this party may be using the chain.
pub(crate) struct LocatedChain<'p> {
    place: &'p ChainPlace,
    home: Home,
    stock: Stock,
}

/// A chain and its place.
pub(crate) struct OpenedChain<'p> {
    place: &'p ChainPlace,
    home: Home,
    chain: Chain,
}

/// Checks that a chain is named if and only if the function keeps values.
pub(crate) fn check_place(function: &Function, has_chain: bool) -> Result<(), Error> {
    match (has_chain, function.has_saved_values()) {
        (true, false) => Err(Error::ApiMisuse(
            "a chain is for a function that saves or loads values",
        )),
        (false, true) => Err(Error::ApiMisuse(
            "a function that saves or loads values runs in a chain; name one",
        )),
        _ => Ok(()),
    }
}

/// Finds the stock with the chain of a run of `function`, if the function keeps values. `role` is
/// the protocol and this party's role.
pub(crate) fn locate<'p>(
    place: Option<&'p ChainPlace>,
    function: &Function,
    keepers: Option<Keepers>,
    role: (Protocol, Role),
) -> Result<Option<LocatedChain<'p>>, Error> {
    check_place(function, place.is_some())?;
    let Some(place) = place else {
        return Ok(None);
    };
    let keepers = keepers.ok_or(Error::ApiMisuse(
        "a chain belongs to two identities, and not to workers; authenticate the sessions",
    ))?;
    if place.stocks.lane() != keepers.lanes.own {
        return Err(Error::ApiMisuse(
            "a chain is in the lane that the session's greeting named",
        ));
    }
    place.stocks.check_home(keepers, role, &place.name)?;
    let stock = place.stocks.chains_with(keepers, role)?;
    let home = (keepers, role);
    Ok(Some(LocatedChain { place, home, stock }))
}

impl<'p> LocatedChain<'p> {
    /// Takes the chain for this run alone, until it is dropped. While another run of this party has
    /// it, waits up to the time limit for a message of `session`.
    pub(crate) fn take(self, session: &mut Session) -> Result<OpenedChain<'p>, Error> {
        let Self { place, home, stock } = self;
        let chain = wait_for(session, || {
            match place.stocks.chain_in(&stock, &place.name) {
                Err(Error::Stock(error)) if matches!(*error, StockError::Busy { .. }) => {
                    Ok(Err(*error))
                }
                chain => chain.map(Ok),
            }
        })?;
        Ok(OpenedChain { place, home, chain })
    }
}

impl ChainInUse {
    /// Compares the chain with the other party's, checks what `user` may do, and makes the next
    /// attempt durable. Returns the start of the run.
    pub(crate) fn begin<C: StoredChain, V: StoredValue>(
        OpenedChain { place, home, chain }: OpenedChain<'_>,
        function: &Function,
        user: ChainUser,
        other: &mut dyn OtherKeeper,
    ) -> Result<(Self, Past<C, V>), Error> {
        let agreed = meet(&chain, place, user, other)?;
        if agreed.latest.is_some() {
            check_program(&chain, function)?;
        }
        let policy = policy(&chain, place, agreed.latest.is_some(), user)?;
        if let ChainUser::Evaluator(evaluator) = user {
            check_policy(&policy, &chain, function, evaluator)?;
        }
        let state = match agreed.latest {
            Some(version) => Some((version, C::from_bytes(&chain.state()?)?)),
            None => None,
        };
        if let Some(pinned) = place.pin {
            let found = state.as_ref().map(|(version, state)| ChainVersion {
                id: state.id(),
                version: *version,
            });
            if !pinned.is_reached_by(found.as_ref()) {
                return Err(Incompatibility::Pinned { pinned, found }.into());
            }
        }
        let mut past = Past::default();
        if let Some((latest, mut state)) = state {
            check_replaced(&chain, place, function)?;
            go_forward(&chain, &mut state, agreed.next_attempt, other.name())?;
            past.chain = Some(state.at_version(latest));
        }
        for port in function.loads() {
            let (_, bytes) = chain.load(&port.name)?;
            past.loads.push(V::from_bytes(&bytes)?);
        }
        let kept = Self {
            stocks: place.stocks.clone(),
            home,
            chain,
            agreed,
            policy,
            program: program(function),
        };
        Ok((kept, past))
    }

    /// Returns the version that the run makes of what it saves.
    fn new_version(&self) -> u64 {
        self.agreed.next_attempt + 1
    }

    /// Keeps what the run saves and returns the new version. The version is durable at both parties
    /// before either calls it the latest. It is the latest at both before either sends anything
    /// that gives a result away. So neither party can go back to the version before, by a crash or
    /// a lie, once anyone has a result: the other party's latest version is later, and the chain
    /// stops.
    ///
    /// If `under` is given, the values are under a Δ of that stock. If the stock's epoch has ended,
    /// nothing is kept. If the epoch ends later, the end finds what was kept.
    pub(crate) fn save<C: StoredChain, V: StoredValue>(
        &self,
        saves: &[Port],
        state: &C,
        values: &[V],
        under: Option<&Stock>,
        other: &mut dyn OtherKeeper,
    ) -> Result<u64, Error> {
        let version = self.new_version();
        let mut new = match self.agreed.latest {
            Some(_) => self.chain.begin_version(version)?,
            None => {
                let (id, bytes) = (state.id().0, state.to_bytes());
                self.stocks.start_chain(self.home, self.chain.name(), || {
                    Ok(self.chain.create(id, &self.policy, self.program, &bytes)?)
                })?
            }
        };
        for (port, value) in saves.iter().zip(values) {
            new.put(&port.name, &value.to_bytes())?;
        }
        let version = match under {
            Some(stock) => stock.in_epoch(|| new.finish())?,
            None => new.finish()?,
        };
        let ours = version.to_le_bytes();
        let theirs = other.swap(VERSION_KEPT, &ours)?;
        if theirs != ours {
            return Err(other.blame(Misbehaviour::invalid(Kind::VersionKept, "version").into()));
        }
        self.chain.publish(version)?;
        Ok(version)
    }
}

/// Compares the chain with the other party's: first the name, then the policy of a chain that is
/// about to start, then the marks. In this order, a typing error is not taken for a chain that went
/// back.
fn meet(
    chain: &Chain,
    place: &ChainPlace,
    user: ChainUser,
    other: &mut dyn OtherKeeper,
) -> Result<ChainAgreement, Error> {
    let marks = chain.marks()?;
    // A service sets the chain's users anew with every run, and may learn of a change before the
    // other server does.
    let has_one = matches!(user, ChainUser::Evaluator(_)) && !place.is_exact;
    let ours = if marks.status == ChainStatus::Absent && has_one {
        policy(chain, place, false, user)?.digest()
    } else {
        ANY_POLICY
    };
    let told = [&marks.to_bytes()[..], &ours, chain.name().as_bytes()].concat();
    let theirs = other.swap(MARKS, &told)?;
    let parsed = theirs
        .split_at_checked(ChainMarks::BYTES)
        .and_then(|(marks, rest)| Some((marks, rest.split_first_chunk()?)))
        .and_then(|(marks, (policy, name))| Some((marks, policy, str::from_utf8(name).ok()?)))
        .filter(|(.., name)| check_chain_name(name).is_ok());
    let Some((theirs, policy, name)) = parsed else {
        return Err(other.blame(Misbehaviour::invalid(Kind::ChainMarks, "name").into()));
    };
    if name != chain.name() {
        let (who, own) = (other.name(), chain.name());
        let what = format!("the {who} names it {name:?} and this party {own:?}");
        let advice = advice!(
            "give both the same " [Chain] ", or at a service name it in " (OfferedFunctions)
        );
        return Err(Error::ChainsDiffer { what, advice });
    }
    if ours != ANY_POLICY && *policy != ANY_POLICY && ours != *policy {
        let who = other.name();
        let what =
            format!("the {who} opens the new chain {name:?} to other parties than this party does");
        let advice = advice!("give both the same "[Policy]);
        return Err(Error::ChainsDiffer { what, advice });
    }
    let theirs = ChainMarks::parse(theirs).map_err(|error| other.blame(error.into()));
    Ok(chain.reconcile(&theirs?)?)
}

/// Moves to the attempt `next`, durably, before anything depends on it.
///
/// An honest party is far ahead if the other party's disk recorded no attempt for a while. A
/// dishonest party may claim to be far ahead. Each run therefore moves only a bounded distance, so
/// that a false claim costs little.
fn go_forward<C: StoredChain>(
    chain: &Chain,
    state: &mut C,
    next: u64,
    other: &str,
) -> Result<(), Error> {
    let before = chain.marks()?.attempt;
    let ahead = next.saturating_sub(before);
    // Stop one short, so that a peer which is not ahead after all can follow at once.
    let reached = if ahead > MAX_FORWARD {
        before + MAX_FORWARD - 1
    } else {
        next
    };
    state.forward_to(reached)?;
    chain.begin_attempt(reached, &state.to_bytes())?;
    if reached < next {
        let what = format!(
            "the {other} says that it has started {} attempts more of {:?} than this party, which \
             has gone on by {} of them",
            ahead - 1,
            chain.name(),
            reached - before
        );
        let advice = advice!("run again, or drop the chain at both");
        return Err(Error::ChainsDiffer { what, advice });
    }
    Ok(())
}

fn program(function: &Function) -> Option<[u8; 32]> {
    function.program().map(|program| program.0)
}

/// Refuses a run of a program that the chain does not belong to. Saved values may mean something
/// else to another program, which could then reveal more than any run of the chain's own program.
fn check_program(chain: &Chain, function: &Function) -> Result<(), Error> {
    if chain.program()? == program(function) {
        return Ok(());
    }
    Err(Error::OtherProgram {
        chain: chain.name().to_owned(),
    })
}

/// Refuses to overwrite a kept value that was not loaded, unless the job allows it.
fn check_replaced(chain: &Chain, place: &ChainPlace, function: &Function) -> Result<(), Error> {
    let (saves, loads) = (function.saves(), function.loads());
    if place.replaces {
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

/// Returns the policy that says who may use the chain's values in this run.
fn policy(
    chain: &Chain,
    place: &ChainPlace,
    is_there: bool,
    user: ChainUser,
) -> Result<Policy, Error> {
    if is_there && !place.is_exact {
        return Ok(chain.policy()?);
    }
    let evaluator = match user {
        ChainUser::Keepers => None,
        ChainUser::Evaluator(evaluator) => evaluator,
    };
    let evaluator = evaluator.iter().filter(|_| !place.is_exact);
    let all = evaluator.chain(&place.allowed);
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
mod tests;
