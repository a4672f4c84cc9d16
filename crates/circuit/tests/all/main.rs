//! All files are one program, since each test program would build and link the tested crates anew.

mod bounds;
mod builder;
mod layers;
mod messages;
mod operations;
#[allow(dead_code, reason = "the tests of components use the rest")]
mod oracle;
mod program;
mod shallow;
mod values;
mod vectors;
