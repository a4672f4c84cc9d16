//! A model of how two parties keep their marks: meetings, leases, losses of power and restored
//! copies, explored in every order within small bounds.
//!
//! The model has one kind with a few numbers, all published, and follows the scripts of a session
//! (crates/tacit/src/stock/meeting.rs and leases.rs) message by message. Either both parties are
//! honest, or one is and gets any message at any time. [`faults`] builds the faults that the model
//! must find, one at a time, into the model; [`replay`] takes every step of smaller models on real
//! stocks and compares. Lots that are pending are not modelled: [`crate::crash`] cuts the power at
//! every point of a preparation.

mod explore;
mod faults;
mod replay;
mod steps;

use tacit_stock::Role;

/// The numbers that are published at the start.
const NUMBERS: u8 = 3;
/// The parties, as indices.
const GARBLER: usize = Role::Garbler as usize;
const EVALUATOR: usize = Role::Evaluator as usize;

/// What the model starts from.
#[derive(Clone, Copy, Debug)]
struct Setup {
    /// The party that sends any message at any time, if one does.
    hostile: Option<usize>,
    fault: Option<faults::Fault>,
    /// The most sessions, of which two run at the same time, and the most losses of power and
    /// restored copies.
    sessions: u8,
    crashes: u8,
    restores: u8,
}

/// What a party has on its disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Disk {
    /// The mark of the key file, and that of the index.
    ratchet: u8,
    ledger: u8,
    meeting: u8,
    /// The last meeting that the peer has confirmed.
    confirmed: u8,
}

impl Disk {
    fn mark(&self) -> u8 {
        self.ratchet.max(self.ledger)
    }

    fn with_mark(self, mark: u8) -> Self {
        Self {
            ratchet: mark,
            ledger: mark,
            ..self
        }
    }
}

/// A party's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Life {
    Up,
    Down,
    /// The stock does not open, and waits for its operator.
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Party {
    disk: Disk,
    /// What a loss of power leaves, where a fault acts before the disk has everything.
    unsynced: Option<Disk>,
    backup: Option<Disk>,
    /// Whether the witness has noted a change since the backup.
    is_noted: bool,
    /// Whether the witness has noted a later state than the disk has.
    is_old: bool,
    life: Life,
    /// The session that has the right to meet.
    right: Option<u8>,
    /// Sets of numbers, a bit each: passed over by the process, ever leased, and ever used. The
    /// garbler uses what it leases, the evaluator what the garbler has leased too.
    passed: u8,
    leased: u8,
    used: u8,
    is_restored: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Message {
    Marks {
        meeting: u8,
        confirmed: u8,
        leased: u8,
    },
    Met,
    Named(u8),
    Followed,
    Behind(u8),
}

/// Where a party's script is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Ended,
    Starts,
    /// The evaluator waits for the garbler's record.
    Sent,
    /// The garbler has this record and has answered it.
    Heard(Message),
    /// The party has recorded this meeting, and waits until the peer has.
    Recorded(u8),
    Met,
    /// The evaluator has named this number.
    Named(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Session {
    stages: [Stage; 2],
    /// The messages on their way to each party.
    inboxes: [[Option<Message>; 2]; 2],
}

/// A promise that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Broken {
    /// A party leases a number that it has used.
    Reused,
    /// A party that was never restored leases a number twice.
    LeasedTwice,
    /// A stock is refused, or a peer that still talks, though nothing was restored.
    FalseAlarm,
    /// The parties cannot use a further number, whatever they do.
    Stuck,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    parties: [Party; 2],
    sessions: [Session; 2],
    started: u8,
    crashes: u8,
    restores: u8,
    broken: Option<Broken>,
}

/// A step of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Begin {
        session: usize,
    },
    /// A party's script takes its next step, with the message that came or that a hostile peer
    /// `said`.
    Step {
        session: usize,
        party: usize,
        said: Option<Message>,
    },
    /// The same, and the power fails between the keys and the index.
    Cut {
        session: usize,
        party: usize,
        said: Option<Message>,
    },
    /// A party's connection ends.
    Close {
        session: usize,
        party: usize,
    },
    Crash {
        party: usize,
    },
    Open {
        party: usize,
    },
    Backup {
        party: usize,
    },
    /// A party gets its backup back, perhaps on a machine `elsewhere`, without its witness.
    Restore {
        party: usize,
        elsewhere: bool,
    },
}

impl Setup {
    /// Returns a model of two honest parties.
    fn honest(sessions: u8, crashes: u8, restores: u8) -> Self {
        Self {
            hostile: None,
            fault: None,
            sessions,
            crashes,
            restores,
        }
    }

    /// Returns a model in which this party says anything.
    fn hostile(party: usize, sessions: u8, crashes: u8, restores: u8) -> Self {
        Self {
            hostile: Some(party),
            ..Self::honest(sessions, crashes, restores)
        }
    }

    fn start() -> State {
        let party = Party {
            disk: Disk::default(),
            unsynced: None,
            backup: None,
            is_noted: false,
            is_old: false,
            life: Life::Up,
            right: None,
            passed: 0,
            leased: 0,
            used: 0,
            is_restored: false,
        };
        let session = Session {
            stages: [Stage::Ended; 2],
            inboxes: [[None; 2]; 2],
        };
        State {
            parties: [party; 2],
            sessions: [session; 2],
            started: 0,
            crashes: 0,
            restores: 0,
            broken: None,
        }
    }
}
