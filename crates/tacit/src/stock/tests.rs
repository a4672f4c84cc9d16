//! Tests of both parties' stocks, from the first meeting to leases: each party has a disk in
//! memory, and runs the scripts of [`meeting`](super::meeting) and [`leases`](super::leases) over
//! it.
//!
//! A party may lie in each message. Power cuts, lost messages and dropped scripts end a session at
//! every point. Both parties then start again from what their disks have, and no number is ever
//! leased twice. A [simulation] draws long histories of such events.

mod given;
mod lying;
mod simulation;

use std::future::{Future, poll_fn};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tacit_function::Role;
use tacit_garble::SchemeId;
use tacit_net::Fingerprint;
use tacit_protocol::Error;
use tacit_protocol::io::Io;
use tacit_protocol::io::memory::run_two;
use tacit_protocol::message::Kind;
use tacit_protocol::party::OnlyPeer;
use tacit_stock::{
    Agreement, ComponentDigest, InstanceSize, Lease, LeasePool, LeaseRequest, Memory, Preparation,
    Span, Stock, Witness,
};

use given::NumbersGiven;

use super::failure::StockFailure;
use super::leases::{Attempt, LeaseIo, LeaseTerms, OwnLeases, Unanswered, follow, name};
use super::meeting::{self, OwnLots, OwnMeetings, OwnRecord, Patience};
use super::{StockName, Stocks, crosses};

/// The two kinds that a session prepares.
type Kinds = [ComponentDigest; 2];

const KINDS: Kinds = [ComponentDigest([7; 32]), ComponentDigest([9; 32])];
/// The number of instances of each kind that a session prepares.
const LOT: u64 = 8;
/// The most instances of each kind that an exchange leases.
const MOST: u64 = 3;
const SIZE: InstanceSize = InstanceSize {
    secret_bytes: 16,
    table_bytes: 0,
};

/// A party: its disk, the disk of its witness if it has one, and what it was given.
struct Party {
    role: Role,
    kinds: Kinds,
    disk: Memory,
    outside: Option<Memory>,
    given: NumbersGiven,
}

/// A party's process.
struct Process {
    disk: Memory,
    stocks: Stocks,
    name: StockName,
    kinds: Kinds,
    stock: Option<Stock>,
    held: LeasePool,
    failure: StockFailure,
    given: NumbersGiven,
    /// The content of this session's lots, at both parties.
    tag: u64,
}

impl Party {
    fn new(role: Role, kinds: Kinds) -> Self {
        Self {
            role,
            kinds,
            disk: Memory::new(),
            outside: None,
            given: NumbersGiven::default(),
        }
    }

    fn pair() -> [Self; 2] {
        Self::pair_with(KINDS)
    }

    fn pair_with(kinds: Kinds) -> [Self; 2] {
        Role::BOTH.map(|role| Self::new(role, kinds))
    }

    /// Restarts the machine, and starts a process from what the earlier one left. Both parties'
    /// processes have the same tag.
    fn start(&mut self, tag: u64) -> Process {
        self.restart();
        self.open(tag)
    }

    /// Restarts the machine.
    fn restart(&mut self) {
        self.disk = self.disk.restart();
        self.outside = self.outside.as_ref().map(Memory::restart);
    }

    /// Returns the name of its stock.
    fn name(&self) -> StockName {
        let (own, peer) = match self.role {
            Role::Garbler => (Fingerprint([1; 32]), Fingerprint([2; 32])),
            Role::Evaluator => (Fingerprint([2; 32]), Fingerprint([1; 32])),
        };
        StockName {
            own,
            peer,
            role: self.role,
            scheme: SchemeId::HALF_GATES_TWO_CALL,
            lanes: Default::default(),
        }
    }

    /// Starts a process beside those that run.
    fn open(&self, tag: u64) -> Process {
        let disk = self.disk.clone();
        let stocks = Stocks::over(Arc::new(disk.clone()), Path::new("s"), 1 << 20);
        let mut stocks = stocks.expect("a disk");
        if let Some(outside) = &self.outside {
            let witness = Witness::open(Arc::new(outside.clone()), Path::new("w"));
            stocks = stocks.witnessed(witness.expect("a disk"));
        }
        Process {
            disk,
            stocks,
            name: self.name(),
            kinds: self.kinds,
            stock: None,
            held: LeasePool::new(),
            failure: StockFailure::default(),
            given: self.given.clone(),
            tag,
        }
    }
}

impl Process {
    fn stock(&self) -> &Stock {
        self.stock.as_ref().expect("the parties have met")
    }

