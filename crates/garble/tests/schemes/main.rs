//! What every scheme promises. One program, since each that has all schemes takes half a minute to
//! build.

mod conformance;
mod disassembly;
mod links;
mod pages;
mod prf;
mod relations;
mod timing;
mod vectors;
