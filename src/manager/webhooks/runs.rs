//! Begins what waits: deliveries for the same conversation together, once no further one is to be expected.

use std::sync::Arc;

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use tokio_util::sync::CancellationToken;
use tracing::{info, instrument, warn};

use super::Webhooks;
use super::rendering;
use crate::agent::event::Event;
use crate::agent::{
    AgentCommand, HandedKey, HandedRun, Overrides, Place, Planned, PlannedKind, PlannedRun, Prompt,
    Source, Trigger, failure_line, pausing_after,
};
use crate::domain::ChannelId;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::planned_work::owner_may_talk;
use crate::manager::timer::Timer;
use crate::store::{
    DeliveriesKey, DeliveryState, MOST_JOINED, NewPart, RunEnd, RunEnded, RunPost, SlotState,
    StoreError, WaitingDeliveries, WaitingDelivery, WebhookRow, WebhookThen,
};
use crate::text::{self, escape};

/// How long bodies are kept, and rows.
const BODIES: TimeDelta = TimeDelta::days(7);
const ROWS: TimeDelta = TimeDelta::days(30);
/// How long to wait after the ledger failed.
const AFTER_FAILURE: TimeDelta = TimeDelta::seconds(30);

/// Whether deliveries were begun in this round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    Now,
    /// They are with their agent, or were given back a moment ago.
    Before,
}

/// Deliveries that begin together.
struct Taken {
    row: WebhookRow,
    thread: Option<String>,
    deliveries: Vec<WaitingDelivery>,
    key: DeliveriesKey,
    since: DateTime<Utc>,
}

