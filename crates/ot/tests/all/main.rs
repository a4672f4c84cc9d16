//! All tests are modules of one program, because each program takes time to build and link.

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
mod threads;
mod vector;
