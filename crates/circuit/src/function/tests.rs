//! Tests of functions.
