//! The JSON of a session file, in all the dialects that are read.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde::de::{self, DeserializeOwned, Deserializer, SeqAccess, Visitor};
use serde_json::Value;

use crate::domain::{
    Attachment, Author, CallId, Image, MessageId, OpaqueBlock, Quote, ToolResult, Usage,
};

/// Most messages a session may hold: bounds the memory that a hostile file can take.
const MAX_MESSAGES: usize = 200_000;

#[derive(Deserialize)]
pub(super) struct Form {
    pub(super) id: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) agent_id: Option<String>,
    pub(super) agent_name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) summary: Option<String>,
    pub(super) saved_at: Option<String>,
    pub(super) timestamp: Option<String>,
    pub(super) trigger: Option<String>,
    #[serde(default)]
    pub(super) hides_words: Extra<bool>,
    pub(super) messages: Messages,
}

/// The messages, counted while they are read.
pub(super) struct Messages(pub(super) Vec<Message>);

impl<'de> Deserialize<'de> for Messages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counted;
        impl<'de> Visitor<'de> for Counted {
            type Value = Messages;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of messages")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Messages, A::Error> {
                let mut messages = Vec::new();
                while let Some(message) = list.next_element()? {
                    if messages.len() == MAX_MESSAGES {
                        let reason = format!("more than {MAX_MESSAGES} messages");
                        return Err(de::Error::custom(reason));
                    }
                    messages.push(message);
                }
                Ok(Messages(messages))
            }
        }
        deserializer.deserialize_seq(Counted)
    }
}

#[derive(Deserialize)]
pub(super) struct Message {
    pub(super) role: String,
    #[serde(default)]
    pub(super) content: Content,
    #[serde(default, alias = "tool_use")]
    pub(super) tool_calls: Value,
    #[serde(alias = "tool_use_id")]
    pub(super) tool_call_id: Option<String>,
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) note: bool,
    #[serde(default)]
    pub(super) is_error: bool,
    #[serde(default)]
    pub(super) author: Extra<Author>,
    #[serde(default)]
    pub(super) message_id: Extra<MessageId>,
    #[serde(default)]
    pub(super) quote: Extra<Quote>,
    #[serde(default)]
    pub(super) attachments: Extra<Vec<Attachment>>,
    #[serde(default)]
    pub(super) images: Extra<Vec<Image>>,
    #[serde(default)]
    pub(super) facts: Extra<String>,
    #[serde(default)]
    pub(super) at: Extra<DateTime<Utc>>,
    /// The same under the name that the Python original gives it.
    #[serde(default)]
    pub(super) timestamp: Extra<DateTime<Utc>>,
    #[serde(default)]
    pub(super) model: Extra<String>,
    #[serde(default)]
    pub(super) usage: Extra<Usage>,
    #[serde(default)]
    pub(super) opaque: Extra<Vec<OpaqueBlock>>,
    #[serde(default)]
    pub(super) by: Extra<String>,
}

/// A key that only this program writes. Where another program means something else by it, it is ignored.
pub(super) struct Extra<T>(pub(super) Option<T>);

impl<T> Default for Extra<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Extra<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(Self(serde_json::from_value(value).ok()))
    }
}

/// Text as such, or as a list of blocks.
#[derive(Default)]
pub(super) struct Content {
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
    pub(super) results: Vec<ToolResult>,
}

/// A tool call, in whichever dialect.
#[derive(Deserialize)]
pub(super) struct Call {
    pub(super) id: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(alias = "arguments", alias = "input")]
    pub(super) params: Option<Value>,
    /// OpenAI's wire form keeps name and arguments in here.
    pub(super) function: Option<Function>,
}

/// OpenAI's name and arguments of a call.
#[derive(Deserialize)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) arguments: Option<Value>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    ToolUse(Call),
    ToolResult {
        #[serde(alias = "tool_call_id")]
        tool_use_id: String,
        #[serde(default)]
        content: Content,
        #[serde(default)]
        is_error: bool,
    },
    /// Pictures, thinking: nothing that our sessions store this way.
    #[serde(other)]
    Unknown,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Content;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or a list of content blocks")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Content, E> {
                self.visit_string(text.to_owned())
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Content, E> {
                Ok(Content {
                    text,
                    ..Content::default()
                })
            }

            fn visit_unit<E: de::Error>(self) -> Result<Content, E> {
                Ok(Content::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<Content, A::Error> {
                let mut content = Content::default();
                while let Some(block) = blocks.next_element()? {
                    content.add(block);
                }
                Ok(content)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl Content {
    fn add(&mut self, block: Block) {
        match block {
            Block::Text { text } => {
                if !self.text.is_empty() {
                    self.text.push('\n');
                }
                self.text.push_str(&text);
            }
            Block::ToolUse(call) => self.calls.push(call),
            Block::ToolResult {
                tool_use_id,
                content,
                is_error,
            } => self.results.push(ToolResult {
                call_id: CallId(tool_use_id),
                content: content.text,
                is_error,
                ..ToolResult::default()
            }),
            Block::Unknown => {}
        }
    }
}
