//! Records for programs, one JSON object per line.
//!
//! Each record is self-contained. As long as the version stays, fields keep their meaning; new ones
//! may be added. A field's name ends with its unit.

use serde::{Deserialize, Serialize};

use crate::authenticated::AuthenticatedFigures;
use crate::batch::BatchFigures;
use crate::direct::DirectFigures;
use crate::gmw::{CrossFigures, GmwFigures, RowFigures};
use crate::kernels::KernelFigures;
use crate::lots::LotFigures;
use crate::machine::Machine;
use crate::ot::OtFigures;
use crate::outsourced::OutsourcedFigures;
use crate::parties::{Both, Step};
use crate::plan::PlanFigures;
use crate::prepared::PreparedFigures;
use crate::schemes::SchemeFigures;
use crate::table::{Line, Row};

/// The version of every record.
pub const VERSION: u32 = 1;

/// One measured case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`VERSION`].
    pub version: u32,
    /// The machine and the build.
    pub machine: Machine,
    /// Whether it is only a first look.
    pub quick: bool,
    /// The case and its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

macro_rules! figures {
    ($($(#[$doc:meta])* $kind:ident($figures:ty),)*) => {
        /// The figures of a case, by the kind of measurement.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "measured", rename_all = "kebab-case")]
        pub enum Figures {
            $($(#[$doc])* $kind(Box<$figures>),)*
        }

        impl Figures {
            /// Returns their line in a table of such figures.
            pub(crate) fn line(&self) -> Line {
                match self {
                    $(Self::$kind(figures) => figures.line(),)*
                }
            }
        }

        $(
            impl From<$figures> for Figures {
                fn from(figures: $figures) -> Self {
                    Self::$kind(Box::new(figures))
                }
            }
        )*
    };
}

figures! {
    /// A kernel on a backend.
    Kernel(KernelFigures),
    /// A role under a scheme.
    Scheme(SchemeFigures),
    /// Correlated OTs.
    Ot(OtFigures),
    /// A function between two parties.
    Direct(DirectFigures),
    /// A function under `gmw`, or under `direct` next to it.
    Gmw(GmwFigures),
    /// Calls that `gmw` evaluates together.
    GmwRows(RowFigures),
    /// Crosses made for `gmw`.
    GmwCrosses(CrossFigures),
    /// A function under `authenticated`.
    Authenticated(AuthenticatedFigures),
    /// Components garbled for the stock.
    Lot(LotFigures),
    /// A function under `prepared` next to `naive`.
    Prepared(PreparedFigures),
    /// A function under `batch`.
    Batch(BatchFigures),
    /// A function under `outsourced`.
    Outsourced(OutsourcedFigures),
    /// A prediction next to the measurement.
    Plan(PlanFigures),
}

/// The traffic of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// The bytes from the garbler to the evaluator, with the 5 bytes before each message.
    pub garbler_bytes: u64,
    /// The bytes from the evaluator to the garbler.
    pub evaluator_bytes: u64,
    /// The changes of direction, plus one: a message and its answer are two. If both parties send
    /// at once they may see different orders; this is the larger number.
    pub rounds: u64,
}

impl Traffic {
    /// Returns the traffic of a step.
    pub(crate) fn of(garbler: &Step, evaluator: &Step) -> Self {
        Self {
            garbler_bytes: garbler.sent_bytes,
            evaluator_bytes: evaluator.sent_bytes,
            rounds: garbler.rounds.max(evaluator.rounds),
        }
    }

    /// Returns the bytes of both directions.
    pub fn bytes(&self) -> u64 {
        self.garbler_bytes + self.evaluator_bytes
    }
}

/// Returns the times of a step's runs, each that of the slower party, in milliseconds.
pub(crate) fn slower_ms(steps: &Both<Vec<Step>>) -> Vec<f64> {
    let pairs = steps.garbler.iter().zip(&steps.evaluator);
    pairs.map(|(a, b)| 1e3 * a.seconds.max(b.seconds)).collect()
}
