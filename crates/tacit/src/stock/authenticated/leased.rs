//! Reads the instances that were leased from a lot. All of them must belong to this lot.

use tacit_protocol::authenticated::{BLOCK_BYTES, TripleBlocks};
use tacit_stock::{Instance, Instances, Lease};
use zeroize::Zeroizing;

use super::{Content, LotNeeds, LotTerms, serves};
use crate::Error;
use crate::stock::failure::StockFailure;

/// The lot that all its instances name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LotName {
    /// s.
    pub(super) made_at_bits: u8,
    /// The epoch's id.
    pub(super) id: [u8; 32],
}

impl LotName {
    /// Returns the length of an instance's header in bytes.
    pub(super) fn header_bytes(content: &Content) -> u32 {
        1 + 32 + content.says.len() as u32
    }

    /// Returns the header of an instance with this content.
    pub(super) fn header(&self, content: &Content) -> Vec<u8> {
        [&[self.made_at_bits][..], &self.id, &content.says].concat()
    }

    /// Parses the lot that an instance's header names.
    fn of(header: &[u8]) -> Option<Self> {
        let (made_at_bits, rest) = header.split_first()?;
        let id = *rest.first_chunk()?;
        Some(Self {
            made_at_bits: *made_at_bits,
            id,
        })
    }
}

/// The material that was leased for a run.
pub(super) struct LeasedLot<'a> {
    pub(super) name: LotName,
    pub(super) ordered: LotTerms,
    /// The instances of each need.
    instances: Vec<ContentInstances>,
    /// For each component of the function, the index of its instances.
    places: Vec<usize>,
    failure: &'a StockFailure,
}

struct ContentInstances {
    first: Option<Instance>,
    others: Instances,
    /// The header that each instance must have.
    header: Vec<u8>,
}

impl<'a> LeasedLot<'a> {
    /// Opens what was leased from one lot, in the order of needs, for a run that asks for these
    /// terms.
    pub(super) fn open(
        leases: Vec<Lease>,
        (needs, asked): (&LotNeeds, LotTerms),
        failure: &'a StockFailure,
    ) -> Result<Self, Error> {
        let kinds: Vec<_> = leases.iter().map(Lease::kind).collect();
        let mut all = leases.into_iter().map(Lease::instances);
        let mut others = all.next().ok_or_else(broken)?;
        let mut first = Some(others.next().ok_or_else(broken)??);
        let header = first.as_ref().map(Instance::tables).unwrap_or_default();
        let name = LotName::of(header).ok_or_else(broken)?;
        let ordered = kinds.first().filter(|kind| serves(kind, asked));
        let ordered = ordered.and_then(super::ordered).ok_or_else(broken)?;
        let lot = ordered.lot(&name.id);
        let mut contents = kinds.iter().zip(&needs.contents);
        let are_of_lot = contents.all(|(kind, content)| content.kind(&lot) == *kind);
        if !are_of_lot || name.made_at_bits < ordered.statistical_security_bits {
            return Err(broken());
        }
        let instances = std::iter::once(others).chain(all).zip(&needs.contents);
        let instances = instances.map(|(others, content)| ContentInstances {
            first: first.take(),
            others,
            header: name.header(content),
        });
        Ok(Self {
            name,
            ordered,
            instances: instances.collect(),
            places: needs.places.clone(),
            failure,
        })
    }

    /// Reads the next instance of a need.
    fn read(&mut self, place: usize) -> Result<Instance, tacit_protocol::Error> {
        let instances = self.instances.get_mut(place);
        let next = instances.map_or(Err(MORE_THAN_LEASED), ContentInstances::read);
        next.map_err(|error| self.failure.note(error))
    }
}

const MORE_THAN_LEASED: Error = Error::ApiMisuse("a run reads no more than it leased");

impl ContentInstances {
    fn read(&mut self) -> Result<Instance, Error> {
        let next = self.first.take().map(Ok).or_else(|| self.others.next());
        let next = next.ok_or(MORE_THAN_LEASED)??;
        if next.tables() == self.header {
            return Ok(next);
        }
        Err(broken())
    }
}

impl TripleBlocks for LeasedLot<'_> {
    fn next(&mut self, block: &mut [u8; BLOCK_BYTES]) -> Result<u64, tacit_protocol::Error> {
        let instance = self.read(0)?;
        match instance.secret().first_chunk::<BLOCK_BYTES>() {
            Some(bytes) => block.copy_from_slice(bytes),
            None => return Err(self.failure.note(broken())),
        }
        Ok(instance.number())
    }
}

impl tacit_protocol::prepared::Instances for LeasedLot<'_> {
    type Instance = Zeroizing<Vec<u8>>;

    fn next(&mut self, component: usize) -> Result<Self::Instance, tacit_protocol::Error> {
        let place = self.places.get(component).copied().unwrap_or(usize::MAX);
        Ok(Zeroizing::new(self.read(place)?.secret().to_vec()))
    }
}

