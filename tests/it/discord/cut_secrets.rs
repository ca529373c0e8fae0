//! No part of a secret is shown where a text is cut, attached because it is too long for a message, or the name of a file.

use serde_json::json;

use crate::world::{World, is_under_way, run_test};

/// What is shown of `text` up to here holds nothing of the bot's token.
fn holds_nothing_of_the_token(world: &World, text: &str) {
    let token = world.discord.token();
    assert!(!text.contains(&token[..8]), "{text}");
    assert!(!text.contains(&token[token.len() - 8..]), "{text}");
}

#[tokio::test]
async fn a_preview_that_stops_within_a_secret_does_not_show_its_beginning() {
    run_test(async |world| {
        let token = world.discord.token().to_owned();
        let words = format!("This bot is known to all by one word, namely {token} as you can see.");
        let stream = world.model.streams(&words);
        world.ann.says("#lab", "who are you?").await;
        // The beginning of the answer, and three pieces of 24 characters: the token begins in the second one.
        stream.lets(6);
        let preview = world
            .waits("a preview", |world| {
                let all = world.messages("#lab").into_iter();
                let mut shown = all.filter(|one| one.content.contains("namely"));
                shown.find(|one| one.content.ends_with('▌'))
            })
            .await;
        holds_nothing_of_the_token(world, &preview.content);
        stream.ends();
        let answer = world.sees("#lab", "as you can see.").await;
        assert!(answer.contains("namely [redacted] as"), "{answer}");
    })
    .await;
}

#[tokio::test]
async fn a_call_that_the_status_shows_in_part_does_not_show_a_part_of_a_secret() {
    run_test(async |world| {
        let token = world.discord.token().to_owned();
        let path = format!("{}/{token}.txt", "a".repeat(50));
        world.model.calls_tool("view", json!({"path": path}));
        let thought = world.model.thinks_then("There is none.");
        world.ann.says("#lab", "look at it").await;
        let status = world
            .waits("a status with the call", |world| {
                let mut all = world.messages("#lab").into_iter();
                let shows_call = |text: &str| text.contains("aaaaaa");
                all.find(|one| is_under_way(one) && shows_call(&one.content))
            })
            .await;
        holds_nothing_of_the_token(world, &status.content);
        thought.ends();
        world.sees("#lab", "There is none.").await;
    })
    .await;
}

#[tokio::test]
async fn a_question_with_a_secret_shows_it_neither_on_its_card_nor_in_the_file_beside_it() {
    run_test(async |world| {
        let token = world.discord.token().to_owned();
        let command = format!("echo {token} {} {token}", "long ".repeat(2_000));
        world.model.calls_tool("bash", json!({"command": command}));
        world.model.answers("Then not.");
        world.ann.says("#lab", "do it").await;
        let question = world.question("#lab").await;
        holds_nothing_of_the_token(world, &question.embeds[0].to_string());
        let file = world.discord.file(&question.attachments[0]);
        let file = String::from_utf8(file).unwrap();
        assert!(file.contains("echo [redacted] long"), "{file}");
        holds_nothing_of_the_token(world, &file);
        world.ann.clicks("#lab", "Deny").await;
        world.sees("#lab", "Then not.").await;
    })
    .await;
}

#[tokio::test]
async fn a_file_that_is_called_after_a_secret_loses_its_name() {
    run_test(async |world| {
        let name = format!("{}.txt", world.discord.token());
        std::fs::write(world.workspace("lab").join(&name), "as it is").unwrap();
        world.model.calls_tool("send_file", json!({"path": name}));
        world.exchange("send it", "Sent.").await;
        let sent = world
            .waits("the file", |world| {
                let all = world.messages("#lab").into_iter();
                all.flat_map(|one| one.attachments).next()
            })
            .await;
        // Discord takes no brackets in a name.
        assert_eq!(sent.name, "_redacted_.txt");
        assert_eq!(world.discord.file(&sent), b"as it is");
    })
    .await;
}
