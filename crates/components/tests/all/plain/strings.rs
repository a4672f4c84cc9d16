//! Distances of strings and their common parts, by the tables of their definitions.

/// Computes the table of edit distances from the given first row and column, both of which start
/// with the corner.
pub(crate) fn levenshtein_table(
    x: &[u128],
    y: &[u128],
    column: &[u128],
    row: &[u128],
) -> Vec<Vec<u128>> {
    let mut table = vec![row.to_vec()];
    for (i, x) in x.iter().enumerate() {
        let mut next = vec![column[i + 1]];
        for (j, y) in y.iter().enumerate() {
            let diagonal = table[i][j] + u128::from(x != y);
            next.push(diagonal.min(table[i][j + 1] + 1).min(next[j] + 1));
        }
        table.push(next);
    }
    table
}

pub(crate) fn edit_distance(x: &[u128], y: &[u128]) -> u128 {
    let count = |len: usize| (0..=len as u128).collect::<Vec<_>>();
    levenshtein_table(x, y, &count(x.len()), &count(y.len()))[x.len()][y.len()]
}

pub(crate) fn longest_common_substring(x: &[u128], y: &[u128]) -> u128 {
    let run = |i: usize, j: usize| {
        x[i..]
            .iter()
            .zip(&y[j..])
            .take_while(|(x, y)| x == y)
            .count()
    };
    let starts = (0..x.len()).flat_map(|i| (0..y.len()).map(move |j| (i, j)));
    starts.map(|(i, j)| run(i, j)).max().unwrap_or(0) as u128
}
