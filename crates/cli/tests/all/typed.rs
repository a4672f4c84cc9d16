//! Programs of the language between two processes: parties by name, values of all types, tables,
//! public inputs, and the check that both mean the same.

use std::path::{Path, PathBuf};

use crate::process::{Ended, Parties, tacit, words};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(name)
}

/// Runs a program at both parties, with the arguments of both and then each party's own.
fn run(
    parties: &Parties,
    program: &Path,
    both: &[&str],
    alice: &[&str],
    bob: &[&str],
) -> [Ended; 2] {
    let program = program.to_str().expect("a path of letters");
    let all = [&[program], both].concat();
    parties.run(&[&all[..], alice].concat(), &[&all[..], bob].concat())
}

/// Runs a program and checks each party's output.
fn gives(parties: &Parties, program: &Path, args: [&[&str]; 3], results: [&str; 2]) {
    let [alice, bob] = run(parties, program, args[0], args[1], args[2]);
    assert_eq!(alice.succeeded(), results[0], "{program:?}");
    assert_eq!(bob.succeeded(), results[1], "{program:?}");
}

#[test]
fn examples_that_compare_and_count_run_between_two_processes() {
    let parties = Parties::new();
    let lots = "\
outcomes (2 rows)
  alice_wins  price
  true        7
  false       3
";
    gives(
        &parties,
        &example("01_auction.tacit"),
        [
            &["--param", "LOTS=2"],
            &["--as", "alice", "--input", "bids=[7,3]"],
            &["--as", "bob", "--input", "offers=[7,9]"],
        ],
        [lots, lots],
    );
    let header = "gender,band,salary\n";
    let rows = |rows: &[&str]| format!("{header}{}\n", rows.join("\n"));
    let (woman, man) = ("Woman,Lead,300", "Man,Lead,500");
    parties.file("acme.csv", &rows(&[woman, woman, woman, man]));
    parties.file("globex.csv", &rows(&[woman, woman, man, man]));
    let means = "means = [[0, 0], [0, 0], [300, 0]]\n";
    gives(
        &parties,
        &example("02_salary_gap.tacit"),
        [
            &["--param", "N=6,FLOOR=2"],
            &words("--as acme --input a=@acme.csv --output means=means.csv"),
            &["--as", "globex", "--input", "b=@globex.csv"],
        ],
        [means, means],
    );
    let written = std::fs::read_to_string(parties.folder().join("means.csv")).expect("the file");
    assert_eq!(written, "means.0,means.1\n0,0\n0,0\n300,0\n");
    // Neither party's file is sorted, and both are shorter than the program's tables.
    parties.file("ids.csv", "name,id\nNine,9\nOne,1\nTwo,2\n");
    parties.file("sales.csv", "id,amount\n9,40\n2,10\n5,20\n");
    let found = "count = 2\ntotal = 50\nsound = true\n";
    gives(
        &parties,
        &example("03_psi_sum.tacit"),
        [
            &["--param", "LOG=2"],
            &["--as", "alice", "--input", "a=@ids.csv:id"],
            &["--as", "bob", "--input", "b=@sales.csv"],
        ],
        [found, found],
    );
    parties.file("people.csv", "id,region\n4,East\n1,West\n6,West\n");
    parties.file("bought.csv", "id,amount\n6,1\n1,5\n5,100\n1,7\n");
    let totals = "totals = [0, 0, 0, 13]\n";
    gives(
        &parties,
        &example("04_join_group_by.tacit"),
        [
            &["--param", "PEOPLE=3,SALES=4"],
            &["--as", "registry", "--input", "people=@people.csv"],
            &["--as", "shop", "--input", "sales=@bought.csv"],
        ],
        [totals, totals],
    );
}

#[test]
fn examples_of_models_and_texts_run_between_two_processes() {
    let parties = Parties::new();
    gives(
        &parties,
        &example("06_logistic.tacit"),
        [
            &["--param", "FEATURES=2"],
            &words("--as model --input weights=[2.0,2.0] --input bias=0"),
            &["--as", "client", "--input", "x=[1,2.0]"],
        ],
        ["", "score = 1\n"],
    );
    parties.file("nodes.csv", "feature,above\n0,10\n1,0\n2,5\n");
    gives(
        &parties,
        &example("07_decision_tree.tacit"),
        [
            &["--param", "DEPTH=2,FEATURES=3"],
            &words("--as model --input nodes=@nodes.csv --input leaves=[1,2,3,4]"),
            &["--as", "client", "--input", "x=[11,0,5]"],
        ],
        ["", "class = 3\n"],
    );
    let (x, y) = (
        "x=[\"A\",\"C\",\"G\",\"T\",\"A\"]",
        "y=[\"C\",\"G\",\"T\",\"A\",\"A\"]",
    );
    gives(
        &parties,
        &example("08_edit_distance_band.tacit"),
        [
            &["--param", "N=5,BAND=2"],
            &["--as", "lab", "--input", x],
            &["--as", "clinic", "--input", y],
        ],
        ["distance = 2\n", "distance = 2\n"],
    );
}

