//! All tests are modules of one program, because each program takes time to build and link.

mod audit;
mod gmw;
mod lanes;
mod lots;
mod memory;
mod monitoring;
mod offers;
mod outsourced;
mod refusals;
mod relay;
mod replenish;
mod restored;
mod scene;
mod service;
mod tables;
mod visitors;
mod workers;
