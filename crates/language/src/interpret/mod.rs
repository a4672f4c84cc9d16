//! The interpreter: what a typed program computes, in the clear. It is written apart from the
//! lowering and serves as its oracle.

pub(crate) mod operators;
mod run;

pub(crate) use run::{Machine, call, intrinsic};
