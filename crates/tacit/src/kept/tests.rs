//! Tests of chains and of what they keep.

use std::path::Path;
use std::sync::Arc;

use tacit_circuit::Type;
use tacit_net::{Awaited, NetError};
use tacit_protocol::saved::PairChain;
use tacit_stock::Memory;
use zeroize::Zeroizing;

use super::*;

/// A value that is stored as its bytes.
struct Bytes(&'static [u8]);

impl StoredValue for Bytes {
    fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.0.to_vec())
    }
    fn from_bytes(_: &[u8]) -> Result<Self, tacit_protocol::Error> {
        Ok(Self(&[]))
    }
}

/// The other party: its answer to [`Kind::VersionKept`], or `None` if it is gone.
struct Other(Option<u64>);

impl OtherKeeper for Other {
    fn name(&self) -> &'static str {
        "other party"
    }
    fn swap(&mut self, _: Message, _: &[u8]) -> Result<Vec<u8>, Error> {
        let awaited = Awaited::Message;
        let version = self.0.ok_or(NetError::Closed { awaited })?;
        Ok(version.to_le_bytes().to_vec())
    }
    fn blame(&self, error: Error) -> Error {
        error
    }
}

/// A peer that claims to have started a million further attempts must not make this party hash for
/// all of them, over and over in each session.
#[test]
fn a_claimed_attempt_costs_a_few_dozen_steps() {
    let disk = Arc::new(Memory::new());
    let stocks = Stocks::over(disk, Path::new("s"), 1 << 20).expect("room");
    let [own, peer] = [1, 2].map(|party| Fingerprint([party; 32]));
    let place = (Protocol::Prepared, Role::Garbler);
    let chain = stocks
        .chain_with(Keepers::alone((own, peer)), place, "total")
        .expect("room");
    let mut state = PairChain::from_bytes(&[&[1, 3][..], &[7; 16], &[0; 8]].concat());
    let state = state.as_mut().expect("a chain");
    let new = chain.create([7; 16], &Policy::default(), None, &state.to_bytes());
    let version = new.expect("room").finish().expect("room");
    chain.publish(version).expect("room");
    let attempt = || chain.marks().expect("a record").attempt;
    for claimed in [1 << 20, u64::MAX] {
        let before = attempt();
        let told = go_forward(&chain, state, claimed, "other party");
        assert!(matches!(told, Err(Error::ChainsDiffer { .. })), "{told:?}");
        assert!(attempt() > before && attempt() - before <= 64);
        // The other party, which was at the same attempt as this one, can follow.
        assert!(attempt() + 1 - before <= 64);
    }
    // An attempt that really is ahead is reached.
    let ahead = attempt() + 150;
    let runs = (1..10).find(|_| go_forward(&chain, state, ahead, "other party").is_ok());
    assert_eq!((runs, attempt()), (Some(3), ahead));
}

/// If a party called a version its latest on its own, it could never continue with the other.
#[test]
fn no_version_is_the_latest_before_the_other_has_it() {
    let disk = Arc::new(Memory::new());
    let stocks = Stocks::over(disk, Path::new("s"), 1 << 20).expect("room");
    let [own, peer] = [1, 2].map(|party| Fingerprint([party; 32]));
    let place = (Protocol::Prepared, Role::Garbler);
    let saves = [Port::new("total", Type::unsigned(8))];
    // Returns the version that `save` returned, and the latest one on disk.
    let save = |name: &str, latest: Option<u64>, next_attempt: u64, other: Option<u64>| {
        let chain = stocks
            .chain_with(Keepers::alone((own, peer)), place, name)
            .expect("room");
        let in_use = ChainInUse {
            stocks: stocks.clone(),
            home: (Keepers::alone((own, peer)), place),
            chain,
            agreed: ChainAgreement {
                latest,
                next_attempt,
            },
            policy: Policy::default(),
            program: None,
        };
        let state = PairChain::from_bytes(&[&[1, 3][..], &[7; 24]].concat());
        let (state, values) = (state.expect("a chain"), [Bytes(b"a label")]);
        let saved = in_use.save(&saves, &state, &values, None, &mut Other(other));
        let marks = in_use.chain.marks().expect("a record");
        (saved.ok(), marks.latest)
    };
    assert_eq!(save("nobody answers", None, 0, None), (None, 0));
    assert_eq!(save("another answer", None, 0, Some(9)), (None, 0));
    for (name, other, due) in [
        ("silent", None, (None, 1)),
        ("lying", Some(9), (None, 1)),
        ("honest", Some(2), (Some(2), 2)),
    ] {
        assert_eq!(save(name, None, 0, Some(1)), (Some(1), 1), "{name}");
        assert_eq!(save(name, Some(1), 1, other), due, "{name}");
    }
}
