//! What people ask to have planned: checked, shown on a card, and stored once they confirm it.

use chorus_schedule::missed::Missed;
use chorus_schedule::{Rule, Zone};
use chrono::{DateTime, Utc};

use super::limits::is_short_enough;
use super::{Schedules, described, may_change};
use crate::agent::{BUDGET_OF_RUN, GateVerdict, gate_binding};
use crate::config::{UnattendedDay, effective};
use crate::domain::{ChannelId, Cost, Person, UserId};
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::permission::may_answer;
use crate::store::{NewSchedule, ScheduleKind, SchedulePlace, ScheduleRow};
use crate::text::{self, escape};

/// Characters of a reminder's text.
const LONGEST_REMINDER: usize = 1_000;
/// Characters of a prompt.
const LONGEST_PROMPT: usize = 4_000;
/// Characters of a gate.
const LONGEST_GATE: usize = 1_000;
/// The shortest time between two slots, in seconds.
const CLOSEST: u32 = 300;
/// The same where no model is asked.
const CLOSEST_POST: u32 = 60;
/// Slots that a card shows.
const SHOWN_BEFORE: usize = 3;

/// A reminder or schedule that waits for its confirmation. Nothing of it is stored.
#[derive(Clone, Debug)]
pub struct Draft {
    pub agent: AgentSummary,
    pub owner: Person,
    /// Other people whose words it contains.
    pub also_by: Vec<UserId>,
    pub kind: ScheduleKind,
    /// Its name; `None` where it gets the first that is free.
    pub name: Option<String>,
    /// The time as it was written.
    pub when: String,
    pub rule: Rule,
    pub zone: Zone,
    /// The prompt, or what is posted.
    pub body: String,
    /// The command before its turn.
    pub gate: Option<String>,
    /// What the approval of that command is bound to, where the profile asks for one.
    pub gate_binding: Option<String>,
    pub place: SchedulePlace,
    /// The thread in which it posts.
    pub thread: Option<ChannelId>,
    pub model: Option<String>,
    pub missed: Missed,
    /// What a run may cost, in US dollars, where the schedule says it.
    pub budget_usd: Option<f64>,
    /// Who pays, in words; `None` where no model is asked.
    pub pays: Option<String>,
    /// What the latest run cost of a schedule that is changed.
    pub last_cost: Option<Cost>,
    /// The schedule that is changed.
    pub replaces: Option<i64>,
    /// The first slots, as they are now.
    pub next: Vec<DateTime<Utc>>,
}

/// What becomes of a gate's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// A model gets it, in a turn.
    #[default]
    Turn,
    /// It is posted.
    Post,
}

/// A schedule as a person asks for it.
#[derive(Clone, Debug)]
pub struct ScheduleRequest {
    pub when: String,
    pub prompt: Option<String>,
    pub gate: Option<String>,
    pub then: Then,
    pub name: Option<String>,
    pub place: SchedulePlace,
    pub model: Option<String>,
    pub missed: Missed,
    pub budget_usd: Option<f64>,
    pub timezone: Option<String>,
}

/// What a person changes of a schedule.
#[derive(Clone, Debug)]
pub struct ScheduleEdit {
    pub when: String,
    pub prompt: String,
    pub gate: Option<String>,
}

/// A time that was read.
struct Timing {
    rule: Rule,
    zone: Zone,
    next: Vec<DateTime<Utc>>,
}

