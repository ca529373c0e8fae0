//! One request for a running turn's looks: what it asks for, and what came of it.

use super::deliver;
use super::outward::Outward;
use crate::discord::body::Body;
use crate::discord::rest::{Request, RestError, Urgency};
use crate::discord::route;
use crate::domain::{ChannelId, MessageId, TurnId};

/// The sign on a message that was taken into the running turn.
const TAKEN: &str = "👀";

/// One request for a turn's looks.
pub(super) struct Deed {
    pub(super) turn: TurnId,
    pub(super) channel: ChannelId,
    pub(super) reply_to: Option<MessageId>,
    pub(super) act: Act,
}

/// What it asks for.
pub(super) enum Act {
    Type,
    React(MessageId),
    PostStatus(Body),
    EditStatus(MessageId, Body),
    PostPreview(Body),
    EditPreview(MessageId, Body),
    DeletePreview(MessageId),
    FinishPreview(MessageId, Body),
    Finish(MessageId, Body),
}

/// What a deed was, without what it said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ActKind {
    Sign,
    PostStatus,
    EditStatus,
    PostPreview,
    EditPreview,
    FinishPreview,
    FinishStatus,
}

/// What came of a deed.
pub(super) struct Done {
    pub(super) turn: TurnId,
    pub(super) act: ActKind,
    pub(super) outcome: Result<Option<MessageId>, RestError>,
}

impl Deed {
    /// Whether it uses the channel's budget of edits.
    pub(super) const fn is_edit(&self) -> bool {
        !matches!(self.act, Act::Type | Act::React(_))
    }

    /// Whose looks it is about.
    pub(super) const fn turn(&self) -> TurnId {
        self.turn
    }

    /// The message it changes.
    pub(super) const fn message(&self) -> Option<MessageId> {
        match self.act {
            Act::EditStatus(id, _)
            | Act::EditPreview(id, _)
            | Act::DeletePreview(id)
            | Act::FinishPreview(id, _)
            | Act::Finish(id, _) => Some(id),
            Act::Type | Act::React(_) | Act::PostStatus(_) | Act::PostPreview(_) => None,
        }
    }

    /// Makes the request.
    pub(super) async fn perform(self, outward: &Outward) -> Done {
        let rest = &outward.bot.rest;
        let channel = self.channel;
        let passing = Urgency::Passing;
        let (act, outcome) = match self.act {
            Act::Type => (
                ActKind::Sign,
                rest.send(Request::new(route::typing(channel), passing))
                    .await
                    .map(|_| None),
            ),
            Act::React(id) => {
                let route = route::react(channel, id, TAKEN);
                (
                    ActKind::Sign,
                    rest.send(Request::new(route, Urgency::Durable))
                        .await
                        .map(|_| None),
                )
            }
            Act::PostStatus(body) => (
                ActKind::PostStatus,
                post(outward, channel, self.reply_to, &body).await,
            ),
            Act::PostPreview(body) => (
                ActKind::PostPreview,
                post(outward, channel, self.reply_to, &body).await,
            ),
            Act::EditStatus(id, body) => (
                ActKind::EditStatus,
                rest.edit(channel, id, &body, passing).await.map(|()| None),
            ),
            Act::EditPreview(id, body) => (
                ActKind::EditPreview,
                rest.edit(channel, id, &body, passing).await.map(|()| None),
            ),
            Act::DeletePreview(id) => {
                let request = Request::new(route::delete_message(channel, id), Urgency::Durable);
                (
                    ActKind::FinishPreview,
                    rest.send(request).await.map(|_| None),
                )
            }
            Act::FinishPreview(id, body) => (
                ActKind::FinishPreview,
                rest.edit(channel, id, &body, Urgency::Durable)
                    .await
                    .map(|()| None),
            ),
            Act::Finish(id, body) => (
                ActKind::FinishStatus,
                rest.edit(channel, id, &body, Urgency::Durable)
                    .await
                    .map(|()| None),
            ),
        };
        Done {
            turn: self.turn,
            act,
            outcome,
        }
    }
}

/// Posts a message that may be left out, silently, as a reply to what the turn answers.
async fn post(
    outward: &Outward,
    channel: ChannelId,
    reply_to: Option<MessageId>,
    body: &Body,
) -> Result<Option<MessageId>, RestError> {
    let mut json = body.to_silent_json();
    if let Some(reference) = deliver::reference(reply_to) {
        json.insert("message_reference".into(), reference);
    }
    let request = Request::new(route::create_message(channel), Urgency::Passing).json(json);
    outward.bot.rest.reply(request).await.map(Some)
}
