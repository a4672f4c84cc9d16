//! Crosses whose OTs a device makes: the same as those from threads, with the same messages.

use std::sync::Arc;

use tacit_ot::silent::{Device, OnThreads};

use super::lying::ands;
use super::threads::blocks_of;
use super::*;
use crate::gmw::CrossDemand;

/// Returns directions in which these parties have a device.
fn directions(devices: [bool; 2]) -> [Directions; 2] {
    let mut both = directions_of(Extension::Silent, BaseOt::default(), [7, 8]);
    for (directions, has_device) in both.iter_mut().zip(devices) {
        if has_device {
            directions.use_device(&(Arc::new(OnThreads) as Arc<dyn Device>));
        }
    }
    both
}

/// Narrow crosses of more than a batch, which ends within a block and within a word, and wide ones.
#[test]
fn blocks_and_messages_are_the_same_with_a_device() {
    let demand = CrossDemand {
        narrow: [9, 1],
        wide: [2, 3],
    };
    let made = |devices| blocks_of(directions(devices), &demand);
    let expected = made([false, false]);
    for devices in [[true, false], [true, true]] {
        assert!(made(devices) == expected, "{devices:?}");
    }
}

/// A run that takes thousands of narrow crosses as bits, and few as blocks.
#[test]
fn a_run_is_the_same_with_a_device() {
    let case = Case::of(ands(8000, Recipient::Both));
    let inputs = case.inputs(&mut prg(3));
    let sent = |devices| run_honest(&case, &inputs, &mut directions(devices)).expect("honest");
    // Seeds of runs differ, so only the kinds and lengths of messages are compared.
    let shape = |messages: Messages| -> Vec<_> {
        let messages = messages.into_iter();
        messages
            .map(|(from, kind, payload)| (from, kind, payload.len()))
            .collect()
    };
    let expected = shape(sent([false, false]));
    for devices in [[true, false], [true, true]] {
        assert_eq!(shape(sent(devices)), expected, "{devices:?}");
    }
}
