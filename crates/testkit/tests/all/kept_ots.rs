//! Base OTs that are kept between sessions: what a second session sends, and that no set serves
//! twice, whatever crashes or lies, unless both parties go back to old disks.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tacit::cost::Phase;
use tacit::net::{Channel, Meter, Transport, memory};
use tacit::session::{BaseOt, BaseOtSource, KeptOts, Side};
use tacit::stock::{Stocks, Storage};
use tacit::{Error, Fingerprint, Function, Job, Role, Session, library};
use tacit_protocol::Misbehaviour;
use tacit_protocol::message::Kind;
use tacit_protocol::session::Proposal;
use tacit_stock::{Index, Memory, StoredFile};
use tacit_testkit::tamper::{Fault, TamperingSink};

const ROLES: [Role; 2] = [Role::Garbler, Role::Evaluator];

fn fingerprint(party: usize) -> Fingerprint {
    Fingerprint([1 + party as u8; 32])
}

/// What a session's only run took at a party.
#[derive(Clone, Copy, Debug)]
struct Took {
    /// Bytes of the base OTs, both ways.
    setup_bytes: u64,
    /// Where they come from.
    source: Option<BaseOtSource>,
    /// Whether what is kept could not be used.
    has_failed: bool,
    /// All of the session.
    whole: Meter,
}

impl Took {
    /// Whether base OTs were made, for this session or for later ones.
    fn made(&self) -> bool {
        self.setup_bytes > 0
    }
}

/// The garbler, then the evaluator; each keeps base OTs, or does not.
struct Parties {
    function: Function,
    kept: [Option<KeptOts>; 2],
    base: BaseOt,
    /// What stands below a party's channel.
    lie: fn(usize, Transport) -> Transport,
}

impl Parties {
    fn new(kept: [Option<KeptOts>; 2]) -> Self {
        Self {
            function: library::function("millionaires", &BTreeMap::new()).expect("a function"),
            kept,
            base: BaseOt::default(),
            lie: |_, transport| transport,
        }
    }

    /// Both keep them in memory.
    fn in_memory() -> Self {
        Self::new([(); 2].map(|()| Some(KeptOts::default())))
    }

    fn play(&self, party: usize, side: Side, channel: Channel) -> Result<Took, Error> {
        let mut session = Session::over(channel, side, Some(&fingerprint(party)))?;
        session.set_base_ot(self.base)?;
        if let Some(kept) = &self.kept[party] {
            session.keep_ots(kept);
        }
        let (name, value) = [("a", 41_u32), ("b", 40)][party];
        let job = Job::new(&self.function, ROLES[party]).input(name, value);
        let outcome = job.run(&mut session)?;
        assert_eq!(outcome.outputs["a_is_richer"].to_text(), "1");
        let phases = outcome.cost.phases.iter();
        let setup = phases.filter(|phase| phase.phase == Phase::Setup);
        let bytes = setup.map(|setup| setup.traffic.sent.bytes + setup.traffic.received.bytes);
        Ok(Took {
            setup_bytes: bytes.sum(),
            source: outcome.cost.base_ots,
            has_failed: session.kept_ots_failure().is_some(),
            whole: session.traffic(),
        })
    }

    /// A session with one run; `connects` is the party that connects.
    fn session(&self, connects: usize) -> [Result<Took, Error>; 2] {
        let ends: [_; 2] = memory::raw_pair(memory::PIPE_BYTES).into();
        let [a, b] = ends.map(memory::RawEnd::into_transport);
        let act = |party: usize, transport| {
            let transport = (self.lie)(party, transport);
            let mut channel = Channel::over_proved(transport, fingerprint(1 - party), [7; 32]);
            channel.set_timeout(Duration::from_secs(20));
            let side = match party == connects {
                true => Side::Connecting,
                false => Side::Listening,
            };
            self.play(party, side, channel)
        };
        thread::scope(|scope| {
            let garbler = scope.spawn(|| act(0, a));
            let evaluator = act(1, b);
            [garbler.join().expect("no panic"), evaluator]
        })
    }

    /// As [`session`](Self::session), where both have the result.
    fn run(&self, connects: usize) -> [Took; 2] {
        self.session(connects)
            .map(|took| took.unwrap_or_else(|error| panic!("{error}")))
    }
}

