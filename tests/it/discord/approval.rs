//! The card that asks a person.

use chorus::agent::event::{Choice, Question, TurnRef};
use chorus::discord::render::approval::{self, Ending};
use chorus::domain::{AgentId, CallId, ChannelId, TurnId, UserId};
use chrono::Utc;
use serde_json::Value;
use tokio::sync::oneshot;

pub(super) fn question(action: &str, arguments: &str) -> Question {
    Question {
        turn: TurnRef {
            turn: TurnId::random(),
            agent: AgentId::random(),
            agent_name: "lab".into(),
            channel: ChannelId(1),
            reply_to: None,
        },
        call: CallId("c1".into()),
        approval: 42,
        tool: "bash".into(),
        reason: String::new(),
        action: action.into(),
        arguments: arguments.into(),
        requesters: vec![UserId(1)],
        expires_at: Utc::now(),
        answer: Some(oneshot::channel().0),
    }
}

fn description(body: &chorus::discord::rest::body::Body) -> String {
    let json = Value::Object(body.to_json());
    json["embeds"][0]["description"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn what_fits_is_shown_whole_with_three_buttons() {
    let card = approval::open(&question("tool:bash:ls -la", r#"{"command": "ls -la"}"#));
    let shown = description(&card);
    assert!(shown.contains("tool:bash:ls -la"));
    assert!(shown.contains(r#"{"command": "ls -la"}"#));
    assert!(card.files.is_empty());
    let labels: Vec<_> = card.rows[0]
        .iter()
        .map(|button| button.label.as_str())
        .collect();
    assert_eq!(labels, ["Allow", "Deny", "Always allow"]);
    assert_eq!(
        approval::pressed(&card.rows[0][2].id),
        Some((42, Choice::AlwaysAllow))
    );
}

#[test]
fn what_does_not_fit_is_attached_whole_with_both_ends_and_its_size() {
    let command = format!("echo start {} rm -rf last", "x".repeat(9_000));
    let card = approval::open(&question(&format!("tool:bash:{command}"), &command));
    let shown = description(&card);
    assert!(shown.contains("echo start") && shown.contains("rm -rf last"));
    assert!(shown.contains("8.8 KiB"), "{shown}");
    let file = String::from_utf8(card.files[0].bytes.to_vec()).unwrap();
    assert!(file.contains(&command));
}

#[test]
fn hidden_characters_are_written_out_and_flagged() {
    let card = approval::open(&question("tool:bash:echo \u{202E}txt", "{}"));
    let shown = description(&card);
    assert!(
        shown.contains(r"\u{202E}") && shown.contains("Hidden characters"),
        "{shown}"
    );
    assert!(!shown.contains('\u{202E}'));
}

#[test]
fn nothing_inside_closes_the_fence() {
    let card = approval::open(&question("tool:bash:x", "```\n**Harmless**\n```"));
    let shown = description(&card);
    assert!(shown.contains("**Three backticks.**"), "{shown}");
    assert!(
        shown.contains("```json\n\\u{60}\\u{60}\\u{60}\n**Harmless**\n"),
        "{shown}"
    );
}

#[test]
fn a_closed_card_has_no_buttons_and_says_who() {
    let question = question("tool:bash:x", "{}");
    let card = approval::closed(&question, Ending::Decided(Choice::Deny, "*Bob*"));
    assert!(card.rows.is_empty());
    let json = Value::Object(card.to_json());
    assert_eq!(json["embeds"][0]["fields"][0]["name"], "Denied");
    assert_eq!(json["embeds"][0]["fields"][0]["value"], r"by \*Bob\*");
}

#[test]
fn a_foreign_button_is_none_of_ours() {
    assert_eq!(approval::pressed("approval:42:burn"), None);
    assert_eq!(approval::pressed("approval:x:allow"), None);
    assert_eq!(approval::pressed("page:2"), None);
}