    fn meetings(&self) -> OwnMeetings<'_> {
        OwnMeetings {
            stocks: &self.stocks,
            id: self.name.id(),
            patience: Patience::new(Duration::ZERO),
            failure: &self.failure,
        }
    }

    async fn meet(&mut self, io: &mut Io<'_>) -> Result<(), Error> {
        let mut own = OwnRecord {
            meetings: self.meetings(),
            stock: None,
            prepares: false,
            right: None,
            waiting: None,
        };
        meeting::meet(io, self.name.role, &mut own).await?;
        let stock = own.stock.take();
        self.stock = stock;
        Ok(())
    }

    async fn prepare(&mut self, io: &mut Io<'_>) -> Result<(), Error> {
        let role = self.name.role;
        let mut own = OwnRecord {
            meetings: self.meetings(),
            stock: self.stock.clone(),
            prepares: true,
            right: None,
            waiting: None,
        };
        let agreed = meeting::meet_again(io, role, &mut own).await?;
        let right = own.right.take().expect("the right to prepare");
        let mut own = OwnLots {
            meetings: self.meetings(),
            stock: self.stock(),
            written: self.write(&right, &agreed)?,
            durable: Vec::new(),
        };
        meeting::publish(io, role, &mut own).await
    }

    /// Writes a lot of each kind.
    fn write(
        &self,
        right: &Preparation,
        agreed: &Agreement,
    ) -> Result<Vec<tacit_stock::LotWriter>, Error> {
        let next = |kind| {
            let agreed = agreed.kinds.iter().find(|agreed| agreed.kind == kind);
            agreed.map_or(0, |agreed| agreed.next_number)
        };
        let lots = self.kinds.map(|kind| {
            let (first, count) = (next(kind), LOT);
            (kind, SIZE, Span { first, count })
        });
        let lots = self.failure.noted(right.begin_lots(&lots))?;
        for lot in &lots {
            for number in lot.span().first..lot.span().end() {
                let secret = [self.tag.to_le_bytes(), number.to_le_bytes()].concat();
                self.failure.noted(lot.put(number, &secret, &[]))?;
            }
        }
        Ok(lots)
    }

    async fn attempt(&mut self, io: &mut Io<'_>) -> Result<Attempt, Error> {
        let kinds = self.kinds;
        let terms = |least| LeaseTerms {
            kinds: &kinds,
            counts: vec![least..=MOST; 2],
            runs: 1,
        };
        match self.name.role {
            Role::Evaluator => name(io, self, &terms(1)).await,
            Role::Garbler => follow(io, self, &terms(0), |_| true).await,
        }
    }

    async fn lease(&mut self, io: &mut Io<'_>) -> Result<(), Error> {
        while self.attempt(io).await? != Attempt::Leased {}
        Ok(())
    }

    /// Runs a session: meets, prepares, and leases.
    async fn session(&mut self, io: &mut Io<'_>) -> Result<(), Error> {
        self.meet(io).await?;
        self.prepare(io).await?;
        self.lease(io).await
    }

    fn held(&self) -> [u64; 2] {
        self.kinds.map(|kind| self.held.count(&kind))
    }

    /// Takes the numbers and secrets that the process holds.
    fn take(&mut self) -> Vec<(u64, Vec<u8>)> {
        let kinds = self.kinds;
        let leases = kinds.map(|kind| self.held.take(&kind, self.held.count(&kind)));
        let leases = leases.map(|lease| lease.expect("all of them"));
        let instances = leases.into_iter().flat_map(Lease::instances);
        let instances = instances.map(|instance| instance.expect("as it was written"));
        let halves = instances.map(|one| (one.number(), one.secret().to_vec()));
        halves.collect()
    }

    fn own(&mut self) -> OwnLeases<'_> {
        OwnLeases {
            stock: self.stock.as_ref().expect("the parties have met"),
            held: &mut self.held,
            failure: &self.failure,
        }
    }

    fn note(&self, kind: ComponentDigest, spans: &[Span]) {
        let (id, epoch) = (self.name.id(), self.stock().epoch());
        for number in spans.iter().flat_map(|span| span.first..span.end()) {
            let is_new = self.given.lease(&id, epoch, kind, number);
            assert!(is_new, "{:?} leases {number} twice", self.name.role);
        }
    }
}

impl LeaseIo for Process {
    fn lease_next(&mut self, wanted: &[LeaseRequest]) -> Result<Option<Unanswered>, Error> {
        let leases = self.own().lease_next(wanted)?;
        let named = leases.iter().flat_map(Unanswered::named).zip(self.kinds);
        named.for_each(|(spans, kind)| self.note(kind, &spans));
        Ok(leases)
    }

    fn lease_named(
        &mut self,
        named: &[(ComponentDigest, &[Span])],
    ) -> Result<Option<Vec<Lease>>, Error> {
        let leases = self.own().lease_named(named)?;
        for lease in leases.iter().flatten() {
            self.note(lease.kind(), &lease.spans().collect::<Vec<_>>());
        }
        Ok(leases)
    }

    fn marks(&mut self, kinds: &[ComponentDigest]) -> Result<Vec<u64>, Error> {
        self.own().marks(kinds)
    }

