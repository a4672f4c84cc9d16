//! Parties of `outsourced` that attack with their own means, over whole sessions: the honest
//! parties' output for their users, the state on their disks, and whether the chain goes on.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tacit::outsourced::{OutsourcedJob, OutsourcedParameters, OutsourcedRole};
use tacit::stock::{ChainStatus, Stocks};
use tacit::{Error, Function, ProtocolError};
use tacit_net::Transport;
use tacit_protocol::message::{AbortReason, Kind};
use tacit_testkit::sessions::Folders;
use tacit_testkit::tamper::{Play, Sent, TamperingSink};
use tacit_testkit::three::{Direction, Ends, kept_riches, run_three};

use OutsourcedRole::{Cloud, Evaluator, Generator};

const TIMEOUT: Duration = Duration::from_secs(20);
/// Two circuits are evaluated and three checked.
const COPIES: usize = 5;
const CHAIN: &str = "kept";
/// The bytes that the generator sends the evaluator about the keys of one circuit.
const PAIR_OF_HASHES: usize = 64;

/// The plays of a test on some directions.
type Plays = Vec<(Direction, Play)>;

/// The attack of a generator that tries to learn whether this circuit is checked.
type Attack = fn(usize) -> Plays;

/// The replacement of a message with this kind and payload.
type Spoil = fn(u8, &[u8]) -> Sent;

struct Chain {
    function: Function,
    folders: Folders,
}

impl Chain {
    /// Returns a chain after an honest run.
    fn begun() -> Self {
        let chain = Self {
            function: kept_riches(false),
            folders: Folders::empty(),
        };
        for end in chain.runs(Vec::new()) {
            end.expect("an honest run");
        }
        Self {
            function: kept_riches(true),
            ..chain
        }
    }

    fn copy(&self) -> Self {
        Self {
            function: self.function.clone(),
            folders: self.folders.copy(),
        }
    }

    fn stocks(&self, server: usize) -> Stocks {
        let folder = self.folders.path(server);
        // A copy of the folder includes a copy of its notes.
        Stocks::open_witnessed(folder, 1 << 24, &folder.join("witness")).expect("a folder")
    }

    /// Makes a run in which `plays` change the messages.
    fn runs(&self, plays: Plays) -> Ends {
        let plays = Mutex::new(plays);
        let parameters =
            OutsourcedParameters::insecure_for_measurements(COPIES as u32, 40).expect("parameters");
        let job = |role| {
            let job = OutsourcedJob::new(&self.function, parameters).patience(TIMEOUT);
            match role {
                Generator => job.chain(&self.stocks(0), CHAIN, &[]).input("a", 200_u8),
                Evaluator => job.input("b", 40_u8),
                Cloud => job.chain(&self.stocks(1), CHAIN, &[]),
            }
        };
        let below = |direction, transport: Transport| {
            let mut plays = plays.lock().expect("no panic");
            match plays.iter().position(|play| play.0 == direction) {
                Some(at) => {
                    let (_, play) = plays.swap_remove(at);
                    transport.map_sink(|inner| Box::new(TamperingSink::playing(inner, play)))
                }
                None => transport,
            }
        };
        run_three(&job, &below, TIMEOUT)
    }

    /// Returns the status of the chain on both servers' disks.
    fn status(&self) -> [ChainStatus; 2] {
        [0, 1].map(|server| status(&self.stocks(server)))
    }

    /// Checks that an honest run has its result.
    fn goes_on(&self) {
        let [generator, evaluator, cloud] = self.runs(Vec::new());
        let evaluator = evaluator.expect("an honest run").outputs;
        for result in ["a_is_richer", "a_was_richer"] {
            assert_eq!(evaluator[result].to_text(), "1", "{result}");
        }
        generator.and(cloud).expect("an honest run");
    }
}

fn status(stocks: &Stocks) -> ChainStatus {
    stocks.chains().expect("a list")[0].summary.marks.status
}

/// Returns what the evaluator's user sees: the command's exit code, and the text.
fn seen(ends: &Ends) -> (u8, String) {
    match &ends[Evaluator as usize] {
        Ok(_) => (0, String::new()),
        Err(error) => (error.category() as u8, error.to_string()),
    }
}

/// Returns a play in which the generator lies about the check key of circuit `copy`.
fn lie_about(copy: usize) -> (Direction, Play) {
    let lie: Play = Box::new(move |kind, payload| {
        let mut payload = payload.to_vec();
        if kind == Kind::KeyHashes.byte() {
            payload[PAIR_OF_HASHES * copy] ^= 1
        } else {
            return Sent::AsIs;
        }
        Sent::Payload(payload)
    });
    ((Generator, Evaluator), lie)
}

