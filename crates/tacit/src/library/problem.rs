//! Problems: functions of the library that compute the same, cut into components at other sizes.
//!
//! Larger components need fewer links and cost less online; smaller ones serve more functions. A
//! [`Problem`] knows its cuts, each a function of the library with its parameters, so that whoever
//! plans can choose by what is in stock. All cuts of a problem have the same inputs, owners,
//! results and recipients, and give the same results: a test runs both and compares them.

use std::collections::BTreeMap;

use tacit_components::library;
use tacit_function::Function;
use tacit_language::shipped;

use super::function;
use crate::Error;

/// Sides of the tiles into which tables are cut, largest first. A side that divides another one
/// can be the border of a table that is cut into tiles of the other.
const TILE_SIDES: [u64; 5] = [16, 10, 8, 4, 1];

/// Blocks of a component into which long messages are cut, most first.
const CBC_PARTS: [u64; 5] = [16, 10, 5, 2, 1];

/// Longest string of a table that is one component: larger ones take seconds to compile.
const MOST_WHOLE: u64 = 200;

/// Longest string of a table that is cut into tiles of two sizes.
const MOST_MIXED: u64 = 2000;

/// Most blocks that are encrypted round by round.
const MOST_BY_ROUNDS: u64 = 2000;

/// Most tiles of one size in a row or a column.
const MOST_TILES: u64 = 1000;

/// Calls beyond which a cut is not considered: a program is written out when it is lowered.
const MOST_CALLS: u64 = 1 << 15;

/// What is computed, however it is cut.
#[derive(Debug)]
pub struct Problem {
    /// Its name.
    pub name: &'static str,
    /// What it computes, in a line.
    pub description: &'static str,
    /// The functions that compute it, and its parameters' values from those of each.
    solutions: &'static [Solution],
    cuts: fn(&[u64]) -> Vec<Cut>,
}

/// A function that computes a problem.
#[derive(Debug)]
struct Solution {
    function: &'static str,
    values: fn(&Given<'_>) -> Vec<u64>,
}

/// A problem's parameters, in the words of one of its functions.
struct Given<'p>(&'p BTreeMap<String, u64>);

impl Given<'_> {
    fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or_default()
    }
}

/// A way to cut a problem: a function of the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// How it is cut, for people.
    pub description: String,
    /// The function's name.
    pub function: &'static str,
    /// Its parameters.
    pub parameters: BTreeMap<String, u64>,
    /// Whether its components serve other sizes of the problem as well.
    pub serves_other_sizes: bool,
}

impl Cut {
    fn new(
        description: impl Into<String>,
        function: &'static str,
        parameters: &[(&str, u64)],
    ) -> Self {
        let parameters = parameters.iter();
        Self {
            description: description.into(),
            function,
            parameters: parameters
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
            serves_other_sizes: true,
        }
    }

    fn whole(function: &'static str, parameters: &[(&str, u64)]) -> Self {
        Self {
            serves_other_sizes: false,
            ..Self::new("one component", function, parameters)
        }
    }

    /// The function.
    ///
    /// # Errors
    ///
    /// Those of [`function`], which no cut of a problem of the library gives.
    pub fn function(&self) -> Result<Function, Error> {
        function(self.function, &self.parameters)
    }
}

/// A problem at one size.
#[derive(Clone, Debug)]
pub struct SizedProblem {
    /// The problem.
    pub problem: &'static Problem,
    values: Vec<u64>,
}

impl SizedProblem {
    /// The problem that the library's function of this name computes, if it has other cuts.
    /// Parameters that are not given take their defaults.
    #[must_use]
    pub fn of(name: &str, parameters: &BTreeMap<String, u64>) -> Option<Self> {
        let named = |problem: &'static Problem| {
            let solution = problem.solutions.iter().find(|one| one.function == name)?;
            let given = with_defaults(name, parameters);
            let values = (solution.values)(&Given(&given));
            Some(Self { problem, values })
        };
        PROBLEMS.iter().find_map(named)
    }

    /// The ways to cut it, those with the largest components first.
    #[must_use]
    pub fn cuts(&self) -> Vec<Cut> {
        (self.problem.cuts)(&self.values)
    }
}

fn with_defaults(name: &str, given: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    if let Some(shipped) = shipped::find(name) {
        let (_, params) = shipped.description();
        all.extend(params.into_iter().map(|one| (one.name, one.default)));
    } else if let Some(entry) = library::list().iter().find(|entry| entry.name == name) {
        let parameters = entry.parameters.iter();
        all.extend(parameters.filter_map(|one| Some((one.name.to_owned(), one.default?))));
    }
    all.extend(given.iter().map(|(name, value)| (name.clone(), *value)));
    all
}

/// The problems of the library.
#[must_use]
pub fn problems() -> &'static [Problem] {
    PROBLEMS
}