#[test]
fn runs_over_states_are_for_three_parties() {
    let folder = tempfile::tempdir().unwrap();
    for (name, run, party) in [
        ("05_kmeans.tacit", "show", "alice"),
        ("09_order_book.tacit", "report", "venue"),
        ("10_friend_map.tacit", "get", "person"),
    ] {
        let path = example(name);
        let path = path.to_str().expect("a path of letters");
        let args = [
            "run",
            path,
            "--as",
            party,
            "--plain-loopback",
            "--listen",
            "127.0.0.1:0",
        ];
        let several = tacit(folder.path(), &args);
        several.failed(3, &["the program has several runs", "such as --entry", run]);
        let args = [&args[..], &["--entry", run]].concat();
        let words = ["keeps values between runs", "tacit outsource"];
        tacit(folder.path(), &args).failed(2, &words);
        // All programs can be inspected.
        let inspected = tacit(folder.path(), &["inspect", path, "--entry", run]);
        assert!(inspected.succeeded().contains("meaning"), "{inspected:?}");
    }
}

const POLL: &str = "
parties alice, bob;
enum Answer { No, Yes }
main(a: Answer of alice, b: Answer of bob) -> (one: Answer to both, same: bool to both) { (a, a == b) }
";

/// Runs two programs against each other and checks that both parties are refused, with these words.
fn are_refused(parties: &Parties, alice: &str, bob: &str, words: &[&str]) {
    let one = parties.file("one.tacit", alice);
    let other = parties.file("other.tacit", bob);
    let [one, other] = [&one, &other].map(|path| path.to_str().expect("a path of letters"));
    let [alice, bob] = parties.run(
        &[one, "--as", "alice", "--input", "a=Yes"],
        &[other, "--as", "bob", "--input", "b=Yes"],
    );
    assert_eq!((alice.stdout.as_str(), bob.stdout.as_str()), ("", ""));
    bob.failed(5, words);
    alice.failed(5, &[]);
}

#[test]
fn programs_of_one_circuit_and_two_meanings_do_not_run_together() {
    let parties = Parties::new();
    let path = parties.file("poll.tacit", POLL);
    let yes = "one = Yes\nsame = true\n";
    let alice = ["--as", "alice", "--input", "a=Yes"];
    let bob = ["--role", "evaluator", "--input", "b=Answer::Yes"];
    gives(&parties, &path, [&[], &alice, &bob], [yes, yes]);
    // Each would read the other's Yes as a No, because the circuits are the same, bit for bit.
    let words = ["names and the order of variants count"];
    are_refused(&parties, POLL, &POLL.replace("No, Yes", "Yes, No"), &words);
    are_refused(
        &parties,
        POLL,
        &POLL.replace("one: Answer", "two: Answer"),
        &[],
    );
}

#[test]
fn a_sorted_input_is_part_of_the_agreement() {
    let parties = Parties::new();
    let sorted = "
        parties alice, bob;
        main(a: [u8; 2] of alice sorted, b: u8 of bob) -> (hit: bool to both) { a[0] == b }
    ";
    let one = parties.file("one.tacit", sorted);
    let other = parties.file("other.tacit", &sorted.replace(" sorted", ""));
    let [one, other] = [&one, &other].map(|path| path.to_str().expect("a path of letters"));
    let [alice, bob] = parties.run(
        &[one, "--as", "alice", "--input", "a=[2,1]"],
        &[other, "--as", "bob", "--input", "b=1"],
    );
    bob.failed(
        5,
        &[
            "wants function",
            "what to do: if it is a file, compare the two: they probably differ",
        ],
    );
    alice.failed(5, &[]);
}

const PUBLIC: &str = "
parties alice, bob;
main(limit: u8 public, a: u8 of alice, b: u8 of bob) -> (over: bool to both) { max(a, b) > limit }
";

