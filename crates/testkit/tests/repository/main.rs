//! Rules for the files of the repository.

mod defences;
mod layers;
mod pages;
mod programs;
mod scripts;
mod sizes;
mod trust;
