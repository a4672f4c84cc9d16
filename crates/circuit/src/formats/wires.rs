//! The map from a file's wire numbers to the circuit's wires.
//!
//! A file may drive its wires in any order, and a short file may announce many wires. Memory grows
//! with the gates read, never with a number that the file states. Such a number is only a bound.

use std::collections::HashMap;

use crate::Wire;

const UNDRIVEN: Wire = Wire::MAX;

/// The number of entries from the start: 256 KiB, so that files of the usual size stay dense.
const FIRST: usize = 1 << 16;

/// The circuit's wires for the wires that a file's gates drive, numbered from 0.
pub(super) struct DrivenWires {
    dense: Vec<Wire>,
    /// The wires that are too far ahead of the part already read for `dense`.
    far: HashMap<u32, Wire>,
    count: u32,
    /// The greatest number of wires.
    most: u32,
}

impl DrivenWires {
    /// Creates a map of at most `most` wires, none of which is driven yet.
    pub(super) fn new(most: u32) -> Self {
        Self {
            most,
            dense: Vec::new(),
            far: HashMap::new(),
            count: 0,
        }
    }

    /// Returns the circuit's wire for a file's wire, if anything drives it.
    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<Wire> {
        match self.dense.get(index as usize) {
            Some(&wire) => (wire != UNDRIVEN).then_some(wire),
            None => self.far.get(&index).copied(),
        }
    }

    /// Records the driver of a file's wire. If the wire has a driver already, returns false and
    /// keeps it.
    #[inline]
    pub(super) fn drive(&mut self, index: u32, wire: Wire) -> bool {
        let is_new = match self.dense.get_mut(index as usize) {
            Some(place) => fill(place, wire),
            None => self.drive_far(index, wire),
        };
        self.count += u32::from(is_new);
        is_new
    }

    /// Records the driver of a wire for which the dense part may have to grow.
    #[cold]
    fn drive_far(&mut self, index: u32, wire: Wire) -> bool {
        self.grow(index as usize);
        match self.dense.get_mut(index as usize) {
            Some(place) => fill(place, wire),
            None => fill(self.far.entry(index).or_insert(UNDRIVEN), wire),
        }
    }

    /// Grows the dense part to hold `index` if the amount already read justifies it: 16 bytes of
    /// memory for a gate. The size at least doubles each time, or reaches its maximum, so that
    /// moves are few.
    fn grow(&mut self, index: usize) {
        let most = self.most as usize;
        let limit = most.min(FIRST + 4 * self.count as usize);
        if index >= limit || limit < most.min(2 * self.dense.len()) {
            return;
        }
        self.dense.resize(limit, UNDRIVEN);
        let dense = &mut self.dense;
        self.far
            .retain(|&index, &mut wire| match dense.get_mut(index as usize) {
                Some(place) => {
                    *place = wire;
                    false
                }
                None => true,
            });
    }
}

/// Records the driver of the wire at this place, unless there is one already.
#[inline(always)]
fn fill(place: &mut Wire, wire: Wire) -> bool {
    let is_new = *place == UNDRIVEN;
    if is_new {
        *place = wire;
    }
    is_new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wires_driven_in_any_order_are_found() {
        let n = 300_000_u32;
        let orders: [&dyn Fn(u32) -> u32; 3] = [&|i| i, &|i| n - 1 - i, &|i| {
            ((u64::from(i) * 7919) % u64::from(n)) as u32
        }];
        for order in orders {
            let mut wires = DrivenWires::new(n);
            for i in 0..n {
                assert_eq!(wires.get(order(i)), None);
                assert!(wires.drive(order(i), i));
                assert!(!wires.drive(order(i), 5));
            }
            assert_eq!(wires.count, n);
            assert!((0..n).all(|i| wires.get(order(i)) == Some(i)));
            assert!(wires.dense.len() <= n as usize);
        }
    }

    #[test]
    fn a_wire_far_ahead_costs_no_memory() {
        let mut wires = DrivenWires::new(u32::MAX);
        assert!(wires.drive(u32::MAX - 1, 0));
        assert!(wires.drive(1 << 29, 1));
        assert!(!wires.drive(1 << 29, 2));
        assert_eq!(
            (wires.get(1 << 29), wires.get(0), wires.count),
            (Some(1), None, 2)
        );
        assert!(wires.dense.len() <= FIRST);
    }
}
