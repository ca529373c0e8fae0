//! Takes slots when they are due, and does what their schedules are for.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use futures_util::stream::{self, StreamExt as _};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tracing::{info, instrument, warn};

use super::Schedules;
use super::gates::GateRun;
use super::slots::{self, was_away};
use crate::agent::event::Event;
use crate::agent::{HandedKey, HandedRun, PlannedKind, due_line, failure_line, pausing_after};
use crate::domain::{AgentId, ChannelId, UserId};
use crate::manager::directory::registry::AgentSummary;
use crate::manager::planned_work::owner_may_talk;
use crate::manager::timer::Timer;
use crate::store::{
    NewPart, Repeats, RunEnd, RunEnded, RunOf, RunPost, RunsOf, ScheduleKind, ScheduleRow,
    SlotState, StoreError,
};
use crate::text::escape;

/// Slots and runs that are worked on at once: their writes share commits.
const AT_ONCE: usize = 16;
/// How long rows of runs are kept.
const KEPT: TimeDelta = TimeDelta::days(30);
/// How long to wait after the ledger failed.
const AFTER_FAILURE: TimeDelta = TimeDelta::seconds(30);

/// Whether a run was begun in this round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    Now,
    /// It is with its agent, or was given back a moment ago.
    Before,
}

/// Whether owners may still talk to agents, as far as it was looked up for one round.
type Owners = Mutex<HashMap<(AgentId, UserId), bool>>;

