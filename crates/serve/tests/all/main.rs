//! All files are one program, since each program builds and links anew what it tests.

mod kept_ots;
mod lots;
mod memory;
mod outsourced;
mod refusals;
mod relay;
mod replenish;
mod scene;
mod service;
