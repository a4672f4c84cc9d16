//! Orders for crosses, and the lots that they make.

use std::sync::mpsc::sync_channel;
use std::thread;

use sha2::{Digest as _, Sha256};
use tacit_circuit::Digest;
use tacit_function::{Function, Role};
use tacit_net::Link;
use tacit_ot::Security;
use tacit_ot::source::Cost;
use tacit_protocol::Error as ProtocolError;
use tacit_protocol::gmw::{self, CrossBlock, CrossKind, DirectionSetup};
use tacit_protocol::party::Progress;
use tacit_protocol::session::{ProtocolId, RunTag};
use tacit_stock::{ComponentDigest, LotWriter, Preparation as Right, Span};

use super::{BLOCK_KINDS, BlockKind, Blocks, OtOrigin, demand_of, needs};
use crate::driver::seed;
use crate::order::Order;
use crate::session::{OrderTerms, OtExtension, OtNeed};
use crate::stock::authenticated::LOT_SCHEME;
use crate::stock::failure::StockFailure;
use crate::stock::meeting::give_way;
use crate::stock::order::{StockOrder, Stocked};
use crate::stock::{OpenedStock, PreparedKind};
use crate::{Error, Session};

/// An order for crosses, which any run by `gmw` can take. Both parties give the same order, each in
/// its role.
///
/// The order counts crosses in stock. Crosses that were made before an error stay.
///
/// ```no_run
/// # use tacit::stock::{CrossPreparation, Stocks};
/// # use tacit::{Error, Function, Role, Session};
/// # fn prepare(session: &mut Session, stocks: &Stocks, function: &Function) -> Result<(), Error> {
/// let order = CrossPreparation::for_runs(Role::Garbler, function, 20)?;
/// let prepared = order.run(session, stocks)?;
/// println!("{} crosses", prepared.available());
/// # Ok(())
/// # }
/// ```
pub type CrossPreparation<'w> = Order<'w, Crosses>;

/// The crosses that the stock is to have. [`CrossPreparation`] orders them.
pub struct Crosses {
    role: Role,
    /// The number of blocks of each kind.
    levels: Blocks,
    /// The number of runs of one function for which they are enough.
    runs: Option<u64>,
}

/// The most blocks of each kind in a lot: 2^27 OTs of narrow crosses, and 256 MiB of wide ones.
/// Each lot has its own base OTs, which take as long as a GPU takes for some tens of millions of
/// others. On one core a lot takes 11 to 17 seconds, for which a run can wait.
const MOST_BLOCKS: u64 = 1 << 11;

