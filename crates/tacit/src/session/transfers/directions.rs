//! The OTs of `gmw`, and the device that makes them.

use std::sync::Arc;

use tacit_function::Role;
use tacit_ot::silent::Device;
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

    /// Keeps the OTs of `gmw` for the next run.
    pub(crate) fn keep_directions(&mut self, directions: Directions) {
        self.transfers.directions = Some(directions);
    }
}
