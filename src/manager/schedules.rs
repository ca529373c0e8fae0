//! Reminders and schedules: planned after a confirmation, listed, paused, resumed and deleted by people.
//!
//! ```text
//! plan (checks, stores nothing) ─▶ a card ─▶ create (limits, audit log, one row) ─▶ runs: one timer for all
//! ```
//!
//! Times are read by `chorus-schedule`. What may be planned is in `drafts`, what happens at a slot in `runs`, which slots there
//! are in `slots`.

mod drafts;
mod gates;
mod hand_over;
mod limits;
mod runs;
mod slots;

use std::sync::Arc;

use chorus_schedule::Zone;
use chrono::{DateTime, Utc};
use tokio::sync::Mutex;

pub use self::drafts::{Draft, ScheduleEdit, ScheduleRequest, Then};

use crate::agent::AgentDeps;
use crate::domain::{GuildId, Person};
use crate::manager::audit::Audit;
use crate::manager::directory::Directory;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::manager::routing::Routing;
use crate::manager::servers::Servers;
use crate::store::{AuditRow, NewSchedule, RunByHand, ScheduleRow, ScheduleState, SlotRun};
use crate::text::{self, escape};
use crate::tools::Change;

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
    routing: Arc<Routing>,
    /// Held from the counting of what there is to the insertion of one more.
    creating: Mutex<()>,
    /// When the daemon started: what was due before was missed.
    started: DateTime<Utc>,
    /// Gates that run, and those that wait.
    gates: gates::Gates,
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
        routing: Arc<Routing>,
    ) -> Self {
        Self {
            started: deps.clock.now(),
            deps,
            directory,
            servers,
            audit,
            routing,
            creating: Mutex::new(()),
            gates: gates::Gates::default(),
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
        self.deps.planned.ring();
        Ok(names)
    }

    /// Runs one now, once more. The run has a slot of its own.
    ///
    /// # Errors
    ///
    /// When there is none of this name, it is not theirs, it is a reminder, or it still runs.
    pub(crate) async fn run(
        &self,
        agent: &AgentSummary,
        name: &str,
        by: &Person,
    ) -> Result<ScheduleRow, ManagerError> {
        let row = self.named(agent, name).await?;
        may_change(&row, by)?;
        let words = (described(&row.schedule), row.schedule.name.clone());
        let audited = self.row("schedule_run", agent, by, ("", &words.1, &words.0));
        let now = self.deps.clock.now();
        let added = async { Ok(self.deps.store.run_by_hand(row.id, now).await?) };
        match self.audit.audited(audited, added).await? {
            RunByHand::Added => {}
            RunByHand::StillRunning => {
                return Err(ManagerError::Refused(format!(
                    "{} is still running, and another run is already waiting.",
                    escape::code(&row.schedule.name)
                )));
            }
        }
        self.deps.planned.ring();
        Ok(row)
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
                    ManagerError::refused("It has no next run. Delete it and plan a new one.")
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

/// One line for the audit log.
fn described(schedule: &NewSchedule) -> String {
    let gate = schedule.gate.as_ref();
    let gate = gate.map_or_else(String::new, |gate| format!(" [gate: {gate}]"));
    format!(
        "{} {} ({}): {}{gate}",
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
