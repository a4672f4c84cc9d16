//! The memory that runs take independently of the function. A bound on sessions alone would let
//! peers claim it many times over.
//!
//! | contents | bytes at most | held for |
//! |---|---|---|
//! | a lot of `authenticated` | 200 MiB | a run |
//! | instances in place of a lot, all of a run at once | 304 an AND gate, 144 a wire into a component | a run |
//! | buffers that a run leaves for the next one, wiped | 32 MiB | a session |
//! | a source of silent OTs: secret, next round, a batch and its copy | 40 MiB | a session |
//! | OTs that a source has made and that are not taken yet | 32 each | a session |
//! | a run that matches tables: keys, encodings, OTs | as [`PeerAsks`](tacit::matching::PeerAsks) says; of a join also a run of `gmw` | a run |
//! | a run of `gmw`: its schedule, rows, values and masks | as [`gmw_memory_bytes`](tacit::cost::gmw_memory_bytes) says, and 32 MiB for OTs | a run |
//! | a lot of triples for the stock, and as many that wait for the disk | 252 MiB, or 16 MiB and 690 an AND gate | a preparation |
//! | a lot of instances for the stock | 320 MiB, or 16 MiB and 900 an AND gate | a preparation |
//! | a lot of crosses for the stock | 48 MiB | a preparation |
//!
//! Triples and instances are measured on few threads: `tacit prepare` of 1000 to a million AND
//! gates, and of 2 to 800 runs of `aes-128-rounds`, of triples at most 180 MiB. What 16 threads
//! take is computed from the sizes in the code, at k = 1, where messages are largest:
//!
//! | contents | MiB |
//! |---|---|
//! | `authenticated`: 24 messages of 0.53, and 16 of blocks, more than on few threads | 21 |
//! | OTs of `gmw` and of crosses: those of both sources, and those being hashed | 12 |
//! | messages made ahead at the receiver, and waiting at the sender, 4 of 1 each | 8 |
//! | lots of a call of 2^18 OTs | 4 |
//! | rows of hashes, and 68 KiB a thread | 4 |
//!
//! `authenticated` has a source in each direction, and keeps its OTs and buffers separately for
//! each role. Peers get silent OTs only if this party's configuration names them. All peers
//! together have a bound, and each has a share of it, so that no peer keeps the others out.

mod allowed;

use std::collections::HashMap;

use tacit::circuit::Digest;
use tacit::cost::FromStock;
use tacit::session::{OtExtension, ProtocolId};
use tacit::stock::LotPreparation;
use tacit::{Function, Role};

use crate::policy::{Error, Level, Limits, Material, Offer, OfferedFunction};

pub use allowed::{allowed, left_of};

const MIB: u64 = 1 << 20;
const LOT_BYTES: u64 = 200 * MIB;
/// The bytes of an AND gate and of a wire into a component, for runs from instances.
const INSTANCE_BYTES: [u64; 2] = [304, 144];
/// Functions with more AND gates take no instances.
const MOST_LINKED_ANDS: u64 = 1 << 23;
const KEPT_BYTES: u64 = 32 * MIB;
const SOURCE_BYTES: u64 = 40 * MIB;
const OT_BYTES: u64 = 32;
/// The largest number of OTs for a lot in one direction: three for each of 1.2 million leaky ANDs,
/// and masks.
const LOT_OTS: u64 = 4_000_000;

/// The bytes of the OTs that `gmw` makes at a time, in both directions: as blocks, hashes and
/// messages.
const REFILL_BYTES: u64 = 32 * MIB;
/// The OTs of a batch of silent OTs, of which a run of `gmw` may leave nearly all.
const BATCH_OTS: u64 = 778_240;

/// The memory of a lot for the stock: a constant, the bytes of each AND gate, and the maximum.
const ORDER_BYTES: u64 = 16 * MIB;
const TRIPLES_OF_ORDER: [u64; 2] = [690, LOT_BYTES + 52 * MIB];
const INSTANCES_OF_ORDER: [u64; 2] = [900, 320 * MIB];

/// A peer's default share is the whole divided by this, or the need of the largest run if that is
/// more.
const SHARES: u64 = 4;

/// The memory that runs may take, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    /// The bytes of all runs together.
    pub(crate) all: u64,
    /// The bytes of the runs of one peer.
    pub(crate) per_peer: u64,
}

