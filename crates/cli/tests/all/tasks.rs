//! The commands of pages that teach by tasks, typed exactly as on the page.

use std::collections::VecDeque;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::TcpListener;
use std::path::Path;

use crate::process::{ChildProcess, Ended, tacit};

const PAGES: [&str; 2] = ["docs/README.md", "docs/cookbook.md"];

/// The person who types a command.
#[derive(Clone, Copy, PartialEq)]
enum Who {
    Alice,
    Bob,
    Carol,
    Anybody,
}

/// A command of a page, and the output below it.
struct Typed {
    who: Who,
    args: Vec<String>,
    expected: Vec<String>,
}

/// Three people, each with a folder.
struct People {
    alice: tempfile::TempDir,
    bob: tempfile::TempDir,
    carol: tempfile::TempDir,
}

impl People {
    fn new() -> Self {
        let folder = || tempfile::tempdir().expect("a temporary folder");
        Self {
            alice: folder(),
            bob: folder(),
            carol: folder(),
        }
    }

    fn folder(&self, who: Who) -> &Path {
        match who {
            Who::Alice | Who::Anybody => self.alice.path(),
            Who::Bob => self.bob.path(),
            Who::Carol => self.carol.path(),
        }
    }

    /// Puts a file `name` into everybody's folder, or `alice/name` into Alice's.
    fn write(&self, name: &str, content: &str) {
        let (folders, name) = match name.split_once('/') {
            Some(("alice", name)) => (vec![Who::Alice], name),
            Some(("bob", name)) => (vec![Who::Bob], name),
            _ => (vec![Who::Alice, Who::Bob, Who::Carol], name),
        };
        for who in folders {
            fs::write(self.folder(who).join(name), content).expect("a file");
        }
        if name.ends_with(".tacit") {
            tacit(self.alice.path(), &["fmt", "--check", name]).succeeded();
        }
    }

    fn start(&self, typed: &Typed) -> ChildProcess {
        let args: Vec<&str> = typed.args.iter().map(String::as_str).collect();
        ChildProcess::start_open(env!("CARGO_BIN_EXE_tacit"), self.folder(typed.who), &args)
    }

    /// Pairs two people; the first invites the second.
    fn pair(&self, inviting: &Typed, mut accepting: Typed) {
        let mut a = self.start(inviting);
        let invitation = a.line();
        for arg in &mut accepting.args {
            if arg.starts_with("tacit-invitation:") {
                arg.clone_from(&invitation);
            }
        }
        let mut b = self.start(&accepting);
        let code = |party: &mut ChildProcess| party.line_after("read this code aloud: ");
        let (of_a, of_b) = (code(&mut a), code(&mut b));
        a.says(&(of_b + "\n"));
        b.says(&(of_a + "\n"));
        shows(inviting, &a.end());
        shows(&accepting, &b.end());
    }

    /// Runs all commands at once.
    fn together(&self, all: &[Typed]) {
        let running: Vec<ChildProcess> = all.iter().map(|typed| self.start(typed)).collect();
        for (typed, running) in all.iter().zip(running) {
            shows(typed, &running.end());
        }
    }
}

/// Checks that the command succeeded and printed the output below it.
#[track_caller]
fn shows(typed: &Typed, ended: &Ended) {
    let printed = ended.succeeded();
    for line in &typed.expected {
        assert!(
            printed.lines().any(|printed| printed.trim_end() == line),
            "{line:?} after {:?}: {ended:?}",
            typed.args
        );
    }
}

/// Returns ports for the page's 7000 and 7001, outside the range that sockets get by chance.
fn free_ports() -> [u16; 2] {
    let seed = RandomState::new().build_hasher().finish();
    let candidates = (0..1000).map(|n| 10_000 + ((seed.wrapping_add(n)) % 20_000) as u16);
    let mut free = candidates.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    [(); 2].map(|()| free.next().expect("a free port"))
}

/// Returns the commands of a block, with these ports in place of the page's.
fn commands(block: &str, ports: [u16; 2]) -> VecDeque<Typed> {
    let joined = block.replace("\\\n", " ");
    let mut commands: VecDeque<Typed> = VecDeque::new();
    for line in joined.lines() {
        let prompts = [
            ("alice$ tacit ", Who::Alice),
            ("bob$ tacit ", Who::Bob),
            ("carol$ tacit ", Who::Carol),
            ("$ tacit ", Who::Anybody),
        ];
        let typed = prompts
            .iter()
            .find_map(|(prompt, who)| Some((line.strip_prefix(prompt)?, *who)));
        match (typed, commands.back_mut()) {
            (Some((args, who)), _) => commands.push_back(Typed {
                who,
                args: args
                    .replace("127.0.0.1:7000", &format!("127.0.0.1:{}", ports[0]))
                    .replace("127.0.0.1:7001", &format!("127.0.0.1:{}", ports[1]))
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect(),
                expected: Vec::new(),
            }),
            (None, Some(last)) => last.expected.push(line.trim_end().to_owned()),
            (None, None) => panic!("output of no command: {line:?}"),
        }
    }
    commands
}

/// Types a block: each command of `$` alone, and consecutive commands of several people at once.
fn type_all(people: &People, block: &str, ports: [u16; 2]) -> usize {
    let mut commands = commands(block, ports);
    let count = commands.len();
    while let Some(first) = commands.pop_front() {
        if first.who == Who::Anybody {
            shows(&first, &people.start(&first).end());
            continue;
        }
        let mut all = vec![first];
        while let Some(next) = commands.front() {
            if next.who == Who::Anybody || all.iter().any(|typed| typed.who == next.who) {
                break;
            }
            all.extend(commands.pop_front());
        }
        if all[0].args.starts_with(&["pair".to_owned()]) {
            let [inviting, accepting] =
                <[Typed; 2]>::try_from(all).unwrap_or_else(|_| panic!("two pair: {block}"));
            people.pair(&inviting, accepting);
        } else {
            let is_alone = all.len() == 1 && all[0].args[0] != "stock";
            assert!(!is_alone, "somebody else types, too: {block}");
            people.together(&all);
        }
    }
    count
}

#[test]
fn the_commands_of_the_tasks_do_what_the_pages_say() {
    for page in PAGES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(page);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{page}: {error}"));
        let (people, ports) = (People::new(), free_ports());
        let mut typed = 0;
        // Every second part is a block, which begins with its kind.
        for block in text.split("```").skip(1).step_by(2) {
            let (kind, content) = block.split_once('\n').expect("a block of lines");
            match kind.split_once(' ') {
                Some((_, file)) => people.write(file, content),
                None if kind == "console" => typed += type_all(&people, content, ports),
                None => {}
            }
        }
        assert!(typed >= 8, "{page} has commands to type");
    }
}
