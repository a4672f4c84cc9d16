//! Components on numbers and tables: random inputs compared with plain functions.

use crate::by_name::{component, computes};
use crate::oracle::numbers;
use crate::oracle::{self, Bits, Random, agrees_on, outputs};

#[test]
fn arithmetic_on_random_inputs() {
    for bits in [1_u64, 8, 33, 64] {
        let width = bits as usize;
        let given = [("bits", bits)];
        computes("multiplier", &given, |ports| {
            vec![Bits::of(
                ports[0].uint().wrapping_mul(ports[1].uint()),
                width,
            )]
        });
        computes("multiplier-wide", &given, |ports| {
            vec![Bits::of(ports[0].uint() * ports[1].uint(), 2 * width)]
        });
        computes("multiplier-wide-signed", &given, |ports| {
            vec![Bits::of_int(ports[0].int() * ports[1].int(), 2 * width)]
        });
        computes("divider", &given, |ports| {
            let (a, b) = (ports[0].uint(), ports[1].uint());
            let (quotient, remainder) = numbers::unsigned_division(a, b);
            vec![Bits::of(quotient, width), Bits::of(remainder, width)]
        });
        computes("divider-signed", &given, |ports| {
            let (a, b) = (ports[0].int(), ports[1].int());
            let (quotient, remainder) = numbers::signed_division(a, b);
            vec![
                Bits::of_int(quotient, width),
                Bits::of_int(remainder, width),
            ]
        });
        computes("selector", &given, |ports| {
            vec![if ports[0].bit() {
                ports[1].clone()
            } else {
                ports[2].clone()
            }]
        });
    }
}

#[test]
fn wide_millionaires() {
    let circuit = component("millionaires", &[("bits", 8192)]);
    let draw = |random: &mut Random| {
        let a = random.bits(8192);
        let mut b = random.bits(8192);
        // Half of the time they differ only in the lowest bits.
        if random.below(2) == 0 {
            let low = random.below(8192) as usize;
            b.0[low..].copy_from_slice(&a.0[low..]);
        }
        vec![a, b]
    };
    agrees_on("millionaires of 8192 bits", &circuit, draw, |ports| {
        vec![Bits(vec![
            ports[0].0.iter().rev().gt(ports[1].0.iter().rev()),
        ])]
    });
}

#[test]
fn integers_on_random_inputs() {
    for bits in [1, 7, 32, 64] {
        let given = [("bits", bits)];
        computes("adder", &given, |ports| {
            let sum = ports[0].uint() + ports[1].uint();
            vec![Bits::of(sum, bits as usize)]
        });
        computes("comparator", &given, |ports| {
            let (a, b) = (ports[0].uint(), ports[1].uint());
            [a < b, a == b, a > b].map(|bit| Bits(vec![bit])).to_vec()
        });
        computes("millionaires", &given, |ports| {
            vec![Bits(vec![ports[0].uint() > ports[1].uint()])]
        });
    }
}

#[test]
fn keyed_databases() {
    for (entries, key_bits, value_bits) in [(1, 3, 5), (7, 2, 9), (64, 32, 64)] {
        let parameters = [
            ("entries", entries),
            ("key_bits", key_bits),
            ("value_bits", value_bits),
        ];
        let circuit = component("keyed-database", &parameters);
        let (key_bits, value_bits) = (key_bits as usize, value_bits as usize);
        let draw = |random: &mut Random| {
            let keys = random.bits(entries as usize * key_bits);
            let values = random.bits(entries as usize * value_bits);
            let index = random.below(entries + 1) as usize;
            let query = keys
                .0
                .get(index * key_bits..(index + 1) * key_bits)
                .map(<[bool]>::to_vec);
            let query = query.map_or_else(|| random.bits(key_bits), Bits);
            vec![keys, values, query]
        };
        agrees_on("keyed-database", &circuit, draw, |ports| {
            let (keys, values) = (ports[0].numbers(key_bits), ports[1].numbers(value_bits));
            let found = keys.iter().rposition(|&key| key == ports[2].uint());
            vec![Bits::of(found.map_or(0, |index| values[index]), value_bits)]
        });
    }
}

/// Draws a map in which every ID is in at most one cell, an ID, and a cell that may be past the
/// end.
fn draw_map(random: &mut Random, cells: usize, id_bits: usize) -> [Bits; 3] {
    let ids = 1_u64 << id_bits;
    let mut map = vec![0; cells];
    for id in 1..ids {
        if random.below(2) == 0 {
            // Two IDs may draw the same cell. The later one gets it.
            map[random.below(cells as u64) as usize] = id;
        }
    }
    let width = (cells + 1).next_power_of_two().ilog2() as usize;
    let cell = random.below(1 << width);
    let numbers = map.into_iter().map(u128::from);
    [
        Bits::of_numbers(numbers, id_bits),
        Bits::of(cell.into(), width),
        Bits::of(random.below(ids).into(), id_bits),
    ]
}

