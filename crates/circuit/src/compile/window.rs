//! The window that slides over a circuit's gates, and the gates in it that wait for others.

use super::place::OrderedGate;
use super::wires::GateLocation;
use crate::netlist::Literal;

/// The number of gates in the window.
pub(super) const WINDOW: u32 = 1 << 14;

const SIZE: usize = WINDOW as usize;

const _: () = assert!(WINDOW == GateLocation::MOST);

/// Returns a ring filled with `value`. The ring is never on the stack.
fn ring<T: Clone, const N: usize>(value: T) -> Box<[T; N]> {
    let ring = vec![value; N].into_boxed_slice().try_into();
    ring.unwrap_or_else(|_| unreachable!("as long as it was made"))
}

/// Returns the index of a place in a ring. Every place is in bounds, but the compiler cannot know
/// that.
#[inline(always)]
fn at(place: u32) -> usize {
    place as usize % SIZE
}

/// An AND gate, or a XOR gate that waits for its inputs.
#[derive(Clone, Copy)]
pub(super) struct WaitingGate {
    /// The gate's inputs. For a XOR gate, the negations of the inputs have no meaning.
    pub(super) inputs: [Literal; 2],
    pub(super) wire: u32,
    pub(super) readers: u32,
    pub(super) is_and: bool,
    /// The number of its inputs that are not in a batch yet.
    pending: u8,
    /// Whether the gate is in a batch.
    is_taken: bool,
}

impl WaitingGate {
    pub(super) fn new(inputs: [Literal; 2], wire: u32, readers: u32, is_and: bool) -> Self {
        Self {
            inputs,
            wire,
            readers,
            is_and,
            pending: 0,
            is_taken: false,
        }
    }

    /// Returns the gate in the form that the order holds.
    pub(super) fn ordered(&self) -> OrderedGate {
        OrderedGate {
            inputs: self.inputs,
            wire: self.wire,
            readers: self.readers,
        }
    }
}

/// The gates `low..high`, numbered in their order. The rings are indexed by the lower bits of these
/// numbers, which are the gates' places.
pub(super) struct Window {
    low: u32,
    high: u32,
    gates: Box<[WaitingGate; SIZE]>,
    /// The first input that waits for each gate: twice the place of the waiting gate, plus the
    /// index 0 or 1 of the input, plus 1. Zero means none.
    first_waiter: Box<[u32; SIZE + 1]>,
    /// For both inputs of each gate, the next input that waits for the same gate.
    next_waiter: Box<[[u32; 2]; SIZE]>,
    /// The AND gates that are in no batch, but whose inputs are.
    ready: Places,
    ready_count: usize,
}

impl Window {
    pub(super) fn new() -> Self {
        Self {
            low: 0,
            high: 0,
            gates: ring(WaitingGate::new([Literal::FALSE; 2], 0, 0, false)),
            first_waiter: ring(0),
            next_waiter: ring([0; 2]),
            ready: Places::new(),
            ready_count: 0,
        }
    }

    pub(super) fn gate(&self, place: u32) -> &WaitingGate {
        &self.gates[at(place)]
    }

    /// Whether the window has room for a gate. Moves the window past the oldest gates that are in a
    /// batch, if necessary.
    #[inline]
    pub(super) fn has_room(&mut self) -> bool {
        self.high - self.low < WINDOW || self.pass()
    }

    fn pass(&mut self) -> bool {
        while self.low < self.high && self.gate(self.low).is_taken {
            self.low += 1;
        }
        self.high - self.low < WINDOW
    }

    /// Moves the window past a gate that waits for nothing and is placed at once.
    #[inline]
    pub(super) fn skip(&mut self) {
        debug_assert!(self.high - self.low < WINDOW);
        self.gates[at(self.high)].is_taken = true;
        self.high += 1;
    }

    /// Puts the next gate, whose inputs are at `sources`, into the window and returns its place.
    // A gate passed in memory would be read in larger parts than it was written, and a processor
    // stalls on such reads.
    #[inline(always)]
    pub(super) fn enter(&mut self, gate: WaitingGate, sources: [GateLocation; 2]) -> u32 {
        debug_assert!(self.high - self.low < WINDOW);
        let place = self.high % WINDOW;
        self.high += 1;
        self.first_waiter[at(place)] = 0;
        let mut pending = 0;
        // No processor predicts which inputs wait.
        for (index, source) in (0..).zip(sources) {
            let first = &mut self.first_waiter[source.waiting_place_or(WINDOW) as usize];
            self.next_waiter[at(place)][index as usize] = *first;
            *first = 2 * place + index + 1;
            pending += u8::from(source.is_waiting());
        }
        self.gates[at(place)] = WaitingGate { pending, ..gate };
        place
    }

    /// Takes the gate at `place` into a batch.
    pub(super) fn take(&mut self, place: u32) -> &WaitingGate {
        let gate = &mut self.gates[at(place)];
        gate.is_taken = true;
        gate
    }

