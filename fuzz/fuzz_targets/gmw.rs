#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| tacit_testkit::fuzz::gmw(data));
