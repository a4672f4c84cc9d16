//! The `tacit` command.
#![forbid(unsafe_code)]

fn main() {}
