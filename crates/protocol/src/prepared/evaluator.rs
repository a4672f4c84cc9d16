//! The evaluator of `prepared`.

use tacit_function::{Call, Function, Outputs, Role, Step, Values};
use tacit_garble::{Evaluator, Scheme};
use tacit_kernels::{Block, Prg};
use zeroize::{Zeroize, Zeroizing};

use super::saving::check_past;
use super::{EarlyLinks, EvaluatorOts, InstanceTables, Instances, Past, Run, WORK, messages};
use crate::Error;
use crate::bits::{pack, read_blocks};
use crate::io::Io;
use crate::message::Kind;
use crate::party::Progress;
use crate::result::evaluators_results;
use crate::saved::{ChainId, EvaluatorHalf, Labels, SavedCopy, follow_gates, id_oracle};

/// A value: a label, and whether the link from it depends on the evaluator's inputs.
#[derive(Clone, Copy, Default)]
struct Carried {
    label: Block,
    late: bool,
}

impl Carried {
    fn early(label: Block) -> Self {
        let late = false;
        Self { label, late }
    }
}

impl Zeroize for Carried {
    fn zeroize(&mut self) {
        self.label.zeroize();
    }
}

const TOO_FEW: Error = Error::ApiMisuse("one bit and one OT for each input wire");

impl<'f, S: Scheme> Run<'f, S> {
    /// Runs the evaluator's side up to its results, after it has [gathered](Self::gather) the links
    /// that do not depend on its inputs. Takes its input bits, in port order, and the values that
    /// it loads. There is an OT for each input bit and an instance for each call.
    ///
    /// # Errors
    ///
    /// The number of `inputs` or `ots` is not what the function needs; a loaded value is missing,
    /// or belongs to another chain, or was saved as another type; values are not kept under the
    /// scheme; the garbler misbehaves; or the wire fails.
    pub async fn evaluate<I>(
        self,
        io: &mut Io<'_>,
        (inputs, past): (&[bool], Past<'_, EvaluatorHalf>),
        early: EarlyLinks,
        ots: &EvaluatorOts,
        instances: I,
    ) -> Result<Evaluated<'f, S>, Error>
    where
        I: Instances<Instance = InstanceTables>,
    {
        let Self {
            scheme, function, ..
        } = self;
        let loads = past.loads.iter().map(|half| &half.0);
        check_past(scheme, function, past.chain, loads.clone())?;
        let count = function.input_bits(Role::Evaluator);
        let theirs = [ots.numbers.len(), ots.choices.len(), ots.labels.len()];
        if inputs.len() != count || theirs != [count; 3] {
            return Err(TOO_FEW);
        }
        if let Some(expected) = messages::corrections(function) {
            let pairs = inputs.iter().zip(&ots.choices);
            let corrections = pairs.map(|(input, choice)| input ^ choice);
            *io.message() = pack(&corrections.collect::<Vec<_>>());
            io.send(expected)?;
        }
        let unmask = io.receive(messages::UNMASK).await?;
        let [mask_seed] = read_blocks(Kind::Unmask, unmask)?;

        let early = early.unmasked(mask_seed);
        let evaluator = Box::new(scheme.evaluator(early.start));
        let received = ots.numbers.iter().zip(&ots.labels).zip(inputs);
        let inputs = received.map(|((index, t), bit)| evaluator.label_from_cot(*index, *t, *bit));
        let inputs = Zeroizing::new(inputs.collect::<Vec<_>>());
        let copies = loads.flat_map(|value| &value.copies);
        let loaded = follow_gates(early.start, copies, &early.saved);
        let mut labels = Prg::new(early.label_seed);
        let values = first_values(function, &mut labels, &inputs, &loaded)?;
        let mut left = early.demand.late_bytes(scheme.link_bytes())?;
        let mut following = Following {
            scheme,
            evaluator: &*evaluator,
            start: early.start,
            values,
            labels,
            instances,
            late: Arriving::from(Vec::new(), early.demand.early_links),
            early: Arriving::from(early.bytes, 0),
            pending: None,
            gathered: Zeroizing::default(),
            results: Zeroizing::default(),
            done_ands: 0,
        };
        loop {
            let followed = following.follow()?;
            io.progressed(Progress {
                done_ands: following.done_ands,
                total_ands: function.and_gates(),
            });
            match followed {
                Followed::Paused => io.breathe().await?,
                Followed::AsFarAsLinksReach => {
                    let frame = io.receive(messages::late_links(left)).await?;
                    following.late.bytes.extend_from_slice(frame);
                    left -= frame.len();
                }
                Followed::All => break,
            }
        }
        let outputs = following.outputs();
        Ok(Evaluated(EvaluatorOpening {
            run: self,
            evaluator,
            outputs,
        }))
    }
}

/// Returns the values before the first call.
fn first_values<'f>(
    function: &'f Function,
    labels: &mut Prg,
    inputs: &[Block],
    loaded: &[Block],
) -> Result<Values<'f, Carried>, Error> {
    let (mut inputs, mut loaded) = (inputs.iter(), loaded.iter());
    Values::new(function, |port| {
        let owner = function.inputs().get(port).map(|input| input.owner);
        Ok(match owner {
            Some(Role::Garbler) => Carried::early(labels.next_block()),
            Some(Role::Evaluator) => {
                let (label, late) = (*inputs.next().ok_or(TOO_FEW)?, true);
                Carried { label, late }
            }
            None => Carried::early(*loaded.next().ok_or(TOO_FEW)?),
        })
    })
}

