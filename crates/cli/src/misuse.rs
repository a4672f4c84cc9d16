//! Errors about the command line.

use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};
use tacit::Category;

use crate::args::Cli;
use crate::failure;

/// The largest number of commands that an error names for a flag.
const MOST_OWNERS: usize = 4;

/// Prints the message for invalid arguments, or the help or version that was asked for.
pub(crate) fn misused(error: clap::Error) -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let error = with_owners(error, words.iter().map(AsRef::as_ref));
    // If standard output or error is closed, nobody can be told.
    let _ = error.print();
    if error.use_stderr() && words.iter().any(|word| word == "--json") {
        let text = error.to_string();
        let said = text.lines().take_while(|line| !line.is_empty());
        let what = said.map(str::trim).collect::<Vec<_>>().join(" ");
        let what = what.strip_prefix("error: ").unwrap_or(&what);
        let after = |word| text.lines().find_map(|line| line.trim().strip_prefix(word));
        let help = "`--help` after a command shows its options";
        let remedy = match (after("tip: "), after("Usage: ")) {
            (Some(tip), _) => format!("{tip}; {help}"),
            (None, Some(usage)) => format!("the command is `{usage}`; {help}"),
            (None, None) => help.to_owned(),
        };
        failure::print_json(Category::Usage, what, Some(&remedy), serde_json::Map::new());
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Category::Usage as u8))
}

/// Adds to the error about a flag that the command lacks the commands that have it. Omits clap's
/// tip about passing a flag as a value, because no value of `tacit` looks like a flag.
fn with_owners<'w>(mut error: clap::Error, words: impl Iterator<Item = &'w str>) -> clap::Error {
    let flag = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) => flag.clone(),
        _ => return error,
    };
    let words: Vec<&str> = words.collect();
    if !flag.starts_with('-') && words.iter().any(|word| is_cut(word)) {
        let tip = "a shell ends a value at a space: put it into quotation marks, such as \
                   --input 'a=[1, 2]'";
        let tips = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tips);
        return error;
    }
    // clap adds the name of the value if the command itself refuses the flag.
    let name = flag.trim_start_matches('-').split(' ').next();
    let name = name.unwrap_or_default();
    let root = Cli::command();
    let mut named = vec![(root.get_name().to_owned(), &root)];
    for word in words {
        let (path, command) = &named[named.len() - 1];
        if let Some(next) = command.find_subcommand(word) {
            named.push((format!("{path} {word}"), next));
        }
    }
    // For a flag that the command itself refuses, the error says what to do instead.
    let mut hidden = named
        .iter()
        .flat_map(|(_, command)| command.get_arguments());
    if hidden.any(|arg| arg.get_long() == Some(name)) {
        return error;
    }
    error.remove(ContextKind::Suggested);
    // The sibling commands that have the flag, or else all commands that have it.
    let above = named.iter().rev().skip(1);
    let mut owners = above.map(|(path, command)| owners(path, command, name));
    let owners = owners.find(|owners| !owners.is_empty());
    if let Some(owners) = owners.filter(|owners| owners.len() <= MOST_OWNERS) {
        error.remove(ContextKind::SuggestedArg);
        let tip = StyledStr::from(format!("{flag} belongs to {}", owners.join(", ")));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// Returns whether a word is the beginning of a list or an object that a space has ended.
fn is_cut(word: &str) -> bool {
    let value = word.split_once('=').map_or("", |(_, value)| value);
    let count = |signs: [char; 2]| value.matches(signs).count();
    value.starts_with(['[', '{']) && count(['[', '{']) > count([']', '}'])
}

/// Returns the commands that have flag `name`: this one and those below it.
fn owners(path: &str, command: &Command, name: &str) -> Vec<String> {
    let mut shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let has_it = shown.any(|arg| {
        let names = arg.get_long_and_visible_aliases();
        names.is_some_and(|names| names.contains(&name))
    });
    let below = command.get_subcommands();
    let below = below.flat_map(|next| owners(&format!("{path} {}", next.get_name()), next, name));
    has_it
        .then(|| format!("`{path}`"))
        .into_iter()
        .chain(below)
        .collect()
}
