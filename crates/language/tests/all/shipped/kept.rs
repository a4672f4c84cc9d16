//! Compares functions over saved values with plain code. Consecutive runs pass their state on to
//! each other.

use std::collections::BTreeMap;

use tacit_function::{Function, Role};

use super::{Draws, run, shipped_with};

/// The saved values of a chain of runs, by name, as text.
#[derive(Default)]
struct Kept(BTreeMap<String, String>);

impl Kept {
    /// Runs `function` on the inputs of both parties and on the values that it loads by name. Keeps
    /// the saved values, and returns the results.
    fn run(&mut self, function: &Function, inputs: &[&str]) -> Vec<String> {
        assert_eq!(inputs.len(), function.inputs().len());
        let loads = function.loads().iter();
        let loads = loads.map(|port| self.0[&port.name].as_str());
        let all: Vec<&str> = inputs.iter().copied().chain(loads).collect();
        let mut outputs = run(function, &all);
        let saved = outputs.split_off(function.outputs().len());
        for (port, value) in function.saves().iter().zip(saved) {
            self.0.insert(port.name.clone(), value);
        }
        outputs
    }
}

fn list(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    format!("[{}]", numbers.join(","))
}

/// Returns the length of the longest run of symbols that is in both strings.
fn longest_shared(x: &[u64], y: &[u64]) -> usize {
    let run = |i: usize, j: usize| {
        let pairs = x[i..].iter().zip(&y[j..]);
        pairs.take_while(|(x, y)| x == y).count()
    };
    let starts = (0..x.len()).flat_map(|i| (0..y.len()).map(move |j| (i, j)));
    starts.map(|(i, j)| run(i, j)).max().unwrap_or(0)
}

#[test]
fn a_kept_database_answers() {
    let given = [("entries", 5), ("key_bits", 8), ("value_bits", 16)];
    let (save, ask) = (
        shipped_with("database-save", given),
        shipped_with("database-ask", given),
    );
    let lookup = shipped_with("database-lookup", given);
    let (keys, values) = ("[3,1,4,1,5]", "[300,100,400,101,500]");
    let mut kept = Kept::default();
    assert!(kept.run(&save, &[keys, values]).is_empty());
    for (query, value) in [("4", "400"), ("1", "101"), ("9", "0")] {
        assert_eq!(kept.run(&ask, &[query]), [value]);
        assert_eq!(run(&lookup, &[keys, values, query]), [value]);
    }
    assert_eq!(lookup.input_bits(Role::Evaluator), 8);
}

#[test]
fn substrings_symbol_by_symbol_are_those_of_the_whole() {
    let mut draws = Draws(1);
    for (length, symbol_bits, symbols) in [(1, 1, 4), (2, 3, 9), (16, 1, 40), (128, 1, 30)] {
        let given = [("length", length), ("symbol_bits", symbol_bits)];
        let text: Vec<u64> = (0..length).map(|_| draws.below(1 << symbol_bits)).collect();
        let next = shipped_with("substring-next", given);
        let mut kept = Kept::default();
        let start = kept.run(&shipped_with("substring-start", given), &[&list(&text)]);
        assert!(start.is_empty());
        let mut string = Vec::new();
        for _ in 0..symbols {
            string.push(draws.below(1 << symbol_bits));
            let result = kept.run(&next, &[&string[string.len() - 1].to_string()]);
            assert_eq!(result, [longest_shared(&text, &string).to_string()]);
        }
    }
}

#[test]
fn friends_find_each_other_and_nobody_is_twice_on_the_map() {
    const CELLS: u64 = 12;
    let given = [("cells", CELLS), ("id_bits", 8)];
    let [start, get, set] = ["start", "get", "set"]
        .map(|operation| shipped_with(&format!("friend-map-{operation}"), given));
    let mut kept = Kept::default();
    assert!(kept.run(&start, &[]).is_empty());
    let mut plain = vec![0; CELLS as usize];
    let mut draws = Draws(3);
    let (mut met, mut moved) = (0, 0);
    for _ in 0..300 {
        let (id, cell) = (1 + draws.below(4), draws.below(CELLS + 2));
        let found = plain.get(cell as usize).copied().unwrap_or(0);
        assert_eq!(kept.run(&get, &[&cell.to_string()]), [found.to_string()]);
        let occupant = kept.run(&set, &[&id.to_string(), &cell.to_string()]);
        if found != 0 && found != id {
            met += 1;
            assert_eq!(occupant, [found.to_string()]);
        } else {
            moved += 1;
            assert_eq!(occupant, ["0"]);
            plain
                .iter_mut()
                .filter(|at| **at == id)
                .for_each(|at| *at = 0);
            if let Some(at) = plain.get_mut(cell as usize) {
                *at = id;
            }
        }
        let map = kept.0["map"].replace(' ', "");
        assert_eq!(map, list(&plain));
    }
    assert!(met > 20 && moved > 20, "{met} met, {moved} moved");
}

#[test]
fn two_friends_who_agree_are_told_of_each_other() {
    const CELLS: u64 = 6;
    let given = [("cells", CELLS), ("ids", 5)];
    let [start, set] = ["start", "set"]
        .map(|operation| shipped_with(&format!("friend-finder-{operation}"), given));
    let mut kept = Kept::default();
    assert!(kept.run(&start, &[]).is_empty());
    let mut plain = vec![0; CELLS as usize];
    let (mut agreed, mut finders) = ([false; 5], [0; 5]);
    let mut draws = Draws(5);
    let (mut tellings, mut silences, mut news) = (0, 0, 0);
    for _ in 0..600 {
        let (id, cell) = (1 + draws.below(4), draws.below(CELLS + 2));
        let agrees = draws.below(3) > 0;
        let found = plain.get(cell as usize).copied().unwrap_or(0);
        let met = if found == id { 0 } else { found };
        let is_told = met != 0 && agrees && agreed[met as usize];
        let finder = std::mem::take(&mut finders[id as usize]);
        let inputs = [id, cell, agrees.into()].map(|input| input.to_string());
        let results = kept.run(&set, &inputs.each_ref().map(String::as_str));
        assert_eq!(
            results,
            [met, is_told.into(), finder].map(|result| result.to_string())
        );
        news += u64::from(finder != 0);
        agreed[id as usize] = agrees;
        if met == 0 {
            plain
                .iter_mut()
                .filter(|at| **at == id)
                .for_each(|at| *at = 0);
            if let Some(at) = plain.get_mut(cell as usize) {
                *at = id;
            }
        } else if is_told {
            finders[met as usize] = id;
            tellings += 1;
        } else {
            silences += 1;
        }
        assert_eq!(kept.0["map"].replace(' ', ""), list(&plain));
        assert_eq!(kept.0["finders"].replace(' ', ""), list(&finders));
    }
    assert!(
        tellings > 20 && silences > 20 && news > 10,
        "{tellings} {silences} {news}"
    );
}
