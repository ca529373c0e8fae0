//! How a turn begins that continues one which a stop or a crash interrupted.
//!
//! It is a new turn in the same conversation, with what the interrupted one has left of its limits, and only while the agent is
//! what it was then.

mod ending;
mod note;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use self::note::{Behind, note};
use super::TurnParams;
use super::ready::{Ready, Start};
use super::trigger::{PlannedKind, PlannedRun, Resume};
use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::event::Event;
use crate::agent::models::budget::{Payer, Spent};
use crate::agent::setup::{Setup, modes};
use crate::clock;
use crate::domain::{Author, Cost, Item, Participant, ToolCall, TurnId, Usage, UserText};
use crate::store::{
    Begun as Stored, InterruptedTurn, NewPart, NewTurn, Opening as Stores, ResumeChoice, Resuming,
    RunOf, StartedCall, StoreError, TurnCause, TurnFacts, TurnRow, UsedBefore,
};
use crate::text::escape;

/// The line of a turn that goes on, in place of the one that said that it was interrupted.
const GOES_ON: &str = "-# I was restarted and go on with this.";

/// A card's text, and the ledger's word, where the conversation went on without the turn.
pub const WENT_ON: &str = "Left: the conversation went on.";

/// What the turn that goes on had used before it was interrupted.
#[derive(Clone, Copy, Debug)]
pub(in crate::agent) struct Before {
    pub(in crate::agent) steps: u32,
    pub(in crate::agent) worked: Duration,
    pub(in crate::agent) usage: Usage,
    pub(in crate::agent) cost: Cost,
    /// When the first of the turns that continue one another began; `None` for a turn that continues none.
    pub(in crate::agent) began_at: Option<DateTime<Utc>>,
}

impl Default for Before {
    fn default() -> Self {
        Self {
            steps: 0,
            worked: Duration::ZERO,
            usage: Usage::default(),
            cost: Cost::Usd(0.0),
            began_at: None,
        }
    }
}

impl From<UsedBefore> for Before {
    fn from(used: UsedBefore) -> Self {
        let began_at = used.began_at;
        let elapsed = (clock::now() - began_at).to_std().unwrap_or_default();
        Self {
            steps: used.steps,
            // Calls that ran side by side are counted one after the other.
            worked: Duration::from_millis(used.millis).min(elapsed),
            usage: used.usage,
            cost: used.cost,
            began_at: Some(began_at),
        }
    }
}

impl Before {
    pub(in crate::agent) fn usd(&self) -> f64 {
        self.cost.usd().unwrap_or_default()
    }

    pub(in crate::agent) fn tokens(&self) -> u64 {
        self.usage.input_total() + self.usage.output
    }
}

/// Calls that a person has run again before the turn asks its model.
pub(in crate::agent) struct Rerun {
    pub(in crate::agent) calls: Vec<ToolCall>,
    pub(in crate::agent) by: Author,
    /// The note to the model, up to the results.
    pub(in crate::agent) note: String,
}

/// What the agent is for a turn that begins now.
pub(in crate::agent) fn facts_of(deps: &AgentDeps, setup: &Setup, models: &[String]) -> TurnFacts {
    let profiles = deps.profiles_of(setup);
    TurnFacts {
        profile: profiles.map_or_else(|_| String::new(), |stack| stack.hash().to_owned()),
        models: models.join(" "),
        charter: setup
            .of_agent()
            .map(|role| role.sha256.clone())
            .unwrap_or_default(),
    }
}

impl Ready {
    /// Begins with what is left of an interrupted turn. Where it may not go on, people are told why.
    pub(super) async fn with_interrupted(
        &self,
        deps: &AgentDeps,
        agent: &Identity,
        params: &TurnParams,
        items: &mut Arc<Vec<Item>>,
        resume: Resume,
    ) -> Result<Option<Start>, StoreError> {
        let Some(row) = deps.store.interrupted_turn(resume.of).await? else {
            return Ok(None);
        };
        if row.is_overtaken || row.turn.begun.conversation != params.conversation {
            deps.leave_interrupted(&row, WENT_ON).await?;
            return Ok(None);
        }
        let before: Before = match deps.store.used_before(resume.of).await? {
            Some(used) => used.into(),
            None => Before::default(),
        };
        if let Some(why) = self.forbids(deps, agent, &row, &before).await? {
            deps.refuse_to_go_on(&row, &why).await?;
            return Ok(None);
        }
        let started = deps.started_calls(resume.of).await?;
        let questions = deps.store.untold_person_questions(resume.of).await?;
        let note = note(&Behind {
            row: &row,
            started: &started,
            questions: &questions,
            choice: resume.choice.as_ref(),
        });
        let rerun = rerun(started, resume.choice.as_ref(), &note);
        let replaces_note = items.last().is_some_and(is_note_of_interruption);
        if replaces_note {
            Arc::make_mut(items).pop();
        }
        let first = match &rerun {
            // The note follows once the results are known.
            Some(_) => Vec::new(),
            None => vec![Item::User(UserText {
                facts: Some(self.facts.clone()),
                at: Some(clock::now()),
                ..UserText::note(note)
            })],
        };
        self.take_over(
            deps,
            params,
            (&row, before),
            resume,
            first,
            (rerun, replaces_note),
        )
        .await
    }

