//! What a program tells about a running prompt.

use chorus_text::{one_line, visible};
use serde_json::Value;

use super::call::Call;
use super::plan::{Entry, entries};
use super::setup::{ConfigOption, config_options};

/// Characters of a notice.
const NOTICE: usize = 500;

/// One update. Unknown and broken ones have no variant: they are counted.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// Words of the answer, as they were sent.
    Text(String),
    /// It thinks; its thoughts are not kept.
    Thought,
    Plan(Vec<Entry>),
    /// A tool call, or a change of one.
    Call(Box<Call>),
    /// The mode is now this one.
    Mode(String),
    Options(Vec<ConfigOption>),
    Usage(UsageReport),
    Notice(NoticeText),
    /// It made its context shorter.
    Compacted,
    /// Known, and without meaning here.
    Nothing,
}

/// The window and the cost as the program reports them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsageReport {
    pub used: u64,
    pub size: u64,
    /// In dollars, where the program names that currency.
    pub cost: Option<f64>,
}

/// A notice of the program: one line each, hidden characters written out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticeText {
    pub title: String,
    pub description: Option<String>,
}

impl Update {
    /// Reads an update; `None` where it is unknown or broken.
    pub(crate) fn read(update: &Value) -> Option<Self> {
        let word = |name: &str| update.get(name).and_then(Value::as_str);
        match word("sessionUpdate")? {
            "agent_message_chunk" => Some(chunk(update)?.map_or(Self::Nothing, Self::Text)),
            "agent_thought_chunk" => Some(Self::Thought),
            "plan" => Some(Self::Plan(entries(update.get("entries")?))),
            "tool_call" | "tool_call_update" => Call::read(update).map(Box::new).map(Self::Call),
            "current_mode_update" => Some(Self::Mode(word("currentModeId")?.to_owned())),
            "config_option_update" => {
                Some(Self::Options(config_options(update.get("configOptions"))))
            }
            "usage_update" => usage(update).map(Self::Usage),
            "notice" => notice(update).map(Self::Notice),
            "compaction_update" if word("status") == Some("completed") => Some(Self::Compacted),
            "compaction_update"
            | "compaction_summary_chunk"
            | "user_message_chunk"
            | "available_commands_update"
            | "session_info_update" => Some(Self::Nothing),
            _ => None,
        }
    }
}

/// The text of a chunk; `Some(None)` for content of another type.
fn chunk(update: &Value) -> Option<Option<String>> {
    let content = update.get("content")?;
    match content.get("type")?.as_str()? {
        "text" => Some(Some(content.get("text")?.as_str()?.to_owned())),
        _ => Some(None),
    }
}

fn usage(update: &Value) -> Option<UsageReport> {
    let number = |name: &str| update.get(name)?.as_u64();
    let cost = update.get("cost");
    let is_dollars = cost.and_then(|cost| cost.get("currency")?.as_str()) == Some("USD");
    let amount = cost.and_then(|cost| cost.get("amount")?.as_f64());
    Some(UsageReport {
        used: number("used")?,
        size: number("size")?,
        cost: amount.filter(|amount| is_dollars && amount.is_finite() && *amount >= 0.0),
    })
}

fn notice(update: &Value) -> Option<NoticeText> {
    let shown = |name: &str| {
        let text = update.get(name)?.as_str()?;
        Some(visible(&one_line(text, NOTICE)).0)
    };
    let title = shown("title").filter(|title| !title.is_empty())?;
    Some(NoticeText {
        title,
        description: shown("description"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn known_updates_are_read() {
        for (update, expected) in [
            (
                json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}}),
                Update::Text("hi".to_owned()),
            ),
            (
                json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": ""}}),
                Update::Nothing,
            ),
            (
                json!({"sessionUpdate": "agent_thought_chunk"}),
                Update::Thought,
            ),
            (
                json!({"sessionUpdate": "current_mode_update", "currentModeId": "auto"}),
                Update::Mode("auto".to_owned()),
            ),
            (
                json!({"sessionUpdate": "usage_update", "used": 5, "size": 9, "cost": {"amount": 0.5, "currency": "USD"}}),
                Update::Usage(UsageReport {
                    used: 5,
                    size: 9,
                    cost: Some(0.5),
                }),
            ),
            (
                json!({"sessionUpdate": "usage_update", "used": 5, "size": 9, "cost": {"amount": 0.5, "currency": "EUR"}}),
                Update::Usage(UsageReport {
                    used: 5,
                    size: 9,
                    cost: None,
                }),
            ),
            (
                json!({"sessionUpdate": "notice", "severity": "info", "title": "a\nb"}),
                Update::Notice(NoticeText {
                    title: "a b".to_owned(),
                    description: None,
                }),
            ),
            (
                json!({"sessionUpdate": "compaction_update", "compactionId": "1", "status": "completed"}),
                Update::Compacted,
            ),
        ] {
            assert_eq!(Update::read(&update), Some(expected), "{update}");
        }
    }

    #[test]
    fn broken_and_unknown_updates_are_none() {
        for update in [
            json!(null),
            json!([]),
            json!({}),
            json!({"sessionUpdate": 7}),
            json!({"sessionUpdate": "levitate"}),
            json!({"sessionUpdate": "agent_message_chunk"}),
            json!({"sessionUpdate": "agent_message_chunk", "content": "x"}),
            json!({"sessionUpdate": "tool_call", "title": "x"}),
            json!({"sessionUpdate": "usage_update", "used": -1, "size": 2}),
            json!({"sessionUpdate": "notice", "title": ""}),
            json!({"sessionUpdate": "plan"}),
        ] {
            assert_eq!(Update::read(&update), None, "{update}");
        }
    }
}
