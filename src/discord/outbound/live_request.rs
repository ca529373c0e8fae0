//! One request for a running turn's live messages, and its outcome.

use serde_json::Value;

use super::OutboundContext;
use crate::discord::bot::approvals::TAKEN;
use crate::discord::render::status_text;
use crate::discord::rest::body::Body;
use crate::discord::rest::route;
use crate::discord::rest::{Request, RestError, Urgency, message_id, snowflake};
use crate::domain::{ChannelId, MessageId, TurnId};

/// Newest messages to search for an unanswered post: it was made seconds ago.
const LOOKED_AT: usize = 50;

/// One request for a turn's live messages.
pub(super) struct LiveRequest {
    pub(super) turn: TurnId,
    pub(super) channel: ChannelId,
    pub(super) reply_to: Option<MessageId>,
    pub(super) act: LiveAction,
}

pub(super) enum LiveAction {
    Type,
    React(MessageId),
    PostStatus(Body),
    EditStatus(MessageId, Body),
    PostPreview(Body),
    EditPreview(MessageId, Body),
    /// Look for a preview if its post was not answered.
    LookForPreview,
    /// Look for a status if its post was not answered.
    LookForStatus,
    DeletePreview(MessageId),
    FinishPreview(MessageId, Body),
    DeleteStatus(MessageId),
    FinishStatus(MessageId, Body),
}

/// The kind of an operation, without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiveActionKind {
    Sign,
    PostStatus,
    EditStatus,
    LookForStatus,
    PostPreview,
    EditPreview,
    LookForPreview,
    FinishPreview,
    FinishStatus,
}

/// The outcome of an operation.
pub(super) struct Done {
    pub(super) turn: TurnId,
    pub(super) act: LiveActionKind,
    pub(super) outcome: Result<Option<MessageId>, RestError>,
}

impl LiveRequest {
    /// Returns whether it counts as one of the channel's edits.
    pub(super) const fn is_edit(&self) -> bool {
        !matches!(self.act, LiveAction::Type | LiveAction::React(_))
    }

    /// Returns the turn that it shows.
    pub(super) const fn turn(&self) -> TurnId {
        self.turn
    }

    /// Returns whether it posts, or searches for, a preview.
    pub(super) const fn is_new_preview(&self) -> bool {
        matches!(
            self.act,
            LiveAction::PostPreview(_) | LiveAction::LookForPreview
        )
    }

    /// Returns the message it changes.
    pub(super) const fn message(&self) -> Option<MessageId> {
        match self.act {
            LiveAction::EditStatus(id, _)
            | LiveAction::EditPreview(id, _)
            | LiveAction::DeletePreview(id)
            | LiveAction::FinishPreview(id, _)
            | LiveAction::DeleteStatus(id)
            | LiveAction::FinishStatus(id, _) => Some(id),
            LiveAction::Type
            | LiveAction::React(_)
            | LiveAction::PostStatus(_)
            | LiveAction::PostPreview(_)
            | LiveAction::LookForPreview
            | LiveAction::LookForStatus => None,
        }
    }

    const fn kind(&self) -> LiveActionKind {
        match self.act {
            LiveAction::Type | LiveAction::React(_) => LiveActionKind::Sign,
            LiveAction::PostStatus(_) => LiveActionKind::PostStatus,
            LiveAction::EditStatus(..) => LiveActionKind::EditStatus,
            LiveAction::LookForStatus => LiveActionKind::LookForStatus,
            LiveAction::DeleteStatus(_) | LiveAction::FinishStatus(..) => {
                LiveActionKind::FinishStatus
            }
            LiveAction::PostPreview(_) => LiveActionKind::PostPreview,
            LiveAction::EditPreview(..) => LiveActionKind::EditPreview,
            LiveAction::LookForPreview => LiveActionKind::LookForPreview,
            LiveAction::DeletePreview(_) | LiveAction::FinishPreview(..) => {
                LiveActionKind::FinishPreview
            }
        }
    }

    pub(super) async fn perform(self, context: &OutboundContext) -> Done {
        let rest = &context.bot.rest;
        let (channel, turn, reply_to) = (self.channel, self.turn, self.reply_to);
        let act = self.kind();
        let outcome = match self.act {
            LiveAction::Type => {
                let request = Request::new(route::typing(channel), Urgency::Passing);
                rest.send(request).await.map(|_| None)
            }
            LiveAction::React(id) => {
                let request = Request::new(route::react(channel, id, TAKEN), Urgency::Durable);
                rest.send(request).await.map(|_| None)
            }
            LiveAction::PostStatus(body) => post(context, channel, None, &body).await,
            LiveAction::PostPreview(body) => post(context, channel, reply_to, &body).await,
            LiveAction::EditStatus(id, body) | LiveAction::EditPreview(id, body) => {
                let edited = rest.edit(channel, id, &body, Urgency::Passing).await;
                edited.map(|()| None)
            }
            LiveAction::LookForStatus => {
                let is_it = |message: &Value| status_text::is_live(message, turn);
                look(context, channel, is_it).await
            }
            LiveAction::LookForPreview => {
                let is_it = |message: &Value| is_preview_of(message, reply_to);
                look(context, channel, is_it).await
            }
            LiveAction::DeletePreview(id) | LiveAction::DeleteStatus(id) => {
                let deleted = rest.call(route::delete_message(channel, id)).await;
                deleted.map(|_| None)
            }
            LiveAction::FinishPreview(id, body) | LiveAction::FinishStatus(id, body) => {
                let edited = rest.edit(channel, id, &body, Urgency::Durable).await;
                edited.map(|()| None)
            }
        };
        Done { turn, act, outcome }
    }
}

/// Searches for a message of ours among the newest in the channel.
async fn look(
    context: &OutboundContext,
    channel: ChannelId,
    is_it: impl Fn(&Value) -> bool,
) -> Result<Option<MessageId>, RestError> {
    let query = format!("limit={LOOKED_AT}");
    let messages = context
        .bot
        .rest
        .call(route::messages(channel, &query))
        .await?;
    let own = |message: &&Value| {
        snowflake(&message["author"]["id"]) == Some(context.bot.own.0) && is_it(message)
    };
    let found = messages.as_array().into_iter().flatten().find(own);
    found.map(message_id).transpose()
}

/// Returns whether this is a preview of a turn that answers `reply_to`.
fn is_preview_of(message: &Value, reply_to: Option<MessageId>) -> bool {
    let content = message["content"].as_str().unwrap_or_default();
    let reference = snowflake(&message["message_reference"]["message_id"]);
    let is_unreferred = reference.is_none() || reference == reply_to.map(|id| id.0);
    status_text::said_so_far(content).is_some() && is_unreferred
}

/// Posts a message that may be skipped, silently, as a reply to the message that the turn answers.
async fn post(
    context: &OutboundContext,
    channel: ChannelId,
    reply_to: Option<MessageId>,
    body: &Body,
) -> Result<Option<MessageId>, RestError> {
    let request = Request::post(channel, body, Urgency::Passing)
        .silent()
        .reply_to(reply_to);
    context.bot.rest.reply(request).await.map(Some)
}
