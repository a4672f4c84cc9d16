//! The functions that come with Tacit: runs of the programs in `circuits/`.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_traits::ToPrimitive;
use tacit_circuit::builder::CircuitForm;

use crate::border::said_above;
use crate::lower::NoCircuitFiles;
use crate::syntax::ItemKind;
use crate::{BorderError, Loaded, NoFiles, ParamValues, Signature, TypedFunction};

macro_rules! program {
    ($name:literal) => {
        (
            concat!($name, ".tacit"),
            include_str!(concat!("../circuits/", $name, ".tacit")),
        )
    };
}

/// The name of a file and its text.
type File = (&'static str, &'static str);

const DATABASE: File = program!("database");
const SUBSTRING: File = program!("substring");
const FRIEND_MAP: File = program!("friend-map");
const FRIEND_FINDER: File = program!("friend-finder");

/// The name of each function, its program, and the run of the program.
const FUNCTIONS: &[(&str, File, &str)] = &[
    ("aes-128-rounds", program!("aes-128-rounds"), "main"),
    (
        "aes-128-expanded-key",
        program!("aes-128-expanded-key"),
        "main",
    ),
    ("aes-128-cbc-rounds", program!("aes-128-cbc-rounds"), "main"),
    ("aes-128-cbc-blocks", program!("aes-128-cbc-blocks"), "main"),
    ("aes-128-cbc-parts", program!("aes-128-cbc-parts"), "main"),
    ("levenshtein", program!("levenshtein"), "main"),
    ("levenshtein-tiles", program!("levenshtein-tiles"), "main"),
    ("levenshtein-mixed", program!("levenshtein-mixed"), "main"),
    ("sha-256-chain", program!("sha-256-chain"), "main"),
    ("matrix-product", program!("matrix-product"), "main"),
    ("database-lookup", program!("database-lookup"), "main"),
    ("database-save", DATABASE, "save"),
    ("database-ask", DATABASE, "ask"),
    ("substring-start", SUBSTRING, "begin"),
    ("substring-next", SUBSTRING, "next"),
    ("friend-map-start", FRIEND_MAP, "start"),
    ("friend-map-get", FRIEND_MAP, "get"),
    ("friend-map-set", FRIEND_MAP, "set"),
    ("friend-finder-start", FRIEND_FINDER, "start"),
    ("friend-finder-set", FRIEND_FINDER, "set"),
];

/// Returns the names of the functions, in the order in which they are shown. None is the name of a
/// component of [`tacit_components::library`], so that a name is unambiguous.
pub fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, ..)| *name)
}

/// Returns the function `name`, if it comes with Tacit.
pub fn find(name: &str) -> Option<Shipped> {
    let (name, file, run) = FUNCTIONS.iter().find(|(known, ..)| *known == name)?;
    Some(Shipped {
        name,
        file: *file,
        run,
    })
}

/// A param of a function that comes with Tacit.
#[derive(Clone, Debug)]
pub struct ShippedParam {
    /// The name.
    pub name: String,
    /// A description of what the param counts.
    pub description: String,
    /// The least value.
    pub minimum: u64,
    /// The greatest value.
    pub maximum: u64,
    /// The value if none is given.
    pub default: u64,
}

/// A function that comes with Tacit. Its parties are `garbler` and `evaluator`.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    name: &'static str,
    file: File,
    run: &'static str,
}

