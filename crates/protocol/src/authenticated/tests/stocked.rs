//! Runs whose triples were made ahead, and parties that lie with them.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Mutex;

use super::stocked::{BLOCK_BYTES, BLOCK_TRIPLES};
use super::*;

/// A party's blocks of a lot, by number.
type Lot = Vec<Vec<u8>>;

/// Makes a lot of `blocks` blocks. Returns both parties' halves, and the id of its epoch.
fn make([a, b]: [Epoch; 2], blocks: u64, bits: u8) -> ([Lot; 2], [u8; 32]) {
    let id = *a.id();
    assert_eq!(id, *b.id());
    let security = SecurityBits::insecure_for_measurements(bits).unwrap();
    let mut lots = [Lot::new(), Lot::new()];
    let [ours, theirs] = &mut lots;
    let [ours, theirs] = [ours, theirs].map(|lot| {
        lot.resize(blocks as usize, Vec::new());
        Mutex::new(lot)
    });
    let keep = |lot: &Mutex<&mut Lot>, first: u64, bytes: &[u8]| {
        let (blocks, rest) = bytes.as_chunks::<BLOCK_BYTES>();
        assert!(rest.is_empty());
        let mut lot = lot.lock().expect("no thread has failed");
        let places = lot[first as usize..].iter_mut();
        for (place, block) in places.zip(blocks) {
            assert!(place.is_empty(), "each block comes once");
            *place = block.to_vec();
        }
        Ok(())
    };
    let keep_ours = |first, bytes: &[u8]| keep(&ours, first, bytes);
    let keep_theirs = |first, bytes: &[u8]| keep(&theirs, first, bytes);
    let (order, [mine, yours]) = (TripleOrder { blocks, security }, [seed(), seed()]);
    let (made, _, progress) = run_watched(
        async |io| order.make(io, a, keep_ours, &mine).await,
        async |io| order.make(io, b, keep_theirs, &yours).await,
        &mut unchanged,
    );
    made.unwrap();
    assert_eq!(progress[0].total_ands, blocks * BLOCK_TRIPLES as u64);
    assert!(lots.iter().flatten().all(|block| !block.is_empty()));
    (lots, id)
}

/// Leased blocks, in order, and the number of blocks that were read.
struct Leased(VecDeque<(u64, Vec<u8>)>, Rc<Cell<usize>>);

impl TripleBlocks for Leased {
    fn next(&mut self, block: &mut [u8; BLOCK_BYTES]) -> Result<u64, Error> {
        let none = || Error::Material("no block is left".to_owned());
        let (number, bytes) = self.0.pop_front().ok_or_else(none)?;
        block.copy_from_slice(&bytes);
        self.1.set(self.1.get() + 1);
        Ok(number)
    }
}

/// Leases the blocks with these numbers from a lot.
fn leased(
    lot: &Lot,
    id: [u8; 32],
    numbers: &[u64],
    read: &Rc<Cell<usize>>,
) -> Result<StockedTriples<'static>, Error> {
    let blocks = numbers.iter();
    let blocks = blocks.map(|number| (*number, lot[*number as usize].clone()));
    StockedTriples::new(id, Box::new(Leased(blocks.collect(), Rc::clone(read))))
}

/// Runs both parties with the blocks of these numbers from their lots.
fn run(
    terms: Terms<'_>,
    inputs: [&[bool]; 2],
    (lots, id): (&[Lot; 2], [u8; 32]),
    numbers: &[u64],
) -> (Result<[Vec<bool>; 2], Failure>, Sent) {
    let read = Rc::new(Cell::new(0));
    let triples = lots
        .each_ref()
        .map(|lot| leased(lot, id, numbers, &read).unwrap());
    let [ours, theirs] = triples;
    let [mine, yours] = [seed(), seed()];
    let (ended, sent) = run_changed(
        async |io| {
            let role = Role::Garbler;
            terms.run_from_stock(io, role, inputs[0], ours, &mine).await
        },
        async |io| {
            let role = Role::Evaluator;
            terms
                .run_from_stock(io, role, inputs[1], theirs, &yours)
                .await
        },
        &mut unchanged,
    );
    assert!(ended.is_err() || read.get() == 2 * numbers.len());
    let results = ended.map(|(mine, yours)| [mine.to_vec(), yours.to_vec()]);
    (results, sent)
}

