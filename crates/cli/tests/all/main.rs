//! All files are one program, since each program builds and links anew what it tests.

mod bad_input;
mod bad_peer;
mod base_ots;
mod batch;
#[cfg(target_os = "linux")]
mod clock;
mod docs;
mod help;
mod inspect;
mod json_lines;
mod kept_by_two;
mod kept_examples;
mod kills;
mod language;
mod language_docs;
mod library_runs;
mod lots;
mod lsp;
mod lying_generator;
mod outsourced;
mod outsourced_service;
mod pair;
mod plan;
mod prepared;
mod process;
mod relay;
mod serve;
mod serve_log;
mod serve_programs;
mod tasks;
mod two_parties;
mod typed;
