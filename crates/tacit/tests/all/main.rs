//! All files form one program, since each program builds and links everything that it tests.

mod batch;
mod crosses;
mod functions;
mod gmw_programs;
mod join;
mod kept_by_two;
mod kills;
mod lots;
mod matching;
mod outsourced;
mod outsourced_ends;
mod outsourced_places;
mod pair;
mod plan;
mod plan_gmw;
mod prepared;
mod stock_faults;
mod transfers;
