//! Lots, sent and received.

use super::*;

/// A lot is the same on any number of threads, and each instance is what its seed garbles.
#[test]
fn a_lot_arrives_instance_by_instance() {
    struct Check;
    impl SchemeVisitor for Check {
        type Output = ();
        fn visit<S: Scheme>(self, scheme: S) {
            let function = shipped_function("levenshtein", &[("n", 1), ("m", 1)]);
            let program = function.components()[0].program();
            let mut prg = Prg::new(Block::from_u128(29));
            let delta = prg.next_block().with_lsb(1.into());
            for count in [0, 1, 2, 3, 700] {
                let seeds: Vec<_> = (0..count).map(|_| InstanceSeed::random(&mut prg)).collect();
                for threads in [1, 2, 3, 8] {
                    let mut kept = Vec::new();
                    let keep = |bytes: &[u8]| {
                        kept.push(bytes.to_vec());
                        Ok(())
                    };
                    let lot = GarblingLot::new(scheme, program, delta, &seeds, threads);
                    let mut garbler = lot.expect("threads");
                    let lot = ReceivingLot::new(scheme, program, count, keep);
                    let mut evaluator = lot.expect("small");
                    run_in_memory([&mut garbler, &mut evaluator]).expect("honest");
                    assert_eq!(kept.len(), seeds.len());
                    for (seed, kept) in seeds.iter().zip(&kept) {
                        let mut bytes = Vec::new();
                        seed.garble(scheme, program, delta, &mut bytes);
                        assert_eq!(bytes, *kept);
                    }
                }
            }
        }
    }
    for id in SAMPLE {
        with_scheme(id, Check).expect("known");
    }
}

/// What was sent leaves its memory to what comes later, and nothing else.
#[test]
fn a_lot_of_many_frames_is_what_its_seeds_garble() {
    struct Check;
    impl SchemeVisitor for Check {
        type Output = ();
        fn visit<S: Scheme>(self, scheme: S) {
            let circuit = library::find("aes-128", &BTreeMap::new()).expect("in the library");
            let program = &tacit_circuit::Program::compile(&circuit);
            let mut prg = Prg::new(Block::from_u128(30));
            let delta = prg.next_block().with_lsb(1.into());
            let seeds: Vec<_> = (0..90).map(|_| InstanceSeed::random(&mut prg)).collect();
            let mut expected = Vec::new();
            for seed in &seeds {
                seed.garble(scheme, program, delta, &mut expected);
            }
            for threads in [1, 3] {
                let lot = GarblingLot::new(scheme, program, delta, &seeds, threads);
                let mut lot = lot.expect("threads");
                let (mut frame, mut sent) = (Vec::new(), Vec::new());
                while lot.next(&mut frame).expect("it waits for nothing") != Action::Done {
                    sent.extend_from_slice(&frame);
                }
                assert!(sent == expected, "{threads} threads");
            }
        }
    }
    for rung in &LADDER {
        with_scheme(rung.id, Check).expect("known");
    }
}

#[test]
fn a_lot_takes_what_is_due_and_no_more() {
    struct Check;
    impl SchemeVisitor for Check {
        type Output = ();
        fn visit<S: Scheme>(self, scheme: S) {
            let function = comparison(Recipient::Both);
            let program = function.components()[0].program();
            let size = InstanceTables::size(scheme, program) as usize;
            let lot = || ReceivingLot::new(scheme, program, 2, |_: &[u8]| Ok(())).expect("small");
            for bad in [0, 1, size, 2 * size - 1, 2 * size + 1] {
                let mut lot = lot();
                let taken = lot.receive(&vec![0; bad]);
                assert!(
                    matches!(taken, Err(Error::PeerMisbehaved(_))),
                    "{bad} bytes"
                );
                let due = lot.receive(&vec![0; 2 * size]);
                assert!(due.is_err(), "the lot is spent");
                assert!(lot.next(&mut Vec::new()).is_err(), "the lot is spent");
            }
            let mut lot = lot();
            lot.receive(&vec![0; 2 * size]).expect("due");
            assert_eq!(lot.next(&mut Vec::new()), Ok(Action::Done));
        }
    }
    with_scheme(SchemeId::HALF_GATES_TWO_CALL, Check).expect("known");
}
