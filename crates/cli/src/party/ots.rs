//! This party's settings for oblivious transfer.

use std::sync::Arc;

use tacit::Session;
use tacit::net::Link;
use tacit::session::{BaseOt, OtDevice, OtExtension};

/// This party's settings for the session's oblivious transfer.
pub(super) struct Ots {
    pub(super) base: Option<BaseOt>,
    pub(super) extension: Option<OtExtension>,
    /// The link to the peer, by which the connecting party chooses the extension.
    pub(super) link: Option<Link>,
    pub(super) device: Option<Arc<dyn OtDevice>>,
}

impl Ots {
    /// Gives the settings to a session.
    pub(super) fn settle(&self, session: &mut Session) -> Result<(), tacit::Error> {
        if let Some(kind) = self.base {
            session.set_base_ot(kind)?;
        }
        if let Some(extension) = self.extension {
            session.set_ot_extension(extension)?;
        }
        if let Some(link) = self.link {
            session.set_link(link);
        }
        if let Some(device) = &self.device {
            session.set_ot_device(device.clone());
        }
        Ok(())
    }
}
