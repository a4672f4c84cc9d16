//! Honest parties get the results of the function in the clear, and send what its schedule says.

use std::collections::VecDeque;
use std::task::Poll;

use tacit_function::schedule::StepWork;
use tacit_function::{FunctionBuilder, Part};
use tacit_ot::base::BaseOt;

use super::functions::{Draw, random_case};
use super::lying::and_circuit;
use super::*;
use crate::gmw::crosses::MadeMasks;
use crate::gmw::hashed::{HASHED_OTS, HashedOtSink, NextParts, hash_of};
use crate::gmw::messages::{LAYER_FRAME_BYTES, LAYER_HEADER_BYTES};
use crate::gmw::packing::RowWriter;
use crate::gmw::rows::{BitWriter, CrossCursor, CrossMasks, LayerCrosses, OpenedBits, gates_of};
use crate::gmw::run::exchange;
use crate::gmw::{FRAMES_AHEAD, outline};
use crate::io::{Io, Wire, complete};
use crate::outline::message_bytes;
use crate::party::OnlyPeer;

/// Returns the bytes of messages of these kinds, headers included, by sender.
fn bytes_of(messages: &Messages, kinds: &[Kind]) -> [u64; 2] {
    let mut bytes = [0; 2];
    for (from, kind, payload) in messages {
        if kinds.contains(kind) {
            bytes[*from] += message_bytes(payload.len() as u64);
        }
    }
    bytes
}

const REFILLS: [Kind; 2] = [Kind::OtRefill, Kind::OtRefillBack];

#[test]
fn random_functions_are_those_in_the_clear() {
    let mut steps = 0;
    for number in 0..120 {
        let mut draw = Draw(prg(number));
        let case = random_case(&mut draw);
        let inputs = case.inputs(&mut draw.0);
        let messages = with_directions(|directions| run_honest(&case, &inputs, directions));
        let messages = messages.unwrap_or_else(|error| panic!("function {number}: {error}"));
        let schedule = case.schedule();
        let outline = outline(&case.function, &schedule, None).expect("nothing saved");
        assert_eq!(bytes_of(&messages, &[Kind::Layer]), outline.layer_bytes);
        assert_eq!(
            bytes_of(&messages, &[Kind::ResultShares]),
            outline.result_bytes
        );
        for step in schedule.steps() {
            let bytes = step
                .bits
                .map(|bits| bits.div_ceil(8) as usize + LAYER_HEADER_BYTES);
            let sent = messages.iter().filter(|(_, kind, payload)| {
                *kind == Kind::Layer && payload[..4] == step.number.to_le_bytes()
            });
            for (from, _, payload) in sent {
                assert_eq!(payload.len(), bytes[*from], "function {number}");
                steps += 1;
            }
        }
    }
    assert!(steps > 500, "{steps} messages of steps");
}

/// Returns a function with 150 calls that each AND 128 bits of both parties, followed by a chain of
/// additions.
fn table() -> Function {
    let mut builder = FunctionBuilder::new("table");
    builder
        .component("and", and_circuit(128))
        .library("add", "adder", &[("bits", 32)])
        .input("x", "bits[128][150]", Role::Garbler)
        .input("y", "bits[128]", Role::Evaluator)
        .input("z", "u32", Role::Evaluator)
        .value("a", "bits[128][150]")
        .value("s", "u32[9]")
        .assign(Part::of("s").at(0), "z")
        .repeat("i", 0, 150, |each, i| {
            let at = |name: &str| Part::of(name).at(i);
            each.call([at("a")], "and", [at("x"), Part::of("y")]);
        })
        .repeat("i", 0, 8, |each, i| {
            let at = |name: &str| Part::of(name).at(i);
            let next = Part::of("s").at(i.plus(1));
            each.call([next], "add", [at("s"), Part::of("s").at(0)]);
        })
        .output("a", "bits[128][150]", Recipient::Evaluator, "a")
        .output("s", "u32", Recipient::Both, Part::of("s").at(8));
    builder.finish().expect("a function")
}

#[test]
fn every_extension_sends_what_the_outline_says() {
    let case = Case::of(table());
    for (number, extension) in Extension::NAMED.into_iter().enumerate() {
        for refill_ots in [1 << 28, 3000] {
            let case = Case {
                function: case.function.clone(),
                owners: case.owners.clone(),
                limits: Limits {
                    refill_ots,
                    ..Limits::default()
                },
            };
            let base = BaseOt::ALL[number % 2];
            let mut directions = directions_of(extension, base, [number as u8, 9]);
            let inputs = case.inputs(&mut prg(number as u128));
            let messages = run_honest(&case, &inputs, &mut directions).expect("honest");
            let schedule = case.schedule();
            let outline =
                outline(&case.function, &schedule, Some(extension)).expect("nothing saved");
            assert_eq!(
                bytes_of(&messages, &REFILLS),
                outline.refill_bytes,
                "{extension}"
            );
            let all: Vec<Kind> = REFILLS
                .into_iter()
                .chain([Kind::Layer, Kind::ResultShares])
                .collect();
            assert_eq!(bytes_of(&messages, &all), outline.bytes(), "{extension}");
            // A second run continues with other OTs of the same directions.
            run_honest(&case, &inputs, &mut directions).expect("honest");
        }
    }
}

