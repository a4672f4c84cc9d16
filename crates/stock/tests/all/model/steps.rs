//! What each step of the model does.

use super::faults::Fault;
use super::{
    Action, Broken, Disk, EVALUATOR, GARBLER, Life, Message, NUMBERS, Party, Setup, Stage, State,
};

/// Numbers from `first` on and below `end`, as a set.
fn numbers(first: u8, end: u8) -> u8 {
    (first..end).fold(0, |set, number| set | 1 << number)
}

impl Party {
    fn marks(&self) -> Message {
        Message::Marks {
            meeting: self.disk.meeting,
            confirmed: self.disk.confirmed,
            leased: self.disk.mark(),
        }
    }

    /// Commits a change.
    fn commit(&mut self, disk: Disk) {
        self.disk = disk;
        self.unsynced = None;
        self.is_noted = self.backup.is_some();
    }

    /// Returns the promise that a lease of a number breaks, if any.
    fn lease(&mut self, number: u8) -> Option<Broken> {
        let one = 1 << number;
        let again = self.leased & one != 0 && !self.is_restored;
        self.leased |= one;
        if self.used & one != 0 {
            return Some(Broken::Reused);
        }
        again.then_some(Broken::LeasedTwice)
    }
}

impl State {
    fn send(&mut self, session: usize, to: usize, message: Message) {
        let session = &mut self.sessions[session];
        if session.stages[to] != Stage::Ended {
            let inbox = &mut session.inboxes[to];
            let free = inbox.iter_mut().find(|place| place.is_none());
            *free.expect("at most two messages at once") = Some(message);
        }
    }

    /// Ends a party's side of a session.
    fn close(&mut self, session: usize, party: usize, setup: &Setup) {
        let own = &mut self.parties[party];
        if own.right == Some(session as u8) && setup.fault != Some(Fault::RightOutlivesSession) {
            own.right = None;
        }
        self.sessions[session].stages[party] = Stage::Ended;
        self.sessions[session].inboxes[party] = [None; 2];
    }

    /// Ends a party's process.
    fn stop(&mut self, party: usize) {
        let own = &mut self.parties[party];
        own.life = Life::Down;
        own.disk = own.unsynced.take().unwrap_or(own.disk);
        (own.right, own.passed) = (None, 0);
        for session in &mut self.sessions {
            session.stages[party] = Stage::Ended;
            session.inboxes[party] = [None; 2];
        }
    }

    fn is_restored(&self) -> bool {
        self.parties.iter().any(|party| party.is_restored)
    }

    fn raise_alarm(&mut self) {
        if !self.is_restored() {
            self.broken = Some(Broken::FalseAlarm);
        }
    }
}

impl Setup {
    /// Returns the steps from a state.
    pub(super) fn next(&self, state: &State) -> Vec<(Action, State)> {
        let mut next = Vec::new();
        let mut add = |action, taken: Option<State>| next.extend(taken.map(|to| (action, to)));
        for party in [GARBLER, EVALUATOR] {
            if self.hostile == Some(party) {
                continue;
            }
            add(Action::Open { party }, self.open(state, party));
            add(Action::Backup { party }, self.backup(state, party));
            add(Action::Crash { party }, self.crash(state, party));
            for elsewhere in [false, true] {
                let action = Action::Restore { party, elsewhere };
                add(action, self.restore(state, party, elsewhere));
            }
            for session in 0..state.sessions.len() {
                add(
                    Action::Close { session, party },
                    self.closed(state, session, party),
                );
                for said in self.said(state, session, party) {
                    let step = |cut| self.step(state, (session, party), said, cut);
                    add(
                        Action::Step {
                            session,
                            party,
                            said,
                        },
                        step(false),
                    );
                    add(
                        Action::Cut {
                            session,
                            party,
                            said,
                        },
                        step(true),
                    );
                }
            }
        }
        let ended = |session: &super::Session| session.stages == [Stage::Ended; 2];
        if let Some(session) = state.sessions.iter().position(ended) {
            add(Action::Begin { session }, self.begin(state, session));
        }
        next
    }

