//! Components that mean the same for numbers of several kinds.
//!
//! Ports say one type. A wrapping sum is the same whether its bits are read with a sign or not, and
//! a table's values may be anything; a comparison or a product in full is not.

use tacit_circuit::{Kind, Type};

/// Ports whose numbers are of one kind in each call, whichever it is.
#[derive(Clone, Copy, Debug)]
pub struct Alike {
    /// The ports' names.
    pub ports: &'static [&'static str],
    /// The kinds that they may be of.
    pub kinds: Kinds,
}

/// Kinds of numbers for which a component means the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// `uN` and `iN`.
    Integers,
    /// These and `fixed[i,f]`.
    Numbers,
}

impl Kinds {
    /// Whether numbers of type `ty` are of these kinds.
    #[must_use]
    pub fn includes(self, ty: &Type) -> bool {
        match ty.kind() {
            Kind::Unsigned(_) | Kind::Signed(_) => true,
            Kind::Fixed { .. } => self == Self::Numbers,
            _ => false,
        }
    }
}

const fn numbers(ports: &'static [&'static str]) -> Alike {
    let kinds = Kinds::Numbers;
    Alike { ports, kinds }
}

const fn integers(ports: &'static [&'static str]) -> Alike {
    let kinds = Kinds::Integers;
    Alike { ports, kinds }
}

/// The ports of the component `name` that take numbers of other kinds than they say.
#[must_use]
pub fn alike(name: &str) -> &'static [Alike] {
    // Sums and products wrap around. Symbols, keys and IDs are compared for equality alone.
    match name {
        "adder" => const { &[numbers(&["a", "b", "sum"])] },
        "selector" => const { &[numbers(&["a", "b", "selected"])] },
        "multiplier" => const { &[integers(&["a", "b", "product"])] },
        "matrix-product" => const { &[integers(&["a", "b", "product"])] },
        "edit-distance"
        | "edit-distance-plain"
        | "levenshtein-tile"
        | "levenshtein-cell"
        | "levenshtein-plain-tile"
        | "longest-common-subsequence"
        | "subsequence-tile"
        | "longest-common-substring" => const { &[numbers(&["x", "y"])] },
        "longest-common-substring-step" => const { &[numbers(&["text", "symbol"])] },
        "keyed-database" => const { &[numbers(&["keys", "query"]), numbers(&["values", "value"])] },
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library;

    #[test]
    fn the_ports_are_there() {
        for entry in library::list() {
            let small = |parameter: &library::Parameter| {
                (parameter.name.to_owned(), parameter.minimum.max(2))
            };
            for group in alike(entry.name) {
                let circuit = entry
                    .circuit(&entry.parameters.iter().map(small).collect())
                    .unwrap();
                let ports = circuit.inputs().iter().chain(circuit.outputs());
                let names: Vec<&str> = ports.map(|port| port.name.as_str()).collect();
                for port in group.ports {
                    assert!(names.contains(port), "{} has no {port}", entry.name);
                }
            }
        }
    }
}
