//! Whatever is put into a message, Discord accepts what comes out.

use chorus::discord::rest::body::{Body, Button, Embed, Style};
use proptest::prelude::*;
use serde_json::Value;

fn chars(value: &Value) -> usize {
    value.as_str().unwrap_or_default().chars().count()
}

fn check(body: &Body) {
    let json = Value::Object(body.to_json());
    assert!(chars(&json["content"]) <= 2_000);
    assert_eq!(json["allowed_mentions"], serde_json::json!({"parse": []}));
    let mut total = 0;
    for embed in json["embeds"].as_array().unwrap() {
        assert!(chars(&embed["title"]) <= 256);
        assert!(chars(&embed["description"]) <= 4_096);
        assert!(chars(&embed["footer"]["text"]) <= 2_048);
        total +=
            chars(&embed["title"]) + chars(&embed["description"]) + chars(&embed["footer"]["text"]);
        let fields = embed["fields"].as_array().cloned().unwrap_or_default();
        assert!(fields.len() <= 25);
        for field in fields {
            assert!((1..=256).contains(&chars(&field["name"])));
            assert!((1..=1_024).contains(&chars(&field["value"])));
            total += chars(&field["name"]) + chars(&field["value"]);
        }
    }
    assert!(total <= 6_000);
    for row in json["components"].as_array().unwrap() {
        assert!(row["components"].as_array().unwrap().len() <= 5);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_card_is_within_the_limits(
        title in "\\PC{0,300}",
        description in "\\PC{0,5000}",
        fields in prop::collection::vec(("\\PC{0,300}", "\\PC{0,1500}"), 0..30),
        footer in "\\PC{0,2500}",
        content in "\\PC{0,2500}",
    ) {
        let mut card = Embed::new(title, description).footer(footer);
        for (name, value) in fields {
            card = card.field(name, value);
        }
        let mut body = Body::embed(card);
        body.content = content;
        check(&body);
    }
}

#[test]
fn what_was_cut_ends_with_an_ellipsis() {
    let json = Value::Object(Body::text("é".repeat(2_500)).to_json());
    let content = json["content"].as_str().unwrap();
    assert_eq!(content.chars().count(), 2_000);
    assert!(content.ends_with("é…"));
}

#[test]
fn an_edit_replaces_everything_the_old_message_had() {
    let json = Value::Object(Body::text("plain").to_json());
    assert_eq!(
        json,
        serde_json::json!({
            "content": "plain",
            "embeds": [],
            "components": [],
            "attachments": [],
            "allowed_mentions": {"parse": []},
        })
    );
}

#[test]
fn buttons_beyond_a_row_of_five_are_left_out() {
    let row = (0..7)
        .map(|n| Button::new(n.to_string(), "x".repeat(100), Style::Primary))
        .collect();
    check(&Body::text("pick").row(row));
}
