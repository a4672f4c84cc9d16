//! The making of a lot. The lot is in stock once both parties have ended well.

use std::collections::BTreeSet;

use rand_core::UnwrapErr;
use sha2::{Digest as _, Sha256};
use tacit_circuit::Digest;
use tacit_function::Role;
use tacit_protocol::authenticated::{EpochSetup, EpochTags, KEPT_BLOCKS, SecurityBits};
use tacit_protocol::session::{ProtocolId, RunTag};
use tacit_stock::{ComponentDigest, InstanceSize, KindMarks, LotWriter, Preparation, Span, Tried};

use super::leased::LotName;
use super::lots::LotPreparation;
use super::{Content, LOT_BYTES, LOT_SCHEME, Lot, LotTerms, is_of_lot, lot_of};
use crate::advice::advice;
use crate::session::{OrderTerms, OtNeed};
use crate::stock::failure::StockFailure;
use crate::stock::keeping::{KeepInstances, put_meanwhile};
use crate::stock::order::{StockOrder, Stocked};
use crate::stock::tries::CountedTry;
use crate::stock::{OpenedStock, PreparedKind, StockName, Stocks, unit};
use crate::{Error, Session};

/// The most bytes of instances that wait until they are sealed and written: about those of the
/// largest lot, so that one is written while the next one is made.
const WAITING_BYTES: usize = 52 << 20;

/// The material of one kind in an order.
pub(super) struct Part {
    pub(super) content: Content,
    /// The name for people, without the lot.
    pub(super) name: String,
    /// The bytes of an instance at this party.
    pub(super) bytes: u64,
    /// The number of instances in a unit.
    pub(super) count: u64,
    /// The AND gates of a countable item.
    pub(super) and_gates: u64,
}

impl Part {
    /// Returns the size of an instance in the stock, including its header.
    fn instance_size(&self) -> Result<InstanceSize, Error> {
        let too_large = |_| {
            Error::material(
                format!("an instance of {} is too large", self.name),
                advice!(),
            )
        };
        Ok(InstanceSize {
            secret_bytes: u32::try_from(self.bytes).map_err(too_large)?,
            table_bytes: LotName::header_bytes(&self.content),
        })
    }

    /// Returns the number of countable items in an instance.
    fn unit(&self) -> u64 {
        unit(&self.content.kind(&Default::default()))
    }
}

impl LotPreparation<'_> {
    /// Returns the bits of statistical security of runs with this lot: s, or fewer if the check of
    /// the OTs leaves a peer a better chance.
    pub fn held_bits(&self) -> u8 {
        self.security.of_lots().map_or(0, SecurityBits::held_bits)
    }

    /// Returns the bytes that the whole order takes on this party's disk.
    pub fn disk_bytes(&self) -> u64 {
        let parts = self.parts();
        let bytes = parts.iter().map(|part| {
            let instance_size = part
                .instance_size()
                .map_or(u64::MAX, |instance_size| instance_size.record_bytes());
            instance_size.saturating_mul(part.count)
        });
        let unit = bytes.fold(0, u64::saturating_add);
        unit.saturating_mul(self.task.units)
    }

    /// Returns how many times the stock holds this order, in all lots of such orders, of any size
    /// and at any s. It counts the part of which the stock holds most, rounded down. It is zero if
    /// the stock does not exist.
    ///
    /// # Errors
    ///
    /// The stock cannot be read.
    pub fn times_held(&self, stocks: &Stocks, name: &StockName) -> Result<u64, Error> {
        let kinds = stocks.lot_kinds(name)?;
        let parts = self.parts();
        // A lot has a kind for each part, even if nothing is left of it.
        let is_such = |lot: &[u8; LOT_BYTES]| {
            let mut wanted = parts.iter().map(|part| part.content.kind(lot));
            wanted.all(|wanted| kinds.contains_key(&wanted))
        };
        let lots: BTreeSet<_> = kinds.keys().map(lot_of).filter(is_such).collect();
        let times = parts.iter().map(|part| {
            let held = lots.iter().map(|lot| kinds[&part.content.kind(lot)]);
            let held = held.fold(0, u64::saturating_add);
            let ordered = part.count.saturating_mul(self.task.units);
            held.checked_div(ordered).unwrap_or_default()
        });
        Ok(times.max().unwrap_or_default())
    }

    /// Returns the number of AND gates of the whole order. Triples count as AND gates.
    pub fn and_gates(&self) -> u64 {
        let parts = self.parts();
        let ands = parts.iter().map(|part| {
            let unit = part.count.saturating_mul(part.unit());
            unit.saturating_mul(part.and_gates)
        });
        let unit = ands.fold(0, u64::saturating_add);
        unit.saturating_mul(self.task.units)
    }

    /// Returns the digest of the order. Both parties must give the same order.
    pub fn digest(&self) -> Digest {
        digest_of(&self.hash_of_parts(), self.task.units)
    }

    /// Returns the digests of the same order for one run, for two runs and so on. The last one is
    /// the digest of this order.
    pub fn digests(&self) -> Vec<Digest> {
        let parts = self.hash_of_parts();
        let units = 1..=self.task.units;
        units.map(|units| digest_of(&parts, units)).collect()
    }

    fn hash_of_parts(&self) -> Sha256 {
        let mut hash = Sha256::new_with_prefix(self.words());
        for part in self.parts() {
            hash.update(&part.content.says);
            hash.update(part.count.to_le_bytes());
        }
        hash
    }
}

