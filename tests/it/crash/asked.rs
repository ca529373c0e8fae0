//! SIGKILL before and after each durable step of questions and of turns that go on: R1 and R2 of a turn that goes on, R3 of a
//! card, Q1 and Q2 of a question. What comes of it is the same as without the kill.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chorus::domain::MessageId;
use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::steps::{End, Life, Side};
use crate::database;
use crate::resumes::begins_command;
use crate::world::{Setup, World, run_test_with, strace};

const ANSWER: &str = "Then it is done.";

/// The model: asks once, and has done what it was asked once it knows the answer.
fn asks_once(request: &Value) -> Reply {
    let told = request["messages"].to_string();
    if told.contains("ann chose") {
        return Reply::new(vec![Block::Text(ANSWER.to_owned())]);
    }
    let options = json!([{"label": "Live"}, {"label": "Staging"}]);
    let question = json!({"question": "Which one?", "options": options});
    let id = format!("toolu_ask_{}", told.len());
    Reply::new(vec![Block::Call(id, "ask_person".to_owned(), question)])
}

/// The newest message with a button of this label.
fn with_button(world: &World, label: &str) -> Option<MessageId> {
    let messages = world.messages("#lab");
    let mut all = messages.iter().rev();
    let found = all.find(|one| {
        let mut buttons = one.buttons().into_iter();
        buttons.any(|button| button.label == label && !button.is_disabled)
    });
    found.map(|one| one.id)
}

/// Presses what is there to be pressed until the answer is there.
async fn ends_well(world: &mut World, labels: &[&str]) {
    world.starts().await;
    let lab = world.channel("#lab");
    let mut pressed = Vec::new();
    world
        .waits("the answer", |world| {
            for label in labels {
                if let Some(card) = with_button(world, label)
                    && !pressed.contains(&card)
                {
                    pressed.push(card);
                    let _ = world.ann.person.clicks(lab, card, label);
                }
            }
            let seen = world.transcript("#lab");
            seen.contains(ANSWER).then_some(())
        })
        .await;
    world
        .ledger_says(
            "SELECT count(*) || '' FROM turns WHERE state = 'running'",
            &["0"],
        )
        .await;
    world.stops().await;
    let seen = world.transcript("#lab");
    assert_eq!(seen.matches(ANSWER).count(), 1, "{seen}");
    let left = "SELECT count(*) || '' FROM questions WHERE outcome IS NULL";
    assert_eq!(world.ledger(left).await, ["0"]);
    let left = "SELECT count(*) || '' FROM resumes WHERE state NOT IN ('resumed', 'left')";
    assert_eq!(world.ledger(left).await, ["0"]);
}

/// Whether a statement gives a number above 0 in the database of a daemon that is halted.
fn holds(home: &Path, sql: &str) -> bool {
    // A copy: to open the database would be a recovery too.
    let copy = tempfile::tempdir().unwrap();
    for name in ["chorus.db", "chorus.db-wal"] {
        let _ = std::fs::copy(home.join("db").join(name), copy.path().join(name));
    }
    let db = database::open(&copy.path().join("chorus.db"));
    db.value::<i64>(sql).unwrap_or(0) > 0
}

/// Has the daemon live until a step on this side at which the database is so and somebody has pressed, while `story` goes on.
async fn is_killed(
    world: &mut World,
    side: Side,
    is_so: &'static str,
    pressed: &Arc<AtomicBool>,
    story: impl AsyncFnOnce(&mut World),
) {
    let (home, pressed) = (world.home(), Arc::clone(pressed));
    let life = Life::until(&world.home(), move |edge| {
        edge.side == side
            && edge.file.starts_with("db")
            && pressed.load(Ordering::Acquire)
            && holds(&home, is_so)
    });
    world.launches(&life.tracer());
    story(world).await;
    world.waits_or_ends(|_| false).await;
    world.kills().await;
    let end = life.ended();
    assert!(matches!(end, End::Killed(_)), "{end:?}\n{}", world.report());
}