impl Webhooks {
    /// Serves all webhooks until `stop`. What was stored before is begun first.
    pub(crate) async fn serve(self: Arc<Self>, stop: CancellationToken) {
        let mut timer = Timer::new(self.deps.clock.clone());
        let mut forgotten = None;
        loop {
            self.forget_old(&mut forgotten).await;
            let next = match self.begin_due().await {
                Ok(next) => next,
                Err(error) => {
                    warn!("failed to begin deliveries: {error}");
                    Some(self.deps.clock.now() + AFTER_FAILURE)
                }
            };
            let handed = &self.deps.deliveries.handed;
            let again = handed.next_try();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = handed.rings() => {}
                () = tokio::time::sleep(again.unwrap_or_default()), if again.is_some() => {}
                () = timer.until(Some(self.look_again(next))) => {}
            }
        }
    }

    /// Returns when to look again: at the next deliveries, or once a day at old ones.
    fn look_again(&self, next: Option<DateTime<Utc>>) -> DateTime<Utc> {
        let tomorrow = self.deps.clock.now() + TimeDelta::days(1);
        next.map_or(tomorrow, |next| next.min(tomorrow))
    }

    /// Begins everything that is due now. Returns when something is due next.
    async fn begin_due(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        loop {
            let now = self.deps.clock.now();
            let mut next = None;
            let mut any = false;
            for waiting in self.deps.store.waiting_deliveries().await? {
                if is_due(&waiting, now) {
                    any |= self.begin(waiting).await? == Begun::Now;
                } else {
                    next = [next, Some(waiting.due_at)].into_iter().flatten().min();
                }
            }
            if !any {
                return Ok(next);
            }
        }
    }

    #[instrument(skip_all, fields(webhook = %waiting.webhook.webhook.name))]
    async fn begin(&self, waiting: WaitingDeliveries) -> Result<Begun, StoreError> {
        let (row, thread) = (waiting.webhook, waiting.thread);
        let key = HandedKey::Deliveries {
            webhook: row.webhook.id.clone(),
            thread: thread.clone(),
        };
        let Some(handed) = self.deps.deliveries.handed.hand_over(key) else {
            return Ok(Begun::Before);
        };
        let next = self
            .deps
            .store
            .next_deliveries(&row.webhook.id, thread.as_deref());
        let deliveries = next.await?;
        if deliveries.is_empty() {
            // Others of the same conversation have begun meanwhile.
            handed.settled();
            return Ok(Begun::Before);
        }
        let taken = Taken {
            key: DeliveriesKey {
                webhook: row.webhook.id.clone(),
                rows: deliveries.iter().map(|one| one.row).collect(),
            },
            row,
            thread,
            deliveries,
            since: waiting.since,
        };
        self.begin_taken(taken, handed).await?;
        Ok(Begun::Now)
    }

    async fn begin_taken(&self, taken: Taken, handed: HandedRun) -> Result<(), StoreError> {
        let agent = self.directory.agent(taken.row.webhook.agent);
        let Some((agent, channel)) = agent.and_then(|agent| Some((agent.clone(), agent.channel?)))
        else {
            self.fail(&taken, None, "the agent has no channel").await?;
            handed.settled();
            return Ok(());
        };
        if !self.servers.serves(agent.guild) {
            let reason = "this server is not served";
            let end = RunEnd::unseen(taken.key.clone(), SlotState::Skipped, reason);
            self.end(&taken, end).await?;
            handed.settled();
            return Ok(());
        }
        let identity = self.directory.identity(&agent);
        if !owner_may_talk(&self.deps, &identity, taken.row.webhook.owner).await {
            let reason = "its owner left this server or may no longer talk to the agent";
            self.pause(&taken.row, channel, reason).await?;
            handed.settled();
            return Ok(());
        }
        let place = match self
            .place(&taken.row, taken.thread.as_deref(), channel)
            .await
        {
            Ok(place) => place,
            Err(why) => {
                self.fail(&taken, Some(channel), &why.to_string()).await?;
                handed.settled();
                return Ok(());
            }
        };
        match taken.row.webhook.options.then {
            WebhookThen::Post => {
                let channel = match place {
                    Place::Channel(channel) => channel,
                    Place::Conversation(_) | Place::NewBranch(_) => channel,
                };
                self.post(&taken, channel).await?;
                handed.settled();
                Ok(())
            }
            WebhookThen::Turn => {
                self.hand_over(taken, &agent, (channel, place), handed)
                    .await
            }
        }
    }

    /// Puts deliveries into their agent's mailbox, whose turn they become (W2).
    async fn hand_over(
        &self,
        taken: Taken,
        agent: &AgentSummary,
        (channel, place): (ChannelId, Place),
        handed: HandedRun,
    ) -> Result<(), StoreError> {
        let taken = Arc::new(taken);
        let (told, outputs) = (Arc::clone(&taken), self.deps.services.outputs.clone());
        let name = agent.name.clone();
        let note = tokio::task::spawn_blocking(move || {
            rendering::note(&told.row, &told.deliveries, (&outputs, &name))
        });
        let text = match note.await {
            Ok(text) => text,
            Err(error) => {
                warn!("failed to read deliveries: {error}");
                self.fail(&taken, Some(channel), "its deliveries cannot be read")
                    .await?;
                handed.settled();
                return Ok(());
            }
        };
        let planned = Planned {
            run: PlannedRun::of_deliveries(taken.key.clone(), &taken.row, taken.since),
            text,
            handed,
        };
        let source = Source::Planned(Box::new(planned));
        let prompt = Prompt {
            trigger: Trigger::new(source, Overrides::default()),
            place,
        };
        let command = AgentCommand::Prompt(Box::new(prompt));
        // After a start it first has to be decided how interrupted turns go on.
        let Some(command) = self.routing.unless_held(agent, command) else {
            return Ok(());
        };
        match self.routing.deliver(agent, command).await {
            Ok(()) => Ok(()),
            Err(error) => {
                let why = error.to_string();
                self.fail(&taken, Some(channel), why.trim_end_matches('.'))
                    .await
            }
        }
    }

    /// Posts deliveries, and ends them.
    async fn post(&self, taken: &Taken, channel: ChannelId) -> Result<(), StoreError> {
        let size = taken.deliveries.iter().map(|one| one.body.len()).sum();
        let part = text::long::work_on(size, || rendering::post(&taken.row, &taken.deliveries));
        let end = RunEnd {
            reason: None,
            posts: vec![RunPost { channel, part }],
            ..RunEnd::unseen(taken.key.clone(), SlotState::Done, "")
        };
        self.end(taken, end).await?;
        self.deps.emit(Event::Outbox(channel));
        Ok(())
    }

    /// Ends deliveries that failed. The third failure in a row pauses the webhook.
    async fn fail(
        &self,
        taken: &Taken,
        channel: Option<ChannelId>,
        reason: &str,
    ) -> Result<(), StoreError> {
        warn!("deliveries failed: {reason}");
        let webhook = &taken.row.webhook;
        let kind = PlannedKind::Webhook(webhook.kind);
        let first = taken.key.rows.first().copied().unwrap_or_default();
        let id = format!("delivery {first}");
        let posts = channel.map(|channel| RunPost {
            channel,
            part: NewPart::notice(failure_line(kind, &webhook.name, reason, &id)),
        });
        let named = (webhook.name.as_str(), webhook.owner);
        let end = RunEnd {
            posts: posts.into_iter().collect(),
            pausing: Some(pausing_after(reason, kind, named, channel)),
            ..RunEnd::unseen(taken.key.clone(), SlotState::Failed, reason)
        };
        self.end(taken, end).await?;
        if let Some(channel) = channel {
            self.deps.emit(Event::Outbox(channel));
        }
        Ok(())
    }

    async fn end(&self, taken: &Taken, end: RunEnd) -> Result<(), StoreError> {
        let outcome = match end.state {
            SlotState::Done => DeliveryState::Done,
            _ => DeliveryState::Failed,
        };
        let ended = self.deps.store.finish_run(end).await?;
        if ended != RunEnded::Before {
            let (kind, count) = (taken.row.webhook.kind, taken.key.rows.len() as u64);
            self.deps.deliveries.count(kind, outcome, count);
        }
        if ended == RunEnded::AndPaused {
            info!("a webhook is paused: its runs keep failing");
        }
        self.deps.deliveries.handed.ring();
        Ok(())
    }

    /// Pauses a webhook and says so in its agent's channel.
    async fn pause(
        &self,
        row: &WebhookRow,
        channel: ChannelId,
        reason: &str,
    ) -> Result<(), StoreError> {
        let name = escape::code(&row.webhook.name);
        let told = RunPost {
            channel,
            part: NewPart::notice(format!(
                "Webhook {name} of <@{}> is paused: {reason}. Members with Manage Server can resume it with `/hook resume` or delete it.",
                row.webhook.owner
            )),
        };
        let store = &self.deps.store;
        if store
            .pause_webhook(&row.webhook.id, reason, Some(told))
            .await?
        {
            self.deps.emit(Event::Outbox(channel));
        }
        Ok(())
    }

    /// Removes old bodies and rows, once a day.
    async fn forget_old(&self, forgotten: &mut Option<NaiveDate>) {
        let now = self.deps.clock.now();
        if forgotten.replace(now.date_naive()) == Some(now.date_naive()) {
            return;
        }
        let store = &self.deps.store;
        if let Err(error) = store.forget_deliveries(now - BODIES, now - ROWS).await {
            warn!("failed to remove old deliveries: {error}");
        }
    }
}

/// Says whether no further delivery is waited for. After the clock was set back, what waits is due.
fn is_due(waiting: &WaitingDeliveries, now: DateTime<Utc>) -> bool {
    waiting.due_at <= now || waiting.since > now || waiting.count >= MOST_JOINED
}