    /// Returns what the peer may say now: nothing but what came, or anything.
    fn said(&self, state: &State, session: usize, party: usize) -> Vec<Option<Message>> {
        if self.hostile.is_none() {
            return vec![None];
        }
        let all = match (party, state.sessions[session].stages[party]) {
            (GARBLER, Stage::Starts) | (EVALUATOR, Stage::Sent) => {
                // A greater `confirmed` only ends the session.
                let marks = (0..3).flat_map(|meeting| {
                    (0..=NUMBERS).map(move |leased| Message::Marks {
                        meeting,
                        confirmed: 0,
                        leased,
                    })
                });
                marks.collect()
            }
            (_, Stage::Recorded(_)) => vec![Message::Met],
            (GARBLER, Stage::Met) => (0..NUMBERS).map(Message::Named).collect(),
            (EVALUATOR, Stage::Named(_)) => {
                let behind = (0..=NUMBERS).map(Message::Behind);
                behind.chain([Message::Followed]).collect()
            }
            _ => return vec![None],
        };
        all.into_iter().map(Some).collect()
    }

    fn begin(&self, state: &State, session: usize) -> Option<State> {
        let mut to = *state;
        to.started += 1;
        for party in (0..2).filter(|party| self.hostile != Some(*party)) {
            if state.parties[party].life != Life::Up {
                return None;
            }
            to.sessions[session].stages[party] = Stage::Starts;
        }
        (to.started <= self.sessions).then_some(to)
    }

    fn closed(&self, state: &State, session: usize, party: usize) -> Option<State> {
        let mut to = *state;
        to.close(session, party, self);
        (state.sessions[session].stages[party] != Stage::Ended).then_some(to)
    }

    fn crash(&self, state: &State, party: usize) -> Option<State> {
        let mut to = *state;
        to.crashes += 1;
        to.stop(party);
        let is_up = state.parties[party].life == Life::Up;
        (is_up && to.crashes <= self.crashes).then_some(to)
    }

    fn open(&self, state: &State, party: usize) -> Option<State> {
        let mut to = *state;
        let own = &mut to.parties[party];
        if own.life != Life::Down {
            return None;
        }
        let is_refused = own.disk.ratchet < own.disk.ledger || own.is_old;
        own.disk.ledger = own.disk.mark();
        own.life = if is_refused { Life::Refused } else { Life::Up };
        if is_refused {
            to.raise_alarm();
        }
        Some(to)
    }

    /// One party takes a backup: both never go back.
    fn backup(&self, state: &State, party: usize) -> Option<State> {
        let mut to = *state;
        let own = &mut to.parties[party];
        own.backup = Some(own.disk);
        let is_first = state.parties.iter().all(|party| party.backup.is_none());
        let may = is_first && own.life == Life::Up;
        (may && state.restores < self.restores).then_some(to)
    }

    /// Only the witness notices a copy where the peer is hostile.
    fn restore(&self, state: &State, party: usize, elsewhere: bool) -> Option<State> {
        let mut to = *state;
        let backup = state.parties[party].backup?;
        let may = self.hostile.is_none() || !elsewhere;
        to.restores += 1;
        to.stop(party);
        let own = &mut to.parties[party];
        let is_noted = own.is_noted && !elsewhere;
        own.is_old = is_noted && self.fault != Some(Fault::WitnessIgnored);
        own.disk = backup;
        own.is_restored = true;
        (may && to.restores <= self.restores).then_some(to)
    }

    /// Takes a party's next step of a session, or the part before the power fails between its keys
    /// and its index.
    fn step(
        &self,
        state: &State,
        (session, party): (usize, usize),
        said: Option<Message>,
        is_cut: bool,
    ) -> Option<State> {
        let mut to = *state;
        let stage = state.sessions[session].stages[party];
        let inbox = &mut to.sessions[session].inboxes[party];
        let waits = match stage {
            Stage::Ended => return None,
            Stage::Starts => party == GARBLER,
            Stage::Heard(_) => false,
            Stage::Sent | Stage::Recorded(_) | Stage::Named(_) => true,
            Stage::Met => party == GARBLER,
        };
        let message = if waits {
            let came = inbox[0].take();
            *inbox = [inbox[1].take(), None];
            Some(said.or(came)?)
        } else {
            None
        };
        self.take_step(&mut to, (session, party), (stage, message))?;
        if !is_cut {
            return Some(to);
        }
        self.cut(state, &to, party)
    }

    /// Returns the state in which the power failed within a step that would have led to `whole`.
    fn cut(&self, state: &State, whole: &State, party: usize) -> Option<State> {
        let (old, new) = (state.parties[party].disk, whole.parties[party].disk);
        let mut to = *state;
        to.crashes += 1;
        to.stop(party);
        let own = &mut to.parties[party];
        match self.fault {
            Some(Fault::LedgerFirst) => {
                own.disk = Disk {
                    ratchet: old.ratchet,
                    ..new
                }
            }
            Some(Fault::NoteFirst) => own.is_old = true,
            _ => own.disk.ratchet = new.ratchet,
        }
        (old.ratchet < new.ratchet && to.crashes <= self.crashes).then_some(to)
    }