    async fn take_over(
        &self,
        deps: &AgentDeps,
        params: &TurnParams,
        (row, before): (&InterruptedTurn, Before),
        resume: Resume,
        items: Vec<Item>,
        (rerun, replaces_note): (Option<Rerun>, bool),
    ) -> Result<Option<Start>, StoreError> {
        let begun = &row.turn.begun;
        let by = resume.choice.as_ref().map(|(_, by)| by.id);
        let planned = deps.planned_run_of(begun.id).await?;
        let turn = NewTurn {
            id: params.turn,
            trigger: None,
            parent: Some(begun.id),
            cause: TurnCause::Resume,
            child: None,
            ..begun.clone()
        };
        let mut line = NewPart::notice(GOES_ON);
        line.body.is_silent = true;
        let resuming = Resuming {
            turn: begun.id,
            by,
            replaces_note,
        };
        let opening = Stores {
            most_hops: begun.depth.max(deps.most_hops()),
            turn_facts: self.turn_facts.clone(),
            resumes: Some((resuming, line)),
            planned: planned.as_ref().map(|run| run.key.clone()),
            ..Stores::new(turn.clone(), items.clone())
        };
        match deps.store.begin_turn(opening).await? {
            Stored::Running => {}
            Stored::Not => return Ok(None),
            Stored::Refused(refusal) => {
                deps.refuse_to_go_on(row, &refusal.to_string()).await?;
                return Ok(None);
            }
        }
        deps.emit(Event::Outbox(turn.channel));
        let authors = deps.store.authors_behind(begun.id).await?;
        let first = origin(deps, &row.turn).await?.begun;
        let is_of_person = first.trigger.is_some()
            || matches!(first.cause, TurnCause::Schedule | TurnCause::Webhook);
        Ok(Some(Start {
            items,
            asker: authors.first().copied(),
            people: if is_of_person { authors } else { Vec::new() },
            payer: Payer::default(),
            before,
            rerun,
            turn,
            planned,
        }))
    }

    /// Why the turn may not go on, in words that end the sentence "does not go on: …".
    async fn forbids(
        &self,
        deps: &AgentDeps,
        agent: &Identity,
        row: &InterruptedTurn,
        before: &Before,
    ) -> Result<Option<String>, StoreError> {
        if lacks_its_channel(deps, agent) {
            return Ok(Some("its channel was deleted".to_owned()));
        }
        if let Some(fault) = self.fault {
            return Ok(Some(fault.to_owned()));
        }
        let planned = deps.planned_run_of(row.turn.begun.id).await?;
        // Without it, nothing says how its calls are to be judged.
        if planned.is_none() && origin(deps, &row.turn).await?.begun.cause == TurnCause::Webhook {
            return Ok(Some("its webhook was deleted".to_owned()));
        }
        if let Some(changed) = changed(row.facts.as_ref(), &self.turn_facts) {
            return Ok(Some(changed.to_owned()));
        }
        if deps.models.targets(&self.models).is_err() {
            return Ok(Some("no model of the agent can be asked".to_owned()));
        }
        let effective = deps.effective(agent, &self.setup.config);
        let caps = deps.caps_of(&effective, &self.setup);
        let most = planned.map_or(caps.turn, |run| Some(run.budget(caps.turn)));
        let spent = Spent::of(&deps.store, agent.id, agent.guild, clock::now()).await?;
        let over = |used: f64, cap: Option<f64>| cap.is_some_and(|cap| used >= cap);
        let day = caps.agent_day;
        if over(spent.today, day.usd) || day.unpriced.is_some_and(|cap| spent.unpriced_today >= cap)
        {
            return Ok(Some("the budget of today is used up".to_owned()));
        }
        if over(spent.this_month, caps.month) {
            return Ok(Some("the budget of this month is used up".to_owned()));
        }
        let limits = deps.limits_of(agent, &self.setup);
        let used_up = if before.steps >= limits.steps {
            Some("its steps are used up")
        } else if before.worked >= modes::work(self.setup.mode(self.mode), limits.work) {
            Some("its time is used up")
        } else if limits.tokens.is_some_and(|most| before.tokens() >= most) {
            Some("its tokens are used up")
        } else if over(before.usd(), most) {
            Some("its budget is used up")
        } else {
            None
        };
        if let Some(used_up) = used_up {
            return Ok(Some(used_up.to_owned()));
        }
        who_may_not_talk(deps, agent, &row.turn).await
    }
}

