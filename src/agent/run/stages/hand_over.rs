//! Roles that answer in the place of a turn: by the router, a tool that hands over to one of several, or because a person
//! asked for one (`/ask role:`).

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::tags::tagged;
use super::{Stages, TITLE_CHARS, first_words, speak_unseen, words};
use crate::agent::calls::Call;
use crate::agent::calls::task::{Assignment, BegunChild, NotCalled, SpawnReservation};
use crate::agent::run::Orchestrator;
use crate::agent::run::sub_agents::run_stage;
use crate::agent::setup::offer::Offer;
use crate::agent::setup::{Stage, destination_fault};
use crate::agent::turn::end::EndReason;
use crate::agent::turn::host::Taken;
use crate::agent::turn::policy::{Last, Next};
use crate::agent::turn::{Outcome, Turn};
use crate::charter::Role;
use crate::domain::{Assistant, CallId, ToolCall, ToolResult, UserText};
use crate::llm::ToolSchema;
use crate::permission::Action;
use crate::store::{AuditDecision, CallEnd, ChildKind, NextStage, Starting, StoreError};
use crate::text;

/// The tool that ends a turn's own work.
const HAND_OVER: &str = "hand_over";

/// Characters that the destination is told besides the request.
const MESSAGE_MAX: usize = 32_000;

/// The roles that a turn may hand over to, at least one.
pub(in crate::agent::run) struct Routing {
    destinations: Vec<Arc<Role>>,
    /// Whether an answer must be handed over.
    required: bool,
    schema: ToolSchema,
}

/// A call that hands the turn over.
struct HandOver {
    call: CallId,
    to: Arc<Role>,
    message: Option<String>,
}

/// Why a call does not hand over. The text is for the model.
#[derive(Debug, thiserror::Error)]
enum NotHandedOver {
    #[error("`to` is missing. There are: {0}")]
    Nowhere(String),
    #[error("there is no destination {name}{near} There are: {known}")]
    Unknown {
        name: String,
        near: String,
        known: String,
    },
    #[error("`message` is a text")]
    NoText,
    #[error(
        "`message` has {0} characters, more than {MESSAGE_MAX}; put the larger part into a file"
    )]
    LongMessage(usize),
}

/// What the channel is told about destinations that cannot be used.
pub(super) fn faults(destinations: Option<&[Stage]>) -> Vec<String> {
    let all = destinations.unwrap_or_default().iter();
    all.filter_map(destination_fault).collect()
}

impl Routing {
    /// The router over those of `destinations` that can be used; `None` where none can.
    pub(super) fn of(required: bool, destinations: Vec<Stage>) -> Option<Self> {
        let usable = destinations.into_iter().filter_map(|stage| stage.role.ok());
        let destinations: Vec<Arc<Role>> = usable.collect();
        let schema = schema(&destinations)?;
        Some(Self {
            destinations,
            required,
            schema,
        })
    }

    /// The tool that hands over.
    pub(in crate::agent::run) fn schema(&self) -> &ToolSchema {
        &self.schema
    }

    /// Why a call does not hand over; `None` for calls of other tools.
    pub(in crate::agent::run) fn refuses(&self, call: &Call) -> Option<String> {
        if call.name != HAND_OVER {
            return None;
        }
        let checked = self.check(&call.arguments);
        checked.err().map(|why| why.to_string())
    }

    /// The first valid call of an answer that hands over.
    fn handed_over(&self, answer: &Assistant) -> Option<HandOver> {
        answer.tool_calls.iter().find_map(|call| {
            let meant = call.meant();
            let (to, message) = self.check(&meant.arguments).ok()?;
            (meant.name == HAND_OVER).then(|| HandOver {
                call: meant.id,
                to,
                message,
            })
        })
    }

    /// What the model is told that answers itself although it must hand over.
    fn note(&self) -> Option<String> {
        if !self.required {
            return None;
        }
        let names: Vec<&str> = self
            .destinations
            .iter()
            .map(|role| role.name.as_str())
            .collect();
        Some(format!(
            "Your answer was not sent: requests are handed over here. Call `{HAND_OVER}` with one of {}; \
             if none fits, answer again and that answer stands.",
            names.join(", ")
        ))
    }