/// Returns a play that leaves instead of sending a message of this kind.
fn leaves_at(direction: Direction, at: Kind) -> (Direction, Play) {
    let leave: Play = Box::new(move |kind, _| {
        if kind == at.byte() {
            Sent::End
        } else {
            Sent::AsIs
        }
    });
    (direction, leave)
}

/// Returns the play of [`lie_about`], followed by an abort that accuses the evaluator of cheating,
/// in place of the message of kind `at`.
fn lie_and_blame(copy: usize, at: Kind) -> (Direction, Play) {
    let (direction, mut lie) = lie_about(copy);
    let blame: Play = Box::new(move |kind, payload| {
        if kind == at.byte() {
            let misbehaved = vec![AbortReason::Misbehaved.byte()];
            Sent::Message(Kind::Abort.byte(), misbehaved)
        } else {
            lie(kind, payload)
        }
    });
    (direction, blame)
}

/// The attack of a generator that tries to learn which circuits are checked. It lies about one key,
/// so that the evaluator finds generator and cloud at odds exactly if that circuit is checked, and
/// ensures that the cloud learns nothing and kills nothing. The evaluator's user must then see the
/// same text and exit code for every circuit, and the chain lives at both servers.
#[test]
fn no_lie_about_a_key_shows_the_split_while_the_chain_lives() {
    let chain = Chain::begun();
    let ways: [(&str, Attack); 4] = [
        ("leaves the cloud before the heads", |copy| {
            vec![
                lie_about(copy),
                leaves_at((Generator, Cloud), Kind::CopyHeads),
            ]
        }),
        ("leaves the cloud before the decodings", |copy| {
            let leaves = leaves_at((Generator, Cloud), Kind::InputDecodings);
            vec![lie_about(copy), leaves]
        }),
        ("blames the evaluator, and leaves the cloud", |copy| {
            let leaves = leaves_at((Generator, Cloud), Kind::CopyHeads);
            vec![lie_and_blame(copy, Kind::Orders), leaves]
        }),
        ("leaves both", |copy| {
            let mut plays = vec![leaves_at((Generator, Cloud), Kind::CopyHeads)];
            let (direction, mut lie) = lie_about(copy);
            let leave: Play = Box::new(move |kind, payload| {
                if kind == Kind::Orders.byte() {
                    Sent::End
                } else {
                    lie(kind, payload)
                }
            });
            plays.push((direction, leave));
            plays
        }),
    ];
    for (way, plays) in ways {
        let attempts = (0..COPIES).map(|copy| {
            let ends = chain.runs(plays(copy));
            assert!(ends[Cloud as usize].is_err(), "{way}, circuit {copy}");
            assert_eq!(
                chain.status(),
                [ChainStatus::Live; 2],
                "{way}, circuit {copy}"
            );
            seen(&ends)
        });
        let attempts: Vec<_> = attempts.collect();
        for (copy, attempt) in attempts.iter().enumerate() {
            assert_ne!(attempt.0, 0, "{way}: {attempts:#?}");
            assert_eq!(
                *attempt, attempts[0],
                "{way}, circuit {copy}: {attempts:#?}"
            );
        }
    }
    chain.goes_on();
}

/// Records the status on the disk of `server` when it sends an abort.
fn notes_aborts(
    chain: &Chain,
    server: usize,
    direction: Direction,
    noted: &Arc<Mutex<Vec<(Direction, ChainStatus)>>>,
) -> (Direction, Play) {
    let (stocks, noted) = (chain.stocks(server), Arc::clone(noted));
    let note: Play = Box::new(move |kind, _| {
        if kind == Kind::Abort.byte() {
            let status = status(&stocks);
            noted.lock().expect("no panic").push((direction, status));
        }
        Sent::AsIs
    });
    (direction, note)
}

/// A lie that the cloud learns of ends the chain at both servers, on disk before anyone is told;
/// only then does the evaluator's user read of it. A lie about a key that the cloud lacks has no
/// visible effect.
#[test]
fn a_lie_about_a_key_that_is_found_kills_the_chain_before_anyone_is_told() {
    let chain = Chain::begun();
    let mut found = 0;
    for copy in 0..COPIES {
        let chain = chain.copy();
        let noted = Arc::default();
        let notes = [
            (0, Generator, Cloud),
            (1, Cloud, Generator),
            (1, Cloud, Evaluator),
        ];
        let notes =
            notes.map(|(server, from, to)| notes_aborts(&chain, server, (from, to), &noted));
        let ends = chain.runs(notes.into_iter().chain([lie_about(copy)]).collect());
        let aborts = noted.lock().expect("no panic").clone();
        match seen(&ends) {
            (0, _) => {
                assert!(ends.iter().all(Result::is_ok), "{ends:?}");
                assert_eq!(chain.status(), [ChainStatus::Live; 2], "circuit {copy}");
                chain.goes_on();
            }
            (code, text) => {
                found += 1;
                assert_eq!(code, 4, "{text}");
                assert!(text.contains("keys are not the generator's"), "{text}");
                assert_eq!(chain.status(), [ChainStatus::Killed; 2], "circuit {copy}");
                let told = |to| aborts.contains(&((Cloud, to), ChainStatus::Killed));
                assert!(told(Evaluator) && told(Generator), "{aborts:?}");
                assert!(
                    !aborts.iter().any(|abort| abort.1 == ChainStatus::Live),
                    "{aborts:?}"
                );
            }
        }
    }
    assert_eq!(found, 3, "circuits that are checked");
}

