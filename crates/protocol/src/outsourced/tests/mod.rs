//! Outsourced runs from end to end in memory, by honest parties and by such as cheat.

mod honest;
mod trio;