#[test]
fn a_second_session_sends_no_base_ots_and_takes_two_round_trips() {
    for base in BaseOt::ALL {
        for connects in [0, 1] {
            let mut parties = Parties::in_memory();
            parties.base = base;
            assert!(parties.run(connects).iter().all(Took::made));
            for _ in 0..3 {
                let took = parties.run(connects);
                assert!(!took.iter().any(Took::made), "{took:?}");
                // As the evaluator sees them: its greeting, with or without its proposal; what
                // comes; its extension; the tables; the garbler's result. A listening evaluator's
                // greeting crosses the other's first message, so either party that connects has
                // its result after two round trips.
                let flights = took[1].whole.rounds;
                assert_eq!(flights, 5, "party {connects} connects");
            }
        }
    }
}

#[test]
fn one_party_that_keeps_none_gets_fresh_base_ots() {
    for keeps in [0, 1] {
        let mut kept = [None, None];
        kept[keeps] = Some(KeptOts::default());
        let parties = Parties::new(kept);
        for connects in [0, 1, 0] {
            let took = parties.run(connects);
            assert_eq!(took[0].setup_bytes, 8192 + 32 + 9 * 5, "no batch");
        }
    }
}

#[test]
fn each_set_serves_once_and_then_a_batch_is_made() {
    let parties = Parties::in_memory();
    // Base OTs and the extension, as docs/ot.md has them, in ten frames.
    let first = parties.run(1)[0].setup_bytes;
    assert_eq!(first, 8192 + 32 + 37_456 + 10 * 5);
    let made: Vec<_> = (1..130).filter(|_| parties.run(1)[0].made()).collect();
    assert_eq!(made, [64, 128]);
}

#[test]
fn eight_sessions_at_once_each_take_a_set_of_their_own() {
    let parties = &Parties::in_memory();
    for wave in 0..6 {
        let took: Vec<_> = thread::scope(|scope| {
            let connects = move |number: usize| if wave == 0 { 1 } else { number % 2 };
            let run = move |number| parties.run(connects(number));
            let sessions = (0..8).map(|number| scope.spawn(move || run(number)));
            let sessions: Vec<_> = sessions.collect();
            sessions
                .into_iter()
                .map(|one| one.join().expect("a result"))
                .collect()
        });
        // Of the first sessions one makes the batch, and the others do without.
        let made = took.iter().filter(|took| took[0].made()).count();
        assert!(wave == 0 || made == 0, "{made} in wave {wave}");
    }
}

#[test]
fn a_party_that_forgot_or_went_back_gets_a_new_batch() {
    // The party that forgets connects, or listens.
    for forgets in [0, 1] {
        let mut parties = Parties::in_memory();
        parties.run(1);
        assert!(!parties.run(1)[0].made());
        parties.kept[forgets] = Some(KeptOts::default());
        assert!(parties.run(1)[0].made());
        assert!(!parties.run(1)[0].made());
        // What is kept is kept with that peer.
        let kept = parties.kept[forgets].as_ref().expect("it keeps some");
        kept.retain(&[fingerprint(1 - forgets)]).expect("memory");
        assert!(!parties.run(1)[0].made());
        kept.retain(&[fingerprint(7)]).expect("memory");
        assert!(parties.run(1)[0].made());
    }
}

/// Disks on which both parties keep base OTs.
fn on(disks: &[Memory; 2]) -> Parties {
    Parties::new([0, 1].map(|party| {
        let disk = Arc::new(disks[party].clone());
        let stocks = Stocks::over(disk, Path::new("stocks"), 1 << 30).ok()?;
        Some(KeptOts::in_stocks(&stocks))
    }))
}

#[test]
fn a_disk_keeps_them_for_other_processes() {
    let disks = [Memory::new(), Memory::new()];
    assert!(on(&disks).run(1)[0].made());
    for connects in [1, 0, 1] {
        assert!(!on(&disks).run(connects)[0].made());
    }
    // A disk that went back names a set that is gone at the other; both then make a batch.
    for back in [0, 1] {
        let old = disks[back].copy();
        assert!(!on(&disks).run(back)[0].made());
        let mut disks = [disks[0].copy(), disks[1].copy()];
        disks[back] = old;
        assert!(on(&disks).run(back)[0].made());
        assert!(!on(&disks).run(back)[0].made());
    }
}

