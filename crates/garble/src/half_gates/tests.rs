use tacit_circuit::{AndGate, Batch, NEGATED, XorGate};
use tacit_kernels::{Backend, Prg, Tweak, TweakableHash, Use};

use super::*;
use crate::free_xor::evaluator::EvaluateSegment;
use crate::free_xor::garbler::GarbleSegment;
use crate::walk::{Gates, length_for};
use crate::{DecodeError, Evaluator, Garbler, Scheme};

const CONSTRUCTIONS: [Construction; 2] = [Construction::TwoCall, Construction::Rekeyed];
const INSTANCE: u32 = 0x0102_0304;
const SLOTS: u32 = 300;

/// The numbers of AND gates in the batches: one, and numbers on both sides of every vector's and
/// step's width.
const BATCHES: [u32; 20] = [
    1, 1, 0, 2, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 1, 31, 33, 64, 1, 100,
];

/// Gates with the invariants of a program: the gates of a batch read slots below 200, its AND gates
/// write those from 200 on, and XOR gates then move these down.
struct Sample {
    batches: Vec<Batch>,
    xors: Vec<XorGate>,
    ands: Vec<AndGate>,
    first_and: u64,
}

impl Sample {
    fn new(prg: &mut Prg, first_and: u64) -> Self {
        let mut below = |bound: u32| (prg.next_block().to_u128() % u128::from(bound)) as u32;
        let (mut batches, mut xors, mut ands) = (vec![], vec![], vec![]);
        for count in BATCHES {
            for _ in 0..20 {
                let (a, out) = (below(200), below(200));
                let b = 200 + below(100);
                xors.push(XorGate { a, b, out });
            }
            for i in 0..count {
                let (a, negations) = (below(200), below(4));
                let b = (a + 1 + below(199)) % 200;
                ands.push(AndGate {
                    a: a | (NEGATED * (negations & 1)),
                    b: b | (NEGATED * (negations >> 1)),
                    out: 200 + i,
                });
            }
            batches.push(Batch {
                xors: 20,
                ands: count,
            });
        }
        Self {
            batches,
            xors,
            ands,
            first_and,
        }
    }

    fn gates(&self) -> Gates<'_> {
        Gates {
            batches: &self.batches,
            xors: &self.xors,
            ands: &self.ands,
            first_and: self.first_and,
        }
    }

    /// Calls `xor` or `and` for each gate in turn; `and` also gets the gate's number.
    fn walk<T>(
        &self,
        state: &mut T,
        xor: impl Fn(&mut T, &XorGate),
        mut and: impl FnMut(&mut T, u64, &AndGate),
    ) {
        let (mut xors, mut ands) = (self.xors.iter(), (self.first_and..).zip(&self.ands));
        for batch in &self.batches {
            xors.by_ref()
                .take(batch.xors as usize)
                .for_each(|gate| xor(state, gate));
            ands.by_ref()
                .take(batch.ands as usize)
                .for_each(|(number, gate)| and(state, number, gate));
        }
    }
}

struct Keys {
    start: Block,
    delta: Block,
    zeros: Vec<Block>,
    values: Vec<bool>,
}

impl Keys {
    fn new(prg: &mut Prg) -> Self {
        let mut zeros = vec![Block::ZERO; length_for(SLOTS as usize)];
        prg.fill_blocks(&mut zeros[..SLOTS as usize]);
        let values = zeros.iter().map(|zero| zero.to_u128() >> 77 & 1 == 1);
        Self {
            start: prg.next_block(),
            delta: prg.next_block().with_lsb(1.into()),
            values: values.collect(),
            zeros,
        }
    }

    fn active(&self) -> Vec<Block> {
        let labels = self.zeros.iter().zip(&self.values);
        labels
            .map(|(zero, value)| *zero ^ self.delta.and_bit(u8::from(*value).into()))
            .collect()
    }
}

fn slot(pin: u32) -> (usize, bool) {
    ((pin & !NEGATED) as usize, pin & NEGATED != 0)
}

