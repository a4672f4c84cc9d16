//! Crosses for `gmw` in stock. They are made before any function is known, and any function uses
//! them once.
//!
//! | file | what it does |
//! |---|---|
//! | `order` | an order for crosses, and the lots that it makes |
//! | `run` | leases what a run takes at both parties, and reads it |
//!
//! A kind has narrow or wide crosses, whose OTs one fixed party sends, from base OTs of one kind,
//! by SoftSpoken or by silent OT. A run takes no crosses whose OTs rest on more than it allows. An
//! instance is a [block](CrossBlock). A block depends on no other and holds no Δ. So a run may take
//! blocks from several lots, and a kind's numbers continue from one lot to the next.
//!
//! All kinds are in the stock of [`LOT_SCHEME`]: crosses have no garbling scheme.
//!
//! [`CrossBlock`]: tacit_protocol::gmw::CrossBlock

mod order;
mod run;

use std::collections::BTreeMap;

use tacit_function::{Function, Role, Schedule};
use tacit_ot::base::BaseOt;
use tacit_protocol::gmw::{self, CrossDemand, CrossKind};
use tacit_stock::{ComponentDigest, InstanceSize};

use super::authenticated::LOT_SCHEME;
use super::{StockName, Stocks};
use crate::session::OtExtension;
use crate::{Error, Session};

pub use order::{CrossPreparation, Crosses};
pub(crate) use run::{lease_crosses, takes_crosses};

/// The number of kinds of blocks that a run takes together.
const BLOCK_KINDS: usize = Role::BOTH.len() * CrossKind::ALL.len();

/// The origin of OTs, which decides on what assumptions they rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OtOrigin {
    /// The kind of base OTs.
    base_ot: BaseOt,
    /// Whether they are silent, and so rest on LPN.
    is_silent: bool,
}

impl OtOrigin {
    /// Returns how OTs are made from such base OTs by this extension.
    pub(crate) fn new(base_ot: BaseOt, extension: OtExtension) -> Self {
        Self {
            base_ot,
            is_silent: extension == OtExtension::Silent,
        }
    }

    /// Returns how OTs are made in this session.
    fn of(session: &Session) -> Self {
        Self::new(session.base_ot(), session.ot_extension())
    }

    /// Iterates over all, those first that the fewest runs may take.
    fn all() -> impl Iterator<Item = Self> {
        let both = |base_ot| [true, false].map(|is_silent| Self { base_ot, is_silent });
        BaseOt::ALL.into_iter().flat_map(both)
    }

    /// Whether a run may take such OTs if those that it makes are `asked`.
    fn serves(self, asked: Self) -> bool {
        self.base_ot.serves(asked.base_ot) && self.extension().serves(asked.extension())
    }

    /// Returns an extension that makes such OTs.
    fn extension(self) -> OtExtension {
        if self.is_silent {
            OtExtension::Silent
        } else {
            OtExtension::default()
        }
    }
}

/// The properties of a kind of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockKind {
    crosses: CrossKind,
    /// The party that sends the OTs of the crosses.
    sender: Role,
    /// The origin of these OTs.
    ots: OtOrigin,
}

impl BlockKind {
    /// Returns the kinds of blocks that are made from such OTs, in the order in which a run takes
    /// them.
    fn all_from(ots: OtOrigin) -> [Self; BLOCK_KINDS] {
        std::array::from_fn(|place| Self {
            crosses: CrossKind::ALL[place % CrossKind::ALL.len()],
            sender: Role::BOTH[place / CrossKind::ALL.len()],
            ots,
        })
    }

    /// Returns the digest by which the stock names the kind.
    pub(super) fn digest(self) -> ComponentDigest {
        let crosses = match self.crosses {
            CrossKind::Narrow => "narrow",
            CrossKind::Wide => "wide",
        };
        let (sender, base_ot) = (self.sender.name(), self.ots.base_ot);
        let extension = if self.ots.is_silent {
            "silent"
        } else {
            "softspoken"
        };
        ComponentDigest::of_kind(&format!(
            "{crosses} crosses, {sender}, {base_ot}, {extension}"
        ))
    }

    /// Returns the kind with this digest, if it is one of crosses.
    pub(super) fn of(digest: &ComponentDigest) -> Option<Self> {
        let mut all = OtOrigin::all().flat_map(Self::all_from);
        all.find(|kind| kind.digest() == *digest)
    }

    /// Returns the name for people.
    pub(super) fn name(self) -> String {
        let crosses = match self.crosses {
            CrossKind::Narrow => "crosses",
            CrossKind::Wide => "wide crosses",
        };
        let mut name = format!("{crosses} sent by the {}", self.sender.name());
        if self.ots.base_ot != BaseOt::default() {
            name += &format!(" from {}", self.ots.base_ot);
        }
        if self.ots.is_silent {
            name += " by silent OT";
        }
        name
    }