impl Memory {
    /// Returns the bounds that `limits` give if `extension` makes the OTs.
    pub(crate) fn of(
        limits: &Limits,
        (offers, offered): (&[Offer], &HashMap<Digest, Vec<OfferedFunction>>),
        levels: &[Level],
        extension: OtExtension,
    ) -> Result<Self, Error> {
        let runs = offered.values().flatten().flat_map(|place| {
            let offer = &offers[place.offer];
            let protocols = place.protocols.iter();
            protocols.map(move |protocol| {
                let of = (*protocol, offer.role);
                let need = Need::of((&place.function, place.shared_bytes), of, extension);
                (need.mib(), format!("{} by {protocol}", offer.name))
            })
        });
        let (largest, what) = runs.max().unwrap_or_default();
        let stocked = levels.iter().map(|level| {
            let mib = of_level(level, extension).div_ceil(MIB);
            (mib, format!("the stock for {}", level.name()))
        });
        let (largest_stocked, stocked) = stocked.max_by_key(|level| level.0).unwrap_or_default();
        let all = limits.memory_mib;
        let per_peer = limits.memory_mib_per_peer;
        let of_peer = per_peer.unwrap_or_else(|| {
            let beside_stocked = all.saturating_sub(largest_stocked);
            (all / SHARES).min(beside_stocked).max(largest).min(all)
        });
        for (field, found, least, what) in [
            ("memory_mib", all, largest, &what),
            ("memory_mib", all, largest_stocked, &stocked),
            ("memory_mib_per_peer", of_peer, largest, &what),
        ] {
            if found < least {
                return Err(Error::OutOfBounds {
                    what: field.to_owned(),
                    found: found.to_string(),
                    expected: format!("at least {least}, for {what}"),
                });
            }
        }
        // Otherwise the runs of one peer could prevent all preparations, even its own.
        let least = of_peer.saturating_add(largest_stocked);
        if largest_stocked > 0 && of_peer <= all && all < least {
            return Err(Error::OutOfBounds {
                what: "memory_mib".to_owned(),
                found: all.to_string(),
                expected: format!(
                    "at least {least}: memory_mib_per_peer, {of_peer}, and {largest_stocked} for \
                     {stocked}"
                ),
            });
        }
        if of_peer > all {
            return Err(Error::OutOfBounds {
                what: "memory_mib_per_peer".to_owned(),
                found: of_peer.to_string(),
                expected: format!("at most memory_mib, {all}"),
            });
        }
        let [all, per_peer] = [all, of_peer].map(|mib| mib.saturating_mul(MIB));
        Ok(Self { all, per_peer })
    }
}

/// The memory of a run, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    /// The bytes until the run ends.
    lot: u64,
    /// The bytes until its session ends.
    kept: u64,
    /// The sources of OTs that keep these bytes.
    sources: Sources,
}

/// The sources of OTs that a session keeps from one run to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sources {
    /// Those of `authenticated`, in this party's role.
    Authenticated(Role),
    /// Those of `gmw`, in both directions for either role.
    Shared,
    /// Those of other protocols, in this party's role.
    Usual(Role),
}

/// The memory of a session, in bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionMemory {
    /// The bytes of the present run.
    lot: u64,
    /// The bytes until the session ends, by the sources that keep them.
    kept: Vec<(Sources, u64)>,
}

impl SessionMemory {
    /// Returns the memory of a run that takes these bytes.
    #[cfg(test)]
    pub(crate) fn of(lot: u64) -> Self {
        let kept = Vec::new();
        Self { lot, kept }
    }

    /// Returns all bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let kept = self.kept.iter().map(|(_, bytes)| *bytes);
        kept.fold(self.lot, u64::saturating_add)
    }

    /// Returns the same during a run that takes `need`.
    pub(crate) fn with(&self, need: Need) -> Self {
        let mut kept = self.kept.clone();
        match kept.iter_mut().find(|(of, _)| *of == need.sources) {
            Some((_, bytes)) => *bytes = need.kept.max(*bytes),
            None => kept.push((need.sources, need.kept)),
        }
        Self {
            lot: need.lot,
            kept,
        }
    }

    /// Frees the bytes of its run.
    pub(crate) fn end_run(&mut self) {
        self.lot = 0;
    }
}

impl Need {
    /// Returns the need of a run of `function` by `protocol` in `role`, with OTs made by
    /// `extension`. `shared_bytes` is the need of a run by `gmw` without OTs.
    pub(crate) fn of(
        (function, shared_bytes): (&Function, u64),
        (protocol, role): (ProtocolId, Role),
        extension: OtExtension,
    ) -> Self {
        let is_silent = extension == OtExtension::Silent;
        let source = |ots: u64| SOURCE_BYTES.saturating_add(ots.saturating_mul(OT_BYTES));
        let (lot, kept, bytes, sources) = match protocol {
            ProtocolId::Authenticated => {
                let lot = LOT_BYTES.max(instances(function));
                let sources = Sources::Authenticated(role);
                (lot, KEPT_BYTES, 2 * source(LOT_OTS), sources)
            }
            ProtocolId::Gmw => {
                let lot = shared_bytes.saturating_add(REFILL_BYTES);
                (lot, 0, 2 * source(BATCH_OTS), Sources::Shared)
            }
            _ => {
                let ots = function.input_bits(Role::Evaluator) as u64;
                (0, 0, source(ots), Sources::Usual(role))
            }
        };
        Self {
            lot,
            kept: if is_silent { kept + bytes } else { kept },
            sources,
        }
    }

    /// Returns the need of a run that matches tables and takes `bytes` without the sources of OTs
    /// that `extension` keeps. Those of `gmw` serve joins; plain matching has its own until it
    /// ends.
    pub(crate) fn of_tables(bytes: u64, extension: OtExtension) -> Self {
        let sources = 2 * (SOURCE_BYTES + BATCH_OTS * OT_BYTES);
        Self {
            lot: bytes,
            kept: match extension {
                OtExtension::Silent => sources,
                OtExtension::SoftSpoken(_) => 0,
            },
            sources: Sources::Shared,
        }
    }