const PROBLEMS: &[Problem] = &[
    Problem {
        name: "aes-128",
        description: "AES-128 encryption of one block",
        solutions: &[
            solution("aes-128", |_| Vec::new()),
            solution("aes-128-expanded-key", |_| Vec::new()),
            solution("aes-128-rounds", |_| Vec::new()),
        ],
        cuts: aes_cuts,
    },
    Problem {
        name: "aes-128-cbc",
        description: "AES-128 in CBC mode",
        solutions: &[
            solution("aes-128-cbc", blocks),
            solution("aes-128-cbc-parts", blocks),
            solution("aes-128-cbc-blocks", blocks),
            solution("aes-128-cbc-rounds", blocks),
        ],
        cuts: cbc_cuts,
    },
    Problem {
        name: "levenshtein",
        description: "Levenshtein's distance of two strings",
        solutions: &[
            solution("edit-distance", |given| {
                ["x_symbols", "y_symbols", "symbol_bits"]
                    .map(|name| given.get(name))
                    .to_vec()
            }),
            solution("levenshtein", strings),
            solution("levenshtein-mixed", strings),
            solution("levenshtein-tiles", |given| {
                let side = given.get("side");
                let length = |tiles| given.get(tiles).saturating_mul(side);
                vec![length("rows"), length("columns"), given.get("symbol_bits")]
            }),
        ],
        cuts: levenshtein_cuts,
    },
];

const fn solution(function: &'static str, values: fn(&Given<'_>) -> Vec<u64>) -> Solution {
    Solution { function, values }
}

fn blocks(given: &Given<'_>) -> Vec<u64> {
    vec![given.get("blocks")]
}

fn strings(given: &Given<'_>) -> Vec<u64> {
    ["n", "m", "symbol_bits"]
        .map(|name| given.get(name))
        .to_vec()
}

fn aes_cuts(_: &[u64]) -> Vec<Cut> {
    vec![
        Cut {
            description: "one component, key expansion inside".to_owned(),
            serves_other_sizes: true,
            ..Cut::whole("aes-128", &[])
        },
        Cut::new(
            "ten rounds as one, the key's expansion apart",
            "aes-128-expanded-key",
            &[],
        ),
        Cut::new("round by round", "aes-128-rounds", &[]),
    ]
}

fn cbc_cuts(values: &[u64]) -> Vec<Cut> {
    let &[blocks] = values else {
        return Vec::new();
    };
    let mut cuts = Vec::new();
    if blocks <= 256 && !CBC_PARTS.contains(&blocks) {
        let whole = Cut::whole("aes-128-cbc-parts", &[("blocks", blocks), ("part", blocks)]);
        cuts.push(whole);
    }
    for part in CBC_PARTS
        .into_iter()
        .filter(|part| (2..=blocks).contains(part))
    {
        let left = match blocks % part {
            0 => String::new(),
            left => format!(", the last of {left}"),
        };
        let parameters = [("blocks", blocks), ("part", part)];
        let description = format!("{part} blocks at once, the expanded key kept inside{left}");
        cuts.push(Cut::new(description, "aes-128-cbc-parts", &parameters));
    }
    cuts.push(Cut::new(
        "block by block",
        "aes-128-cbc-blocks",
        &[("blocks", blocks)],
    ));
    if blocks <= MOST_BY_ROUNDS {
        cuts.push(Cut::new(
            "round by round",
            "aes-128-cbc-rounds",
            &[("blocks", blocks)],
        ));
    }
    cuts
}

