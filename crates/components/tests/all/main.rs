//! All files are one program, since each program builds and links anew what it tests.

mod by_name;
mod components;
mod data_components;
mod files;
mod gate_table;
mod library;
mod plain;
mod programs;

/// What the tests of circuits have for these.
#[path = "../../../circuit/tests/all"]
mod of_circuits {
    #[allow(dead_code, reason = "the tests of circuits use the rest")]
    pub(crate) mod oracle;
}
use of_circuits::oracle;
