//! How a turn begins that continues one which a stop or a crash interrupted.
//!
//! It is a new turn in the same conversation, with what the interrupted one has left of its limits, and only while the agent is
//! what it was then.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::TurnParams;
use super::ready::{Ready, Start};
use super::trigger::Resume;
use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::event::Event;
use crate::agent::models::budget::{Payer, Spent};
use crate::agent::setup::tool_specs::OfServers;
use crate::agent::setup::{Setup, modes};
use crate::clock;
use crate::domain::{
    Author, ConversationId, Cost, Item, Participant, ToolCall, TurnId, Usage, UserText,
};
use crate::permission::{Decision, Effort};
use crate::store::{
    Begun as Stored, InterruptedTurn, NewPart, NewTurn, Opening as Stores, PartButton,
    ResumeChoice, ResumeEnd, ResumeState, Resuming, StartedCall, StoreError, Told, TurnCause,
    TurnFacts, TurnRow, UsedBefore,
};
use crate::text::{self, escape};
use crate::tools::has_effects;

/// The line of a turn that goes on, in place of the one that said that it was interrupted.
const GOES_ON: &str = "-# I was restarted and go on with this.";

/// The line of the stop, once a newer line says that the turn does not go on.
const STOPPED: &str = "-# Interrupted by a restart.";

/// A card's text, and the ledger's word, where the conversation went on without the turn.
pub const WENT_ON: &str = "Left: the conversation went on.";

