//! The promises of every scheme. They are tested in one program, since each program with all
//! schemes takes half a minute to build.

mod conformance;
mod disassembly;
mod links;
mod pages;
mod prf;
mod relations;
mod timing;
mod vectors;
