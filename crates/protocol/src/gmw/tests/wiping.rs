//! What hashing leaves on the stack of the thread that asks for it.

use std::num::NonZeroUsize;

use tacit_circuit::Role;
use tacit_kernels::leftovers::on_own_stack;
use tacit_kernels::{Block, CrossHash};
use tacit_ot::Delta;

use super::prg;
use crate::Error;
use crate::gmw::hashed::{
    HASHED_OTS, HashRoom, HashedOtSink, HashedOts, NextOts, OtBits, OtHalf, OtHash,
};
use crate::gmw::packing::OtPart;

/// The forms in which OTs are taken. In parts, with the number of rows of each hash.
#[derive(Clone, Copy, Debug)]
enum Form {
    Blocks,
    Bits,
    Parts(usize),
}

impl HashedOtSink for Form {
    fn wants(&self, _: Role) -> u64 {
        u64::MAX
    }

    fn next(&mut self, _: Role, most: usize) -> NextOts {
        match *self {
            Self::Blocks => NextOts::Blocks,
            Self::Bits => NextOts::Bits {
                count: most as u64,
                lead: 3,
            },
            Self::Parts(rows) => NextOts::Parts(vec![OtPart {
                ots: most.min(HASHED_OTS),
                rows: [rows; 2],
                is_of_single: false,
            }]),
        }
    }

    fn take(&mut self, _: Role, _: HashedOts<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn take_bits(&mut self, _: Role, _: OtBits<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn take_part(&mut self, _: Role, _: &OtPart, _: [&[u64]; 2]) -> Result<(), Error> {
        Ok(())
    }
}

/// Who reads the stack of a session's thread later finds no Δ, with which the recorded corrections
/// of the session would give every choice, and no OT.
#[test]
fn hashing_leaves_no_delta_and_no_ot_on_the_stack() {
    let mut prg = prg(9);
    let delta = Delta::random(&mut prg);
    let hash = CrossHash::new(prg.next_block());
    for form in [Form::Blocks, Form::Bits, Form::Parts(1), Form::Parts(8)] {
        for count in [1, 64, 100, HASHED_OTS + 100] {
            let q: Vec<Block> = (0..count).map(|_| prg.next_block()).collect();
            let (mut ots, mut room, mut sink) = (q.clone(), HashRoom::default(), form);
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
                assert_eq!(found, 0, "{form:?}, {count} OTs");
            }
        }
    }
}
