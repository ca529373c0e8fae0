//! Messages that wait while a turn runs: whatever becomes of one of them, the others are answered.

use chorus::domain::MessageId;

use super::messages::ledger_has;
use crate::world::model::Thought;
use crate::world::{World, run_test};

/// Ann writes these while a turn runs; gives the ids, and what ends the turn.
async fn wait(world: &World, said: &[&str]) -> (Vec<MessageId>, Thought) {
    let thought = world.model.thinks_then("First things first.");
    world.ann.says("#lab", "begin").await;
    world.model.was_asked(1).await;
    let mut waiting = Vec::new();
    for words in said {
        let id = world.ann.says("#lab", words).await;
        ledger_has(world, id, "new").await;
        waiting.push(id);
    }
    (waiting, thought)
}

/// The latest request holds all of these.
fn asked(world: &World, words: &[&str]) {
    let request = world.model.last_request().to_string();
    for word in words {
        assert!(request.contains(word), "no {word} in {request}");
    }
}

#[tokio::test]
async fn a_deleted_one_takes_none_of_those_behind_it_along() {
    run_test(async |world| {
        let said = ["wait one", "wait two", "wait three", "wait four"];
        let (waiting, thought) = wait(world, &said).await;
        world.ann.deletes("#lab", waiting[0]).await;
        ledger_has(world, waiting[0], "dropped").await;
        world.model.answers("To all of you.");
        thought.ends();
        world.sees("#lab", "To all of you.").await;
        asked(world, &said[1..]);
        let request = world.model.last_request().to_string();
        assert!(!request.contains(said[0]), "{request}");
    })
    .await;
}

#[tokio::test]
async fn with_all_but_the_last_deleted_the_last_is_answered() {
    run_test(async |world| {
        let said = ["wait one", "wait two", "wait three"];
        let (waiting, thought) = wait(world, &said).await;
        for gone in &waiting[..2] {
            world.ann.deletes("#lab", *gone).await;
            ledger_has(world, *gone, "dropped").await;
        }
        world.model.answers("To the last of you.");
        thought.ends();
        world.sees("#lab", "To the last of you.").await;
        asked(world, &["wait three"]);
    })
    .await;
}

#[tokio::test]
async fn one_that_cannot_begin_a_turn_is_told_and_takes_none_along() {
    run_test(async |world| {
        let (waiting, thought) = wait(world, &["wait one", "wait two"]).await;
        let failing = format!(
            "CREATE TRIGGER failing BEFORE INSERT ON turns WHEN NEW.trigger_id = {}
             BEGIN SELECT RAISE(ABORT, 'no room'); END",
            waiting[0]
        );
        world.changes_ledger(failing).await;
        world.model.answers("To the second.");
        thought.ends();
        world.sees("#lab", "I could not store that").await;
        world.sees("#lab", "To the second.").await;
        world.changes_ledger("DROP TRIGGER failing").await;
    })
    .await;
}

#[tokio::test]
async fn one_that_cannot_join_a_running_turn_takes_none_along() {
    run_test(async |world| {
        let first = world.model.thinks_then("First things first.");
        world.ann.says("#lab", "begin").await;
        world.model.was_asked(1).await;
        let second = world.ann.says("#lab", "wait one").await;
        ledger_has(world, second, "new").await;
        let third = world.ann.says("#lab", "wait two").await;
        ledger_has(world, third, "new").await;
        // The turn of the first takes it in, and fails at the second.
        let failing = "CREATE TRIGGER failing BEFORE INSERT ON items WHEN NEW.body LIKE '%wait two%'
             AND (SELECT count(*) FROM items WHERE body LIKE '%wait one%') = 1
             AND NOT EXISTS (SELECT 1 FROM turns WHERE trigger_id IN (SELECT message_id FROM inbound WHERE body LIKE '%wait two%'))
             BEGIN SELECT RAISE(ABORT, 'no room'); END";
        world.changes_ledger(failing).await;
        world.model.answers("To the one that could not join.");
        first.ends();
        world.sees("#lab", "I could not store that").await;
        world.sees("#lab", "To the one that could not join.").await;
        asked(world, &["wait two"]);
        world.changes_ledger("DROP TRIGGER failing").await;
    })
    .await;
}
