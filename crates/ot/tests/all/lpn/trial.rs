//! The attack on a subset of the secret, carried out at a small size: it takes the number of
//! guesses that the estimate predicts.

use super::peeling::{below, peel};
use super::{Instance, Noise, Subset, WEIGHT};
use tacit_kernels::{Block, Prg};

/// The number of outputs kept apart to recognise a right solution.
const CONFIRMING: usize = 40;

/// The number of checks that reveal noise in the system.
const CHECKS: usize = 28;

/// LPN outputs with their indices, and the secret.
struct Sample {
    columns: Vec<[usize; WEIGHT]>,
    outputs: Vec<bool>,
    secret: Vec<bool>,
}

fn sample(secret: usize, trees: usize, block: usize, prg: &mut Prg) -> Sample {
    let secret: Vec<bool> = (0..secret).map(|_| below(prg, 2) == 1).collect();
    let columns = (0..trees * block).map(|_| [(); WEIGHT].map(|()| below(prg, secret.len())));
    let columns: Vec<_> = columns.collect();
    let sum = |columns: &[usize; WEIGHT]| columns.iter().fold(false, |sum, &i| sum ^ secret[i]);
    let mut outputs: Vec<bool> = columns.iter().map(sum).collect();
    for tree in 0..trees {
        outputs[tree * block + below(prg, block)] ^= true;
    }
    Sample {
        columns,
        outputs,
        secret,
    }
}

/// A row of the system: its elements, its output, and the rows whose sum it is.
type Row = Vec<u64>;

fn bit(row: &Row, i: usize) -> bool {
    row[i / 64] >> (i % 64) & 1 == 1
}

fn flip(row: &mut Row, i: usize) {
    row[i / 64] ^= 1 << (i % 64);
}

/// Eliminates the first `unknown` columns of all rows. Returns the row of each pivot's column, and
/// the rows that are left without a pivot.
fn eliminate(mut rows: Vec<Row>, unknown: usize) -> (Vec<(usize, Row)>, Vec<Row>) {
    let mut pivots = Vec::new();
    for column in 0..unknown {
        let Some(found) = rows.iter().position(|row| bit(row, column)) else {
            continue;
        };
        let pivot = rows.swap_remove(found);
        let others = rows.iter_mut().chain(pivots.iter_mut().map(|(_, row)| row));
        for row in others.filter(|row| bit(row, column)) {
            row.iter_mut().zip(&pivot).for_each(|(a, b)| *a ^= b);
        }
        pivots.push((column, pivot));
    }
    (pivots, rows)
}

/// Finds up to `most` rows whose flips explain the checks, from each row's signature over the
/// checks and the checks that fail.
fn errors(signatures: &[u64], failed: u64, most: usize) -> Option<Vec<usize>> {
    if failed == 0 {
        return Some(Vec::new());
    }
    let find = |wanted| signatures.iter().position(|&signature| signature == wanted);
    if most >= 1
        && let Some(i) = find(failed)
    {
        return Some(vec![i]);
    }
    if most < 2 {
        return None;
    }
    let mut known = std::collections::HashMap::new();
    for (i, &signature) in signatures.iter().enumerate() {
        if let Some(&j) = known.get(&(signature ^ failed)) {
            return Some(vec![j, i]);
        }
        known.insert(signature, i);
    }
    None
}

