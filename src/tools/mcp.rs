//! Tools of MCP servers, called like built-in ones: checked against the pinned definition, judged, run.
//!
//! [`Offer`] decides which of them a turn may use; who may call them was decided before.

mod arguments;
mod offer;
mod result;

use std::sync::Arc;

use async_trait::async_trait;
use chorus_mcp::{Mark, Progress, canonical};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::change::Change;
use super::erased::{AnyTool, AtPlace, Prepared, ToolInfo};
use super::error::{InvalidArguments, InvalidCall, ToolError};
use super::{Output, ToolContext};
use crate::llm::ToolSchema;
use crate::mcp::{CallError, Callee, MAX_DESCRIPTION, RosterTool, Who};
use crate::permission::{Action, Group};
use crate::text;
use crate::workspace::WorkspacePath;

pub(super) use offer::is_of_server;
pub use offer::{Offer, OfferedServer};

/// The tool of all their actions.
pub const TOOL: &str = "mcp";

/// Most characters of a report of progress.
const PROGRESS: usize = 100;

/// Returns the description of a tool for models; `None` if its definition cannot be read.
pub(super) fn schema(tool: &RosterTool) -> Option<ToolSchema> {
    let read = tool.read()?;
    let cut: String = read.description.chars().take(MAX_DESCRIPTION).collect();
    let input = read.input.to_string();
    Some(ToolSchema {
        name: tool.called.to_string(),
        description: text::visible(&cut).0,
        parameters: RawValue::from_string(text::visible_json(&input).into_owned()).ok()?,
    })
}

/// Returns the beginning of every action of a tool. Its name cannot be mistaken for another's: blanks and braces in it
/// are written as in a URL.
pub fn action_of(server: &str, tool: &str, mark: Mark) -> String {
    let mut name = String::new();
    for c in tool.chars() {
        match c {
            '%' | '{' | '}' => name.push_str(&format!("%{:02X}", u32::from(c))),
            c if c.is_whitespace() => name.push_str(&format!("%{:02X}", u32::from(c))),
            c => name.push(c),
        }
    }
    format!("{mark} {server} {name}")
}

/// A tool of a server that a turn may call.
struct ServerTool {
    who: Who,
    callee: Callee,
    schema: ToolSchema,
}

/// Checks a call of a tool of `offer`.
///
/// # Errors
///
/// Fails with a text for the model.
pub(super) fn prepare(
    offer: &Offer,
    name: &str,
    given: &Map<String, Value>,
) -> Result<Prepared, InvalidCall> {
    let (who, callee) = offer.find(name)?;
    let read = callee.tool.read();
    let (Some(tool), Some(schema)) = (read, schema(&callee.tool)) else {
        return Err(InvalidCall::Server(format!(
            "{name}: its definition cannot be read"
        )));
    };
    let arguments = arguments::check(&tool.input, given).map_err(|problems| {
        let problem = InvalidArguments::Schema(problems);
        InvalidCall::Server(format!(
            "{name} cannot run: {problem}. Its arguments: {}",
            schema.parameters.get()
        ))
    })?;
    Ok(Arc::new(ServerTool {
        who: who.clone(),
        callee,
        schema,
    })
    .prepared(arguments))
}

impl ServerTool {
    fn action(&self, arguments: &Map<String, Value>) -> Action {
        let Callee { server, tool } = &self.callee;
        let written = canonical(&Value::Object(arguments.clone()));
        let what = action_of(&server.name, &tool.name, tool.mark);
        Action::new(TOOL, format!("{what} {}", text::visible_json(&written)))
    }

    fn prepared(self: Arc<Self>, arguments: Map<String, Value>) -> Prepared {
        let action = self.action(&arguments);
        let called = self.callee.tool.called.clone();
        Prepared::of_server(self, called, arguments, action)
    }

    /// Returns the server and the tool, as people and models read them.
    fn shown(&self) -> String {
        let Callee { server, tool } = &self.callee;
        format!("{}/{}", server.name, text::visible(&tool.name).0)
    }
}

#[async_trait]
impl AnyTool for ServerTool {
    fn info(&self) -> ToolInfo {
        let (group, subject) = match self.callee.tool.mark {
            Mark::Read => (Group::McpRead, "mcp:read"),
            Mark::Write | Mark::Off => (Group::McpWrite, "mcp:write"),
        };
        ToolInfo {
            name: TOOL,
            group,
            subject,
            shelf: Some(""),
            by_people: false,
            command: None,
            delegates: false,
        }
    }

    fn schema(&self) -> &ToolSchema {
        &self.schema
    }

    fn prepare(self: Arc<Self>, given: &Map<String, Value>) -> Result<Prepared, InvalidCall> {
        Ok(self.prepared(given.clone()))
    }

    fn at_place(&self, _: &Map<String, Value>, _: &WorkspacePath) -> Option<AtPlace> {
        None
    }

    async fn change(&self, _: &Map<String, Value>, _: &ToolContext) -> Option<Change> {
        None
    }

    async fn preview(&self, _: &Map<String, Value>, _: &ToolContext) -> Option<String> {
        None
    }

    /// Calls the server. A stop lets the call end; an abort cancels it.
    async fn run(
        &self,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Output, ToolError> {
        let Some(hub) = &context.services.mcp else {
            return Err(ToolError::rejected("there are no MCP servers here"));
        };
        let shown = self.shown();
        let on_progress = |progress: Progress| {
            if let Some(teller) = &context.progress {
                let line = in_words(&shown, &progress);
                teller.tell(context.services.redactor.redact(&line).into_owned());
            }
        };
        let calling = hub.call(&self.who, &self.callee, &arguments, on_progress);
        let called = tokio::select! {
            biased;
            () = context.abort.cancelled() => {
                return Err(ToolError::rejected("it was cancelled; it may have run, check before repeating"));
            }
            called = calling => called,
        };
        match called {
            Ok(called) => result::told(&shown, called, context).await,
            Err(CallError::Store(error)) => Err(ToolError::failed(error)),
            Err(error) => Err(ToolError::Rejected(error.to_string())),
        }
    }
}

/// Returns a report of progress for the live status.
fn in_words(shown: &str, progress: &Progress) -> String {
    let of = progress
        .total
        .map_or_else(String::new, |total| format!("/{total}"));
    let said = progress.message.as_deref().unwrap_or_default();
    let line = format!("Running {shown}: {}{of} {said}", progress.done);
    text::visible(&text::one_line(line.trim_end(), PROGRESS)).0
}
