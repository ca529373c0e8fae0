//! The router: a tool by which a turn has one of several roles answer in its place.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::tags::tagged;
use crate::agent::setup::{Stage, destination_fault};
use crate::agent::turn::calls::Call;
use crate::agent::turn::children::BegunChild;
use crate::agent::turn::end_reason::EndReason;
use crate::agent::turn::{Outcome, Turn};
use crate::charter::Role;
use crate::domain::{Assistant, CallId, ToolCall, ToolResult, UserText};
use crate::llm::ToolSchema;
use crate::permission::Action;
use crate::store::{AuditDecision, CallEnd, ChildKind, Starting, StoreError};
use crate::text;

/// The tool that ends a turn's own work.
pub(in crate::agent::turn) const HAND_OVER: &str = "hand_over";

/// Characters that the destination is told besides the request.
const MESSAGE_MAX: usize = 32_000;

/// The roles that a turn may hand over to, at least one.
pub(super) struct Routing {
    destinations: Vec<Arc<Role>>,
    /// Whether an answer must be handed over.
    required: bool,
    schema: ToolSchema,
}

/// A call that hands the turn over.
pub(in crate::agent::turn) struct HandOver {
    call: CallId,
    to: Arc<Role>,
    message: Option<String>,
}

/// What an answer means for the router.
pub(in crate::agent::turn) enum Routed {
    /// Nothing.
    Not(Assistant),
    /// Its model was told that it must hand over.
    Told,
    /// The destination answered.
    Over(Outcome),
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

impl Turn {
    /// The router, unless the turn's report is complete except for its fields.
    fn router(&self) -> Option<&Routing> {
        let router = self.stages.as_ref()?.router.as_ref();
        router.filter(|_| !self.owes_fields_alone())
    }

    /// The tool that hands over, where there is a router.
    pub(in crate::agent::turn) fn tool_to_hand_over(&self) -> Option<&ToolSchema> {
        Some(&self.router()?.schema)
    }

    /// Hands over an answer that calls for it. An answer in words is refused once, where it must be handed over.
    pub(in crate::agent::turn) async fn routed(
        &mut self,
        answer: Assistant,
        told: &mut bool,
    ) -> Result<Routed, StoreError> {
        if let Some(handed) = self.handed_over(&answer) {
            let outcome = Box::pin(self.hand_over(answer, handed)).await?;
            return Ok(Routed::Over(outcome));
        }
        let says = answer.tool_calls.is_empty() && !answer.text.trim().is_empty();
        let note = self.note_to_hand_over().filter(|_| says && !*told);
        let Some(note) = note else {
            return Ok(Routed::Not(answer));
        };
        *told = true;
        self.live.ends_speech();
        self.add_note(note).await?;
        Ok(Routed::Told)
    }

    /// Why a call does not hand over; `None` for calls of other tools, and where there is no router.
    pub(in crate::agent::turn) fn refused_hand_over(&self, call: &Call) -> Option<String> {
        let router = self.router().filter(|_| call.name == HAND_OVER)?;
        let checked = router.check(&call.arguments);
        checked.err().map(|why| why.to_string())
    }

    /// The first valid call of an answer that hands over.
    pub(in crate::agent::turn) fn handed_over(&self, answer: &Assistant) -> Option<HandOver> {
        let router = self.router()?;
        answer.tool_calls.iter().find_map(|call| {
            let meant = call.meant();
            let (to, message) = router.check(&meant.arguments).ok()?;
            (meant.name == HAND_OVER).then(|| HandOver {
                call: meant.id,
                to,
                message,
            })
        })
    }

    /// What the model is told that answers itself although it must hand over.
    fn note_to_hand_over(&self) -> Option<String> {
        let router = self.router().filter(|router| router.required)?;
        let names: Vec<&str> = router
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

    /// Has the destination answer in this turn's place. No other call of `answer` runs.
    pub(in crate::agent::turn) async fn hand_over(
        &mut self,
        answer: Assistant,
        handed: HandOver,
    ) -> Result<Outcome, StoreError> {
        let HandOver { call, to, message } = handed;
        let calls = answer.tool_calls.clone();
        let words = self.words_for_destination(message.as_deref());
        let mut assignment = self.stage(ChildKind::Route, &to, words);
        if let Err(why) = self.reserve(&mut assignment).await? {
            return Ok(Outcome::None {
                exit: EndReason::Failed,
                error: why.to_string(),
            });
        }
        let new = self.new_child(Some(call.clone()), &assignment).await;
        self.audit_hand_over(&calls, &call, &to.name);
        let starting = Starting {
            calls: vec![call.clone()],
            children: vec![new.clone()],
        };
        let passes = self.passes_on_from(&to);
        if passes {
            self.accounting.attached.hides_words = Some(self.context.id());
        }
        let begun = self.record_and_start(answer, starting).await?;
        let Some(conversation) = begun.into_iter().next() else {
            return Err(StoreError::NotFound(
                "conversation of a destination".to_owned(),
            ));
        };
        self.doing(format!("Handed over to {}", to.name));
        if passes {
            self.passes_unseen();
        }
        let speech = (!passes).then(|| self.live.speech.clone());
        let begun = BegunChild { new, conversation };
        let (mut ended, outcome) = self.run_stage(assignment, begun, speech).await?;
        ended.below.results = results(&calls, &call, &to.name, &outcome);
        self.in_its_place = Some(ended);
        self.answered_by = None;
        if let Some(stages) = &mut self.stages {
            stages.handed_to = Some(to.clone());
        }
        let line = format!("-# answered by {}", to.name);
        Ok(outcome.given_by(&to.name, Some(line)))
    }

    /// What the destination gets: what people wrote, what advisors said, and what this turn's model says besides.
    fn words_for_destination(&self, message: Option<&str>) -> UserText {
        let (mut words, advice) = self.request();
        let parts = [
            words.text.as_str(),
            advice,
            &message.map_or_else(String::new, |message| {
                let from = format!(" from=\"{}\"", self.context.agent.name);
                tagged("message", &from, message)
            }),
        ];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        words.text = parts.join("\n\n");
        words
    }

    /// What people wrote in this turn in its tag, with their pictures; and what the advisors said.
    pub(super) fn request(&self) -> (UserText, &str) {
        let Some(stages) = &self.stages else {
            return Default::default();
        };
        let written = stages.asked.iter().map(|words| {
            let words = UserText {
                facts: None,
                images: Vec::new(),
                ..words.clone()
            };
            words.for_model()
        });
        let written: Vec<String> = written.collect();
        let images = stages.asked.iter().flat_map(|words| &words.images);
        let words = UserText {
            text: tagged("original_user_request", "", &written.join("\n\n")),
            images: images.cloned().collect(),
            ..UserText::default()
        };
        (words, &stages.advice)
    }

    fn audit_hand_over(&mut self, calls: &[ToolCall], handed: &CallId, to: &str) {
        let rows: Vec<_> = calls
            .iter()
            .map(|call| {
                let meant = call.meant();
                if meant.id == *handed {
                    let action = Action::new(HAND_OVER, to).to_string();
                    let allowed = AuditDecision::Allow;
                    return self
                        .context
                        .audit_row(&meant, &action, allowed, None, Value::Null);
                }
                let why = json!({"reason": not_run(to)});
                let denied = AuditDecision::Deny;
                self.context
                    .audit_row(&meant, &meant.name, denied, None, why)
            })
            .collect();
        self.accounting.attached.audit.extend(rows);
    }
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
        let answered = outcome.words().is_some();
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
