//! The commands of pages that teach by tasks, typed as they stand there.

mod process;

use std::collections::VecDeque;
use std::fs;
use std::path::Path;

use process::{Ended, Running};

const PAGES: [&str; 1] = ["docs/README.md"];

/// Who types a command.
#[derive(Clone, Copy, PartialEq)]
enum Who {
    Alice,
    Bob,
    Anybody,
}

/// A command of a page, and what stands below it.
struct Typed {
    who: Who,
    args: Vec<String>,
    expected: Vec<String>,
}

/// Two people, each with a folder.
struct People {
    alice: tempfile::TempDir,
    bob: tempfile::TempDir,
}

impl People {
    fn folder(&self, who: Who) -> &Path {
        match who {
            Who::Alice | Who::Anybody => self.alice.path(),
            Who::Bob => self.bob.path(),
        }
    }

    fn start(&self, typed: &Typed) -> Running {
        let args: Vec<&str> = typed.args.iter().map(String::as_str).collect();
        Running::start_open(env!("CARGO_BIN_EXE_tacit"), self.folder(typed.who), &args)
    }

    /// Both type at once; one invites the other, or both do the same.
    fn both(&self, alice: &Typed, mut bob: Typed) {
        let mut a = self.start(alice);
        let pairs = alice.args.starts_with(&["pair".to_owned()]);
        if pairs {
            let invitation = a.line();
            for arg in &mut bob.args {
                if arg.starts_with("tacit-invitation:") {
                    arg.clone_from(&invitation);
                }
            }
        }
        let mut b = self.start(&bob);
        if pairs {
            let code = |party: &mut Running| party.line_after("read this code aloud: ");
            let (alices, bobs) = (code(&mut a), code(&mut b));
            a.says(&(bobs + "\n"));
            b.says(&(alices + "\n"));
        }
        shows(alice, &a.end());
        shows(&bob, &b.end());
    }
}

/// Fails unless the command ended well and printed what stands below it.
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

/// The commands of a block.
fn commands(block: &str) -> VecDeque<Typed> {
    let joined = block.replace("\\\n", " ");
    let mut commands: VecDeque<Typed> = VecDeque::new();
    for line in joined.lines() {
        let prompts = [
            ("alice$ tacit ", Who::Alice),
            ("bob$ tacit ", Who::Bob),
            ("$ tacit ", Who::Anybody),
        ];
        let typed = prompts
            .iter()
            .find_map(|(prompt, who)| Some((line.strip_prefix(prompt)?, *who)));
        match (typed, commands.back_mut()) {
            (Some((args, who)), _) => commands.push_back(Typed {
                who,
                // The port of the page may be taken here.
                args: args
                    .split_whitespace()
                    .map(|arg| arg.replace("127.0.0.1:7000", "127.0.0.1:0"))
                    .collect(),
                expected: Vec::new(),
            }),
            (None, Some(last)) => last.expected.push(line.trim_end().to_owned()),
            (None, None) => panic!("output of no command: {line:?}"),
        }
    }
    commands
}

fn type_all(people: &People, block: &str) -> usize {
    let mut commands = commands(block);
    let count = commands.len();
    while let Some(typed) = commands.pop_front() {
        match typed.who {
            Who::Anybody => shows(&typed, &people.start(&typed).end()),
            Who::Alice => {
                let bob = commands.pop_front().expect("Bob types, too");
                assert!(bob.who == Who::Bob, "{:?}", bob.args);
                people.both(&typed, bob);
            }
            Who::Bob => panic!("Alice types first: {:?}", typed.args),
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
        let folder = || tempfile::tempdir().expect("a temporary folder");
        let people = People {
            alice: folder(),
            bob: folder(),
        };
        let mut typed = 0;
        // Every second part is a block, which begins with what it is.
        for block in text.split("```").skip(1).step_by(2) {
            let (kind, content) = block.split_once('\n').expect("a block of lines");
            match kind.split_once(' ') {
                // A file that both have, or one of them.
                Some((_, file)) => {
                    let whose = file.split_once('/');
                    let (name, folders) = match whose {
                        Some(("alice", name)) => (name, vec![people.folder(Who::Alice)]),
                        Some(("bob", name)) => (name, vec![people.folder(Who::Bob)]),
                        _ => (file, vec![people.alice.path(), people.bob.path()]),
                    };
                    for folder in folders {
                        fs::write(folder.join(name), content).expect("a file");
                    }
                }
                None if kind == "console" => typed += type_all(&people, content),
                None => {}
            }
        }
        assert!(typed >= 8, "{page} has commands to type");
    }
}
