//! The visitors of sites, as peers of the policy.

use std::collections::BTreeSet;

use tacit::Fingerprint;
use tacit::protocols::{Protocol, ThreatModel};
use tacit::session::ProtocolId;

use super::{Error, Offer, Policy};
use crate::visitors::{MAX_SITES, Visitors};

impl Policy {
    /// Sets the sites whose visitors may connect. Each is a [`Peer`](super::Peer) with the
    /// fingerprint of its [`Visitors`], so that offers can name it.
    ///
    /// # Errors
    ///
    /// A site is none of the peers, or gets what its visitors cannot have or what is for
    /// [semi-honest](Visitors::semi_honest) ones alone, or there are too many.
    pub fn visitors(mut self, visitors: Vec<Visitors>) -> Result<Self, Error> {
        if visitors.len() > MAX_SITES {
            return Err(Error::OutOfBounds {
                what: "sites of visitors".to_owned(),
                found: visitors.len().to_string(),
                expected: format!("at most {MAX_SITES}"),
            });
        }
        let all: BTreeSet<_> = visitors.iter().map(Visitors::fingerprint).collect();
        for site in &visitors {
            let (peer, what) = (site.fingerprint(), format!("visitors {:?}", site.name));
            if self.peer(&peer).is_none() {
                return Err(Error::UnknownPeer { what, peer });
            }
        }
        self.offers
            .iter()
            .try_for_each(|offer| check(offer, &all))?;
        if let Some(level) = self.levels.iter().find(|level| all.contains(&level.peer)) {
            return Err(Error::NotForVisitors {
                what: format!("the stock for {}", level.name()),
                reason: "visitors have no stock; name other `peers`",
            });
        }
        self.visitors = visitors;
        self.check_strangers()?;
        Ok(self)
    }

    /// Checks that everything that trusts peers to follow a protocol is for visitors whom this
    /// party trusts so.
    pub(super) fn check_strangers(&self) -> Result<(), Error> {
        let strangers = self.visitors.iter().filter(|site| !site.semi_honest);
        let strangers: BTreeSet<_> = strangers.map(Visitors::fingerprint).collect();
        let is_semi_honest = |id: &ProtocolId| {
            let protocol = Protocol::of_wire(*id);
            protocol.is_none_or(|protocol| protocol.threat_model() == ThreatModel::SemiHonest)
        };
        let offers = self.offers.iter();
        let offers = offers.filter(|offer| offer.protocols.iter().any(is_semi_honest));
        let functions = offers.map(|offer| ("function", &offer.name, &offer.peers));
        let tables = self.tables.iter();
        let tables = tables.map(|table| ("table", &table.name, &table.peers));
        let mut all = functions.chain(tables);
        match all.find(|(.., peers)| !strangers.is_disjoint(peers)) {
            None => Ok(()),
            Some((what, name, _)) => Err(Error::NotForVisitors {
                what: format!("{what} {name:?}"),
                reason: "it is secure only against peers that follow the protocol, and visitors \
                         are strangers; write semi_honest = true in their [[serve.visitors]] if \
                         this party counts on each of them to follow it, or name other `peers`",
            }),
        }
    }

    /// Returns the sites whose visitors may connect.
    pub(crate) fn sites(&self) -> &[Visitors] {
        &self.visitors
    }

    /// Returns the number of keys about which runs may tell this peer, or each visitor of this
    /// site, on a day.
    pub(crate) fn keys_per_day(&self, peer: &Fingerprint) -> u64 {
        let mut sites = self.visitors.iter();
        let site = sites.find(|site| site.fingerprint() == *peer);
        let own = site.and_then(|site| site.keys_per_day);
        own.unwrap_or(self.limits.keys_per_day)
    }
}

/// Checks that an offer for visitors keeps nothing for them: they may come with another key each
/// time.
fn check(offer: &Offer, visitors: &BTreeSet<Fingerprint>) -> Result<(), Error> {
    let from_nothing = [ProtocolId::Direct, ProtocolId::Gmw];
    let keeps = offer.chain.is_some()
        || offer.outsourced.is_some()
        || offer
            .protocols
            .iter()
            .any(|one| !from_nothing.contains(one));
    if keeps && !offer.peers.is_disjoint(visitors) {
        return Err(Error::NotForVisitors {
            what: format!("function {:?}", offer.name),
            reason: "visitors run by `direct` and `gmw`, without a chain; change `protocols`, or \
                     name other `peers`",
        });
    }
    Ok(())
}
