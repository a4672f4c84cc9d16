//! Large memory is hinted to the system, small memory is not.

#![cfg(target_os = "linux")]

use std::fs;

use tacit_kernels::hint_large_pages;

/// Returns whether the system was told to back the memory at `address` with large pages, according
/// to `/proc/self/smaps`; `None` if it shows no flags.
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
fn memory_of_4_mib_is_hinted() {
    let [large, small] = [8 << 20, 1 << 20].map(|bytes| {
        let mut memory = Vec::with_capacity(bytes);
        hint_large_pages(memory.spare_capacity_mut());
        memory.resize(bytes, 1_u8);
        memory
    });
    let middle = |memory: &[u8]| memory[memory.len() / 2..].as_ptr().addr();
    let hinted = [&large, &small].map(|memory| is_hinted(middle(memory)));
    if hinted[0].is_none() {
        eprintln!("SKIPPED: this system does not tell what memory is hinted");
        return;
    }
    assert_eq!(hinted, [Some(true), Some(false)]);
}
