//! Functions under `authenticated` from different prepared material: nothing, triples, or instances
//! of their components.
//!
//! This measures only the protocol's states: the material is in memory, and no session agrees on
//! anything, counts tries or leases. A run of `tacit` does all this, and reads a disk.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use rand_core::{Rng, UnwrapErr};
use serde::{Deserialize, Serialize};
use tacit::garble::SchemeId;
use tacit::net::run_script;
use tacit::{Function, Role};
use tacit_kernels::Construction;
use tacit_net::Link;
use tacit_ot::Security;
use tacit_ot::source::{self, Choice, Extension};
use tacit_protocol::authenticated::{
    BLOCK_BYTES, Epoch, EpochSetup, EpochTags, InstanceOrder, LinkedRun, SecurityBits,
    StockedTriples, Terms, TripleBlocks, TripleOrder, blocks_for,
};
use tacit_protocol::prepared::{Demand, Instances};
use tacit_protocol::session::{Hello, Proposal, ProtocolId, SessionTag};
use tacit_protocol::setup::OtSettings;
use zeroize::Zeroizing;

use crate::parties::{Both, Exchange, Memory, PartyLink, Step, Wire, both};
use crate::record::{Traffic, slower_ms};
use crate::spread::Spread;
use crate::table::{Column, Row, kilobytes, number, short, text};
use crate::workload::{Case, Workload};
use crate::{Error, Figures, Options, Tell, USUAL_LINKS};

/// A function under `authenticated` from one source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceFigures {
    /// The function.
    #[serde(flatten)]
    pub workload: Workload,
    /// `nothing`, `triples` or `instances`.
    pub source: String,
    /// `loopback`, or the link.
    pub link: String,
    /// The OT extension.
    pub ot_extension: String,
    /// s.
    pub statistical_security_bits: u8,
    /// AND gates.
    pub ands: u64,
    /// The time to prepare a run, without base OTs; 0 if nothing is prepared.
    pub offline_ms: f64,
    /// The bytes of the preparation for a run.
    pub offline_traffic: Traffic,
    /// The material that each party keeps for a run.
    pub kept_bytes: Traffic,
    /// The time of a run.
    pub run_ms: Spread,
    /// Its bytes and rounds.
    pub run_traffic: Traffic,
    /// The peak memory of each party, including the material of all runs.
    pub memory: Memory,
}

impl SourceFigures {
    fn an_and(&self, bytes: u64) -> String {
        short(bytes as f64 / self.ands.max(1) as f64)
    }
}

impl Row for SourceFigures {
    const TITLE: &'static str = "Functions under authenticated by what is prepared, malicious, in \
                                 the clear, kept in memory; base OTs apart; offline and disk for a \
                                 run";
    const COLUMNS: &'static [Column<Self>] = &[
        text("function", 22, |of| of.workload.to_string()),
        text("from", 9, |of| of.source.clone()),
        text("link", 13, |of| of.link.clone()),
        number("AND", 7, |of| of.ands.to_string()),
        number("offline ms", 10, |of| short(of.offline_ms)),
        number("B/AND", 6, |of| of.an_and(of.offline_traffic.bytes())),
        number("kept g", 6, |of| of.an_and(of.kept_bytes.garbler_bytes)),
        number("kept e", 6, |of| of.an_and(of.kept_bytes.evaluator_bytes)),
        number("run ms", 8, |of| short(of.run_ms.median)),
        number("± %", 5, |of| of.run_ms.deviation_text()),
        number("KB g→e", 8, |of| kilobytes(of.run_traffic.garbler_bytes)),
        number("KB e→g", 8, |of| {
            kilobytes(of.run_traffic.evaluator_bytes)
        }),
        number("rounds", 6, |of| of.run_traffic.rounds.to_string()),
    ];
}

/// The material that a run starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Source {
    Nothing,
    Triples,
    Instances,
}

impl Source {
    const ALL: [Self; 3] = [Self::Nothing, Self::Triples, Self::Instances];

    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Triples => "triples",
            Self::Instances => "instances",
        }
    }
}

