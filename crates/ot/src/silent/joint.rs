//! The sums of two halves at once: a party's batch of the OTs that it sends, and its batch of those
//! that it receives.
//!
//! Both directions may have the same columns ([`Rounds::share_columns`]). A party whose two secrets
//! lie side by side then reads both elements of a column at one place. Most reads wait for the
//! third-level cache, and there are half as many.
//!
//! **Security.** The columns are public, and drawn from a hash that does not depend on secrets or
//! noise. Each party receives in one direction. It knows its own secret and noise, which are drawn
//! apart from the peer's, so it attacks the LPN instance of the other direction alone: the same as
//! if each direction had its own columns. Nobody else sees any message.

use tacit_kernels::{Cpu, hint_large_pages};
use zeroize::Zeroizing;

use super::batch::Rounds;
use super::lpn::{Pair, add_columns};
use super::receiver::ReceiverBatch;
use super::sender::SenderBatch;

/// The secrets of both halves of a party, side by side, while their round lasts.
#[derive(Default)]
pub struct JointSums {
    round: Option<u64>,
    pairs: Zeroizing<Vec<Pair>>,
}

impl core::fmt::Debug for JointSums {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("JointSums(..)")
    }
}

impl JointSums {
    /// Makes the sums of both batches, if both have the same columns and lack their sums. Otherwise
    /// each half makes its own.
    pub(crate) fn make(&mut self, sender: &mut SenderBatch, receiver: &mut ReceiverBatch) {
        let (Some((sends, v)), Some((receives, w))) = (sender.unsummed(), receiver.unsummed())
        else {
            return;
        };
        let place = sends.schedule.place();
        if !sends.has_columns_of(receives) {
            return;
        }
        if self.round != Some(place.0) {
            self.set(sends, receives);
            self.round = Some(place.0);
        }
        let on = (Cpu::detect(), sends.threads);
        add_columns(on, &sends.columns(), &self.pairs[..], [v, w]);
        sender.set_summed();
        receiver.set_summed();
    }

    /// Lays the secrets side by side.
    fn set(&mut self, sends: &Rounds, receives: &Rounds) {
        let (q, t) = (sends.secret(), receives.secret());
        if self.pairs.capacity() < q.len() {
            // The old memory is wiped on drop.
            let mut pairs = Vec::with_capacity(q.len());
            hint_large_pages(pairs.spare_capacity_mut());
            self.pairs = Zeroizing::new(pairs);
        }
        self.pairs.clear();
        let pairs = q.iter().zip(t).map(|(q, t)| Pair([*q, *t]));
        self.pairs.extend(pairs);
    }
}