impl CrossPreparation<'_> {
    /// Orders enough crosses for `runs` runs of `function` by `gmw`, for a party in this role.
    ///
    /// # Errors
    ///
    /// `gmw` cannot run the function.
    pub fn for_runs(role: Role, function: &Function, runs: u64) -> Result<Self, Error> {
        Ok(Self::of(Crosses {
            role,
            levels: needs(function)?.map(|blocks| blocks.saturating_mul(runs)),
            runs: Some(runs),
        }))
    }

    /// Orders this many crosses of each direction, rounded up to whole blocks. An AND gate of bits
    /// that both parties share takes one cross of each direction. `narrow` ones serve gates that
    /// share no operand. Each of the `wide` ones serves up to 128 gates that share one.
    pub fn crosses(role: Role, narrow: u64, wide: u64) -> Self {
        let levels = BlockKind::all_from(OtOrigin::default()).map(|kind| {
            let wanted = match kind.crosses {
                CrossKind::Narrow => narrow,
                CrossKind::Wide => wide,
            };
            wanted.div_ceil(kind.unit())
        });
        Self::of(Crosses {
            role,
            levels,
            runs: None,
        })
    }

    /// Returns the number of crosses of the whole order, in both directions.
    pub fn count(&self) -> u64 {
        self.sum(BlockKind::unit)
    }

    /// Returns the bytes that the whole order takes on this party's disk.
    pub fn disk_bytes(&self) -> u64 {
        self.sum(|kind| kind.instance_size(self.task.role).record_bytes())
    }

    /// Returns about how many bytes both parties send together to make the whole order: its OTs.
    /// Without an extension, a session chooses it by the link.
    pub fn sent_bytes(&self, link: Option<Link>, extension: Option<OtExtension>) -> u64 {
        let extension = extension.unwrap_or_else(|| self.ot_need().extension_over(link));
        let (mut left, mut bytes) = (self.task.levels, 0_u64);
        while left != [0; BLOCK_KINDS] {
            let lot = blocks_of_lot(&left);
            for sender in Role::BOTH {
                let kinds = BlockKind::all_from(OtOrigin::default())
                    .into_iter()
                    .zip(lot);
                let kinds = kinds.filter(|(kind, _)| kind.sender == sender);
                let ots: u64 = kinds.map(|(kind, blocks)| kind.unit() * blocks).sum();
                if ots > 0 {
                    let cost = Cost::first_refill(extension, Security::SemiHonest, ots as usize);
                    bytes = bytes.saturating_add(cost.sender_bytes + cost.receiver_bytes);
                }
            }
            left = std::array::from_fn(|place| left[place] - lot[place]);
        }
        bytes
    }

    fn ot_need(&self) -> OtNeed {
        OtNeed::bulk(Security::SemiHonest, self.count())
    }

    /// Returns the sum of `of` over all blocks.
    fn sum(&self, of: impl Fn(BlockKind) -> u64) -> u64 {
        let kinds = BlockKind::all_from(OtOrigin::default());
        let kinds = kinds.into_iter().zip(self.task.levels);
        let each = kinds.map(|(kind, blocks)| blocks.saturating_mul(of(kind)));
        each.fold(0, u64::saturating_add)
    }

    /// Returns the digest of the order, which both parties compare before they prepare.
    pub fn digest(&self) -> Digest {
        self.digest_of_times(1)
    }

    /// Returns the digest of an order for a multiple of the same.
    pub(in crate::stock) fn digest_of_times(&self, times: u64) -> Digest {
        let mut hash = Sha256::new_with_prefix(b"tacit crosses order 3\0");
        for blocks in self.task.levels {
            hash.update(blocks.saturating_mul(times).to_le_bytes());
        }
        Digest(hash.finalize().into())
    }
}

impl StockOrder for CrossPreparation<'_> {
    fn terms(&self) -> Result<OrderTerms, Error> {
        if self.task.levels == [0; BLOCK_KINDS] {
            return Err(Error::ApiMisuse(
                "an order for no crosses: the function takes none, or none were asked for",
            ));
        }
        Ok(OrderTerms {
            protocol: ProtocolId::Prepare,
            role: self.task.role,
            statistical_security_bits: 0,
            scheme: LOT_SCHEME,
            function: self.digest(),
            ots: self.ot_need(),
        })
    }

    fn fill(
        &mut self,
        session: &mut Session,
        opened: &mut OpenedStock,
        tag: RunTag,
    ) -> Result<Stocked, Error> {
        let kinds = BlockKind::all_from(OtOrigin::of(session));
        let made = self.make_missing(session, opened, (tag, &kinds))?;
        let ordered = kinds.into_iter().zip(made).zip(self.task.levels);
        let ordered = ordered.filter(|(_, level)| *level > 0);
        let there = ordered.map(|((kind, made), _)| {
            Ok(PreparedKind {
                name: kind.name(),
                made: made.saturating_mul(kind.unit()),
                available: opened.stock.available(&kind.digest())? * kind.unit(),
                and_gates: 0,
            })
        });
        Ok(Stocked {
            kinds: there.collect::<Result<_, Error>>()?,
            runs: self.task.runs,
            made_at_bits: None,
            plan: None,
            makes_ots: made != [0; BLOCK_KINDS],
        })
    }
}

