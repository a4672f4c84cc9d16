//! The OTs of `gmw`, and the device that makes them.

use std::sync::Arc;

use tacit_function::Role;
use tacit_ot::silent::Device;
use tacit_ot::source::Extension;
use tacit_protocol::gmw::{DirectionSetup, Directions};

use super::super::Session;
use super::Transfers;
use crate::Error;
use crate::cost::{BaseOtSource, Clock, Phase, PhaseCost};
use crate::driver::seed;

impl Session {
    /// Lets `device`, such as a GPU by a `Choice` of the crate `tacit-gpu`, make the OTs of `gmw`
    /// from now on, if the session's extension is silent OT. Neither results nor messages depend on
    /// it, and the peer needs none.
    pub fn set_ot_device(&mut self, device: Arc<dyn Device>) {
        self.transfers.device = Some(device);
    }

    /// Returns the device that makes the OTs of the run or preparation that was agreed on last, if
    /// there is one and it is for that.
    pub(crate) fn ot_device(&self) -> Option<Arc<dyn Device>> {
        let Transfers { device, agreed, .. } = &self.transfers;
        device.clone().filter(|device| device.is_for(*agreed))
    }

    /// Gives the device to OTs of `gmw`, if there is one.
    fn equip(&self, directions: &mut Directions) {
        if let Some(device) = self.ot_device() {
            directions.use_device(&device);
        }
    }

    /// Takes the OTs of `gmw` for a run as `role`, which gives them back if it succeeds. The first
    /// call makes their base OTs and returns the cost.
    pub(crate) fn take_directions(
        &mut self,
        role: Role,
    ) -> Result<(Directions, Option<PhaseCost>), Error> {
        let settings = self.transfers.settings;
        if let Some(mut directions) = self.transfers.directions.take() {
            directions.set_threads(settings.threads);
            self.equip(&mut directions);
            return Ok((directions.in_role(role), None));
        }
        let clock = Clock::start(self);
        let roles = (role, self.connecting_role(role));
        let setup = DirectionSetup::new(&self.tag()?, roles, settings);
        let seed = seed();
        let mut directions = self.script(async |io| setup.run(io, &seed).await)?;
        self.equip(&mut directions);
        self.transfers.source = Some(BaseOtSource::Fresh);
        Ok((directions, Some(clock.stop(Phase::Setup, self))))
    }

    /// Refuses a run of `gmw` that takes more OTs than the session's base OTs still give. `ots` are
    /// by the role of their sender. Both parties come to the same result.
    pub(crate) fn check_directions(&self, ots: [u64; 2]) -> Result<(), Error> {
        let Transfers {
            settings,
            directions,
            ..
        } = &self.transfers;
        let used = directions.as_ref().map_or(0, Directions::used_ots);
        check_ots(settings.extension, used, ots.into_iter().max().unwrap_or(0))
    }

    /// Keeps the OTs of `gmw` for the next run.
    pub(crate) fn keep_directions(&mut self, directions: Directions) {
        self.transfers.directions = Some(directions);
    }
}

/// The number of OTs that are left for the padding of a run's refills: fewer than 128 each, and one
/// for each 2^28 OTs. The padding of earlier runs counts as used.
const PADDING_OTS: u64 = 1 << 20;

/// Refuses a run that takes `ots` after `used` ones if the base OTs do not give as many.
fn check_ots(extension: Extension, used: u64, ots: u64) -> Result<(), Error> {
    let limit = extension.most_ots();
    // A run that takes none needs no base OTs.
    if ots == 0 || used.saturating_add(ots) <= limit - PADDING_OTS {
        return Ok(());
    }
    Err(tacit_protocol::Error::TransfersUsedUp { limit }.into())
}

#[cfg(test)]
mod tests {
    use tacit_ot::FieldBits;

    use super::*;

    #[test]
    fn a_set_of_base_ots_is_used_to_its_end() {
        let soft_spoken = Extension::SoftSpoken(FieldBits::DEFAULT);
        let most = (1 << 32) - PADDING_OTS;
        for (used, ots, is_allowed) in [
            (0, most, true),
            (0, most + 1, false),
            (most, 0, true),
            (most, 1, false),
            (most - 5, 5, true),
            (most - 5, 6, false),
            (1 << 32, 0, true),
            (7, u64::MAX, false),
        ] {
            assert_eq!(
                check_ots(soft_spoken, used, ots).is_ok(),
                is_allowed,
                "{used} {ots}"
            );
            assert_eq!(
                check_ots(Extension::Silent, used, ots).is_ok(),
                ots < u64::MAX
            );
        }
    }
}
