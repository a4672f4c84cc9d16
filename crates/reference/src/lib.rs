//! Textbook garbling, slow and short: the oracle of the fast paths (tests only).
#![forbid(unsafe_code)]
