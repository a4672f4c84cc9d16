//! The steps of the model on real stocks: a walk takes every step of a model, and after each both
//! parties' stocks have the marks, meetings and rights that the model says.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use tacit_stock::{
    Lease, Limits, Marks, Meeting, Memory, Role, RootKey, Span, Stock, StockError, Stocks, Witness,
};

use super::explore::{Graph, explore};
use super::{Action, EVALUATOR, GARBLER, Life, Message, NUMBERS, Setup, Stage, State};
use crate::parties::{EPOCH, TABLES, id, prepare_lot};

/// A party with its real disk, the disk of its witness, and its process if it has one.
struct Side {
    role: Role,
    disk: Memory,
    outside: Memory,
    backup: Option<Memory>,
    process: Option<(Stocks, Stock)>,
    /// What the sessions have: the right to meet, and a lease that the garbler has not followed.
    rights: [Option<Meeting>; 2],
    named: [Option<Lease>; 2],
}

impl Side {
    fn new(role: Role) -> Self {
        Self {
            role,
            disk: Memory::new(),
            outside: Memory::new(),
            backup: None,
            process: None,
            rights: [None, None],
            named: [None, None],
        }
    }

    /// Returns a copy of a party whose process has ended.
    fn copy(&self) -> Self {
        Self {
            disk: self.disk.copy(),
            outside: self.outside.copy(),
            ..Self::new(self.role)
        }
    }

    fn stocks(&self) -> Stocks {
        let outside = Arc::new(self.outside.clone());
        let witness = Witness::open(outside, Path::new("w")).expect("a disk");
        let disk = Arc::new(self.disk.clone());
        let stocks = Stocks::open(disk, Path::new("s"), RootKey::Beside).expect("a disk");
        stocks.witnessed(witness)
    }

    fn open(&mut self) -> Result<(), StockError> {
        let stocks = self.stocks();
        let stock = stocks.stock(id(self.role), Limits::default())?;
        self.process = Some((stocks, stock));
        Ok(())
    }

    fn stock(&self) -> &Stock {
        &self.process.as_ref().expect("a process").1
    }

    fn try_meet(&self) -> Option<Meeting> {
        let (stocks, _) = self.process.as_ref().expect("a process");
        stocks.try_meet(&id(self.role)).expect("a disk")
    }

    fn close(&mut self, session: usize) {
        (self.rights[session], self.named[session]) = (None, None);
    }

    fn stop(&mut self) {
        (0..2).for_each(|session| self.close(session));
        self.process = None;
    }

    /// Returns the peer's record that the model's message stands for.
    fn record(&self, message: Message) -> Marks {
        let Message::Marks {
            meeting,
            confirmed,
            leased,
        } = message
        else {
            panic!("{message:?} is no record");
        };
        let mut marks = self.stock().marks().expect("a disk");
        (marks.meeting, marks.confirmed) = (meeting.into(), confirmed.into());
        marks.kinds[0].leased = leased.into();
        marks
    }

    /// Takes the step of a session. Returns the number that is leased by it.
    fn step(
        &mut self,
        session: usize,
        stage: Stage,
        message: Option<Message>,
    ) -> Result<Option<u64>, StockError> {
        let number = |lease: &Lease| lease.spans().next().map(|span| span.first);
        match (stage, message) {
            (Stage::Starts, _) => {
                self.rights[session] = self.try_meet();
                assert!(self.rights[session].is_some());
            }
            (Stage::Sent, Some(theirs)) | (Stage::Heard(theirs), None) => {
                self.stock().reconcile(&self.record(theirs))?;
            }
            (Stage::Recorded(meeting), Some(Message::Met)) => {
                self.stock().confirm(meeting.into())?;
                self.rights[session] = None;
            }
            (Stage::Met, None) => {
                let lease = self.stock().lease(&TABLES, 1)?;
                let leased = number(&lease);
                self.named[session] = Some(lease);
                return Ok(leased);
            }
            (Stage::Met, Some(Message::Named(first))) => {
                let span = Span {
                    first: first.into(),
                    count: 1,
                };
                let lease = self.stock().lease_spans(&TABLES, &[span])?;
                let leased = number(&lease);
                read(lease);
                return Ok(leased);
            }
            (Stage::Named(_), Some(Message::Followed)) => {
                read(self.named[session].take().expect("a lease"));
            }
            (Stage::Named(_), Some(Message::Behind(mark))) => {
                self.named[session] = None;
                self.stock().raise_marks(&[(TABLES, mark.into())])?;
            }
            other => panic!("{other:?} is no step"),
        }
        Ok(None)
    }
}

