//! All files are one program, since each test program would build and link the tested crates anew.

mod both;
mod bounds;
mod circuits;
mod counted;
mod differential;
mod editor;
mod effects;
mod errors;
mod forms;
mod joins;
mod lowering;
mod networks;
mod programs;
mod rows;
mod rules;
mod shallow;
mod shipped;
mod std_modules;
mod writer;