    /// Returns the number of crosses in a block.
    pub(super) fn unit(self) -> u64 {
        self.crosses.crosses() as u64
    }

    /// Returns the size of a block at the party in `role`.
    fn instance_size(self, role: Role) -> InstanceSize {
        InstanceSize {
            secret_bytes: self.crosses.bytes(self.sender == role) as u32,
            table_bytes: 0,
        }
    }

    /// Returns the index of the kind among those of one origin.
    fn place(crosses: CrossKind, sender: Role) -> usize {
        CrossKind::ALL.len() * sender as usize + crosses as usize
    }
}

/// The number of blocks of each kind of one origin, in their order.
type Blocks = [u64; BLOCK_KINDS];

/// Returns the number of blocks of each kind of one origin in `demand`.
fn blocks_of(demand: &CrossDemand) -> Blocks {
    let kinds = BlockKind::all_from(OtOrigin::default());
    kinds.map(|kind| demand.blocks(kind.crosses, kind.sender))
}

/// Returns the demand that a preparation gets to make these blocks.
fn demand_of(blocks: &Blocks) -> CrossDemand {
    let of = |crosses| Role::BOTH.map(|sender| blocks[BlockKind::place(crosses, sender)]);
    CrossDemand {
        narrow: of(CrossKind::Narrow),
        wide: of(CrossKind::Wide),
    }
}

/// Returns the blocks that a run of `function` takes.
fn needs(function: &Function) -> Result<Blocks, Error> {
    gmw::check(function)?;
    Ok(blocks_of(&CrossDemand::of(&function.schedule()?)))
}

/// Returns the number of runs for which these blocks are enough, if a run takes `needed`.
fn runs(available: &Blocks, needed: &Blocks) -> u64 {
    super::supply::runs(available, needed).unwrap_or(u64::MAX)
}

/// A kind of crosses that a run takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NeededCrosses {
    /// The name for people.
    pub(crate) name: String,
    /// The number of crosses that a run takes, in whole blocks.
    pub(crate) count: u64,
    /// The number in stock.
    pub(crate) in_stock: u64,
}

/// Whether a run may take crosses of this kind, if the OTs that it would make are `asked`.
pub(crate) fn crosses_serve(kind: &ComponentDigest, asked: OtOrigin) -> bool {
    BlockKind::of(kind).is_some_and(|kind| kind.ots.serves(asked))
}

/// Returns the number of runs with this schedule for which a stock has enough, and what a run
/// takes, if the OTs that the run would make are `asked`. `kinds` has the crosses of each kind,
/// counted one by one. A function that takes no crosses takes none from a stock.
pub(crate) fn runs_from_crosses(
    schedule: &Schedule,
    asked: OtOrigin,
    kinds: &BTreeMap<ComponentDigest, u64>,
) -> (u64, Vec<NeededCrosses>) {
    let needed = blocks_of(&CrossDemand::of(schedule));
    if needed == [0; BLOCK_KINDS] {
        return (0, Vec::new());
    }
    let (mut left, mut there) = (0_u64, [0_u64; BLOCK_KINDS]);
    let of_a_run = BlockKind::all_from(OtOrigin::default());
    for digests in kinds_serving(asked) {
        let crosses = available_of(&digests, kinds);
        let units = of_a_run.map(BlockKind::unit);
        let blocks = std::array::from_fn(|kind| crosses[kind] / units[kind]);
        left = left.saturating_add(runs(&blocks, &needed));
        there = std::array::from_fn(|kind| there[kind].saturating_add(crosses[kind]));
    }
    let kinds = of_a_run.into_iter().zip(needed);
    let kinds = kinds.zip(there).filter(|((_, needed), _)| *needed > 0);
    let needs = kinds.map(|((kind, needed), in_stock)| NeededCrosses {
        name: kind.name(),
        count: needed * kind.unit(),
        in_stock,
    });
    (left, needs.collect())
}

impl Stocks {
    /// Returns the number of runs of `function` by `gmw` for which a stock has crosses, whatever
    /// the scheme of `name`. The runs' OTs rest on `base_ot` and on what `extension` rests on. The
    /// number is zero if the stock does not exist, and `u64::MAX` for a function that takes no
    /// crosses.
    ///
    /// # Errors
    ///
    /// `gmw` cannot run the function, or the stock cannot be read.
    pub fn gmw_runs_left(
        &self,
        name: &StockName,
        function: &Function,
        (base_ot, extension): (BaseOt, OtExtension),
    ) -> Result<u64, Error> {
        let kinds = self.lot_kinds(name)?;
        let needed = needs(function)?;
        let serving = kinds_serving(OtOrigin::new(base_ot, extension));
        let left = serving.map(|digests| runs(&available_of(&digests, &kinds), &needed));
        Ok(left.fold(0, u64::saturating_add))
    }

