//! The states of each of the three parties in a run: the meeting, and then its own stages.

use super::party::Peer;
use super::terms::Meeting;
use crate::Error;
use crate::party::{Action, Party, Progress, SPENT};

/// Where a party is.
pub(super) enum State<Brought, Stage, Running> {
    Meeting(Box<Meeting>, Box<Brought>),
    Running(Stage, Box<Running>),
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

    /// Where it is; none while a step has it, and after an error.
    fn state(&mut self) -> &mut Option<StateOf<Self>>;

    /// The first stage after the meeting.
    fn begin(
        &self,
        meeting: &Meeting,
        brought: Self::Brought,
    ) -> Result<(Self::Stage, Self::Running), Error>;

    /// What is done at `stage`, and the stage after it. Without an action, that one is asked at
    /// once.
    fn step(
        &mut self,
        stage: Self::Stage,
        running: &mut Self::Running,
        message: &mut Vec<u8>,
    ) -> Result<(Self::Stage, Option<Action<Peer>>), Error>;

    /// The stage after the message that `stage` waits for.
    fn take(
        &mut self,
        stage: Self::Stage,
        running: &mut Self::Running,
        payload: &[u8],
    ) -> Result<Self::Stage, Error>;

    /// As [`Party::progress`].
    fn progress(&self) -> Progress {
        Progress::default()
    }
}

impl<P: Stages> Party<Peer> for P {
    fn next(&mut self, message: &mut Vec<u8>) -> Result<Action<Peer>, Error> {
        loop {
            let (state, action) = match self.state().take().ok_or(SPENT)? {
                State::Meeting(mut meeting, brought) => match meeting.next(message) {
                    Some(action) => (State::Meeting(meeting, brought), Some(action)),
                    None => {
                        let (stage, running) = self.begin(&meeting, *brought)?;
                        (State::Running(stage, Box::new(running)), None)
                    }
                },
                State::Running(stage, mut running) => {
                    let (stage, action) = self.step(stage, &mut running, message)?;
                    (State::Running(stage, running), action)
                }
            };
            *self.state() = Some(state);
            if let Some(action) = action {
                return Ok(action);
            }
        }
    }

    fn receive(&mut self, payload: &[u8]) -> Result<(), Error> {
        let state = match self.state().take().ok_or(SPENT)? {
            State::Meeting(mut meeting, brought) => {
                meeting.receive(payload)?;
                State::Meeting(meeting, brought)
            }
            State::Running(stage, mut running) => {
                let stage = self.take(stage, &mut running, payload)?;
                State::Running(stage, running)
            }
        };
        *self.state() = Some(state);
        Ok(())
    }

    fn progress(&self) -> Progress {
        Stages::progress(self)
    }
}