/// Returns the digest of an order for this many units of these parts.
fn digest_of(parts: &Sha256, units: u64) -> Digest {
    let hash = parts.clone().chain_update(units.to_le_bytes());
    Digest(hash.finalize().into())
}

impl StockOrder for LotPreparation<'_> {
    fn terms(&self) -> Result<OrderTerms, Error> {
        self.check()?;
        let security = self.security.of_lots()?;
        Ok(OrderTerms {
            protocol: ProtocolId::Prepare,
            role: self.task.role,
            statistical_security_bits: security.get(),
            scheme: LOT_SCHEME,
            function: self.digest(),
            ots: OtNeed::of_lots(self.and_gates(), security),
        })
    }

    fn fill(
        &mut self,
        session: &mut Session,
        opened: &mut OpenedStock,
        tag: RunTag,
    ) -> Result<Stocked, Error> {
        let mut right = opened.meet_to_prepare(session)?;
        forget_broken_off(opened, &mut right)?;
        let ordered = LotTerms::at(self.security.bits(), session.base_ot());
        let parts = self.parts();
        let contents: Vec<_> = parts.iter().map(|part| part.content.clone()).collect();
        let counts: Vec<_> = parts.iter().map(|part| part.count).collect();
        let lots = Lot::all(opened.agreed_kinds(), ordered, &contents);
        let units: u64 = lots.iter().map(|lot| lot.runs(&counts)).sum();
        let missing = self.task.units.saturating_sub(units);
        let mut made_at_bits = None;
        if missing > 0 {
            let tags = EpochTags {
                garbler: tag.triples_setup(Role::Garbler),
                evaluator: tag.triples_setup(Role::Evaluator),
            };
            let mut rng = UnwrapErr(getrandom::SysRng);
            let settings = session.ot_settings();
            let setup = EpochSetup::new(self.task.role, settings, tags, &mut rng)?;
            // Refuse a lot that does not fit before the try counts.
            let lot = NewLot::begin(opened, &right, (ordered, *setup.id()), &parts, missing)?;
            made_at_bits = Some(make(self, (session, opened), setup, lot, missing)?);
        }
        let kinds = parts.iter().enumerate().map(|(place, part)| {
            let unit = part.unit();
            let made = missing.saturating_mul(part.count);
            let there: u64 = lots.iter().map(|lot| lot.available[place]).sum();
            PreparedKind {
                name: ordered.name(&part.name),
                made: made.saturating_mul(unit),
                available: there.saturating_add(made).saturating_mul(unit),
                and_gates: part.and_gates,
            }
        });
        Ok(Stocked {
            kinds: kinds.collect(),
            runs: Some(units + missing),
            made_at_bits,
            plan: None,
            makes_ots: missing > 0,
        })
    }
}

