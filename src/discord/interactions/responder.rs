//! Answers to commands, buttons and forms: within three seconds, and to whom they are for.
//!
//! An answer that is ready soon is the first response itself. One that takes longer is deferred first ("is thinking")
//! and put in place of that. An error is for one person's eyes even where the answer would have been for all.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tracing::warn;

use crate::discord::bot::{Bot, Refusal};
use crate::discord::rest::body::Body;
use crate::discord::rest::mention::CommandIds;
use crate::discord::rest::modal::Modal;
use crate::discord::rest::route;
use crate::discord::rest::{Request, Rest, RestError, Urgency, message_id};
use crate::domain::{ChannelId, GuildId, MessageId};

/// Discord waits three seconds for the first response; half of it is for the way there.
const DEFER_AFTER: Duration = Duration::from_millis(1_500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visibility {
    /// Everyone in the channel.
    Public,
    Ephemeral,
}

/// One interaction to be answered.
#[derive(Clone)]
pub(super) struct Responder {
    rest: Rest,
    application: u64,
    id: u64,
    token: String,
    /// The commands of the server it comes from.
    commands: Arc<CommandIds>,
    /// Where an answer for all is posted that comes too late for the interaction.
    channel: Option<ChannelId>,
}

impl Responder {
    pub(super) fn new(
        bot: &Bot,
        guild: Option<serenity::all::GuildId>,
        id: u64,
        token: &str,
    ) -> Self {
        let commands = guild.map(|guild| bot.command_ids(GuildId(guild.get())));
        Self {
            rest: bot.rest.clone(),
            application: bot.application,
            id,
            token: token.to_owned(),
            commands: commands.unwrap_or_default(),
            channel: None,
        }
    }

    /// The same, which posts a late answer for all in this channel.
    #[must_use]
    pub(super) fn in_channel(mut self, channel: ChannelId) -> Self {
        self.channel = Some(channel);
        self
    }

    /// Answers with what `work` gives; its error goes to the one who asked.
    pub(super) async fn answer(
        &self,
        visibility: Visibility,
        work: impl Future<Output = Result<Body, Refusal>>,
    ) -> Result<(), RestError> {
        tokio::pin!(work);
        let soon = tokio::time::timeout(DEFER_AFTER, &mut work).await;
        match soon {
            Ok(Ok(body)) => return self.say(&body, visibility).await,
            Ok(Err(error)) => return self.refuse(error).await,
            Err(_) => self.defer(visibility).await?,
        }
        match (work.await, visibility) {
            (Ok(body), Visibility::Public) => self.edit_or_post(&body).await,
            (Ok(body), Visibility::Ephemeral) => self.edit_original(&body).await,
            (Err(error), Visibility::Ephemeral) => {
                self.edit_original(&Body::sentence(error.0)).await
            }
            (Err(error), Visibility::Public) => {
                self.delete_original().await?;
                self.refuse_later(error).await
            }
        }
    }

    /// Puts what `work` gives in place of the message whose button was pressed; its error goes to the one who pressed.
    pub(super) async fn replace(
        &self,
        work: impl Future<Output = Result<Body, Refusal>>,
    ) -> Result<(), RestError> {
        tokio::pin!(work);
        let soon = tokio::time::timeout(DEFER_AFTER, &mut work).await;
        match soon {
            Ok(Ok(body)) => return self.update(&body).await,
            Ok(Err(error)) => return self.refuse(error).await,
            Err(_) => self.acknowledge().await?,
        }
        match work.await {
            Ok(body) => self.edit_original(&body).await,
            Err(error) => self.refuse_later(error).await,
        }
    }

    /// Puts `body` in place of "is thinking". Discord takes that for 15 minutes; later it is a message of its own.
    async fn edit_or_post(&self, body: &Body) -> Result<(), RestError> {
        let edited = self.edit_original(body).await;
        match (&edited, self.channel) {
            (Err(RestError::Refused { .. }), Some(channel)) => {
                let body = body.linked(&self.commands);
                self.rest.post(channel, &body).await.map(drop)
            }
            _ => edited,
        }
    }

    /// Responds with a message.
    pub(super) async fn say(&self, body: &Body, visibility: Visibility) -> Result<(), RestError> {
        self.respond(4, Some((body, visibility))).await
    }

    /// Responds with the reason why nothing was done, which is for the one who asked.
    pub(super) async fn refuse(&self, refusal: Refusal) -> Result<(), RestError> {
        self.say(&Body::sentence(refusal.0), Visibility::Ephemeral)
            .await
    }

    /// [`Self::refuse`], where there is a response already.
    pub(super) async fn refuse_later(&self, refusal: Refusal) -> Result<(), RestError> {
        self.follow_up(&Body::sentence(refusal.0), Visibility::Ephemeral)
            .await
            .map(drop)
    }

    /// Responds by putting `body` in place of the message whose button was pressed.
    pub(super) async fn update(&self, body: &Body) -> Result<(), RestError> {
        self.respond(7, Some((body, Visibility::Public))).await
    }

    /// Takes note of a press; what comes of it is shown later.
    pub(super) async fn acknowledge(&self) -> Result<(), RestError> {
        self.respond(6, None).await
    }

    /// Tells that an answer is coming.
    pub(super) async fn defer(&self, visibility: Visibility) -> Result<(), RestError> {
        let data = match visibility {
            Visibility::Public => json!({}),
            Visibility::Ephemeral => json!({"flags": 64}),
        };
        self.callback(json!({"type": 5, "data": data}), &[]).await
    }

    /// Responds by opening a form.
    pub(super) async fn open(&self, modal: &Modal) -> Result<(), RestError> {
        self.callback(json!({"type": 9, "data": modal.to_json()}), &[])
            .await
    }

    /// Puts `body` in place of the first response, or of the message whose press was acknowledged.
    pub(super) async fn edit_original(&self, body: &Body) -> Result<(), RestError> {
        let route = route::edit_original(self.application, self.id, &self.token);
        let json = body.linked(&self.commands).to_json();
        let kept = self.send(route, json, body).await;
        if let Err(error) = &kept {
            warn!(%error, "failed to answer a deferred interaction");
        }
        kept.map(drop)
    }

    pub(super) async fn follow_up(
        &self,
        body: &Body,
        visibility: Visibility,
    ) -> Result<Value, RestError> {
        let route = route::followup(self.application, self.id, &self.token);
        self.send(route, self.json_for(body, visibility), body)
            .await
    }

    /// The id of the first response.
    pub(super) async fn original(&self) -> Result<MessageId, RestError> {
        let route = route::read_original(self.application, self.id, &self.token);
        message_id(&self.rest.call(route).await?)
    }

    async fn delete_original(&self) -> Result<(), RestError> {
        let route = route::delete_original(self.application, self.id, &self.token);
        self.rest.call(route).await.map(drop)
    }

    async fn respond(&self, kind: u8, body: Option<(&Body, Visibility)>) -> Result<(), RestError> {
        match body {
            None => self.callback(json!({"type": kind}), &[]).await,
            Some((body, visibility)) => {
                let data = Value::Object(self.json_for(body, visibility));
                self.callback(json!({"type": kind, "data": data}), &body.files)
                    .await
            }
        }
    }

    async fn callback(
        &self,
        json: Value,
        files: &[crate::discord::rest::body::File],
    ) -> Result<(), RestError> {
        let route = route::interaction_callback(self.id, &self.token);
        let request = Request::new(route, Urgency::Durable)
            .json(json)
            .files(files);
        let outcome = self.rest.send(request).await.map(drop);
        if let Err(error) = &outcome {
            warn!(%error, "failed to answer an interaction");
        }
        outcome
    }

    async fn send(
        &self,
        route: route::Route,
        json: Map<String, Value>,
        body: &Body,
    ) -> Result<Value, RestError> {
        let request = Request::new(route, Urgency::Durable)
            .json(json)
            .files(&body.files);
        self.rest.send(request).await
    }

    fn json_for(&self, body: &Body, visibility: Visibility) -> Map<String, Value> {
        let body = body.linked(&self.commands);
        match visibility {
            Visibility::Public => body.to_json(),
            Visibility::Ephemeral => body.to_ephemeral_json(),
        }
    }
}
