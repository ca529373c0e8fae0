//! Tool calls as text, for models on a server that does not support tools.
//!
//! The system prompt describes the tools, earlier calls and results are written as text, and the blocks
//! `<tool_call>…</tool_call>` of an answer are read as its calls. Hermes and Qwen models were trained on this form, and
//! most others follow it when they see it.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::provider::{Delta, OnDelta, Reply, Request, ToolSchema, TruncatedCall};
use super::stream_decoder::random_id;
use crate::domain::json_values::{self, MOST_VALUES, ValuesLeft};
use crate::domain::{Assistant, CallId, Item, StopReason, ToolCall, ToolResult, UserText};

const OPENS: &str = "<tool_call>";
const CLOSES: &str = "</tool_call>";

/// Blocks of one answer that are read; blocks after them do not count as calls.
const MAX_BLOCKS: usize = 1_024;

/// Rewrites `request` for a server that accepts no tools.
pub(super) fn written_out(request: Request) -> Request {
    let mut system = request.system;
    if !request.tools.is_empty() {
        // After the system prompt itself and before the parts that change, so that a cached prefix stays valid.
        let place = system.len().min(1);
        system.insert(place, description(&request.tools));
    }
    let items = request.items.iter().map(item).collect();
    Request {
        system,
        items: Arc::new(items),
        tools: Arc::default(),
        ..request
    }
}

fn description(tools: &[ToolSchema]) -> String {
    let mut text = format!(
        "# Tools\n\nYou can call tools. To call one, end your answer with a block of exactly this form:\n\
         {OPENS}\n{{\"name\": \"the tool's name\", \"arguments\": {{\"argument\": \"value\"}}}}\n{CLOSES}\n\
         Several blocks are several calls. Write nothing behind them: the results come with the next message, in \
         <tool_result> blocks. Never write a result yourself. Without a block your answer is final.\n\nThe tools, one a line:\n"
    );
    for tool in tools {
        let line = json!({
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        });
        let _ = writeln!(text, "{line}");
    }
    text
}

fn item(item: &Item) -> Item {
    match item {
        Item::User(user) => Item::User(user.clone()),
        Item::Assistant(answer) => Item::Assistant(Assistant {
            text: with_calls(answer),
            tool_calls: Vec::new(),
            ..answer.clone()
        }),
        Item::ToolResult(result) => Item::User(UserText {
            text: result_block(result),
            images: result.images.clone(),
            ..UserText::default()
        }),
    }
}

fn with_calls(answer: &Assistant) -> String {
    let mut text = answer.text.clone();
    for call in &answer.tool_calls {
        let line = json!({"name": call.name, "arguments": call.arguments});
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = write!(text, "{OPENS}\n{line}\n{CLOSES}");
    }
    text
}

fn result_block(result: &ToolResult) -> String {
    let status = if result.is_error {
        " status=\"error\""
    } else {
        ""
    };
    format!(
        "<tool_result name=\"{}\"{status}>\n{}\n</tool_result>",
        result.name, result.content
    )
}

/// Reads the calls in the text of `reply`.
pub(super) fn read(mut reply: Reply) -> Reply {
    let text = std::mem::take(&mut reply.assistant.text);
    let mut words = String::new();
    let mut rest = text.as_str();
    let mut blocks = 0;
    let mut values_left = ValuesLeft::default();
    while let Some((before, block)) = rest.split_once(OPENS) {
        words.push_str(before);
        blocks += 1;
        if blocks > MAX_BLOCKS {
            reply.truncated_calls.push(TruncatedCall {
                id: CallId(random_id()),
                name: String::new(),
                why: format!(
                    "The answer has more than {MAX_BLOCKS} {OPENS} blocks. The others were not run."
                ),
                is_text: false,
            });
            rest = "";
            break;
        }
        let (inner, after, is_whole) = match block.split_once(CLOSES) {
            Some((inner, after)) => (inner, after, true),
            None => (block, "", false),
        };
        match call(inner, &mut values_left) {
            Ok(call) => reply.assistant.tool_calls.push(call),
            Err(error) => reply.truncated_calls.push(TruncatedCall {
                id: CallId(random_id()),
                name: String::new(),
                why: if is_whole {
                    error.told()
                } else {
                    format!("{} It has no {CLOSES} at its end.", error.told())
                },
                is_text: false,
            }),
        }
        rest = after;
    }
    words.push_str(rest);
    reply.assistant.text = words.trim().to_owned();
    if !reply.assistant.tool_calls.is_empty() && reply.stop == StopReason::EndTurn {
        reply.stop = StopReason::ToolUse;
    }
    reply
}

/// Reads a call that a model with tools wrote as text in `reply`.
///
/// An answer that consists of `<tool_call>` blocks for tools of the request is read as these calls. Every other form,
/// and a block after words, may be an example for people: the model gets a note that it wrote text.
pub(super) fn read_stray(mut reply: Reply, tools: &[ToolSchema]) -> Reply {
    let text = reply.assistant.text.trim();
    let has_calls = !reply.assistant.tool_calls.is_empty() || !reply.truncated_calls.is_empty();
    if has_calls || reply.stop != StopReason::EndTurn || text.is_empty() || tools.is_empty() {
        return reply;
    }
    let is_tool = |name: &str| tools.iter().any(|tool| tool.name == name);
    if text.starts_with(OPENS) && text.ends_with(CLOSES) {
        let read = read(reply.clone());
        let calls = &read.assistant.tool_calls;
        let is_whole = read.assistant.text.is_empty() && read.truncated_calls.is_empty();
        if is_whole && calls.iter().all(|call| is_tool(&call.name)) {
            return read;
        }
    }
    if let Some(name) = named_in(text, is_tool) {
        reply.truncated_calls.push(TruncatedCall {
            id: CallId(random_id()),
            why: format!(
                "The answer has a call of {name} as text. It was not run. Call the tool itself, without writing the call out."
            ),
            name,
            is_text: true,
        });
    }
    reply
}

