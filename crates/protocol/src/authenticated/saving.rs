//! Values that a run takes from earlier runs of its chain, and leaves to later ones.
//!
//! For a bit v the parties keep its share ⟨v⟩: a MAC and a key at each party, under the Δ of the
//! chain. With Λ the masked value that both parties know, ⟨v⟩ = ⟨λ⟩ ⊕ Λ. In a later run, v is the
//! mask of a wire whose masked value is 0, so only the share itself links the two runs.

use subtle::Choice;
use zeroize::Zeroizing;

use super::epoch::Epoch;
use super::share::Share;
use super::terms::Terms;
use crate::Error;
use crate::saved::{Labels, SavedCopy, SharedHalf, check_loads, id_oracle};

const NO_CHAIN: Error = Error::ApiMisuse("a run saves values under the Δ of a chain");

/// The MACs and the keys, each stored in place of a circuit's labels.
const COLUMNS: usize = 2;

/// Returns this party's halves of the shares of each bit that a run of `terms` under `epoch` loads.
pub(super) fn shares_of(
    terms: &Terms<'_>,
    epoch: &Epoch,
    loads: &[SharedHalf],
) -> Result<Zeroizing<Vec<Share>>, Error> {
    if epoch.chain().is_some() != terms.function.has_saved_values() {
        return Err(Error::ApiMisuse(
            "what is saved and loaded is under the Δ of a chain, and those serve nothing else",
        ));
    }
    let ports = terms.function.loads();
    let loads = loads.iter().map(|half| &half.0);
    check_loads(epoch.chain(), COLUMNS, loads.clone(), ports)?;
    let bits = ports.iter().map(|port| port.ty.width()).sum();
    let mut all = Zeroizing::new(Vec::with_capacity(bits));
    all.extend(loads.flat_map(|value| {
        let [macs, keys] = [0, 1].map(|column| value.copies[column].labels.iter());
        macs.zip(keys).map(|(mac, key)| Share {
            mac: *mac,
            key: *key,
        })
    }));
    Ok(all)
}

/// Returns this party's half of the values that a run of a chain saves, from their masks and masked
/// values. Only a party that has found the run to be right may call this.
pub(super) fn saved(
    terms: &Terms<'_>,
    epoch: &Epoch,
    masks: &[Share],
    masked: impl Iterator<Item = Choice>,
) -> Result<Vec<SharedHalf>, Error> {
    let chain = epoch.chain().ok_or(NO_CHAIN)?;
    let one = Zeroizing::new(epoch.one());
    let mut columns = [(); COLUMNS].map(|()| SavedCopy {
        delta: Default::default(),
        labels: Vec::with_capacity(masks.len()),
    });
    for (mask, masked) in masks.iter().zip(masked) {
        let [macs, keys] = &mut columns;
        macs.labels.push(mask.mac ^ one.mac.and_bit(masked));
        keys.labels.push(mask.key ^ one.key.and_bit(masked));
    }
    let oracle = id_oracle(&terms.tag);
    let halves = Labels::cut(chain, &oracle, Vec::from(columns), terms.function.saves());
    Ok(halves.into_iter().map(SharedHalf).collect())
}