#[test]
fn a_disk_forgets_peers_as_well() {
    let disks = [Memory::new(), Memory::new()];
    on(&disks).run(1);
    for (peer, is_kept) in [(1, true), (7, false)] {
        let parties = on(&disks);
        let kept = parties.kept[0].as_ref().expect("it keeps some");
        kept.retain(&[fingerprint(peer)]).expect("a disk");
        assert_eq!(files(&disks[0]).len(), usize::from(is_kept));
    }
    assert_eq!(files(&disks[1]).len(), 1);
    assert!(on(&disks).run(1)[0].made());
}

/// A disk on which the garbler lets its peer go just before it makes a file of base OTs.
struct LettingGo {
    disk: Memory,
    kept: Mutex<Option<KeptOts>>,
}

impl fmt::Debug for LettingGo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.disk.fmt(f)
    }
}

impl Storage for LettingGo {
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.disk.create_folder(folder)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.disk.names(folder)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.disk.sync_folder(folder)
    }

    fn create(&self, file: &Path) -> io::Result<Box<dyn StoredFile>> {
        let kept = self.kept.lock().expect("no panic").take();
        if let Some(kept) = kept {
            kept.retain(&[fingerprint(7)]).expect("a disk");
        }
        self.disk.create(file)
    }

    fn open(&self, file: &Path) -> io::Result<Box<dyn StoredFile>> {
        self.disk.open(file)
    }

    fn remove(&self, file: &Path) -> io::Result<()> {
        self.disk.remove(file)
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        self.disk.remove_folder(folder)
    }

    fn try_lock(&self, file: &Path) -> io::Result<Option<Box<dyn Send + Sync>>> {
        self.disk.try_lock(file)
    }

    fn open_index(&self, file: &Path) -> io::Result<Box<dyn Index>> {
        self.disk.open_index(file)
    }
}

/// A peer that was let go would find base OTs of it when it is known again.
#[test]
fn nothing_is_put_on_a_disk_with_a_peer_that_was_let_go_meanwhile() {
    let disk = Memory::new();
    let letting_go = Arc::new(LettingGo {
        disk: disk.clone(),
        kept: Mutex::default(),
    });
    let storage = Arc::clone(&letting_go);
    let stocks = Stocks::over(storage, Path::new("stocks"), 1 << 30).expect("a folder");
    let kept = KeptOts::in_stocks(&stocks);
    *letting_go.kept.lock().expect("no panic") = Some(kept.clone());
    let parties = Parties::new([Some(kept), Some(KeptOts::default())]);
    assert!(parties.run(1)[0].made());
    assert!(letting_go.kept.lock().expect("no panic").is_none());
    assert_eq!(files(&disk), [] as [PathBuf; 0]);
}

/// The files of base OTs.
fn files(disk: &Memory) -> Vec<PathBuf> {
    let mut files = disk.files();
    files.retain(|file| file.extension().is_some_and(|end| end == "keys"));
    files
}

#[test]
fn a_disk_that_is_locked_or_full_stops_no_session() {
    let disks = [Memory::new(), Memory::new()];
    let source = |connects| on(&disks).run(connects).map(|took| took.source);
    assert_eq!(source(1), [Some(BaseOtSource::Batch); 2]);
    for (locked, connects) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let lock = files(&disks[locked])[0].with_extension("lock");
        let held = disks[locked].try_lock(&lock).expect("a disk");
        let took = on(&disks).run(connects);
        drop(held);
        for (party, took) in took.iter().enumerate() {
            assert_eq!(took.source, Some(BaseOtSource::Fresh));
            assert_eq!(took.has_failed, party == locked);
        }
        assert_eq!(source(connects), [Some(BaseOtSource::Kept); 2]);
    }
    let disks = [Memory::new(), Memory::new()];
    let parties = on(&disks);
    disks[0].limit_bytes(Some(0));
    let took = parties.run(1).map(|took| (took.source, took.has_failed));
    let sources = [BaseOtSource::Fresh, BaseOtSource::Batch].map(Some);
    assert_eq!(took, [(sources[0], true), (sources[1], false)]);
}

