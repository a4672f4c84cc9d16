//! The states of each of the three parties in a run: the meeting, and then its own stages.

use core::mem;

use super::party::Step;
use super::terms::Meeting;
use crate::Error;
use crate::party::SPENT;

/// Where a party is.
pub(super) enum State<Brought, Stage, Running> {
    Meeting(Box<Meeting>, Box<Brought>),
    Running(Stage, Box<Running>),
    Spent,
}

/// The state of a party.
pub(super) type StateOf<P> =
    State<<P as Stages>::Brought, <P as Stages>::Stage, <P as Stages>::Running>;

/// What a party does at each of its stages.
pub(super) trait Stages {
    /// What it comes with to the meeting.
    type Brought;
    /// Where a run stands.
    type Stage;
    /// What it has in a run besides.
    type Running;

    fn state(&mut self) -> &mut StateOf<Self>;

    /// The first stage after the meeting.
    fn begin(
        &self,
        meeting: &Meeting,
        brought: Self::Brought,
    ) -> Result<(Self::Stage, Self::Running), Error>;

    /// What is done at `stage`, and the stage after it. Without a step, that one is asked at once.
    fn step(
        &mut self,
        stage: Self::Stage,
        running: &mut Self::Running,
        message: &mut Vec<u8>,
    ) -> Result<(Self::Stage, Option<Step>), Error>;

    /// The stage after the message that `stage` waits for.
    fn take(
        &mut self,
        stage: Self::Stage,
        running: &mut Self::Running,
        payload: &[u8],
    ) -> Result<Self::Stage, Error>;
}

/// [`ThreeParty::next`](super::party::ThreeParty::next) of a party that has stages.
pub(super) fn next<P: Stages>(party: &mut P, message: &mut Vec<u8>) -> Result<Step, Error> {
    loop {
        let (state, step) = match mem::replace(party.state(), State::Spent) {
            State::Meeting(mut meeting, brought) => match meeting.next(message) {
                Some(step) => (State::Meeting(meeting, brought), Some(step)),
                None => {
                    let (stage, running) = party.begin(&meeting, *brought)?;
                    (State::Running(stage, Box::new(running)), None)
                }
            },
            State::Running(stage, mut running) => {
                let (stage, step) = party.step(stage, &mut running, message)?;
                (State::Running(stage, running), step)
            }
            State::Spent => return Err(SPENT),
        };
        *party.state() = state;
        if let Some(step) = step {
            return Ok(step);
        }
    }
}

/// [`ThreeParty::receive`](super::party::ThreeParty::receive) of a party that has stages.
pub(super) fn receive<P: Stages>(party: &mut P, payload: &[u8]) -> Result<(), Error> {
    let state = match mem::replace(party.state(), State::Spent) {
        State::Meeting(mut meeting, brought) => {
            meeting.receive(payload)?;
            State::Meeting(meeting, brought)
        }
        State::Running(stage, mut running) => {
            let stage = party.take(stage, &mut running, payload)?;
            State::Running(stage, running)
        }
        State::Spent => return Err(SPENT),
    };
    *party.state() = state;
    Ok(())
}
