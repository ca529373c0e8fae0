//! The shared state for serving events: the manager, the ledger and Discord, the known servers and their members, and
//! the open approvals.

pub(super) mod approvals;
pub(super) mod channel_making;
pub(super) mod channels;
pub(super) mod command_ids;
pub(super) mod first_contact;
mod members;
pub(super) mod once;
pub(super) mod pending;
mod refusal;
mod schedule_threads;
pub(super) mod servers;
pub(super) mod under_way;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use arc_swap::ArcSwap;
use chrono::{DateTime, Utc};
use serenity::all::Cache;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Sender, UnboundedSender};

use self::approvals::Approvals;
use self::channel_making::ChannelMaking;
use self::command_ids::KnownIds;
use self::first_contact::Hints;
use self::once::Once;
use self::pending::Pending;
use self::under_way::UnderWay;
use super::gateway::SerenityContext;
use super::rest::Rest;
use crate::config::Config;
use crate::discord::people::operator::Notice;
use crate::domain::{ChannelId, GuildId, UserId};
use crate::exec::Probing;
use crate::llm::discovery::Models;
use crate::manager::{AgentManager, Draft, NewAgent};
use crate::permission::Profiles;
use crate::store::Store;

pub(super) use self::refusal::Refusal;

/// So many interactions that another program answered first are reported: one may be a request of ours that arrived
/// twice.
const RIVAL_ANSWERS: u32 = 3;

/// The shared state for serving events. Cheap to clone.
#[derive(Clone)]
pub(super) struct Bot(Arc<BotInner>);

pub(super) struct BotInner {
    pub(super) manager: AgentManager,
    pub(super) store: Store,
    pub(super) rest: Rest,
    pub(super) approvals: Approvals,
    pub(super) config: Arc<ArcSwap<Config>>,
    pub(super) profiles: Arc<ArcSwap<Profiles>>,
    pub(super) models: Arc<Models>,
    /// When the daemon connected for the first time.
    pub(super) started: DateTime<Utc>,
    /// How commands are confined.
    pub(super) sandbox: Probing,
    pub(super) serenity: SerenityContext,
    pub(super) own: UserId,
    /// Our application, the owner of these commands.
    pub(super) application: u64,
    /// The one server that commands are registered in, while developing.
    pub(super) dev_guild: Option<GuildId>,
    pub(super) operator: Sender<Notice>,
    /// Channels with new messages in their outbox.
    pub(super) outbox: UnboundedSender<ChannelId>,
    pub(super) making: ChannelMaking,
    pub(super) posting: UnderWay,
    pub(super) opening: UnderWay,
    pub(super) hints: Hints,
    pub(super) once: Once,
    /// A retry was promised.
    pub(super) retries: tokio::sync::Notify,
    /// Agents with an open choice of a model or a profile.
    pub(super) pending: Pending<NewAgent>,
    /// Reminders and schedules that wait for their confirmation.
    pub(super) drafts: Pending<Draft>,
    pub(super) known_ids: KnownIds,
    /// Interactions that were answered before we did.
    pub(super) rival_answers: AtomicU32,
    /// All commands; some of them depend on the available models.
    pub(super) commands: ArcSwap<Commands>,
    /// Held while commands are registered, so that the last registration is of the latest commands.
    pub(super) registering: tokio::sync::Mutex<()>,
}

/// The command framework's options, which contain all commands.
pub(super) type Commands = poise::FrameworkOptions<Bot, Refusal>;

impl Bot {
    pub(super) fn new(parts: BotInner) -> Self {
        Self(Arc::new(parts))
    }

    /// Returns the servers' state, as far as the gateway has described it.
    pub(super) fn cache(&self) -> &Cache {
        &self.0.serenity.context.cache
    }

    /// Sends the messages in a channel's outbox.
    pub(super) fn deliver(&self, channel: ChannelId) {
        // Without the hub they stay in the ledger for the next start.
        let _ = self.0.outbox.send(channel);
    }

    /// Queues a notice for the operator. The operator's loop ends last; a notice that comes later, or finds the queue
    /// full, is only in the log.
    fn notify_operator(&self, notice: Notice) {
        if let Err(TrySendError::Full(notice)) = self.0.operator.try_send(notice) {
            tracing::error!("{}", notice.in_log);
        }
    }

    /// Records that an interaction was answered before we did. Another daemon with our token answers all of them.
    pub(super) fn was_answered_by_another(&self) {
        let before = self.rival_answers.fetch_add(1, Ordering::Relaxed);
        if before + 1 == RIVAL_ANSWERS {
            self.tell_operator(
                "second daemon",
                "Another program answers commands with this bot's token. If a second Chorus uses it, stop one of them, because both answer every message. If you do not know that program, reset the token: developer portal → Bot → Reset Token.",
            );
        }
    }

    /// Notifies the operator, once per cause.
    pub(super) fn tell_operator(&self, cause: impl Into<String>, text: impl Into<String>) {
        self.notify_operator(Notice::text(cause, text));
    }
}

impl std::ops::Deref for Bot {
    type Target = BotInner;

    fn deref(&self) -> &BotInner {
        &self.0
    }
}
