//! What a running turn looks like from its channel: typing, a growing preview, a live status, the bot's presence.

use std::time::{Duration, Instant};

use chorus::domain::MessageId;
use chorus_playground::{Effect, Fault, GatewayEvent, Message, Request, Scope};
use serde_json::json;

use crate::world::{Setup, World, is_under_way, run_test, run_test_with};

/// Ends a preview.
const UNFINISHED: &str = "▌";

/// Two thirds of the time between two edits: what leaves evenly does not arrive so.
const BETWEEN_EDITS: Duration = Duration::from_secs(1);

async fn preview(world: &World, text: &str) -> Message {
    world
        .waits(&format!("a preview with {text}"), |world| {
            let all = world.messages("#lab").into_iter();
            all.rev()
                .find(|one| one.content.contains(text) && one.content.ends_with(UNFINISHED))
        })
        .await
}

fn message(world: &World, id: MessageId) -> Message {
    world.discord.message(world.channel("#lab"), id).unwrap()
}

/// Posts and edits that show a preview or a status, when they came.
fn shown(world: &World) -> Vec<Instant> {
    let is_look = |one: &Request| {
        let content = one.body["content"].as_str().unwrap_or_default();
        let has_buttons = one.body["components"]
            .as_array()
            .is_some_and(|rows| !rows.is_empty());
        one.path.contains("/messages") && (content.ends_with(UNFINISHED) || has_buttons)
    };
    let requests = world.discord.requests().into_iter();
    requests.filter(is_look).map(|one| one.at).collect()
}

#[tokio::test]
async fn a_preview_grows_and_is_removed_when_the_answer_is_posted() {
    run_test(async |world| {
        let words = "One two three four five six seven eight nine ten.";
        let stream = world.model.streams(words);
        let asked = world.ann.says("#lab", "count").await;
        stream.lets(4);
        let first = preview(world, "One").await;
        assert_eq!(first.reply_to, Some(asked));
        stream.lets(2);
        world
            .waits("the preview to grow", |world| {
                (message(world, first.id).content.len() > first.content.len()).then_some(())
            })
            .await;
        stream.ends();
        let answer = world
            .waits("the whole answer alone", |world| {
                let all = world.messages("#lab").into_iter();
                let said: Vec<_> = all.filter(|one| one.content.contains("One")).collect();
                let [answer] = &said[..] else { return None };
                (answer.content.starts_with(words) && !answer.content.contains(UNFINISHED))
                    .then(|| answer.clone())
            })
            .await;
        assert!(answer.id > first.id);
        assert_eq!((answer.reply_to, answer.flags), (Some(asked), 0));
    })
    .await;
}

#[tokio::test]
async fn edits_of_status_and_preview_keep_their_distance() {
    run_test(async |world| {
        let stream = world.model.streams(&"word ".repeat(60));
        world.ann.says("#lab", "talk").await;
        let mut seen = 0;
        while seen < 4 {
            stream.lets(1);
            seen = world
                .waits("one more look", |world| {
                    let now = shown(world).len();
                    (now > seen).then_some(now)
                })
                .await;
        }
        let looks = shown(world);
        let whole = looks[looks.len() - 1] - looks[0];
        let edits = u32::try_from(looks.len() - 1).unwrap();
        assert!(whole >= BETWEEN_EDITS * edits, "{edits} edits in {whole:?}");
        stream.ends();
        world.sees("#lab", "word word").await;
    })
    .await;
}

#[tokio::test]
async fn an_abort_leaves_one_notice() {
    run_test(async |world| {
        let stream = world.model.streams("One two three four five six seven.");
        world.ann.says("#lab", "count").await;
        stream.lets(4);
        let shown = preview(world, "One").await;
        world.ann.clicks("#lab", "Abort").await;
        world
            .waits("the preview to go", |world| {
                let all = world.messages("#lab");
                all.iter().all(|one| one.id != shown.id).then_some(())
            })
            .await;
        let report = world.sees("#lab", "Stopped at step 1.").await;
        assert!(report.contains("It was thinking."), "{report}");
        assert!(!report.contains(UNFINISHED), "{report}");
    })
    .await;
}

#[tokio::test]
async fn without_previews_an_answer_is_posted_whole() {
    let setup = Setup {
        config: json!({"stream_replies": false}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let stream = world.model.streams("One two three four five six seven.");
        world.ann.says("#lab", "count").await;
        stream.lets(5);
        world
            .waits("the status", |world| {
                let all = world.messages("#lab");
                all.iter()
                    .any(|one| one.buttons().iter().any(|button| button.label == "Stop"))
                    .then_some(())
            })
            .await;
        stream.ends();
        world
            .sees("#lab", "One two three four five six seven.")
            .await;
        let requests = world.discord.requests();
        let previews = requests.iter().filter(|one| {
            let content = one.body["content"].as_str().unwrap_or_default();
            content.ends_with(UNFINISHED)
        });
        assert_eq!(previews.count(), 0);
    })
    .await;
}

#[tokio::test]
async fn edits_that_are_limited_hold_no_answer_up() {
    run_test(async |world| {
        let thought = world.model.thinks_then("Here all the same.");
        world.ann.says("#lab", "think").await;
        world
            .waits("the status", |world| {
                let all = world.messages("#lab");
                all.iter().any(is_under_way).then_some(())
            })
            .await;
        world.discord.order(Fault {
            method: "PATCH",
            path: "/messages".into(),
            times: usize::MAX,
            effect: Effect::RateLimited {
                scope: Scope::Bucket,
                retry_after: Duration::from_secs(3_600),
            },
        });
        let limited = |world: &World| {
            let all = world.discord.requests();
            all.iter().any(|one| one.limited.is_some()).then_some(())
        };
        world.waits("a limited edit", limited).await;
        thought.ends();
        world.sees("#lab", "Here all the same.").await;
        world.discord.heals();
    })
    .await;
}

#[tokio::test]
async fn it_types_while_it_works_and_its_presence_says_how_much_there_is() {
    run_test(async |world| {
        let thought = world.model.thinks_then("Done.");
        world.ann.says("#lab", "think").await;
        let lab = world.channel("#lab");
        world
            .waits("typing", |world| {
                world.discord.typed().contains(&lab).then_some(())
            })
            .await;
        let says = |world: &World, words: &str| {
            let log = world.discord.gateway_log();
            let latest = log.into_iter().rev().find_map(|(_, moment)| match moment {
                GatewayEvent::Presence(status, text) => Some((status, text)),
                _ => None,
            });
            latest.filter(|(_, text)| text == words)
        };
        let busy = world
            .waits("a busy presence", |world| says(world, "1 task in 1 agent"))
            .await;
        assert_eq!(busy.0, "online");
        thought.ends();
        world.sees("#lab", "Done.").await;
        let idle = world
            .waits("an idle presence", |world| says(world, "Idle"))
            .await;
        assert_eq!(idle.0, "idle");
        let log = world.discord.gateway_log();
        let times: Vec<Instant> = log
            .iter()
            .filter(|(_, moment)| matches!(moment, GatewayEvent::Presence(..)))
            .map(|(at, _)| *at)
            .collect();
        // They leave five seconds apart, and arrive when this machine comes to it.
        let too_soon = times
            .windows(2)
            .filter(|pair| pair[1] - pair[0] < Duration::from_millis(2_500));
        assert_eq!(too_soon.count(), 0);
    })
    .await;
}