fn broken() -> Error {
    Error::damaged("what is in stock for authenticated is not as it was kept")
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use tacit_circuit::Component;
    use tacit_components::library;
    use tacit_garble::SchemeId;
    use tacit_ot::base::BaseOt;
    use tacit_stock::{
        ComponentDigest, EpochId, InstanceSize, Limits, Memory, PeerId, Role, RootKey, Span, Stock,
        StockId, Stocks,
    };

    use super::*;

    const NAME: LotName = LotName {
        made_at_bits: 40,
        id: [7; 32],
    };

    fn asked() -> LotTerms {
        LotTerms::at(40, BaseOt::default())
    }

    fn needs(content: &Content, count: usize) -> LotNeeds {
        LotNeeds {
            contents: vec![content.clone()],
            counts: vec![count as u64],
            names: Vec::new(),
            components: Vec::new(),
            places: vec![0],
        }
    }

    /// Returns a stock with a lot of this kind, whose instances have these headers.
    fn stock(kind: ComponentDigest, headers: &[Vec<u8>]) -> Stock {
        let stocks = Stocks::open(Arc::new(Memory::new()), Path::new("s"), RootKey::Beside);
        let id = StockId {
            own: PeerId([1; 32]),
            peer: PeerId([2; 32]),
            role: Role::Garbler,
            scheme: *b"test",
            lanes: Default::default(),
        };
        let (epoch, limits) = (EpochId::generate(0).expect("randomness"), Limits::default());
        let stock = stocks.and_then(|stocks| stocks.create(id, epoch, &[], limits));
        let stock = stock.expect("room");
        let count = headers.len() as u64;
        let instance_size = InstanceSize {
            secret_bytes: BLOCK_BYTES as u32,
            table_bytes: headers[0].len() as u32,
        };
        let preparation = stock.prepare().expect("nobody prepares");
        let lot = preparation.begin_lot(kind, instance_size, Span { first: 0, count });
        let lot = lot.expect("room");
        let secrets = vec![5; headers.len() * BLOCK_BYTES];
        lot.put(0, &secrets, &headers.concat()).expect("room");
        lot.finish().expect("room");
        stock.publish(&kind, 0).expect("it waits");
        stock
    }

    /// Whether a run at s = 40 that needs `content` can read all instances of such a lot.
    fn is_taken(content: &Content, kind: ComponentDigest, headers: &[Vec<u8>]) -> bool {
        let lease = stock(kind, headers).lease(&kind, headers.len() as u64);
        let (failure, needs) = (StockFailure::default(), needs(content, headers.len()));
        let leases = vec![lease.expect("in stock")];
        let lot = LeasedLot::open(leases, (&needs, asked()), &failure);
        lot.is_ok_and(|mut lot| headers.iter().all(|_| lot.read(0).is_ok()))
    }

    fn component(name: &str) -> Component {
        Component::new(name, library::find(name, &Default::default()).expect("one"))
    }

    /// The header of an instance must name what the run promises: s, the Δ, the component and the
    /// scheme.
    #[test]
    fn what_says_it_is_of_another_lot_is_not_taken() {
        let two_call = SchemeId::HALF_GATES_TWO_CALL;
        let adder = Content::instances(&component("adder"), two_call);
        let ordered = |bits| LotTerms::at(bits, BaseOt::MlKem768).lot(&NAME.id);
        for content in [Content::triples(), adder.clone()] {
            let (kind, good) = (content.kind(&ordered(40)), NAME.header(&content));
            let is_taken = |kind, headers: &[Vec<u8>]| is_taken(&content, kind, headers);
            assert!(is_taken(kind, &[good.clone(), good.clone()]));
            let at = |made_at_bits| LotName {
                made_at_bits,
                ..NAME
            };
            let higher = at(43).header(&content);
            assert!(is_taken(kind, &[higher.clone(), higher]));
            let less = content.kind(&ordered(39));
            let ordered_at_less = is_taken(less, std::slice::from_ref(&good));
            assert!(!ordered_at_less);
            let mut other = NAME;
            other.id[0] ^= 1;
            for wrong in [at(39).header(&content), other.header(&content)] {
                assert!(!is_taken(kind, &[wrong.clone(), wrong.clone()]));
                assert!(!is_taken(kind, &[good.clone(), wrong]));
            }
        }
        let kind = adder.kind(&ordered(40));
        for other in [
            Content::instances(&component("comparator"), two_call),
            Content::instances(&component("adder"), SchemeId::HALF_GATES_REKEYED),
        ] {
            assert_ne!(other.kind(&ordered(40)), kind);
            assert!(!is_taken(&adder, kind, &[NAME.header(&other)]));
            assert!(!is_taken(&other, kind, &[NAME.header(&other)]));
        }
    }
}
