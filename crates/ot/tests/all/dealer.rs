//! Base OTs of a trusted dealer, and sources over them.

use rand_core::Rng;
use tacit_ot::base::Key;
use tacit_ot::source::{Extension, SourceReceiver, SourceSender, Turn};
use tacit_ot::{Delta, Error, FieldBits, Security, SessionTag};

use crate::seeded::Seeded;

pub(crate) const TAG: SessionTag = SessionTag::new([0x3d; 32]);

/// Returns random bits.
pub(crate) fn choices(count: usize, label: &str) -> Vec<bool> {
    let mut rng = Seeded::new(label);
    (0..count).map(|_| rng.next_u32() & 1 == 1).collect()
}

pub(crate) fn random_key(rng: &mut Seeded) -> Key {
    let mut bytes = [0; 32];
    rng.fill_bytes(&mut bytes);
    Key::from_bytes(bytes)
}

/// Returns chosen keys and both keys of 128 base OTs.
pub(crate) fn dealt(delta: &Delta) -> (Vec<Key>, Vec<[Key; 2]>) {
    dealt_from(delta, &mut Seeded::new("dealer"))
}

/// Does the same with other randomness.
pub(crate) fn dealt_from(delta: &Delta, rng: &mut Seeded) -> (Vec<Key>, Vec<[Key; 2]>) {
    let mut pair = || [random_key(rng), random_key(rng)];
    let pairs: Vec<_> = (0..Delta::BITS).map(|_| pair()).collect();
    let choices = delta.choices();
    let chosen = pairs.iter().zip(choices.iter());
    let chosen = chosen.map(|(pair, &c)| pair[usize::from(c)].clone());
    (chosen.collect(), pairs)
}

/// Returns both halves of a source whose first OT has the number `first`.
pub(crate) fn halves(
    extension: Extension,
    security: Security,
    first: u64,
) -> (SourceSender, SourceReceiver) {
    let delta = Delta::random(&mut Seeded::new("delta"));
    let (chosen, pairs) = dealt(&delta);
    let sender = SourceSender::new(delta, chosen, &TAG, extension, security, first).unwrap();
    let receiver = SourceReceiver::new(pairs, &TAG, extension, security, first).unwrap();
    (sender, receiver)
}

pub(crate) fn soft_spoken(k: usize) -> Extension {
    Extension::SoftSpoken(FieldBits::new(k).unwrap())
}

/// Refills both halves. `tamper` gets each message, and whether it is the sender's.
pub(crate) fn refill(
    sender: &mut SourceSender,
    receiver: &mut SourceReceiver,
    count: usize,
    mut tamper: impl FnMut(bool, &mut Vec<u8>),
) -> Result<(), Error> {
    let (mut rng_s, mut rng_r) = (Seeded::new("sender"), Seeded::new("receiver"));
    sender.refill(count)?;
    receiver.refill(count)?;
    let mut message = Vec::new();
    for _ in 0..10_000 {
        if receiver.next(&mut rng_r, &mut message)? == Turn::Send {
            tamper(false, &mut message);
            sender.receive(&message)?;
        } else if sender.next(&mut rng_s, &mut message)? == Turn::Send {
            tamper(true, &mut message);
            receiver.receive(&message)?;
        } else {
            return Ok(());
        }
    }
    panic!("the refill does not end");
}