/// The cloud finds a circuit that does not follow from its seed, or the generator finds a toss that
/// does not match its commitment: the disk says killed before the abort is sent.
#[test]
fn a_failed_check_kills_the_chain_before_anyone_is_told() {
    let flips = |direction, at: Kind| {
        let flip: Play = Box::new(move |kind, payload| {
            let mut payload = payload.to_vec();
            if kind == at.byte() {
                payload.iter_mut().for_each(|byte| *byte ^= 1)
            } else {
                return Sent::AsIs;
            }
            Sent::Payload(payload)
        });
        (direction, flip)
    };
    let begun = Chain::begun();
    let cases = [
        ((Generator, Cloud), Kind::Copies, 1, Cloud),
        ((Generator, Cloud), Kind::InputDecodings, 1, Cloud),
        ((Cloud, Generator), Kind::TossOpening, 0, Generator),
        ((Cloud, Generator), Kind::OutsourcedResult, 0, Generator),
    ];
    for (lie, at, server, finder) in cases {
        let chain = begun.copy();
        let noted = Arc::default();
        let other = if finder == Cloud { Generator } else { Cloud };
        let tells = [other, Evaluator].map(|to| (finder, to));
        let notes = tells.map(|tell| notes_aborts(&chain, server, tell, &noted));
        let ends = chain.runs(notes.into_iter().chain([flips(lie, at)]).collect());
        let error = ends[finder as usize].as_ref().expect_err("it is found");
        assert!(
            matches!(error, Error::Protocol(ProtocolError::PeerMisbehaved(_))),
            "{at}: {error}"
        );
        assert_eq!(chain.status()[server], ChainStatus::Killed, "{at}");
        let aborts = noted.lock().expect("no panic").clone();
        assert!(
            aborts.contains(&((finder, other), ChainStatus::Killed)),
            "{at}: {aborts:?}"
        );
        assert!(
            aborts.iter().all(|abort| abort.1 == ChainStatus::Killed),
            "{at}: {aborts:?}"
        );
        // A server that had finished before follows when they meet.
        assert!(chain.runs(Vec::new()).iter().all(Result::is_err), "{at}");
        assert_eq!(chain.status(), [ChainStatus::Killed; 2], "{at}");
    }
}

/// An evaluator that sends to either server what no honest one sends ends only its own run, and
/// nothing that others keep: a plain disconnect would have had the same effect.
#[test]
fn no_bad_frame_of_a_client_ends_a_chain() {
    let chain = Chain::begun();
    let cases = [
        (Generator, Kind::OutsourcedTerms),
        (Generator, Kind::CotExtension),
        (Generator, Kind::Permutation),
        (Cloud, Kind::OutsourcedTerms),
        (Cloud, Kind::TransferKeys),
    ];
    let bad: [(&str, Spoil); 5] = [
        ("too short", |_, payload| {
            Sent::Payload(payload[1..].to_vec())
        }),
        ("of another kind", |_, payload| {
            Sent::Message(Kind::Split.byte(), payload.to_vec())
        }),
        ("of no kind", |_, payload| {
            Sent::Message(0xee, payload.to_vec())
        }),
        ("too long", |kind, _| Sent::Message(kind, vec![2; 1 << 20])),
        ("an abort", |_, _| {
            Sent::Message(Kind::Abort.byte(), vec![AbortReason::Misbehaved.byte()])
        }),
    ];
    for (to, at) in cases {
        for (what, bad) in bad {
            let play: Play = Box::new(move |kind, payload| {
                if kind == at.byte() {
                    bad(kind, payload)
                } else {
                    Sent::AsIs
                }
            });
            let ends = chain.runs(vec![((Evaluator, to), play)]);
            assert!(ends[to as usize].is_err(), "{at} to the {to}, {what}");
            assert_eq!(
                chain.status(),
                [ChainStatus::Live; 2],
                "{at} to the {to}, {what}"
            );
        }
    }
    chain.goes_on();
}
