//! The commands that carry a plan out: they can be pasted as they are.

use tacit::Role;
use tacit::garble::SchemeId;
use tacit::plan::{Alternative, PlannedProtocol};

use super::PlanArgs;

/// The commands of one alternative.
pub(super) struct Commands<'a> {
    args: &'a PlanArgs,
    of: &'a Alternative,
}

impl<'a> Commands<'a> {
    pub(super) fn new(args: &'a PlanArgs, of: &'a Alternative) -> Self {
        Self { args, of }
    }

    /// What prepares for the runs that were asked for; nothing where nothing is to be prepared.
    pub(super) fn prepare(&self, role: Role) -> Option<String> {
        if self.of.protocol == PlannedProtocol::Direct {
            return None;
        }
        let mut words = vec!["tacit".to_owned(), "prepare".to_owned()];
        words.extend(self.function());
        if self.of.protocol == PlannedProtocol::Batch {
            words.extend(["--protocol".to_owned(), "batch".to_owned()]);
        }
        words.extend(["--runs".to_owned(), self.args.runs.to_string()]);
        words.extend(self.party(role));
        Some(line(&words))
    }

    /// What runs it. Each input is read from a file of its name.
    pub(super) fn run(&self, role: Role) -> String {
        let mut words = vec!["tacit".to_owned(), "run".to_owned()];
        words.extend(self.function());
        if self.of.protocol != PlannedProtocol::Direct {
            let name = self.of.protocol.name().to_owned();
            words.extend(["--protocol".to_owned(), name]);
        }
        words.extend(self.party(role));
        let inputs = self.of.function.inputs().iter();
        for input in inputs.filter(|input| input.owner == role) {
            let name = &input.port.name;
            words.extend(["--input".to_owned(), format!("{name}=@{name}.txt")]);
        }
        line(&words)
    }

    /// The function as it is named on the command line.
    fn function(&self) -> Vec<String> {
        let mut words = Vec::new();
        let choice = &self.args.choice;
        let pairs = |pairs: &[(String, String)]| {
            let pairs = pairs.iter().map(|(name, value)| format!("{name}={value}"));
            pairs.collect::<Vec<_>>()
        };
        let params = match &self.of.cut {
            Some(cut) => {
                words.push(cut.function.to_owned());
                let params = cut.parameters.iter();
                params
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect()
            }
            None => {
                words.push(self.args.function.clone());
                pairs(&choice.params)
            }
        };
        if !params.is_empty() {
            words.extend(["--param".to_owned(), params.join(",")]);
        }
        if self.of.cut.is_none() {
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
        }
        if self.of.rung.id != SchemeId::HALF_GATES_TWO_CALL {
            words.extend(["--scheme".to_owned(), self.of.rung.id.to_string()]);
        }
        words
    }

    /// The role, and for this party what it told of its peer and its stock.
    fn party(&self, role: Role) -> Vec<String> {
        let mut words = vec!["--role".to_owned(), role.name().to_owned()];
        if self.args.role.map(Role::from) == Some(role) {
            if let Some(peer) = &self.args.peer {
                words.extend(["--peer".to_owned(), peer.clone()]);
            }
            if let Some(stock) = &self.args.stock
                && self.of.protocol != PlannedProtocol::Direct
            {
                words.extend(["--stock".to_owned(), stock.display().to_string()]);
            }
        }
        words
    }
}

/// Words as a shell takes them.
fn line(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

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
