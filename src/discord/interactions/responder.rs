//! Answers to commands, buttons and forms: within three seconds, and to the right eyes.
//!
//! An answer that is ready soon is the first response itself. One that takes longer is promised first ("is thinking")
//! and put in place of the promise. An error is for one person's eyes even where the answer would have been for all.

use std::future::Future;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tracing::warn;

use crate::discord::bot::Refusal;
use crate::discord::rest::body::Body;
use crate::discord::rest::route;
use crate::discord::rest::{Request, Rest, RestError, Urgency, message_id};
use crate::domain::MessageId;

/// Discord waits three seconds for the first response; half of it is for the way there.
const PROMISE_AFTER: Duration = Duration::from_millis(1_500);

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
}

impl Responder {
    pub(super) fn new(rest: &Rest, application: u64, id: u64, token: &str) -> Self {
        Self {
            rest: rest.clone(),
            application,
            id,
            token: token.to_owned(),
        }
    }

    /// Answers with what `work` gives; its error goes to the one who asked.
    pub(super) async fn answer(
        &self,
        eyes: Visibility,
        work: impl Future<Output = Result<Body, Refusal>>,
    ) -> Result<(), RestError> {
        tokio::pin!(work);
        let soon = tokio::time::timeout(PROMISE_AFTER, &mut work).await;
        match soon {
            Ok(Ok(body)) => return self.say(&body, eyes).await,
            Ok(Err(error)) => {
                return self
                    .say(&Body::sentence(error.0), Visibility::Ephemeral)
                    .await;
            }
            Err(_) => self.promise(eyes).await?,
        }
        match (work.await, eyes) {
            (Ok(body), _) => self.keep_promise(&body).await,
            (Err(error), Visibility::Ephemeral) => {
                self.keep_promise(&Body::sentence(error.0)).await
            }
            (Err(error), Visibility::Public) => {
                self.take_promise_back().await?;
                self.follow_up(&Body::sentence(error.0), Visibility::Ephemeral)
                    .await
                    .map(drop)
            }
        }
    }

    /// Puts what `work` gives in place of the message whose button was pressed; its error goes to the one who pressed.
    pub(super) async fn replace(
        &self,
        work: impl Future<Output = Result<Body, Refusal>>,
    ) -> Result<(), RestError> {
        tokio::pin!(work);
        let soon = tokio::time::timeout(PROMISE_AFTER, &mut work).await;
        match soon {
            Ok(Ok(body)) => return self.update(&body).await,
            Ok(Err(error)) => {
                return self
                    .say(&Body::sentence(error.0), Visibility::Ephemeral)
                    .await;
            }
            Err(_) => self.acknowledge().await?,
        }
        match work.await {
            Ok(body) => self.keep_promise(&body).await,
            Err(error) => {
                let told = self
                    .follow_up(&Body::sentence(error.0), Visibility::Ephemeral)
                    .await;
                told.map(drop)
            }
        }
    }

    /// Responds with a message.
    pub(super) async fn say(&self, body: &Body, eyes: Visibility) -> Result<(), RestError> {
        self.respond(4, Some((body, eyes))).await
    }

    /// Responds by putting `body` in place of the message whose button was pressed.
    pub(super) async fn update(&self, body: &Body) -> Result<(), RestError> {
        self.respond(7, Some((body, Visibility::Public))).await
    }

    /// Takes note of a press; what comes of it is shown later.
    pub(super) async fn acknowledge(&self) -> Result<(), RestError> {
        self.respond(6, None).await
    }

    /// Promises an answer.
    pub(super) async fn promise(&self, eyes: Visibility) -> Result<(), RestError> {
        let data = match eyes {
            Visibility::Public => json!({}),
            Visibility::Ephemeral => json!({"flags": 64}),
        };
        self.callback(json!({"type": 5, "data": data}), &[]).await
    }

    pub(super) async fn form(&self, form: Value) -> Result<(), RestError> {
        self.callback(json!({"type": 9, "data": form}), &[]).await
    }

    /// Puts `body` in place of the first response, or of the message whose press was acknowledged.
    pub(super) async fn keep_promise(&self, body: &Body) -> Result<(), RestError> {
        let route = route::edit_original(self.application, self.id, &self.token);
        let kept = self.send(route, body.to_json(), body).await;
        if let Err(error) = &kept {
            warn!(%error, "failed to answer a deferred interaction");
        }
        kept.map(drop)
    }

    pub(super) async fn follow_up(
        &self,
        body: &Body,
        eyes: Visibility,
    ) -> Result<Value, RestError> {
        let route = route::followup(self.application, self.id, &self.token);
        self.send(route, json_for(body, eyes), body).await
    }

    /// The id of the first response.
    pub(super) async fn original(&self) -> Result<MessageId, RestError> {
        let route = route::read_original(self.application, self.id, &self.token);
        message_id(&self.rest.call(route).await?)
    }

    async fn take_promise_back(&self) -> Result<(), RestError> {
        let route = route::delete_original(self.application, self.id, &self.token);
        self.rest.call(route).await.map(drop)
    }

    async fn respond(&self, kind: u8, body: Option<(&Body, Visibility)>) -> Result<(), RestError> {
        match body {
            None => self.callback(json!({"type": kind}), &[]).await,
            Some((body, eyes)) => {
                let data = Value::Object(json_for(body, eyes));
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
}

fn json_for(body: &Body, eyes: Visibility) -> Map<String, Value> {
    match eyes {
        Visibility::Public => body.to_json(),
        Visibility::Ephemeral => body.to_ephemeral_json(),
    }
}
