//! What becomes of an interrupted turn that does not go on, and what is known of the calls that it had started.

use super::{Identity, WENT_ON};
use crate::agent::deps::AgentDeps;
use crate::agent::deps::questions::PersonEnd;
use crate::agent::event::Event;
use crate::agent::setup::tool_specs::{Able, OfServers, Watched};
use crate::domain::{ConversationId, Item, ToolCall, TurnId};
use crate::permission::{Decision, Effort};
use crate::store::{
    InterruptedTurn, NewPart, PartButton, ResumeEnd, ResumeState, StartedCall, StoreError, Told,
};
use crate::tools::has_effects;

/// The line of the stop, once a newer line says that the turn does not go on.
const STOPPED: &str = "-# Interrupted by a restart.";

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

    /// The conversation goes on without an interrupted turn: the card about it ends, and so does its question.
    pub(in crate::agent) async fn end_card(
        &self,
        conversation: ConversationId,
    ) -> Result<(), StoreError> {
        if !self.interruptions.is_asked(conversation) {
            return Ok(());
        }
        self.interruptions.remove(conversation);
        let questions = self.questions.of_conversation(conversation);
        self.end_questions(questions, &PersonEnd::WentOn).await?;
        for row in self.store.interrupted_turns().await? {
            let is_its = row.turn.begun.conversation == conversation;
            let is_open = match row.state {
                ResumeState::Asked => row.choice.is_none(),
                ResumeState::Question => true,
                _ => false,
            };
            if is_its && is_open {
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
        let able = Able {
            delegates: true,
            asks_people: true,
            of_servers: OfServers::All,
            watched: Watched::ByAPerson,
        };
        let mode = setup.mode(None);
        let offered = self.told.of(&tools, &profiles, &setup, mode, able).shelf;
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
