//! Both halves of a source over two rounds, with or without devices.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tacit_kernels::{Block, CrossHash, Prg};
use tacit_ot::silent::{Device, HashedBits};
use tacit_ot::source::{Extension, SourceReceiver, SourceSender, Turn};
use tacit_ot::{Delta, Error, Security, SessionTag, base};

const TAG: SessionTag = SessionTag::new([7; 32]);

/// The OTs that are made: the first round and two batches of the second.
const OTS: usize = 4_200_000;

/// What is done with the OTs, one after the other.
#[derive(Clone, Copy)]
enum Step {
    /// Take this many as blocks.
    Blocks(usize),
    /// Take this many as bits, after this many bits of zero.
    Bits(usize, usize),
    Skip(usize),
}

/// Batches end at 494,556, at each 778,240 after that, and so do their memories.
const STEPS: [Step; 9] = [
    Step::Bits(1, 0),
    Step::Blocks(1000),
    Step::Bits(63, 5),
    Step::Bits(500_000, 28),
    Step::Skip(100),
    Step::Blocks(777_777),
    Step::Bits(1_500_000, 0),
    Step::Skip(900_000),
    Step::Bits(1024, 63),
];

/// What two halves sent and made.
#[derive(PartialEq)]
pub(crate) struct Made {
    pub(crate) sent: Vec<Vec<u8>>,
    pub(crate) q: Vec<Block>,
    pub(crate) t: Vec<Block>,
    /// Rows of bits: of the sender and of the receiver, two each.
    pub(crate) bits: Vec<Vec<u64>>,
}

fn halves() -> (SourceSender, SourceReceiver) {
    let mut rng = Prg::new(Block::from_u128(1));
    let delta = Delta::random(&mut rng);
    let receiver = base::Receiver::start(&delta.choices(), &TAG, &mut rng).unwrap();
    let sender = base::Sender::start(Delta::BITS, &TAG, &mut rng).unwrap();
    let keys = receiver.0.finish(NonZeroUsize::MIN, &sender.1).unwrap();
    let pairs = sender.0.finish(&receiver.1).unwrap();
    let (extension, security) = (Extension::Silent, Security::SemiHonest);
    (
        SourceSender::new(delta, keys, &TAG, extension, security, 0).unwrap(),
        SourceReceiver::new(pairs, &TAG, extension, security, 0).unwrap(),
    )
}

/// Moves messages until `count` OTs are made. Returns the messages.
fn refill(
    sender: &mut SourceSender,
    receiver: &mut SourceReceiver,
    count: usize,
) -> Result<Vec<Vec<u8>>, Error> {
    let mut rng = Prg::new(Block::from_u128(2));
    sender.refill(count)?;
    receiver.refill(count)?;
    let (mut sent, mut message) = (Vec::new(), Vec::new());
    loop {
        if receiver.next(&mut rng, &mut message)? == Turn::Send {
            sender.receive(&message)?;
        } else if sender.next(&mut rng, &mut message)? == Turn::Send {
            receiver.receive(&message)?;
        } else {
            return Ok(sent);
        }
        sent.push(message.clone());
    }
}

/// Returns the bits of OTs that are here, by the definition.
fn bits_here(
    hash: &CrossHash,
    number: u64,
    blocks: &[Block],
    delta: Option<Block>,
) -> [Vec<bool>; 2] {
    let (mut first, mut second) = (blocks.to_vec(), blocks.to_vec());
    if let Some(delta) = delta {
        hash.hash_both(number, &delta, &mut first, &mut second);
        let pairs = second.iter_mut().zip(&first);
        pairs.for_each(|(second, first)| *second ^= *first);
    } else {
        hash.hash(number, &mut second);
    }
    [first, second].map(|row| row.iter().map(|block| block.lsb().into()).collect())
}

/// Returns packed bits after `lead` zeros.
fn packed(lead: usize, bits: &[bool]) -> Vec<u64> {
    let mut words = vec![0; (lead + bits.len()).div_ceil(64)];
    for (place, bit) in (lead..).zip(bits) {
        words[place / 64] |= u64::from(*bit) << (place % 64);
    }
    words
}

/// A half that gives OTs.
trait Half {
    fn on_device(&self) -> u64;
    fn next_number(&self) -> u64;
    fn blocks(&mut self, number: u64, count: usize) -> Vec<Block>;
    fn bits(&mut self, ots: HashedBits<'_>);
    fn delta(&self) -> Option<Block>;
}

impl Half for SourceSender {
    fn on_device(&self) -> u64 {
        self.on_device()
    }

    fn next_number(&self) -> u64 {
        self.available().start
    }

    fn blocks(&mut self, number: u64, count: usize) -> Vec<Block> {
        let taken = self.take(number, count).unwrap();
        taken.into_correlated().1.to_vec()
    }

    fn bits(&mut self, ots: HashedBits<'_>) {
        self.take_bits(ots).unwrap();
    }

    fn delta(&self) -> Option<Block> {
        Some(self.delta().to_block())
    }
}

impl Half for SourceReceiver {
    fn on_device(&self) -> u64 {
        self.on_device()
    }

