//! Reminders and schedules: planned after a confirmation, listed, paused, resumed and deleted by people.
//!
//! ```text
//! plan (checks, stores nothing) ─▶ a card ─▶ create (limits, audit log, one row) ─▶ runs: one timer for all
//! ```
//!
//! Times are read by `chorus-schedule`. What happens at a slot is in `runs`, which slots there are in `slots`.

mod runs;
mod slots;
mod timer;

use std::sync::Arc;

use chorus_schedule::missed::Missed;
use chorus_schedule::{Rule, Zone};
use chrono::{DateTime, Utc};
use tokio::sync::{Mutex, Notify};

use crate::agent::AgentDeps;
use crate::domain::{ChannelId, GuildId, Person};
use crate::manager::audit::Audit;
use crate::manager::directory::Directory;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::manager::servers::Servers;
use crate::store::{AuditRow, NewSchedule, ScheduleKind, ScheduleRow, ScheduleState, SlotRun};
use crate::text::{self, escape};
use crate::tools::Change;

/// Reminders of a person with one agent.
const MOST_REMINDERS: u32 = 25;
/// Schedules and reminders of a server.
const MOST_OF_SERVER: u32 = 500;
/// Characters of a reminder's text.
const LONGEST_REMINDER: usize = 1_000;
/// The shortest time between two slots, in seconds.
const CLOSEST: u32 = 300;
/// Slots that a card shows.
const SHOWN_BEFORE: usize = 3;
/// Slots that `/schedule show` shows.
const SHOWN_LATER: usize = 5;
/// Runs that `/schedule show` shows.
const RUNS_SHOWN: u32 = 10;

/// Reminders and schedules of all agents.
pub(crate) struct Schedules {
    deps: Arc<AgentDeps>,
    directory: Arc<Directory>,
    servers: Arc<Servers>,
    audit: Arc<Audit>,
    /// Something changed that the timer waits for.
    changed: Notify,
    /// Held from the counting of what there is to the insertion of one more.
    creating: Mutex<()>,
    /// When the daemon started: what was due before was missed.
    started: DateTime<Utc>,
}

/// A reminder or schedule that waits for its confirmation. Nothing of it is stored.
#[derive(Clone, Debug)]
pub struct Draft {
    pub agent: AgentSummary,
    pub owner: Person,
    pub kind: ScheduleKind,
    /// The time as it was written.
    pub when: String,
    pub rule: Rule,
    pub zone: Zone,
    /// What is posted.
    pub body: String,
    /// The thread in which it is posted.
    pub thread: Option<ChannelId>,
    /// The first slots, as they are now.
    pub next: Vec<DateTime<Utc>>,
}

/// A schedule with what people ask of it.
#[derive(Clone, Debug)]
pub struct ScheduleView {
    pub row: ScheduleRow,
    /// Its rule in words.
    pub words: String,
    /// The next slots.
    pub next: Vec<DateTime<Utc>>,
    /// The latest runs, newest first.
    pub runs: Vec<SlotRun>,
}

impl Schedules {
    pub(crate) fn new(
        deps: Arc<AgentDeps>,
        directory: Arc<Directory>,
        servers: Arc<Servers>,
        audit: Arc<Audit>,
    ) -> Self {
        Self {
            started: deps.clock.now(),
            deps,
            directory,
            servers,
            audit,
            changed: Notify::new(),
            creating: Mutex::new(()),
        }
    }

    /// Returns the zone named, else that of the server, else that of `config.json` or of the machine.
    ///
    /// # Errors
    ///
    /// What to write instead.
    pub(crate) fn zone(&self, guild: GuildId, named: Option<&str>) -> Result<Zone, ManagerError> {
        if let Some(name) = named {
            return Zone::named(name).map_err(|error| {
                ManagerError::Refused(format!(
                    "`timezone` cannot be {}: {error}.",
                    escape::code(&text::one_line(name, 60))
                ))
            });
        }
        let settings = self.deps.settings_of(guild);
        let server = crate::config::effective::server(&settings, &self.deps.config.load());
        match server.timezone {
            None => Ok(Zone::of_machine()),
            Some(name) => Zone::named(&name).map_err(|error| {
                ManagerError::Refused(format!(
                    "The time zone {} of this server cannot be used: {error}. An administrator can set another one with `/settings timezone`.",
                    escape::code(&name)
                ))
            }),
        }
    }

    /// Checks a reminder that a person asks for. Nothing is stored.
    ///
    /// # Errors
    ///
    /// Why it cannot be, and what could be written instead.
    pub(crate) fn plan_reminder(
        &self,
        agent: AgentSummary,
        owner: Person,
        (when, body): (String, String),
        zone: Option<&str>,
        thread: Option<ChannelId>,
    ) -> Result<Draft, ManagerError> {
        let body = body.trim().to_owned();
        let length = body.chars().count();
        if length == 0 {
            return Err(ManagerError::refused("The reminder has no text."));
        }
        if length > LONGEST_REMINDER {
            return Err(ManagerError::Refused(format!(
                "The text of a reminder has at most {LONGEST_REMINDER} characters; this one has {length}."
            )));
        }
        let zone = self.zone(agent.guild, zone)?;
        let now = self.deps.clock.now();
        let rule = read(&when, now, &zone)?;
        if rule.is_closer_than(CLOSEST) {
            return Err(ManagerError::Refused(format!(
                "Nothing may be planned more often than every {} minutes.",
                CLOSEST / 60
            )));
        }
        Ok(Draft {
            next: rule.upcoming(now, &zone, SHOWN_BEFORE),
            kind: ScheduleKind::Reminder,
            agent,
            owner,
            when,
            rule,
            zone,
            body,
            thread,
        })
    }

