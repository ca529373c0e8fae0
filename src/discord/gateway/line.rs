//! What every part of the line knows: where Discord is, who we are there, and who is told.

use tokio::sync::Mutex;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use super::health::GatewayHealth;
use super::signal::Signal;
use crate::discord::rest::Rest;

/// Where Discord is and who we are there.
pub(in crate::discord) struct Gateway {
    pub(in crate::discord) token: String,
    /// Another address than Discord's own.
    pub(in crate::discord) base: Option<String>,
    pub(in crate::discord) rest: Rest,
    pub(in crate::discord) health: GatewayHealth,
    pub(in crate::discord) signals: UnboundedSender<Signal>,
    /// When we identified last, whatever became of it.
    pub(in crate::discord) identified: Mutex<Option<Instant>>,
}

/// How one serenity ended.
pub(super) enum Ended {
    Stopped,
    Lost(String),
}

impl Gateway {
    /// Tells the room.
    pub(super) fn say(&self, signal: Signal) {
        // The room listens as long as the gateway runs; at the end nobody needs to hear it.
        let _ = self.signals.send(signal);
    }
}
