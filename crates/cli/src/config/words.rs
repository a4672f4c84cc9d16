//! Errors in `tacit.toml`, in terms of TOML instead of Rust.

use tacit_language::most_like;

/// Returns the remedy for a mistake in the file.
pub(crate) fn remedy(reason: &str) -> String {
    const SCHEMA: &str = "`tacit config schema` prints its schema";
    let is_unknown = ["unknown field `", "unknown variant `"].map(|text| reason.contains(text));
    if is_unknown.contains(&true) {
        let mut names = reason.split('`').skip(1).step_by(2);
        let found = names.next().unwrap_or_default();
        return match most_like(found, names) {
            Some(like) => format!("did you mean `{like}`? {SCHEMA}"),
            None => SCHEMA.to_owned(),
        };
    }
    if reason.starts_with("line ") && reason.contains("fingerprint") {
        return "`tacit keygen --show` at the other party prints its fingerprint".to_owned();
    }
    SCHEMA.to_owned()
}

/// Describes an error and its place in `text`.
pub(super) fn of(error: &toml::de::Error, text: &str) -> String {
    let line = error
        .span()
        .map_or(0, |span| text[..span.start].matches('\n').count() + 1);
    format!("line {line}: {}", plain(error.message()))
}

fn plain(message: &str) -> String {
    let mut plain = message.replace('\n', " ");
    for prefix in ["invalid type: ", "invalid value: "] {
        if let Some(found) = plain.strip_prefix(prefix) {
            plain = format!("found {found}");
        }
    }
    if let Some((found, _)) = plain.split_once(", expected struct ") {
        plain = format!("{found}, expected a table");
    }
    for (rust, toml) in [
        ("found map", "found a table"),
        ("found sequence", "found a list"),
        ("found integer", "found the number"),
        ("found floating point", "found the number"),
        ("found string", "found the string"),
        ("found boolean", "found"),
        ("wanted string or table", "expected a string"),
        ("expected a map", "expected a table"),
        ("expected a sequence", "expected a list"),
        ("expected a nonzero usize", "expected a whole number from 1"),
        ("expected u8", "expected a whole number from 0 to 255"),
        (
            "expected u32",
            "expected a whole number from 0 to 4294967295",
        ),
        ("expected u64", "expected a whole number from 0"),
        ("expected usize", "expected a whole number from 0"),
        (
            "expected path string",
            "expected a string, the path of a file",
        ),
    ] {
        plain = plain.replace(rust, toml);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::remedy;

    #[test]
    fn a_mistake_has_the_remedy_of_its_cause() {
        for (text, said) in [
            ("[[serve.match]]\ntabel = 5", "did you mean `table`? "),
            ("[peers.bob]\nfingerprint = \"tacit:abc\"", "keygen --show"),
            ("identity = 5", "`tacit config schema`"),
            ("nothing = 5", "`tacit config schema`"),
        ] {
            let error = Config::parse(text).unwrap_err();
            assert!(remedy(&error).contains(said), "{error}");
        }
    }

    #[test]
    fn errors_are_in_words_of_toml() {
        for (text, said) in [
            (
                "identity = 5",
                "found the number `5`, expected a string, the path of a file",
            ),
            (
                "identity = []",
                "found a list, expected a string, the path of a file",
            ),
            ("base_ot = { a = 1 }", "found a table, expected a string"),
            ("[peers]\nbob = true", "found `true`, expected a table"),
            ("peers = 5", "found the number `5`, expected a table"),
            ("serve = 5", "found the number `5`, expected a table"),
            ("stock = 5", "found the number `5`, expected a table"),
            (
                "[stock]\nlimit_gib = -1",
                "found the number `-1`, expected a whole number from 0",
            ),
            (
                "[stock]\nlimit_gib = 1.5",
                "found the number `1.5`, expected a whole number from 0",
            ),
            (
                "[serve]\nsessions = -1",
                "found the number `-1`, expected a whole number from 0",
            ),
            (
                "[serve]\nthreads = 0",
                "found the number `0`, expected a whole number from 1",
            ),
            (
                "[[serve.function]]\nthreads = 0",
                "found the number `0`, expected a whole number from 1",
            ),
            (
                "[[serve.function]]\nsecurity_bits = 300",
                "found the number `300`, expected a whole number from 0 to 255",
            ),
            (
                "[[serve.function]]\ncopies = -1",
                "found the number `-1`, expected a whole number from 0 to 4294967295",
            ),
            (
                "[[serve.function]]\ninput_files = 5",
                "found the number `5`, expected a table",
            ),
            (
                "[[serve.function]]\nprotocols = \"direct\"",
                "found the string \"direct\", expected a list",
            ),
            (
                "[[serve.function]]\nparams = { bits = \"x\" }",
                "expected a number, a list of numbers, or { min = …, max = … }",
            ),
        ] {
            let error = Config::parse(text).unwrap_err();
            let (_, error) = error.split_once(": ").unwrap();
            assert_eq!(error, said, "{text}");
        }
    }
}