impl CrossPreparation<'_> {
    /// Makes the missing blocks of these kinds, lot by lot. Returns the blocks that were made.
    fn make_missing(
        &mut self,
        session: &mut Session,
        opened: &mut OpenedStock,
        (tag, kinds): (RunTag, &[BlockKind; BLOCK_KINDS]),
    ) -> Result<Blocks, Error> {
        let levels = self.task.levels;
        let room = |opened: &OpenedStock, place: usize| {
            levels[place].saturating_sub(opened.agreed(&kinds[place].digest()))
        };
        let mut right = opened.meet_to_prepare(session)?;
        let mut missing: Blocks = std::array::from_fn(|place| room(opened, place));
        check_room(&right, kinds, &missing)?;
        let mut made: Blocks = [0; BLOCK_KINDS];
        for number in 0.. {
            let blocks = blocks_of_lot(&std::array::from_fn(|place| missing[place] - made[place]));
            if blocks == [0; BLOCK_KINDS] {
                break;
            }
            let lot = NewLot::begin(opened, &right, kinds, &blocks)?;
            let settings = session.ot_settings();
            let setup = DirectionSetup::of_lot(&tag, number, self.task.role, settings);
            let (done, total) = (crosses(&made), crosses(&missing));
            let mut watch = |crosses: u64| {
                (self.watch)(Progress {
                    done_ands: done + crosses,
                    total_ands: total,
                });
            };
            lot.make(session, setup, &blocks, &mut watch)?
                .publish(session, opened)?;
            made = std::array::from_fn(|place| made[place] + blocks[place]);
            if made != missing {
                // A run that waits for the right can take it now.
                give_way(right)?;
                right = opened.meet_to_prepare(session)?;
                // Count what others have made meanwhile, but do not replace what they have taken.
                missing = std::array::from_fn(|place| {
                    made[place] + room(opened, place).min(missing[place] - made[place])
                });
            }
        }
        Ok(made)
    }
}

/// Returns the blocks of the next lot, if these are missing.
fn blocks_of_lot(missing: &Blocks) -> Blocks {
    missing.map(|missing| missing.min(MOST_BLOCKS))
}

/// Returns the number of crosses in these blocks.
fn crosses(blocks: &Blocks) -> u64 {
    let kinds = BlockKind::all_from(OtOrigin::default())
        .into_iter()
        .zip(blocks);
    kinds.map(|(kind, blocks)| kind.unit() * blocks).sum()
}

/// Checks that there is room for everything that is missing, so that nothing is started in vain.
fn check_room(
    right: &Right,
    kinds: &[BlockKind; BLOCK_KINDS],
    missing: &Blocks,
) -> Result<(), Error> {
    let role = right.stock().id().role;
    let lots = kinds.iter().zip(missing).map(|(kind, count)| {
        let (first, count) = (0, *count);
        (kind.instance_size(role), Span { first, count })
    });
    Ok(right.check_room(&lots.collect::<Vec<_>>())?)
}

/// A lot that is being made, under two Δs of its own.
struct NewLot {
    /// The writer of each kind of which the lot has blocks.
    writers: [Option<LotWriter>; BLOCK_KINDS],
}

impl NewLot {
    /// Starts a lot with these blocks of each kind, at the kinds' next numbers.
    fn begin(
        opened: &OpenedStock,
        right: &Right,
        kinds: &[BlockKind; BLOCK_KINDS],
        blocks: &Blocks,
    ) -> Result<Self, Error> {
        let has_some = |place: &usize| blocks[*place] > 0;
        let places: Vec<_> = (0..BLOCK_KINDS).filter(has_some).collect();
        let lots: Vec<_> = places
            .iter()
            .map(|place| {
                let (kind, count) = (kinds[*place], blocks[*place]);
                let (digest, instance_size) = (kind.digest(), kind.instance_size(opened.role));
                let first = opened.next_number(&digest);
                (digest, instance_size, Span { first, count })
            })
            .collect();
        let mut writers = [const { None }; BLOCK_KINDS];
        for (place, writer) in places.into_iter().zip(right.begin_lots(&lots)?) {
            writers[place] = Some(writer);
        }
        Ok(Self { writers })
    }

