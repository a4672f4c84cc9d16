//! What the papers published, as data.

use std::sync::LazyLock;

use crate::table::numbers;

/// A row of Tables 7 and 8 of Gueron, Lindell, Nof and Pinkas, *Fast Garbling of Circuits Under
/// Standard Assumptions*.
pub(super) struct FastGarbling {
    /// What it assumes.
    pub(super) assumption: &'static str,
    /// What the paper calls it.
    pub(super) name: &'static str,
    /// The scheme of the ladder that it is.
    pub(super) scheme: &'static str,
    /// Table 7: a whole semi-honest execution, milliseconds: AES near and far, SHA-256 near and
    /// far, Min-Cut near. Nothing where the paper did not run the scheme.
    pub(super) execution_ms: Option<[u32; 5]>,
    /// Table 8: the garbled circuit, MiB: AES, SHA-256, Min-Cut.
    pub(super) table_mib: [f64; 3],
}

/// AND gates of the paper's three circuits (section 6).
pub(super) const FAST_GARBLING_ANDS: [u64; 3] = [6_800, 90_825, 999_960];
/// Their XOR gates.
pub(super) const FAST_GARBLING_XORS: [u64; 3] = [25_124, 42_029, 2_524_920];

/// Tables 7 and 8, a line a row with the fields in order.
const ROWS: &str = "\
PRF | XOR-3, AND-3, keys not pipelined (naive) \
| prf-xor3-and3 | 20 203 68 303 1947 | 1.46 6.08 161.36
PRF | XOR-1, AND-3 | prf-xor1-and3 | 16 200 54 236 1195 | 0.69 4.80 84.30
PRF | XOR-1, AND-2 | prf | 16 200 50 229 1047 | 0.59 3.41 69.04
related key | Monotone | related-key-monotone | – | 0.37 4.58 60.78
related key | SafeMon1 | related-key-safemon1 | – | 0.45 3.32 64.03
related key | SafeMon2 | related-key-safemon2 | – | 0.58 3.10 57.55
circularity | free XOR, AND-3 | circular-and3 | 16 198 36 221 701 | 0.31 4.16 45.77
circularity | free XOR, half-gates | circular-half-gates | 16 196 27 206 546 | 0.21 2.77 30.5
public random permutation | fixed key, free XOR, AND-3 | hazmat-fixed-key-and3 \
| 16 196 27 214 596 | 0.31 4.16 45.77
public random permutation | fixed key, free XOR, half-gates | hazmat-fixed-key-half-gates \
| 16 195 20 199 460 | 0.21 2.77 30.5";

/// Tables 7 and 8.
pub(super) static FAST_GARBLING: LazyLock<Vec<FastGarbling>> =
    LazyLock::new(|| ROWS.lines().map(row).collect());

fn row(line: &'static str) -> FastGarbling {
    let cells: Vec<&str> = line.split(" | ").collect();
    let [assumption, name, scheme, execution_ms, table_mib] = cells[..] else {
        panic!("{line:?} has five cells");
    };
    FastGarbling {
        assumption,
        name,
        scheme,
        execution_ms: (execution_ms != "–").then(|| numbers(execution_ms)),
        table_mib: numbers(table_mib),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 8 counts 16 bytes a ciphertext and its MB are MiB: the rows that no ordering of
    /// offsets decides follow from the gates.
    #[test]
    fn sizes_follow_from_gates() {
        let ciphertexts = |scheme: &str| match scheme {
            "prf-xor3-and3" => Some([3.0, 3.0]),
            "prf-xor1-and3" => Some([1.0, 3.0]),
            "prf" => Some([1.0, 2.0]),
            _ if scheme.ends_with("and3") => Some([0.0, 3.0]),
            _ if scheme.ends_with("half-gates") => Some([0.0, 2.0]),
            _ => None,
        };
        for row in FAST_GARBLING.iter() {
            let Some([xor, and]) = ciphertexts(row.scheme) else {
                continue;
            };
            for circuit in 0..3 {
                let blocks = xor * FAST_GARBLING_XORS[circuit] as f64
                    + and * FAST_GARBLING_ANDS[circuit] as f64;
                let mib = 16.0 * blocks / f64::from(1 << 20);
                let published = row.table_mib[circuit];
                assert!(
                    (mib / published - 1.0).abs() < 0.02,
                    "{} {mib} {published}",
                    row.name
                );
            }
        }
    }
}
