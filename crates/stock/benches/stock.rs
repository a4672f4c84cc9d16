//! Figures of the stock.
#![forbid(unsafe_code)]

fn main() {}
