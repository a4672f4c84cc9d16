//! Commands that are printed to be pasted into a shell.

use std::path::PathBuf;

use tacit_language::TypedFunction;

use crate::args::{FunctionArgs, RunArgs};

/// Returns the arguments that name a function, from `name` on.
pub(crate) fn function(name: &str, choice: &FunctionArgs) -> Vec<String> {
    let mut words = vec![name.to_owned()];
    let params = pairs(&choice.params);
    if !params.is_empty() {
        words.extend(["--param".to_owned(), params.join(",")]);
    }
    for public in &choice.public {
        words.extend(["--public".to_owned(), public.clone()]);
    }
    if let Some(entry) = &choice.entry {
        words.extend(["--entry".to_owned(), entry.clone()]);
    }
    words.extend(ports(choice));
    words
}

/// Returns the function as this party was told to run it, for comparison with the other party's.
/// For a program it includes the entry, even if the arguments omit it.
pub(crate) fn called(name: &str, choice: &FunctionArgs, typed: Option<&TypedFunction>) -> String {
    let mut words = function(name, choice);
    if let (None, Some(typed)) = (&choice.entry, typed) {
        let entry = typed.signature().entry().name.to_string();
        words.extend(["--entry".to_owned(), entry]);
    }
    line(&words)
}

/// Returns the given arguments for this party, its peer, their meeting and the stock.
pub(crate) fn meeting(args: &RunArgs) -> Vec<String> {
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let given = [
        ("--role", args.who.role.map(|role| role.name().to_owned())),
        ("--as", args.who.party.clone()),
        ("--with", args.meet.peer.clone()),
        ("--listen", args.meet.listen.clone()),
        ("--connect", args.meet.connect.clone()),
        ("--relay", args.meet.relay.clone()),
        ("--identity", path(&args.meet.session.identity)),
        ("--stock", path(&args.stock.stock)),
    ];
    let given = given.into_iter();
    let words = given.filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
    words.flatten().collect()
}

/// Returns the arguments for the owners and types of a circuit's ports.
fn ports(choice: &FunctionArgs) -> Vec<String> {
    let mut words = Vec::new();
    for (flag, given) in [
        ("--owner", &choice.owners),
        ("--result", &choice.results),
        ("--type", &choice.types),
    ] {
        for pair in pairs(given) {
            words.extend([flag.to_owned(), pair]);
        }
    }
    if let Some(order) = choice.bit_order {
        words.extend(["--bit-order".to_owned(), order.to_string()]);
    }
    words
}

/// Returns `NAME=VALUE` pairs in the form of arguments.
fn pairs(pairs: &[(String, String)]) -> Vec<String> {
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={value}"));
    pairs.collect()
}

/// Joins words in the form that a shell takes.
pub(crate) fn line(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

/// Quotes a word. Words that need no quotes stay readable: `shlex` would quote even `n=60,m=60`.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+[]".contains(c);
    if !word.is_empty() && word.chars().all(plain) && !word.contains('[') {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        for (word, expected) in [
            ("n=60,m=60", "n=60,m=60"),
            ("in0=bytes[16]", "'in0=bytes[16]'"),
            ("my file.json", "'my file.json'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