/// Computes half-gates as in the paper's figure: the slots' labels of zero, and the tables.
fn by_definition(
    construction: Construction,
    keys: &Keys,
    sample: &Sample,
) -> (Vec<Block>, Vec<u8>) {
    let hash = TweakableHash::on(Cpu::portable(), construction, keys.start);
    let at = |number, half| Tweak {
        usage: Use::And,
        instance: INSTANCE,
        number,
        a: half,
        b: 0,
    };
    let delta = keys.delta;
    let (mut slots, mut tables) = (keys.zeros.clone(), vec![]);
    sample.walk(
        &mut slots,
        |slots, gate| {
            slots[gate.out as usize] = slots[gate.a as usize] ^ slots[gate.b as usize];
        },
        |slots, number, gate| {
            let zero = |pin| {
                let (slot, negated) = slot(pin);
                slots[slot] ^ delta.and_bit(u8::from(negated).into())
            };
            let (a, b) = (zero(gate.a), zero(gate.b));
            let [h_a0, h_a1] = [a, a ^ delta].map(|x| hash.hash_one(at(number, 0), x));
            let [h_b0, h_b1] = [b, b ^ delta].map(|x| hash.hash_one(at(number, 1), x));
            let t_g = h_a0 ^ h_a1 ^ delta.and_bit(b.lsb());
            let t_e = h_b0 ^ h_b1 ^ a;
            let w_g = h_a0 ^ t_g.and_bit(a.lsb());
            let w_e = h_b0 ^ (t_e ^ a).and_bit(b.lsb());
            slots[gate.out as usize] = w_g ^ w_e;
            tables.extend(t_g.to_bytes());
            tables.extend(t_e.to_bytes());
        },
    );
    (slots, tables)
}

fn plain(values: &mut Vec<bool>, sample: &Sample) {
    sample.walk(
        values,
        |values, gate| {
            values[gate.out as usize] = values[gate.a as usize] ^ values[gate.b as usize];
        },
        |values, _, gate| {
            let ((a, na), (b, nb)) = (slot(gate.a), slot(gate.b));
            values[gate.out as usize] = (values[a] ^ na) & (values[b] ^ nb);
        },
    );
}

fn segment<'a>(keys: &Keys, sample: &'a Sample, slots: &'a mut [Block]) -> Segment<'a> {
    Segment {
        start: keys.start,
        instance: INSTANCE,
        gates: sample.gates(),
        slots: SlotView::new(slots),
    }
}

