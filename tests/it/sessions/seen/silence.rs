//! The idle timer.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{asks, exchange, files, is_remembered, only_file};
use crate::world::{Setup, World, run_test, run_test_with};

/// Seconds of silence after which these conversations are saved.
const SILENCE: u64 = 2;

async fn run_with_short_silence(story: impl AsyncFnOnce(&mut World)) {
    let setup = Setup {
        config: json!({"idle_timeout": SILENCE}),
        ..Setup::default()
    };
    run_test_with(setup, story).await;
}

#[tokio::test]
async fn silence_saves_clears_and_posts_the_summary() {
    run_with_short_silence(async |world| {
        world.model.summarises("Ann named a colour. It was blue.");
        exchange(world, "my colour is blue", "Noted, blue.").await;
        let notice = world.sees("#lab", "Context cleared after").await;
        assert!(
            notice.contains(
                "Session saved: Ann named a colour. It was blue. Context cleared after 2 seconds of inactivity. Use /context restore"
            ),
            "{notice}"
        );
        let session = only_file(world).1;
        assert_eq!(session["trigger"], "idle_timeout");
        assert_eq!(session["message_count"], 2);
        assert!(!is_remembered(world, "my colour is blue").await);
    })
    .await;
}

#[tokio::test]
async fn a_message_starts_the_silence_anew() {
    run_with_short_silence(async |world| {
        // On a machine that stalls for longer than the silence the two were rightly parted: then it is tried again.
        let one_session = async |world: &mut World| {
            let saved = files(world).len();
            exchange(world, "my colour is blue", "Noted, blue.").await;
            let answered = Instant::now();
            exchange(world, "and now it is red", "Noted, red.").await;
            let gap = answered.elapsed();
            world
                .waits("the save", |world| {
                    (files(world).len() > saved).then_some(())
                })
                .await;
            (gap < Duration::from_secs(SILENCE)).then(|| newest_count(world))
        };
        loop {
            if let Some(count) = one_session(world).await {
                assert_eq!(count, 4);
                return;
            }
            world.sees("#lab", "Context cleared after").await;
        }
    })
    .await;
}

fn newest_count(world: &World) -> u64 {
    let newest = files(world)
        .into_iter()
        .max_by_key(|file| std::fs::metadata(file).unwrap().modified().unwrap())
        .unwrap();
    let session: serde_json::Value =
        serde_json::from_slice(&std::fs::read(newest).unwrap()).unwrap();
    session["message_count"].as_u64().unwrap()
}

#[tokio::test]
async fn a_server_sets_its_own_time() {
    run_test(async |world| {
        asks(world, "/settings idle-timeout timeout:0").await;
        let shown = asks(world, "/settings show").await;
        assert!(shown.contains("never"), "{shown}");
        asks(world, "/settings idle-timeout timeout:1").await;
        exchange(world, "my colour is blue", "Noted, blue.").await;
        world
            .sees("#lab", "Context cleared after 1 second of inactivity.")
            .await;
    })
    .await;
}

#[tokio::test]
async fn with_an_empty_context_silence_does_nothing() {
    run_with_short_silence(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        asks(world, "/context clear save_first:false").await;
        world.ann.clicks("#lab", "Confirm").await;
        world.sees("#lab", "Context cleared: 2 messages").await;
        // Another agent's silence ends after this one's would have.
        world.ann.runs("/agent init name:other", "#general").await;
        world
            .waits("#other", |world| world.discord.channel("other"))
            .await;
        world.sees("#other", "is ready").await;
        world.model.answers("Hello.");
        world.ann.says("#other", "hello").await;
        world.sees("#other", "Context cleared after").await;
        assert!(files(world).is_empty());
        assert!(!world.transcript("#lab").contains("Session saved"));
    })
    .await;
}

/// Whoever writes keeps the conversation awake: a bot that nobody answers, and people without access.
#[tokio::test]
async fn whoever_writes_starts_the_silence_anew() {
    run_with_short_silence(async |world| {
        let robot = world.discord.other_bot("robot");
        // On a machine that stalls for longer than the silence it was rightly noticed: then it is tried again.
        let stays_awake = async |world: &mut World| {
            exchange(world, "my colour is blue", "Noted, blue.").await;
            let saved = files(world).len();
            let begun = Instant::now();
            let mut longest = Duration::ZERO;
            while begun.elapsed() < Duration::from_secs(2 * SILENCE) {
                let said = Instant::now();
                robot.says(world.channel("#lab"), "tick");
                asks(world, "/tasks").await;
                longest = longest.max(said.elapsed());
            }
            let is_awake = files(world).len() == saved;
            (is_awake || longest < Duration::from_secs(SILENCE) / 2).then_some(is_awake)
        };
        loop {
            if let Some(is_awake) = stays_awake(world).await {
                assert!(is_awake, "it fell silent while a bot wrote");
                return;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn the_line_about_an_idle_branch_names_it() {
    run_with_short_silence(async |world| {
        world.model.summarises("They looked into herons…");
        world.model.answers("Twelve of them.");
        world
            .ann
            .runs("/branch new prompt:look into herons", "#lab")
            .await;
        let shown = world.sees("#lab", "Context cleared after").await;
        let notice = shown
            .lines()
            .find(|line| line.contains("Context cleared after"))
            .unwrap();
        assert!(
            notice.contains(
                "Branch #1: Session saved: They looked into herons… Context cleared after 2 seconds"
            ),
            "{notice}"
        );
    })
    .await;
}