    /// Returns the need in bytes.
    pub(crate) fn bytes(self) -> u64 {
        self.lot.saturating_add(self.kept)
    }

    /// Returns the need in MiB, rounded up.
    pub(crate) fn mib(self) -> u64 {
        self.bytes().div_ceil(MIB)
    }
}

/// Returns the largest number of bytes that the preparation of a lot takes.
#[must_use]
pub fn of_order(order: &LotPreparation<'_>) -> u64 {
    let [of_each, most] = match order.from_stock() {
        FromStock::Instances => INSTANCES_OF_ORDER,
        FromStock::Triples | FromStock::Crosses => TRIPLES_OF_ORDER,
    };
    let gates = order.and_gates().saturating_mul(of_each);
    ORDER_BYTES.saturating_add(gates).min(most)
}

/// Returns the largest number of bytes that filling a level takes, with OTs made by `extension`.
pub(crate) fn of_level(level: &Level, extension: OtExtension) -> u64 {
    let is_silent = extension == OtExtension::Silent;
    let source = if is_silent { SOURCE_BYTES } else { 0 };
    match &level.material {
        Material::Components(_) | Material::Executions(..) => source,
        // The sources are those of runs by `gmw`.
        Material::Crosses(_) => Need::of_tables(ORDER_BYTES + REFILL_BYTES, extension).bytes(),
        // Another check refuses an order that cannot be made, and gives the reason.
        Material::Lots(..) | Material::Triples(_) => match level.lot_order() {
            Some(order) => of_order(&order).saturating_add(2 * source),
            None => 2 * source,
        },
    }
}

/// Returns the bytes of a run's instances, if it may take some.
fn instances(function: &Function) -> u64 {
    let ands = function.and_gates();
    if ands > MOST_LINKED_ANDS {
        return 0;
    }
    let calls = function.components().iter().zip(function.component_calls());
    let wires =
        calls.map(|(component, calls)| u64::from(*calls) * component.circuit().input_bits() as u64);
    INSTANCE_BYTES[0] * ands + INSTANCE_BYTES[1] * wires.sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lots_and_silent_ots_are_counted() {
        let function = tacit::library::function("millionaires", &[("bits".to_owned(), 32)].into());
        let function = function.expect("a function");
        let of = |protocol, extension| {
            Need::of((&function, 5 * MIB), (protocol, Role::Garbler), extension)
        };
        let usual = OtExtension::default();
        assert_eq!(of(ProtocolId::Direct, usual).mib(), 0);
        let authenticated = of(ProtocolId::Authenticated, usual);
        assert_eq!((authenticated.mib(), authenticated.kept), (232, 32 * MIB));
        // A million AND gates and more, all at once if they are instances.
        let large =
            tacit::library::function("aes-128-copies", &[("copies".to_owned(), 240)].into());
        let large = Need::of(
            (&large.expect("a function"), 0),
            (ProtocolId::Authenticated, Role::Evaluator),
            usual,
        );
        assert!((446 * MIB..520 * MIB).contains(&large.lot), "{}", large.lot);
        let direct = of(ProtocolId::Direct, OtExtension::Silent);
        assert_eq!((direct.lot, direct.kept), (0, 40 * MIB + 32 * 32));
        // Rows and masks, and the sources of OTs. Silent sources leave a batch in each direction.
        let shared = of(ProtocolId::Gmw, usual);
        assert_eq!((shared.lot, shared.kept), (37 * MIB, 0));
        let silent = of(ProtocolId::Gmw, OtExtension::Silent);
        assert!(
            (120 * MIB..140 * MIB).contains(&silent.kept),
            "{}",
            silent.kept
        );
        let both = of(ProtocolId::Authenticated, OtExtension::Silent);
        assert_eq!(both.lot, 200 * MIB);
    }

    /// A session has a source for each role, and others for `authenticated`. A peer that asks for
    /// all of them takes the memory of all.
    #[test]
    fn sources_of_every_role_and_protocol_add_up() {
        let function = tacit::library::function("millionaires", &[("bits".to_owned(), 32)].into());
        let function = function.expect("a function");
        let (mut held, mut all) = (SessionMemory::default(), 0);
        let protocols = [
            ProtocolId::Direct,
            ProtocolId::Authenticated,
            ProtocolId::Gmw,
        ];
        for protocol in protocols {
            // Those of `gmw` serve both roles.
            let roles = if protocol == ProtocolId::Gmw { 1 } else { 2 };
            for role in Role::BOTH.into_iter().take(roles) {
                let need = Need::of((&function, 0), (protocol, role), OtExtension::Silent);
                for _ in 0..2 {
                    held = held.with(need);
                    assert_eq!(held.bytes(), all + need.lot + need.kept);
                    held.end_run();
                }
                all += need.kept;
            }
        }
        assert_eq!(held.bytes(), all);
    }
}
