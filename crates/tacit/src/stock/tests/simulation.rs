//! A simulation of two parties over a long time. From one seed it draws sessions, losses of power,
//! processes that end or live on beside others, full disks, lies, backups and restored backups.
//! Every lease is recorded. No number is ever leased twice, both parties' halves fit, and parties
//! that had no reason to part always succeed.

use super::*;

/// The most processes of a party that live at the same time.
const PROCESSES: usize = 3;

/// A generator of numbers (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
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
    fn stop(&mut self) -> Stop {
        match self.below(8) {
            0 | 1 => Stop::Disk(self.role(), self.below(90)),
            2 => Stop::Message(self.role(), self.below(8)),
            3 => Stop::Wait(self.role(), self.below(8)),
            _ => Stop::Never,
        }
    }
}

/// A party's machine.
struct Machine {
    party: Party,
    processes: Vec<Process>,
    backups: Vec<Memory>,
}

impl Machine {
    fn new(role: Role) -> Self {
        let outside = Some(Memory::new());
        Self {
            party: Party {
                outside,
                ..Party::new(role, KINDS)
            },
            processes: Vec::new(),
            backups: Vec::new(),
        }
    }

    /// Loses power.
    fn restart(&mut self) {
        self.processes.clear();
        self.party.restart();
    }

    /// Puts a backup of the disk back, mostly the newest: an old one has other lots, and is refused
    /// for these. If the machine `may_be_another`, it may have no witness either.
    fn restore(&mut self, dice: &mut Dice, may_be_another: bool) -> bool {
        let taken = self.backups.len() as u64;
        let age = match dice.below(4) {
            0 => dice.below(taken.max(1)),
            _ => 0,
        };
        let Some(place) = taken.checked_sub(1 + age) else {
            return false;
        };
        self.processes.clear();
        self.party.disk = self.backups[place as usize].copy();
        if may_be_another && dice.below(2) == 0 {
            self.party.outside = Some(Memory::new());
        }
        true
    }

    /// Takes one of the processes that live, or starts one.
    fn process(&mut self, dice: &mut Dice, tag: u64) -> Process {
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

/// The parties' machines and the events so far.
struct World {
    machines: [Machine; 2],
    dice: Dice,
    /// Whether a party was restored or lied to since a session last succeeded, so that they may
    /// refuse each other.
    may_part: bool,
    seed: u64,
    /// The numbers of sessions that succeeded, of instances that these took, and of times that both
    /// parties began anew.
    succeeded: u64,
    taken: u64,
    anew: u64,
    in_a_row: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            machines: Role::BOTH.map(Machine::new),
            dice: Dice(seed),
            may_part: false,
            seed,
            succeeded: 0,
            taken: 0,
            anew: 0,
            in_a_row: 0,
        }
    }

    /// Draws an event.
    fn event(&mut self, tag: u64) {
        let machine = &mut self.machines[self.dice.below(2) as usize];
        match self.dice.below(24) {
            0 => machine.restart(),
            1 => machine.processes.clear(),
            2..=4 => machine.backups.push(machine.party.disk.copy()),
            // Nothing shows that both parties went back without a witness (docs/stock.md).
            5 => self.may_part |= machine.restore(&mut self.dice, !self.may_part),
            6 => {
                machine.party.disk.refuse_commits(true);
                self.session(tag, Stop::Never, true);
            }
            _ => {
                let stop = self.dice.stop();
                self.session(tag, stop, false);
            }
        }
    }

