//! How a question ends: by the first of two answers, by a stop, in time.

use chorus_playground::{Effect, Fault};
use serde_json::json;

use super::{QUESTION, asks, ended, question, told};
use crate::world::{Setup, run_test, run_test_with};

#[tokio::test]
async fn of_two_presses_at_once_the_first_counts_and_the_other_is_told() {
    run_test(async |world| {
        let card = asks(world, question(2), "Thanks.").await;
        let lab = world.channel("#lab");
        world.discord.holds_events();
        world.ann.person.clicks(lab, card.id, "Staging").unwrap();
        world.bob.person.clicks(lab, card.id, "Live").unwrap();
        world.discord.releases_events();
        world.sees("#lab", "Thanks.").await;
        let answer = told(world);
        let (second, name) = if answer == "ann chose: \"Staging\"" {
            (&world.bob, "ann")
        } else {
            assert_eq!(answer, "bob chose: \"Live\"");
            (&world.ann, "bob")
        };
        let why = second.next_private().await;
        let told = format!("{name} has already answered this.");
        assert!(why.content.contains(&told), "{}", why.content);
        world
            .ledger_says("SELECT count(*) || '' FROM questions", &["1"])
            .await;
        assert_eq!(world.model.requests().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_stop_cancels_it_and_the_card_names_who_stopped() {
    run_test(async |world| {
        let card = asks(world, question(2), "I stopped.").await;
        world.bob.runs("/stop", "#lab").await;
        ended(world, &card, "Cancelled: bob stopped the turn.").await;
        world.sees("#lab", "I stopped.").await;
        // The last step has no tools, and results are words in it.
        let request = world.model.last_request()["messages"].to_string();
        assert!(request.contains("cancelled"), "{request}");
        world
            .ledger_says("SELECT outcome FROM questions", &["cancelled"])
            .await;
    })
    .await;
}

#[tokio::test]
async fn an_abort_cancels_it_too() {
    run_test(async |world| {
        let card = asks(world, question(2), "unused").await;
        world.model.forgets();
        world.ann.runs("/abort", "#lab").await;
        ended(world, &card, "Cancelled: ann stopped the turn.").await;
        let over = "SELECT exit FROM turns";
        world.ledger_says(over, &["aborted"]).await;
        assert_eq!(world.model.requests().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn unanswered_it_expires_and_the_turn_goes_on() {
    let setup = Setup {
        config: json!({"question_timeout": 30}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let card = asks(world, question(2), "I took Staging.").await;
        assert!(card.content.contains("Open until <t:"), "{}", card.content);
        world.sees("#lab", "I took Staging.").await;
        assert_eq!(
            told(world),
            "No answer came in time. Go on with what you think best, and say what you assumed."
        );
        let over = ended(world, &card, "Nobody answered in time.").await;
        assert!(over.content.contains(QUESTION), "{}", over.content);
        world
            .ledger_says("SELECT outcome FROM questions", &["expired"])
            .await;
    })
    .await;
}

#[tokio::test]
async fn the_wait_is_no_working_time() {
    let setup = Setup {
        config: json!({"turn_timeout": 5, "question_timeout": 30}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        asks(world, question(2), "I had time.").await;
        world.sees("#lab", "I had time.").await;
        world
            .ledger_says("SELECT exit FROM turns", &["answered"])
            .await;
    })
    .await;
}

#[tokio::test]
async fn it_is_counted_by_the_overview() {
    run_test(async |world| {
        asks(world, question(2), "Thanks.").await;
        let shown = world.ann.asks("/overview", "#lab").await;
        assert!(shown.contains("question"), "{shown}");
        assert!(!shown.contains(QUESTION), "{shown}");
        world.ann.clicks("#lab", "Live").await;
        world.sees("#lab", "Thanks.").await;
    })
    .await;
}

#[tokio::test]
async fn where_discord_refuses_the_card_the_turn_goes_on_at_once() {
    run_test(async |world| {
        world.discord.order(refused_card());
        world.model.calls_tool("ask_person", question(2));
        world.model.answers("I took Staging.");
        world.ann.says("#lab", "migrate it").await;
        world.sees("#lab", "I took Staging.").await;
        assert!(told(world).contains("Nobody saw the question"));
        let end = "SELECT outcome || ' ' || coalesce(message_id, '-') FROM questions";
        world.ledger_says(end, &["cancelled -"]).await;
    })
    .await;
}

#[tokio::test]
async fn where_discord_refuses_the_card_after_a_restart_the_turn_goes_on_at_once() {
    run_test(async |world| {
        world.discord.order(Fault {
            times: usize::MAX,
            effect: Effect::DropBefore,
            ..refused_card()
        });
        world.model.calls_tool("ask_person", question(2));
        world.model.answers("I took Staging.");
        world.ann.says("#lab", "migrate it").await;
        let asked = "SELECT count(*) || '' FROM questions WHERE message_id IS NULL";
        world.ledger_says(asked, &["1"]).await;
        world.kills().await;
        world.discord.heals();
        world.discord.order(refused_card());
        world.starts().await;
        world.sees("#lab", "I took Staging.").await;
        let request = world.model.last_request()["messages"].to_string();
        assert!(request.contains("Nobody saw the question"), "{request}");
    })
    .await;
}

/// The next message of the bot is refused.
fn refused_card() -> Fault {
    Fault {
        method: "POST",
        path: "/messages".to_owned(),
        times: 1,
        effect: Effect::Refused {
            status: 403,
            code: 50_013,
        },
    }
}
