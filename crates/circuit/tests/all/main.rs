//! All files are one program, since each program builds and links anew what it tests.

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
