//! Answers commands, buttons and forms: within a second, and visible only to the intended people.
//!
//! An answer that is ready soon is the first response itself. One that takes longer is deferred first ("is thinking")
//! and then replaces that. Only one person sees an error, even if the answer would have been public.

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

/// How long to wait for an answer before the interaction is acknowledged: well within a second even if a request takes
/// 200 ms. Discord itself waits for three seconds.
pub(super) const HEARD_WITHIN: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visibility {
    /// Everyone in the channel.
    Public,
    Ephemeral,
}

/// One interaction to answer.
#[derive(Clone)]
pub(super) struct Responder {
    bot: Bot,
    rest: Rest,
    application: u64,
    id: u64,
    token: String,
    /// The commands of the server it comes from.
    commands: Arc<CommandIds>,
    /// Where a public answer is posted if it comes too late for the interaction.
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
            bot: bot.clone(),
            rest: bot.rest.clone(),
            application: bot.application,
            id,
            token: token.to_owned(),
            commands: commands.unwrap_or_default(),
            channel: None,
        }
    }

    /// Returns the same responder, which posts a late public answer in this channel.
    #[must_use]
    pub(super) fn in_channel(mut self, channel: ChannelId) -> Self {
        self.channel = Some(channel);
        self
    }

    /// Answers with the result of `work`; only the person who asked sees an error.
    pub(super) async fn answer(
        &self,
        visibility: Visibility,
        work: impl Future<Output = Result<Body, Refusal>>,
    ) -> Result<(), RestError> {
        tokio::pin!(work);
        let soon = tokio::time::timeout(HEARD_WITHIN, &mut work).await;
        match soon {
            Ok(Ok(body)) => {
                let said = self.say(&body, visibility).await;
                return self.or_post(said, visibility, &body).await;
            }
            Ok(Err(error)) => return self.refuse(error).await,
            Err(_) => {}
        }
        let promised = self.defer(visibility).await;
        // Whether or not the acknowledgement arrived, `work` is finished.
        let done = work.await;
        if let Err(error) = promised {
            return match done {
                Ok(body) => self.or_post(Err(error), visibility, &body).await,
                Err(_) => Err(error),
            };
        }
        match (done, visibility) {
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

    /// Shows the result of `work` in the channel, for work that begins there: returns the id of that message, and the
    /// rest of the result. `None`, with a message to people, if there is no id.
    pub(super) async fn show<T>(
        &self,
        work: impl Future<Output = Result<(Body, T), Refusal>>,
    ) -> Option<(MessageId, T)> {
        tokio::pin!(work);
        // A failed answer was logged where it failed; there is no one else to notify.
        let (shown, rest) = match tokio::time::timeout(HEARD_WITHIN, &mut work).await {
            Ok(Ok((body, rest))) => {
                self.say(&body, Visibility::Public).await.ok()?;
                (self.original().await, rest)
            }
            Ok(Err(refusal)) => {
                let _ = self.refuse(refusal).await;
                return None;
            }
            Err(_) => {
                self.defer(Visibility::Public).await.ok()?;
                match work.await {
                    Ok((body, rest)) => (self.put_original(&body).await, rest),
                    Err(refusal) => {
                        let _ = self.delete_original().await;
                        let _ = self.refuse_later(refusal).await;
                        return None;
                    }
                }
            }
        };
        match shown {
            Ok(shown) => Some((shown, rest)),
            Err(error) => {
                let why = format!("Nothing was started: {error}. Try again.");
                let _ = self.refuse_later(Refusal(why)).await;
                None
            }
        }
    }

    /// Replaces the message whose button was pressed with the result of `work`; only the person who pressed sees an
    /// error.
    pub(super) async fn replace(
        &self,
        work: impl Future<Output = Result<Body, Refusal>>,
    ) -> Result<(), RestError> {
        tokio::pin!(work);
        let soon = tokio::time::timeout(HEARD_WITHIN, &mut work).await;
        match soon {
            Ok(Ok(body)) => return self.update(&body).await,
            Ok(Err(error)) => return self.refuse(error).await,
            Err(_) => {}
        }
        let heard = self.acknowledge().await;
        let done = work.await;
        heard?;
        match done {
            Ok(body) => self.edit_original(&body).await,
            Err(error) => self.refuse_later(error).await,
        }
    }

    /// Replaces "is thinking" with `body`. Discord accepts that for 15 minutes; later it is posted as a new message.
    async fn edit_or_post(&self, body: &Body) -> Result<(), RestError> {
        let edited = self.edit_original(body).await;
        match edited {
            Err(RestError::Refused { .. }) => self.post_instead(edited, body).await,
            _ => edited,
        }
    }

    /// Handles the outcome of a first answer: if it is public and can no longer be given, it is posted in the channel.
    /// If the interaction already has an answer, another program with the same token gave it and has told the person.
    async fn or_post(
        &self,
        answered: Result<(), RestError>,
        visibility: Visibility,
        body: &Body,
    ) -> Result<(), RestError> {
        match &answered {
            Err(error @ RestError::Refused { .. })
                if visibility == Visibility::Public && !error.is_answered_already() =>
            {
                self.post_instead(answered, body).await
            }
            _ => answered,
        }
    }

    async fn post_instead(
        &self,
        answered: Result<(), RestError>,
        body: &Body,
    ) -> Result<(), RestError> {
        let Some(channel) = self.channel else {
            return answered;
        };
        let body = body.linked(&self.commands);
        self.rest.post(channel, &body).await.map(drop)
    }

    /// Removes the buttons from the message whose press was acknowledged. This needs no permission in the channel.
    pub(super) async fn remove_buttons(&self) -> Result<(), RestError> {
        let route = route::edit_original(self.application, self.id, &self.token);
        let json = json!({"components": []});
        self.rest.call_with(route, json).await.map(drop)
    }

    /// Responds with a message.
    pub(super) async fn say(&self, body: &Body, visibility: Visibility) -> Result<(), RestError> {
        self.respond(4, Some((body, visibility))).await
    }

    /// Responds with the reason why nothing was done, visible only to the person who asked.
    pub(super) async fn refuse(&self, refusal: Refusal) -> Result<(), RestError> {
        self.say(&Body::sentence(refusal.0), Visibility::Ephemeral)
            .await
    }

    /// Works like [`Self::refuse`], if there already is a response.
    pub(super) async fn refuse_later(&self, refusal: Refusal) -> Result<(), RestError> {
        self.follow_up(&Body::sentence(refusal.0), Visibility::Ephemeral)
            .await
            .map(drop)
    }

    /// Responds by replacing the message whose button was pressed with `body`.
    pub(super) async fn update(&self, body: &Body) -> Result<(), RestError> {
        self.respond(7, Some((body, Visibility::Public))).await
    }

    /// Acknowledges a press; its outcome is shown later.
    pub(super) async fn acknowledge(&self) -> Result<(), RestError> {
        self.respond(6, None).await
    }

    /// Acknowledges the interaction: an answer follows.
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

    /// Replaces the first response, or the message whose press was acknowledged, with `body`.
    pub(super) async fn edit_original(&self, body: &Body) -> Result<(), RestError> {
        self.put_original(body).await.map(drop)
    }

    /// Works like [`Self::edit_original`], and also returns the id of that message.
    async fn put_original(&self, body: &Body) -> Result<MessageId, RestError> {
        let route = route::edit_original(self.application, self.id, &self.token);
        let json = body.linked(&self.commands).to_json();
        let kept = self.send(route, json, body).await;
        if let Err(error) = &kept {
            warn!(%error, "failed to answer a deferred interaction");
        }
        message_id(&kept?)
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

    /// Returns the id of the first response.
    async fn original(&self) -> Result<MessageId, RestError> {
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
            if error.is_answered_already() {
                self.bot.was_answered_by_another();
            }
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
