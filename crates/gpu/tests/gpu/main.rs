//! What devices make equals what threads make, bit for bit.
//!
//! One function compares a device with threads over two rounds. It runs for the kernels as C++ on
//! the processor, and for a GPU where there is one; `scripts/gpu` runs it there. What cannot run
//! says so.

#![deny(unsafe_op_in_unsafe_fn)]

mod portable;
mod sources;

use std::sync::Arc;

use tacit_gpu::{Card, Error};
use tacit_ot::silent::{Device, OnThreads};

use self::portable::Portable;
use self::sources::{Made, made};

/// Compares a device at each party, and at both, with threads.
fn assert_same(device: &Arc<dyn Device>, expected: &Made) {
    let device = || Some(device.clone());
    for devices in [[device(), device()], [device(), None], [None, device()]] {
        let on = devices.each_ref().map(Option::is_some);
        let found = made(devices);
        assert!(found.sent == expected.sent, "messages, devices {on:?}");
        assert!(found.q == expected.q, "the sender's OTs, devices {on:?}");
        assert!(found.t == expected.t, "the receiver's OTs, devices {on:?}");
        assert!(found.bits == expected.bits, "bits, devices {on:?}");
    }
}

#[test]
fn kernels_make_what_threads_make() {
    let expected = made([None, None]);
    let threads: Arc<dyn Device> = Arc::new(OnThreads);
    assert!(made([Some(threads.clone()), Some(threads)]) == expected);
    match Portable::build() {
        Some(portable) => {
            let portable: Arc<dyn Device> = Arc::new(portable);
            assert!(made([Some(portable.clone()), Some(portable)]) == expected);
        }
        None => println!("SKIPPED: there is no C++ compiler `c++` to build the kernels with"),
    }
}

#[test]
fn a_card_makes_what_threads_make() {
    match Card::open(0) {
        Ok(card) => {
            card.compile().expect("the kernels compile");
            let card: Arc<dyn Device> = Arc::new(card);
            assert_same(&card, &made([None, None]));
            println!("RAN on a GPU");
        }
        Err(error @ (Error::NoDriver | Error::NoCard { .. })) => println!("SKIPPED: {error}"),
        Err(error) => panic!("{error}"),
    }
}

/// Prints how many OTs a second a card makes and hashes to bits: both halves in one process, one
/// after the other. `scripts/gpu` runs it as a release build.
#[test]
#[ignore = "a measurement"]
fn rates() {
    match Card::open(0) {
        Ok(card) => {
            card.compile().expect("the kernels compile");
            sources::measure(Arc::new(card));
        }
        Err(error) => println!("SKIPPED: {error}"),
    }
}

/// A half for which there is too little memory stays on threads. Later it is too late: then it is
/// an error that says how much was needed.
#[test]
fn too_little_memory_is_told_and_never_a_wrong_result() {
    let with_memory = |bytes| {
        let portable = Portable::build()?.with_memory(bytes);
        let portable: Arc<dyn Device> = Arc::new(portable);
        Some([Some(portable.clone()), Some(portable)])
    };
    let (Some(little), Some(more)) = (with_memory(5 << 20), with_memory(60 << 20)) else {
        println!("SKIPPED: there is no C++ compiler `c++` to build the kernels with");
        return;
    };
    let (made, far) = sources::made_somewhere(little).unwrap();
    assert_eq!(far, [false; 2]);
    assert!(made == sources::made([None, None]));
    let error = sources::made_somewhere(more).map(drop).unwrap_err();
    assert_eq!(
        error.to_string(),
        "making oblivious transfers elsewhere than on this processor failed: 12451840 bytes of its \
         memory were needed and 5503440 are free"
    );
}
