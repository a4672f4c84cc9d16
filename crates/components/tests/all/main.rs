//! All files are one program, since each program builds and links anew what it tests.

mod by_name;
mod components;
mod data_components;
mod files;
mod gate_table;
mod library;
#[allow(dead_code, reason = "the tests of circuits use the rest")]
#[path = "../../../circuit/tests/all/oracle/mod.rs"]
mod oracle;
mod plain;
mod programs;