impl Schedules {
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
        if body.is_empty() {
            return Err(ManagerError::refused(
                "The reminder has no text. Write what to remind you of.",
            ));
        }
        is_short_enough("The text of a reminder", &body, LONGEST_REMINDER)?;
        let timing = self.timing(&agent, &when, zone, CLOSEST)?;
        Ok(Draft {
            agent,
            owner,
            kind: ScheduleKind::Reminder,
            name: None,
            when,
            rule: timing.rule,
            zone: timing.zone,
            body,
            gate: None,
            gate_binding: None,
            also_by: Vec::new(),
            place: SchedulePlace::Fresh,
            thread,
            model: None,
            missed: Missed::default(),
            budget_usd: None,
            pays: None,
            last_cost: None,
            replaces: None,
            next: timing.next,
        })
    }

    /// Checks a schedule that a person asks for. Nothing is stored.
    ///
    /// # Errors
    ///
    /// Why it cannot be, and what could be written instead.
    pub(crate) async fn plan_schedule(
        &self,
        agent: AgentSummary,
        owner: Person,
        request: ScheduleRequest,
    ) -> Result<Draft, ManagerError> {
        let draft = self.checked(agent, owner, request).await?;
        self.complete(draft).await
    }

    async fn checked(
        &self,
        agent: AgentSummary,
        owner: Person,
        request: ScheduleRequest,
    ) -> Result<Draft, ManagerError> {
        let kind = match request.then {
            Then::Turn => ScheduleKind::Turn,
            Then::Post => ScheduleKind::Post,
        };
        if let Some(name) = &request.name {
            self.is_free(&agent, name).await?;
        }
        if let Some(model) = &request.model {
            let known = self.deps.models.resolve(model).await;
            known.map_err(|error| ManagerError::refused(text::sentence(&error.to_string())))?;
        }
        if let Some(usd) = request.budget_usd
            && !(usd.is_finite() && usd > 0.0)
        {
            return Err(ManagerError::refused(
                "`budget` is an amount in US dollars above 0, such as `0.50`.",
            ));
        }
        Ok(Draft {
            kind,
            name: request.name,
            place: request.place,
            model: request.model,
            missed: request.missed,
            budget_usd: request.budget_usd,
            ..self.draft(
                agent,
                owner,
                kind,
                (request.when, request.timezone.as_deref()),
                (request.prompt.unwrap_or_default(), request.gate),
            )?
        })
    }

    /// The same for a schedule that a model asks for. Its gate was judged with the call, so whoever allowed that approved it.
    ///
    /// # Errors
    ///
    /// Why it cannot be.
    pub(crate) async fn plan_for_tool(
        &self,
        agent: AgentSummary,
        owner: Person,
        request: ScheduleRequest,
    ) -> Result<Draft, ManagerError> {
        let gate = request.gate.clone();
        let draft = self.checked(agent, owner, request).await?;
        let gate_binding = gate.map(|gate| gate_binding(draft.agent.id, gate.trim()));
        let pays = Some(self.who_pays(&draft).await);
        Ok(Draft {
            gate_binding,
            pays,
            ..draft
        })
    }

    /// Gives a draft a name.
    ///
    /// # Errors
    ///
    /// When it cannot be a name, or another schedule has it.
    pub(crate) async fn named_draft(
        &self,
        draft: Draft,
        name: String,
    ) -> Result<Draft, ManagerError> {
        self.is_free(&draft.agent, &name).await?;
        Ok(Draft {
            name: Some(name),
            ..draft
        })
    }

    /// Checks what a person wants to change of a schedule. Nothing is stored.
    ///
    /// # Errors
    ///
    /// When there is none of this name, it is not theirs, or it cannot be so.
    pub(crate) async fn plan_edit(
        &self,
        agent: AgentSummary,
        name: &str,
        by: Person,
        edit: ScheduleEdit,
    ) -> Result<Draft, ManagerError> {
        let row = self.named(&agent, name).await?;
        may_change(&row, &by)?;
        let old = &row.schedule;
        let last = self.deps.store.slot_runs(row.id, 10).await?;
        let base = if old.kind == ScheduleKind::Reminder {
            if edit.gate.is_some() {
                return Err(ManagerError::refused(
                    "A reminder cannot have a gate. Use `/schedule new` for that.",
                ));
            }
            let words = (edit.when, edit.prompt);
            self.plan_reminder(agent, by, words, Some(&old.timezone), old.thread)?
        } else {
            let time = (edit.when, Some(old.timezone.as_str()));
            self.draft(agent, by, old.kind, time, (edit.prompt, edit.gate))?
        };
        let draft = Draft {
            name: Some(old.name.clone()),
            place: old.place,
            thread: old.thread,
            model: old.model.clone(),
            missed: old.missed.parse().unwrap_or_default(),
            budget_usd: old.budget_usd,
            last_cost: last.into_iter().find_map(|run| run.cost),
            replaces: Some(row.id),
            ..base
        };
        self.complete(draft).await
    }

    /// Returns a schedule that may be changed by a person, for the form in which they change it.
    ///
    /// # Errors
    ///
    /// When there is none of this name, or it is not theirs.
    pub(crate) async fn to_edit(
        &self,
        agent: &AgentSummary,
        name: &str,
        by: &Person,
    ) -> Result<ScheduleRow, ManagerError> {
        let row = self.named(agent, name).await?;
        may_change(&row, by)?;
        Ok(row)
    }

    fn draft(
        &self,
        agent: AgentSummary,
        owner: Person,
        kind: ScheduleKind,
        (when, zone): (String, Option<&str>),
        (prompt, gate): (String, Option<String>),
    ) -> Result<Draft, ManagerError> {
        let body = prompt.trim().to_owned();
        let gate = gate.map(|gate| gate.trim().to_owned());
        let gate = gate.filter(|gate| !gate.is_empty());
        match (kind, &gate) {
            (ScheduleKind::Post, None) => {
                return Err(ManagerError::refused(
                    "`then: post` posts the output of a command, so it needs `gate`.",
                ));
            }
            (ScheduleKind::Turn, _) if body.is_empty() => {
                return Err(ManagerError::refused(
                    "A schedule needs `prompt`, the agent's task. Only `then: post` works without it.",
                ));
            }
            _ => {}
        }
        is_short_enough("A prompt", &body, LONGEST_PROMPT)?;
        is_short_enough("A gate", gate.as_deref().unwrap_or_default(), LONGEST_GATE)?;
        let closest = match kind {
            ScheduleKind::Post => CLOSEST_POST,
            ScheduleKind::Turn | ScheduleKind::Reminder => CLOSEST,
        };
        let timing = self.timing(&agent, &when, zone, closest)?;
        Ok(Draft {
            agent,
            owner,
            kind,
            name: None,
            when,
            rule: timing.rule,
            zone: timing.zone,
            body,
            gate,
            gate_binding: None,
            also_by: Vec::new(),
            place: SchedulePlace::Fresh,
            thread: None,
            model: None,
            missed: Missed::default(),
            budget_usd: None,
            pays: None,
            last_cost: None,
            replaces: None,
            next: timing.next,
        })
    }

    /// Judges the gate of a draft, and says who pays for it.
    async fn complete(&self, draft: Draft) -> Result<Draft, ManagerError> {
        let gate_binding = match &draft.gate {
            Some(gate) => self.approves_gate(&draft.agent, &draft.owner, gate).await?,
            None => None,
        };
        let pays = match draft.kind {
            ScheduleKind::Turn => Some(self.who_pays(&draft).await),
            ScheduleKind::Post | ScheduleKind::Reminder => None,
        };
        Ok(Draft {
            gate_binding,
            pays,
            ..draft
        })
    }

    /// Judges a gate. Returns what its approval is bound to, where the confirmation is its approval.
    /// Stores what a person confirmed, if their rights still allow it: they may have changed since the card was shown.
    pub(crate) async fn confirm(&self, draft: Draft) -> Result<ScheduleRow, ManagerError> {
        let gate_binding = match &draft.gate {
            Some(gate) => self.approves_gate(&draft.agent, &draft.owner, gate).await?,
            None => None,
        };
        self.create(Draft {
            gate_binding,
            ..draft
        })
        .await
    }

    async fn approves_gate(
        &self,
        agent: &AgentSummary,
        person: &Person,
        gate: &str,
    ) -> Result<Option<String>, ManagerError> {
        let identity = self.directory.identity(agent);
        match self.deps.judge_gate(&identity, gate).await {
            GateVerdict::Allowed => Ok(None),
            GateVerdict::Denied(rule) => Err(ManagerError::Refused(format!(
                "This gate may not run: {}",
                escape::sentence(&rule)
            ))),
            GateVerdict::Asks => {
                let settings = self.deps.settings_of(agent.guild);
                let server = effective::server(&settings, &self.deps.config.load());
                if may_answer(person, &server.approver_roles, &[person.id]) {
                    return Ok(Some(gate_binding(agent.id, gate)));
                }
                Err(ManagerError::refused(
                    "The agent's profile asks before this gate runs, and you may not answer that. Ask a member with Manage Server or an approver role to create the schedule.",
                ))
            }
        }
    }

    async fn who_pays(&self, draft: &Draft) -> String {
        let identity = self.directory.identity(&draft.agent);
        let config = self.deps.agent_config(&identity).await;
        let agent = self.deps.effective(&identity, &config).budget_turn;
        let most = match (draft.budget_usd, agent) {
            (Some(own), Some(agent)) => own.min(agent),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => BUDGET_OF_RUN,
        };
        let day = UnattendedDay::of(&self.deps.config.load().budgets).usd;
        format!(
            "No person is charged. A run costs at most {}, and all turns of {} that no person began at most {} a day.",
            text::dollars(most),
            escape::code(draft.agent.name.as_str()),
            text::dollars(day)
        )
    }

    fn timing(
        &self,
        agent: &AgentSummary,
        when: &str,
        zone: Option<&str>,
        closest: u32,
    ) -> Result<Timing, ManagerError> {
        let zone = self.zone(agent.guild, zone)?;
        let now = self.deps.clock.now();
        let rule = read(when, now, &zone)?;
        if rule.is_closer_than(closest) {
            let least = match closest / 60 {
                1 => "minute".to_owned(),
                minutes => format!("{minutes} minutes"),
            };
            return Err(ManagerError::Refused(format!(
                "This may not be planned more often than every {least}."
            )));
        }
        Ok(Timing {
            next: rule.upcoming(now, &zone, SHOWN_BEFORE),
            rule,
            zone,
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
        let now = self.deps.clock.now();
        let rule = draft.rule.clone().beginning_at(now);
        let next_at = rule.next_after(now, &draft.zone).ok_or_else(|| {
            ManagerError::refused(
                "Its time has passed, so nothing was stored. Choose a later time.",
            )
        })?;
        let name = match &draft.name {
            Some(name) => name.clone(),
            None => self.free_name(&agent, base_name(draft.kind)).await?,
        };
        let new = NewSchedule {
            agent: agent.id,
            name,
            owner: draft.owner.id,
            kind: draft.kind,
            when_text: draft.when.clone(),
            rule: rule.to_string(),
            timezone: draft.zone.name().to_owned(),
            body: draft.body.clone(),
            gate: draft.gate.clone(),
            gate_binding: draft.gate_binding.clone(),
            place: draft.place,
            thread: draft.thread,
            model: draft.model.clone(),
            budget_usd: draft.budget_usd,
            missed: draft.missed.to_string(),
            next_at,
        };
        let stored = match draft.replaces {
            Some(id) => self.replace(&agent, &draft, id, new).await?,
            None => self.add(&agent, &draft, new).await?,
        };
        self.deps.planned.ring();
        Ok(stored)
    }

    async fn add(
        &self,
        agent: &AgentSummary,
        draft: &Draft,
        new: NewSchedule,
    ) -> Result<ScheduleRow, ManagerError> {
        self.has_room(agent, draft).await?;
        if draft.name.is_some() {
            self.is_free(agent, &new.name).await?;
        }
        let words = ("", new.name.as_str(), &*described(&new));
        let row = self.row("schedule_new", agent, &draft.owner, words);
        let added = async { Ok(self.deps.store.insert_schedule(new, &draft.also_by).await?) };
        self.audit.audited(row, added).await
    }

    async fn replace(
        &self,
        agent: &AgentSummary,
        draft: &Draft,
        id: i64,
        new: NewSchedule,
    ) -> Result<ScheduleRow, ManagerError> {
        let old = self.named(agent, &new.name).await?;
        if old.id != id {
            return Err(ManagerError::refused(
                "This schedule was deleted in the meantime, so nothing was stored.",
            ));
        }
        may_change(&old, &draft.owner)?;
        let (before, after) = (described(&old.schedule), described(&new));
        let words = (before.as_str(), new.name.as_str(), after.as_str());
        let row = self.row("schedule_edit", agent, &draft.owner, words);
        let name = new.name.clone();
        let mut by = draft.also_by.clone();
        by.push(draft.owner.id);
        let changed = async { Ok(self.deps.store.change_schedule(id, new, &by).await?) };
        self.audit.audited(row, changed).await?;
        self.named(agent, &name).await
    }
}

const fn base_name(kind: ScheduleKind) -> &'static str {
    match kind {
        ScheduleKind::Reminder => "reminder",
        ScheduleKind::Turn => "schedule",
        ScheduleKind::Post => "command",
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