fn levenshtein_cuts(values: &[u64]) -> Vec<Cut> {
    let &[n, m, symbol_bits] = values else {
        return Vec::new();
    };
    let bits = ("symbol_bits", symbol_bits);
    let mut cuts = Vec::new();
    if n.max(m) <= MOST_WHOLE {
        let lengths = [("x_symbols", n), ("y_symbols", m), bits];
        cuts.push(Cut::whole("edit-distance", &lengths));
    }
    for side in TILE_SIDES {
        let tiles = |length: u64| length.div_ceil(side);
        if tiles(n).saturating_mul(tiles(m)) > MOST_CALLS {
            continue;
        }
        let each = format!("tiles of {side} × {side}");
        if n.is_multiple_of(side) && m.is_multiple_of(side) {
            if n.max(m) / side > MOST_TILES {
                continue;
            }
            let parameters = [
                ("rows", n / side),
                ("columns", m / side),
                ("side", side),
                bits,
            ];
            cuts.push(Cut::new(each, "levenshtein-tiles", &parameters));
            continue;
        }
        let borders = TILE_SIDES.into_iter().filter(|border| {
            let room = |length: u64| length.next_multiple_of(*border) >= side;
            // Padded to smaller tiles, the strings may be as long as padded to larger ones.
            let leaves = |length: u64| length.next_multiple_of(*border) % side != 0;
            side.is_multiple_of(*border)
                && (*border == side || leaves(n) || leaves(m))
                && (room(n) && room(m) && n.max(m) <= MOST_MIXED)
        });
        for border in borders {
            let description = match border == side {
                true => format!("{each}, the strings padded to a multiple of {side}"),
                false => format!("{each}, and of {border} × {border} at the border"),
            };
            let parameters = [("n", n), ("m", m), ("side", side), ("border", border), bits];
            cuts.push(Cut::new(description, "levenshtein-mixed", &parameters));
        }
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(parameters: &[(&str, u64)]) -> BTreeMap<String, u64> {
        let parameters = parameters.iter();
        parameters
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect()
    }

    /// As many random bits as asked for, the same at every run.
    fn bits(count: usize, seed: u64) -> Vec<bool> {
        let mut state = seed.wrapping_mul(2).wrapping_add(1);
        let mut bit = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 40 & 1 == 1
        };
        (0..count).map(|_| bit()).collect()
    }

    #[test]
    fn all_cuts_of_a_problem_take_and_give_the_same() {
        let cases = [
            ("aes-128", given(&[])),
            ("aes-128-cbc-rounds", given(&[("blocks", 3)])),
            ("aes-128-cbc-blocks", given(&[("blocks", 5)])),
            (
                "levenshtein",
                given(&[("n", 9), ("m", 22), ("symbol_bits", 2)]),
            ),
            (
                "levenshtein",
                given(&[("n", 21), ("m", 13), ("symbol_bits", 1)]),
            ),
            (
                "levenshtein",
                given(&[("n", 16), ("m", 16), ("symbol_bits", 3)]),
            ),
            (
                "edit-distance",
                given(&[("x_symbols", 1), ("y_symbols", 6)]),
            ),
        ];
        for (name, parameters) in cases {
            let problem = SizedProblem::of(name, &parameters).expect("it has cuts");
            let asked = function(name, &parameters).expect("a function");
            let cuts = problem.cuts();
            assert!(cuts.len() >= 3, "{name}: {cuts:?}");
            for cut in cuts {
                let function = cut.function().expect("a function");
                assert_eq!(function.inputs(), asked.inputs(), "{cut:?}");
                assert_eq!(function.outputs(), asked.outputs(), "{cut:?}");
                let width: usize = asked.inputs().iter().map(|one| one.port.ty.width()).sum();
                for seed in 1..20 {
                    let inputs = bits(width, seed);
                    let (given, expected) = (function.evaluate(&inputs), asked.evaluate(&inputs));
                    assert_eq!(given, expected, "{cut:?}, seed {seed}");
                }
            }
        }
    }

    #[test]
    fn a_function_leads_to_its_problem_whatever_its_words_are() {
        let of = |name, parameters: &[(&str, u64)]| {
            SizedProblem::of(name, &given(parameters))
                .map(|sized| (sized.problem.name, sized.values))
        };
        let tiles = of(
            "levenshtein-tiles",
            &[("rows", 3), ("columns", 2), ("side", 10)],
        );
        assert_eq!(tiles, Some(("levenshtein", vec![30, 20, 8])));
        assert_eq!(
            of("levenshtein", &[]),
            Some(("levenshtein", vec![30, 30, 8]))
        );
        assert_eq!(
            of("aes-128-cbc-parts", &[]),
            Some(("aes-128-cbc", vec![10]))
        );
        assert_eq!(of("millionaires", &[]), None);
    }

    #[test]
    fn names_of_problems_and_cuts_are_those_of_functions() {
        for problem in problems() {
            assert!(!problem.description.is_empty());
            for solution in problem.solutions {
                let known = shipped::names().any(|name| name == solution.function)
                    || library::list()
                        .iter()
                        .any(|entry| entry.name == solution.function);
                assert!(known, "{}", solution.function);
            }
        }
    }

    #[test]
    fn cuts_of_any_size_can_be_made() {
        for (n, m) in [
            (1, 1),
            (1, 17),
            (16, 1),
            (30, 30),
            (33, 64),
            (100, 7),
            (600, 5),
        ] {
            let parameters = given(&[("n", n), ("m", m)]);
            let problem = SizedProblem::of("levenshtein", &parameters).expect("it has cuts");
            for cut in problem.cuts() {
                cut.function()
                    .unwrap_or_else(|error| panic!("{cut:?}: {error}"));
            }
        }
        for blocks in [1, 2, 7, 10, 40, 300, 2001] {
            let parameters = given(&[("blocks", blocks)]);
            let problem = SizedProblem::of("aes-128-cbc-blocks", &parameters).expect("it has cuts");
            for cut in problem.cuts() {
                cut.function()
                    .unwrap_or_else(|error| panic!("{cut:?}: {error}"));
            }
        }
    }
}