/// Forgets the lots of orders that were broken off. Otherwise a peer that breaks off again and
/// again could use up the kinds of the epoch. The records have just met under this right.
fn forget_broken_off(opened: &OpenedStock, right: &mut Preparation) -> Result<(), Error> {
    let kinds = broken_off(&right.marks()?.kinds);
    opened.stocks.forget_names(&kinds);
    Ok(right.forget(&kinds)?)
}

/// Returns the kinds of all lots of which no kind has any instances. A lot that exists in part
/// keeps all of its kinds: only then is it [counted](LotPreparation::times_held), and destroyed if
/// the peer is caught. The name of a forgotten lot never occurs again, because both parties draw
/// its epoch. The names of other kinds do occur again, and their numbers must go on.
fn broken_off(kinds: &[KindMarks]) -> Vec<ComponentDigest> {
    let of_lots = kinds.iter().filter(|marks| is_of_lot(&marks.kind));
    let is_there = |marks: &&KindMarks| marks.published > 0 || !marks.pending.is_empty();
    let there = of_lots.clone().filter(is_there);
    let there: BTreeSet<_> = there.map(|marks| lot_of(&marks.kind)).collect();
    let of_lots = of_lots.map(|marks| marks.kind);
    of_lots
        .filter(|kind| !there.contains(&lot_of(kind)))
        .collect()
}

/// Makes a lot and publishes it at both parties. Meanwhile it is counted as an epoch. Returns the s
/// at which it was made.
fn make(
    order: &mut LotPreparation<'_>,
    (session, opened): (&mut Session, &mut OpenedStock),
    setup: EpochSetup,
    lot: NewLot,
    units: u64,
) -> Result<u8, Error> {
    let stocks = opened.stocks.clone();
    let (role, bits) = (order.task.role, order.security.bits());
    let (mut tried, charge_bits) = session.count_epoch((role, bits), Some(&stocks))?;
    let security = order.security.of_lots()?.charged(charge_bits);
    let security = security.ok_or(Error::TooManyTries {
        tried: Tried::Authenticated,
        unfinished: tried.as_ref().map_or(0, |tried| tried.before),
    })?;
    let epoch = session.set_up_epoch(setup, tried.as_mut())?.epoch()?;
    let spans: Vec<_> = lot.spans().collect();
    // A party that is done may learn only on publishing that the other has found a cheat.
    let made = lot.fill((security, order.threads.get()), |keep| {
        order.make(session, epoch, security, units, keep)
    });
    let published = made.and_then(|writers| opened.publish(session, writers));
    if let (Err(error), Some(tried)) = (&published, &tried) {
        tried.note_cheat(error)?;
    }
    published?;
    tried.map_or(Ok(()), CountedTry::finish)?;
    for (kind, span) in spans {
        opened.note_published(&kind, span);
    }
    Ok(security.get())
}

/// A lot that is being made, under an epoch of its own.
struct NewLot {
    id: [u8; 32],
    parts: Vec<NewPart>,
}

struct NewPart {
    writer: LotWriter,
    content: Content,
    bytes: usize,
}

impl NewLot {
    /// Starts the lot of the epoch `id`, with this many units of `parts`.
    fn begin(
        opened: &OpenedStock,
        right: &Preparation,
        (ordered, id): (LotTerms, [u8; 32]),
        parts: &[Part],
        units: u64,
    ) -> Result<Self, Error> {
        let lot = |part: &Part| {
            let count = units.saturating_mul(part.count);
            Ok::<_, Error>((part.instance_size()?, Span { first: 0, count }))
        };
        // Check the room for all of it, so that no kind is started in vain.
        let lots: Vec<_> = parts.iter().map(lot).collect::<Result<_, _>>()?;
        right.check_room(&lots)?;
        let parts = parts.iter().zip(lots).map(|(part, (instance_size, span))| {
            let kind = part.content.kind(&ordered.lot(&id));
            opened.stocks.note_name(&kind, &ordered.name(&part.name));
            Ok(NewPart {
                writer: right.begin_lot(kind, instance_size, span)?,
                content: part.content.clone(),
                bytes: part.bytes as usize,
            })
        });
        let parts = parts.collect::<Result<_, Error>>()?;
        Ok(Self { id, parts })
    }