/// Makes one guess: a random 95 % of the secret, peeled, with as many of its outputs as it has
/// elements and [`CHECKS`] more, of which up to `most` may be noisy. Returns the subset's values if
/// they explain other outputs, and the number of outputs used.
fn guess(sample: &Sample, most: usize, prg: &mut Prg) -> (Option<Vec<(usize, bool)>>, usize) {
    let mut order: Vec<usize> = (0..sample.secret.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, below(prg, i + 1));
    }
    let mut is_kept = vec![true; order.len()];
    order[..order.len() / 20]
        .iter()
        .for_each(|&i| is_kept[i] = false);
    peel(&sample.columns, &mut is_kept, |elements, outputs| {
        outputs >= elements + CHECKS + CONFIRMING
    });
    order.retain(|&i| is_kept[i]);
    let (size, mut rank) = (order.len(), vec![0; is_kept.len()]);
    order.iter().enumerate().for_each(|(at, &i)| rank[i] = at);
    let is_whole = |output: &usize| sample.columns[*output].iter().all(|&i| is_kept[i]);
    let mut taken: Vec<usize> = (0..sample.outputs.len()).filter(is_whole).collect();
    for i in (1..taken.len()).rev() {
        taken.swap(i, below(prg, i + 1));
    }
    let (system, confirming) = taken.split_at(size + CHECKS);
    let words = (size + 1 + system.len()).div_ceil(64);
    let rows = system.iter().enumerate().map(|(at, &output)| {
        let mut row = vec![0; words];
        sample.columns[output]
            .iter()
            .for_each(|&i| flip(&mut row, rank[i]));
        if sample.outputs[output] {
            flip(&mut row, size);
        }
        flip(&mut row, size + 1 + at);
        row
    });
    let (pivots, checks) = eliminate(rows.collect(), size);
    let over = |i: usize| {
        (0..)
            .zip(checks.iter().take(64))
            .fold(0, |all, (at, check)| all | u64::from(bit(check, i)) << at)
    };
    let signatures: Vec<u64> = (0..system.len()).map(|at| over(size + 1 + at)).collect();
    let Some(wrong) = errors(&signatures, over(size), most) else {
        return (None, system.len());
    };
    let mut values = vec![false; size];
    for (column, row) in &pivots {
        let flips = wrong
            .iter()
            .fold(false, |sum, &i| sum ^ bit(row, size + 1 + i));
        values[*column] = bit(row, size) ^ flips;
    }
    let explained = confirming.iter().filter(|&&output| {
        let sum = sample.columns[output]
            .iter()
            .fold(false, |sum, &i| sum ^ values[rank[i]]);
        sum == sample.outputs[output]
    });
    let right = 5 * explained.count() >= 4 * confirming.len();
    let found = (0..size).map(|at| (order[at], values[at])).collect();
    (right.then_some(found), system.len())
}

/// Returns log₂ of the predicted number of guesses, with up to `most` noisy outputs among `taken`.
fn predicted(instance: Instance, taken: f64, most: usize) -> f64 {
    let ratio = taken / (instance.outputs - taken);
    let trees = instance.trees();
    let patterns = [
        1.0,
        trees * ratio,
        trees * (trees - 1.0) / 2.0 * ratio * ratio,
    ];
    instance.noise_free(taken) - patterns[..=most].iter().sum::<f64>().log2()
}

/// 16 secrets of 1024 elements for each form of the attack.
#[test]
fn the_attack_takes_the_guesses_that_the_estimate_predicts() {
    for (trees, block, most) in [(60, 250, 0), (120, 125, 2)] {
        let (runs, mut guesses, mut expected) = (16, 0, 0.0);
        let instance = Instance {
            outputs: (trees * block) as f64,
            secret: 1024.0,
            block: block as f64,
            noise: Noise::Bits,
        };
        for run in 0..runs {
            let prg = &mut Prg::new(Block::from_u128(run + 100 * most as u128));
            let sample = sample(1024, trees, block, prg);
            let (found, taken) = (0..4000)
                .find_map(|_| {
                    guesses += 1;
                    let (found, taken) = guess(&sample, most, prg);
                    Some((found?, taken))
                })
                .expect("some guess is right");
            let known = found
                .iter()
                .filter(|&&(i, value)| sample.secret[i] == value)
                .count();
            // There are ten elements per output, so all of the secret may be flipped. Elements that
            // no output of the system reads stay unknown.
            let known = known.max(found.len() - known);
            assert!(known + 12 > found.len(), "{known} of {}", found.len());
            expected += predicted(instance, taken as f64, most).exp2();
            // The subset is the predicted one, except for the outputs that the checks take.
            let subset = instance.fraction(Subset::Peeled) * instance.secret;
            let size = found.len() as f64;
            assert!((size / subset - 1.0).abs() < 0.06, "{size}, {subset}");
        }
        // The runs are geometric: their sum has this standard deviation.
        let deviation = expected / (runs as f64).sqrt();
        let bits = (expected / runs as f64).log2();
        println!(
            "up to {most} errors: {guesses} guesses in {runs} runs, 2^{bits:.1} each expected"
        );
        assert!(
            (f64::from(guesses) - expected).abs() < 3.0 * deviation,
            "{guesses} guesses, {expected} expected"
        );
    }
}