    fn take_step(
        &self,
        to: &mut State,
        (session, party): (usize, usize),
        (stage, message): (Stage, Option<Message>),
    ) -> Option<()> {
        let (peer, right) = (1 - party, Some(session as u8));
        let own = &mut to.parties[party];
        let stage = match (stage, message) {
            (Stage::Starts, heard) => {
                if own.right.is_some() && self.fault != Some(Fault::NoRightToMeet) {
                    return None;
                }
                own.right = right;
                let marks = own.marks();
                to.send(session, peer, marks);
                heard.map_or(Stage::Sent, Stage::Heard)
            }
            (Stage::Sent, Some(theirs)) | (Stage::Heard(theirs), _) => {
                return self.meet(to, (session, party), theirs);
            }
            (Stage::Recorded(meeting), Some(_)) => {
                let confirmed = own.disk.confirmed.max(meeting);
                own.commit(Disk {
                    confirmed,
                    ..own.disk
                });
                if own.right == right {
                    own.right = None;
                }
                Stage::Met
            }
            (Stage::Met, None) => {
                let number = own.disk.mark();
                if number == NUMBERS {
                    return None;
                }
                to.broken = own.lease(number);
                let before = own.disk;
                own.commit(own.disk.with_mark(number + 1));
                if self.fault == Some(Fault::LeasedBeforeDurable) {
                    own.unsynced = Some(before);
                }
                to.send(session, peer, Message::Named(number));
                Stage::Named(number)
            }
            (Stage::Met, Some(Message::Named(number))) => {
                let answer = self.follow(to, number);
                to.send(session, peer, answer);
                Stage::Met
            }
            (Stage::Named(number), Some(Message::Followed)) => {
                own.used |= 1 << number;
                Stage::Met
            }
            (Stage::Named(_), Some(Message::Behind(mark))) => {
                if mark > own.disk.mark() {
                    own.commit(own.disk.with_mark(mark));
                }
                Stage::Met
            }
            _ => return None,
        };
        to.sessions[session].stages[party] = stage;
        Some(())
    }

    /// Brings a party's marks to what both have.
    fn meet(
        &self,
        to: &mut State,
        (session, party): (usize, usize),
        theirs: Message,
    ) -> Option<()> {
        let Message::Marks {
            meeting,
            confirmed,
            leased,
        } = theirs
        else {
            return None;
        };
        let peer = 1 - party;
        let own = &mut to.parties[party];
        let mut disk = own.disk;
        if meeting < disk.confirmed || disk.meeting < confirmed {
            // The record of a session whose other end has gone may be one that another meeting has
            // overtaken.
            let is_heard = to.sessions[session].stages[peer] != Stage::Ended;
            to.close(session, party, self);
            to.close(session, peer, self);
            if is_heard {
                to.raise_alarm();
            }
            return Some(());
        }
        disk.meeting = disk.meeting.max(meeting) + 1;
        if self.fault == Some(Fault::ConfirmedEarly) {
            disk.confirmed = disk.meeting;
        }
        if leased > disk.mark() && self.fault != Some(Fault::MarkNotRaised) {
            if party == GARBLER {
                own.passed |= numbers(disk.mark(), leased);
            }
            disk = disk.with_mark(leased);
        }
        own.commit(disk);
        to.sessions[session].stages[party] = Stage::Recorded(disk.meeting);
        to.send(session, peer, Message::Met);
        Some(())
    }

    /// The garbler leases what the evaluator named, and returns its answer.
    fn follow(&self, to: &mut State, number: u8) -> Message {
        let own = &mut to.parties[GARBLER];
        let mark = own.disk.mark();
        if number >= mark {
            own.passed |= numbers(mark, number);
            if self.fault != Some(Fault::GarblerUnmarked) {
                own.commit(own.disk.with_mark(number + 1));
            }
        } else if own.passed & 1 << number == 0 {
            return Message::Behind(mark);
        } else if self.fault != Some(Fault::PassedKept) {
            own.passed &= !(1 << number);
        }
        to.broken = own.lease(number);
        own.used |= 1 << number;
        Message::Followed
    }
}