impl Schedules {
    /// Serves all schedules until `stop`. What was due before is begun first.
    pub(crate) async fn serve(self: Arc<Self>, stop: CancellationToken) {
        let mut timer = Timer::new(self.deps.clock.clone());
        let mut forgotten = None;
        if let Err(error) = self.close_interrupted_gates().await {
            warn!("failed to close the runs whose gates were interrupted: {error}");
        }
        loop {
            self.forget_old(&mut forgotten).await;
            let next = match self.begin_due(&stop).await {
                Ok(next) => next,
                Err(error) => {
                    warn!("failed to begin what is due: {error}");
                    Some(self.deps.clock.now() + AFTER_FAILURE)
                }
            };
            let again = self.deps.planned.next_try();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = self.deps.planned.rings() => {}
                () = tokio::time::sleep(again.unwrap_or_default()), if again.is_some() => {}
                () = timer.until(next) => {}
            }
        }
        self.gates.tasks.close();
        self.gates.tasks.wait().await;
    }

    /// Begins everything that is due now. Returns when something is due next.
    async fn begin_due(
        self: &Arc<Self>,
        stop: &CancellationToken,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        let store = &self.deps.store;
        loop {
            let now = self.deps.clock.now();
            let schedules = store.due_schedules(now).await?;
            let owners = Owners::default();
            let (mut any, taking) = (!schedules.is_empty(), stream::iter(schedules));
            let taken: Vec<_> = taking
                .map(|row| self.take(row, now))
                .buffer_unordered(AT_ONCE)
                .collect()
                .await;
            taken.into_iter().collect::<Result<(), _>>()?;
            for which in [RunsOf::Reminders, RunsOf::Work] {
                let runs = store.due_runs(now, which).await?;
                let begun: Vec<_> = stream::iter(runs)
                    .map(|of| self.begin(of, &owners, stop))
                    .buffer_unordered(AT_ONCE)
                    .collect()
                    .await;
                let begun = begun.into_iter().collect::<Result<Vec<Begun>, _>>()?;
                any |= begun.contains(&Begun::Now);
            }
            if !any {
                return store.next_due(now).await;
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
        let work = match row.schedule.kind {
            ScheduleKind::Reminder => RunsOf::Reminders,
            ScheduleKind::Turn | ScheduleKind::Post => RunsOf::Work,
        };
        let taken = store
            .take_slots(row.id, first, due.slots, due.next, work)
            .await?;
        self.deps
            .planned
            .count(SlotState::Skipped, taken.unwrap_or_default());
        Ok(())
    }

    #[instrument(skip_all, fields(schedule = of.run.key.schedule, slot = %of.run.key.slot))]
    async fn begin(
        self: &Arc<Self>,
        of: RunOf,
        owners: &Owners,
        stop: &CancellationToken,
    ) -> Result<Begun, StoreError> {
        let key = of.run.key;
        // A reminder is done at once; everything else is with its agent meanwhile.
        let handed = match of.schedule.schedule.kind {
            ScheduleKind::Reminder => None,
            ScheduleKind::Turn | ScheduleKind::Post => {
                match self.deps.planned.hand_over(HandedKey::Slot(key)) {
                    Some(handed) => Some(handed),
                    None => return Ok(Begun::Before),
                }
            }
        };
        let settled = |handed: Option<HandedRun>| {
            if let Some(handed) = handed {
                handed.settled();
            }
            Ok(Begun::Now)
        };
        let schedule = &of.schedule.schedule;
        let agent = self.directory.agent(schedule.agent);
        let Some((agent, channel)) = agent.and_then(|agent| Some((agent.clone(), agent.channel?)))
        else {
            self.fail(&of, None, "the agent has no channel").await?;
            return settled(handed);
        };
        if !self.servers.serves(agent.guild) {
            let reason = "this server is not accepted";
            let end = RunEnd::unseen(key, SlotState::Skipped, reason);
            self.end(&of, end).await?;
            return settled(handed);
        }
        let channel = schedule.thread.unwrap_or(channel);
        if !self.owner_may_talk(&agent, schedule.owner, owners).await {
            let reason = "its owner left this server or may no longer talk to the agent";
            self.pause(&of.schedule, channel, reason).await?;
            // It was paused already: the run must not wait for ever.
            let end = RunEnd::unseen(key, SlotState::Skipped, "paused");
            self.end(&of, end).await?;
            return settled(handed);
        }
        match (handed, schedule.gate.clone()) {
            (None, _) => self.remind(&of, channel).await?,
            (Some(handed), Some(gate)) => {
                let (this, stop) = (Arc::clone(self), stop.clone());
                let run = GateRun {
                    of,
                    agent,
                    channel,
                    handed,
                };
                self.gates
                    .tasks
                    .spawn(async move { this.pass_gate(run, gate, stop).await });
            }
            (Some(handed), None) => self.hand_over(of, &agent, None, handed).await?,
        }
        Ok(Begun::Now)
    }

    /// S3: posts a reminder, and ends its run.
    async fn remind(&self, of: &RunOf, channel: ChannelId) -> Result<(), StoreError> {
        let late = self.late_line(of).unwrap_or_default();
        let owner = of.schedule.schedule.owner;
        let text = &of.schedule.schedule.body;
        let mut part = NewPart::notice(format!("{late}<@{owner}> Reminder: {text}"));
        part.body.mention = Some(owner);
        let end = RunEnd {
            reason: None,
            posts: vec![RunPost { channel, part }],
            ..RunEnd::unseen(of.run.key, SlotState::Done, "")
        };
        let late = (self.deps.clock.now() - of.run.due_at).to_std();
        self.deps.planned.count_late(late.unwrap_or_default());
        if self.end(of, end).await? != RunEnded::Before {
            info!("a reminder is posted");
            self.deps.emit(Event::Outbox(channel));
        }
        Ok(())
    }

    /// Ends a run that failed. The third failure in a row pauses the schedule.
    pub(super) async fn fail(
        &self,
        of: &RunOf,
        channel: Option<ChannelId>,
        reason: &str,
    ) -> Result<(), StoreError> {
        warn!("a run of a schedule failed: {reason}");
        let schedule = &of.schedule.schedule;
        let id = format!("{}/{}", of.run.key.schedule, of.run.key.slot.timestamp());
        let posts = channel.map(|channel| RunPost {
            channel,
            part: NewPart::notice(failure_line(
                PlannedKind::Schedule,
                &schedule.name,
                reason,
                &id,
            )),
        });
        let end = RunEnd {
            posts: posts.into_iter().collect(),
            repeats: match schedule.gate {
                Some(_) => Repeats::OnceADay,
                None => Repeats::Always,
            },
            pausing: Some(pausing_after(
                reason,
                PlannedKind::Schedule,
                (&schedule.name, schedule.owner),
                channel,
            )),
            ..RunEnd::unseen(of.run.key, SlotState::Failed, reason)
        };
        self.end(of, end).await?;
        if let Some(channel) = channel {
            self.deps.emit(Event::Outbox(channel));
        }
        Ok(())
    }

    /// Ends a run; the next one of its schedule may begin.
    pub(super) async fn end(&self, of: &RunOf, end: RunEnd) -> Result<RunEnded, StoreError> {
        let state = end.state;
        let ended = self.deps.store.finish_run(end).await?;
        if ended != RunEnded::Before {
            self.deps.planned.count(state, 1);
        }
        if ended == RunEnded::AndPaused {
            info!(
                schedule = of.run.key.schedule,
                "a schedule is paused: its runs keep failing"
            );
        }
        self.deps.planned.ring();
        Ok(ended)
    }

    /// Returns the line before what comes late, if it does.
    pub(super) fn late_line(&self, of: &RunOf) -> Option<String> {
        let is_late = was_away(of.run.due_at, self.deps.clock.now(), self.started);
        is_late.then(|| due_line(of.run.key.slot.timestamp()))
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
        let may = owner_may_talk(&self.deps, &identity, owner).await;
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
