//! A party's machine, and what is drawn from the seed.

use tacit_stock::{Memory, Storage};

use super::*;

/// The most processes of a party that live at the same time.
pub(super) const PROCESSES: usize = 3;

/// A generator of numbers (SplitMix64).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn role(&mut self) -> Role {
        Role::BOTH[self.below(2) as usize]
    }

    /// Draws whether and where a party stops in a session.
    pub(super) fn stop(&mut self) -> Stop {
        match self.below(8) {
            0 | 1 => Stop::Disk(self.role(), self.below(90)),
            2 => Stop::Message(self.role(), self.below(8)),
            3 => Stop::Wait(self.role(), self.below(8)),
            _ => Stop::Never,
        }
    }
}

/// A party's machine.
pub(super) struct Machine {
    pub(super) party: Party,
    pub(super) processes: Vec<Process>,
    pub(super) backups: Vec<Memory>,
    /// The number of times that it has started. A process of an earlier start has ended.
    pub(super) starts: u64,
    /// Whether its witness has noted its last change for sure.
    pub(super) is_noted: bool,
}

impl Machine {
    pub(super) fn new(role: Role, given: &NumbersGiven) -> Self {
        let (outside, given) = (Some(Memory::new()), given.clone());
        Self {
            party: Party {
                outside,
                given,
                ..Party::new(role, KINDS)
            },
            processes: Vec::new(),
            backups: Vec::new(),
            starts: 0,
            is_noted: false,
        }
    }

    pub(super) fn has_power(&self) -> bool {
        self.party.disk.names(Path::new("s")).is_ok()
    }

    /// Loses power, and starts again.
    pub(super) fn restart(&mut self) {
        self.processes.clear();
        self.party.restart();
        self.starts += 1;
        self.is_noted = false;
    }

    /// Puts a backup of the disk back, mostly the newest: an old one has other lots, and is refused
    /// for these. If the machine `may_be_another`, it may have no witness either. Returns false if
    /// there is no backup, or if nothing is sure to notice it and something must.
    pub(super) fn restore(&mut self, dice: &mut Dice, may_be_another: bool) -> bool {
        let taken = self.backups.len() as u64;
        let age = match dice.below(4) {
            0 => dice.below(taken.max(1)),
            _ => 0,
        };
        let Some(place) = taken.checked_sub(1 + age) else {
            return false;
        };
        if !may_be_another && !self.is_noted {
            return false;
        }
        let outside = self.party.outside.as_ref().map(Memory::copy);
        self.restart();
        self.party.disk = self.backups[place as usize].copy();
        self.party.outside = outside;
        if may_be_another && dice.below(2) == 0 {
            self.party.outside = Some(Memory::new());
        }
        self.party.given.restored(&self.party.name().id());
        true
    }

    /// Takes one of the processes that live, or starts one.
    pub(super) fn process(&mut self, dice: &mut Dice, tag: u64) -> Process {
        let taken = dice.below(PROCESSES as u64) as usize;
        let mut process = match self.processes.len() {
            live if taken < live => self.processes.swap_remove(taken),
            _ => self.party.open(tag),
        };
        process.tag = tag;
        process.held = LeasePool::new();
        process
    }
}