#[test]
fn where_both_disks_go_back_a_set_comes_again() {
    let disks = [Memory::new(), Memory::new()];
    on(&disks).run(1);
    let old = [disks[0].copy(), disks[1].copy()];
    let first = on(&disks).run(1);
    let again = on(&old).run(1);
    // The keys differ all the same, since the session's tag is part of each: `ot`'s unit tests show
    // it.
    assert!(!first[0].made() && !again[0].made());
}

#[test]
fn power_lost_at_any_step_costs_a_set_at_most() {
    for who in [0, 1] {
        let mut lost = 0;
        for (point, before) in (0..10).flat_map(|point| [(point, 0), (point, 1)]) {
            let mut disks = [Memory::new(), Memory::new()];
            // The folders and their keys are made.
            on(&disks);
            for _ in 0..before {
                on(&disks).run(1);
            }
            let start = disks[who].points();
            disks[who].lose_power_at(start + point, point);
            on(&disks).run(1);
            lost += usize::from(disks[who].points() > start + point);
            disks[who] = disks[who].restart();
            // Whatever is there then: the next session runs, and the one after it makes nothing.
            on(&disks).run(1);
            assert!(!on(&disks).run(1)[0].made(), "party {who}, point {point}");
        }
        assert!(lost >= 5, "{lost} losses");
    }
}

#[test]
fn a_spent_set_is_not_on_the_disk() {
    let disks = [Memory::new(), Memory::new()];
    on(&disks).run(1);
    let before = disks.each_ref().map(Memory::stolen);
    on(&disks).run(1);
    let after = disks.each_ref().map(Memory::stolen);
    for (before, after) in before.iter().zip(&after) {
        // One slot of a file became zeros, and nothing was written elsewhere.
        assert_eq!(before.len(), after.len());
        let changed = before
            .iter()
            .zip(after)
            .filter(|(before, after)| before != after);
        let changed: Vec<_> = changed.collect();
        assert!(changed.len() > 1500 && changed.iter().all(|(_, after)| **after == 0));
    }
}

#[test]
fn the_evaluator_keeps_no_batch_whose_check_fails() {
    let disks = [Memory::new(), Memory::new()];
    let mut parties = on(&disks);
    parties.lie = |party, transport| match party {
        // The garbler's only message of this kind makes the batch.
        0 => transport.map_sink(|inner| {
            let kind = Kind::CotExtension.byte();
            Box::new(TamperingSink::on_first(inner, kind, Fault::FlipLast))
        }),
        _ => transport,
    };
    let [garbler, evaluator] = parties.session(1);
    let caught = matches!(
        evaluator,
        Err(Error::PeerMisbehaved(Misbehaviour::ObliviousTransfer(_)))
    );
    assert!(caught && garbler.is_err(), "{evaluator:?}");
    assert_eq!(files(&disks[1]), [] as [PathBuf; 0]);
    assert!(on(&disks).run(1)[0].made());
    assert!(!on(&disks).run(1)[0].made());
}

/// Changes the number of the set in what party `liar` sends of this kind.
fn another_set(liar: usize, kind: Kind, party: usize, transport: Transport) -> Transport {
    if party != liar {
        return transport;
    }
    let rewrite = move |_: usize, sent: u8, payload: &[u8]| {
        let mut payload = payload.to_vec();
        let is_set = sent == kind.byte() && payload[Proposal::BYTES] == 2;
        is_set.then(|| {
            payload[Proposal::BYTES + 17] ^= 1;
            payload
        })
    };
    transport.map_sink(|inner| Box::new(TamperingSink::rewriting(inner, Box::new(rewrite))))
}

#[test]
fn an_answer_with_another_set_is_refused() {
    let mut parties = Parties::in_memory();
    parties.run(1);
    parties.lie = |party, transport| another_set(0, Kind::Accept, party, transport);
    let [_, evaluator] = parties.session(1);
    let invalid = Misbehaviour::InvalidField {
        kind: Kind::Accept,
        field: "spare base OTs",
    };
    match evaluator {
        Err(Error::PeerMisbehaved(found)) => assert_eq!(found, invalid),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_set_that_a_peer_names_again_does_not_serve_again() {
    let mut parties = Parties::in_memory();
    parties.run(1);
    // Set 63 serves, then the peer says 63 where it has taken 62.
    assert!(!parties.run(1)[0].made());
    parties.lie = |party, transport| another_set(1, Kind::Propose, party, transport);
    assert!(parties.run(1)[0].made(), "a set served twice");
}