    /// Returns the lot's kinds and their numbers.
    fn spans(&self) -> impl Iterator<Item = (ComponentDigest, Span)> {
        let parts = self.parts.iter();
        parts.map(|part| (part.writer.kind(), part.writer.span()))
    }

    /// Keeps what `make` makes. Each instance gets a header that names this lot and this s. On
    /// several threads, some seal and write while the others make more.
    fn fill(
        self,
        (security, threads): (SecurityBits, usize),
        make: impl FnOnce(&KeepInstances<'_>) -> Result<(), Error>,
    ) -> Result<Vec<LotWriter>, Error> {
        let name = LotName {
            made_at_bits: security.get(),
            id: self.id,
        };
        let failure = StockFailure::default();
        let put = |place: usize, first: u64, instances: &[u8]| {
            let part: &NewPart = &self.parts[place];
            let headers = name.header(&part.content);
            let headers = headers.repeat(instances.len() / part.bytes);
            let kept = part.writer.put(first, instances, &headers);
            kept.map_err(|error| failure.note(error))
        };
        let made = if threads == 1 {
            make(&put)
        } else {
            let largest = self.parts.iter().map(|part| part.bytes).max();
            let most = WAITING_BYTES / (KEPT_BLOCKS * largest.unwrap_or(1));
            put_meanwhile((threads.div_ceil(4), most), &put, make)
        };
        failure.or(made)?;
        Ok(self.parts.into_iter().map(|part| part.writer).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(kind: ComponentDigest, published: u64, pending: &[Span]) -> KindMarks {
        KindMarks {
            kind,
            reserved: 4,
            leased: 0,
            published,
            chain: [0; 32],
            pending: pending.to_vec(),
            withdrawn: Vec::new(),
        }
    }

    /// Returns a kind that belongs to a lot.
    fn of_lot(content: &Content, lot: u8) -> ComponentDigest {
        content.kind(&LotTerms::at(40, Default::default()).lot(&[lot; 32]))
    }

    /// Otherwise a peer could have one kind of a lot published and break off: the other kinds would
    /// be forgotten, and the rest would not count as one of a limited number of lots.
    #[test]
    fn a_lot_is_forgotten_with_all_of_its_kinds_or_not() {
        let component = |name: &str| {
            let program = tacit_components::library::find(name, &Default::default());
            let component = tacit_circuit::Component::new(name, program.expect("one"));
            Content::instances(&component, LOT_SCHEME)
        };
        let [adder, comparator] = ["adder", "comparator"].map(component);
        let span = Span { first: 0, count: 4 };
        let kinds = [
            marks(of_lot(&adder, 1), 1, &[]),
            marks(of_lot(&comparator, 1), 0, &[]),
            marks(of_lot(&adder, 2), 0, &[]),
            marks(of_lot(&comparator, 2), 0, &[span]),
            marks(of_lot(&adder, 3), 0, &[]),
            marks(of_lot(&comparator, 3), 0, &[]),
            marks(of_lot(&Content::triples(), 4), 0, &[]),
            marks(of_lot(&Content::triples(), 5), 1, &[]),
        ];
        let due = [4, 5, 6].map(|place: usize| kinds[place].kind);
        assert_eq!(broken_off(&kinds), due);
    }

    /// Otherwise, after a peer breaks off an order of garbled components or of OTs, their numbers
    /// would be given again under the same Δ.
    #[test]
    fn a_kind_whose_name_comes_again_is_not_forgotten() {
        let component = ComponentDigest([7; 32]);
        let kinds = [component, crate::stock::ot_kind()].map(|kind| marks(kind, 0, &[]));
        assert_eq!(broken_off(&kinds), []);
    }
}