#[test]
fn public_inputs_are_agreed_on() {
    let parties = Parties::new();
    let path = parties.file("over.tacit", PUBLIC);
    let alice = ["--as", "alice", "--input", "a=9"];
    let bob = ["--as", "bob", "--input", "b=11"];
    let limit = ["--public", "limit=10"];
    let over = ["over = true\n", "over = true\n"];
    gives(&parties, &path, [&limit, &alice, &bob], over);
    // With another limit on one side there is no run.
    let more = [&bob[..], &["--public", "limit=20"]].concat();
    let path = path.to_str().expect("a path of letters");
    let alice = [&[path][..], &limit, &alice].concat();
    let [_, bob] = parties.run(&alice, &[&[path], &more[..]].concat());
    bob.failed(5, &["--public"]);
    let args = [
        "run",
        path,
        "--as",
        "alice",
        "--plain-loopback",
        "--listen",
        "127.0.0.1:0",
    ];
    let missing = tacit(parties.folder(), &args);
    missing.failed(
        3,
        &[
            "limit (u8)",
            "both parties give the same --public NAME=VALUE",
        ],
    );
    let args = [&args[..], &limit, &["--input", "limit=10"]].concat();
    tacit(parties.folder(), &args).failed(3, &["\"limit\" is public", "--public limit=VALUE"]);
}

#[test]
fn each_party_draws_its_own_random_bits() {
    let parties = Parties::new();
    let program = parties.file(
        "coin.tacit",
        "parties alice, bob;
         use std::random::random;
         main(x: bool of alice) -> (coins: u128 to both) { random::<u128>() ^ (x as u128) }",
    );
    let one = [
        &["--as", "alice", "--input", "x=true"][..],
        &["--as", "bob"],
    ];
    let drawn = [0, 1].map(|_| {
        let [alice, bob] = run(&parties, &program, &[], one[0], one[1]);
        assert_eq!(alice.succeeded(), bob.succeeded());
        alice.succeeded().to_owned()
    });
    assert_ne!(drawn[0], drawn[1]);
}

#[test]
fn what_is_wrong_with_inputs_is_told_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let gap = example("02_salary_gap.tacit");
    let gap = gap.to_str().expect("a path of letters");
    let fails = |args: &[&str], code: i32, words: &[&str]| {
        let all = ["run", gap, "--plain-loopback", "--listen", "127.0.0.1:0"];
        tacit(folder.path(), &[&all[..], args].concat()).failed(code, words);
    };
    let as_acme = |input: &'static str| ["--as", "acme", "--input", input];
    fails(&[], 2, &["--as acme or --as globex"]);
    fails(
        &["--as", "acne"],
        2,
        &["no party \"acne\"", "acme and globex"],
    );
    fails(
        &as_acme("b=[]"),
        3,
        &["is globex's", "inputs of acme: a ([Person; ..100])"],
    );
    fails(&as_acme("c=[]"), 3, &["main has no input \"c\""]);
    fails(
        &["--as", "acme"],
        3,
        &["acme has given no value for a ([Person; ..100])"],
    );
    fails(
        &as_acme("a=[1]"),
        3,
        &["a[0] is of type Person", "\"gender\", \"band\", \"salary\""],
    );
    std::fs::write(
        folder.path().join("a.csv"),
        "gender,band,salary\nMan,Boss,1\n",
    )
    .unwrap();
    let told = [
        "a in a.csv line 2 column \"band\"",
        "one of Junior, Senior, Lead",
    ];
    fails(&as_acme("a=@a.csv"), 3, &told);
    fails(&as_acme("a=@absent.csv"), 3, &["absent.csv", "check that"]);
    for without_at in ["a=a.csv", "a=a.csv:band"] {
        fails(
            &as_acme(without_at),
            3,
            &["there is a file of that name", "a=@FILE"],
        );
    }
    fails(
        &as_acme("a=absent.csv"),
        3,
        &["not JSON", "NAME=@TABLE.csv"],
    );
    std::fs::write(folder.path().join("old.csv"), "").unwrap();
    let output = words("--as acme --input a=[] --output means=old.csv");
    fails(&output, 3, &["old.csv already exists"]);
}

