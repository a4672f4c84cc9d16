//! All files are one program, since each program builds and links anew what it tests.

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
mod programs;
mod rules;
mod shallow;
mod shipped;
mod std_modules;
mod writer;
