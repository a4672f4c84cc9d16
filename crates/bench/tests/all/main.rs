//! All tests are modules of one program, because each program takes time to build and link.

mod command;
mod counts;
mod suites;