/// Two functions of one component each, and one of 3,600 calls. A first look takes the first.
const FUNCTIONS: [Case; 3] = [
    ("aes-128", &[]),
    ("sha-256-compress", &[]),
    ("levenshtein", &[("n", 60), ("m", 60)]),
];

const SECURITY_BITS: u8 = 40;

/// The number in each direction, where a triple consists of three leaky ANDs.
const OTS_AN_AND: usize = 10;

/// The AND gates that are prepared for a function, and the bound on its runs.
const PREPARED_ANDS: u64 = 1_000_000;
const MOST_RUNS: u64 = 15;
const LEAST_RUNS: u64 = 3;

/// The task of the parties: this many runs, prepared together, after a warm-up run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Exchanged {
    workload: Workload,
    source: Source,
    runs: u64,
    /// The link, which decides how OTs are made.
    link: Option<String>,
}

/// A party's steps.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    offline: Step,
    kept_bytes: u64,
    runs: Vec<Step>,
}

/// Measures all functions from all sources at all places.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    let functions = if options.quick && options.only.is_empty() {
        &FUNCTIONS[..1]
    } else {
        &FUNCTIONS[..]
    };
    for place in options.places(&USUAL_LINKS[..2]) {
        for (name, parameters) in functions {
            for source in Source::ALL {
                let mut task = Exchanged {
                    workload: Workload::new(name, parameters),
                    source,
                    runs: 0,
                    link: place.0.map(|link| link.to_string()),
                };
                let name = &task.workload;
                let name = format!(
                    "authenticated {name} from-{} {}",
                    source.name(),
                    place.name()
                );
                if !options.wants(&name) {
                    continue;
                }
                let ands = task.workload.of_library()?.and_gates();
                let most = if options.quick { LEAST_RUNS } else { MOST_RUNS };
                task.runs = (PREPARED_ANDS / ands).clamp(LEAST_RUNS, most);
                let done = both(&task, place, options)?;
                tell(Figures::from(figures(task, ands, place, done)))?;
            }
        }
    }
    Ok(())
}

fn figures(task: Exchanged, ands: u64, place: PartyLink, done: Both<Report>) -> SourceFigures {
    let (garbler, evaluator) = (&done.garbler, &done.evaluator);
    let prepared_runs = task.runs + 1;
    let mut offline_traffic = Traffic::of(&garbler.offline, &evaluator.offline);
    offline_traffic.garbler_bytes /= prepared_runs;
    offline_traffic.evaluator_bytes /= prepared_runs;
    let offline_s = garbler.offline.seconds.max(evaluator.offline.seconds);
    let runs = done.map(|report| report.runs.clone());
    SourceFigures {
        source: task.source.name().to_owned(),
        link: place.name(),
        ot_extension: task.extension(ands).to_string(),
        statistical_security_bits: SECURITY_BITS,
        ands,
        offline_ms: 1e3 * offline_s / prepared_runs as f64,
        offline_traffic,
        kept_bytes: Traffic {
            garbler_bytes: garbler.kept_bytes / prepared_runs,
            evaluator_bytes: evaluator.kept_bytes / prepared_runs,
            rounds: 0,
        },
        run_ms: Spread::of(&slower_ms(&runs)),
        run_traffic: Traffic::of(&runs.garbler[0], &runs.evaluator[0]),
        memory: done.memory,
        workload: task.workload,
    }
}

impl Exchanged {
    /// Returns the extension that a session takes at this place.
    fn extension(&self, ands: u64) -> Extension {
        let link: Option<Link> = self.link.as_ref().and_then(|link| link.parse().ok());
        let Some(link) = link else {
            return Extension::from_name("softspoken-4").unwrap_or_default();
        };
        let link = source::Link {
            round_trip: 2 * link.one_way_delay(),
            bits_per_s: link.rate_bits_per_s(),
        };
        let count = (OTS_AN_AND * ands as usize).min(source::MAX_REFILL);
        Choice::fastest(link, Security::Malicious, count, false).extension
    }
}

