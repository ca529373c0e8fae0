//! A conversation as a list of items, in a form that can be sent to all providers.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ids::{CallId, MessageId};
use super::json_values;
use super::marks::{LINE_ENDS, apart, as_name};
use super::message::{Attachment, Author, Quote};
use super::usage::Usage;

/// Bytes of a message to a model besides its text and facts: its author and attachments.
const ROOM_FOR_NAMES: usize = 64;

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Item {
    /// A person's message, or a note of the system to the model.
    User(UserText),
    /// The model's answer.
    Assistant(Assistant),
    /// The result of one tool call.
    ToolResult(ToolResult),
}

impl Item {
    /// Returns its approximate size in bytes, pictures included.
    pub fn size(&self) -> usize {
        match self {
            Self::User(user) => user.text.len() + size_of_images(&user.images),
            Self::Assistant(answer) => {
                let calls = answer.tool_calls.iter().map(ToolCall::size);
                let opaque = answer
                    .opaque
                    .iter()
                    .map(|opaque| size_of_json(&opaque.block));
                answer.text.len() + calls.sum::<usize>() + opaque.sum::<usize>()
            }
            Self::ToolResult(result) => result.content.len() + size_of_images(&result.images),
        }
    }

    /// Returns its text, for counting and search.
    pub fn text(&self) -> &str {
        match self {
            Self::User(user) => &user.text,
            Self::Assistant(assistant) => &assistant.text,
            Self::ToolResult(result) => &result.content,
        }
    }
}

/// A person's message, or a note of the system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UserText {
    pub text: String,
    /// Its author; `None` for a note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
    /// The Discord message it came in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// The message it replies to, if that was not in the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Quote>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Pictures for the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Written by Chorus, not by a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub note: bool,
    /// Facts at the time it was written (time, model, workspace, other work). They are sent with the text and stored
    /// here, so that the prefix before it stays the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<String>,
    /// When it was added to the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<DateTime<Utc>>,
}

impl UserText {
    /// Creates a note of the system to the model.
    pub fn note(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            note: true,
            ..Self::default()
        }
    }

    /// Returns the text as sent to a model: the quoted message, the author, the attachments, and the facts at that
    /// time.
    ///
    /// The same item always gives the same bytes, so that a provider can cache the prefix up to it.
    pub fn for_model(&self) -> String {
        let facts = self.facts.as_ref().map_or(0, String::len);
        let mut text = String::with_capacity(self.text.len() + facts + ROOM_FOR_NAMES);
        // Writing to a string never fails.
        let _ = self.write_for_model(&mut text);
        text
    }

    /// Writes the text of [`Self::for_model`].
    ///
    /// # Errors
    ///
    /// Fails if `to` fails.
    pub fn write_for_model(&self, to: &mut impl fmt::Write) -> fmt::Result {
        if let Some(quote) = &self.quote {
            to.write_str(&quote.for_model())?;
        }
        match &self.author {
            // The author of a note keeps the words of others in it apart.
            _ if self.note => write!(to, "[note] {}", self.text)?,
            Some(author) => {
                write!(to, "{}: {}", as_name(&author.name), apart(&self.text))?;
            }
            None => to.write_str(&self.text)?,
        }
        for attachment in &self.attachments {
            if let Some(path) = &attachment.saved_as {
                let size = attachment.size;
                let name = as_name(&attachment.name);
                write!(
                    to,
                    "\n[attached file {name}, {size} bytes, saved as {path}]"
                )?;
            }
        }
        if let Some(facts) = &self.facts {
            // It is one line that names files.
            write!(to, "\n\n[{}]", facts.replace(LINE_ENDS, " "))?;
        }
        Ok(())
    }
}

/// A whole answer of a model, never a partial stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Assistant {
    /// Its text; may be empty if there are tool calls.
    pub text: String,
    /// Tools that it wants to run, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Blocks that only their own provider understands and may need back (thinking, server-side search).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opaque: Vec<OpaqueBlock>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The role that answered in the agent's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A block kept for the provider that made it, byte for byte.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpaqueBlock {
    /// Wire format that made it (`anthropic`, `openai_responses`, `gemini`); other formats leave it out.
    pub format: String,
    /// Its position among the blocks of the answer, counted from 0; text and tool calls count as well.
    pub index: usize,
    pub block: Value,
}

/// A tool that a model wants to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Links call and result.
    pub id: CallId,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments, as the model wrote them: untrusted until validated.
    pub arguments: Map<String, Value>,
}

/// The tool that calls a tool that the model knows only by name.
pub const CALL_TOOL: &str = "call_tool";

/// Longest name of a tool, in bytes, that [`CALL_TOOL`] accepts; providers accept 64 for all others.
const NAME_MAX: usize = 128;

impl ToolCall {
    /// Returns the approximate size of its arguments in bytes.
    pub fn size(&self) -> usize {
        size_of_fields(&self.arguments)
    }

    /// Returns the intended call: a call of [`CALL_TOOL`] that names another tool is a call of that tool.
    ///
    /// A call that names no tool or itself, or whose arguments are not an object, stays a call of [`CALL_TOOL`], which
    /// then fails.
    pub fn meant(&self) -> Self {
        self.through().unwrap_or_else(|| self.clone())
    }

    fn through(&self) -> Option<Self> {
        if self.name != CALL_TOOL {
            return None;
        }
        let name = self.arguments.get("name")?.as_str()?.trim();
        if name.is_empty() || name.len() > NAME_MAX || name == CALL_TOOL {
            return None;
        }
        let arguments = match self.arguments.get("arguments") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(given)) => given.clone(),
            // Some models write the inner object as text, like the outer one.
            Some(Value::String(text)) if json_values::are_few(text) => {
                serde_json::from_str(text).ok()?
            }
            Some(_) => return None,
        };
        Some(Self {
            id: self.id.clone(),
            name: name.to_owned(),
            arguments,
        })
    }
}

/// The result of one tool call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    pub call_id: CallId,
    pub name: String,
    pub content: String,
    /// The call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Pictures for a model that can see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// A picture, kept whole so that a request can be built without the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    /// The bytes in standard Base64.
    pub data: String,
}

/// Bytes that a value counts for in addition to its text.
const FRAME: usize = 8;

fn size_of_images(images: &[Image]) -> usize {
    images.iter().map(|image| image.data.len()).sum()
}

/// Returns the approximate size of `fields` as JSON, in bytes.
pub fn size_of_fields(fields: &Map<String, Value>) -> usize {
    let size = |(name, value): (&String, &Value)| name.len() + size_of_json(value);
    fields.iter().map(size).sum()
}

fn size_of_json(value: &Value) -> usize {
    FRAME
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len(),
            Value::Array(list) => list.iter().map(size_of_json).sum(),
            Value::Object(fields) => size_of_fields(fields),
        }
}

/// Why a model stopped generating.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    ToolUse,
    /// It reached the output limit: its last call may be cut off and must not run.
    MaxTokens,
    /// It paused a long server-side step and wants to be asked again.
    Pause,
    Refusal,
    /// The conversation is longer than its window.
    ContextExceeded,
}