/// The compiler refuses this program for its number of gates, which it knows only after it has made
/// them. So an error about an input or a file shows that nothing was compiled.
#[test]
fn inputs_and_files_for_results_are_checked_before_the_program_is_compiled() {
    let folder = tempfile::tempdir().unwrap();
    let text = "parties alice, bob;
        main(a: u512 of alice, b: u8 of bob) -> (y: [u512; 1] to both) {
            let mut x = a;
            for i in 0..100 { x = x * x + b as u512; }
            [x]
        }";
    std::fs::write(folder.path().join("large.tacit"), text).unwrap();
    std::fs::write(folder.path().join("old.csv"), "").unwrap();
    let fails = |args: &str, code: i32, told: &[&str]| {
        let all = words("run large.tacit --plain-loopback --listen 127.0.0.1:0 --as alice");
        tacit(folder.path(), &[&all[..], &words(args)].concat()).failed(code, told);
    };
    fails("--input a=12x", 3, &["input a"]);
    fails("--input z=1", 3, &["main has no input \"z\""]);
    fails(
        "--input a=1 --output z=new.csv",
        2,
        &["no result of that name"],
    );
    fails(
        "--input a=1 --output y=old.csv",
        3,
        &["old.csv already exists"],
    );
    let nowhere = "--input a=1 --output y=absent/new.csv";
    fails(nowhere, 3, &["cannot write absent/new.csv: No such file"]);
    fails("--input a=1", 3, &["more than 2^24 gates"]);
}

#[test]
fn programs_are_tried_in_the_clear() {
    let folder = tempfile::tempdir().unwrap();
    let path = example("01_auction.tacit");
    let path = path.to_str().expect("a path of letters");
    let args = ["eval", path, "--param", "LOTS=1", "--input", "bids=[7]"];
    let all = [&args[..], &["--input", "offers=[5]"]].concat();
    let evaluated = tacit(folder.path(), &all);
    assert_eq!(
        evaluated.succeeded(),
        "outcomes (1 row)\n  alice_wins  price\n  true        5\n"
    );
    let json = tacit(folder.path(), &[&all[..], &["--json"]].concat()).json();
    assert_eq!(json["outputs"]["outcomes"][0]["price"], 5);
    tacit(folder.path(), &args).failed(3, &["no value is given for offers ([u32; 1])"]);
    let inspected = tacit(folder.path(), &["inspect", path]);
    let text = inspected.succeeded();
    for line in [
        "  LOTS sealed-bid auctions, second price. Ties go to alice.\n",
        "parties\n  alice (garbler), bob (evaluator)\n",
        "params\n  LOTS = 8, from 1 to 100000\n",
        "types\n  struct Outcome { alice_wins: bool, price: u32 }\n",
        "inputs\n  bids: [u32; 8] of alice\n  offers: [u32; 8] of bob\n",
        "results\n  outcomes: [Outcome; 8] to both\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let json = tacit(folder.path(), &["inspect", path, "--json"]).json();
    assert_eq!(json["program"]["inputs"][0]["owner"], "alice");
}

#[test]
fn a_table_whose_file_cannot_be_written_after_the_run_is_printed() {
    let parties = Parties::new();
    let text = "parties alice, bob;
        main(a: [u8; 2] of alice, b: u8 of bob) -> (y: [u8; 2] to alice) { [a[0] + b, a[1] + b] }";
    let program = parties.file("add.tacit", text);
    let program = program.to_str().unwrap();
    for json in [false, true] {
        let out = parties.folder().join("out");
        std::fs::create_dir(&out).unwrap();
        let mut args = vec![program];
        args.extend(words("--as alice --input a=[1,2] --output y=out/y.csv"));
        args.extend(json.then_some("--json"));
        let (alice, address) = parties.alice_listens(&args, "");
        assert_eq!(
            out.read_dir().unwrap().count(),
            0,
            "nothing is left in the folder"
        );
        std::fs::remove_dir(&out).unwrap();
        let bob = [&[program], &words("--as bob --input b=40")[..]].concat();
        parties.bob_connects(&address, &bob, "").succeeded();
        let alice = alice.end();
        alice.failed(
            3,
            &[
                "cannot write out/y.csv: No such file",
                "its table is on standard",
            ],
        );
        assert!(!alice.stderr.contains("at path"), "{alice:?}");
        if json {
            let json = alice.json();
            assert_eq!(json["outputs"]["y"], serde_json::json!([41, 42]));
            assert_eq!(json["error"]["exit_code"], 3);
        } else {
            assert_eq!(alice.stdout, "y\n41\n42\ny = [41, 42]\n");
        }
    }
}
