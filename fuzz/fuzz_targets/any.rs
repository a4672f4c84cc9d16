//! Gives libFuzzer the target that the environment variable `TACIT_FUZZ_TARGET` names.

#![no_main]

use std::env;
use std::sync::LazyLock;

use tacit_testkit::fuzz::TARGETS;

static RUN: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = env::var("TACIT_FUZZ_TARGET").expect("the name of a target in TACIT_FUZZ_TARGET");
    let target = TARGETS.iter().find(|target| target.name == name);
    target.expect("a target of this name").run
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| RUN(data));
