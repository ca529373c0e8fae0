//! Checks what arrives at the listener, and stores it (W1). Everything about it is foreign.
//!
//! An unknown id and a wrong signature get the same answer after the same work.

use chorus_webhook::{Delivery, Filter, Kind, Payload, Pointer, Secret};
use chrono::{DateTime, TimeDelta, Utc};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tracing::{info, warn};

use super::Webhooks;
use super::rate::Bucket;
use super::rendering::pack;
use crate::manager::directory::registry::AgentSummary;
use crate::store::{
    Arrived, DeliveryId, DeliveryState, NewDelivery, StoreError, WebhookRow, WebhookState,
    WebhookThen,
};
use crate::text::long;

/// How long the secret before the last rotation is valid.
const OLD_SECRET: TimeDelta = TimeDelta::hours(24);
/// How long the same body of kind `bearer` is the same delivery.
const SAME_BODY: TimeDelta = TimeDelta::minutes(10);
/// Deliveries of one webhook that wait or work.
const MOST_WAITING: u32 = 500;
/// Seconds after which a sender may try again that came when too many waited.
const LATER: u64 = 60;
/// Characters of a value of `thread_by` that are kept; of a longer one, its hash.
const LONGEST_VALUE: usize = 100;

/// A request at the listener.
pub struct Incoming<'a> {
    /// The id in its path.
    pub id: &'a str,
    /// Returns a header's value; names are in lower case.
    pub header: &'a (dyn Fn(&str) -> Option<&'a str> + Sync),
    pub body: &'a [u8],
}

impl std::fmt::Debug for Incoming<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Incoming")
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// What the sender is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncomingAnswer {
    /// The id is not known, or the signature is wrong.
    Unauthorized,
    /// It is paused, the budget of the day is used up, or the agent is gone.
    Unavailable,
    /// Too many came.
    TooMany {
        /// Seconds until one more may come.
        retry_after: u64,
    },
    /// It was here before.
    Seen,
    /// It is stored.
    Accepted,
}

/// What was read of a body.
struct Read {
    is_wanted: bool,
    thread: Option<String>,
    packed: Vec<u8>,
}

impl Webhooks {
    /// Checks a delivery, and stores it before it is answered.
    ///
    /// # Errors
    ///
    /// When the ledger fails: nothing was accepted.
    pub(crate) async fn receive(
        &self,
        incoming: &Incoming<'_>,
    ) -> Result<IncomingAnswer, StoreError> {
        let now = self.deps.clock.now();
        let row = self.deps.store.webhook(incoming.id).await?;
        let verified = long::work_on(incoming.body.len(), || {
            self.verified(row.as_ref(), incoming, now)
        });
        let (Some(row), Some(delivery)) = (row, verified) else {
            return Ok(IncomingAnswer::Unauthorized);
        };
        if !self.may_take(&row).await? {
            return Ok(IncomingAnswer::Unavailable);
        }
        if let Err(wait) = self.take_one(&row.webhook.id) {
            return Ok(IncomingAnswer::TooMany { retry_after: wait });
        }
        let event = row
            .webhook
            .kind
            .event_header()
            .and_then(|name| (incoming.header)(name))
            .map(|event| event.chars().take(100).collect::<String>());
        let read = {
            let _alone = self.reading.acquire().await;
            long::work_on(incoming.body.len(), || {
                read(&row, event.as_deref(), incoming.body)
            })
        };
        let id = match row.webhook.kind {
            Kind::Bearer => DeliveryId::Hash {
                hash: delivery,
                since: now - SAME_BODY,
            },
            Kind::Github | Kind::Gitea | Kind::Standard | Kind::Chorus => {
                DeliveryId::Given(delivery)
            }
        };
        let new = NewDelivery {
            webhook: row.webhook.id.clone(),
            id,
            received_at: now,
            due_at: now + TimeDelta::seconds(row.webhook.options.debounce.into()),
            event,
            thread: read.thread,
            body: read.is_wanted.then_some(read.packed),
        };
        self.store(&row, new).await
    }

