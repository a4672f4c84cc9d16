//! All files are one program, since each program builds and links anew what it tests.

mod base;
mod base_ml_kem;
mod base_parts;
mod correlated;
mod dealer;
mod lpn;
mod malicious;
mod page;
mod precomputed;
mod seeded;
mod silent;
mod source;
mod spare;
mod vector;
