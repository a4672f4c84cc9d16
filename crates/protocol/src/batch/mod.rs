//! `batch`: many executions of one function, prepared and checked together, secure against
//! malicious parties. What stands here so far are its parameters.

pub mod parameters;