    /// Stores a delivery (W1).
    pub(super) async fn store(
        &self,
        row: &WebhookRow,
        new: NewDelivery,
    ) -> Result<IncomingAnswer, StoreError> {
        let arrived = self.deps.store.store_delivery(new, MOST_WAITING).await?;
        Ok(match arrived {
            Arrived::Seen => IncomingAnswer::Seen,
            Arrived::Full => {
                warn!(webhook = %row.webhook.name, "a delivery was turned away: {MOST_WAITING} wait already");
                IncomingAnswer::TooMany { retry_after: LATER }
            }
            Arrived::Filtered => {
                let kind = row.webhook.kind;
                self.deps.deliveries.count(kind, DeliveryState::Filtered, 1);
                IncomingAnswer::Accepted
            }
            Arrived::Stored => {
                info!(webhook = %row.webhook.name, "a delivery is stored");
                self.deps.deliveries.handed.ring();
                IncomingAnswer::Accepted
            }
        })
    }

    /// Returns the delivery's id if its signature is right. Without a webhook the same work is done in vain.
    fn verified(
        &self,
        row: Option<&WebhookRow>,
        incoming: &Incoming<'_>,
        now: DateTime<Utc>,
    ) -> Option<String> {
        let kind = row.map_or(Kind::Github, |row| row.webhook.kind);
        let secrets = self.secrets(row, incoming.id, now)?;
        let delivery = Delivery {
            header: incoming.header,
            body: incoming.body,
            at: now,
        };
        let id = kind.verify(&secrets, &delivery);
        id.filter(|_| row.is_some())
    }

    /// Returns the secrets that are valid now: the latest, and the one before for a day.
    fn secrets(
        &self,
        row: Option<&WebhookRow>,
        id: &str,
        now: DateTime<Utc>,
    ) -> Option<Vec<Secret>> {
        let key = self.key.get()?;
        let version = row.map_or(1, |row| row.version);
        let rotated = row.and_then(|row| row.rotated_at);
        let mut secrets = vec![key.secret(id, version)];
        if rotated.is_some_and(|at| now - at < OLD_SECRET) {
            secrets.push(key.secret(id, version - 1));
        }
        Some(secrets)
    }

    /// Says whether a webhook takes deliveries now.
    async fn may_take(&self, row: &WebhookRow) -> Result<bool, StoreError> {
        if row.state == WebhookState::Paused {
            return Ok(false);
        }
        let Some(agent) = self.directory.agent(row.webhook.agent) else {
            return Ok(false);
        };
        if !self.servers.serves(agent.guild) {
            return Ok(false);
        }
        match row.webhook.options.then {
            WebhookThen::Post => Ok(true),
            WebhookThen::Turn => self.has_budget(&agent).await,
        }
    }

    pub(super) async fn has_budget(&self, agent: &AgentSummary) -> Result<bool, StoreError> {
        let identity = self.directory.identity(agent);
        self.deps.may_begin_unattended(&identity).await
    }

    /// Counts one delivery.
    ///
    /// # Errors
    ///
    /// Seconds until one more may come.
    fn take_one(&self, id: &str) -> Result<(), u64> {
        let now = Instant::now();
        let mut rates = self.rates.lock();
        let bucket = rates
            .entry(id.to_owned())
            .or_insert_with(|| Bucket::full(now));
        bucket
            .take(now)
            .map_err(|wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0))
    }
}

/// Reads what a delivery says, as far as that decides where it goes.
fn read(row: &WebhookRow, event: Option<&str>, body: &[u8]) -> Read {
    let options = &row.webhook.options;
    let payload = Payload::new(row.webhook.kind, event, body);
    let filter = Filter::new(
        row.webhook.kind,
        options.events.as_deref(),
        options.matches.as_deref(),
    );
    // It was checked when it was stored; one that cannot be read lets nothing pass.
    let is_wanted = filter.is_ok_and(|filter| filter.wants(&payload));
    Read {
        is_wanted,
        thread: thread_of(row, &payload),
        packed: if is_wanted { pack(body) } else { Vec::new() },
    }
}

/// Returns the value of `thread_by`; of a long one, its hash.
pub(super) fn thread_of(row: &WebhookRow, payload: &Payload) -> Option<String> {
    let pointer: Pointer = row.webhook.options.thread_by.as_deref()?.parse().ok()?;
    let value = pointer.value(payload.json())?;
    if value.chars().count() <= LONGEST_VALUE {
        return Some(value);
    }
    Some(format!("{:x}", Sha256::digest(value)))
}