#[test]
fn every_backend_garbles_and_evaluates_as_the_paper_does() {
    let mut prg = Prg::new(Block::from_u128(1));
    for first_and in [0, 3, 1024 - 150, (1 << 40) + 1] {
        let (keys, sample) = (Keys::new(&mut prg), Sample::new(&mut prg, first_and));
        for construction in CONSTRUCTIONS {
            let (mut zeros, tables) = by_definition(construction, &keys, &sample);
            zeros.truncate(SLOTS as usize);
            for cpu in Cpu::available() {
                let (mut slots, mut found) = (keys.zeros.clone(), vec![0; tables.len()]);
                let ands = HalfGatesAnds { construction };
                cpu.dispatch(GarbleSegment {
                    ands,
                    of: segment(&keys, &sample, &mut slots),
                    with: Secrets {
                        delta: &keys.delta,
                        coins: &[],
                    },
                    tables: &mut found,
                });
                assert_eq!(
                    found, tables,
                    "{construction:?} on {cpu:?} from {first_and}"
                );
                assert_eq!(slots[..SLOTS as usize], zeros);

                let mut labels = keys.active();
                cpu.dispatch(EvaluateSegment {
                    ands,
                    of: segment(&keys, &sample, &mut labels),
                    tables: &tables,
                });
                let mut values = keys.values.clone();
                plain(&mut values, &sample);
                for (slot, zero) in zeros.iter().enumerate() {
                    let active = *zero ^ keys.delta.and_bit(u8::from(values[slot]).into());
                    assert_eq!(
                        labels[slot], active,
                        "slot {slot}, {construction:?}, {cpu:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn wires_have_the_labels_that_were_asked_for() {
    let delta = Block::from_u128(0xabc << 64 | 1);
    let mut garbler = HalfGates::new(Construction::TwoCall).garbler([1; 32], Block::ONES, delta);
    let active = Block::from_u128(0x1234_5678);
    for bit in [false, true] {
        let wire = garbler.wire_with_active(active, bit);
        assert_eq!(garbler.label_with_select(&wire, false), (active, bit));
        assert_eq!(
            garbler.label_with_select(&wire, true),
            (active ^ delta, !bit)
        );
    }
    let q = Block::from_u128(99);
    let evaluator = HalfGates::new(Construction::TwoCall).evaluator(Block::ONES);
    let wire = garbler.wire_from_cot(5, q);
    for (select, t) in [(true, q), (false, q ^ delta)] {
        let (label, bit) = garbler.label_with_select(&wire, select);
        assert_eq!(evaluator.label_from_cot(5, t, bit), label);
    }
}

#[test]
fn decoding_gives_the_values_and_refuses_what_does_not_fit() {
    let (mut prg, scheme) = (
        Prg::new(Block::from_u128(2)),
        HalfGates::new(Construction::Rekeyed),
    );
    let keys = Keys::new(&mut prg);
    let garbler = scheme.garbler([0; 32], keys.start, keys.delta);
    let evaluator = scheme.evaluator(keys.start);
    for count in [0, 1, 7, 8, 9, 16, 100] {
        let (wires, labels) = (&keys.zeros[..count], &keys.active()[..count]);
        let mut decoding = vec![];
        garbler.decoding(0, wires, &mut decoding);
        assert_eq!(decoding.len(), scheme.decoding_bytes(count));
        let values = evaluator.decode(0, labels, &decoding);
        assert_eq!(
            values.as_ref().map(|values| &values[..]),
            Ok(&keys.values[..count])
        );

        for output in 0..count {
            for at in [16 * output, 16 * output + 15] {
                let mut changed = decoding.clone();
                changed[at] ^= 1;
                // The tag of the other value is never compared.
                let mine = usize::from(keys.values[output]) == at % 16 / 8;
                let refused = evaluator.decode(0, labels, &changed);
                let neither = Err(DecodeError::NeitherValue(output as u64));
                assert!(if mine {
                    refused == neither
                } else {
                    refused == values
                });
            }
        }
        if count > 1 {
            let mut swapped = labels.to_vec();
            swapped.swap(0, 1);
            let refused = evaluator.decode(0, &swapped, &decoding);
            assert_eq!(refused, Err(DecodeError::NeitherValue(0)));
        }
        let expected = decoding.len();
        decoding.push(0);
        let refused = evaluator.decode(0, labels, &decoding);
        assert_eq!(
            refused,
            Err(DecodeError::WrongLength {
                expected,
                found: expected + 1
            })
        );
    }
}

#[test]
#[should_panic(expected = "bit 0 of Δ is set")]
fn an_even_offset_is_refused() {
    let _ = HalfGates::new(Construction::TwoCall).garbler([0; 32], Block::ZERO, Block::ZERO);
}

#[test]
fn debug_prints_no_secret() {
    let cpu = Cpu::new(Backend::Portable).expect("it is on every CPU");
    let scheme = HalfGates::on(cpu, Construction::TwoCall);
    let garbler = scheme.garbler([7; 32], Block::ZERO, Block::ONES);
    let scheme_only = format!("({scheme:?})");
    assert_eq!(
        format!("{garbler:?}"),
        format!("FreeXorGarbler{scheme_only}")
    );
    let evaluator = scheme.evaluator(Block::ZERO);
    assert_eq!(
        format!("{evaluator:?}"),
        format!("FreeXorEvaluator{scheme_only}")
    );
}
