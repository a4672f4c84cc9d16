//! Large pieces of memory are hinted to the system, and small ones are not.

#![cfg(target_os = "linux")]

use std::alloc::System;
use std::fs;

use tacit_kernels::LargePages;

#[global_allocator]
static ALLOCATOR: LargePages<System> = LargePages(System);

/// Whether the system was told to back the memory at `address` by large pages, as
/// `/proc/self/smaps` has it; nothing where it tells no flags.
fn is_hinted(address: usize) -> Option<bool> {
    let maps = fs::read_to_string("/proc/self/smaps").ok()?;
    let mut is_inside = false;
    for line in maps.lines() {
        if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| is_inside) {
            return Some(flags.split_whitespace().any(|flag| flag == "hg"));
        }
        let range = line
            .split(' ')
            .next()
            .and_then(|range| range.split_once('-'));
        let bound = |text| usize::from_str_radix(text, 16).ok();
        if let Some((Some(from), Some(to))) = range.map(|(from, to)| (bound(from), bound(to))) {
            is_inside = (from..to).contains(&address);
        }
    }
    None
}

#[test]
fn pieces_of_4_mib_are_hinted() {
    let middle = |piece: &[u8]| piece[piece.len() / 2..].as_ptr().addr();
    let large = vec![1_u8; 8 << 20];
    let small = vec![1_u8; 1 << 20];
    let mut grown = vec![1_u8; 1 << 20];
    grown.resize(9 << 20, 1);
    let hinted = [&large, &small, &grown].map(|piece| is_hinted(middle(piece)));
    if hinted[0].is_none() {
        eprintln!("SKIPPED: this system does not tell what memory is hinted");
        return;
    }
    assert_eq!(hinted, [Some(true), Some(false), Some(true)]);
    assert!(
        large
            .iter()
            .chain(&small)
            .chain(&grown)
            .all(|&byte| byte == 1)
    );
}
