//! The grouping of ordered instances that are made together.

use std::collections::VecDeque;

use tacit_circuit::Component;

use super::calls::Member;
use crate::Error;

/// The largest number of AND gates, and of input bits, of instances that are made together. A
/// single instance may exceed it.
const GROUP_SIZE: usize = 400_000;

/// Instances that are still to be made.
pub(super) struct Order<'f> {
    /// The components with their positions in the order and the number of instances left.
    left: VecDeque<(&'f Component, usize, u64)>,
    next: u32,
}

impl<'f> Order<'f> {
    pub(super) fn new(order: &[(&'f Component, u64)]) -> Result<Self, Error> {
        let counts = order.iter().map(|(_, count)| *count);
        match counts.fold(0, u64::saturating_add) {
            0 => Err(Error::ApiMisuse("an order is for at least one instance")),
            all if all > u64::from(u32::MAX) => Err(Error::ApiMisuse(
                "an order is for fewer than 2^32 instances",
            )),
            _ => {
                let places = order.iter().enumerate();
                let left = places.map(|(place, (component, count))| (*component, place, *count));
                Ok(Self {
                    left: left.collect(),
                    next: 0,
                })
            }
        }
    }

    /// Returns the instances that are made next.
    pub(super) fn group(&mut self) -> Vec<Member<'f>> {
        let (mut members, mut size) = (Vec::new(), 0);
        while let Some((component, place, count)) = self.left.front_mut() {
            if *count == 0 {
                self.left.pop_front();
                continue;
            }
            let inputs = component.circuit().input_bits();
            let more = inputs.max(component.program().ands().len()) + 1;
            if !members.is_empty() && size + more > GROUP_SIZE {
                break;
            }
            size += more;
            *count -= 1;
            members.push(Member {
                component,
                place: *place,
                number: self.next,
            });
            self.next += 1;
        }
        members
    }
}