/// Characters of a call's arguments in the note to the model, which has the whole call in its history.
const CALL_IN_NOTE: usize = 300;

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
        let note = note(&row, &started, resume.choice.as_ref());
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
        let is_of_message = origin(deps, &row.turn).await?.begun.trigger.is_some();
        Ok(Some(Start {
            items,
            asker: authors.first().copied(),
            people: if is_of_message { authors } else { Vec::new() },
            payer: Payer::default(),
            before,
            rerun,
            turn,
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
        if let Some(fault) = self.fault {
            return Ok(Some(fault.to_owned()));
        }
        if let Some(changed) = changed(row.facts.as_ref(), &self.turn_facts) {
            return Ok(Some(changed.to_owned()));
        }
        if deps.models.targets(&self.models).is_err() {
            return Ok(Some("no model of the agent can be asked".to_owned()));
        }
        let effective = deps.effective(agent, &self.setup.config);
        let caps = deps.caps_of(&effective, &self.setup);
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
        } else if over(before.usd(), caps.turn) {
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
    let Some(user) = deps.store.charged_for(turn.begun.id).await? else {
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
    /// The calls of a run that had started, may have had effects and have no result, with their arguments.
    pub async fn started_calls(
        &self,
        run: TurnId,
    ) -> Result<Vec<(StartedCall, ToolCall)>, StoreError> {
        let mut found = Vec::new();
        let mut read: Option<(ConversationId, Vec<Item>)> = None;
        for started in self.store.started_calls(run).await? {
            if !has_effects(&started.name) {
                continue;
            }
            if read
                .as_ref()
                .is_none_or(|(of, _)| *of != started.conversation)
            {
                let items = self.store.items(started.conversation).await?;
                read = Some((started.conversation, items));
            }
            let items = read.iter().flat_map(|(_, items)| items.iter().rev());
            let call = items
                .filter_map(|item| match item {
                    Item::Assistant(answer) => Some(&answer.tool_calls),
                    Item::User(_) | Item::ToolResult(_) => None,
                })
                .flatten()
                .find(|call| call.id == started.call)
                .map(ToolCall::meant);
            let call = call.unwrap_or_else(|| ToolCall {
                id: started.call.clone(),
                name: started.name.clone(),
                arguments: Default::default(),
            });
            found.push((started, call));
        }
        Ok(found)
    }

    /// The conversation goes on without an interrupted turn: the card about it ends.
    pub(in crate::agent) async fn end_card(
        &self,
        conversation: ConversationId,
    ) -> Result<(), StoreError> {
        if !self.interruptions.is_asked(conversation) {
            return Ok(());
        }
        self.interruptions.remove(conversation);
        for row in self.store.interrupted_turns().await? {
            let is_its = row.turn.begun.conversation == conversation;
            if is_its && row.state == ResumeState::Asked && row.choice.is_none() {
                self.leave_interrupted(&row, WENT_ON).await?;
            }
        }
        Ok(())
    }

    /// Why calls may not run again; `None` where the profiles permit each, with or without a question.
    pub async fn judge_again(&self, agent: &Identity, calls: Vec<ToolCall>) -> Option<String> {
        let setup = self.setup(agent).await;
        let profiles = match self.profiles_of(&setup) {
            Ok(profiles) => profiles,
            Err(error) => return Some(error.to_string()),
        };
        let (tools, folder) = (self.tools.clone(), self.folder(agent));
        let mode = setup.mode(None);
        let offered = self
            .told
            .of(&tools, &profiles, &setup, mode, true, OfServers::All)
            .shelf;
        let judged = tokio::task::spawn_blocking(move || {
            let effort = Effort::default();
            calls.iter().find_map(|call| {
                let prepared =
                    match tools.prepare_with(offered.offer(), &call.name, &call.arguments) {
                        Ok(prepared) => prepared.locate(&folder),
                        Err(error) => return Some(error.to_string()),
                    };
                if let Err(refusal) = setup.has_tool(&call.name) {
                    return Some(refusal.to_string());
                }
                let always_allow = &setup.config.always_allow;
                let verdict = profiles.decide(&prepared.action, always_allow, &effort);
                (verdict.decision == Decision::Deny).then_some(verdict.reason)
            })
        });
        judged.await.unwrap_or_else(|error| Some(error.to_string()))
    }

    /// An interrupted turn does not go on: its line or card says so from now on.
    pub async fn leave_interrupted(
        &self,
        row: &InterruptedTurn,
        words: &str,
    ) -> Result<(), StoreError> {
        let channel = row.turn.begun.channel;
        let told = row.message.map(|message| Told {
            channel,
            edits: Some(message),
            part: NewPart::notice(match row.state {
                ResumeState::Asked => words,
                _ => STOPPED,
            }),
        });
        let end = ResumeEnd {
            reason: Some("left"),
            told: told.into_iter().collect(),
            ..ResumeEnd::default()
        };
        let id = row.turn.begun.id;
        self.store.do_not_go_on(id, ResumeState::Left, end).await?;
        self.emit(Event::Outbox(channel));
        Ok(())
    }

    /// The same with one line that says why, and a button to continue by hand.
    pub async fn refuse_to_go_on(
        &self,
        row: &InterruptedTurn,
        why: &str,
    ) -> Result<(), StoreError> {
        let line = format!("This turn was interrupted and does not go on: {why}.");
        self.end_with_line(row, ResumeState::Refused, line).await
    }

    /// An interrupted turn ends with a line, under which it can be continued by hand.
    pub async fn end_with_line(
        &self,
        row: &InterruptedTurn,
        state: ResumeState,
        line: String,
    ) -> Result<(), StoreError> {
        let begun = &row.turn.begun;
        let run = begun.id.short();
        let mut part = NewPart::notice(format!("{line}\n-# run {run}"));
        part.body.reply_to = begun.reply_to;
        part.body.button = Some(PartButton::new(
            format!("continue:{}", begun.id),
            "Continue",
        ));
        let stopped = row.message.map(|message| Told {
            channel: begun.channel,
            edits: Some(message),
            part: NewPart::notice(STOPPED),
        });
        let line = Told {
            channel: begun.channel,
            edits: None,
            part,
        };
        let end = ResumeEnd {
            reason: Some(state.as_str()),
            told: stopped.into_iter().chain([line]).collect(),
            ..ResumeEnd::default()
        };
        self.store.do_not_go_on(begun.id, state, end).await?;
        self.emit(Event::Outbox(begun.channel));
        Ok(())
    }
}

/// Whether this is the note that recovery, or a stop, put at the end of the conversation.
fn is_note_of_interruption(item: &Item) -> bool {
    match item {
        Item::User(words) => words.note && super::end::is_cut(&words.text),
        Item::Assistant(_) | Item::ToolResult(_) => false,
    }
}

/// What the model is told as it goes on.
fn note(
    row: &InterruptedTurn,
    started: &[(StartedCall, ToolCall)],
    choice: Option<&(ResumeChoice, Author)>,
) -> String {
    let time = |at: DateTime<Utc>| at.format("%Y-%m-%d %H:%M UTC").to_string();
    let mut note = format!(
        "Chorus stopped at {}, in the middle of your work above, and runs again since {}. You go on with that work now. Nobody has answered the person yet.",
        time(row.at),
        time(clock::now()),
    );
    if started.is_empty() {
        note.push_str(" No call with effects was running.");
    } else {
        note.push_str("\nThese calls had started when it stopped, and have no result:");
        for (started, call) in started {
            let arguments = serde_json::Value::Object(call.arguments.clone()).to_string();
            let arguments = text::one_line(&arguments, CALL_IN_NOTE);
            note.push_str(&format!(
                "\n- {} of {}: {arguments}",
                call.name, started.path
            ));
        }
    }
    let Some((choice, by)) = choice else {
        return note;
    };
    let by = text::one_line(&by.name, 100);
    note.push('\n');
    note.push_str(&match choice {
        ResumeChoice::Done => {
            format!("{by} says that these calls are done. Do not repeat them; go on from there.")
        }
        ResumeChoice::Again => format!("{by} had them run again. Their results:"),
        ResumeChoice::GoOn | ResumeChoice::Leave => format!("{by} asks you to go on."),
    });
    note
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
