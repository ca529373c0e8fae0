//! A question to people, and its endings.

use serde_json::json;

use crate::world::scenes::WRITES;
use crate::world::{Setup, World, run_test, run_test_with};

/// A turn that asks whether it may run a command, and what the model says afterwards.
async fn asks(world: &World, then: &str) {
    let question = world.asks_to_write(&world.ann, then).await;
    let shown = question.embeds[0]["description"]
        .as_str()
        .unwrap_or_default();
    assert!(shown.contains(WRITES), "{shown}");
}

/// Waits until the card says how it ended.
async fn ended(world: &World, word: &str) {
    world
        .waits(&format!("the card to say {word}"), |world| {
            let cards = world.messages("#lab").into_iter();
            let mut fields = cards
                .flat_map(|one| one.embeds)
                .filter_map(|embed| embed["fields"][0]["name"].as_str().map(str::to_owned));
            fields.any(|name| name == word).then_some(())
        })
        .await;
    let open = world
        .messages("#lab")
        .iter()
        .any(|one| one.buttons().iter().any(|button| button.label == "Allow"));
    assert!(!open, "the buttons are still there");
}

#[tokio::test]
async fn allowed_it_runs() {
    run_test(async |world| {
        asks(world, "Written.").await;
        world.ann.clicks("#lab", "Allow").await;
        ended(world, "Allowed").await;
        world.sees("#lab", "Written.").await;
        assert!(world.was_written());
    })
    .await;
}

#[tokio::test]
async fn denied_it_does_not() {
    run_test(async |world| {
        asks(world, "Then not.").await;
        world.ann.clicks("#lab", "Deny").await;
        ended(world, "Denied").await;
        world.sees("#lab", "Then not.").await;
        assert!(!world.was_written());
    })
    .await;
}

#[tokio::test]
async fn always_allowed_it_is_not_asked_again() {
    run_test(async |world| {
        asks(world, "Written.").await;
        world.ann.clicks("#lab", "Always allow").await;
        world.ann.clicks("#lab", "Confirm").await;
        world.sees("#lab", "Written.").await;
        let allowed = &world.agent_json("lab")["always_allow"];
        assert_eq!(*allowed, json!([format!("tool:bash:{WRITES}")]));
        world.wants_to_write(&world.ann, "Again.").await;
        world.sees("#lab", "Again.").await;
    })
    .await;
}

#[tokio::test]
async fn unanswered_it_expires() {
    let config = json!({"approval_timeout": 1});
    run_test_with(
        Setup {
            config,
            ..Setup::default()
        },
        async |world| {
            asks(world, "Nobody was there.").await;
            ended(world, "Expired").await;
            world.sees("#lab", "Nobody was there.").await;
            assert!(!world.was_written());
        },
    )
    .await;
}

#[tokio::test]
async fn the_wrong_person_is_told_why_and_decides_nothing() {
    run_test(async |world| {
        asks(world, "Written.").await;
        world.bob.clicks("#lab", "Allow").await;
        let reason = world.next_private_reply(&world.bob).await;
        assert!(reason.contains("Manage Server"), "{reason}");
        assert!(!world.was_written());
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Written.").await;
    })
    .await;
}

#[tokio::test]
async fn the_requester_may_decide_but_not_for_ever() {
    run_test(async |world| {
        world.asks_to_write(&world.bob, "Written.").await;
        world.bob.clicks("#lab", "Always allow").await;
        let reason = world.next_private_reply(&world.bob).await;
        assert!(reason.contains("`open`"), "{reason}");
        world.bob.clicks("#lab", "Allow").await;
        world.sees("#lab", "Written.").await;
    })
    .await;
}

#[tokio::test]
async fn after_a_restart_an_open_question_is_expired() {
    run_test(async |world| {
        let question = world.asks_to_write(&world.ann, "Written.").await;
        // In this very moment nobody knows whether the ledger has heard of the card.
        world.kills().await;
        world.starts().await;
        world
            .waits("the card to say that it expired", |world| {
                let card = world.discord.message(world.channel("#lab"), question.id)?;
                (card.buttons().is_empty() && world.discord.shown(&card).contains("xpired"))
                    .then_some(())
            })
            .await;
        assert!(!world.was_written());
    })
    .await;
}