    /// Stores what a person confirmed.
    ///
    /// # Errors
    ///
    /// When a limit is reached, its time has passed, or it cannot be stored.
    pub(crate) async fn create(&self, draft: Draft) -> Result<ScheduleRow, ManagerError> {
        let _creating = self.creating.lock().await;
        let agent = self
            .directory
            .agent(draft.agent.id)
            .ok_or(ManagerError::NoAgentHere)?;
        self.has_room(&agent, &draft).await?;
        let now = self.deps.clock.now();
        let rule = draft.rule.beginning_at(now);
        let next_at = rule.next_after(now, &draft.zone).ok_or_else(|| {
            ManagerError::refused("Its time has passed meanwhile, so nothing was stored.")
        })?;
        let new = NewSchedule {
            agent: agent.id,
            name: self.free_name(&agent).await?,
            owner: draft.owner.id,
            kind: draft.kind,
            when_text: draft.when,
            rule: rule.to_string(),
            timezone: draft.zone.name().to_owned(),
            body: draft.body,
            thread: draft.thread,
            missed: Missed::default().to_string(),
            next_at,
        };
        let row = self.row(
            "schedule_new",
            &agent,
            &draft.owner,
            ("", &new.name, &described(&new)),
        );
        let created = self
            .audit
            .audited(row, async {
                Ok(self.deps.store.insert_schedule(new).await?)
            })
            .await?;
        self.changed.notify_one();
        Ok(created)
    }

    /// Returns the schedules and reminders of an agent, by name.
    pub(crate) async fn of(&self, agent: &AgentSummary) -> Result<Vec<ScheduleView>, ManagerError> {
        let rows = self.deps.store.schedules(agent.id).await?;
        Ok(rows.into_iter().map(|row| self.view(row, 1)).collect())
    }

    /// Returns one of them with its latest runs.
    ///
    /// # Errors
    ///
    /// When the agent has none of this name.
    pub(crate) async fn shown(
        &self,
        agent: &AgentSummary,
        name: &str,
    ) -> Result<ScheduleView, ManagerError> {
        let row = self.named(agent, name).await?;
        let runs = self.deps.store.slot_runs(row.id, RUNS_SHOWN).await?;
        Ok(ScheduleView {
            runs,
            ..self.view(row, SHOWN_LATER)
        })
    }

    /// Pauses, resumes or deletes one, or all that the person may (`all`; not for deletion). Returns the names.
    ///
    /// # Errors
    ///
    /// When there is none of this name, it is not theirs, or it cannot be stored.
    pub(crate) async fn change(
        &self,
        agent: &AgentSummary,
        name: &str,
        what: ScheduleChange,
        by: &Person,
    ) -> Result<Vec<String>, ManagerError> {
        let chosen = if name == ALL && what != ScheduleChange::Delete {
            let rows = self.deps.store.schedules(agent.id).await?;
            let applies = |row: &ScheduleRow| row.state == what.applies_to() && is_theirs(row, by);
            rows.into_iter().filter(applies).collect()
        } else {
            let row = self.named(agent, name).await?;
            may_change(&row, by)?;
            if what != ScheduleChange::Delete && row.state != what.applies_to() {
                return Err(ManagerError::Refused(format!(
                    "{} is {} already.",
                    escape::code(&row.schedule.name),
                    row.state.as_str()
                )));
            }
            vec![row]
        };
        let mut names = Vec::new();
        for row in chosen {
            let old = format!("{}: {}", row.state.as_str(), described(&row.schedule));
            let audited = self.row(
                what.command(),
                agent,
                by,
                (&old, &row.schedule.name, what.new_state()),
            );
            self.audit
                .audited(audited, self.change_one(&row, what))
                .await?;
            names.push(row.schedule.name);
        }
        self.changed.notify_one();
        Ok(names)
    }

    async fn change_one(
        &self,
        row: &ScheduleRow,
        what: ScheduleChange,
    ) -> Result<(), ManagerError> {
        let store = &self.deps.store;
        match what {
            ScheduleChange::Pause => {
                store.pause_schedule(row.id, "by a person", None).await?;
            }
            ScheduleChange::Resume => {
                let next = slots::plan(row).and_then(|plan| {
                    let now = self.deps.clock.now();
                    let rule = plan.rule.next_after(now, &plan.zone);
                    // A single time that came while it was paused is due now.
                    rule.or((!plan.rule.recurs()).then_some(now))
                });
                let next = next.ok_or_else(|| {
                    ManagerError::refused("It has no further time. Delete it and plan a new one.")
                })?;
                store.resume_schedule(row.id, next).await?;
            }
            ScheduleChange::Delete => store.end_schedule(row.id).await?,
        }
        Ok(())
    }