/// Waits for a button and presses it, unless the daemon has ended before.
async fn presses(world: &mut World, label: &str, pressed: &AtomicBool) {
    if world
        .waits_or_ends(|world| with_button(world, label).is_some())
        .await
        && let Some(card) = with_button(world, label)
    {
        pressed.store(true, Ordering::Release);
        let lab = world.channel("#lab");
        let _ = world.ann.person.clicks(lab, card, label);
    }
}

/// The whole story of a question, killed once.
async fn with_a_question(side: Side, is_so: &'static str, waits_for_press: bool) {
    if !strace::sees_files() {
        return;
    }
    run_test_with(Setup::quiet_program(), async |world| {
        world.model.follows(asks_once);
        world.stops().await;
        let pressed = Arc::new(AtomicBool::new(!waits_for_press));
        let shared = Arc::clone(&pressed);
        is_killed(world, side, is_so, &pressed, async move |world| {
            world.ann.person.says(world.channel("#lab"), "migrate it");
            presses(world, "Live", &shared).await;
        })
        .await;
        ends_well(world, &["Live", "Go on"]).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn before_a_question_is_stored() {
    let proposed = "SELECT (SELECT count(*) FROM calls WHERE name = 'ask_person') - (SELECT count(*) FROM questions)";
    with_a_question(Side::Before, proposed, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_question_was_stored() {
    let stored = "SELECT count(*) FROM questions";
    with_a_question(Side::After, stored, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn before_an_answer_is_stored() {
    let open = "SELECT count(*) FROM questions WHERE outcome IS NULL";
    with_a_question(Side::Before, open, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_answer_was_stored() {
    let answered = "SELECT count(*) FROM questions WHERE outcome = 'answered'";
    with_a_question(Side::After, answered, true).await;
}

/// A turn is interrupted while its model thinks, and the start after that is killed.
async fn as_it_goes_on(side: Side, is_so: &'static str) {
    if !strace::sees_files() {
        return;
    }
    run_test_with(Setup::quiet_program(), async |world| {
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "think").await;
        world.model.was_asked(1).await;
        world.kills().await;
        drop(thought);
        world
            .model
            .follows(|_| Reply::new(vec![Block::Text(ANSWER.to_owned())]));
        let pressed = Arc::new(AtomicBool::new(true));
        is_killed(world, side, is_so, &pressed, async |_| {}).await;
        ends_well(world, &["Go on"]).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn before_an_interrupted_turn_is_closed() {
    as_it_goes_on(
        Side::Before,
        "SELECT count(*) FROM turns WHERE state = 'running'",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_interrupted_turn_was_closed() {
    as_it_goes_on(Side::After, "SELECT count(*) FROM resumes").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn before_a_turn_that_goes_on_is_stored() {
    as_it_goes_on(
        Side::Before,
        "SELECT count(*) FROM resumes WHERE state = 'waiting'",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_turn_that_goes_on_was_stored() {
    as_it_goes_on(
        Side::After,
        "SELECT count(*) FROM turns WHERE resumes IS NOT NULL",
    )
    .await;
}

/// A command is killed, and the card about it is answered in a life that is killed.
async fn as_a_card_is_answered(side: Side, is_so: &'static str) {
    if !strace::sees_files() {
        return;
    }
    let mut setup = Setup::quiet_program();
    setup.config = json!({"default_permissions": "open"});
    run_test_with(setup, async |world| {
        begins_command(world, "do it", "sleep 600").await;
        world.kills().await;
        world
            .model
            .follows(|_| Reply::new(vec![Block::Text(ANSWER.to_owned())]));
        let pressed = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&pressed);
        let label = "It is done, go on";
        is_killed(world, side, is_so, &pressed, async move |world| {
            presses(world, label, &shared).await;
        })
        .await;
        ends_well(world, &[label, "Go on"]).await;
        assert_eq!(
            world.ledger("SELECT count(*) || '' FROM calls").await,
            ["1"]
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn before_a_press_on_a_card_is_stored() {
    let open = "SELECT count(*) FROM resumes WHERE state = 'asked' AND choice IS NULL";
    as_a_card_is_answered(Side::Before, open).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_press_on_a_card_was_stored() {
    let chosen = "SELECT count(*) FROM resumes WHERE choice IS NOT NULL";
    as_a_card_is_answered(Side::After, chosen).await;
}