/// Several runs take triples of one lot, for functions that were unknown when it was made. Each
/// takes the next blocks, also with a gap, and sends nothing but its own messages.
#[test]
fn any_function_runs_from_triples_that_were_there() {
    let aes = component("aes-128", Recipient::Both);
    let adder = component("adder", Recipient::Evaluator);
    assert_eq!(blocks_for(&aes), 2 + 100);
    let blocks = blocks_for(&aes) + 2 * blocks_for(&adder) + 1;
    let (lots, id) = make(epochs(), blocks, 40);
    let mut next = 0;
    for (function, most) in [(&adder, None), (&aes, Some(1300)), (&adder, Some(7))] {
        // The block with number 3 is leased for something else.
        let numbers = (next..blocks).filter(|number| *number != 3);
        let numbers: Vec<_> = numbers.take(blocks_for(function) as usize).collect();
        next = numbers.last().unwrap() + 1;
        let inputs = inputs_of(function);
        let inputs = [&inputs[0][..], &inputs[1][..]];
        terms::MOST_TRIPLES.set(most);
        let (found, sent) = run(terms(function, 40), inputs, (&lots, id), &numbers);
        terms::MOST_TRIPLES.set(None);
        assert_eq!(found.unwrap(), plain(function, inputs));
        assert!(sent.iter().all(|(_, kind, _)| kind.byte() > 100));
    }
}

/// A lot of the stock consists of several lots of the protocol, of any sizes.
#[test]
fn a_lot_of_the_stock_is_of_several_of_the_protocol() {
    terms::MOST_TRIPLES.set(None);
    let (lots, id) = make(epochs(), 3, 1);
    let adder = component("adder", Recipient::Both);
    let inputs = inputs_of(&adder);
    let inputs = [&inputs[0][..], &inputs[1][..]];
    let count = blocks_for(&adder);
    assert!(count <= 3, "{count}");
    let numbers: Vec<_> = (0..count).collect();
    let (found, _) = run(terms(&adder, 1), inputs, (&lots, id), &numbers);
    assert_eq!(found.unwrap(), plain(&adder, inputs));
}

/// Blocks of two lots or of the other party, and too few blocks, are refused.
#[test]
fn blocks_that_do_not_belong_together_are_refused() {
    let adder = component("adder", Recipient::Both);
    let (terms, count) = (terms(&adder, 40), blocks_for(&adder));
    let inputs = vec![false; adder.input_bits(Role::Garbler)];
    let (lots, id) = make(epochs(), count, 7);
    let (others, _) = make(epochs(), count, 7);
    let read = Rc::default();
    let of = |lot: &Lot, count: u64| leased(lot, id, &(0..count).collect::<Vec<_>>(), &read);
    let garbler = |triples| {
        run_alone(async |io| {
            let role = Role::Garbler;
            terms
                .run_from_stock(io, role, &inputs, triples, &seed())
                .await
        })
    };
    let mut mixed = lots[0].clone();
    let last = mixed.len() - 1;
    mixed[last] = others[0][last].clone();
    for wrong in [of(&mixed, count), of(&lots[1], count)] {
        let (error, sent) = garbler(wrong.unwrap());
        assert!(matches!(error, Error::DamagedMaterial(_)), "{error}");
        assert_eq!(sent, 0);
    }
    let (error, sent) = garbler(of(&lots[0], count - 1).unwrap());
    assert!(error.to_string().contains("no block is left"), "{error}");
    assert_eq!(sent, 0);
    assert!(of(&lots[0], 0).is_err());
    // The garbler waits for the evaluator.
    let (error, _) = garbler(of(&lots[0], count).unwrap());
    assert_eq!(error, Error::ApiMisuse(STUCK));
}

/// A party that changes its own bits of stocked triples is caught like one that lies about triples
/// that were just made.
#[test]
fn a_lie_with_a_stocked_triple_is_caught() {
    let adder = component("adder", Recipient::Both);
    let count = blocks_for(&adder);
    let numbers: Vec<_> = (0..count).collect();
    let inputs = Role::BOTH.map(|role| vec![true; adder.input_bits(role)]);
    let inputs = [&inputs[0][..], &inputs[1][..]];
    // Changes bit 0 of each MAC of x, of y and of z, in the block for the gates.
    for (liar, column, caught) in [
        (0, 0, Caught::Gates),
        (0, 2, Caught::Gates),
        (0, 4, Caught::GateProof),
        (1, 0, Caught::Gates),
        (1, 2, Caught::Gates),
        (1, 4, Caught::MaskedValues),
    ] {
        let (mut lots, id) = make(epochs(), count, 7);
        let block = lots[liar].last_mut().unwrap();
        for triple in 0..BLOCK_TRIPLES {
            block[16 + 16 * (column * BLOCK_TRIPLES + triple)] ^= 1;
        }
        let (ended, _) = run(terms(&adder, 40), inputs, (&lots, id), &numbers);
        let (by, error) = ended.expect_err("a lie");
        let others = [Role::Evaluator, Role::Garbler];
        assert_eq!((by, error), (others[liar], cheated(caught)), "{column}");
    }
}
