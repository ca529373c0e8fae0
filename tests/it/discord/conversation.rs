//! A conversation as people see it.

use chorus_playground::Message;

use crate::world::{World, is_under_way, run_test};

/// Messages of the bot in a channel that are neither welcome, status nor footer: its answers.
fn answers(world: &World, channel: &str) -> Vec<Message> {
    let bot = world.discord.bot();
    let is_answer = |one: &Message| {
        one.author == bot
            && one.embeds.is_empty()
            && !is_under_way(one)
            && !one.is_ephemeral()
            && !one.content.starts_with("-# ")
    };
    world
        .messages(channel)
        .into_iter()
        .filter(is_answer)
        .collect()
}

#[tokio::test]
async fn an_answer_refers_to_the_message_it_answers() {
    run_test(async |world| {
        world.model.answers("Hello, Ann.");
        let asked = world.ann.says("#lab", "hello").await;
        world.sees("#lab", "Hello, Ann.").await;
        let answer = &answers(world, "#lab")[0];
        assert_eq!(answer.content, "Hello, Ann.");
        assert_eq!(answer.reply_to, Some(asked));
        assert_eq!(answer.pings, Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn nothing_the_model_writes_pings_anyone() {
    run_test(async |world| {
        let ann = world.ann.id();
        world
            .model
            .answers(&format!("@everyone and <@{ann}>, look."));
        world.ann.says("#lab", "call them").await;
        world.sees("#lab", "look.").await;
        assert_eq!(answers(world, "#lab")[0].pings, Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn a_long_answer_comes_in_parts_in_order() {
    run_test(async |world| {
        let paragraphs: Vec<String> = (1..=6)
            .map(|n| format!("{n}. {}", "word ".repeat(150).trim()))
            .collect();
        world.model.answers(&paragraphs.join("\n\n"));
        world.ann.says("#lab", "tell me").await;
        world.sees("#lab", "6. word").await;
        let parts = answers(world, "#lab");
        assert!(
            parts.len() > 1
                && parts
                    .iter()
                    .all(|part| part.content.chars().count() <= 2_000)
        );
        let together: String = parts
            .iter()
            .map(|part| format!("{}\n\n", part.content.trim()))
            .collect();
        let order: Vec<usize> = (1..=6)
            .filter_map(|n| together.find(&format!("{n}. word")))
            .collect();
        assert_eq!(order.len(), 6);
        assert!(order.is_sorted());
    })
    .await;
}

#[tokio::test]
async fn an_answer_of_more_than_ten_parts_is_a_file() {
    run_test(async |world| {
        let long = "A line of a very long answer.\n".repeat(900);
        world.model.answers(&long);
        world.ann.says("#lab", "everything").await;
        let file = world
            .waits("a file in #lab", |world| {
                let all = answers(world, "#lab").into_iter();
                all.flat_map(|one| one.attachments).next()
            })
            .await;
        let text = String::from_utf8(world.discord.file(&file)).unwrap();
        assert_eq!(text.trim(), long.trim());
    })
    .await;
}

#[tokio::test]
async fn while_it_works_the_status_has_buttons_and_afterwards_the_answer_has_a_footer() {
    run_test(async |world| {
        let thought = world.model.thinks_then("Done.");
        world.ann.says("#lab", "think").await;
        let status = world
            .waits("a status with buttons", |world| {
                let all = world.messages("#lab").into_iter();
                all.rev()
                    .find(|one| one.buttons().iter().any(|button| button.label == "Stop"))
            })
            .await;
        let labels: Vec<_> = status
            .buttons()
            .into_iter()
            .map(|button| button.label)
            .collect();
        assert_eq!(labels, ["Stop", "Abort"]);
        thought.ends();
        world.sees("#lab", "Done.").await;
        world
            .waits("the status to go", |world| {
                let status = world.discord.message(world.channel("#lab"), status.id);
                status.is_none().then_some(())
            })
            .await;
        let answer = &answers(world, "#lab")[0].content;
        assert!(answer.starts_with("Done.\n-# 1 step · "), "{answer}");
    })
    .await;
}

#[tokio::test]
async fn abort_ends_the_turn_at_once() {
    run_test(async |world| {
        let _thought = world.model.is_thinking();
        world.ann.says("#lab", "think for ever").await;
        world.ann.clicks("#lab", "Abort").await;
        world
            .waits("the turn's end", |world| {
                let all = world.messages("#lab");
                all.iter().all(|one| !is_under_way(one)).then_some(())
            })
            .await;
        world.exchange("still there?", "Here again.").await;
    })
    .await;
}

#[tokio::test]
async fn a_message_during_a_turn_gets_a_sign() {
    run_test(async |world| {
        world
            .model
            .calls_tool("glob", serde_json::json!({"pattern": "*"}));
        let thought = world.model.thinks_then("Both done.");
        world.ann.says("#lab", "first").await;
        let second = world.ann.says("#lab", "and second").await;
        world
            .waits("the sign on the second message", |world| {
                let message = world.discord.message(world.channel("#lab"), second)?;
                message
                    .reactions
                    .iter()
                    .any(|one| one.emoji == "👀")
                    .then_some(())
            })
            .await;
        thought.ends();
        world.sees("#lab", "Both done.").await;
    })
    .await;
}

#[tokio::test]
async fn other_bots_and_empty_messages_are_ignored() {
    run_test(async |world| {
        world.model.answers("For Ann.");
        let bot = world.discord.other_bot("robot");
        bot.says(world.channel("#lab"), "hello fellow bot");
        world.ann.says("#lab", "   ").await;
        world.ann.says("#lab", "hello").await;
        world.sees("#lab", "For Ann.").await;
        assert_eq!(world.model.requests().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_member_renamed_to_markdown_stays_harmless() {
    run_test(async |world| {
        world
            .bob
            .person
            .is_called("**@everyone** [x](http://evil.example)");
        world.model.answers("Fine.");
        world.bob.runs("/ask prompt:hello", "#lab").await;
        world.sees("#lab", "Fine.").await;
        let shown = world.transcript("#lab");
        assert!(!shown.contains("[x](http://evil.example)"), "{shown}");
    })
    .await;
}