/// The OTs that padding loses count as used, or a session of many refills would end within a run.
#[test]
fn padding_counts_as_used() {
    let mut directions = directions_of(Extension::NAMED[0], BaseOt::ALL[0], [3, 4]);
    let mut ots = [0; 2];
    for number in 0..12 {
        let mut draw = Draw(prg(number));
        let case = random_case(&mut draw);
        let inputs = case.inputs(&mut draw.0);
        run_honest(&case, &inputs, &mut directions).expect("honest");
        let taken = case.schedule().total_ots();
        ots = [ots[0] + taken[0], ots[1] + taken[1]];
        let [garblers, evaluators] = directions.each_ref().map(Directions::used_ots);
        assert_eq!(garblers, evaluators);
        assert!(garblers.is_multiple_of(128), "{garblers}");
    }
    assert!(directions[0].used_ots() > ots[0].max(ots[1]), "{ots:?}");
}

/// All inputs are zero. A step without masks would open zeros: the results would be right, but the
/// peer would read the shares.
#[test]
fn every_step_opens_its_bits_under_masks() {
    let case = Case::of(table());
    for extension in Extension::NAMED {
        let mut directions = directions_of(extension, BaseOt::ALL[0], [1, 2]);
        let (mut clear, mut shares) = case.inputs(&mut prg(1));
        clear.fill(false);
        shares.iter_mut().for_each(|shares| shares.fill(false));
        for run in 0..2 {
            let messages = run_honest(&case, &(clear.clone(), shares.clone()), &mut directions);
            for (from, kind, payload) in messages.expect("honest") {
                let bits = &payload[LAYER_HEADER_BYTES.min(payload.len())..];
                if kind != Kind::Layer || bits.len() < 64 {
                    continue;
                }
                let ones: u32 = bits.iter().map(|byte| byte.count_ones()).sum();
                let all = 8 * bits.len() as u32;
                assert!(
                    (all / 3..2 * all / 3).contains(&ones),
                    "{extension}, run {run}: party {from} opens {ones} ones of {all}"
                );
            }
        }
    }
}

/// The masks of each cross are the hashes of its own OTs, in whatever parts the OTs arrive.
#[test]
fn crosses_have_the_masks_of_their_own_ots() {
    for number in 0..40 {
        let mut draw = Draw(prg(1000 + number));
        let case = random_case(&mut draw);
        let schedule = case.schedule();
        for (role, sender) in [(0, 0), (0, 1), (1, 0)].map(|(a, b)| (Role::BOTH[a], Role::BOTH[b]))
        {
            let mut masks = MadeMasks::new(&schedule, role);
            let count = schedule.total_ots()[sender as usize] as usize;
            let [first, second] = [(); 2].map(|()| {
                let mut blocks = vec![Block::ZERO; count];
                draw.0.fill_blocks(&mut blocks);
                blocks
            });
            let mut done = 0;
            while done < count {
                let most = count.min(done + 1 + draw.below(HASHED_OTS - 1)) - done;
                done += give(&mut masks, sender, [&first[done..], &second[done..]], most);
            }
            assert_eq!(masks.wants(sender), 0);
            let mut gates_before = 0;
            for step in schedule.steps() {
                let before = CrossCursor {
                    ots: step.ots_before[sender as usize],
                    narrow_ots: 0,
                    gates: gates_before,
                };
                let packed = packed_rows(&schedule, (&step, before), (role, sender), &masks);
                assert!(
                    packed == by_definition(&schedule, &step, (role, sender), [&first, &second])
                );
                // A run reads the rows twice, to open and to absorb.
                for _ in 0..2 {
                    let mut next = before;
                    for at_work in &step.at_work {
                        let group = schedule.group(at_work.group);
                        let instances = group.instances();
                        for piece in group.program().pieces(at_work.layer) {
                            let width = piece.widths[sender.other() as usize];
                            if width == 0 {
                                continue;
                            }
                            let cross = next.take(sender, instances, width);
                            let (number, words) = (cross.number, instances.div_ceil(64));
                            let rows = cross.rows(role == sender);
                            let mut rows = rows.map(|rows| vec![0; rows * words]);
                            let [one, two] = &mut rows;
                            masks.rows(&cross, 0..instances, &mut (), [one, two]);
                            for (rows, blocks) in rows.iter().zip([&first, &second]) {
                                for (row, bits) in rows.chunks(words).enumerate() {
                                    for i in 0..instances {
                                        let block = blocks[number as usize + i].to_u128();
                                        let bit = u128::from(bits[i / 64] >> (i % 64) & 1);
                                        assert_eq!(bit, block >> row & 1, "OT {number} + {i}");
                                    }
                                }
                            }
                        }
                    }
                }
                masks.end_step(&step);
                gates_before += gates_of(&step, sender);
            }
        }
    }
}

