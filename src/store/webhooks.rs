//! Webhooks: who made them, how their deliveries are signed, and what is done with them. No row holds a secret.
//!
//! Deliveries are in `deliveries`.

use chorus_webhook::Kind;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};

use super::Store;
use super::batch::Batch;
use super::codec::{from_json, now, parsed, stamp, text, time, time_option, words};
use super::deliveries::fail_waiting;
use super::error::StoreError;
use super::outbox::queue;
use super::schedules::SchedulePlace;
use super::statement::checked;
use super::work::RunPost;
use crate::domain::{AgentId, ChannelId, ProfileRef, UserId};

words! {
    WebhookState {
        Active = "active",
        /// It takes nothing until a person resumes it.
        Paused = "paused",
    }
}

words! {
    /// What is done with a delivery.
    WebhookThen {
        /// A model gets it, in a turn.
        Turn = "turn",
        /// It is posted.
        Post = "post",
    }
}

/// How a webhook treats its deliveries. The column `options` holds it as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookOptions {
    /// Events that are wanted, with commas between them; `None` are all.
    pub events: Option<String>,
    /// A value that is wanted: `<pointer>=<value>`.
    pub matches: Option<String>,
    pub place: SchedulePlace,
    /// The thread in which it posts; `None` is the agent's channel.
    pub thread: Option<ChannelId>,
    /// A JSON pointer: deliveries with the same value there share a conversation.
    pub thread_by: Option<String>,
    /// Seconds within which deliveries are joined.
    pub debounce: u32,
    pub then: WebhookThen,
}

/// A webhook that a person makes.
#[derive(Clone, Debug, PartialEq)]
pub struct NewWebhook {
    /// 32 hexadecimal digits.
    pub id: String,
    pub agent: AgentId,
    /// Unique among the agent's webhooks.
    pub name: String,
    pub owner: UserId,
    pub kind: Kind,
    pub prompt: String,
    pub options: WebhookOptions,
    /// The profile that decides besides the agent's own.
    pub profile: ProfileRef,
}

/// A webhook as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct WebhookRow {
    pub webhook: NewWebhook,
    /// The version of its secret.
    pub version: i64,
    /// When the version was raised last: the secret before it is valid for a day more.
    pub rotated_at: Option<DateTime<Utc>>,
    pub state: WebhookState,
    /// Why it is paused.
    pub reason: Option<String>,
    /// Runs in a row that failed.
    pub failures: u32,
    pub created_at: DateTime<Utc>,
}

impl Store {
    /// Adds a webhook.
    pub async fn insert_webhook(&self, new: NewWebhook) -> Result<WebhookRow, StoreError> {
        let profile = match &new.profile {
            ProfileRef::Named(name) => name.clone(),
            ProfileRef::Custom(lists) => Value::Object(lists.clone()).to_string(),
        };
        let mut batch = Batch::default();
        batch.add(query!(
            "INSERT INTO webhooks (id, agent_id, name, owner_id, kind, prompt, options, profile, version, state, created_at)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, 'active', ?) RETURNING *",
            new.id,
            new.agent.to_string(),
            new.name,
            new.owner.as_i64(),
            new.kind.word(),
            new.prompt,
            options_json(&new.options),
            profile,
            now()
        ));
        self.row(batch, webhook_row).await
    }