    fn next_number(&self) -> u64 {
        self.available().start
    }

    fn blocks(&mut self, number: u64, count: usize) -> Vec<Block> {
        self.take(number, count).unwrap().into_blocks().to_vec()
    }

    fn bits(&mut self, ots: HashedBits<'_>) {
        self.take_bits(ots).unwrap();
    }

    fn delta(&self) -> Option<Block> {
        None
    }
}

/// Goes through the steps. Returns the blocks, and adds rows to `bits`.
fn take(half: &mut dyn Half, bits: &mut Vec<Vec<u64>>) -> Vec<Block> {
    let hash = CrossHash::new(Block::from_u128(0x1234_5678 << 70));
    let (mut number, mut all) = (0, Vec::new());
    for step in STEPS {
        match step {
            Step::Skip(count) => number += count as u64,
            Step::Blocks(count) => {
                all.extend(half.blocks(number, count));
                number += count as u64;
            }
            Step::Bits(count, lead) => {
                if half.on_device() == 0 {
                    let delta = half.delta();
                    let blocks = half.blocks(number, count);
                    let rows = bits_here(&hash, number, &blocks, delta);
                    bits.extend(rows.map(|row| packed(lead, &row)));
                } else {
                    // What was passed over is skipped by taking nothing after it.
                    half.blocks(number, 0);
                    let words = (lead + count).div_ceil(64);
                    let (mut first, mut second) = (vec![7; words], vec![7; words]);
                    half.bits(HashedBits {
                        hash: &hash,
                        number,
                        count,
                        lead,
                        first: &mut first,
                        second: &mut second,
                    });
                    bits.extend([first, second]);
                }
                number += count as u64;
            }
        }
    }
    all
}

/// Makes OTs with these devices of the sender and the receiver.
pub(crate) fn made(devices: [Option<Arc<dyn Device>>; 2]) -> Made {
    let on = devices.each_ref().map(Option::is_some);
    let (made, far) = made_somewhere(devices).unwrap();
    assert_eq!(far, on, "the OTs are where they were to be made");
    made
}

/// Makes OTs with these devices, and says which half's OTs are on a device.
pub(crate) fn made_somewhere(
    devices: [Option<Arc<dyn Device>>; 2],
) -> Result<(Made, [bool; 2]), Error> {
    let (mut sender, mut receiver) = halves();
    let [of_sender, of_receiver] = devices;
    of_sender
        .into_iter()
        .for_each(|device| sender.set_device(device));
    of_receiver
        .into_iter()
        .for_each(|device| receiver.set_device(device));
    let sent = refill(&mut sender, &mut receiver, OTS)?;
    let far = [sender.on_device(), receiver.on_device()].map(|count| count > 0);
    let mut bits = Vec::new();
    let q = take(&mut sender, &mut bits);
    let t = take(&mut receiver, &mut bits);
    Ok((Made { sent, q, t, bits }, far))
}

/// Prints the time that each half takes for a batch.
pub(crate) fn measure(device: Arc<dyn Device>) {
    let (mut sender, mut receiver) = halves();
    sender.set_device(device.clone());
    receiver.set_device(device);
    refill(&mut sender, &mut receiver, OTS).unwrap();
    let made = sender.on_device() as usize;
    let mut rows = [vec![0; made / 64 + 1], vec![0; made / 64 + 1]];
    bits_of(&mut sender, &mut rows, made);
    bits_of(&mut receiver, &mut rows, made);
    let mut rng = Prg::new(Block::from_u128(3));
    let (mut message, mut times, mut ots) = (Vec::new(), [Duration::ZERO; 2], 0);
    for _ in 0..200 {
        sender.refill(1).unwrap();
        receiver.refill(1).unwrap();
        let begun = Instant::now();
        assert_eq!(sender.next(&mut rng, &mut message).unwrap(), Turn::Send);
        let sent = message.clone();
        assert_eq!(sender.next(&mut rng, &mut message).unwrap(), Turn::Idle);
        let count = sender.on_device() as usize;
        bits_of(&mut sender, &mut rows, count);
        times[0] += begun.elapsed();
        let begun = Instant::now();
        receiver.next(&mut rng, &mut message).unwrap();
        receiver.receive(&sent).unwrap();
        assert_eq!(receiver.next(&mut rng, &mut message).unwrap(), Turn::Idle);
        bits_of(&mut receiver, &mut rows, count);
        times[1] += begun.elapsed();
        ots += count;
    }
    for (half, time) in ["sender", "receiver"].into_iter().zip(times) {
        let rate = ots as f64 / time.as_secs_f64();
        println!("{half}: {:.2} billion OTs a second", rate / 1e9);
    }
}

/// Takes the next OTs as bits, into rows with room for them.
fn bits_of(half: &mut dyn Half, rows: &mut [Vec<u64>; 2], count: usize) {
    let hash = CrossHash::new(Block::from_u128(0x1234_5678 << 70));
    let words = count.div_ceil(64);
    let [first, second] = rows;
    let number = half.next_number();
    half.bits(HashedBits {
        hash: &hash,
        number,
        count,
        lead: 0,
        first: &mut first[..words],
        second: &mut second[..words],
    });
}