    /// Handles the taking of the gate at `place`: appends to `woken` the places of gates that
    /// waited for nothing else.
    #[inline]
    pub(super) fn wake(&mut self, place: u32, woken: &mut Stack) {
        let mut waiter = self.first_waiter[at(place)];
        while waiter != 0 {
            let (place, index) = ((waiter - 1) / 2, (waiter - 1) % 2);
            let pending = &mut self.gates[at(place)].pending;
            *pending -= 1;
            woken.push_if(*pending == 0, place);
            waiter = self.next_waiter[at(place)][index as usize];
        }
    }

    /// Marks the AND gate at `place` as ready, since its inputs are taken.
    pub(super) fn make_ready(&mut self, place: u32) {
        self.ready.insert(place);
        self.ready_count += 1;
    }

    /// Returns the number of ready AND gates.
    pub(super) fn ready_count(&self) -> usize {
        self.ready_count
    }

    /// Moves the places of the oldest `count` ready AND gates to `batch`. They are not ready any
    /// more.
    pub(super) fn take_ready(&mut self, count: usize, batch: &mut Vec<u32>) {
        let mut place = self.low % WINDOW;
        for _ in 0..count {
            place = self.ready.first_from(place).expect("they were counted");
            self.ready.remove(place);
            batch.push(place);
        }
        self.ready_count -= count;
    }
}

/// A stack of the window's places. Each place is on it at most once.
pub(super) struct Stack {
    places: Vec<u32>,
    count: usize,
}

impl Stack {
    pub(super) fn new() -> Self {
        Self {
            places: vec![0; WINDOW as usize + 1],
            count: 0,
        }
    }

    /// Pushes `place` if `condition` holds, which no processor predicts.
    #[inline]
    fn push_if(&mut self, condition: bool, place: u32) {
        self.places[self.count] = place;
        self.count += usize::from(condition);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<u32> {
        self.count = self.count.checked_sub(1)?;
        Some(self.places[self.count])
    }
}

/// A set of the window's places.
struct Places {
    words: [u64; Self::WORDS],
    /// For each word, whether it has a place.
    summary: [u64; Self::SUMMARIES],
}

impl Places {
    const WORDS: usize = WINDOW as usize / 64;
    const SUMMARIES: usize = Self::WORDS / 64;

    fn new() -> Self {
        Self {
            words: [0; Self::WORDS],
            summary: [0; Self::SUMMARIES],
        }
    }

    #[inline]
    fn insert(&mut self, place: u32) {
        let word = place as usize / 64;
        self.words[word] |= 1 << (place % 64);
        self.summary[word / 64] |= 1 << (word % 64);
    }

    #[inline]
    fn remove(&mut self, place: u32) {
        let word = place as usize / 64;
        self.words[word] &= !(1 << (place % 64));
        self.summary[word / 64] &= !(u64::from(self.words[word] == 0) << (word % 64));
    }

    /// Returns the first place of the set from `place` on, wrapping around at the ring's end.
    #[inline]
    fn first_from(&self, place: u32) -> Option<u32> {
        let word = place as usize / 64;
        let here = self.words[word] & (u64::MAX << (place % 64));
        let word = match here {
            0 => self.word_from((word + 1) % Self::WORDS)?,
            _ => word,
        };
        let bits = if here == 0 { self.words[word] } else { here };
        Some(word as u32 * 64 + bits.trailing_zeros())
    }

    /// Returns the first word from `word` on that has a place, wrapping around at the ring's end.
    fn word_from(&self, word: usize) -> Option<usize> {
        let mut mask = u64::MAX << (word % 64);
        // The first part is visited again at the end, in full.
        for part in (word / 64..).take(Self::SUMMARIES + 1) {
            let part = part % Self::SUMMARIES;
            let bits = self.summary[part] & mask;
            if bits != 0 {
                return Some(part * 64 + bits.trailing_zeros() as usize);
            }
            mask = u64::MAX;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_is_found_from_anywhere() {
        let mut places = Places::new();
        assert_eq!(places.first_from(5), None);
        let held = [0, 63, 64, 700, 4095, 4096, 9000, WINDOW - 1];
        held.iter().for_each(|&place| places.insert(place));
        for from in 0..WINDOW {
            let first = held.iter().copied().find(|&place| place >= from);
            assert_eq!(places.first_from(from), first.or(Some(0)));
        }
        for (left, &place) in (1..).zip(&held) {
            places.remove(place);
            assert_eq!(places.first_from(place), held.get(left).copied());
        }
        assert_eq!(places.summary, [0; Places::SUMMARIES]);
    }

    #[test]
    fn one_place_is_found_again_past_the_ring_s_end() {
        let mut places = Places::new();
        places.insert(70);
        for from in [0, 70, 71, 127, 128, WINDOW - 1] {
            assert_eq!(places.first_from(from), Some(70));
        }
    }
}
