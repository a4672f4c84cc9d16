//! Commands that are printed to be pasted into a shell.

use crate::args::FunctionArgs;

/// The arguments that name a function, from `name` on.
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

/// The arguments that say whose the ports of a circuit are, and how they are read.
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

/// `NAME=VALUE`, as arguments take it.
fn pairs(pairs: &[(String, String)]) -> Vec<String> {
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={value}"));
    pairs.collect()
}

/// Words as a shell takes them.
pub(crate) fn line(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

/// Words that a person reads stay as they are: `shlex` quotes `n=60,m=60`, too.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+[]".contains(c);
    match !word.is_empty() && word.chars().all(plain) && !word.contains('[') {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
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
