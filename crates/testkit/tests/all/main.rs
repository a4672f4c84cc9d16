//! All files are one program, since each program builds and links anew what it tests.

mod conformance_fails;
mod fuzz;
mod lots;
mod lying_outsourced;
mod protocols;
mod relations_found;
mod tries;