/// Reads what is leased.
fn read(lease: Lease) {
    for instance in lease.instances() {
        let instance = instance.expect("a key and a file");
        assert_eq!(instance.secret()[8..], instance.number().to_le_bytes());
    }
}

/// Both parties, as their stocks are when the model starts.
fn prepared() -> [Side; 2] {
    let mut sides = Role::BOTH.map(Side::new);
    for side in &mut sides {
        let stocks = side.stocks();
        let stock = stocks.create(id(side.role), EPOCH, b"a secret", Limits::default());
        side.process = Some((stocks, stock.expect("a new folder")));
    }
    {
        let rights = sides
            .each_ref()
            .map(|side| side.stock().prepare().expect("free"));
        prepare_lot(rights.each_ref(), TABLES, (0, NUMBERS.into()), 7).expect("room");
    }
    sides.iter_mut().for_each(Side::stop);
    sides
}

/// Takes one step on the real stocks, and compares them with the model's.
fn take(sides: &mut [Side; 2], before: &State, action: Action, after: &State) {
    match action {
        Action::Begin { .. } => {}
        Action::Step {
            session,
            party,
            said,
        } => {
            step(sides, before, (session, party, said), after);
        }
        Action::Cut {
            session,
            party,
            said,
        } => {
            let side = &mut sides[party];
            let (stage, message) = next_step(before, (session, party, said));
            // The first of two pages is written and synced, and then the second is written.
            side.disk.lose_power_at(side.disk.points() + 2, 3);
            side.step(session, stage, message).expect_err("no power");
            side.stop();
            side.disk = side.disk.restart();
        }
        Action::Close { session, party } => sides[party].close(session),
        Action::Crash { party } => {
            let side = &mut sides[party];
            side.stop();
            side.disk = side.disk.restart();
        }
        Action::Open { party } => match (sides[party].open(), after.parties[party].life) {
            (Ok(()), Life::Up) | (Err(StockError::Restored { .. }), Life::Refused) => {}
            other => panic!("{other:?}"),
        },
        Action::Backup { party } => sides[party].backup = Some(sides[party].disk.copy()),
        Action::Restore { party, elsewhere } => {
            let side = &mut sides[party];
            side.stop();
            side.disk = side.backup.as_ref().expect("a backup").copy();
            if elsewhere {
                side.outside = Memory::new();
            }
        }
    }
    compare(sides, after);
}

fn next_step(
    state: &State,
    (session, party, said): (usize, usize, Option<Message>),
) -> (Stage, Option<Message>) {
    let session = &state.sessions[session];
    let stage = session.stages[party];
    let waits = match stage {
        Stage::Starts | Stage::Met => party == GARBLER,
        Stage::Heard(_) => false,
        _ => true,
    };
    let message = said.or(session.inboxes[party][0]);
    (stage, message.filter(|_| waits))
}

fn step(
    sides: &mut [Side; 2],
    before: &State,
    (session, party, said): (usize, usize, Option<Message>),
    after: &State,
) {
    let (stage, message) = next_step(before, (session, party, said));
    let taken = sides[party].step(session, stage, message);
    let leased = after.parties[party].leased ^ before.parties[party].leased;
    match taken {
        Ok(Some(number)) => assert!(leased == 1 << number || before.parties[party].is_restored),
        Ok(None) => assert_eq!(leased, 0),
        Err(StockError::Behind { .. }) => assert_eq!((leased, stage), (0, Stage::Met)),
        Err(StockError::RolledBack { .. }) => {
            assert_eq!(after.sessions[session].stages, [Stage::Ended; 2]);
            sides.iter_mut().for_each(|side| side.close(session));
        }
        Err(error) => panic!("{error}"),
    }
}

