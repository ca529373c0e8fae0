//! Turns that go on by themselves: those in which no call with effects was under way.

use serde_json::json;

use super::{asked, notes, open, told};
use crate::world::{World, run_test, run_test_with};

/// A turn in its third request, after two calls that only looked.
async fn thinks_after_two_looks(world: &mut World) -> crate::world::model::Thought {
    world.model.calls_tool("glob", json!({"pattern": "*.rs"}));
    world.model.calls_tool("glob", json!({"pattern": "*.md"}));
    let thought = world.model.is_thinking();
    world.ann.says("#lab", "look around").await;
    world.model.was_asked(3).await;
    thought
}

async fn goes_on(world: &mut World, stop: &str) {
    let _thought = thinks_after_two_looks(world).await;
    world.model.answers("That is all of it.");
    match stop {
        "term" => world.stops().await,
        _ => world.kills().await,
    }
    world.starts().await;
    world.sees("#lab", "That is all of it.").await;
    let shown = world.transcript("#lab");
    assert_eq!(
        shown.matches("I was restarted and go on with this").count(),
        1,
        "{shown}"
    );
    assert!(!shown.contains("Interrupted at step"), "{shown}");
    let requests = asked(world);
    assert_eq!(requests.len(), 4, "{shown}");
    let request = requests.last().unwrap();
    assert_eq!(notes(request), 1, "{request}");
    let told = told(request);
    assert_eq!(told.matches("tool_result").count(), 2, "{told}");
    assert!(!told.contains("the turn above was interrupted"), "{told}");
    let cause = "SELECT cause || ' ' || (resumes IS NOT NULL) || ' ' || unattended FROM turns ORDER BY rowid DESC LIMIT 1";
    world.ledger_says(cause, &["resume 1 1"]).await;
    world
        .ledger_says("SELECT state FROM resumes", &["resumed"])
        .await;
}

#[tokio::test]
async fn after_a_stop_the_answer_comes_and_nobody_has_to_do_anything() {
    run_test(async |world| goes_on(world, "term").await).await;
}

#[tokio::test]
async fn after_a_crash_too() {
    run_test(async |world| goes_on(world, "kill").await).await;
}

#[tokio::test]
async fn the_answer_replies_to_the_first_message_and_costs_the_person_who_asked() {
    run_test(async |world| {
        let _thought = world.model.is_thinking();
        let question = world.ann.says("#lab", "think").await;
        world.model.was_asked(1).await;
        world.model.answers("Thought.");
        world.restarts().await;
        world.sees("#lab", "Thought.").await;
        let answers = world.messages("#lab");
        let answer = answers.iter().find(|one| one.content.contains("Thought."));
        assert_eq!(answer.unwrap().reply_to, Some(question));
        let ann = world.ann.id().to_string();
        world
            .ledger_says(
                "SELECT DISTINCT CAST(user_id AS TEXT) FROM attempts WHERE kind = 'model'",
                &[&ann],
            )
            .await;
    })
    .await;
}

#[tokio::test]
async fn what_was_written_while_it_was_away_is_in_its_first_request() {
    run_test(async |world| {
        let _thought = world.model.is_thinking();
        world.ann.says("#lab", "paint the shed").await;
        world.model.was_asked(1).await;
        world.stops().await;
        world.ann.says("#lab", "in green, please").await;
        world.model.answers("Green it is.");
        world.starts().await;
        world.sees("#lab", "Green it is.").await;
        let requests = asked(world);
        assert_eq!(requests.len(), 2);
        let told = told(requests.last().unwrap());
        let (shed, green) = (told.find("paint the shed"), told.find("in green, please"));
        assert!(shed < green && green.is_some(), "{told}");
    })
    .await;
}

#[tokio::test]
async fn a_turn_that_a_person_stopped_does_not_go_on() {
    run_test_with(open(), async |world| {
        world
            .model
            .calls_tool("bash", json!({"command": "sleep 600"}));
        let _closing = world.model.is_thinking();
        world.ann.says("#lab", "wait").await;
        world
            .ledger_says("SELECT name FROM calls WHERE state = 'started'", &["bash"])
            .await;
        world.ann.runs("/stop", "#lab").await;
        world.model.was_asked(2).await;
        world.restarts().await;
        world
            .ledger_says(
                "SELECT r.reason || ' ' || t.state FROM resumes r JOIN turns t ON t.id = r.turn_id",
                &["stopped finished"],
            )
            .await;
        assert_eq!(asked(world).len(), 1);
    })
    .await;
}

#[tokio::test]
async fn each_run_names_the_other() {
    run_test(async |world| {
        let _thought = world.model.is_thinking();
        world.ann.says("#lab", "think").await;
        world.model.was_asked(1).await;
        world.model.answers("Thought.");
        world.restarts().await;
        world.sees("#lab", "Thought.").await;
        let ids = world.ledger("SELECT id FROM turns ORDER BY rowid").await;
        let [first, second] = [0, 1].map(|at| ids[at][ids[at].len() - 8..].to_owned());
        let shown = world
            .ann
            .asks(&format!("/run show id:{first}"), "#lab")
            .await;
        assert!(shown.contains(&format!("continued by {second}")), "{shown}");
        let shown = world
            .ann
            .asks(&format!("/run show id:{second}"), "#lab")
            .await;
        assert!(shown.contains(&format!("resumes {first}")), "{shown}");
    })
    .await;
}
