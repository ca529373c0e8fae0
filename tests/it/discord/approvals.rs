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
    let config = json!({"approval_timeout": 30});
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

/// What the message of an approval says at its end, under `word`.
fn said_under(world: &World, word: &str) -> String {
    let cards = world.messages("#lab").into_iter();
    let fields = cards
        .flat_map(|one| one.embeds)
        .map(|embed| embed["fields"][0].clone());
    let mut found = fields.filter(|field| field["name"] == word);
    let field = found.next().expect("no card says so");
    field["value"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn of_two_presses_at_once_both_are_told_the_truth() {
    run_test(async |world| {
        for round in 0..5 {
            let then = format!("Round {round} is over.");
            world.asks_to_write(&world.bob, &then).await;
            world.reads_everything();
            world.discord.holds_events();
            world.ann.clicks("#lab", "Allow").await;
            world.bob.clicks("#lab", "Deny").await;
            world.discord.releases_events();
            world.sees("#lab", &then).await;
            let card = world
                .waits("the card to say how it ended", |world| {
                    let cards = world.messages("#lab").into_iter().rev();
                    let mut ended = cards.flat_map(|one| one.embeds).filter_map(|embed| {
                        let word = embed["fields"][0]["name"].as_str()?;
                        Some(word.to_owned())
                    });
                    ended.next()
                })
                .await;
            let (late, how) = match card.as_str() {
                "Allowed" => (&world.bob, "@ann already decided this: allowed."),
                "Denied" => (&world.ann, "@bob already decided this: denied."),
                other => panic!("the card says {other}"),
            };
            let late = late.clone();
            let told = world.next_private_reply(&late).await;
            assert!(told.contains(how), "{card}: {told}");
        }
        let requests = world.discord.requests();
        let doubts = requests
            .iter()
            .filter(|one| one.body.to_string().contains("xpired"))
            .count();
        assert_eq!(
            doubts, 0,
            "a card or an answer spoke of an expired question"
        );
    })
    .await;
}

#[tokio::test]
async fn a_press_that_comes_from_elsewhere_decides_nothing() {
    run_test(async |world| {
        let question = world.asks_to_write(&world.ann, "Written.").await;
        let general = world.channel("#general").to_string();
        let welcome = world.messages("#lab")[0].id.to_string();
        let elsewhere: [(&'static str, String); 2] =
            [("/channel_id", general), ("/message/id", welcome)];
        for (refusals, (place, id)) in elsewhere.into_iter().enumerate() {
            world.discord.alters_events(move |name, data| {
                if name == "INTERACTION_CREATE"
                    && let Some(value) = data.pointer_mut(place)
                {
                    *value = json!(id);
                }
            });
            let channel = world.channel("#lab");
            world
                .ann
                .person
                .clicks(channel, question.id, "Allow")
                .unwrap();
            world
                .waits(&format!("the refusal of another {place}"), |world| {
                    let private = world.discord.private_messages(world.ann.id());
                    let refused = private
                        .iter()
                        .filter(|one| one.content.contains("belongs to another question"));
                    (refused.count() > refusals).then_some(())
                })
                .await;
            world.discord.leaves_events_alone();
        }
        assert!(!world.was_written());
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Written.").await;
    })
    .await;
}

#[tokio::test]
async fn a_question_of_a_stopped_turn_says_who_stopped_it() {
    run_test(async |world| {
        asks(world, "I stopped.").await;
        world.bob.runs("/stop", "#lab").await;
        ended(world, "Cancelled").await;
        let said = said_under(world, "Cancelled");
        assert_eq!(said, "bob stopped the turn. Nothing was run.");
        world.sees("#lab", "I stopped.").await;
        assert!(!world.was_written());
    })
    .await;
}

#[tokio::test]
async fn a_question_of_a_turn_that_a_command_ends_says_whose_command_it_was() {
    for command in ["/abort", "/context clear", "/context save clear:true"] {
        run_test(async |world| {
            world.exchange("hello", "Hello.").await;
            asks(world, "It is not said.").await;
            world.ann.runs(command, "#lab").await;
            ended(world, "Cancelled").await;
            let said = said_under(world, "Cancelled");
            assert_eq!(said, "ann stopped the turn. Nothing was run.", "{command}");
            assert!(!world.was_written());
        })
        .await;
    }
}

#[tokio::test]
async fn a_question_of_a_turn_that_a_shutdown_ends_says_so() {
    run_test(async |world| {
        asks(world, "It is not said.").await;
        world.stops().await;
        ended(world, "Cancelled").await;
        let said = said_under(world, "Cancelled");
        assert_eq!(
            said,
            "the shutdown of Chorus stopped the turn. Nothing was run."
        );
        assert!(!world.was_written());
    })
    .await;
}