    fn raise_marks(&mut self, marks: &[(ComponentDigest, u64)]) -> Result<(), Error> {
        self.own().raise_marks(marks)
    }

    fn hold(&mut self, leases: Vec<Lease>) -> Result<(), Error> {
        let (id, epoch) = (self.name.id(), self.stock().epoch());
        for lease in &leases {
            for number in lease.spans().flat_map(|span| span.first..span.end()) {
                self.given.hold(&id, epoch, lease.kind(), number);
            }
        }
        self.own().hold(leases)
    }
}

/// The point at which a party stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Never,
    /// The power fails at this point of the session's work on the disk.
    Disk(Role, u64),
    /// The party stops before its message of this number leaves.
    Message(Role, u64),
    /// The party stops when it waits for a message for this time.
    Wait(Role, u64),
}

impl Stop {
    /// Returns the stop if it concerns the party in `role`.
    fn of(self, role: Role) -> Self {
        match self {
            Self::Disk(of, _) | Self::Message(of, _) | Self::Wait(of, _) if of == role => self,
            _ => Self::Never,
        }
    }
}

/// Runs a script until it waits for the time after `waits` waits, and drops it there.
async fn until<T>(
    waits: Option<u64>,
    script: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let mut script = pin!(script);
    let mut left = waits;
    poll_fn(|context| match script.as_mut().poll(context) {
        Poll::Pending if left == Some(0) => Poll::Ready(Err(Error::Wire)),
        Poll::Pending => {
            left = left.map(|left| left - 1);
            Poll::Pending
        }
        ready => ready,
    })
    .await
}

/// Runs a script of both parties, and stops early at `stop`. `lie` may change each message on its
/// way.
fn both<T>(
    [garbler, evaluator]: [&mut Process; 2],
    stop: Stop,
    lie: &mut dyn FnMut(Kind, &mut Vec<u8>),
    script: impl AsyncFn(&mut Process, &mut Io<'_>) -> Result<T, Error>,
) -> [Result<T, Error>; 2] {
    let waits = |role| match stop.of(role) {
        Stop::Wait(_, waits) => Some(waits),
        _ => None,
    };
    let mut sent = [0; 2];
    let mut on_its_way = |sender: usize, _: OnlyPeer, kind, message: &mut (u8, Vec<u8>)| {
        let role = Role::BOTH[sender];
        sent[sender] += 1;
        if stop == Stop::Message(role, sent[sender] - 1) {
            return Err(Error::Wire);
        }
        lie(kind, &mut message.1);
        Ok(())
    };
    let ended = run_two(
        async |io| until(waits(Role::Garbler), script(garbler, io)).await,
        async |io| until(waits(Role::Evaluator), script(evaluator, io)).await,
        &mut on_its_way,
    );
    ended.results.into()
}

/// Leaves a message unchanged.
fn honest(_: Kind, _: &mut Vec<u8>) {}

/// Stops a party in one of three sessions, and compares what both lease in the other sessions.
/// Returns whether the stopped session ran to its end.
fn stopped_in(kinds: Kinds, session: u64, at: Stop) -> bool {
    let [mut garbler, mut evaluator] = Party::pair_with(kinds);
    let mut is_whole = true;
    for tag in 1..=3 {
        let stop = if tag == session { at } else { Stop::Never };
        let (mut garbler, mut evaluator) = (garbler.start(tag), evaluator.start(tag));
        for Process { name, disk, .. } in [&garbler, &evaluator] {
            if let Stop::Disk(_, at) = stop.of(name.role) {
                disk.lose_power_at(disk.points() + at, at);
            }
        }
        let ended = both(
            [&mut garbler, &mut evaluator],
            stop,
            &mut honest,
            async |process, io| process.session(io).await,
        );
        if matches!(stop, Stop::Never) {
            assert!(ended.iter().all(Result::is_ok), "{at:?}: {ended:?}");
            assert_eq!(garbler.take(), evaluator.take());
        } else {
            is_whole = ended.iter().all(Result::is_ok);
        }
    }
    is_whole
}

/// If a party forgot what it has leased, it would give the numbers again, under the same Δ.
#[test]
fn no_number_is_leased_twice_wherever_a_party_stops() {
    // The least number of points of a session at which each party can stop.
    type At = fn(Role, u64) -> Stop;
    let stops: [(At, usize); 3] = [(Stop::Disk, 20), (Stop::Message, 6), (Stop::Wait, 4)];
    let all = [KINDS, crosses::kinds_of_evaluator()].into_iter();
    let all = all.flat_map(|kinds| Role::BOTH.map(|role| (kinds, role)));
    for (kinds, role) in all {
        for (stop, least) in stops {
            // The first session begins an epoch, and the second finds one.
            for session in [1, 2] {
                let stopped = (0..).take_while(|at| !stopped_in(kinds, session, stop(role, *at)));
                let points = stopped.count();
                assert!(points >= least, "{role:?} stops at {points} points");
            }
        }
    }
}
