//! The programs of `examples/` that keep a state, each between two processes that keep it.

use std::path::Path;

use crate::process::{ChildProcess, Parties};

/// A run of a program: its name, each party's arguments, and each party's output.
type Step<'s> = (&'s str, [&'s [&'s str]; 2], [&'s str; 2]);

fn keeps(name: &str, parties: [&str; 2], params: &str, steps: &[Step<'_>]) {
    let processes = Parties::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let path = path.join(name);
    let path = path.to_str().expect("a path of letters");
    for (entry, given, told) in steps {
        let args = |party: usize| {
            let stock = ["a", "b"][party];
            let mut args = vec!["run", path, "--entry", entry, "--param", params];
            args.extend(["--protocol", "prepared", "--chain", "kept"]);
            args.extend(["--as", parties[party], "--stock", stock]);
            args.extend(given[party].iter().flat_map(|value| ["--input", value]));
            args
        };
        let (first, address) = processes.alice_starts(&args(0), "");
        let second = processes.bob_starts(&address, &args(1), "");
        let ended = [first, second].map(ChildProcess::end);
        for (ended, told) in ended.iter().zip(told) {
            assert_eq!(ended.succeeded(), *told, "{name} {entry}: {ended:?}");
        }
    }
}

#[test]
fn centres_are_kept_by_two() {
    let first = "first=[[0,0],[100,100],[-2000,-2000]]";
    let (a, b) = ("a=[[2,4],[98,90]]", "b=[[4,6],[102,110]]");
    let centres = "centres = [[3, 5], [100, 100], [-2000, -2000]]\n";
    keeps(
        "05_kmeans.tacit",
        ["alice", "bob"],
        "N=2,K=3",
        &[
            ("begin", [&[first], &[]], ["", ""]),
            ("step", [&[a], &[b]], ["", ""]),
            ("show", [&[], &[]], [centres, centres]),
        ],
    );
}

#[test]
fn an_order_book_is_kept_by_two() {
    let sells = ["buys=false", "price=5", "quantity=10"];
    let buys = ["buys=true", "price=5", "quantity=6"];
    keeps(
        "09_order_book.tacit",
        ["venue", "trader"],
        "LEVELS=8",
        &[
            ("start", [&[], &[]], ["", ""]),
            ("order", [&[], &sells], ["", "filled = 0\ncash = 0\n"]),
            ("order", [&[], &buys], ["", "filled = 6\ncash = 30\n"]),
            // `report` adds noise.
            ("order", [&[], &buys], ["", "filled = 4\ncash = 20\n"]),
        ],
    );
}

#[test]
fn a_friend_map_is_kept_by_two() {
    keeps(
        "10_friend_map.tacit",
        ["service", "person"],
        "CELLS=4,ID_BITS=3",
        &[
            ("start", [&[], &[]], ["", ""]),
            ("set", [&["id=5"], &["cell=2"]], ["", "occupant = 0\n"]),
            ("set", [&["id=6"], &["cell=2"]], ["", "occupant = 5\n"]),
            ("get", [&[], &["cell=2"]], ["", "occupant = 5\n"]),
        ],
    );
}
