//! Finds a dense subset of the secret, in linear time: drops the element that the fewest outputs
//! read, together with these outputs, again and again. In the expander that the code is, this
//! leaves subsets that contain far more whole outputs than random ones. Starting from a random 95 %
//! of the elements, it ends in another subset each time, so that tries are nearly independent.

use tacit_kernels::{Block, Prg};

use super::{Instance, WEIGHT};

/// The number of elements in the secret of the sample from which fractions are taken. They depend
/// only on N/k, up to about 2^-10 at this size.
const SAMPLE: usize = 1 << 14;

/// Returns a number below `bound`, uniform up to 2^-96.
pub(super) fn below(prg: &mut Prg, bound: usize) -> usize {
    (prg.next_block().to_u128() % bound as u128) as usize
}

/// Drops elements from those in `is_kept` until `goes_on` returns false. It gets the numbers of
/// elements and of outputs that would be left.
pub(super) fn peel(
    columns: &[[usize; WEIGHT]],
    is_kept: &mut [bool],
    mut goes_on: impl FnMut(usize, usize) -> bool,
) {
    let mut readers = vec![Vec::new(); is_kept.len()];
    let mut is_whole: Vec<bool> = Vec::with_capacity(columns.len());
    for (output, column) in columns.iter().enumerate() {
        is_whole.push(column.iter().all(|&i| is_kept[i]));
        if is_whole[output] {
            column.iter().for_each(|&i| readers[i].push(output));
        }
    }
    readers.iter_mut().for_each(Vec::dedup);
    let mut degrees: Vec<usize> = readers.iter().map(Vec::len).collect();
    let mut elements = is_kept.iter().filter(|is_kept| **is_kept).count();
    let mut outputs = is_whole.iter().filter(|is_whole| **is_whole).count();
    // The elements by degree. An element whose degree fell is listed again.
    let mut buckets = vec![Vec::new(); 1 + degrees.iter().max().copied().unwrap_or(0)];
    for i in (0..is_kept.len()).filter(|&i| is_kept[i]) {
        buckets[degrees[i]].push(i);
    }
    let mut least = 0;
    while least < buckets.len() {
        let Some(element) = buckets[least].pop() else {
            least += 1;
            continue;
        };
        if !is_kept[element] || degrees[element] != least {
            continue;
        }
        if !goes_on(elements - 1, outputs - least) {
            return;
        }
        (elements, outputs) = (elements - 1, outputs - least);
        is_kept[element] = false;
        for &output in &readers[element] {
            if !std::mem::take(&mut is_whole[output]) {
                continue;
            }
            let mut column = columns[output];
            column.sort_unstable();
            for (at, &i) in column.iter().enumerate() {
                if is_kept[i] && (at == 0 || column[at - 1] != i) {
                    degrees[i] -= 1;
                    buckets[degrees[i]].push(i);
                    least = least.min(degrees[i]);
                }
            }
        }
    }
}

/// Returns the share of the outputs that is left when peeling has left a share of the elements, by
/// hundredths of the latter, from 0 on.
pub(super) fn curve(instance: Instance) -> Vec<f64> {
    let prg = &mut Prg::new(Block::from_u128(1));
    let outputs = (instance.outputs / instance.secret * SAMPLE as f64) as usize;
    let columns = (0..outputs).map(|_| [(); WEIGHT].map(|()| below(prg, SAMPLE)));
    let mut left = vec![0.0; 101];
    left[100] = 1.0;
    peel(
        &columns.collect::<Vec<_>>(),
        &mut [true; SAMPLE],
        |size, whole| {
            left[size * 100 / SAMPLE] = whole as f64 / outputs as f64;
            true
        },
    );
    left
}