/// Gives the masks their next part of OTs, at most `most` of these blocks. Returns their number.
fn give(masks: &mut MadeMasks<'_>, sender: Role, blocks: [&[Block]; 2], most: usize) -> usize {
    let mut writer = RowWriter::default();
    let mut next = NextParts::new(most);
    masks.next_parts(sender, &mut next);
    let part = &next.parts()[0];
    let [first, second] = &[0, 1].map(|of| {
        let mut rows = vec![0; part.words(of)];
        writer.write_part(part, of, &blocks[of][..part.ots], &mut rows);
        rows
    });
    masks
        .take_part(sender, part, [first, second])
        .expect("room");
    part.ots
}

/// Returns the packed rows of a step's groups, first and second.
fn packed_rows(
    schedule: &Schedule,
    (step, mut before): (&StepWork, CrossCursor),
    (role, sender): (Role, Role),
    masks: &MadeMasks<'_>,
) -> Vec<[Vec<u64>; 2]> {
    let mut all = Vec::new();
    for at_work in &step.at_work {
        let group = schedule.group(at_work.group);
        let instances = group.instances();
        let (program, layer, sends) = (group.program(), at_work.layer, role == sender);
        let crosses = LayerCrosses::of(program, layer, sender, sends, instances, before);
        before.ots += crosses.crosses * instances as u64;
        before.gates += crosses.gates * instances as u64;
        if crosses.crosses == 0 {
            continue;
        }
        let mut writers = [BitWriter::default(), BitWriter::default()];
        masks.packed_rows(&crosses, &mut (), writers.each_mut());
        writers.iter_mut().for_each(BitWriter::fill_up);
        all.push(writers.map(|writer| writer.words().to_vec()));
    }
    all
}

/// Returns the same rows, computed bit by bit from the hashes.
fn by_definition(
    schedule: &Schedule,
    step: &StepWork,
    (role, sender): (Role, Role),
    blocks: [&[Block]; 2],
) -> Vec<[Vec<u64>; 2]> {
    let mut number = step.ots_before[sender as usize] as usize;
    let mut all = Vec::new();
    for at_work in &step.at_work {
        let group = schedule.group(at_work.group);
        let instances = group.instances();
        let pieces = group.program().pieces(at_work.layer);
        let widths = pieces.map(|piece| piece.widths[sender.other() as usize]);
        let mut bits = [Vec::new(), Vec::new()];
        for width in widths.filter(|width| *width > 0) {
            let rows = [if role == sender { width } else { 1 }, width];
            for ((bits, blocks), rows) in bits.iter_mut().zip(blocks).zip(rows) {
                for row in 0..rows {
                    let ots = &blocks[number..number + instances];
                    bits.extend(ots.iter().map(|ot| (ot.to_u128() >> row) as u64 & 1));
                }
            }
            number += instances;
        }
        let word = |bits: &[u64]| (0..).zip(bits).fold(0, |word, (i, bit)| word | bit << i);
        let words = bits.map(|bits| bits.chunks(64).map(word).collect::<Vec<u64>>());
        if !words[0].is_empty() {
            all.push(words);
        }
    }
    all
}

/// A wire to a peer that sends each message back once it has read all of it.
#[derive(Default)]
struct Echo {
    waiting: VecDeque<Vec<u8>>,
    received: Vec<u8>,
    most_bytes_ahead: usize,
}

impl Wire for Echo {
    fn send(&mut self, _: OnlyPeer, _: Kind, payload: &[u8]) -> Result<(), Error> {
        self.waiting.push_back(payload.to_vec());
        let ahead = self.waiting.iter().map(Vec::len).sum();
        self.most_bytes_ahead = self.most_bytes_ahead.max(ahead);
        Ok(())
    }

    fn poll_message(&mut self, _: OnlyPeer) -> Poll<()> {
        Poll::Ready(())
    }

    fn receive(&mut self, _: OnlyPeer, _: Kind, _: usize) -> Result<&[u8], Error> {
        self.received = self.waiting.pop_front().expect("a frame");
        Ok(&self.received)
    }

    fn poll_breathe(&mut self) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }
}

