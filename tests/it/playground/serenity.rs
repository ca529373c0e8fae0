//! A small bot made with real serenity and poise lives in the local Discord.

mod bot;

use std::time::Duration;

use chorus_playground::{
    Answer, Break, Discord, Effect, Fault, GatewayEvent, OptionValue, Options, Scope,
};
use serde_json::json;

use bot::{Bot, soon};

async fn started() -> (Discord, Bot) {
    let discord = Discord::start(Options::default()).await.unwrap();
    let bot = Bot::start(&discord).await;
    (discord, bot)
}

#[tokio::test]
async fn the_bot_boots_and_registers_its_commands() {
    let (discord, _bot) = started().await;

    let names: Vec<_> = discord
        .commands(None)
        .iter()
        .map(|one| one["name"].clone())
        .collect();

    assert_eq!(
        names,
        [
            json!("greet"),
            json!("group"),
            json!("later"),
            json!("form")
        ]
    );
    assert_eq!(discord.unknown_routes(), Vec::<String>::new());
}

#[tokio::test]
async fn a_message_is_answered_by_a_reply_that_is_edited_and_gets_a_reaction() {
    let (discord, _bot) = started().await;
    let general = discord.channel("#general").unwrap();

    discord.user("ann").says(general, "echo hello");

    soon(discord.wait_for(|discord| discord.transcript(general).contains('👍').then_some(())))
        .await;
    insta::assert_snapshot!(discord.transcript(general), @r"
    ann: echo hello
    Bot → ann: hello, edited
        {👍 1}
    ");
    assert_eq!(discord.typed(), [general]);
}

#[tokio::test]
async fn files_go_both_ways() {
    let (discord, _bot) = started().await;
    let general = discord.channel("#general").unwrap();

    discord
        .user("ann")
        .uploads(general, "file", &[("notes.txt", b"one two")]);

    let sent = soon(discord.wait_for(|discord| {
        discord
            .messages(general)
            .into_iter()
            .find(|message| message.author_name == "Bot")
    }))
    .await;
    assert_eq!(sent.attachments[0].name, "back.txt");
    assert_eq!(discord.file(&sent.attachments[0]), b"one two");
}

#[tokio::test]
async fn a_command_with_options_is_answered_to_one_person() {
    let (discord, _bot) = started().await;
    let general = discord.channel("#general").unwrap();
    let ann = discord.user("ann");

    let run = ann.runs(
        general,
        "/greet",
        &[("name", "you".into()), ("times", OptionValue::Integer(2))],
    );

    let run = run.unwrap();
    let reply = soon(discord.wait_for(|discord| discord.replies_to(run).pop())).await;
    insta::assert_snapshot!(discord.shown(&reply), @"Bot (only ann sees this): hi you, hi you (administrator: true)");
    assert!(
        ann.runs(general, "/greet", &[])
            .unwrap_err()
            .to_string()
            .contains("needs the option `name`")
    );
    let many = ann.runs(
        general,
        "/greet",
        &[("name", "x".into()), ("times", OptionValue::Integer(9))],
    );
    assert_eq!(many.unwrap_err(), "`times` takes 1 to 3".into());
}

#[tokio::test]
async fn an_option_is_completed_while_it_is_typed() {
    let (discord, _bot) = started().await;
    let general = discord.channel("#general").unwrap();
    let ann = discord.user("ann");

    let typing = ann
        .types_option(general, "/greet", &[("name", "b".into())], "name")
        .unwrap();

    let choices = soon(ann.choices(typing)).await;
    let names: Vec<_> = choices.into_iter().map(|choice| choice.name).collect();
    assert_eq!(names, ["beata", "bruno"]);
}

#[tokio::test]
async fn a_deferred_subcommand_is_answered_in_place_of_thinking() {
    let (discord, _bot) = started().await;
    let general = discord.channel("#general").unwrap();

    let run = discord
        .user("ann")
        .runs(general, "/group sub", &[])
        .unwrap();

    soon(
        discord
            .wait_for(|discord| matches!(discord.answer_to(run), Answer::Message(_)).then_some(())),
    )
    .await;
    insta::assert_snapshot!(discord.transcript(general), @"Bot: after some thought");
}

#[tokio::test]
async fn a_button_changes_its_message() {
    let (discord, _bot) = started().await;
    let general = discord.channel("#general").unwrap();
    let ann = discord.user("ann");
    let run = ann.runs(general, "/later", &[]).unwrap();
    let asked = soon(discord.wait_for(|discord| discord.replies_to(run).pop())).await;
    insta::assert_snapshot!(discord.shown(&asked), @r"
    Bot: sure?
        [Allow] [Deny]
    ");

    ann.clicks(general, asked.id, "Allow").unwrap();

    soon(discord.wait_for(|discord| {
        discord
            .message(general, asked.id)?
            .buttons()
            .is_empty()
            .then_some(())
    }))
    .await;
    insta::assert_snapshot!(discord.transcript(general), @"Bot: allowed by ann");
}

#[tokio::test]
async fn a_form_is_shown_and_sent() {
    let (discord, _bot) = started().await;
    let general = discord.channel("#general").unwrap();
    let ann = discord.user("ann");
    let run = ann.runs(general, "/form", &[]).unwrap();
    soon(
        discord.wait_for(|discord| matches!(discord.answer_to(run), Answer::Form(_)).then_some(())),
    )
    .await;

    let sent = ann.submits(run, &[("prompt", "be kind")]).unwrap();

    let reply = soon(discord.wait_for(|discord| {
        let messages = discord.messages(general);
        messages
            .into_iter()
            .find(|message| message.content.contains("kind"))
    }))
    .await;
    assert_eq!(reply.content, "prompt: be kind");
    assert!(matches!(
        discord.answer_to(sent),
        Answer::Acknowledged | Answer::Message(_)
    ));
}

#[tokio::test]
async fn what_was_missed_comes_after_a_resume() {
    for how in [
        Break::Cut,
        Break::Close(4000),
        Break::Reconnect,
        Break::InvalidResumable,
    ] {
        let (discord, _bot) = started().await;
        let general = discord.channel("#general").unwrap();

        discord.break_gateway(how);
        discord.user("ann").says(general, "echo while you were out");

        soon(discord.wait_for(|discord| {
            discord
                .transcript(general)
                .contains("out, edited")
                .then_some(())
        }))
        .await;
        let log: Vec<GatewayEvent> = discord
            .gateway_log()
            .into_iter()
            .map(|(_, moment)| moment)
            .collect();
        assert!(log.contains(&GatewayEvent::Resumed), "{how:?}: {log:?}");
        let said = discord.messages(general).len();
        assert_eq!(said, 2, "{how:?}: told once");
    }
}

#[tokio::test]
async fn content_is_blank_without_its_intent() {
    let discord = Discord::start(Options::default()).await.unwrap();
    let _bot = Bot::without_content(&discord).await;
    let general = discord.channel("#general").unwrap();

    discord.user("ann").says(general, "echo hello");
    discord
        .user("ann")
        .says(general, &format!("echo <@{}>", discord.bot()));

    soon(discord.wait_for(|discord| discord.transcript(general).contains("edited").then_some(())))
        .await;
    let said = discord.messages(general);
    let from_bot: Vec<_> = said
        .iter()
        .filter(|message| message.author_name == "Bot")
        .collect();
    assert_eq!(
        from_bot.len(),
        1,
        "the first message reached it without its text"
    );
}

#[tokio::test]
async fn a_wrong_token_and_a_forbidden_intent_are_refused_with_their_codes() {
    let discord = Discord::start(Options::default()).await.unwrap();
    let error = Bot::try_start(&discord, "wrong").await.unwrap_err();
    assert!(error.contains("InvalidAuthentication"), "{error}");

    discord.disallows_intents(1 << 15);
    let error = Bot::try_start(&discord, discord.token()).await.unwrap_err();
    assert!(error.contains("Disallowed"), "{error}");
}

#[tokio::test]
async fn faults_hit_the_requests_they_name_and_no_other() {
    let (discord, _bot) = started().await;
    let general = discord.channel("#general").unwrap();
    let client = reqwest::Client::new();
    let url = format!("{}/api/v10/channels/{general}/messages", discord.base_url());
    let send = || async {
        let request = client
            .post(&url)
            .header("authorization", format!("Bot {}", discord.token()));
        request
            .json(&json!({"content": "x", "nonce": "n1", "enforce_nonce": true}))
            .send()
            .await
    };
    let order = |effect| {
        discord.order(Fault {
            method: "POST",
            path: "/messages".to_owned(),
            times: 1,
            effect,
        });
    };

    order(Effect::Status(503));
    assert_eq!(send().await.unwrap().status(), 503);
    order(Effect::RateLimited {
        scope: Scope::Shared,
        retry_after: Duration::from_millis(1_500),
    });
    let limited = send().await.unwrap();
    assert_eq!(limited.status(), 429);
    assert_eq!(limited.headers()["retry-after"], "2");
    assert_eq!(limited.headers()["x-ratelimit-scope"], "shared");
    order(Effect::DropBefore);
    assert!(send().await.is_err());
    assert_eq!(
        discord.messages(general).len(),
        0,
        "nothing was done so far"
    );
    order(Effect::DropAfter);
    assert!(send().await.is_err());
    assert_eq!(
        discord.messages(general).len(),
        1,
        "it was done, only the answer was lost"
    );
    assert_eq!(send().await.unwrap().status(), 200);
    assert_eq!(
        discord.messages(general).len(),
        1,
        "the nonce keeps it from being doubled"
    );
}