#[test]
fn maps_of_cells() {
    for (cells, id_bits) in [(1, 1), (2, 3), (7, 2), (8, 3), (20, 4)] {
        let parameters = [("cells", cells as u64), ("id_bits", id_bits as u64)];
        let get = component("cell-map-get", &parameters);
        let draw = |random: &mut Random| draw_map(random, cells, id_bits)[..2].to_vec();
        agrees_on("cell-map-get", &get, draw, |ports| {
            let map = ports[0].numbers(id_bits);
            let occupant = map.get(ports[1].uint() as usize).copied().unwrap_or(0);
            vec![Bits::of(occupant, id_bits)]
        });
        let set = component("cell-map-set", &parameters);
        let draw = |random: &mut Random| draw_map(random, cells, id_bits).to_vec();
        agrees_on("cell-map-set", &set, draw, |ports| {
            let (mut map, id) = (ports[0].numbers(id_bits), ports[2].uint());
            let at = ports[1].uint() as usize;
            let found = map.get(at).copied().unwrap_or(0);
            let occupant = if found == id { 0 } else { found };
            if occupant == 0 && id != 0 {
                map.iter_mut()
                    .filter(|cell| **cell == id)
                    .for_each(|cell| *cell = 0);
                if let Some(cell) = map.get_mut(at) {
                    *cell = id;
                }
            }
            vec![Bits::of_numbers(map, id_bits), Bits::of(occupant, id_bits)]
        });
    }
}

#[test]
fn dot_products() {
    for (count, bits) in [(1, 8), (2, 32), (3, 5), (7, 1), (8, 64)] {
        let circuit = component("dot-product", &[("count", count), ("bits", bits)]);
        let width = bits as usize;
        let draw = |random: &mut Random| {
            let [a, b] = [(); 2].map(|()| random.bits(count as usize * width));
            let [a_sum, b_sum] = [&a, &b].map(|numbers| {
                let sum = numbers.numbers(width).into_iter().sum();
                Bits::of(sum, width + 1)
            });
            vec![a, b, a_sum, b_sum]
        };
        agrees_on("dot-product", &circuit, draw, |ports| {
            let pairs = ports[0]
                .numbers(width)
                .into_iter()
                .zip(ports[1].numbers(width));
            let sum = pairs.fold(0_u128, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(b)));
            vec![Bits::of(sum, width)]
        });
    }
}

/// Computes the steps of the synthetic circuit as arithmetic on numbers of 30 bits.
fn plain_min_cut(weights: &[u64]) -> Vec<u64> {
    const MASK: u64 = (1 << 30) - 1;
    let mut nodes: Vec<u64> = weights[..64].to_vec();
    let mut edges = 1_u64;
    for &weight in &weights[..8333] {
        edges = edges
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let from = (edges >> 58) as usize;
        let mask = (from + 1 + (edges >> 40) as usize % 62) % 64;
        let mut to = (edges >> 52) as usize % 64;
        while to == from || to == mask {
            to = (to + 1) % 64;
        }
        let masked = (weight ^ nodes[from]) & nodes[mask];
        let sum = masked + nodes[from] + (nodes[mask] & 1);
        let (sum, carry) = (sum & MASK, sum >> 30);
        let shown = nodes[mask] >> 1 ^ nodes[mask] >> 2 ^ nodes[mask] >> 3;
        let control = (sum + nodes[to] + carry) >> 30 ^ shown;
        if control & 1 == 1 {
            nodes[to] = sum;
        }
    }
    nodes[0] ^= weights[8333] & 0x3ff;
    nodes[1] ^= nodes[0] & 0x7ff;
    nodes
}

/// Returns the numbers of 30 bits of one of 64 instances.
fn numbers_of_instance(lanes: &[u64], instance: usize) -> Vec<u64> {
    let number = |bits: &[u64]| {
        bits.iter()
            .rev()
            .fold(0, |n, lane| n << 1 | lane >> instance & 1)
    };
    lanes.chunks(30).map(number).collect()
}

/// The inputs are bit-sliced throughout: single bits would take too long.
#[test]
fn the_synthetic_min_cut_computes_what_it_says() {
    let circuit = component("min-cut-250k-synthetic", &[]);
    let mut random = Random(1);
    for _ in 0..oracle::random_inputs().div_ceil(64) {
        let inputs: Vec<u64> = (0..250_000).map(|_| random.next()).collect();
        let outputs = circuit.evaluate_lanes(&inputs);
        for instance in 0..64 {
            let expected = plain_min_cut(&numbers_of_instance(&inputs, instance));
            assert_eq!(numbers_of_instance(&outputs, instance), expected);
        }
    }
}

/// Cases that random inputs seldom reach: one match, several matches, and no match.
#[test]
fn a_database_without_the_key_gives_zero() {
    let circuit = component("keyed-database", &[("entries", 3), ("key_bits", 4)]);
    let keys = Bits::of_numbers([1, 2, 2], 4);
    let values = Bits::of_numbers([10, 20, 30], 64);
    for (query, value) in [(1, 10), (2, 30), (3, 0)] {
        let inputs = [keys.clone(), values.clone(), Bits::of(query, 4)];
        assert_eq!(outputs(&circuit, &inputs)[0].uint(), value);
    }
}
