//! Messages on their way to an agent, and what people do to them: edited, deleted, empty, from bots, purged.

use std::time::Duration;

use chrono::Utc;
use serde_json::{Value, json};

use crate::world::{Setup, World, run_test, run_test_with};

/// Waits until the ledger's row of a message satisfies `is`.
pub(super) async fn ledger_has(world: &World, message: chorus::domain::MessageId, is: &str) {
    let id = message.0;
    let row = format!("SELECT state || ' ' || body FROM inbound WHERE message_id = {id}");
    let seen = async {
        while !world.ledger(&row).await.iter().any(|row| row.contains(is)) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), seen).await;
    waited.unwrap_or_else(|_| panic!("the ledger never says {is}"));
}

#[tokio::test]
async fn what_waits_is_changed_by_an_edit_and_dropped_by_a_deletion() {
    run_test(async |world| {
        let thought = world.model.thinks_then("First things first.");
        world.ann.says("#lab", "one").await;
        world.model.was_asked(1).await;
        let second = world.ann.says("#lab", "two").await;
        let third = world.ann.says("#lab", "three").await;
        ledger_has(world, third, "three").await;
        world.ann.edits("#lab", second, "two, or rather four").await;
        world.ann.deletes("#lab", third).await;
        ledger_has(world, second, "rather four").await;
        ledger_has(world, third, "dropped").await;
        world.model.answers("Four it is.");
        thought.ends();
        world.sees("#lab", "Four it is.").await;
        let asked = world.model.last_request().to_string();
        assert!(asked.contains("two, or rather four"), "{asked}");
        assert!(!asked.contains("three"), "{asked}");
    })
    .await;
}

#[tokio::test]
async fn bots_that_answer_each_other_come_to_an_end() {
    let setup = Setup {
        config: json!({"allow_bots": true}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.model.always_answers("", "And you?");
        let robot = world.discord.other_bot("robot");
        let answers = |world: &World| {
            let all = world.messages("#lab").into_iter();
            all.filter(|one| one.content == "And you?").count()
        };
        for round in 1..=8 {
            robot.says(world.channel("#lab"), &format!("round {round}"));
            world
                .waits("the answer to a bot", |world| {
                    (answers(world) == round).then_some(())
                })
                .await;
        }
        // Neither a restart nor a line of a person whom the agent does not hear lets them go on.
        world.restarts().await;
        robot.says(world.channel("#lab"), "round 9");
        world.ann.says("#lab", "stop it, both of you").await;
        world
            .waits("the answer to Ann", |world| {
                (answers(world) == 9).then_some(())
            })
            .await;
        let asked = world.model.last_request().to_string();
        assert!(!asked.contains("round 9") && asked.contains("stop it"));
        // Whatever people write, bots have twenty answers in an hour.
        for round in 10..=21 {
            if round == 17 {
                world.ann.says("#lab", "go on").await;
                world
                    .ledger_says(
                        "SELECT count(*) || '' FROM turns WHERE state = 'finished'",
                        &["17"],
                    )
                    .await;
            }
            robot.says(world.channel("#lab"), &format!("round {round}"));
            let so_far = round + usize::from(round >= 17);
            world
                .waits("the answer to a bot", |world| {
                    (answers(world) == so_far).then_some(())
                })
                .await;
        }
        robot.says(world.channel("#lab"), "round 22");
        world.ann.says("#lab", "what now?").await;
        world
            .waits("the answer to Ann", |world| {
                (answers(world) == 23).then_some(())
            })
            .await;
        let asked = world.model.last_request().to_string();
        assert!(!asked.contains("round 22") && asked.contains("what now?"));
    })
    .await;
}

#[tokio::test]
async fn messages_without_their_text_are_told_to_the_owner_once() {
    run_test(async |world| {
        world.ann.says("#lab", "").await;
        world.ann.says("#lab", "").await;
        world.exchange("hello", "Now I see you.").await;
        let letters = world.ann.person.direct_messages();
        let told = world
            .waits("a letter to the owner", |world| {
                let all = world.discord.messages(letters);
                (!all.is_empty()).then_some(all)
            })
            .await;
        assert_eq!(told.len(), 1);
        assert!(told[0].content.contains("Message Content"));
        assert_eq!(world.model.requests().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_purge_asks_first_and_leaves_what_the_agent_has_in_mind() {
    run_test(async |world| {
        world
            .exchange("the word is heron", "I keep it in mind.")
            .await;
        let long_ago = Utc::now() - chrono::Duration::days(30);
        let robot = world.discord.other_bot("robot");
        for line in ["old", "older"] {
            robot.said_at(world.channel("#lab"), line, long_ago);
        }
        world.ann.asks("/purge", "#lab").await;
        assert!(world.transcript("#lab").contains("the word is heron"));
        world.ann.clicks("#lab", "Confirm").await;
        world
            .waits("the channel to be empty", |world| {
                let all = world.messages("#lab");
                all.iter().all(|one| one.is_ephemeral()).then_some(())
            })
            .await;
        world.sees("#lab", "Deleted ").await;
        world.exchange("what was the word?", "Heron.").await;
        let asked = world.model.last_request().to_string();
        assert!(asked.contains("the word is heron"), "{asked}");
    })
    .await;
}

#[tokio::test]
async fn a_turn_that_goes_in_circles_is_ended() {
    run_test(async |world| {
        for _ in 0..4 {
            world.model.calls_tool("glob", json!({"pattern": "*.none"}));
        }
        world
            .exchange("find it", "I kept repeating the same calls.")
            .await;
        assert_eq!(world.model.requests().len(), 5);
        assert_eq!(
            world.model.last_request()["tools"]
                .as_array()
                .map_or(0, Vec::len),
            0
        );
    })
    .await;
}

#[tokio::test]
async fn one_word_longer_than_all_messages_together_is_a_file() {
    run_test(async |world| {
        let word = "Z".repeat(60_000);
        world.model.answers(&word);
        world.ann.says("#lab", "say it").await;
        let file = world
            .waits("a file in #lab", |world| {
                let all = world.messages("#lab").into_iter();
                all.flat_map(|one| one.attachments).next()
            })
            .await;
        assert_eq!(world.discord.file(&file).len(), word.len());
    })
    .await;
}

#[tokio::test]
async fn a_question_too_long_for_its_card_brings_the_whole_of_it_along() {
    run_test(async |world| {
        let command = format!("echo {}", "long ".repeat(2_000));
        world.model.calls_tool("bash", json!({"command": command}));
        world.model.answers("Then not.");
        world.ann.says("#lab", "do it").await;
        let question = world.question("#lab").await;
        let file = world.discord.file(&question.attachments[0]);
        let file = String::from_utf8(file).unwrap();
        assert!(file.contains(command.trim_end()));
        let embed = &question.embeds[0];
        assert!(length(embed) <= 6_000);
        world.ann.clicks("#lab", "Deny").await;
        world.sees("#lab", "Then not.").await;
    })
    .await;
}

fn length(embed: &Value) -> usize {
    match embed {
        Value::String(text) => text.chars().count(),
        Value::Array(all) => all.iter().map(length).sum(),
        Value::Object(all) => all.values().map(length).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
