//! SIGKILL at the durable steps of deliveries: W1, W2 and D8. What was answered with 202 has one outcome, and each answer appears
//! once.
//!
//! The suite kills at a few steps. `CHORUS_HOOK_KILLS=100 cargo nextest run crash::hooks --no-capture` kills at each in turn, so
//! many times.

use std::collections::BTreeSet;

use chorus_webhook::Kind;
use chrono::Utc;
use serde_json::json;

use super::steps::{Life, Step};
use crate::database;
use crate::hooks::{Hook, receiving};
use crate::world::{Setup, Way, World, run_test_with, strace};

/// How often the daemon is killed.
const KILLS: &str = "CHORUS_HOOK_KILLS";

/// Commits at which the suite kills it.
const FEW: [usize; 5] = [1, 2, 3, 5, 8];

/// Commits of a whole life, and some more.
const MOST: usize = 20;

/// Deliveries that have not ended, and messages that are not sent.
const OPEN: &str = "SELECT (SELECT count(*) FROM deliveries WHERE state IN ('stored', 'started'))
    + (SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending'))";

fn kills() -> Vec<usize> {
    match std::env::var(KILLS)
        .ok()
        .and_then(|count| count.parse().ok())
    {
        Some(count) => (1..=count)
            .map(|kill: usize| (kill - 1) % MOST + 1)
            .collect(),
        None => FEW.to_vec(),
    }
}

fn is_settled(world: &World) -> bool {
    let db = database::open_to_read(&world.home().join("db/chorus.db"));
    db.value::<i64>(OPEN).unwrap_or(1) == 0
}

/// Sends a delivery until it is answered or the daemon is gone. Returns whether it was accepted.
async fn sends(hook: &Hook, id: &str) -> bool {
    let body = json!({ "id": id }).to_string();
    let headers = hook.signs(id, "", body.as_bytes(), Utc::now());
    let request = reqwest::Client::new().post(&hook.url).body(body);
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(name, value)
    });
    let answer = request.send().await;
    answer.is_ok_and(|answer| matches!(answer.status().as_u16(), 200 | 202))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_any_step_loses_no_delivery_and_repeats_none() {
    if !strace::sees_files() {
        return;
    }
    let (setup, _) = receiving(json!({}));
    let setup = Setup {
        way: Way::Program,
        ..setup
    };
    run_test_with(setup, async |world| {
        let turn = Hook::made(world, Kind::Chorus, "prompt:Look. name:turn debounce:0s").await;
        let post = Hook::made(world, Kind::Chorus, "then:post name:post debounce:0s").await;
        world.model.always_answers("received", "Looked.");
        // A turn that goes on has the note of its interruption as its latest words.
        world.model.always_answers("Chorus stopped at", "Looked.");
        let mut accepted = BTreeSet::new();
        for (round, kill) in kills().into_iter().enumerate() {
            world.stops().await;
            let mut commits = 0;
            let (armed, is_armed) = std::sync::mpsc::channel::<()>();
            let mut counts = false;
            let life = Life::until(&world.home(), move |edge| {
                // Counted from the first delivery on.
                counts |= is_armed.try_recv().is_ok();
                commits +=
                    usize::from(counts && edge.step == Step::Commit && edge.file.starts_with("db"));
                counts && commits == kill
            });
            world.launches(&life.tracer());
            world
                .waits("the listener", |world| {
                    let is_connected = world.discord.is_connected();
                    let address = turn.url.split('/').nth(2)?;
                    (is_connected && std::net::TcpStream::connect(address).is_ok()).then_some(())
                })
                .await;
            armed.send(()).unwrap();
            for (hook, name) in [(&turn, "turn"), (&post, "post")] {
                let id = format!("{name}-{round}");
                if sends(hook, &id).await {
                    accepted.insert(id);
                }
            }
            let by_itself = world.waits_or_ends(is_settled).await;
            world.kills().await;
            let end = life.ended();
            println!("round {round}: commit {kill}, by itself: {by_itself}, {end:?}");
            world.starts().await;
            // A sender without an answer sends again.
            for (hook, name) in [(&turn, "turn"), (&post, "post")] {
                let id = format!("{name}-{round}");
                if !accepted.contains(&id) {
                    world
                        .waits("the listener", |_| {
                            let address = hook.url.split('/').nth(2)?;
                            std::net::TcpStream::connect(address).ok().map(drop)
                        })
                        .await;
                    assert!(sends(hook, &id).await, "{id}");
                    accepted.insert(id);
                }
            }
            world
                .waits("all deliveries to end", |world| is_settled(world).then_some(()))
                .await;
        }
        let rounds = kills().len();
        let all = world
            .ledger("SELECT delivery_id || ' ' || state || coalesce(': ' || reason, '') FROM deliveries ORDER BY id")
            .await;
        println!("{all:#?}");
        assert_eq!(accepted.len(), 2 * rounds);
        assert_eq!(all.len(), 2 * rounds);
        assert!(all.iter().all(|one| one.ends_with(" done")), "{all:#?}");
        let messages = world.messages("#lab");
        let posted = |text: &str| messages.iter().filter(|one| one.content.contains(text)).count();
        for round in 0..rounds {
            assert_eq!(posted(&format!("post-{round}\"")), 1, "round {round}");
        }
        // Deliveries that wait together have one turn.
        let turns = world
            .ledger("SELECT DISTINCT turn_id FROM deliveries WHERE turn_id IS NOT NULL")
            .await;
        assert_eq!(posted("Looked."), turns.len());
    })
    .await;
}
