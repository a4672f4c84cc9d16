//! Silent OT over the whole way: base extension, bootstrap, and batches; the frozen transcript.

use crate::dealer::dealt;
use crate::seeded::Seeded;
use crate::vector::Vector;
use rand_core::Rng as _;
use sha2::{Digest, Sha256};
use tacit_kernels::{Block, Cpu, gf128_multiply};
use tacit_ot::correlated::{CotReceiver, CotSender};
use tacit_ot::silent::{SilentReceiver, SilentSender, VOLE_BASE_COUNT, VoleReceiver, VoleSender};
use tacit_ot::{Delta, FieldBits, Outputs, Security, SessionTag};

const TAG: SessionTag = SessionTag::new([0x77; 32]);

fn halves(security: Security, transcript: &mut Sha256) -> (SilentSender, SilentReceiver) {
    let delta = Delta::random(&mut Seeded::new("delta"));
    let (chosen, pairs) = dealt(&delta);
    let field = FieldBits::new(8).unwrap();
    let sender = CotSender::with_security(delta, chosen, &TAG, field, security).unwrap();
    let receiver = CotReceiver::with_security(pairs, &TAG, field, security).unwrap();
    let mut rng = Seeded::new("choices");
    let (receiver, message) = SilentReceiver::start(receiver, &TAG, &mut rng).unwrap();
    transcript.update(&message);
    let sender = SilentSender::start(sender, &TAG, &message).unwrap();
    (sender, receiver)
}

#[test]
fn the_transcript_is_the_frozen_one() {
    let vector = Vector::load("ot-silent.txt");
    for (security, name) in [
        (Security::SemiHonest, "semi-honest"),
        (Security::Malicious, "malicious"),
    ] {
        let (mut transcript, mut outputs) = (Sha256::new(), Sha256::new());
        let (mut sender, mut receiver) = halves(security, &mut transcript);
        let delta = sender.delta().clone();
        let mut rng = Seeded::new("roots");
        for count in [0, 494_556] {
            assert_eq!((sender.next_count(), receiver.next_count()), (count, count));
            let (sending, trees) = sender.begin(&mut rng).unwrap();
            let (receiving, reply) = receiver.take(&trees).unwrap();
            let (next_sender, q, answer) = sending.finish(&reply).unwrap();
            let (next_receiver, t) = receiving.finish(&answer).unwrap();
            (sender, receiver) = (next_sender, next_receiver);
            let sent = [&trees, &reply, &answer];
            sent.iter().for_each(|sent| transcript.update(sent));
            let offset = delta.to_block();
            assert!(
                q.iter()
                    .zip(t.iter())
                    .all(|(&q, &t)| t == q ^ offset.and_bit(t.lsb()))
            );
            let both = q.iter().chain(t.iter());
            both.for_each(|block| outputs.update(block.to_bytes()));
        }
        assert_eq!(sender.next_count(), 778_240);
        vector.check(&format!("{name}-transcript-sha256"), &transcript.finalize());
        vector.check(&format!("{name}-outputs-sha256"), &outputs.finalize());
    }
}

/// Returns this many blocks of a label.
fn drawn(label: &str, count: usize) -> Outputs {
    let mut rng = Seeded::new(label);
    let block = |_| {
        let [low, high] = [rng.next_u64(), rng.next_u64()].map(u128::from);
        Block::from_u128(high << 64 | low)
    };
    Outputs::new((0..count).map(block).collect())
}

/// The first round of a silent VOLE and the first batch after it, over dealt VOLEs and COTs.
#[test]
fn the_transcript_of_a_vole_is_the_frozen_one() {
    let vector = Vector::load("ot-silent-vole.txt");
    let delta = Delta::random(&mut Seeded::new("delta"));
    let times_delta = |u| gf128_multiply(Cpu::detect(), u, delta.to_block());
    let (u, v) = (drawn("u", VOLE_BASE_COUNT), drawn("v", VOLE_BASE_COUNT));
    let both = u.iter().zip(v.iter());
    let both = both.flat_map(|(u, v)| [*u, *v ^ times_delta(*u)]).collect();
    let mut receiver = VoleReceiver::start(&TAG, Outputs::new(both)).unwrap();
    let mut sender = VoleSender::start(delta.clone(), &TAG, v).unwrap();
    let (mut transcript, mut outputs) = (Sha256::new(), Sha256::new());
    let mut rng = Seeded::new("roots");
    for (count, label) in [(0, "first COTs"), (514_196, "COTs")] {
        assert_eq!(sender.next_count(), count);
        let mut q = drawn(label, sender.cot_count());
        let choices: Vec<_> = q.iter().map(|q| q.lsb()).collect();
        q.iter_mut().for_each(|q| *q = q.with_lsb(0.into()));
        let t = q.iter().zip(choices);
        let t: Vec<_> = t.map(|(q, b)| *q ^ delta.to_block().and_bit(b)).collect();
        let (batch, trees) = sender.begin(&q, &mut rng).unwrap();
        let (next_receiver, u_and_w) = receiver.take(&t, &trees).unwrap();
        let (next_sender, v) = batch.finish();
        (sender, receiver) = (next_sender, next_receiver);
        assert_eq!((v.len(), u_and_w.len()), (count, 2 * count));
        for (v, [u, w]) in v.iter().zip(u_and_w.as_chunks().0) {
            assert_eq!(*w, *v ^ times_delta(*u));
        }
        transcript.update(&trees);
        let both = v.iter().chain(u_and_w.iter());
        both.for_each(|block| outputs.update(block.to_bytes()));
    }
    vector.check("transcript-sha256", &transcript.finalize());
    vector.check("outputs-sha256", &outputs.finalize());
}
