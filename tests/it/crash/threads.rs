//! SIGKILL between the end of a sub-agent and the moment at which its last words enter the outbox of its thread.

use std::path::Path;

use chorus_playground::model::wire::{Block, Reply};
use serde_json::json;

use super::steps::{End, Life, Side};
use crate::database;
use crate::world::{Setup, Way, run_test_with, strace};

const THREAD: &str = "explore · about a TODO";

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_waits_for_its_thread_is_said_after_a_kill() {
    if !strace::sees_files() {
        return;
    }
    let setup = Setup {
        way: Way::Program,
        ..Setup::default()
    }
    .by_hand();
    run_test_with(setup, async |world| {
        world.edits_agent_json("lab", json!({"child_threads": true}));
        let call = json!({"role": "explore", "prompt": "Find it.", "title": "about a TODO"});
        let call = Block::Call("toolu_1".to_owned(), "sub_agent".to_owned(), call);
        world.model.replies(Reply::new(vec![call]));
        let thought = world.model.thinks_then("There is one.");
        world.stops().await;
        let home = world.home();
        let life = Life::until(&world.home(), move |edge| {
            edge.side == Side::After && edge.file.starts_with("db") && last_words_wait(&home)
        });
        world.launches(&life.tracer());
        world.ann.person.says(world.channel("#lab"), "how many?");
        // Its prompt is posted once the ledger knows whose thread it is.
        let opened = |world: &crate::world::World| {
            let thread = world.discord.channel(THREAD);
            thread.is_some_and(|_| world.transcript(THREAD).contains("Find it."))
        };
        assert!(world.waits_or_ends(opened).await, "{}", world.report());
        thought.ends();
        world.waits_or_ends(|_| false).await;
        world.kills().await;
        let end = life.ended();
        assert!(matches!(end, End::Killed(_)), "{end:?}\n{}", world.report());
        assert!(!world.transcript(THREAD).contains("There is one."));
        world.starts().await;
        world.sees("#lab", "I was restarted in the middle").await;
        let said = world.sees(THREAD, "There is one.").await;
        let unsent = "SELECT count(*) || '' FROM outbox WHERE state <> 'sent'";
        world.ledger_says(unsent, &["0"]).await;
        assert_eq!(said.matches("There is one.").count(), 1, "{said}");
        let left = "SELECT count(*) || '' FROM thread_words";
        assert_eq!(world.ledger(left).await, ["0"]);
    })
    .await;
}

/// Whether last words are in the ledger that are not in an outbox yet. The daemon is halted.
fn last_words_wait(home: &Path) -> bool {
    // A copy: to open the database would be a recovery too.
    let copy = tempfile::tempdir().unwrap();
    for name in ["chorus.db", "chorus.db-wal"] {
        let _ = std::fs::copy(home.join("db").join(name), copy.path().join(name));
    }
    let db = database::open(&copy.path().join("chorus.db"));
    let waiting = "SELECT count(*) FROM thread_words";
    db.value::<i64>(waiting).unwrap_or(0) > 0
}