    /// Whether this party has crosses for a run with the peer of `session` that takes `needed`.
    fn has_crosses(&self, session: &Session, role: Role, needed: &Blocks) -> Result<bool, Error> {
        let Some(name) = session.stock_name(role, LOT_SCHEME) else {
            return Ok(false);
        };
        let kinds = self.lot_kinds(&name)?;
        let mut serving = kinds_serving(OtOrigin::of(session));
        Ok(serving.any(|digests| runs(&available_of(&digests, &kinds), needed) > 0))
    }
}

/// Iterates over the kinds from which a run may take, if the OTs that it would make are `asked`:
/// those of each origin.
fn kinds_serving(asked: OtOrigin) -> impl Iterator<Item = [ComponentDigest; BLOCK_KINDS]> {
    let serving = OtOrigin::all().filter(move |ots| ots.serves(asked));
    serving.map(|ots| BlockKind::all_from(ots).map(BlockKind::digest))
}

/// Returns the available number of each of these kinds.
fn available_of(
    digests: &[ComponentDigest; BLOCK_KINDS],
    kinds: &BTreeMap<ComponentDigest, u64>,
) -> Blocks {
    digests.map(|kind| kinds.get(&kind).copied().unwrap_or_default())
}

/// Returns all kinds of crosses of this extension from the default base OTs.
#[cfg(test)]
pub(crate) fn kinds_of_crosses(extension: OtExtension) -> [ComponentDigest; BLOCK_KINDS] {
    let ots = OtOrigin::new(BaseOt::default(), extension);
    BlockKind::all_from(ots).map(BlockKind::digest)
}

/// Returns both kinds of crosses that the evaluator sends, of the default origin.
#[cfg(test)]
pub(super) fn kinds_of_evaluator() -> [ComponentDigest; 2] {
    CrossKind::ALL.map(|crosses| {
        let (sender, ots) = (Role::Evaluator, OtOrigin::default());
        let kind = BlockKind {
            crosses,
            sender,
            ots,
        };
        kind.digest()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// If a block were taken for one of another kind, it would be opened with masks that the peer
    /// does not have, or that the other direction uses.
    #[test]
    fn each_kind_is_known_by_a_digest_of_its_own() {
        let mut seen = BTreeSet::new();
        for ots in OtOrigin::all() {
            for (place, kind) in BlockKind::all_from(ots).into_iter().enumerate() {
                assert_eq!(BlockKind::place(kind.crosses, kind.sender), place);
                assert_eq!(BlockKind::of(&kind.digest()), Some(kind));
                assert!(seen.insert(kind.digest()), "{}", kind.name());
            }
        }
        assert_eq!(seen.len(), 4 * BLOCK_KINDS);
        assert_eq!(BlockKind::of(&ComponentDigest([7; 32])), None);
    }

    /// A user who does not name silent OT does not rest on LPN.
    #[test]
    fn silent_crosses_serve_runs_that_allow_silent_ot_alone() {
        for base_ot in BaseOt::ALL {
            let [usual, large, silent] = [
                OtExtension::default(),
                OtExtension::NAMED[2],
                OtExtension::Silent,
            ]
            .map(|extension| OtOrigin::new(base_ot, extension));
            assert!(!silent.serves(usual) && !silent.serves(large));
            assert!(silent.serves(silent) && large.serves(silent) && large.serves(usual));
        }
        let serving = |extension| {
            let asked = OtOrigin::new(BaseOt::default(), extension);
            kinds_serving(asked).flatten().collect::<BTreeSet<_>>()
        };
        let silent = kinds_of_crosses(OtExtension::Silent);
        let without = serving(OtExtension::default());
        assert!(silent.iter().all(|kind| !without.contains(kind)));
        assert_eq!(serving(OtExtension::Silent).len(), 2 * without.len());
    }

    #[test]
    fn demands_go_round() {
        let demand = CrossDemand {
            narrow: [1, 2],
            wide: [3, 4],
        };
        assert_eq!(demand_of(&blocks_of(&demand)), demand);
    }

    #[test]
    fn runs_are_bound_by_the_kind_that_is_used_up_first() {
        assert_eq!(runs(&[9, 0, 4, 5], &[2, 0, 2, 0]), 2);
        assert_eq!(runs(&[9, 0, 4, 5], &[2, 1, 2, 0]), 0);
        assert_eq!(runs(&[0; 4], &[0; 4]), u64::MAX);
    }
}
