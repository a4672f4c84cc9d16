//! All files are one program, since each program builds and links anew what it tests.

mod command;
mod counts;
mod suites;
