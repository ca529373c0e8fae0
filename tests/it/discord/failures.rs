//! Failures by cause: the report says who must do what, and offers the buttons that can help.

use serde_json::{Value, json};

use crate::world::{World, run_test};

fn body(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

/// The buttons below the newest message that contains `text`.
fn labels(world: &World, text: &str) -> Vec<String> {
    let all = world.messages("#lab");
    let found = all.iter().rev().find(|one| one.content.contains(text));
    let buttons = found.map(chorus_playground::Message::buttons);
    let buttons = buttons.unwrap_or_default().into_iter();
    buttons.map(|button| button.label).collect()
}

#[tokio::test]
async fn a_refused_key_is_for_the_operator_to_replace() {
    run_test(async |world| {
        let refused = body("authentication_error", "invalid x-api-key");
        world.model.fails_with(401, refused);
        world.ann.says("#lab", "hello").await;
        let report = "The key for **anthropic** was refused. The operator must replace it (`ANTHROPIC_API_KEY`).";
        let shown = world.sees("#lab", report).await;
        assert!(!shown.contains("Steps done"), "{shown}");
        assert_eq!(labels(world, report), ["Use another model"]);
        let letters = world.ann.person.direct_messages();
        world
            .waits("a letter with the next step", |world| {
                let all = world.discord.messages(letters);
                let mut told = all.iter().map(|one| one.content.as_str());
                told.any(|one| one.contains("Replace the key for anthropic")).then_some(())
            })
            .await;
        world.ann.clicks("#lab", "Use another model").await;
        world
            .waits("that there is none", |world| {
                let private = world.discord.private_messages(world.ann.id());
                let last = private.last()?;
                last.content.contains("No other model has answered").then_some(())
            })
            .await;
    })
    .await;
}

#[tokio::test]
async fn missing_credit_is_not_tried_again() {
    run_test(async |world| {
        let spent = body("invalid_request_error", "Your credit balance is too low");
        world.model.fails_with(400, spent);
        world.ann.says("#lab", "hello").await;
        let report = "The account at **anthropic** needs credit.";
        world.sees("#lab", report).await;
        assert_eq!(labels(world, report), ["Use another model"]);
    })
    .await;
}

#[tokio::test]
async fn a_retry_is_made_once_when_the_limit_ends_also_after_a_restart() {
    run_test(async |world| {
        world.model.is_limited(3_600);
        world.ann.says("#lab", "hello").await;
        world.sees("#lab", "Rate limit until <a time>.").await;
        let buttons = labels(world, "Rate limit until <t:");
        assert_eq!(buttons, ["Try again then", "Use another model"]);
        world.ann.clicks("#lab", "Try again then").await;
        world.sees("#lab", "I will try once more <a time>.").await;
        world
            .waits("the buttons to go", |world| {
                labels(world, "Rate limit until <t:").is_empty().then_some(())
            })
            .await;
        world.stops().await;
        world
            .changes_ledger(
                "UPDATE meta SET value = json_set(value, '$.at', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
                 WHERE key LIKE 'retry:%'",
            )
            .await;
        world.model.answers("Here I am.");
        world.starts().await;
        let shown = world.sees("#lab", "Here I am.").await;
        assert!(shown.contains("**ann**"), "{shown}");
        assert_eq!(
            world.ledger("SELECT key FROM meta WHERE key LIKE 'retry:%'").await,
            Vec::<String>::new()
        );
    })
    .await;
}

#[tokio::test]
async fn another_model_that_answered_lately_tries_again() {
    run_test(async |world| {
        world.model.always_answers("Say yes", "Yes.");
        world.exchange("hello", "Hello!").await;
        world
            .changes_ledger(
                "UPDATE attempts SET provider = 'anthropic', model = 'claude-haiku-4-5' WHERE kind = 'model'",
            )
            .await;
        let down = body("api_error", "down");
        for _ in 0..3 {
            world.model.fails_with(500, down.clone());
        }
        world.ann.says("#lab", "and now?").await;
        let report = "is down, overloaded or cannot be reached. Try again later.";
        world.sees("#lab", report).await;
        assert_eq!(labels(world, report), ["Try again", "Use another model"]);
        world.ann.clicks("#lab", "Use another model").await;
        world.ann.selects("#lab", "anthropic/claude-haiku-4-5").await;
        world.sees("#lab", "asks `anthropic/claude-haiku-4-5`").await;
        let request = world.model.was_asked(5).await;
        assert_eq!(request["model"], "claude-haiku-4-5");
    })
    .await;
}
