//! Complete outsourced runs in memory, with honest and with cheating parties.

mod against_cloud;
mod against_evaluator;
mod against_generator;
mod attacks;
mod chains;
mod cheats;
mod honest;
mod rates;
mod stated;
mod trio;

pub(super) use cheats::OtherInput;
pub(super) use trio::adder;