impl Exchange for Exchanged {
    type Report = Report;

    fn play(&self, role: Role, mut wire: Wire) -> Result<Report, Error> {
        let function = &self.workload.of_library()?;
        function.compile();
        let extension = self.extension(function.and_gates());
        let epoch = set_up(role, extension, &mut wire)?;
        let (id, mut kept) = (*epoch.id(), StoredMaterial::default());
        let prepared = (function, self.runs + 1);
        let (mut epoch, offline) = match self.source {
            Source::Instances => (None, kept.make_instances(epoch, prepared, &mut wire)?),
            Source::Triples => (None, kept.make_triples(epoch, prepared, &mut wire)?),
            Source::Nothing => (Some(epoch), Step::default()),
        };
        let kept_bytes = kept.bytes();
        let inputs = vec![false; function.input_bits(role)];
        let mut runs = Vec::new();
        for run in 0..=self.runs {
            let terms = terms(function, extension, run)?;
            let taken = kept.take(function)?;
            let (left, step) = wire.step(|channel| match self.source {
                Source::Instances => {
                    let ordered_at = security()?;
                    let run = LinkedRun {
                        terms,
                        id,
                        ordered_at,
                    };
                    run_script(channel, &mut |_| (), async |io| match role {
                        Role::Garbler => run.garble(io, &inputs, taken).await,
                        Role::Evaluator => run.evaluate(io, &inputs, taken).await,
                    })?;
                    Ok(None)
                }
                Source::Triples => {
                    let triples = StockedTriples::new(id, Box::new(taken)).map_err(failed)?;
                    run_script(channel, &mut |_| (), async |io| {
                        let seed = seed();
                        terms
                            .run_from_stock(io, role, &inputs, triples, &seed)
                            .await
                    })?;
                    Ok(None)
                }
                Source::Nothing => {
                    let epoch = epoch.take().ok_or_else(|| failed(nothing_left()))?;
                    let ran = run_script(channel, &mut |_| (), async |io| {
                        terms.run(io, &inputs, epoch, &seed()).await
                    });
                    Ok(Some(ran?.1))
                }
            })?;
            epoch = left;
            if run > 0 {
                runs.push(step);
            }
        }
        Ok(Report {
            offline,
            kept_bytes,
            runs,
        })
    }
}

/// Makes an epoch, from base OTs.
fn set_up(role: Role, extension: Extension, wire: &mut Wire) -> Result<Epoch, Error> {
    let settings = OtSettings {
        extension,
        ..OtSettings::default()
    };
    let sent_by =
        |sender| session().authenticated_setup(Role::Garbler, sender, settings.base, extension);
    let tags = EpochTags {
        garbler: sent_by(Role::Garbler),
        evaluator: sent_by(Role::Evaluator),
    };
    let mut rng = UnwrapErr(getrandom::SysRng);
    let setup = EpochSetup::new(role, settings, tags, &mut rng).map_err(failed)?;
    let base = wire.step(|channel| {
        Ok(run_script(channel, &mut |_| (), async |io| {
            setup.run(io).await
        })?)
    })?;
    base.0.epoch().map_err(failed)
}

/// The material of a party: blocks of triples with the number of the first, and instances of each
/// component.
#[derive(Default)]
struct StoredMaterial {
    next: u64,
    blocks: VecDeque<Vec<u8>>,
    instances: Vec<VecDeque<Vec<u8>>>,
}

impl StoredMaterial {
    fn make_triples(
        &mut self,
        epoch: Epoch,
        (function, runs): (&Function, u64),
        wire: &mut Wire,
    ) -> Result<Step, Error> {
        let kept = Mutex::new(&mut self.blocks);
        let keep = |_, bytes: &[u8]| {
            let blocks = bytes.chunks_exact(BLOCK_BYTES);
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(blocks.map(<[u8]>::to_vec));
            Ok(())
        };
        let (blocks, security) = (runs * blocks_for(function), security()?);
        let order = TripleOrder { blocks, security };
        let made = wire.step(|channel| {
            Ok(run_script(channel, &mut |_| (), async |io| {
                order.make(io, epoch, keep, &seed()).await
            })?)
        });
        Ok(made?.1)
    }

