//! The tool `schedule`: what models plan, for the person who began their turn.

use async_trait::async_trait;
use chorus_schedule::missed::Missed;
use chrono::{DateTime, Utc};

use super::{ToolPorts, agent_of, broken};
use crate::agent::event::Event;
use crate::domain::{Participant, Person, UserId};
use crate::manager::AgentManager;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::manager::schedules::{Draft, ScheduleChange, ScheduleRequest, ScheduleView, Then};
use crate::store::{NewPart, ScheduleKind, SchedulePlace};
use crate::text::{self, escape};
use crate::tools::Caller;
use crate::tools::ports::{Plan, PlanKind, Planner, PortError};

/// Slots that the card shows.
const SHOWN: usize = 3;

/// Characters of a prompt in the list for the model.
const LISTED: usize = 120;

impl From<ManagerError> for PortError {
    fn from(error: ManagerError) -> Self {
        match error {
            ManagerError::Store(error) => Self::Broken(error.to_string()),
            ManagerError::Failed(why) => Self::Broken(why),
            refused => Self::Refused(refused.to_string()),
        }
    }
}

#[async_trait]
impl Planner for ToolPorts {
    async fn preview(&self, caller: &Caller, plan: Plan) -> Result<String, PortError> {
        let manager = self.manager()?;
        let draft = draft(manager, caller, plan).await?;
        let next: Vec<String> = draft.next.iter().take(SHOWN).map(in_discord).collect();
        Ok(format!(
            "{} · time zone {} · next: {}",
            draft.rule.in_words(),
            escape::code(draft.zone.name()),
            next.join(", ")
        ))
    }

    async fn plan(&self, caller: &Caller, plan: Plan) -> Result<String, PortError> {
        let manager = self.manager()?;
        if caller.hides_words {
            return Err(PortError::Refused(
                "what this agent says passes a role before people get it, and a plan would not; ask somebody to use `/schedule new` or `/remind`".to_owned(),
            ));
        }
        let draft = draft(manager, caller, plan).await?;
        let (owner, words) = (draft.owner.id, draft.rule.in_words());
        let created = manager.schedules.create(draft).await?;
        let schedule = &created.schedule;
        if caller.allowed_by.is_none() {
            // Nobody saw a card.
            let next = created.next_at.map(|next| in_discord(&next));
            let mut line = NewPart::notice(format!(
                "-# {} of <@{owner}> is planned: {words}. Next time: {}",
                escape::code(&schedule.name),
                next.unwrap_or_default()
            ));
            line.body.is_silent = true;
            let deps = manager.deps();
            deps.store
                .post(caller.channel, None, line)
                .await
                .map_err(broken)?;
            deps.emit(Event::Outbox(caller.channel));
        }
        Ok(format!(
            "Planned as `{}`: {words}. Next: {} ({} is the time zone).",
            schedule.name,
            created.next_at.map_or_else(String::new, |next| next
                .format("%Y-%m-%d %H:%M UTC")
                .to_string()),
            schedule.timezone
        ))
    }

    async fn delete(&self, caller: &Caller, name: &str) -> Result<String, PortError> {
        let manager = self.manager()?;
        let agent = agent_of(manager, caller)?;
        let people = members(caller)?;
        // Everybody behind the turn must have the right, as in all that a turn does for people.
        for person in people.iter().skip(1) {
            manager.schedules.to_edit(&agent, name, person).await?;
        }
        let Some(first) = people.first() else {
            return Err(nobody());
        };
        let what = ScheduleChange::Delete;
        manager.schedules.change(&agent, name, what, first).await?;
        Ok(format!("Deleted `{name}`."))
    }

    async fn list(&self, caller: &Caller) -> Result<String, PortError> {
        let manager = self.manager()?;
        let agent = agent_of(manager, caller)?;
        let views = manager.schedules.of(&agent).await?;
        if views.is_empty() {
            return Ok("Nothing is planned.".to_owned());
        }
        let lines: Vec<String> = views.iter().map(line).collect();
        Ok(lines.join("\n"))
    }
}

/// Checks what a model wants to plan, as the person who began its turn would.
async fn draft(manager: &AgentManager, caller: &Caller, plan: Plan) -> Result<Draft, PortError> {
    let agent = agent_of(manager, caller)?;
    let mut people = members(caller)?.into_iter();
    let owner = people.next().ok_or_else(nobody)?;
    // Their words may be in the plan too, so its turns have no more rights than each of them.
    let also_by: Vec<UserId> = people.map(|person| person.id).collect();
    let prompt = manager.deps().services.redactor.redact(&plan.prompt);
    let prompt = prompt.into_owned();
    match plan.kind {
        PlanKind::Reminder => {
            let thread = thread(&agent, caller);
            let words = (plan.when, prompt);
            let zone = plan.timezone.as_deref();
            let draft = manager
                .schedules
                .plan_reminder(agent, owner, words, zone, thread)?;
            let draft = Draft { also_by, ..draft };
            let Some(name) = plan.name else {
                return Ok(draft);
            };
            Ok(manager.schedules.named_draft(draft, name).await?)
        }
        PlanKind::Turn => {
            let request = ScheduleRequest {
                when: plan.when,
                prompt: Some(prompt),
                gate: plan.gate,
                then: Then::Turn,
                name: plan.name,
                place: SchedulePlace::Fresh,
                model: None,
                missed: Missed::default(),
                budget_usd: None,
                timezone: plan.timezone,
            };
            let draft = manager.schedules.plan_for_tool(agent, owner, request);
            let draft = draft.await?;
            // Whoever allowed the call saw its command.
            let binding = draft.gate_binding.filter(|_| caller.allowed_by.is_some());
            Ok(Draft {
                gate_binding: binding,
                also_by,
                ..draft
            })
        }
    }
}

/// The thread of the caller's turn; `None` in the agent's channel.
fn thread(agent: &AgentSummary, caller: &Caller) -> Option<crate::domain::ChannelId> {
    (agent.channel != Some(caller.channel)).then_some(caller.channel)
}

/// The people behind the turn, the one who began it first.
fn members(caller: &Caller) -> Result<Vec<Person>, PortError> {
    caller
        .people
        .iter()
        .map(|one| match one {
            Participant::Member(person) => Ok(person.clone()),
            Participant::Unknown(_) => Err(nobody()),
        })
        .collect()
}

fn nobody() -> PortError {
    PortError::Refused(
        "somebody behind this turn cannot be looked up, so nothing is planned for them".to_owned(),
    )
}

fn in_discord(time: &DateTime<Utc>) -> String {
    format!("<t:{}:F>", time.timestamp())
}

fn line(view: &ScheduleView) -> String {
    let schedule = &view.row.schedule;
    let next = view.next.first();
    let next = next.map_or_else(
        || view.row.state.as_str().to_owned(),
        |next| next.format("next %Y-%m-%d %H:%M UTC").to_string(),
    );
    let kind = match schedule.kind {
        ScheduleKind::Turn => "turn",
        ScheduleKind::Post => "command",
        ScheduleKind::Reminder => "reminder",
    };
    format!(
        "{} ({kind}, {}, {next}): {}",
        schedule.name,
        view.words,
        text::one_line(&schedule.body, LISTED)
    )
}
