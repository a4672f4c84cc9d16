//! Indices that are computed: `sums[min(i, 3)] += x` is an addition like `sums[i] += x`.

use super::*;

/// Sums by an index that the guide tells to bound, inside and outside of a loop over pairs.
const BOUNDED: &str = "
parties a, b;
param N: 0..=100 = len(left);
param M: 0..=100 = len(right);
struct L { id: u8, band: u8 }
struct R { id: u8, y: u8 }
main(left: [L; ..N] of a, right: [R; ..M] of b, more: [u8; 4] of b,
     pairs: join left by id with right by id) -> (sums: [u16; 3] to both, counts: [u8; 2] to both) {
    let mut sums: [u16; 3] = [0; 3];
    for p in pairs { sums[min(p.left.band / 20, 2)] += p.right.y as u16; }
    let mut counts: [u8; 2] = [0; 2];
    for m in more { counts[max(m, 1) - 1] += 1; }
    (sums, counts)
}

test \"the last element takes all that is greater\" {
    let left = [for i in 1..6 { L { id: i as u8, band: 20 * i as u8 - 20 } }];
    let right = [for i in 2..6 { R { id: i as u8, y: i as u8 } }];
    assert main(left, right, [0, 1, 2, 3]) == ([0, 2, 12], [2, 1]);
}
";

#[test]
fn a_loop_over_pairs_adds_at_an_index_that_is_computed() {
    let loaded = Loaded::new("bounded.tacit", BOUNDED, &NoFiles);
    let reports = loaded.run_tests(&ParamValues::new(), &tacit_language::lower::NoCircuitFiles);
    let errors: Vec<_> = reports
        .into_iter()
        .flat_map(|report| report.errors)
        .collect();
    assert!(errors.is_empty(), "{}", rendered(&loaded, &errors));
}
