//! A map of cells, each with the ID of its occupant: the friend finder of stateful computation on
//! garbled values (PartialGC, section 6.3).
//!
//! An ID of zero means an empty cell, and an index past the last cell means no place on the map. An
//! ID that enters a cell leaves its previous one, so it is in at most one cell. The paper asks for
//! occupancy, clears and sets in three runs. Here one run does all three, and nobody can take a
//! cell between the answer and the move.
//!
//! Cost for n cells with IDs of k bits, in AND gates: a query takes about 8n at k = 8. A move takes
//! n for the index as a unit vector, kn to find the occupant, (k − 1)n to find the previous cell of
//! the ID, and kn to change the cells, together 24n at k = 8.

use tacit_circuit::Type;
use tacit_circuit::builder::{Array, Bit, Builder, Bus, UInt};

/// Returns the ID in the cell `at`, or zero if the cell is empty or `at` is past the last cell.
fn cell_map_get<'b>(map: &Array<UInt<'b>>, at: &UInt<'b>) -> UInt<'b> {
    let nobody = UInt::constant(at.bus().builder(), map[0].width(), 0);
    // A lookup treats every index past the end as the last one.
    let extended = map.iter().cloned().chain([nobody]).collect();
    Array::new(extended).lookup(at)
}

/// Returns the map after `id` has moved to the cell `at`, and the cell's other occupant. If there
/// is one, the map is unchanged. If `at` is past the last cell, `id` leaves the map. The ID zero
/// changes nothing and learns the occupant.
fn cell_map_set<'b>(
    map: &Array<UInt<'b>>,
    id: &UInt<'b>,
    at: &UInt<'b>,
) -> (Array<UInt<'b>>, UInt<'b>) {
    let builder = at.bus().builder();
    let chosen = unit_vector(at, map.len());
    let nobody = Bus::constant(builder, vec![false; id.width()]);
    let found = map
        .iter()
        .zip(&chosen)
        .fold(nobody.clone(), |found, (cell, &here)| {
            found ^ here.select(cell.bus(), &nobody)
        });
    let is_own: Vec<Bit<'b>> = map.iter().map(|cell| cell.equals(id)).collect();
    // If the ID is zero or the caller's own, the cell is free for the caller.
    let free = !found.any() | found.equals(id.bus());
    let occupant = free.select(&nobody, &found);
    // The old and the new content of a free cell differ by the ID, and so do those of the cell to
    // clear.
    let moved = free.select(id.bus(), &nobody);
    let cells = map.iter().zip(is_own.iter().zip(&chosen));
    let cells = cells
        .map(|(cell, (&own, &here))| UInt::new(cell.bus() ^ (own ^ here).select(&moved, &nobody)));
    (Array::new(cells.collect()), UInt::new(occupant))
}

/// Returns, for each number below `len`, whether it is `index`. Costs less than two AND gates per
/// number.
fn unit_vector<'b>(index: &UInt<'b>, len: usize) -> Vec<Bit<'b>> {
    let builder = index.bus().builder();
    let mut level = vec![builder.constant(true)];
    for place in (0..index.width()).rev() {
        let bit = index.bus().bit(place);
        // The numbers with these upper bits start at multiples of 2^place.
        let reached = (len - 1).checked_shr(place as u32).unwrap_or(0) + 1;
        level = level
            .iter()
            .flat_map(|&prefix| {
                let one = prefix & bit;
                [prefix ^ one, one]
            })
            .take(reached)
            .collect();
    }
    level
}

/// Returns the bits of an index that reaches past the last of `cells`.
fn index_bits(cells: usize) -> usize {
    (usize::BITS - cells.leading_zeros()) as usize
}

fn ports(builder: &Builder, cells: usize, id_bits: usize) -> (Array<UInt<'_>>, UInt<'_>) {
    let map = builder.input("map", Type::unsigned(id_bits).array(cells));
    (map, builder.uint("cell", index_bits(cells)))
}

pub(super) fn circuit_of_get(builder: &Builder, cells: usize, id_bits: usize) {
    let (map, cell) = ports(builder, cells, id_bits);
    builder.output("occupant", &cell_map_get(&map, &cell));
}

pub(super) fn circuit_of_set(builder: &Builder, cells: usize, id_bits: usize) {
    let (map, cell) = ports(builder, cells, id_bits);
    let id = builder.uint("id", id_bits);
    let (map, occupant) = cell_map_set(&map, &id, &cell);
    builder.output("map", &map);
    builder.output("occupant", &occupant);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::build;
    use tacit_circuit::builder::CircuitForm;

    #[test]
    fn a_unit_vector_has_its_one_where_the_index_says() {
        for len in [1, 2, 3, 5, 8, 9] {
            let width = index_bits(len);
            let circuit = build(CircuitForm::Small, |builder| {
                let chosen = unit_vector(&builder.uint("index", width), len);
                assert_eq!(chosen.len(), len);
                builder.output("chosen", &Bus::from_bits(builder, chosen));
            });
            let circuit = circuit.unwrap();
            for index in 0..1_usize << width {
                let bits: Vec<bool> = (0..width).map(|bit| index >> bit & 1 == 1).collect();
                let expected: Vec<bool> = (0..len).map(|number| number == index).collect();
                assert_eq!(circuit.evaluate(&bits), expected, "{index} of {len}");
            }
        }
    }
}