#[test]
fn no_party_sends_much_before_it_reads() {
    let bytes = vec![1; 20 * LAYER_FRAME_BYTES + 3];
    let mut wire = Echo::default();
    let (bits, mut echoed) = (8 * bytes.len() as u64, Vec::new());
    let ours = OpenedBits::of_bytes(&bytes);
    let io = &mut Io::new(&mut wire);
    complete(exchange(io, 3, &ours, (bits, &mut echoed))).expect("honest");
    assert!(echoed == ours.to_words() && wire.waiting.is_empty());
    let most = FRAMES_AHEAD * (LAYER_FRAME_BYTES + LAYER_HEADER_BYTES);
    assert_eq!(wire.most_bytes_ahead, most);
    assert!(most <= 8 << 20);
}

#[test]
fn messages_of_any_two_lengths_go_past_each_other() {
    let frame = LAYER_FRAME_BYTES;
    for [ours, theirs] in [
        [1, 1],
        [frame, frame + 1],
        [1, 9 * frame],
        [12 * frame + 5, 1],
        [7 * frame, 6 * frame],
    ] {
        let [ours, theirs] = [vec![1; ours], vec![2; theirs]].map(|b| OpenedBits::of_bytes(&b));
        let bits = |of: &OpenedBits| 8 * of.byte_count() as u64 - 6;
        let (mut at_us, mut at_them) = (Vec::new(), Vec::new());
        let swapped = run_both(
            async |io| exchange(io, 9, &ours, (bits(&theirs), &mut at_us)).await,
            async |io| exchange(io, 9, &theirs, (bits(&ours), &mut at_them)).await,
        );
        swapped.expect("honest");
        assert!(at_us == theirs.to_words() && at_them == ours.to_words());
    }
}

/// Otherwise the base OTs of two lots would have the same keys.
#[test]
fn each_lot_and_direction_of_an_order_has_a_tag_of_its_own() {
    let order = session().gmw_setup(true, BaseOt::Ristretto255, SOFT_SPOKEN);
    let of_lots = |sender| [0, 1, 2, 1 << 32].map(|lot| order.crosses_setup(sender, lot));
    let tags = Role::BOTH.map(of_lots);
    let tags = tags.as_flattened();
    for (number, tag) in tags.iter().enumerate() {
        let mut later = tags[number + 1..].iter();
        let is_alone = later.all(|other| other.as_bytes() != tag.as_bytes());
        assert!(is_alone, "two lots or directions have one tag");
    }
}

/// The values were computed by another implementation of SHA-256 and AES.
#[test]
fn tags_and_hashes_are_frozen() {
    let session = SessionTag::of_bytes([7; 32]);
    let tag = |connects, base, extension| {
        let tag = session.gmw_setup(connects, base, extension);
        u64::from_be_bytes(tag.as_bytes()[..8].try_into().expect("eight bytes"))
    };
    let (classic, silent) = (BaseOt::Ristretto255, Extension::Silent);
    assert_eq!(tag(true, classic, SOFT_SPOKEN), 0x58dd_6abd_662b_1ae9);
    assert_eq!(tag(true, BaseOt::MlKem768, silent), 0x98b6_6191_ad45_b84f);
    assert_eq!(tag(false, classic, SOFT_SPOKEN), 0x57cd_9116_1068_4bc4);
    assert_eq!(tag(false, BaseOt::MlKem768, silent), 0x1da7_dcd9_8afc_4815);
    let order = session.gmw_setup(true, classic, SOFT_SPOKEN);
    let tag = |sender, lot| {
        let tag = order.crosses_setup(sender, lot);
        u64::from_be_bytes(tag.as_bytes()[..8].try_into().expect("eight bytes"))
    };
    assert_eq!(tag(Role::Garbler, 0), 0x1f90_204c_2315_bd9f);
    assert_eq!(tag(Role::Garbler, 1), 0x86a5_d467_947d_acff);
    assert_eq!(tag(Role::Evaluator, 0), 0x2928_e1a4_81da_6646);
    assert_eq!(tag(Role::Evaluator, 1), 0xc8ce_4ae2_cf26_7fbc);
    let hash = hash_of(&order);
    let input = Block::from_bytes(std::array::from_fn(|i| i as u8));
    for (number, expected) in [
        (0, 0x1d82_a77d_7763_eb7f_bbc3_b674_52ea_0ba3),
        (1023, 0x1d82_a77d_7763_eb7f_bbc3_b674_52ea_0ba3),
        (1024, 0x7a99_0db3_2b6b_7060_fd2c_448e_a11e_9bad),
        (5 << 10, 0x2767_481d_583f_d6f1_1cfd_d6cd_7e34_d6d0_u128),
    ] {
        let mut blocks = [input];
        hash.hash(number, &mut blocks);
        assert_eq!(blocks[0].to_bytes(), expected.to_be_bytes(), "OT {number}");
    }
}