/// The state of the evaluator while late links arrive. The early links are complete.
struct Following<'f, 'e, S: Scheme, I> {
    scheme: S,
    evaluator: &'e S::Evaluator,
    start: Block,
    values: Values<'f, Carried>,
    /// The labels that the garbler derives as well: those of its inputs, then those of constants.
    labels: Prg,
    instances: I,
    early: Arriving,
    late: Arriving,
    /// The call whose arguments have been gathered.
    pending: Option<Call<'f>>,
    gathered: Zeroizing<Vec<Block>>,
    results: Zeroizing<Vec<Block>>,
    done_ands: u64,
}

/// The links of one kind that arrived and were not followed yet.
struct Arriving {
    bytes: Vec<u8>,
    followed: usize,
    /// The number of the next link.
    number: u64,
}

/// The reason that following the links stopped.
enum Followed {
    /// The function ended.
    All,
    /// The links of the next call have not arrived.
    AsFarAsLinksReach,
    /// It is time to yield.
    Paused,
}

impl Arriving {
    fn from(bytes: Vec<u8>, number: u64) -> Self {
        let followed = 0;
        Self {
            bytes,
            followed,
            number,
        }
    }

    /// Whether `bytes` more bytes of links can be followed now.
    fn has(&self, bytes: usize) -> bool {
        self.bytes.len() - self.followed >= bytes
    }

    /// Follows the next links from `labels`, and replaces them by the labels to which these lead.
    fn follow<E: Evaluator>(
        &mut self,
        evaluator: &E,
        start: Block,
        labels: &mut [Block],
        bytes: usize,
    ) {
        let links = &self.bytes[self.followed..self.followed + bytes];
        evaluator.follow_links(start, self.number, labels, links);
        self.followed += bytes;
        self.number += labels.len() as u64;
        if self.followed == self.bytes.len() {
            self.bytes.clear();
            self.followed = 0;
        }
    }
}

