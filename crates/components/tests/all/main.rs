//! All files form one program, since each program builds and links everything that it tests.

mod by_name;
mod components;
mod data_components;
mod files;
mod gate_table;
mod library;
mod plain;
mod programs;

/// Helpers shared with the tests of circuits.
#[path = "../../../circuit/tests/all"]
mod of_circuits {
    #[allow(dead_code, reason = "the tests of circuits use the rest")]
    pub(crate) mod oracle;
}
use of_circuits::oracle;