    /// Returns the webhooks of an agent, by name.
    pub async fn webhooks(&self, agent: AgentId) -> Result<Vec<WebhookRow>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM webhooks WHERE agent_id = ? ORDER BY name",
            agent.to_string()
        ));
        query.all(&mut *self.reader().await?, webhook_row).await
    }

    /// Returns the webhook with this id.
    pub async fn webhook(&self, id: &str) -> Result<Option<WebhookRow>, StoreError> {
        let query = checked(query!("SELECT * FROM webhooks WHERE id = ?", id.to_owned()));
        query.first(&mut *self.reader().await?, webhook_row).await
    }

    /// Pauses an active webhook, and queues what people are told of it. What waits for its turn has failed. Returns whether it
    /// was active.
    pub async fn pause_webhook(
        &self,
        id: &str,
        reason: &str,
        told: Option<RunPost>,
    ) -> Result<bool, StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE webhooks SET state = 'paused', reason = ? WHERE id = ? AND state = 'active'",
                reason.to_owned(),
                id.to_owned()
            ))
            .must_change("active webhook");
        fail_waiting(&mut batch, id, "paused");
        if let Some(told) = told {
            queue(&mut batch, told.channel, None, told.part, None)?;
        }
        match self.run(batch).await {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Resumes a paused webhook, and forgets its failures.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] where it is not paused.
    pub async fn resume_webhook(&self, id: &str) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE webhooks SET state = 'active', reason = NULL, failures = 0 WHERE id = ? AND state = 'paused'",
                id.to_owned()
            ))
            .must_change("paused webhook");
        self.run(batch).await.map(drop)
    }

    /// Raises the version of a webhook's secret.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] where it was deleted.
    pub async fn rotate_webhook(
        &self,
        id: &str,
        at: DateTime<Utc>,
    ) -> Result<WebhookRow, StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE webhooks SET version = version + 1, rotated_at = ? WHERE id = ? RETURNING *",
                stamp(at),
                id.to_owned()
            ))
            .must_change("webhook");
        self.row(batch, webhook_row).await
    }

    /// Deletes a webhook with its deliveries.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] where it was deleted before.
    pub async fn delete_webhook(&self, id: &str) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!("DELETE FROM webhooks WHERE id = ?", id.to_owned()))
            .must_change("webhook");
        batch.add(query!(
            "DELETE FROM deliveries WHERE webhook_id = ?",
            id.to_owned()
        ));
        batch.add(query!(
            "DELETE FROM webhook_threads WHERE webhook_id = ?",
            id.to_owned()
        ));
        self.run(batch).await.map(drop)
    }

    /// Returns the Discord thread for a value of `thread_by`.
    pub async fn webhook_thread(
        &self,
        webhook: &str,
        value: &str,
    ) -> Result<Option<ChannelId>, StoreError> {
        let query = checked(query!(
            "SELECT thread_id FROM webhook_threads WHERE webhook_id = ? AND value = ?",
            webhook.to_owned(),
            value.to_owned()
        ));
        query
            .first(&mut *self.reader().await?, |row| {
                Ok(ChannelId::from_i64(row.try_get("thread_id")?))
            })
            .await
    }

    /// Counts the threads that a webhook has opened since a moment.
    pub async fn webhook_threads_since(
        &self,
        webhook: &str,
        since: DateTime<Utc>,
    ) -> Result<u32, StoreError> {
        let query = checked(query!(
            "SELECT count(*) AS count FROM webhook_threads WHERE webhook_id = ? AND opened_at > ?",
            webhook.to_owned(),
            stamp(since)
        ));
        query
            .one(&mut *self.reader().await?, super::statement::scalar)
            .await
    }

    /// Stores the Discord thread for a value of `thread_by`, in place of one that is gone.
    pub async fn keep_webhook_thread(
        &self,
        webhook: &str,
        value: &str,
        (thread, at): (ChannelId, DateTime<Utc>),
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "INSERT INTO webhook_threads (webhook_id, value, thread_id, opened_at) VALUES (?, ?, ?, ?)
                 ON CONFLICT (webhook_id, value) DO UPDATE SET thread_id = excluded.thread_id, opened_at = excluded.opened_at",
            webhook.to_owned(),
            value.to_owned(),
            thread.as_i64(),
            stamp(at)
        ));
        self.run(batch).await.map(drop)
    }
}

/// Deletes the webhooks of an agent.
pub(super) fn delete_webhooks(batch: &mut Batch, agent: AgentId) {
    let agent = agent.to_string();
    batch.add(query!(
        "DELETE FROM deliveries WHERE webhook_id IN (SELECT id FROM webhooks WHERE agent_id = ?)",
        &agent
    ));
    batch.add(query!(
        "DELETE FROM webhook_threads WHERE webhook_id IN (SELECT id FROM webhooks WHERE agent_id = ?)",
        &agent
    ));
    batch.add(query!("DELETE FROM webhooks WHERE agent_id = ?", &agent));
}

pub(super) fn webhook_row(row: &SqliteRow) -> Result<WebhookRow, StoreError> {
    let kind = text(row, "kind")?;
    let kind = kind
        .parse()
        .map_err(|()| StoreError::bad_row("kind", "no webhook is of this kind"))?;
    Ok(WebhookRow {
        webhook: NewWebhook {
            id: row.try_get("id")?,
            agent: parsed(row, "agent_id")?,
            name: row.try_get("name")?,
            owner: UserId::from_i64(row.try_get("owner_id")?),
            kind,
            prompt: row.try_get("prompt")?,
            options: options(row)?,
            profile: profile(text(row, "profile")?)?,
        },
        version: row.try_get("version")?,
        rotated_at: time_option(row, "rotated_at")?,
        state: parsed(row, "state")?,
        reason: row.try_get("reason")?,
        failures: row.try_get("failures")?,
        created_at: time(row, "created_at")?,
    })
}

fn profile(text: &str) -> Result<ProfileRef, StoreError> {
    if !text.starts_with('{') {
        return Ok(ProfileRef::Named(text.to_owned()));
    }
    serde_json::from_str(text).map_err(|_| StoreError::bad_row("profile", "it is no profile"))
}

fn options_json(options: &WebhookOptions) -> String {
    json!({
        "events": options.events,
        "match": options.matches,
        "where": options.place.as_str(),
        "thread": options.thread.map(ChannelId::as_i64),
        "thread_by": options.thread_by,
        "debounce": options.debounce,
        "then": options.then.as_str(),
    })
    .to_string()
}

fn options(row: &SqliteRow) -> Result<WebhookOptions, StoreError> {
    let json: Value = from_json(row, "options")?;
    let word = |name: &str| json[name].as_str().unwrap_or_default();
    let option = |name: &str| json[name].as_str().map(str::to_owned);
    let bad = |error: super::UnknownWord| StoreError::bad_row("options", error);
    Ok(WebhookOptions {
        events: option("events"),
        matches: option("match"),
        place: word("where").parse().map_err(bad)?,
        thread: json["thread"].as_i64().map(ChannelId::from_i64),
        thread_by: option("thread_by"),
        debounce: json["debounce"]
            .as_u64()
            .and_then(|seconds| seconds.try_into().ok())
            .unwrap_or_default(),
        then: word("then").parse().map_err(bad)?,
    })
}
