//! All files are one program, since each program builds and links anew what it tests.

mod bounds;
mod builder;
mod components;
mod data_components;
mod gate_table;
mod library;
mod messages;
mod operations;
mod oracle;
mod plain;
mod program;
mod promises;
mod values;
mod vectors;
