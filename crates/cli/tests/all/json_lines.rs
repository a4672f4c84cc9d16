//! The output of `--json`, for a job that appends it to a file.

use crate::process::{Parties, tacit};

#[test]
fn json_that_no_terminal_shows_is_one_object_a_line() {
    let parties = Parties::new();
    let good = ["inspect", "millionaires", "--json"];
    let wrong = [
        "run",
        "millionaires",
        "--json",
        "--role",
        "garbler",
        "--plain-loopback",
    ];
    let wrong = [&wrong[..], &["--listen", "127.0.0.1:0", "--input", "a=x"]].concat();
    let [good, wrong] = [&good[..], &wrong].map(|words| tacit(parties.folder(), words));
    let runs = format!("{}{}", good.stdout, wrong.stdout);
    let objects = runs.lines().map(serde_json::from_str::<serde_json::Value>);
    let objects: Vec<_> = objects
        .collect::<Result<_, _>>()
        .expect("JSON in each line");
    assert_eq!(objects.len(), 2, "{runs}");
    assert_eq!(objects[1]["error"]["exit_code"], 3);
}

/// Two identities use the folder, and the list shows what belongs to which.
#[test]
fn a_list_of_stocks_separates_identities() {
    let parties = Parties::new();
    let prepare = |role| {
        [
            "prepare",
            "millionaires",
            "--runs",
            "1",
            "--role",
            role,
            "--stock",
            "s",
        ]
    };
    for ended in parties.act(&prepare("garbler"), &prepare("evaluator")) {
        ended.succeeded();
    }
    let list = ["stock", "list", "--stock", "s"];
    let text = tacit(parties.folder(), &list);
    let text = text.succeeded();
    let json = tacit(parties.folder(), &[&list[..], &["--json"]].concat()).json();
    let stocks = json["stocks"].as_array().expect("a list");
    for (own, role) in parties
        .fingerprints()
        .into_iter()
        .zip(["garbler", "evaluator"])
    {
        let part = format!("this party as {own}:\n{role} with ");
        assert!(text.contains(&part), "{text}");
        let is_it = |stock: &&serde_json::Value| stock["own"] == own && stock["role"] == role;
        assert_eq!(stocks.iter().filter(is_it).count(), 1, "{json}");
    }
}

/// A stock that cannot be read hides none of the others.
#[test]
fn a_list_of_stocks_names_the_one_that_cannot_be_read() {
    let parties = Parties::new();
    let prepare = |role| {
        [
            "prepare",
            "millionaires",
            "--runs",
            "1",
            "--role",
            role,
            "--stock",
            "s",
        ]
    };
    for ended in parties.act(&prepare("garbler"), &prepare("evaluator")) {
        ended.succeeded();
    }
    let entries = std::fs::read_dir(parties.folder().join("s")).expect("a folder");
    let mut stocks: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    stocks.retain(|path| path.is_dir() && path.join("index.db").exists());
    assert_eq!(stocks.len(), 2);
    for file in ["index.db", "index.db-wal", "index.db-shm"] {
        let _ = std::fs::remove_file(stocks[0].join(file));
    }
    std::fs::write(stocks[0].join("index.db"), "not an index").expect("room");
    let list = ["stock", "list", "--stock", "s"];
    let listed = tacit(parties.folder(), &list);
    let text = listed.succeeded();
    assert!(
        text.contains("epoch 1") && text.contains("usable"),
        "{text}"
    );
    let told = format!("{}{}", listed.stdout, listed.stderr);
    assert!(told.contains("cannot be read"), "{told}");
}