fn compare(sides: &[Side; 2], state: &State) {
    for (side, party) in sides.iter().zip(&state.parties) {
        if party.life != Life::Up || side.process.is_none() {
            continue;
        }
        let marks = side.stock().marks().expect("a disk");
        let found = [marks.kinds[0].leased, marks.meeting, marks.confirmed];
        let disk = party.disk;
        let expected = [disk.mark(), disk.meeting, disk.confirmed].map(u64::from);
        assert_eq!(found, expected, "mark, meeting and confirmed meeting");
        assert_eq!(
            side.try_meet().is_none(),
            party.right.is_some(),
            "the right to meet"
        );
    }
}

/// The steps that no walk has taken.
struct Walk<'a> {
    graph: &'a Graph<State, Action>,
    left: Vec<Vec<bool>>,
}

impl Walk<'_> {
    /// Returns the steps from a state to the nearest one with a step left, and that step. A step is
    /// its place among those of its state.
    fn way(&self, from: usize) -> Option<Vec<usize>> {
        let mut ways = VecDeque::from([(from, Vec::new())]);
        let mut seen = vec![false; self.left.len()];
        while let Some((state, way)) = ways.pop_front() {
            let on = |step| [&way[..], &[step]].concat();
            if let Some(step) = self.left[state].iter().position(|left| *left) {
                return Some(on(step));
            }
            for (step, (_, to)) in self.graph.steps[state].iter().enumerate() {
                if !std::mem::replace(&mut seen[*to], true) {
                    ways.push_back((*to, on(step)));
                }
            }
        }
        None
    }
}

/// Takes every step of a model on real stocks, or as many steps as `at_most`. Returns the number of
/// steps that it took, some of them on the way to others.
fn replay(setup: Setup, at_most: usize) -> usize {
    let graph = explore(Setup::start(), |state| setup.next(state), |_| false);
    let left = graph.steps.iter().map(|steps| vec![true; steps.len()]);
    let mut walk = Walk {
        left: left.collect(),
        graph: &graph,
    };
    let (start, mut taken) = (prepared(), 0);
    while walk.way(0).is_some() && taken < at_most {
        let mut sides = start.each_ref().map(Side::copy);
        let honest = [GARBLER, EVALUATOR].into_iter();
        for party in honest.filter(|party| setup.hostile != Some(*party)) {
            sides[party].open().expect("as it was prepared");
        }
        let (mut state, mut trace) = (0, Trace::default());
        while let Some(way) = walk.way(state) {
            for step in way {
                walk.left[state][step] = false;
                let (action, to) = graph.steps[state][step];
                trace.0.push(action);
                take(&mut sides, &graph.states[state], action, &graph.states[to]);
                state = to;
                taken += 1;
            }
        }
    }
    taken
}

/// The steps of a walk, which are printed if one fails.
#[derive(Default)]
struct Trace(Vec<Action>);

impl Drop for Trace {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the steps of the model: {:#?}", self.0);
        }
    }
}

#[test]
fn real_stocks_do_what_the_model_says() {
    for (setup, at_most) in [
        (Setup::honest(1, 1, 0), usize::MAX),
        (Setup::hostile(EVALUATOR, 1, 1, 0), usize::MAX),
        (Setup::hostile(GARBLER, 1, 1, 0), usize::MAX),
        (Setup::hostile(EVALUATOR, 2, 0, 0), 2000),
        (Setup::hostile(GARBLER, 2, 0, 0), 2000),
        (Setup::honest(2, 0, 0), 2000),
        (Setup::honest(1, 1, 1), 2000),
    ] {
        let taken = replay(setup, at_most);
        assert!(taken > 700, "{setup:?}: {taken} steps");
    }
}

#[test]
#[ignore = "long: every step of larger models"]
fn real_stocks_do_what_larger_models_say() {
    let models = [
        Setup::honest(2, 0, 0),
        Setup::honest(1, 0, 1),
        Setup::hostile(EVALUATOR, 1, 1, 1),
        Setup::hostile(GARBLER, 1, 1, 1),
    ];
    let taken: usize = models.map(|setup| replay(setup, usize::MAX)).iter().sum();
    println!("{{\"steps\":{taken},\"all_held\":true}}");
}
