//! A question that is answered in words: they deny it, and never allow anything.

use chorus::domain::MessageId;
use chorus_playground::Message;
use chorus_playground::model::wire::{Block, Reply};
use serde_json::json;

use crate::world::{Actor, World, run_test};

const SAID: &str = "No, please use make test instead";

/// Waits until the bot has put a 👀 below a message, while the card still waits or after that.
async fn seen(world: &World, message: MessageId) {
    world
        .waits("a 👀 below the message", |world| {
            let found = world.discord.message(world.channel("#lab"), message)?;
            let mut reactions = found.reactions.iter();
            reactions.any(|one| one.emoji == "👀").then_some(())
        })
        .await;
}

/// How the card says that it ended, once it has no buttons.
async fn ending(world: &World, card: &Message) -> String {
    world
        .waits("the card to be closed", |world| {
            let found = world.discord.message(world.channel("#lab"), card.id)?;
            let field = &found.embeds[0]["fields"][0];
            let words = format!("{} {}", field["name"].as_str()?, field["value"].as_str()?);
            found.components.is_empty().then_some(words)
        })
        .await
}

/// Checks that the card stays open, after the message was seen, and that *Allow* still runs the command.
async fn stays_open(world: &World, who: &Actor, said: MessageId, then: &str) {
    seen(world, said).await;
    assert!(!world.was_written());
    who.clicks("#lab", "Allow").await;
    world.sees("#lab", then).await;
    assert!(world.was_written());
}

#[tokio::test]
async fn a_plain_message_denies_and_is_the_next_input_once() {
    run_test(async |world| {
        let card = world.asks_to_write(&world.ann, "I use make.").await;
        let said = world.ann.says("#lab", SAID).await;
        seen(world, said).await;
        assert_eq!(
            ending(world, &card).await,
            format!("Denied by ann: “{SAID}”")
        );
        world.sees("#lab", "I use make.").await;
        assert!(!world.was_written());
        let request = world.model.last_request();
        let last = request["messages"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .to_string();
        let denied = format!("gave this reason: {SAID}");
        assert!(last.contains(&denied), "{last}");
        // The reason, and the message.
        assert_eq!(request.to_string().matches(SAID).count(), 2, "{request}");
        assert_eq!(world.model.requests().len(), 2);
        assert_eq!(
            world.ledger("SELECT decision FROM approvals").await,
            ["deny"]
        );
    })
    .await;
}

#[tokio::test]
async fn a_reply_to_the_card_denies() {
    run_test(async |world| {
        let card = world.asks_to_write(&world.ann, "Then not.").await;
        let said = world.ann.replies("#lab", card.id, "no!").await;
        seen(world, said).await;
        assert_eq!(ending(world, &card).await, "Denied by ann: “no!”");
        world.sees("#lab", "Then not.").await;
        assert!(!world.was_written());
    })
    .await;
}

#[tokio::test]
async fn consent_in_words_does_not_allow() {
    run_test(async |world| {
        let card = world.asks_to_write(&world.ann, "Then not.").await;
        let lab = world.channel("#lab");
        world.ann.person.reacts(lab, card.id, "👍");
        world.ann.replies("#lab", card.id, "yes").await;
        assert_eq!(ending(world, &card).await, "Denied by ann: “yes”");
        world.sees("#lab", "Then not.").await;
        assert!(!world.was_written());
    })
    .await;
}

#[tokio::test]
async fn words_of_somebody_who_may_not_decide_leave_the_card_open() {
    run_test(async |world| {
        let card = world.asks_to_write(&world.ann, "Written.").await;
        world.bob.says("#lab", "No, do not").await;
        let said = world.bob.replies("#lab", card.id, "no!").await;
        stays_open(world, &world.ann, said, "Written.").await;
        let request = world.model.last_request().to_string();
        assert!(request.contains("No, do not"), "{request}");
    })
    .await;
}

#[tokio::test]
async fn a_command_to_something_else_is_no_answer() {
    run_test(async |world| {
        world.asks_to_write(&world.ann, "Written.").await;
        let said = world.ann.says("#lab", "/other now").await;
        stays_open(world, &world.ann, said, "Written.").await;
    })
    .await;
}

#[tokio::test]
async fn a_message_that_mentions_another_agent_is_no_answer() {
    run_test(async |world| {
        world.makes_agent("docs").await;
        world.asks_to_write(&world.ann, "Written.").await;
        let said = world.ann.says("#lab", "I ask @docs first").await;
        stays_open(world, &world.ann, said, "Written.").await;
    })
    .await;
}

#[tokio::test]
async fn a_message_denies_all_calls_that_are_still_open() {
    run_test(async |world| {
        let call = |number: u8| {
            let command = json!({"command": format!("echo {number} > {number}.txt")});
            Block::Call(format!("toolu_w_{number}"), "bash".to_owned(), command)
        };
        world.model.replies(Reply::new(vec![call(1), call(2)]));
        world.model.answers("None of it.");
        world.ann.says("#lab", "do it").await;
        let card = world.question("#lab").await;
        world.ann.says("#lab", "not today").await;
        assert_eq!(ending(world, &card).await, "Denied by ann: “not today”");
        world.sees("#lab", "None of it.").await;
        assert_eq!(
            world.ledger("SELECT decision FROM approvals").await,
            ["deny", "deny"]
        );
    })
    .await;
}

#[tokio::test]
async fn words_that_arrive_before_a_press_win_over_it() {
    run_test(async |world| {
        let card = world.asks_to_write(&world.ann, "Then not.").await;
        let lab = world.channel("#lab");
        world.discord.holds_events();
        world.ann.says("#lab", "no").await;
        world.ann.person.clicks(lab, card.id, "Allow").unwrap();
        world.discord.releases_events();
        world.sees("#lab", "Then not.").await;
        assert_eq!(ending(world, &card).await, "Denied by ann: “no”");
        assert!(!world.was_written());
    })
    .await;
}