    fn make_instances(
        &mut self,
        epoch: Epoch,
        (function, runs): (&Function, u64),
        wire: &mut Wire,
    ) -> Result<Step, Error> {
        let counts = Demand::of(function).map_err(failed)?.instances.into_iter();
        let counts = counts.map(|count| runs * count);
        let order: Vec<_> = function.components().iter().zip(counts).collect();
        self.instances.resize_with(order.len(), VecDeque::new);
        let keep = |place: usize, bytes: &[u8]| {
            self.instances[place].push_back(bytes.to_vec());
            Ok(())
        };
        let order = InstanceOrder {
            components: &order,
            security: security()?,
            construction: Construction::TwoCall,
            ordered_at: security()?,
        };
        let made = wire.step(|channel| {
            Ok(run_script(channel, &mut |_| (), async |io| {
                order.make(io, epoch, keep, &seed()).await
            })?)
        });
        Ok(made?.1)
    }

    fn bytes(&self) -> u64 {
        let all = self.blocks.iter().chain(self.instances.iter().flatten());
        all.map(|bytes| bytes.len() as u64).sum()
    }

    /// Takes the material of the next run.
    fn take(&mut self, function: &Function) -> Result<Self, Error> {
        let demand = Demand::of(function).map_err(failed)?;
        let blocks = self.blocks.len().min(blocks_for(function) as usize);
        let first = self.next;
        self.next += blocks as u64;
        let taken = self.instances.iter_mut().zip(demand.instances);
        Ok(Self {
            next: first,
            blocks: self.blocks.drain(..blocks).collect(),
            instances: taken
                .map(|(all, count)| all.drain(..count as usize).collect())
                .collect(),
        })
    }
}

impl TripleBlocks for StoredMaterial {
    fn next(&mut self, block: &mut [u8; BLOCK_BYTES]) -> Result<u64, tacit_protocol::Error> {
        let bytes = self.blocks.pop_front().ok_or_else(nothing_left)?;
        block.copy_from_slice(&bytes);
        self.next += 1;
        Ok(self.next - 1)
    }
}

impl Instances for StoredMaterial {
    type Instance = Zeroizing<Vec<u8>>;

    fn next(&mut self, component: usize) -> Result<Self::Instance, tacit_protocol::Error> {
        let instances = self.instances.get_mut(component);
        let instance = instances.and_then(VecDeque::pop_front);
        instance.map(Zeroizing::new).ok_or_else(nothing_left)
    }
}

fn nothing_left() -> tacit_protocol::Error {
    tacit_protocol::Error::Material("nothing prepared is left".to_owned())
}

fn failed(error: tacit_protocol::Error) -> Error {
    tacit::Error::from(error).into()
}

fn security() -> Result<SecurityBits, Error> {
    SecurityBits::new(SECURITY_BITS).map_err(failed)
}

fn seed() -> Zeroizing<[u8; 32]> {
    let mut seed = Zeroizing::new([0; 32]);
    UnwrapErr(getrandom::SysRng).fill_bytes(&mut *seed);
    seed
}

/// Returns the tag of a session that nobody opened, which both parties know.
fn session() -> SessionTag {
    let [a, b] = [1, 2].map(|byte| Hello::of([byte; 32]));
    SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b))
}

/// Returns the terms of a run.
fn terms(function: &Function, ot_extension: Extension, run: u64) -> Result<Terms<'_>, Error> {
    let tag = session().run(&Proposal {
        statistical_security_bits: SECURITY_BITS,
        ot_extension,
        run,
        ..Proposal::first(
            ProtocolId::Authenticated,
            SchemeId::HALF_GATES_TWO_CALL,
            function.digest(),
        )
    });
    Ok(Terms {
        function,
        tag,
        security: security()?,
        construction: Construction::TwoCall,
    })
}
