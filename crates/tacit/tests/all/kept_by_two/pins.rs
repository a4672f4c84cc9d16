//! A version that a party pins.

use tacit::session::Incompatibility;
use tacit::{Error, Outcome, ProtocolError};

use super::{BY_TWO, CHAIN, Parties, agreed, both, look};

/// If both parties went back to an old copy, their states agree. Only a pin shows it, to the party
/// that has one.
#[test]
fn a_pin_shows_that_both_went_back() {
    for protocol in BY_TWO {
        let parties = Parties::in_folders(protocol);
        let pinned = |outcome: &Outcome| {
            let pin = outcome.chain.expect("a chain");
            parties.run_as(&look(), |party, job| match party {
                0 => job.chain(CHAIN),
                _ => job.chain(CHAIN).pin(pin),
            })
        };
        both(parties.begin(1));
        let [earlier, _] = both(parties.add(1));
        let before = [0, 1].map(|party| parties.backup(party));
        let [later, _] = both(parties.add(10));
        assert_eq!(agreed(&both(pinned(&earlier))), 12);
        assert_eq!(agreed(&both(pinned(&later))), 12);
        for (party, copy) in before.iter().enumerate() {
            parties.restore(party, copy);
        }
        let [_, refused] = pinned(&later);
        let error = refused.expect_err("an older version");
        let Error::Protocol(ProtocolError::PeerIncompatible(difference)) = &error else {
            panic!("{error}");
        };
        assert!(matches!(difference, Incompatibility::Pinned { .. }));
        assert_eq!(agreed(&both(pinned(&earlier))), 2);
    }
}