    async fn named(&self, agent: &AgentSummary, name: &str) -> Result<ScheduleRow, ManagerError> {
        let mut rows = self.deps.store.schedules(agent.id).await?;
        if let Some(found) = rows.iter().position(|row| row.schedule.name == name) {
            return Ok(rows.swap_remove(found));
        }
        let near = text::near(name, rows.iter().map(|row| row.schedule.name.as_str()));
        let near = near.map(|near| format!(" Did you mean {}?", escape::code(near)));
        Err(ManagerError::Refused(format!(
            "This agent has no schedule {}.{}",
            escape::code(&text::one_line(name, 60)),
            near.unwrap_or_default()
        )))
    }

    fn view(&self, row: ScheduleRow, most: usize) -> ScheduleView {
        let plan = slots::plan(&row);
        let next = match (&plan, row.next_at) {
            (Some(plan), Some(first)) if row.state == ScheduleState::Active => {
                let later = plan.rule.upcoming(first, &plan.zone, most - 1);
                std::iter::once(first).chain(later).collect()
            }
            _ => Vec::new(),
        };
        ScheduleView {
            words: plan.map_or_else(String::new, |plan| plan.rule.in_words()),
            next,
            runs: Vec::new(),
            row,
        }
    }

    async fn has_room(&self, agent: &AgentSummary, draft: &Draft) -> Result<(), ManagerError> {
        let store = &self.deps.store;
        let counts = store
            .count_schedules(agent.id, draft.owner.id, agent.guild)
            .await?;
        let full = if counts.reminders_of_person >= MOST_REMINDERS {
            format!("You have {MOST_REMINDERS} reminders with this agent, which is the limit.")
        } else if counts.of_server >= MOST_OF_SERVER {
            format!("This server has {MOST_OF_SERVER} schedules and reminders, which is the limit.")
        } else {
            return Ok(());
        };
        Err(ManagerError::Refused(format!(
            "{full} `/schedule list` shows them, `/schedule delete` deletes one."
        )))
    }

    /// `reminder`, `reminder-2`, …: the first that is free.
    async fn free_name(&self, agent: &AgentSummary) -> Result<String, ManagerError> {
        let rows = self.deps.store.schedules(agent.id).await?;
        let names = std::iter::once("reminder".to_owned())
            .chain((2..).map(|number| format!("reminder-{number}")));
        let is_free = |name: &String| rows.iter().all(|row| row.schedule.name != *name);
        Ok(names.into_iter().find(is_free).unwrap_or_default())
    }

    fn row(
        &self,
        command: &str,
        agent: &AgentSummary,
        by: &Person,
        (old, name, new): (&str, &str, &str),
    ) -> AuditRow {
        let change = Change {
            edited: format!("schedule {name}"),
            old: old.to_owned(),
            new: new.to_owned(),
        };
        AuditRow {
            detail: self.deps.audit_change(&change),
            ..self.audit.agent_row(command, agent, by)
        }
    }
}

/// What a person does to a schedule that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleChange {
    Pause,
    Resume,
    Delete,
}

/// The word for every schedule that a person may change.
const ALL: &str = "all";

impl ScheduleChange {
    const fn applies_to(self) -> ScheduleState {
        match self {
            Self::Resume => ScheduleState::Paused,
            Self::Pause | Self::Delete => ScheduleState::Active,
        }
    }

    const fn command(self) -> &'static str {
        match self {
            Self::Pause => "schedule_pause",
            Self::Resume => "schedule_resume",
            Self::Delete => "schedule_delete",
        }
    }

    const fn new_state(self) -> &'static str {
        match self {
            Self::Pause => "paused",
            Self::Resume => "active",
            Self::Delete => "deleted",
        }
    }
}

fn read(when: &str, now: DateTime<Utc>, zone: &Zone) -> Result<Rule, ManagerError> {
    chorus_schedule::parse(when, now, zone).map_err(|refusal| {
        let nearest = refusal.nearest.map(|text| escape::code(&text));
        ManagerError::Refused(format!(
            "`when` cannot be {}: {}. For example: {}.",
            escape::code(&text::one_line(when, 100)),
            refusal.reason,
            nearest.join(", ")
        ))
    })
}

/// One line for the audit log.
fn described(schedule: &NewSchedule) -> String {
    format!(
        "{} {} ({}): {}",
        schedule.kind.as_str(),
        schedule.when_text,
        schedule.timezone,
        schedule.body
    )
}

fn is_theirs(row: &ScheduleRow, person: &Person) -> bool {
    row.schedule.owner == person.id || person.may_manage_server || person.is_administrator
}

fn may_change(row: &ScheduleRow, person: &Person) -> Result<(), ManagerError> {
    if is_theirs(row, person) {
        return Ok(());
    }
    Err(ManagerError::Refused(format!(
        "Only <@{}>, who made it, and members with Manage Server may change {}.",
        row.schedule.owner,
        escape::code(&row.schedule.name)
    )))
}
