//! All files are one program, since each program builds and links anew what it tests.

mod batch;
mod functions;
mod kept_by_two;
mod kills;
mod lots;
mod outsourced;
mod outsourced_ends;
mod pair;
mod plan;
mod prepared;
mod stock_faults;
mod transfers;
