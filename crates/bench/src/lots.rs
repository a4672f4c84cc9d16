//! Garbling for the stock on several threads: the work of `tacit prepare` before it sends.
//!
//! `protocol::prepared::send_lot` garbles a lot of AES-128 components completely, in memory.
//! Instances do not depend on each other, so the upper limit is the rate of one thread times the
//! number of cores, until the memory's bandwidth is reached: each AND gate writes 32 bytes.

use std::hint::black_box;
use std::task::Poll;
use std::thread::available_parallelism;

use getrandom::SysRng;
use rand_core::UnwrapErr;
use serde::{Deserialize, Serialize};
use tacit::garble::{HalfGates, SchemeId};
use tacit_circuit::Program;
use tacit_components::library;
use tacit_kernels::{Block, Construction, Prg};
use tacit_protocol::Error as ProtocolError;
use tacit_protocol::io::{Io, SharedBytes, Wire};
use tacit_protocol::message::Kind;
use tacit_protocol::party::OnlyPeer;
use tacit_protocol::prepared::{InstanceSeed, send_lot};

use crate::spread::Spread;
use crate::table::{Column, Row, number, short, text};
use crate::{Error, Figures, Options, Tell};

/// A lot on a number of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LotFigures {
    /// The component.
    pub component: String,
    /// The garbling scheme.
    pub scheme: String,
    /// The number of instances in the lot.
    pub instances: u64,
    /// The AND gates of each instance.
    pub ands: u64,
    /// The number of threads.
    pub threads: u64,
    /// The time for the lot.
    pub lot_ms: Spread,
    /// Instances a second, from the median.
    pub instances_per_s: f64,
    /// Millions of AND gates a second, from the median.
    pub million_ands_per_s: f64,
}

impl Row for LotFigures {
    const TITLE: &'static str = "Components garbled for the stock, by threads, without sending";
    const COLUMNS: &'static [Column<Self>] = &[
        text("lot", 13, |of| {
            format!("{} × {}", of.instances, of.component)
        }),
        text("scheme", 20, |of| of.scheme.clone()),
        number("threads", 7, |of| of.threads.to_string()),
        number("lot ms", 8, |of| short(of.lot_ms.median)),
        number("± %", 5, |of| of.lot_ms.deviation_text()),
        number("instances/s", 11, |of| short(of.instances_per_s)),
        number("M AND/s", 8, |of| short(of.million_ands_per_s)),
    ];
}

const COMPONENT: &str = "aes-128";
/// The number of instances in a lot: 52 MB of tables, so that starting threads takes little of the
/// time.
const INSTANCES: usize = 256;
const INSTANCES_QUICK: usize = 32;

/// One thread, two, four and so on, and as many as there are cores.
pub(crate) fn numbers_of_threads() -> Vec<usize> {
    let cores = available_parallelism().map_or(1, usize::from);
    let doubled = std::iter::successors(Some(1), |threads| Some(2 * threads));
    let fewer = doubled.take_while(|threads| *threads < cores);
    fewer.chain([cores]).collect()
}

/// Garbles lots on one thread, two, four and so on, and on one thread per core.
pub(crate) fn run(options: &Options, tell: Tell<'_>) -> Result<(), Error> {
    let mut threads = numbers_of_threads();
    let name = |threads: usize| format!("lot {COMPONENT} threads-{threads}");
    threads.retain(|threads| options.wants(&name(*threads)));
    if threads.is_empty() {
        return Ok(());
    }
    let component = library::find(COMPONENT, &Default::default());
    let component = component.map_err(|error| tacit::Error::Input(error.to_string()))?;
    let program = Program::compile(&component);
    let instances = if options.quick {
        INSTANCES_QUICK
    } else {
        INSTANCES
    };
    let mut rng = UnwrapErr(SysRng);
    let seeds: Vec<_> = (0..instances)
        .map(|_| InstanceSeed::random(&mut rng))
        .collect();
    for threads in threads {
        let seconds = options
            .patience()
            .time(|| garble(&program, &seeds, threads));
        let seconds = Spread::of(&seconds);
        let instances_per_s = instances as f64 / seconds.median;
        let ands = program.ands().len();
        tell(Figures::from(LotFigures {
            component: COMPONENT.to_owned(),
            scheme: SchemeId::HALF_GATES_TWO_CALL.to_string(),
            instances: instances as u64,
            ands: ands as u64,
            threads: threads as u64,
            lot_ms: seconds.scaled(1e3),
            instances_per_s,
            million_ands_per_s: instances_per_s * ands as f64 / 1e6,
        }))?;
    }
    Ok(())
}

/// Garbles a complete lot, and discards what would be sent.
fn garble(program: &Program, seeds: &[InstanceSeed], threads: usize) {
    let delta = Prg::new(Block::ONES).next_block().with_lsb(1.into());
    let what = (HalfGates::new(Construction::TwoCall), program);
    let sent = send_lot(
        &mut Io::new(&mut DiscardingWire),
        what,
        &delta,
        seeds,
        threads,
    );
    sent.expect("at least one thread");
}

/// Discards everything that is sent.
struct DiscardingWire;

impl Wire for DiscardingWire {
    fn send(&mut self, _: OnlyPeer, _: Kind, payload: &[u8]) -> Result<(), ProtocolError> {
        black_box(payload);
        Ok(())
    }

    fn send_shared(
        &mut self,
        _: OnlyPeer,
        _: Kind,
        parts: Vec<SharedBytes>,
    ) -> Result<(), ProtocolError> {
        black_box(parts);
        Ok(())
    }

    fn poll_message(&mut self, _: OnlyPeer) -> Poll<()> {
        Poll::Pending
    }

    fn receive(&mut self, _: OnlyPeer, _: Kind, _: usize) -> Result<&[u8], ProtocolError> {
        Err(ProtocolError::Wire)
    }

    fn poll_breathe(&mut self) -> Poll<Result<(), ProtocolError>> {
        Poll::Ready(Ok(()))
    }
}
