//! What people see of a message reaches the model in words, wherever the message is read.

use serde_json::{Value, json};

use crate::world::{Setup, World, run_test, run_test_with};

/// A card as Grafana's and Sentry's webhooks post it, and its words in order.
fn card() -> (Value, &'static str) {
    let card = json!([{
        "type": "rich",
        "author": {"name": "Grafana", "url": "https://grafana.example"},
        "title": "[FIRING:1] disk is full",
        "url": "https://grafana.example/alert/7",
        "description": "rsync died with rc=23",
        "fields": [{"name": "host", "value": "db-3"}, {"name": "since", "value": "10:04"}],
        "footer": {"text": "production"},
    }]);
    let words = "[card]\n> Grafana (https://grafana.example)\n> [FIRING:1] disk is full (https://grafana.example/alert/7)\n> rsync died with rc=23\n> host: db-3\n> since: 10:04\n> production";
    (card, words)
}

/// Messages without text, by what they have instead, and their words.
fn parts() -> Vec<(&'static str, Value, &'static str)> {
    let (card, words) = card();
    let layout = json!([{"type": 17, "components": [
        {"type": 10, "content": "## Release 2.1"},
        {"type": 9, "components": [{"type": 10, "content": "3 fixes"}], "accessory": {"type": 2, "style": 5, "label": "Notes", "url": "https://x.example/n"}},
        {"type": 12, "items": [{"media": {"url": "https://x.example/a.png"}, "description": "a chart"}]},
    ]}]);
    let poll = json!({
        "question": {"text": "Lunch?"},
        "answers": [
            {"answer_id": 1, "poll_media": {"text": "soup"}},
            {"answer_id": 2, "poll_media": {"text": "bread"}},
        ],
        "results": {"answer_counts": [{"id": 2, "count": 4}]},
    });
    vec![
        ("embeds", card, words),
        (
            "components",
            layout,
            "[layout]\n> ## Release 2.1\n> 3 fixes\n> (button: Notes, https://x.example/n)\n> (file: a chart, https://x.example/a.png)",
        ),
        ("poll", poll, "[poll]\n> Lunch?\n> - soup\n> - bread (4)"),
        (
            "sticker_items",
            json!([{"id": "7", "name": "party parrot", "format_type": 1}]),
            "[sticker: party parrot]",
        ),
    ]
}

/// The latest words that the model was told.
fn told(world: &World) -> String {
    let request = world.model.last_request();
    let latest = request["messages"].as_array().unwrap().last().unwrap();
    match &latest["content"] {
        Value::String(text) => text.clone(),
        blocks => {
            let texts = blocks.as_array().unwrap().iter();
            let texts: Vec<&str> = texts.filter_map(|block| block["text"].as_str()).collect();
            texts.join("\n")
        }
    }
}

/// Changes the messages that Ann writes from here on.
fn alter(world: &World, change: impl Fn(&mut Value) + Send + 'static) {
    world.discord.alters_events(move |name, data| {
        if name == "MESSAGE_CREATE" && data["author"]["username"] == "ann" {
            change(data);
        }
    });
}

#[tokio::test]
async fn a_message_without_text_is_answered_by_what_it_shows() {
    run_test(async |world| {
        world.exchange("hello", "I am here.").await;
        for (number, (key, value, words)) in parts().into_iter().enumerate() {
            let answer = format!("I see part {number}.");
            alter(world, move |message| {
                message["content"] = json!("");
                message[key] = value.clone();
            });
            world.exchange("(nothing)", &answer).await;
            let told = told(world);
            assert!(told.contains(words), "{key}: {told}");
            assert!(!told.contains("(nothing)"), "{key}: {told}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_webhook_s_card_begins_a_turn_where_bots_are_allowed() {
    let setup = Setup {
        config: json!({"allow_bots": true}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.exchange("hello", "I am here.").await;
        let (card, words) = card();
        alter(world, move |message| {
            message["content"] = json!("");
            message["embeds"] = card.clone();
            message["webhook_id"] = json!("77");
            message.as_object_mut().unwrap().remove("member");
        });
        world.exchange("(nothing)", "The disk is full.").await;
        assert!(told(world).contains(words), "{}", told(world));
    })
    .await;
}

#[tokio::test]
async fn what_is_forwarded_or_replied_to_is_told_with_its_cards() {
    run_test(async |world| {
        world.exchange("hello", "I am here.").await;
        let (card, words) = card();
        let forwarded = card.clone();
        alter(world, move |message| {
            message["content"] = json!("");
            message["message_reference"] = json!({"type": 1, "message_id": "7", "channel_id": "8"});
            message["message_snapshots"] =
                json!([{"message": {"content": "look", "type": 0, "embeds": forwarded.clone()}}]);
        });
        world
            .exchange("(nothing)", "I see what was forwarded.")
            .await;
        let quoted = |text: &str| {
            text.lines()
                .map(|line| format!("> {line}"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        let forward = format!("[forwarded message]\n> look\n{}", quoted(words));
        assert!(told(world).contains(&forward), "{}", told(world));

        alter(world, move |message| {
            let mut original = message.clone();
            original["id"] = json!("1000000000000000000");
            original["content"] = json!("");
            original["embeds"] = card.clone();
            original["author"]["username"] = json!("robot");
            message["message_reference"] = json!({"type": 0, "message_id": "1000000000000000000"});
            message["referenced_message"] = original;
        });
        world.exchange("why?", "Because it is full.").await;
        assert!(told(world).contains(&quoted(words)), "{}", told(world));
    })
    .await;
}

#[tokio::test]
async fn names_and_kinds_stand_behind_ids() {
    run_test(async |world| {
        world.exchange("hello", "I am here.").await;
        let (bob, lab) = (world.bob.person.id, world.channel("#lab"));
        alter(world, move |message| {
            message["mentions"] = json!([{"id": bob.to_string(), "username": "bob", "global_name": "Bob", "member": {"nick": "Bobby"}}]);
        });
        let words = format!("ask <@{bob}> in <#{lab}>, not <@1> or <#2>");
        world.exchange(&words, "I will.").await;
        let legend = format!("{words}\n[<@{bob}> is the person Bobby; <#{lab}> is the channel #lab]");
        assert!(told(world).contains(&legend), "{}", told(world));
    })
    .await;
}

#[tokio::test]
async fn a_thread_s_first_message_tells_its_name_and_its_starter() {
    run_test(async |world| {
        let robot = world.discord.other_bot("robot");
        let lab = world.channel("#lab");
        let report = robot.says(lab, &format!("rsync died with rc=23 in <#{lab}>"));
        let thread = world.ann.person.opens_thread(lab, Some(report), "rsync \"trouble\"");
        for (round, text) in ["why could that be?", "and now?"].into_iter().enumerate() {
            world.model.answers("The disk is full.");
            world.ann.person.says(thread, text);
            world.model.was_asked(round + 1).await;
            let told = told(world);
            let head = "[in the thread \"rsync 'trouble'\"]\n[which was started from what \"robot\" wrote on ";
            assert_eq!(told.contains(head), round == 0, "{told}");
            let legend = format!("> [<#{lab}> is the channel #lab]");
            assert_eq!(told.contains(&legend), round == 0, "{told}");
            assert_eq!(told.contains("> rsync died with rc=23"), round == 0, "{told}");
            assert!(told.contains(text), "{told}");
            world
                .waits("the answer in the thread", |world| {
                    let all = world.discord.messages(thread).into_iter();
                    let answers = all.filter(|one| one.content == "The disk is full.");
                    (answers.count() > round).then_some(())
                })
                .await;
        }
    })
    .await;
}
