//! Silent OT over the whole way: base extension, bootstrap, and batches; the frozen transcript.

use crate::dealer::dealt;
use crate::seeded::Seeded;
use crate::vector::Vector;
use sha2::{Digest, Sha256};
use tacit_ot::correlated::{CotReceiver, CotSender};
use tacit_ot::silent::{SilentReceiver, SilentSender};
use tacit_ot::{Delta, FieldBits, Security, SessionTag};

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
