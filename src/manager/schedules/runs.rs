//! Takes slots when they are due, and does what their schedules are for.

use std::collections::HashMap;

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use futures_util::stream::{self, StreamExt as _};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tracing::{info, instrument, warn};

use super::Schedules;
use super::slots::{self, was_away};
use super::timer::Timer;
use crate::agent::event::Event;
use crate::domain::{AgentId, ChannelId, Participant, UserId};
use crate::manager::directory::registry::AgentSummary;
use crate::store::{NewPart, RunPost, ScheduleKind, ScheduleRow, SlotRun, SlotState, StoreError};
use crate::text::escape;

/// Slots and runs that are worked on at once: their writes share commits.
const AT_ONCE: usize = 16;
/// How long rows of runs are kept.
const KEPT: TimeDelta = TimeDelta::days(30);
/// How long to wait after the ledger failed.
const AFTER_FAILURE: TimeDelta = TimeDelta::seconds(30);
/// Failures in a row after which a schedule is paused.
const MOST_FAILURES: u32 = 3;

/// Whether owners may still talk to agents, as far as it was looked up for one round.
type Owners = Mutex<HashMap<(AgentId, UserId), bool>>;

impl Schedules {
    /// Serves all schedules until `stop`. What was due before is begun first.
    pub(crate) async fn serve(&self, stop: CancellationToken) {
        let mut timer = Timer::new(self.deps.clock.clone());
        let mut forgotten = None;
        loop {
            self.forget_old(&mut forgotten).await;
            let next = match self.begin_due().await {
                Ok(next) => next,
                Err(error) => {
                    warn!("failed to begin what is due: {error}");
                    Some(self.deps.clock.now() + AFTER_FAILURE)
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.changed.notified() => {}
                () = timer.until(next) => {}
            }
        }
    }

    /// Begins everything that is due now. Returns when something is due next.
    async fn begin_due(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let store = &self.deps.store;
        loop {
            let now = self.deps.clock.now();
            let schedules = store.due_schedules(now).await?;
            let owners = Owners::default();
            let (any, taking) = (!schedules.is_empty(), stream::iter(schedules));
            let taken: Vec<_> = taking
                .map(|row| self.take(row, now))
                .buffer_unordered(AT_ONCE)
                .collect()
                .await;
            taken.into_iter().collect::<Result<(), _>>()?;
            let runs = store.due_runs(now).await?;
            let any = any || !runs.is_empty();
            let begun: Vec<_> = stream::iter(runs)
                .map(|(run, row)| self.begin(run, row, &owners))
                .buffer_unordered(AT_ONCE)
                .collect()
                .await;
            begun.into_iter().collect::<Result<(), _>>()?;
            if !any {
                return store.next_due().await;
            }
        }
    }

    /// S1: stores the slots of a schedule that are due, and moves it to the next one.
    async fn take(&self, row: ScheduleRow, now: DateTime<Utc>) -> Result<(), StoreError> {
        let store = &self.deps.store;
        let (Some(first), Some(plan)) = (row.next_at, slots::plan(&row)) else {
            warn!(
                schedule = row.id,
                "the rule or the zone of a schedule cannot be read: it is paused"
            );
            let reason = "its time or its zone cannot be read";
            return store.pause_schedule(row.id, reason, None).await.map(drop);
        };
        let due = plan.due(first, now, self.started);
        store
            .take_slots(row.id, first, due.slots, due.next)
            .await
            .map(drop)
    }

    #[instrument(skip_all, fields(schedule = run.schedule, slot = %run.slot))]
    async fn begin(
        &self,
        run: SlotRun,
        row: ScheduleRow,
        owners: &Owners,
    ) -> Result<(), StoreError> {
        let agent = self.directory.agent(row.schedule.agent);
        let Some((agent, channel)) = agent.and_then(|agent| Some((agent.clone(), agent.channel?)))
        else {
            return self
                .fail(&run, &row, None, "the agent has no channel")
                .await;
        };
        if !self.servers.serves(agent.guild) {
            let reason = Some("this server is not served");
            let ended = self
                .deps
                .store
                .finish_run(&run, SlotState::Skipped, reason, Vec::new());
            return ended.await.map(drop);
        }
        let channel = row.schedule.thread.unwrap_or(channel);
        if !self
            .owner_may_talk(&agent, row.schedule.owner, owners)
            .await
        {
            let reason = "its owner left this server or may no longer talk to the agent";
            self.pause(&row, channel, reason).await?;
            // It was paused already: the run must not wait for ever.
            let (state, reason) = (SlotState::Skipped, Some("paused"));
            let ended = self.deps.store.finish_run(&run, state, reason, Vec::new());
            return ended.await.map(drop);
        }
        match row.schedule.kind {
            ScheduleKind::Reminder => self.remind(&run, &row, channel).await,
            // Nothing makes these yet.
            ScheduleKind::Turn | ScheduleKind::Post => {
                self.fail(&run, &row, Some(channel), "this kind is not known")
                    .await
            }
        }
    }

    /// S3: posts a reminder, and ends its run.
    async fn remind(
        &self,
        run: &SlotRun,
        row: &ScheduleRow,
        channel: ChannelId,
    ) -> Result<(), StoreError> {
        let late = if was_away(run.due_at, self.deps.clock.now(), self.started) {
            format!("-# due <t:{}:R>, I was away\n", run.slot.timestamp())
        } else {
            String::new()
        };
        let owner = row.schedule.owner;
        let mut part = NewPart::notice(format!("{late}<@{owner}> Reminder: {}", row.schedule.body));
        part.body.mention = Some(owner);
        let posts = vec![RunPost { channel, part }];
        if self
            .deps
            .store
            .finish_run(run, SlotState::Done, None, posts)
            .await?
        {
            info!("a reminder is posted");
            self.deps.emit(Event::Outbox(channel));
        }
        Ok(())
    }

    /// Ends a run that failed. The third failure in a row pauses the schedule.
    async fn fail(
        &self,
        run: &SlotRun,
        row: &ScheduleRow,
        channel: Option<ChannelId>,
        reason: &str,
    ) -> Result<(), StoreError> {
        warn!("a run of a schedule failed: {reason}");
        let name = escape::code(&row.schedule.name);
        let posts = channel.map(|channel| RunPost {
            channel,
            part: NewPart::notice(format!("-# Schedule {name} failed: {reason}.")),
        });
        let posts = posts.into_iter().collect();
        let ended = self
            .deps
            .store
            .finish_run(run, SlotState::Failed, Some(reason), posts);
        if ended.await? {
            channel
                .into_iter()
                .for_each(|channel| self.deps.emit(Event::Outbox(channel)));
        }
        if row.failures + 1 >= MOST_FAILURES {
            let reason =
                format!("{MOST_FAILURES} runs in a row failed, the last one because {reason}");
            self.deps
                .store
                .pause_schedule(row.id, &reason, None)
                .await?;
        }
        Ok(())
    }

    /// Pauses a schedule and says so where it posts.
    async fn pause(
        &self,
        row: &ScheduleRow,
        channel: ChannelId,
        reason: &str,
    ) -> Result<(), StoreError> {
        let name = escape::code(&row.schedule.name);
        let told = RunPost {
            channel,
            part: NewPart::notice(format!(
                "{name} of <@{}> is paused: {reason}. Members with Manage Server can resume it with `/schedule resume` or delete it.",
                row.schedule.owner
            )),
        };
        if self
            .deps
            .store
            .pause_schedule(row.id, reason, Some(told))
            .await?
        {
            self.deps.emit(Event::Outbox(channel));
        }
        Ok(())
    }

    /// Says whether the owner of a schedule may talk to its agent now. While Discord does not describe the server, nobody is
    /// taken for gone.
    async fn owner_may_talk(&self, agent: &AgentSummary, owner: UserId, owners: &Owners) -> bool {
        let mut known = owners.lock().await;
        if let Some(may) = known.get(&(agent.id, owner)) {
            return *may;
        }
        let identity = self.directory.identity(agent);
        let may = match self.deps.participant(agent.guild, owner).await {
            Participant::Member(person) => self.deps.access(&identity).await.admits(&person),
            Participant::Unknown(_) => !self.deps.knows(agent.guild),
        };
        known.insert((agent.id, owner), may);
        may
    }

    /// Removes old rows, once a day.
    async fn forget_old(&self, forgotten: &mut Option<NaiveDate>) {
        let now = self.deps.clock.now();
        if forgotten.replace(now.date_naive()) == Some(now.date_naive()) {
            return;
        }
        if let Err(error) = self.deps.store.forget_slot_runs(now - KEPT).await {
            warn!("failed to remove old runs of schedules: {error}");
        }
    }
}
