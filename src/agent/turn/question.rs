//! Asks a person whether a call may run (D4), and holds them to exactly what they were shown (D5).

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::agent::event::{Answer, Choice, Event, Question, QuestionEnd};
use crate::agent::stop::StopSignal;
use crate::clock;
use crate::domain::{AgentConfig, ToolCall, ToolResult, UserId};
use crate::permission::{Profile, binding_hash};
use crate::store::{
    AttachedRows, AuditDecision, Decision as Stored, NewQuestion, Settled, StoreError,
};
use crate::tools::Prepared;

use super::Turn;

enum Ended {
    Answered(Answer),
    Expired,
    Stopped,
}

/// What is told of a call whose approval does not hold any more.
const CHANGED: &str = "what was approved changed before it could run; ask again";

impl Turn {
    /// Asks, then runs the call or closes it.
    pub(super) async fn ask_and_run(
        &mut self,
        call: &ToolCall,
        prepared: Prepared,
        reason: &str,
        profile: Option<&Arc<Profile>>,
    ) -> Result<ToolResult, StoreError> {
        let action = prepared.action.to_string();
        let turn = self.context.id();
        let bound = |profile: Option<&Arc<Profile>>| -> Option<String> {
            profile
                .map(|profile| binding_hash(prepared.info.name, &prepared.arguments, profile, turn))
        };
        let binding = bound(profile);
        let limit = self
            .context
            .deps
            .limits(&self.context.agent, &self.config)
            .approval;
        let expires_at = clock::now() + limit;
        let approval = self
            .context
            .deps
            .store
            .open_question(NewQuestion {
                turn: self.context.id(),
                call: call.id.clone(),
                channel: self.context.reference.channel,
                action: action.clone(),
                binding: binding.clone().unwrap_or_default(),
                expires_at,
            })
            .await?;
        let (answer, answered) = oneshot::channel();
        self.doing(format!("Waiting for approval: {}", prepared.info.name));
        self.live.asks(true);
        self.context.deps.emit(Event::Question(Box::new(Question {
            turn: self.context.reference.clone(),
            call: call.id.clone(),
            approval,
            tool: prepared.info.name.to_owned(),
            action: action.clone(),
            reason: reason.to_owned(),
            arguments: pretty(&prepared),
            requesters: requesters(&self.people, &self.config),
            expires_at,
            answer: Some(answer),
        })));
        let stop = self.context.stop.clone();
        let ended = self
            .clock
            .off(async {
                tokio::select! {
                    biased;
                    () = stop.now().cancelled() => Ended::Stopped,
                    answer = answered => answer.map_or(Ended::Expired, Ended::Answered),
                    () = tokio::time::sleep(limit) => Ended::Expired,
                }
            })
            .await;
        self.live.asks(false);
        let (decision, by, word, refusal) = judged(&ended);
        let settled = self
            .context
            .deps
            .store
            .decide_question(approval, decision, by, AttachedRows::default())
            .await?;
        // What runs must be what was shown: anything that changed in between takes the approval back.
        let profile_now = self
            .context
            .deps
            .profile(&*self.context.deps.agent_config(&self.context.agent).await)
            .ok();
        let holds = settled == Settled::Now && bound(profile_now.as_ref()) == binding;
        let refusal = refusal.or((!holds).then_some(CHANGED));
        self.context.deps.emit(Event::QuestionClosed {
            approval,
            end: end_of(&ended, refusal, &stop),
        });
        if let Some(refusal) = refusal {
            let word = if refusal == CHANGED {
                AuditDecision::Deny
            } else {
                word
            };
            return self.refuse(call, &action, refusal, word, by).await;
        }
        if decision == Stored::AlwaysAllow {
            self.context
                .deps
                .always_allow(&self.context.agent, &action)
                .await;
        }
        self.shows_call(call);
        let detail = json!({ "approval": approval, "always": decision == Stored::AlwaysAllow });
        let audit = self
            .context
            .audit_row(&self.people, call, &action, word, by, detail);
        let audit = self.with_change(call, &prepared, audit).await;
        self.run_one(call, prepared, audit).await
    }
}

/// How the question ended, for its card and for who presses late.
fn end_of(ended: &Ended, refusal: Option<&str>, stop: &StopSignal) -> QuestionEnd {
    match ended {
        Ended::Answered(Answer { by, .. }) if refusal == Some(CHANGED) => {
            QuestionEnd::Changed { by: *by }
        }
        Ended::Answered(Answer { choice, by }) => QuestionEnd::Decided {
            choice: *choice,
            by: *by,
        },
        Ended::Expired => QuestionEnd::Expired,
        Ended::Stopped => QuestionEnd::Cancelled(stop.by()),
    }
}

/// Who the question is for: those whose messages are in the turn, else the agent's owner.
fn requesters(people: &[UserId], config: &AgentConfig) -> Vec<UserId> {
    if people.is_empty() {
        config.owner_id.into_iter().collect()
    } else {
        people.to_vec()
    }
}

/// The arguments as they will run, for people to read.
fn pretty(prepared: &Prepared) -> String {
    let arguments = Value::Object(prepared.arguments.clone());
    serde_json::to_string_pretty(&arguments).unwrap_or_else(|_| arguments.to_string())
}

/// What an ending means: the decision to store, who made it, how the audit log has it, and the refusal for the model.
const fn judged(ended: &Ended) -> (Stored, Option<UserId>, AuditDecision, Option<&'static str>) {
    match ended {
        Ended::Answered(Answer { choice, by }) => match choice {
            Choice::Allow => (Stored::Allow, Some(*by), AuditDecision::AskApproved, None),
            Choice::AlwaysAllow => (
                Stored::AlwaysAllow,
                Some(*by),
                AuditDecision::AskApproved,
                None,
            ),
            Choice::Deny => (
                Stored::Deny,
                Some(*by),
                AuditDecision::AskDenied,
                Some("a person denied it; do not try the same again, ask what they want instead"),
            ),
        },
        Ended::Expired => (
            Stored::Expired,
            None,
            AuditDecision::AskExpired,
            Some("nobody answered the question in time, so it was denied"),
        ),
        Ended::Stopped => (
            Stored::Expired,
            None,
            AuditDecision::AskExpired,
            Some("it did not run: the turn was stopped while a person was asked"),
        ),
    }
}
