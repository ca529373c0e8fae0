//! Sessions as files, the manager that keeps them, and the timer that saves them.

mod clean_stop;
mod closed_branches;
mod damaged_rows;
mod disk;
mod foreign;
mod format;
mod history;
mod hostile;
mod idle_timer;
mod labels;
mod manager;
mod odd;
mod seen;
mod summary_under_way;

use chorus::domain::{
    Assistant, Author, CallId, Image, Item, MessageId, OpaqueBlock, ToolCall, ToolResult, Usage,
    UserId, UserText,
};
use serde_json::json;

/// A conversation that uses every key a session file knows.
fn rich_conversation() -> Vec<Item> {
    let at = "2026-02-12T10:30:00.123456Z".parse().unwrap();
    let image = Image {
        media_type: "image/png".to_owned(),
        data: "iVBORw0KGgo=".to_owned(),
    };
    vec![
        Item::User(UserText {
            text: "Look at \u{202e}this\u{0} \"file\"\nplease 🦀".to_owned(),
            author: Some(Author {
                id: UserId(u64::MAX),
                name: "Ann".to_owned(),
            }),
            message_id: Some(MessageId(1_234_567_890_123_456_789)),
            images: vec![image.clone()],
            facts: Some("It is Thursday.".to_owned()),
            at: Some(at),
            ..UserText::default()
        }),
        Item::Assistant(Assistant {
            text: String::new(),
            tool_calls: vec![ToolCall {
                id: CallId("tc_001".to_owned()),
                name: "view".to_owned(),
                arguments: serde_json::from_value(json!({
                    "path": "src/auth.py", "deep": {"b": [1, 2.5, 0.30000000000000004, null, true], "a": {}},
                }))
                .unwrap(),
            }],
            opaque: vec![OpaqueBlock {
                format: "anthropic".to_owned(),
                index: 0,
                block: json!({"type": "thinking", "signature": "abc"}),
            }],
            model: Some("claude".to_owned()),
            usage: Some(Usage {
                input: 10,
                output: 5,
                cache_read: 3,
                cache_write: 1,
            }),
            by: Some("billing".to_owned()),
        }),
        Item::ToolResult(ToolResult {
            call_id: CallId("tc_001".to_owned()),
            name: "view".to_owned(),
            content: "no such file".to_owned(),
            is_error: true,
            images: vec![image],
        }),
        Item::User(UserText::note("The model was changed.")),
        Item::Assistant(Assistant {
            text: "It is not there.".to_owned(),
            ..Assistant::default()
        }),
    ]
}

fn said(text: &str) -> Item {
    Item::User(UserText {
        text: text.to_owned(),
        ..UserText::default()
    })
}

fn answered(text: &str) -> Item {
    Item::Assistant(Assistant {
        text: text.to_owned(),
        ..Assistant::default()
    })
}
