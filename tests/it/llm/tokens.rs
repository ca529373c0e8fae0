//! Token estimates.

use chorus::domain::{Assistant, CallId, Item, ToolCall, ToolResult, UserText};
use chorus::llm::tokens::{estimate, of_item};
use serde_json::json;

#[test]
fn four_characters_are_a_token_whatever_their_bytes() {
    let cases = [
        ("", 0),
        ("abc", 0),
        ("abcd", 1),
        ("éééééééé", 2),
        ("😀😀😀😀", 1),
    ];
    for (text, expected) in cases {
        assert_eq!(estimate(text), expected, "{text:?}");
    }
    assert_eq!(estimate(&"a".repeat(400)), 100);
}

#[test]
fn a_message_counts_its_frame_and_a_call_its_name_and_arguments() {
    let said = Item::User(UserText {
        text: "hello world".into(),
        ..UserText::default()
    });
    assert_eq!(of_item(&said), 6);
    let arguments = json!({"command": "ls"}).as_object().unwrap().clone();
    let call = ToolCall {
        id: CallId("1".into()),
        name: "bash".into(),
        arguments,
    };
    let asked = Item::Assistant(Assistant {
        tool_calls: vec![call],
        ..Assistant::default()
    });
    assert_eq!(of_item(&asked), 9);
    let result = ToolResult {
        call_id: CallId("1".into()),
        content: "r".repeat(100),
        ..ToolResult::default()
    };
    assert_eq!(of_item(&Item::ToolResult(result)), 29);
}
