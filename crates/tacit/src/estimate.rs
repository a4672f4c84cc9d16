//! Estimates of the time that garbling takes on this machine, from garbling a part.
//!
//! A scheme's number of cipher calls says little about its time: key schedules, memory and the
//! CPU's AES unit matter, too. So the estimate garbles and evaluates a program, or the
//! [head](Program::head) of a large one, for a few milliseconds on random labels. It assumes that
//! the rest costs the same.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tacit_circuit::Program;
use tacit_garble::{Evaluator, Garbler, Scheme, SchemeId, SchemeVisitor, UnknownScheme};
use tacit_kernels::{Block, Prg};

/// The tables that the evaluator reads, one after the other, so that they are in no first-level
/// cache, as in a run. Their content is arbitrary: it changes the labels but not the time.
static TABLES: OnceLock<Vec<u8>> = OnceLock::new();
const TABLES_BYTES: usize = 4 << 20;

/// The least number of segments that are timed. A small program repeats its own.
const LEAST_SEGMENTS: usize = 5;

/// The time to garble and evaluate a program on this machine, on one core, without a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeEstimate {
    /// The garbler's time.
    pub garbler: Duration,
    /// The evaluator's time.
    pub evaluator: Duration,
}

impl TimeEstimate {
    /// Measures for about `patience` on each side, or longer until a few segments are done. Other
    /// load on the machine makes the estimate less accurate.
    ///
    /// # Errors
    ///
    /// The fields of `scheme` form no scheme of this version.
    pub fn measure(
        scheme: SchemeId,
        program: &Program,
        patience: Duration,
    ) -> Result<Self, UnknownScheme> {
        let tables = scheme.rung()?.program_cost(program).table_bytes;
        let measure = Measure {
            program: program.head(),
            weight: tables + program.xors().len() as u64,
            patience,
        };
        tacit_garble::with_scheme(scheme, measure)
    }
}

struct Measure<'p> {
    /// The program that is garbled.
    program: &'p Program,
    /// The weight of the whole program that is estimated.
    weight: u64,
    patience: Duration,
}

impl SchemeVisitor for Measure<'_> {
    type Output = TimeEstimate;

    fn visit<S: Scheme>(self, scheme: S) -> TimeEstimate {
        let program = self.program;
        // Nothing here is secret: the labels belong to no one, and nobody gets the tables.
        let mut prg = Prg::new(Block::ONES);
        let (start, delta) = (prg.next_block(), prg.next_block().with_lsb(1.into()));
        let labels: Vec<Block> = (0..program.inputs()).map(|_| prg.next_block()).collect();
        let weights: Vec<u64> = program
            .segments()
            .iter()
            .enumerate()
            .map(|(number, segment)| {
                (scheme.table_bytes(program, number) + segment.xors.len()) as u64
            })
            .collect();
        let longest = (0..weights.len()).map(|segment| scheme.table_bytes(program, segment));
        let mut tables = vec![0; longest.max().unwrap_or(0)];
        let cold = TABLES.get_or_init(|| vec![1; TABLES_BYTES]);
        let mut read = 0;
        let mut garbler = scheme.garbler([1; 32], start, delta);
        let mut evaluator = scheme.evaluator(start);
        let wires: Vec<S::Wire> = labels
            .iter()
            .map(|&label| garbler.wire_with_active(label, false))
            .collect();
        TimeEstimate {
            garbler: self.of_pass(&weights, |instance, segment| match segment {
                None => garbler.begin(instance, program, &wires),
                Some(segment) => {
                    let bytes = scheme.table_bytes(program, segment);
                    garbler.garble(program, segment, &mut tables[..bytes]);
                }
            }),
            evaluator: self.of_pass(&weights, |instance, segment| match segment {
                None => evaluator.begin(instance, program, &labels),
                Some(segment) => {
                    let bytes = scheme.table_bytes(program, segment);
                    if bytes > cold.len() {
                        evaluator.evaluate(program, segment, &tables[..bytes]);
                        return;
                    }
                    read = if read + bytes > cold.len() { 0 } else { read };
                    evaluator.evaluate(program, segment, &cold[read..read + bytes]);
                    read += bytes;
                }
            }),
        }
    }
}

impl Measure<'_> {
    /// Estimates the time of a pass over the whole program from segments of these weights. It uses
    /// the median time per unit of weight, on which a pause of this process has little effect.
    /// `step` starts a pass (`None`) or processes one segment.
    fn of_pass(&self, weights: &[u64], mut step: impl FnMut(u32, Option<usize>)) -> Duration {
        let begun = Instant::now();
        let mut least_begin = Duration::MAX;
        let mut seconds = Vec::new();
        'passes: for instance in 0_u32.. {
            let begin = Instant::now();
            step(instance, None);
            least_begin = least_begin.min(begin.elapsed());
            for (segment, &weight) in weights.iter().enumerate() {
                let at = Instant::now();
                step(instance, Some(segment));
                seconds.push(at.elapsed().as_secs_f64() / weight.max(1) as f64);
                if seconds.len() >= LEAST_SEGMENTS && begun.elapsed() >= self.patience {
                    break 'passes;
                }
            }
            if weights.is_empty() {
                break;
            }
        }
        seconds.sort_by(f64::total_cmp);
        let median = seconds.get(seconds.len() / 2).copied().unwrap_or(0.0);
        least_begin + Duration::from_secs_f64(median * self.weight as f64)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tacit_components::library;
    use tacit_garble::SCHEMES;

    use super::*;

    #[test]
    fn every_scheme_is_measured_with_and_without_patience() {
        let parameters = BTreeMap::from([("copies".to_owned(), 4)]);
        let circuit = library::find("aes-128-copies", &parameters).unwrap();
        let program = Program::compile(&circuit);
        for scheme in &SCHEMES {
            for patience in [Duration::ZERO, Duration::from_millis(1)] {
                let time = TimeEstimate::measure(scheme.id, &program, patience).unwrap();
                assert!(time.garbler > Duration::ZERO && time.garbler < Duration::MAX);
                assert!(time.evaluator > Duration::ZERO && time.evaluator < Duration::MAX);
            }
        }
    }

    #[test]
    fn what_is_not_measured_takes_the_same_time_for_its_weight() {
        let circuit = library::find("xor", &BTreeMap::new()).unwrap();
        let program = Program::compile(&circuit);
        let measure = Measure {
            program: &program,
            weight: 40,
            patience: Duration::ZERO,
        };
        let nap = Duration::from_millis(1);
        let mut steps = 0;
        let time = measure.of_pass(&[2; 20], |_, segment| {
            steps += usize::from(segment.is_some());
            std::thread::sleep(nap);
        });
        assert_eq!(steps, LEAST_SEGMENTS);
        assert!(time >= 20 * nap);
        measure.of_pass(&[], |_, segment| assert_eq!(segment, None));
    }
}