    fn check(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<(Arc<Role>, Option<String>), NotHandedOver> {
        let names = || self.destinations.iter().map(|role| role.name.as_str());
        let known = || names().collect::<Vec<_>>().join(", ");
        let to = arguments.get("to").and_then(Value::as_str).map(str::trim);
        let Some(to) = to.filter(|to| !to.is_empty()) else {
            return Err(NotHandedOver::Nowhere(known()));
        };
        let Some(role) = self.destinations.iter().find(|role| role.name == to) else {
            let near = text::near(to, names());
            return Err(NotHandedOver::Unknown {
                name: text::code_span(&text::one_line(to, 80)),
                near: near.map_or_else(
                    || ".".to_owned(),
                    |near| format!("; did you mean {}?", text::code_span(near)),
                ),
                known: known(),
            });
        };
        let message = match arguments.get("message") {
            None | Some(Value::Null) => None,
            Some(Value::String(message)) => Some(message.trim().to_owned()),
            Some(_) => return Err(NotHandedOver::NoText),
        };
        let length = message
            .as_ref()
            .map_or(0, |message| message.chars().count());
        if length > MESSAGE_MAX {
            return Err(NotHandedOver::LongMessage(length));
        }
        Ok((role.clone(), message.filter(|message| !message.is_empty())))
    }
}

/// The tool's description for the model; `None` without destinations.
fn schema(destinations: &[Arc<Role>]) -> Option<ToolSchema> {
    if destinations.is_empty() {
        return None;
    }
    let mut description =
        "Hand the request over to a role that answers in your place; your work ends with it. The roles:".to_owned();
    for role in destinations {
        let what = text::one_line(&role.description, 200);
        let _ = write!(description, "\n{}: {what}", role.name);
    }
    let names: Vec<&str> = destinations.iter().map(|role| role.name.as_str()).collect();
    let parameters = json!({
        "type": "object",
        "properties": {
            "to": {"type": "string", "enum": names},
            "message": {"type": "string", "description": "What it should know besides the request."},
        },
        "required": ["to"],
    });
    Some(ToolSchema {
        name: HAND_OVER.to_owned(),
        description,
        parameters: to_raw_value(&parameters).ok()?,
    })
}

impl Orchestrator {
    pub(in crate::agent::run) fn router(&self) -> Option<&Routing> {
        super::router(self.stages.as_deref(), &self.owed)
    }

    /// Hands over an answer that calls for it. An answer in words is refused once, where it must be handed over and it is not
    /// the `last`.
    pub(in crate::agent::run) async fn routed(
        &mut self,
        turn: &mut Turn,
        answer: Assistant,
        last: Option<&Last>,
    ) -> Result<Taken, StoreError> {
        let Some(router) = self.router() else {
            return Ok(Taken::Not(answer));
        };
        if let Some(handed) = router.handed_over(&answer) {
            let outcome = Box::pin(self.hand_over(turn, answer, handed)).await?;
            return Ok(Taken::Next(Next::Over(outcome)));
        }
        let says = answer.tool_calls.is_empty() && !answer.text.trim().is_empty();
        let note = router.note().filter(|_| says && last.is_none());
        let Some(stages) = self.stages.as_mut().filter(|one| !one.is_told_to_hand_over) else {
            return Ok(Taken::Not(answer));
        };
        let Some(note) = note else {
            return Ok(Taken::Not(answer));
        };
        stages.is_told_to_hand_over = true;
        turn.live.ends_speech();
        turn.add_note(note).await?;
        Ok(Taken::Next(Next::Again))
    }

    /// Has the destination answer in this turn's place. No other call of `answer` runs.
    async fn hand_over(
        &mut self,
        turn: &mut Turn,
        answer: Assistant,
        handed: HandOver,
    ) -> Result<Outcome, StoreError> {
        let HandOver { call, to, message } = handed;
        let Some(stages) = &mut self.stages else {
            return Err(StoreError::NotFound("stages of a turn".to_owned()));
        };
        let reserved = match turn
            .context
            .deps
            .store
            .reserve_turn(turn.context.id())
            .await?
        {
            Ok(reserved) => reserved,
            Err(why) => {
                return Ok(Outcome::None {
                    exit: EndReason::Failed,
                    error: why.to_string(),
                });
            }
        };
        let calls = answer.tool_calls.clone();
        let words = stages.words_for_destination(turn, message.as_deref());
        let assignment = stages.assignment(turn, ChildKind::Route, &to, words);
        let new = assignment.new_child(turn, Some(call.clone())).await;
        audit_hand_over(turn, &calls, &call, &to.name);
        let starting = Starting {
            calls: vec![call.clone()],
            children: vec![new.clone()],
        };
        let passes = stages.passes_on_from(&to);
        if passes {
            turn.accounting.attached.hides_words = Some(turn.context.id());
        }
        let begun = turn.record_and_start(answer, starting).await?;
        drop(reserved);
        let Some(conversation) = begun.into_iter().next() else {
            return Err(StoreError::NotFound(
                "conversation of a destination".to_owned(),
            ));
        };
        turn.doing(format!("Handed over to {}", to.name));
        // From now on nobody sees words of this turn before they have passed further roles.
        if passes && stages.speech.is_none() {
            stages.speech = Some(speak_unseen(turn));
        }
        stages.handed_to = Some(to.clone());
        let speech = (!passes).then(|| turn.live.speech.clone());
        let begun = BegunChild {
            assignment,
            new,
            conversation,
        };
        let (mut ended, outcome) = run_stage(turn, begun, speech).await?;
        ended.below.results = results(&calls, &call, &to.name, &outcome);
        self.in_its_place = Some(ended);
        turn.answered_by = None;
        let line = format!("-# answered by {}", to.name);
        Ok(outcome.given_by(&to.name, Some(line)))
    }

