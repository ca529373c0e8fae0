//! What all queues share.

use tokio_util::sync::CancellationToken;

use crate::discord::bot::Bot;

/// What all queues share.
#[derive(Clone)]
pub(in crate::discord) struct OutboundContext {
    pub(in crate::discord) bot: Bot,
    /// Whether answers are shown while they grow.
    pub(in crate::discord) previews: Previews,
    /// Ends when the hub does.
    pub(in crate::discord) stop: CancellationToken,
}

/// Whether answers are shown while the model speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Previews {
    /// They are (`stream_replies`).
    Shown,
    /// Answers are posted whole.
    Hidden,
}