impl Shipped {
    /// Returns the program's text, for reading or as a starting point.
    pub fn text(&self) -> &'static str {
        self.file.1
    }

    fn loaded(&self) -> Loaded {
        Loaded::new(self.file.0, self.file.1, &NoFiles)
    }

    fn signature(&self, loaded: &Loaded, given: &ParamValues) -> Result<Signature, BorderError> {
        Signature::new(loaded, given, Some(self.run)).map_err(|error| self.wrong(error))
    }

    /// Returns the name of the function.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns a description of the computation, and the params.
    ///
    /// # Panics
    ///
    /// Never: each program that comes with Tacit is valid with its defaults. A test checks this.
    pub fn description(&self) -> (String, Vec<ShippedParam>) {
        let loaded = self.loaded();
        let signature = self.signature(&loaded, &ParamValues::new());
        let signature = signature.expect("a program that comes with Tacit is right");
        let spans = loaded.items().iter().filter_map(|item| match &item.kind {
            ItemKind::Param(_) => Some(item.span),
            _ => None,
        });
        let number = |number: &BigInt| number.to_u64().unwrap_or_default();
        let params = signature.params().iter().zip(spans);
        let params = params.map(|(param, span)| ShippedParam {
            name: param.name.to_string(),
            description: in_a_line(&said_above(&loaded, span)),
            minimum: number(&param.minimum),
            maximum: number(&param.maximum),
            default: param.default.as_ref().map_or(0, number),
        });
        (in_a_line(signature.documentation()), params.collect())
    }

    /// Returns the function with these params. Other params have their defaults.
    ///
    /// # Errors
    ///
    /// A param is unknown or out of its range, or the params together exceed a limit.
    pub fn function(&self, params: &BTreeMap<String, u64>) -> Result<TypedFunction, BorderError> {
        self.function_in_form(params, CircuitForm::Small)
    }

    /// Returns the function with operations in `form`.
    ///
    /// # Errors
    ///
    /// Those of [`Shipped::function`].
    pub fn function_in_form(
        &self,
        params: &BTreeMap<String, u64>,
        form: CircuitForm,
    ) -> Result<TypedFunction, BorderError> {
        let given = params.iter();
        let given = given.map(|(name, value)| (name.clone(), (*value).into()));
        let signature = self.signature(&self.loaded(), &given.collect())?;
        let signature = signature.in_form(form);
        TypedFunction::new(signature, self.name, &BTreeMap::new(), &NoCircuitFiles)
            .map_err(|error| self.wrong(error))
    }

    /// Rewrites an error for a reader who does not see the program.
    fn wrong(&self, error: BorderError) -> BorderError {
        let BorderError::Program(errors) = error else {
            return error;
        };
        let Some(first) = errors.first() else {
            return BorderError::Program(errors);
        };
        let help = first.help.as_ref();
        let help = help.map_or_else(String::new, |help| format!("; {help}"));
        BorderError::Request(format!("{}: {}{help}", self.name, first.message))
    }
}

/// Joins the lines of a description, and drops the full stop at its end.
fn in_a_line(text: &str) -> String {
    text.replace('\n', " ").trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use tacit_components::library;

    use super::*;

    #[test]
    fn every_function_has_its_own_name_and_runs_with_its_defaults() {
        for name in names() {
            let shipped = find(name).expect("a function");
            let (description, params) = shipped.description();
            assert!(!description.is_empty(), "{name}");
            for param in params {
                assert!(!param.description.is_empty(), "{name}: {param:?}");
                let range = param.minimum..=param.maximum;
                assert!(
                    param.minimum > 0 && range.contains(&param.default),
                    "{param:?}"
                );
            }
            let typed = shipped.function(&BTreeMap::new()).expect("a function");
            let parties: Vec<&str> = typed.signature().parties().collect();
            assert_eq!(parties, ["garbler", "evaluator"], "{name}");
            let function = typed.function();
            assert_eq!(function.name(), name);
            // A function that only puts values into the state moves bits and calls nothing.
            let saves = !function.saves().is_empty();
            assert!(function.call_count() > 0 || saves, "{name}");
            let entries = library::list();
            assert!(entries.iter().all(|entry| entry.name != name), "{name}");
        }
        assert!(find("no-such-function").is_none());
    }

    #[test]
    fn params_that_are_wrong_are_told_without_the_program() {
        let wrong = |name: &str, param: &str, value: u64| {
            let params = BTreeMap::from([(param.to_owned(), value)]);
            let function = find(name).expect("a function").function(&params);
            function.expect_err("a wrong param").to_string()
        };
        assert_eq!(
            wrong("levenshtein", "n", 0),
            "levenshtein: the value 0 of `n` is outside 1..=400; `n` can be 1 to 400"
        );
        assert_eq!(
            wrong("friend-map-set", "cell", 9),
            "friend-map-set: there is no param `cell`; did you mean `cells`?"
        );
        // Each param is in its range, but together they are too large.
        let huge = wrong("levenshtein-tiles", "rows", 1000);
        assert!(huge.starts_with("levenshtein-tiles: "), "{huge}");
        assert!(huge.contains("10000") && huge.contains("4096"), "{huge}");
    }
}
