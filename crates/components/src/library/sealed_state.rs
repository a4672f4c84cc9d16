//! State that leaves a computation encrypted and comes back with a check: what keeping a value
//! takes where garbled values cannot be kept (CMTB-Inc of PartialGC, section 6.1).
//!
//! The state is added to a one-time pad, AES-128 in counter mode under a key that neither party
//! has alone, and an AES-CBC-MAC of what came of it goes along. The number of the run is part of
//! both, so that no pad comes twice and an older state is not taken for the last. It is for
//! comparison: the keys' parties must not repeat a number, and both lengths are fixed by the
//! circuit, without which CBC-MAC is no MAC.
//!
//! Assumption: AES-128 is a pseudorandom permutation. Cost for n bits, in b = ⌈n / 128⌉ blocks:
//! less than 5120(2b + 1) AND gates besides the 1280 of each key's expansion, and n + 128 more to
//! seal, n + 127 to open.

use tacit_circuit::builder::{Array, Bit, Builder, Bus, Bytes, UInt};
use tacit_circuit::{Circuit, CircuitError, Type};

use super::aes_rounds::aes_with_round_keys;
use super::build;

const BLOCK_BITS: usize = 128;
/// Bits of the number of a run.
const RUN_BITS: usize = 32;

/// The keys of a sealed state, expanded as [`aes_expand_key`](super::aes_expand_key) does.
#[derive(Clone, Debug)]
pub struct StateKeys<'b> {
    /// Of the one-time pad.
    pub pad: Array<Bytes<'b>>,
    /// Of the MAC.
    pub mac: Array<Bytes<'b>>,
}

impl<'b> StateKeys<'b> {
    /// The state under the pad of run `run`, and its tag; both are zero where `accepted` is, so
    /// that a run whose own state was not genuine leaves none that is.
    ///
    /// # Panics
    ///
    /// If the run's number has not 32 bits, or the keys are not those of AES-128.
    #[must_use]
    pub fn seal(&self, run: &UInt<'b>, state: &Bus<'b>, accepted: Bit<'b>) -> (Bus<'b>, Bytes<'b>) {
        let sealed = state ^ self.one_time_pad(run, state.width());
        let tag = self.tag(run, &sealed);
        let kept = |bus: &Bus<'b>| {
            let none = Bus::constant(bus.builder(), vec![false; bus.width()]);
            accepted.select(bus, &none)
        };
        (kept(&sealed), Bytes::new(kept(tag.bus())))
    }

    /// The state that run `run` sealed and whether it is genuine; all zeros where it is not.
    ///
    /// # Panics
    ///
    /// If the tag has not 16 bytes, and as [`StateKeys::seal`].
    #[must_use]
    pub fn open(&self, run: &UInt<'b>, sealed: &Bus<'b>, tag: &Bytes<'b>) -> (Bus<'b>, Bit<'b>) {
        let genuine = self.tag(run, sealed).equals(tag);
        let state = sealed ^ self.one_time_pad(run, sealed.width());
        let none = Bus::constant(state.builder(), vec![false; state.width()]);
        (genuine.select(&state, &none), genuine)
    }

    /// `width` bits of AES in counter mode; a counter is the run's number and the block's.
    fn one_time_pad(&self, run: &UInt<'b>, width: usize) -> Bus<'b> {
        let builder = run.bus().builder();
        let blocks = (0..width.div_ceil(BLOCK_BITS)).map(|block| {
            let counter = block_of(run, &UInt::constant(builder, RUN_BITS, block as u128));
            aes_with_round_keys(&self.pad, &counter)
        });
        let bits: Vec<Bit<'b>> = blocks.flat_map(|block| bits_of(block.bus())).collect();
        Bus::from_bits(builder, bits.into_iter().take(width))
    }

    /// AES-CBC-MAC of a block with the run's number and the width, and then of `sealed`, filled
    /// with zeros to whole blocks.
    fn tag(&self, run: &UInt<'b>, sealed: &Bus<'b>) -> Bytes<'b> {
        let builder = run.bus().builder();
        let width = UInt::constant(builder, RUN_BITS, sealed.width() as u128);
        let first = aes_with_round_keys(&self.mac, &block_of(run, &width));
        let starts = (0..sealed.width()).step_by(BLOCK_BITS);
        starts.fold(first, |chained, start| {
            let end = (start + BLOCK_BITS).min(sealed.width());
            let block = filled(&sealed.slice(start..end));
            aes_with_round_keys(&self.mac, &(chained ^ block))
        })
    }
}

fn bits_of<'b>(bus: &Bus<'b>) -> Vec<Bit<'b>> {
    bus.bits().collect()
}

/// The block of these two numbers, the rest zeros.
fn block_of<'b>(run: &UInt<'b>, number: &UInt<'b>) -> Bytes<'b> {
    assert_eq!(run.width(), RUN_BITS, "bits of the number of a run");
    filled(&run.bus().concat(number.bus()))
}

/// The block that begins with these bits, the rest zeros.
fn filled<'b>(bits: &Bus<'b>) -> Bytes<'b> {
    let zeros = vec![false; BLOCK_BITS - bits.width()];
    Bytes::new(bits.concat(&Bus::constant(bits.builder(), zeros)))
}

fn ports(builder: &Builder) -> (StateKeys<'_>, UInt<'_>) {
    let round_keys = |name| builder.input(name, Type::bytes(16).array(11));
    let keys = StateKeys {
        pad: round_keys("pad_round_keys"),
        mac: round_keys("mac_round_keys"),
    };
    (keys, builder.uint("run", RUN_BITS))
}

pub(super) fn circuit_of_seal(bits: usize) -> Result<Circuit, CircuitError> {
    build(|builder| {
        let (keys, run) = ports(builder);
        let (state, accepted) = (builder.bus("state", bits), builder.bit("accepted"));
        let (sealed, tag) = keys.seal(&run, &state, accepted);
        builder.output("sealed", &sealed);
        builder.output("tag", &tag);
    })
}

pub(super) fn circuit_of_open(bits: usize) -> Result<Circuit, CircuitError> {
    build(|builder| {
        let (keys, run) = ports(builder);
        let (sealed, tag) = (builder.bus("sealed", bits), builder.bytes("tag", 16));
        let (state, genuine) = keys.open(&run, &sealed, &tag);
        builder.output("state", &state);
        builder.output("genuine", &genuine);
    })
}
