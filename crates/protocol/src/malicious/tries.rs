//! The security cost of unfinished tries with a peer.
//!
//! A peer that leaves when it has seen enough is not caught, and may try again. So unfinished tries
//! are counted, and s is raised for the next one so that all of them together stay below 2^-s.

/// Returns ⌈lg left·t(t+1)⌉ for t unfinished tries: the number of bits by which s is raised for the
/// next one. The first try leaves one part in `left` of 2^-s to all others. The sum of
/// 1/(left·t(t+1)) over all t ≥ 1 is 1/left.
pub(crate) fn charge_bits(left: u64, unfinished: u64) -> u8 {
    let tries = u128::from(unfinished);
    let weight = (tries * (tries + 1)).saturating_mul(left.into());
    match weight.checked_next_power_of_two() {
        _ if tries == 0 => 0,
        Some(power) => power.trailing_zeros() as u8,
        None => u8::MAX,
    }
}
