//! Runs one call: with its write lock, deadline and span, with redacted and capped output, and catching its panic.
//!
//! Code that all tools need is here, once; a tool knows only its own subject.

use std::io;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio::task::JoinError;
use tracing::{Instrument, info, info_span, warn};

use super::erased::Prepared;
use super::error::ToolError;
use super::{Output, ResultRoom, ToolContext};
use crate::domain::{Effect, ToolResult};
use crate::llm::tokens;

/// Most characters of one result that a model gets whole.
///
/// This is the original's limit, so that prompts tuned there see as much here.
pub const OUTPUT_CAP: usize = 50_000;

/// Most characters that are kept of the beginning and of the end of a result over the cap.
const KEPT_END: usize = 10_000;

/// Most characters that are kept of the beginning and of the end of a result without room after the other calls of the
/// step, or without money left in its turn.
const SHORT_END: usize = 2_000;

/// The text about a call that a stop ended, or prevented.
const STOPPED: &str = "stopped before it was done";

/// A call that ended.
#[derive(Debug)]
pub struct Ran {
    pub result: ToolResult,
    /// Its effect, for receipts.
    pub effect: Option<Effect>,
}

/// Runs an allowed call. Always gives a result; an error is also a result.
pub async fn run(prepared: Prepared, context: &ToolContext) -> Ran {
    let name = prepared.name().to_owned();
    let span = info_span!(
        "tool_call",
        otel.name = %format_args!("execute_tool {name}"),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = name.as_str(),
        gen_ai.tool.call.id = %context.call,
        agent.id = %context.agent,
        turn.id = %context.turn,
    );
    async {
        let started = Instant::now();
        let outcome = attempt(prepared, context).await;
        let ran = finish(&name, outcome, context).await;
        info!(
            tool.duration_ms = started.elapsed().as_millis() as u64,
            tool.is_error = ran.result.is_error,
            tool.output_chars = ran.result.content.len(),
            "tool {name} finished"
        );
        ran
    }
    .instrument(span)
    .await
}

async fn attempt(prepared: Prepared, context: &ToolContext) -> Result<Output, ToolError> {
    let _write = match &prepared.writes {
        Some(path) => Some(lock(path, prepared.info.name, context).await?),
        None => None,
    };
    let deadline = prepared.deadline;
    let call = AssertUnwindSafe(prepared.run(context)).catch_unwind();
    let outcome = match deadline {
        None => call.await,
        Some(deadline) => tokio::select! {
            biased;
            () = context.stop.cancelled() => return Err(ToolError::rejected(STOPPED)),
            outcome = tokio::time::timeout(deadline, call) => {
                outcome.map_err(|_| ToolError::Rejected(overdue(deadline)))?
            }
        },
    };
    outcome.unwrap_or_else(|_panic| Err(ToolError::failed("it ended because of a bug in Chorus")))
}

async fn lock(
    path: &str,
    tool: &str,
    context: &ToolContext,
) -> Result<crate::workspace::locks::Held, ToolError> {
    let holder = format!("{tool} in conversation {}", context.conversation);
    let held = context.services.locks.hold(context.agent, path, holder);
    tokio::select! {
        biased;
        () = context.stop.cancelled() => Err(ToolError::rejected(STOPPED)),
        held = held => held.map_err(|busy| ToolError::Rejected(busy.to_string())),
    }
}

fn overdue(deadline: Duration) -> String {
    format!(
        "not done after {} s, so it was ended; try something smaller",
        deadline.as_secs()
    )
}

async fn finish(name: &str, outcome: Result<Output, ToolError>, context: &ToolContext) -> Ran {
    let (output, is_error) = match outcome {
        Ok(output) => (output, false),
        Err(error @ ToolError::Rejected(_)) => (Output::from(error.to_string()), true),
        Err(error @ ToolError::Failed(_)) => {
            warn!(error = %error, "failed to run tool {name}");
            (Output::from(error.to_string()), true)
        }
    };
    Ran {
        result: ToolResult {
            call_id: context.call.clone(),
            name: name.to_owned(),
            content: presented(&output.text, context).await,
            is_error,
            images: output.images,
        },
        effect: output.effect,
    }
}

/// Returns `text` as a model gets it: without secrets, and no longer than allowed; otherwise its beginning and end, and
/// where to find all of it.
pub async fn presented(text: &str, context: &ToolContext) -> String {
    let text = context.services.redactor.redact(text).into_owned();
    let Some(end) = cut_to(&text, context.room.as_ref()).await else {
        return text;
    };
    let cut = Cut::of(&text, end);
    let (outputs, agent) = (context.services.outputs.clone(), context.name.clone());
    let saved = tokio::task::spawn_blocking(move || outputs.save(&agent, &text)).await;
    cut.told(kept(saved).map(|handle| handle.to_string()))
}

/// Returns the report of a sub-agent as its parent gets it. All of it is kept under the sub-agent's `id`, regardless of
/// its length.
pub async fn presented_report(text: &str, id: String, context: &ToolContext) -> String {
    let text = context.services.redactor.redact(text).into_owned();
    let end = cut_to(&text, context.room.as_ref()).await;
    let cut = end.map(|end| Cut::of(&text, end));
    let (outputs, agent) = (context.services.outputs.clone(), context.name.clone());
    let (handle, whole) = (id.clone(), text.clone());
    let saved = tokio::task::spawn_blocking(move || outputs.save_as(&agent, &handle, &whole)).await;
    let kept = kept(saved);
    match cut {
        None => text,
        Some(cut) => cut.told(kept.map(|()| id)),
    }
}

/// Returns the object that was kept for a second reading.
fn kept<T>(saved: Result<io::Result<T>, JoinError>) -> Option<T> {
    match saved {
        Ok(Ok(kept)) => Some(kept),
        Ok(Err(error)) => {
            warn!(error = %error, "failed to keep an output for a second reading");
            None
        }
        Err(_) => None,
    }
}

/// Returns how many characters to show of the beginning and of the end of a text without room; `None` if it is shown
/// whole.
async fn cut_to(text: &str, room: Option<&ResultRoom>) -> Option<usize> {
    let is_short = text.chars().count() <= OUTPUT_CAP;
    let told = if is_short {
        text
    } else {
        &text[..nth_char(text, 2 * KEPT_END)]
    };
    let has_room = match room {
        Some(room) => room.takes(tokens::estimate(told)).await,
        None => true,
    };
    match (has_room, is_short) {
        (true, true) => None,
        (true, false) => Some(KEPT_END),
        (false, _) => Some(SHORT_END),
    }
}

/// The two ends of a text.
struct Cut {
    head: String,
    tail: String,
    chars: usize,
    left_out: usize,
}

impl Cut {
    /// Keeps this many characters of the beginning and of the end.
    fn of(text: &str, end: usize) -> Self {
        let chars = text.chars().count();
        Self {
            head: text[..nth_char(text, end)].to_owned(),
            tail: text[nth_char(text, chars - end)..].to_owned(),
            chars,
            left_out: chars - 2 * end,
        }
    }

    /// Returns the text with the place of the whole, if it could be kept.
    fn told(self, handle: Option<String>) -> String {
        let Self {
            head,
            tail,
            chars,
            left_out,
        } = self;
        let all = handle.map_or_else(
            || "the rest could not be kept".to_owned(),
            |handle| format!("all of it: tool_output with handle \"{handle}\""),
        );
        format!("{head}\n\n[… {left_out} of {chars} characters left out; {all} …]\n\n{tail}")
    }
}

fn nth_char(text: &str, n: usize) -> usize {
    text.char_indices()
        .nth(n)
        .map_or(text.len(), |(index, _)| index)
}