    /// Has the role `name` answer in the turn's place, which `/ask role:` asks for. The sub-agent knows the words that this
    /// turn began with, and nothing else of the conversation.
    pub(in crate::agent::run) async fn have_role_answer(
        &mut self,
        turn: &mut Turn,
        name: &str,
    ) -> Result<Outcome, StoreError> {
        let (assignment, reservation) = match assignment_by_person(turn, name).await? {
            Ok(assigned) => assigned,
            Err(why) => {
                return Ok(Outcome::None {
                    exit: EndReason::Failed,
                    error: why.to_string(),
                });
            }
        };
        let role = assignment.role.name.clone();
        let start = NextStage {
            begun: vec![assignment.new_child(turn, None).await],
            ..NextStage::default()
        };
        let store = &turn.context.deps.store;
        let begun = store.next_stage(turn.context.id(), &start).await?;
        reservation.begins();
        let (Some(new), Some(conversation)) =
            (start.begun.into_iter().next(), begun.into_iter().next())
        else {
            return Err(StoreError::NotFound("conversation of a role".to_owned()));
        };
        turn.doing(format!("Waiting for {role}"));
        let begun = BegunChild {
            assignment,
            new,
            conversation,
        };
        let (ended, outcome) = run_stage(turn, begun, None).await?;
        self.in_its_place = Some(ended);
        let line = format!("-# Answered by {}.", text::code_span(&role));
        Ok(outcome.given_by(&role, Some(line)))
    }
}

/// The task that a person gives a role.
async fn assignment_by_person(
    turn: &Turn,
    name: &str,
) -> Result<Result<(Assignment, SpawnReservation), NotCalled>, StoreError> {
    let role = match role_by_person(turn, name).await {
        Ok(role) => role,
        Err(why) => return Ok(Err(why)),
    };
    let reserved = SpawnReservation::of(&turn.context).await?;
    let words = first_words(turn);
    let title = turn.context.title(&words.text, TITLE_CHARS);
    let assignment = Assignment::of_stage(ChildKind::SubAgent, role, words, title);
    Ok(reserved.map(|reserved| (assignment, reserved)))
}

/// The role that a person asks for.
async fn role_by_person(turn: &Turn, name: &str) -> Result<Arc<Role>, NotCalled> {
    let context = &turn.context;
    let depth = context.lineage.len();
    if depth >= context.orchestration().max_depth.get() as usize {
        return Err(NotCalled::TooDeep(depth));
    }
    if let Some(above) = context.lineage.iter().find(|role| role.name == name) {
        return Err(NotCalled::IsAbove(above.name.clone()));
    }
    let folder = context.deps.folder(&context.agent);
    let catalog = context.deps.roles_of(context.agent.id, folder).await;
    Ok(Offer::from(catalog.unwrap_or_default()).find(name)?)
}

impl Stages {
    /// What the destination gets: what people wrote, what advisors said, and what this turn's model says besides.
    fn words_for_destination(&self, turn: &Turn, message: Option<&str>) -> UserText {
        let mut words = self.request();
        let parts = [
            words.text.as_str(),
            &self.advice,
            &message.map_or_else(String::new, |message| {
                let from = format!(" from=\"{}\"", turn.context.agent.name);
                tagged("message", &from, message)
            }),
        ];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        words.text = parts.join("\n\n");
        words
    }
}

fn audit_hand_over(turn: &mut Turn, calls: &[ToolCall], handed: &CallId, to: &str) {
    let context = &turn.context;
    let rows = calls.iter().map(|call| {
        let meant = call.meant();
        if meant.id == *handed {
            let action = Action::new(HAND_OVER, to).to_string();
            let allowed = AuditDecision::Allow;
            return context.audit_row(&meant, &action, allowed, None, Value::Null);
        }
        let why = json!({"reason": not_run(to)});
        let denied = AuditDecision::Deny;
        context.audit_row(&meant, &meant.name, denied, None, why)
    });
    turn.accounting.attached.audit.extend(rows);
}

fn not_run(to: &str) -> String {
    format!("not run: handed over to {to}")
}

/// One result for each call of an answer that handed over.
fn results(
    calls: &[ToolCall],
    handed: &CallId,
    to: &str,
    outcome: &Outcome,
) -> Vec<(ToolResult, CallEnd)> {
    let result = |call: &ToolCall, content: String, is_error| ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content,
        is_error,
        images: Vec::new(),
    };
    let of_call = |call: &ToolCall| {
        if call.id != *handed {
            return (result(call, not_run(to), true), CallEnd::Refused);
        }
        let answered = words(outcome).is_some();
        let told = match outcome.exit() {
            _ if answered => format!("handed over to {to}, which answered in your place"),
            EndReason::Refused => format!("handed over to {to}, which declined to answer"),
            exit => format!(
                "handed over to {to}, which gave no answer ({})",
                exit.words()
            ),
        };
        (result(call, told, !answered), CallEnd::Finished)
    };
    calls.iter().map(of_call).collect()
}