/// Marks at the beginning of calls in the text of models, each in its own format.
const MARKS: [&str; 11] = [
    OPENS,
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<function_calls>",
    "<invoke",
    "<function=",
    "<｜tool▁call▁begin｜>", // DeepSeek
    "<|tool_call_begin|>",   // Kimi
    "<minimax:tool_call>",   // MiniMax
    "to=functions.",         // gpt-oss
    "```tool_code",          // Gemma
];

/// How far after its mark a call names its tool.
const NAME_WITHIN: usize = 160;

/// Returns the tool named by a call in text form, if `text` is such a call or ends with one.
fn named_in(text: &str, is_tool: impl Fn(&str) -> bool) -> Option<String> {
    let mark = MARKS.iter().filter_map(|mark| text.rfind(mark)).min();
    let Some(at) = mark else {
        return named_in_json(unfenced(text)).filter(|name| is_tool(name));
    };
    // In a code block it is an example.
    if text[..at].matches("```").count() % 2 == 1 {
        return None;
    }
    let call = &text[at..text.floor_char_boundary(at + NAME_WITHIN)];
    let words =
        call.split(|letter: char| !(letter.is_alphanumeric() || matches!(letter, '_' | '-')));
    words
        .filter(|word| !word.is_empty())
        .find(|word| is_tool(word))
        .map(str::to_owned)
}

/// Returns the tool that JSON names, if it is a call.
fn named_in_json(text: &str) -> Option<String> {
    let json = text[text.find(['{', '['])?..].trim();
    if !json_values::are_few(json) {
        return None;
    }
    let value: Value = serde_json::from_str(json).ok()?;
    let first = value.get(0).unwrap_or(&value);
    let has_arguments = ["arguments", "parameters", "args"]
        .iter()
        .any(|key| first.get(key).is_some());
    let name = first.get("name").or_else(|| first.get("tool"))?.as_str()?;
    has_arguments.then(|| name.to_owned())
}

/// Returns the inside of a code block, if `text` is nothing else.
fn unfenced(text: &str) -> &str {
    let inner = || {
        let inner = text.strip_prefix("```")?.strip_suffix("```")?;
        Some(inner.split_once('\n')?.1.trim())
    };
    inner().unwrap_or(text)
}

/// Why a block is not a call.
#[derive(Debug, thiserror::Error)]
enum InvalidBlock {
    #[error("it is not valid JSON ({0})")]
    NoJson(#[from] serde_json::Error),
    #[error("it names no tool")]
    NoName,
    #[error("its arguments are not a JSON object")]
    Arguments,
    #[error("the calls of an answer may have {MOST_VALUES} values in all")]
    TooMany,
}

impl InvalidBlock {
    /// Returns the message to the model.
    fn told(&self) -> String {
        format!(
            "A {OPENS} block was not run: {self}. Write {{\"name\": …, \"arguments\": {{…}}}} in it."
        )
    }
}

/// Reads the call in a block.
fn call(block: &str, values_left: &mut ValuesLeft) -> Result<ToolCall, InvalidBlock> {
    if !values_left.take(block) {
        return Err(InvalidBlock::TooMany);
    }
    let value: Value = serde_json::from_str(block.trim())?;
    let name = value.get("name").and_then(Value::as_str);
    let name = name.ok_or(InvalidBlock::NoName)?.to_owned();
    let arguments = value.get("arguments").or_else(|| value.get("parameters"));
    let arguments = match arguments {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(Value::String(text)) if !values_left.take(text) => {
            return Err(InvalidBlock::TooMany);
        }
        Some(Value::String(text)) => {
            serde_json::from_str(text).map_err(|_| InvalidBlock::Arguments)?
        }
        Some(_) => return Err(InvalidBlock::Arguments),
    };
    Ok(ToolCall {
        id: CallId(random_id()),
        name,
        arguments,
    })
}

/// Shows an answer as it grows, without its calls.
#[derive(Default)]
pub(super) struct Preview {
    /// Text that was received and is not yet shown: it may be the beginning of a block.
    held: String,
    in_call: bool,
}

impl Preview {
    /// Takes the next piece; the part that people may see is passed to `on_delta`.
    pub(super) fn take(&mut self, delta: Delta<'_>, on_delta: &mut OnDelta<'_>) {
        let Delta::Text(text) = delta else {
            return on_delta(delta);
        };
        if self.in_call {
            return;
        }
        self.held.push_str(text);
        let shown = match self.held.find(OPENS) {
            Some(at) => {
                self.in_call = true;
                at
            }
            None => self.held.len() - beginning_at_end(&self.held),
        };
        if shown > 0 {
            on_delta(Delta::Text(&self.held[..shown]));
            self.held.drain(..shown);
        }
        if self.in_call {
            on_delta(Delta::ToolCall(""));
        }
    }

    /// Shows the text that was held back but is not a block.
    pub(super) fn end(self, on_delta: &mut OnDelta<'_>) {
        if !self.in_call && !self.held.is_empty() {
            on_delta(Delta::Text(&self.held));
        }
    }
}

/// Returns how many bytes at the end of `text` may be the beginning of a block.
fn beginning_at_end(text: &str) -> usize {
    let lengths = (1..OPENS.len()).rev();
    lengths
        .into_iter()
        .find(|length| text.ends_with(&OPENS[..*length]))
        .unwrap_or(0)
}
