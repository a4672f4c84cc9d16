//! All files are one program, since each program builds and links anew what it tests.

mod gmw;
mod lots;
mod memory;
mod offers;
mod outsourced;
mod refusals;
mod relay;
mod replenish;
mod restored;
mod scene;
mod service;
