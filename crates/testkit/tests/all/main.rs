//! All tests are modules of one program, because each program takes time to build and link.

mod conformance_fails;
mod fuzz;
mod lots;
mod lying_outsourced;
mod protocols;
mod relations_found;
mod tries;