    /// Runs a session, which may fail only if it was disturbed or the parties may part.
    fn session(&mut self, tag: u64, stop: Stop, is_disturbed: bool) {
        let [mut garbler, mut evaluator] = self
            .machines
            .each_mut()
            .map(|machine| machine.process(&mut self.dice, tag));
        for Process { name, disk, .. } in [&garbler, &evaluator] {
            if let Stop::Disk(_, at) = stop.of(name.role) {
                disk.lose_power_at(disk.points() + at, tag);
            }
        }
        // More is prepared than leased, so that lots are there that a restored copy has, too.
        let (prepares, leases) = (self.dice.below(3) == 0, self.dice.below(2));
        let lie = (self.dice.below(12) == 0).then(|| [(); 3].map(|()| self.dice.below(1 << 20)));
        let mut messages = 0;
        let mut change = |_: Kind, message: &mut Vec<u8>| {
            if let Some([number, at, bits]) = lie
                && messages == number % 12
                && !message.is_empty()
            {
                let at = at as usize % message.len();
                message[at] ^= (bits % 255) as u8 + 1;
            }
            messages += 1;
        };
        let ended = both(
            [&mut garbler, &mut evaluator],
            stop,
            &mut change,
            async |process, io| process.visit(io, prepares, leases).await,
        );
        self.may_part |= lie.is_some();
        let is_whole = ended.iter().all(Result::is_ok);
        if is_whole && lie.is_none() {
            let taken = garbler.take();
            assert_eq!(taken, evaluator.take(), "seed {}", self.seed);
            self.taken += taken.len() as u64;
            self.succeeded += 1;
            self.may_part = false;
            self.in_a_row = 0;
        }
        let mut may_fail = is_disturbed || self.may_part;
        for (machine, process) in self.machines.iter_mut().zip([garbler, evaluator]) {
            machine.party.disk.refuse_commits(false);
            let is_cut = matches!(stop.of(process.name.role), Stop::Disk(..));
            may_fail |= stop != Stop::Never;
            machine.processes.push(process);
            if is_cut {
                machine.restart();
            }
        }
        assert!(
            is_whole || may_fail,
            "seed {}, session {tag}: {ended:?}",
            self.seed
        );
        if !is_whole && self.may_part {
            let is_undisturbed = stop == Stop::Never && lie.is_none() && !is_disturbed;
            self.in_a_row += u64::from(is_undisturbed);
            assert!(
                self.in_a_row < 4,
                "seed {}: they stay apart: {ended:?}",
                self.seed
            );
            self.begin_anew();
        }
    }

    /// Drops both halves, as the parties' operators do.
    fn begin_anew(&mut self) {
        for Machine {
            party, processes, ..
        } in &mut self.machines
        {
            processes.clear();
            let process = party.open(0);
            process.stocks.end_epoch(&process.name).expect("a disk");
        }
        self.anew += 1;
    }
}

impl Process {
    /// Runs a session: meets, perhaps prepares, and leases as often as asked while there is enough.
    async fn visit(&mut self, io: &mut Io<'_>, prepares: bool, leases: u64) -> Result<(), Error> {
        self.meet(io).await?;
        if prepares {
            self.prepare(io).await?;
        }
        let mut leased = 0;
        // The evaluator is behind at most once for each process that has leased since.
        for _ in 0..2 * (leases + PROCESSES as u64) {
            if leased == leases {
                break;
            }
            match self.attempt(io).await? {
                Attempt::Leased => leased += 1,
                Attempt::Behind => {}
                Attempt::Short { .. } => break,
            }
        }
        Ok(())
    }
}

/// Runs `events` events of the history of `seed`.
fn run(seed: u64, events: u64) -> World {
    let mut world = World::new(seed);
    for tag in 1..=events {
        world.event(tag);
    }
    world
}

#[test]
fn no_number_is_leased_twice_in_a_long_history() {
    for seed in 0..8 {
        let world = run(seed, 250);
        assert!(
            world.succeeded >= 50,
            "{} sessions succeed",
            world.succeeded
        );
        assert!(world.taken >= 100, "{} instances are taken", world.taken);
        assert!(world.anew > 0, "the parties never part");
    }
}

#[test]
#[ignore = "long: many histories"]
fn no_number_is_leased_twice_in_many_histories() {
    let worlds = (1000..1200).map(|seed| run(seed, 1000));
    let succeeded: u64 = worlds.map(|world| world.succeeded).sum();
    println!("{succeeded} sessions succeeded");
}
