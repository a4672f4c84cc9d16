//! What hashing leaves on the stack of the thread that asks for it.

use std::num::NonZeroUsize;

use tacit_circuit::Role;
use tacit_kernels::leftovers::on_own_stack;
use tacit_kernels::{Block, CrossHash};
use tacit_ot::Delta;

use super::prg;
use crate::Error;
use crate::gmw::hashed::{HASHED_OTS, HashRoom, HashedOtSink, NextParts, OtHalf, OtHash};
use crate::gmw::packing::OtPart;

/// Takes OTs with this number of rows of each hash.
#[derive(Clone, Copy)]
struct Taker(usize);

impl HashedOtSink for Taker {
    fn wants(&self, _: Role) -> u64 {
        u64::MAX
    }

    fn next_parts(&mut self, _: Role, next: &mut NextParts) {
        next.add(OtPart {
            ots: usize::MAX,
            rows: [self.0; 2],
            is_of_single: self.0 == 128,
        });
    }

    fn next_bits(&mut self, _: Role) -> u64 {
        0
    }

    fn take_part(&mut self, _: Role, _: &OtPart, _: [&[u64]; 2]) -> Result<(), Error> {
        Ok(())
    }
}

/// An attacker that reads the stack of a session's thread later finds no OT, and no Δ, with which
/// the recorded corrections of the session would give every choice.
#[test]
fn hashing_leaves_no_delta_and_no_ot_on_the_stack() {
    let mut prg = prg(9);
    let delta = Delta::random(&mut prg);
    let hash = CrossHash::new(prg.next_block());
    for rows in [1, 8, 128] {
        for count in [1, 64, 100, HASHED_OTS + 100] {
            let q: Vec<Block> = (0..count).map(|_| prg.next_block()).collect();
            let (mut ots, mut room, mut sink) = (q.clone(), HashRoom::default(), Taker(rows));
            let stack = on_own_stack(|| {
                let hash = OtHash {
                    hash: &hash,
                    half: OtHalf::Sender(&delta),
                    threads: NonZeroUsize::MIN,
                    room: &mut room,
                };
                let passed = hash.pass_on(70, &mut ots, (Role::Garbler, &mut sink));
                passed.expect("a sink that takes all");
            });
            let Some(stack) = stack else { return };
            let delta = delta.to_block();
            let last = [q[0], q[count - 1]];
            let others = last.map(|q| q ^ delta);
            for secret in last.into_iter().chain(others).chain([delta]) {
                let found = stack.count(&secret.to_bytes());
                assert_eq!(found, 0, "{rows} rows, {count} OTs");
            }
        }
    }
}