    /// Makes the lot's blocks and keeps them. Calls `watch` with the number of crosses so far.
    fn make(
        self,
        session: &mut Session,
        setup: DirectionSetup,
        blocks: &Blocks,
        watch: &mut dyn FnMut(u64),
    ) -> Result<MadeLot, Error> {
        let (failure, demand) = (StockFailure::default(), demand_of(blocks));
        let (mut next, mut crosses) = (self.writers.each_ref().map(first_number), 0);
        let (seeds, device) = ([seed(), seed()], session.ot_device());
        let has_threads = session.ot_settings().threads.get() > 1;
        let made = thread::scope(|scope| {
            // Sealing takes about as long as making, so another thread does it.
            let writing = has_threads.then(|| {
                let (sender, blocks) = sync_channel::<MadeBlock<'_>>(WAITING_BLOCKS);
                let failure = &failure;
                scope.spawn(move || blocks.iter().try_for_each(|block| block.write(failure)));
                sender
            });
            let keep = |kind: CrossKind, sender: Role, block: CrossBlock| {
                let place = BlockKind::place(kind, sender);
                let writer = self.writers[place].as_ref();
                let writer = writer.ok_or_else(|| failure.note(NOT_ORDERED))?;
                let number = next[place];
                let block = MadeBlock {
                    writer,
                    number,
                    block,
                };
                match &writing {
                    None => block.write(&failure)?,
                    // The thread has ended and its error is noted.
                    Some(writing) => writing.send(block).map_err(|_| NOT_WRITTEN)?,
                }
                next[place] += 1;
                crosses += kind.crosses() as u64;
                watch(crosses);
                Ok(())
            };
            session.script(async |io| {
                let mut directions = setup.run(io, &seeds[0]).await?;
                if let Some(device) = &device {
                    directions.use_device(device);
                }
                gmw::prepare(io, directions, &demand, &seeds[1], keep).await
            })
        });
        failure.or(made)?;
        Ok(MadeLot(self.writers.into_iter().flatten().collect()))
    }
}

/// The number of made blocks that wait to be written.
const WAITING_BLOCKS: usize = 64;

/// A block that is made and not written yet.
struct MadeBlock<'w> {
    writer: &'w LotWriter,
    number: u64,
    block: CrossBlock,
}

impl MadeBlock<'_> {
    /// Seals and writes the block.
    fn write(self, failure: &StockFailure) -> Result<(), ProtocolError> {
        let bytes = self.block.into_bytes();
        failure.noted(self.writer.put(self.number, &bytes, &[]))
    }
}

const NOT_WRITTEN: ProtocolError = ProtocolError::ApiMisuse("a block after one that failed");
const NOT_ORDERED: Error = Error::ApiMisuse("a block of a kind that was not ordered");

fn first_number(writer: &Option<LotWriter>) -> u64 {
    writer.as_ref().map_or(0, |writer| writer.span().first)
}

/// A lot whose blocks are all written.
struct MadeLot(Vec<LotWriter>);

impl MadeLot {
    /// Makes the lot durable at both parties, and part of the stock.
    fn publish(self, session: &mut Session, opened: &mut OpenedStock) -> Result<(), Error> {
        let spans = self.0.iter().map(|writer| (writer.kind(), writer.span()));
        let spans: Vec<(ComponentDigest, Span)> = spans.collect();
        opened.publish(session, self.0)?;
        for (kind, span) in spans {
            opened.note_published(&kind, span);
        }
        Ok(())
    }
}