fn lacks_its_channel(deps: &AgentDeps, agent: &Identity) -> bool {
    let members = deps.members.get();
    members.and_then(|all| all.has_channel(agent.guild, agent.channel)) == Some(false)
}

/// What of an agent is not as it was, in words.
fn changed(then: Option<&TurnFacts>, now: &TurnFacts) -> Option<&'static str> {
    let Some(then) = then else {
        return Some("it began before Chorus was upgraded");
    };
    if then.charter != now.charter {
        Some("the agent's charter changed")
    } else if then.profile != now.profile {
        Some("the agent's permissions changed")
    } else if then.models != now.models {
        Some("the agent's model changed")
    } else {
        None
    }
}

/// Why the person who began the turn may not have it go on; `None` where they may, or no person began it.
async fn who_may_not_talk(
    deps: &AgentDeps,
    agent: &Identity,
    turn: &TurnRow,
) -> Result<Option<String>, StoreError> {
    let first = origin(deps, turn).await?;
    let message = match first.begun.trigger {
        Some(message) => deps.store.message(message).await?,
        None => None,
    };
    if let Some(message) = message {
        let joined = deps.author_may_join(&message, &[agent]).await;
        let name = escape::name(&message.author.name);
        return Ok(joined
            .err()
            .map(|_| format!("{name} may no longer talk to this agent")));
    }
    let user = match deps.planned_run_of(turn.begun.id).await? {
        Some(run) => Some(run.owner),
        None => deps.store.charged_for(turn.begun.id).await?,
    };
    let Some(user) = user else {
        return Ok(None);
    };
    Ok(match deps.participant(agent.guild, user).await {
        Participant::Member(person) => {
            let joined = deps.may_join(&person, &[agent]).await;
            let name = escape::name(&person.name);
            joined
                .err()
                .map(|_| format!("{name} may no longer talk to this agent"))
        }
        Participant::Unknown(_) => Some(format!("<@{user}> may no longer talk to this agent")),
    })
}

/// The first of the turns that continue one another up to `turn`.
async fn origin(deps: &AgentDeps, turn: &TurnRow) -> Result<TurnRow, StoreError> {
    let mut first = turn.clone();
    while first.begun.cause == TurnCause::Resume
        && let Some(before) = first.begun.parent
        && let Some(row) = deps.store.turn(before).await?
    {
        first = row;
    }
    Ok(first)
}

impl AgentDeps {
    /// The run of a schedule, or the deliveries, that an interrupted turn is the turn of, if it is one of these.
    pub(in crate::agent) async fn planned_run_of(
        &self,
        turn: TurnId,
    ) -> Result<Option<PlannedRun>, StoreError> {
        if let Some(RunOf { run, schedule }) = self.store.run_of_turn(turn).await? {
            return Ok(Some(PlannedRun {
                key: run.key.into(),
                due_at: run.due_at,
                name: schedule.schedule.name,
                owner: schedule.schedule.owner,
                budget_usd: schedule.schedule.budget_usd,
                // The line that it goes on says it.
                is_late: false,
                outer: None,
                kind: PlannedKind::Schedule,
            }));
        }
        let found = self.store.deliveries_of_turn(turn).await?;
        Ok(found.map(|of| PlannedRun::of_deliveries(of.key, &of.webhook, of.since)))
    }
}

/// Whether this is the note that recovery, or a stop, put at the end of the conversation.
fn is_note_of_interruption(item: &Item) -> bool {
    match item {
        Item::User(words) => words.note && super::end::is_cut(&words.text),
        Item::Assistant(_) | Item::ToolResult(_) => false,
    }
}

/// The calls to run again, where a person chose that.
fn rerun(
    started: Vec<(StartedCall, ToolCall)>,
    choice: Option<&(ResumeChoice, Author)>,
    note: &str,
) -> Option<Rerun> {
    match choice {
        Some((ResumeChoice::Again, by)) => Some(Rerun {
            calls: started.into_iter().map(|(_, call)| call).collect(),
            by: by.clone(),
            note: note.to_owned(),
        }),
        Some(_) | None => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn facts(profile: &str, models: &str, charter: &str) -> TurnFacts {
        TurnFacts {
            profile: profile.to_owned(),
            models: models.to_owned(),
            charter: charter.to_owned(),
        }
    }

    #[test]
    fn an_agent_that_changed_does_not_go_on() {
        let then = facts("p", "m", "c");
        assert_eq!(changed(Some(&then), &then), None);
        let cases = [
            (facts("q", "m", "c"), "the agent's permissions changed"),
            (facts("p", "n", "c"), "the agent's model changed"),
            (facts("q", "m", "d"), "the agent's charter changed"),
        ];
        for (now, why) in cases {
            assert_eq!(changed(Some(&then), &now), Some(why));
        }
        assert!(changed(None, &then).is_some());
    }
}
