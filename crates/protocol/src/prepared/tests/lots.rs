//! Lots, sent and received.

use std::borrow::Cow;

use super::*;
use crate::io::Message;
use crate::io::memory::run_both;

/// A lot does not depend on the number of threads, and each instance is what its seed garbles.
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
                    let keep = |bytes: Cow<'_, [u8]>, _: &mut Vec<u8>| {
                        kept.extend_from_slice(&bytes);
                        Ok(())
                    };
                    let what = (scheme, program);
                    let ended = run_both(
                        async |io| send_lot(io, what, &delta, &seeds, threads),
                        async |io| receive_lot(io, what, count, keep).await,
                    );
                    ended.expect("honest");
                    let mut expected = Vec::new();
                    for seed in &seeds {
                        seed.garble(scheme, program, delta, &mut expected);
                    }
                    assert_eq!(kept, expected);
                }
            }
        }
    }
    for id in SAMPLE {
        with_scheme(id, Check).expect("known");
    }
}

/// A sent frame leaves its memory, and nothing else, to later ones.
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
                let mut sent = Vec::new();
                let ended = run_two(
                    async |io| send_lot(io, (scheme, program), &delta, &seeds, threads),
                    async |_| Ok(()),
                    &mut |_, _, _, (_, frame)| {
                        sent.append(frame);
                        Ok(())
                    },
                );
                ended.results.0.expect("it waits for nothing");
                assert!(sent == expected, "{threads} threads");
            }
        }
    }
    for scheme in &SCHEMES {
        with_scheme(scheme.id, Check).expect("known");
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
            // A lot of two instances, of which only `bytes` bytes come.
            let lot = |bytes: usize| {
                let ended = run_two(
                    async |io| {
                        *io.message() = vec![0; bytes];
                        io.send(Message::exactly(Kind::LotTables, bytes))
                    },
                    async |io| receive_lot(io, (scheme, program), 2, |_, _| Ok(())).await,
                    &mut |_, _, _, _| Ok(()),
                );
                ended.results.1
            };
            for bad in [0, 1, size, 2 * size - 1, 2 * size + 1] {
                let taken = lot(bad);
                assert!(
                    matches!(taken, Err(Error::PeerMisbehaved(_))),
                    "{bad} bytes"
                );
            }
            lot(2 * size).expect("due");
        }
    }
    with_scheme(SchemeId::HALF_GATES_TWO_CALL, Check).expect("known");
}