impl<'f, S: Scheme, I: Instances<Instance = InstanceTables>> Following<'f, '_, S, I> {
    /// Evaluates calls until the links run out, it is time to yield, or no call is left.
    fn follow(&mut self) -> Result<Followed, Error> {
        let link_bytes = self.scheme.link_bytes();
        let mut work = 0;
        while work < WORK {
            let call = match self.pending.take() {
                Some(call) => call,
                None => {
                    let labels = &mut self.labels;
                    match self.values.step(|_| Carried::early(labels.next_block())) {
                        Step::Call(call) => call,
                        Step::Assigned(bits) => {
                            work += bits + 1;
                            continue;
                        }
                        Step::End => return Ok(Followed::All),
                    }
                }
            };
            let arguments = self.values.arguments();
            let late = arguments.iter().filter(|argument| argument.late).count();
            let arguments_and_gates = arguments.len() + call.component.program().ands().len() + 1;
            let early = arguments.len() - late;
            if !self.late.has(late * link_bytes) {
                self.pending = Some(call);
                return Ok(Followed::AsFarAsLinksReach);
            }
            let side = |late| {
                arguments
                    .iter()
                    .filter(move |argument| argument.late == late)
            };
            self.gathered.clear();
            self.gathered
                .extend(side(false).chain(side(true)).map(|argument| argument.label));
            let (early_labels, late_labels) = self.gathered.split_at_mut(early);
            let (evaluator, start) = (self.evaluator, self.start);
            self.early
                .follow(evaluator, start, early_labels, early * link_bytes);
            self.late
                .follow(evaluator, start, late_labels, late * link_bytes);
            let (mut early_labels, mut late_labels) = (early_labels.iter(), late_labels.iter());
            let inputs = arguments.iter().filter_map(|argument| {
                if argument.late {
                    late_labels.next().copied()
                } else {
                    early_labels.next().copied()
                }
            });
            let inputs = Zeroizing::new(inputs.collect::<Vec<_>>());
            let program = call.component.program();
            let instance = self.instances.next(call.component_index)?;
            self.results.clear();
            instance.evaluate(self.scheme, program, &inputs, &mut self.results);
            let results = self.results.iter().copied().map(Carried::early);
            let results = Zeroizing::new(results.collect::<Vec<_>>());
            self.values.finish_call(&results);
            self.done_ands += program.ands().len() as u64;
            work += arguments_and_gates;
        }
        Ok(Followed::Paused)
    }

    /// Returns the function's outputs, after the last call.
    fn outputs(mut self) -> Outputs<'f, Carried> {
        self.values
            .outputs(|_| Carried::early(self.labels.next_block()))
    }
}

/// The evaluator of a run whose links have been followed.
pub struct Evaluated<'f, S: Scheme>(EvaluatorOpening<'f, S>);

impl<'f, S: Scheme> Evaluated<'f, S> {
    /// Returns the values that the run saves for `chain`, in the function's order, and the opening
    /// of its results. The caller opens only after both parties have kept what they save.
    #[must_use]
    pub fn save(self, chain: ChainId) -> (Vec<EvaluatorHalf>, EvaluatorOpening<'f, S>) {
        let Run { function, tag, .. } = self.0.run;
        let labels = self.0.outputs.saved().iter().map(|output| output.label);
        let copies = vec![SavedCopy {
            delta: Block::ZERO,
            labels: labels.collect(),
        }];
        let saves = Labels::cut(chain, &id_oracle(&tag), copies, function.saves());
        (saves.into_iter().map(EvaluatorHalf).collect(), self.0)
    }
}

/// The evaluator's state for opening results.
pub struct EvaluatorOpening<'f, S: Scheme> {
    run: Run<'f, S>,
    evaluator: Box<S::Evaluator>,
    outputs: Outputs<'f, Carried>,
}

impl<S: Scheme> EvaluatorOpening<'_, S> {
    /// Opens the garbler's results. Returns the evaluator's output bits, in port order.
    ///
    /// # Errors
    ///
    /// The garbler misbehaves, or the wire fails.
    pub async fn open(self, io: &mut Io<'_>) -> Result<Zeroizing<Vec<bool>>, Error> {
        let Run {
            scheme,
            function,
            tag,
        } = self.run;
        let labels = |role| {
            let outputs = self.outputs.of(role);
            Zeroizing::new(outputs.iter().map(|output| output.label).collect())
        };
        evaluators_results(io, scheme, (function, &tag), &*self.evaluator, labels).await
    }
}
