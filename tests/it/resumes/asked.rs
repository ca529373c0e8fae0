//! Cards: a call with effects was under way, or a turn that goes on was interrupted again.

use serde_json::json;

use super::{asked, begins_command, notes, open, told};
use crate::world::{World, run_test, run_test_with};

const QUESTION: &str = "I cannot tell how far it got";

/// A turn whose command was killed with the daemon.
async fn is_killed_in_a_command(world: &mut World, command: &str) {
    begins_command(world, "do it", command).await;
    world.kills().await;
    world.starts().await;
    let shown = world.sees("#lab", QUESTION).await;
    assert!(shown.contains(command), "{shown}");
    assert_eq!(asked(world).len(), 1);
}

#[tokio::test]
async fn a_command_that_had_started_runs_again_only_if_a_person_says_so() {
    run_test_with(open(), async |world| {
        let file = world.workspace("lab").join("done");
        let command = "test -e first && date >> done || { touch first; sleep 600; }";
        begins_command(world, "do it", command).await;
        let first = world.workspace("lab").join("first");
        world.becomes("its first step", || first.exists()).await;
        world.kills().await;
        world.starts().await;
        world.sees("#lab", QUESTION).await;
        world.model.answers("Dated.");
        world.ann.clicks("#lab", "Run it again").await;
        world.sees("#lab", "Dated.").await;
        let lines = std::fs::read_to_string(file).unwrap();
        assert_eq!(lines.lines().count(), 1, "{lines}");
        let request = world.model.last_request();
        assert_eq!(notes(&request), 1, "{request}");
        assert!(
            told(&request).contains("run again. Their results:"),
            "{request}"
        );
        world
            .ledger_says(
                "SELECT outcome FROM audit_log WHERE decision = 'resume_rerun'",
                &["applied"],
            )
            .await;
        let shown = world.sees("#lab", "ann asked me to run it again.").await;
        assert!(!shown.contains("[Run it again]"), "{shown}");
        world
            .ledger_says(
                "SELECT cause || ' ' || unattended FROM turns ORDER BY rowid DESC LIMIT 1",
                &["resume 0"],
            )
            .await;
    })
    .await;
}

#[tokio::test]
async fn a_person_can_say_that_it_is_done() {
    run_test_with(open(), async |world| {
        is_killed_in_a_command(world, "sleep 600; date >> done").await;
        // It is still there after further restarts.
        world.restarts().await;
        world.kills().await;
        world.starts().await;
        world.model.answers("Then I go on.");
        world.ann.clicks("#lab", "It is done, go on").await;
        world.sees("#lab", "Then I go on.").await;
        let request = world.model.last_request();
        assert!(
            told(&request).contains("ann says that these calls are done"),
            "{request}"
        );
        assert!(!world.workspace("lab").join("done").exists());
        assert_eq!(world.transcript("#lab").matches(QUESTION).count(), 0);
    })
    .await;
}

#[tokio::test]
async fn left_alone_it_asks_nothing_of_a_model() {
    run_test_with(open(), async |world| {
        is_killed_in_a_command(world, "sleep 600").await;
        world.ann.clicks("#lab", "Leave it").await;
        world.sees("#lab", "Left by ann.").await;
        world
            .ledger_says("SELECT state FROM resumes", &["left"])
            .await;
        world.restarts().await;
        assert_eq!(asked(world).len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_stop_says_that_it_will_ask() {
    run_test_with(open(), async |world| {
        begins_command(world, "do it", "sleep 600").await;
        world.stops().await;
        let shown = world.transcript("#lab");
        assert!(
            shown.contains("After the restart I ask how to go on."),
            "{shown}"
        );
        world.starts().await;
        world.sees("#lab", QUESTION).await;
        let shown = world.sees("#lab", "Interrupted by a restart.").await;
        assert!(!shown.contains("I ask how to go on"), "{shown}");
        assert_eq!(asked(world).len(), 1);
    })
    .await;
}

#[tokio::test]
async fn what_went_on_by_itself_once_needs_a_person_the_next_time() {
    run_test(async |world| {
        let _first = world.model.is_thinking();
        world.ann.says("#lab", "think").await;
        world.model.was_asked(1).await;
        let _second = world.model.is_thinking();
        world.kills().await;
        world.starts().await;
        world.model.was_asked(2).await;
        world.kills().await;
        world.starts().await;
        world.sees("#lab", "I was restarted again").await;
        assert_eq!(asked(world).len(), 2);
        world.model.answers("At last.");
        world.ann.clicks("#lab", "Go on").await;
        world.sees("#lab", "At last.").await;
        let request = world.model.last_request();
        assert!(
            told(&request).contains("ann asks you to go on"),
            "{request}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_card_ends_when_the_conversation_goes_on() {
    run_test_with(open(), async |world| {
        is_killed_in_a_command(world, "sleep 600").await;
        world.model.answers("Something else.");
        world.ann.says("#lab", "do something else").await;
        world.sees("#lab", "Something else.").await;
        world.sees("#lab", "Left: the conversation went on.").await;
        world
            .ledger_says("SELECT state FROM resumes", &["left"])
            .await;
    })
    .await;
}

#[tokio::test]
async fn only_who_may_answer_approvals_has_it_run_again() {
    run_test_with(open(), async |world| {
        is_killed_in_a_command(world, "sleep 600").await;
        world.bob.clicks("#lab", "Run it again").await;
        let why = world.next_private_reply(&world.bob).await;
        assert!(
            why.contains("Only people who may answer approvals"),
            "{why}"
        );
        world.model.answers("I go on.");
        world.bob.clicks("#lab", "It is done, go on").await;
        world.sees("#lab", "I go on.").await;
    })
    .await;
}

#[tokio::test]
async fn a_profile_that_denies_the_call_by_now_keeps_the_card() {
    run_test_with(open(), async |world| {
        is_killed_in_a_command(world, "sleep 600").await;
        world.edits_agent_json("lab", json!({"permissions": "locked"}));
        world.ann.clicks("#lab", "Run it again").await;
        let why = world.next_private_reply(&world.ann).await;
        assert!(why.contains("may no longer run"), "{why}");
        world
            .ledger_says("SELECT state FROM resumes", &["asked"])
            .await;
        assert_eq!(asked(world).len(), 1);
    })
    .await;
}

#[tokio::test]
async fn two_people_press_at_once_and_it_goes_on_once() {
    run_test_with(open(), async |world| {
        is_killed_in_a_command(world, "sleep 600; date >> done").await;
        world.model.answers("All is well.");
        let lab = world.channel("#lab");
        let messages = world.messages("#lab");
        let card = messages
            .iter()
            .find(|one| one.content.contains(QUESTION))
            .unwrap();
        world.discord.holds_events();
        for person in [&world.ann.person, &world.bob.person] {
            person.clicks(lab, card.id, "It is done, go on").unwrap();
        }
        world.discord.releases_events();
        world.sees("#lab", "All is well.").await;
        assert_eq!(asked(world).len(), 2);
        let by = "SELECT count(*) || '' FROM turns WHERE resumes IS NOT NULL";
        world.ledger_says(by, &["1"]).await;
        let told = "SELECT CAST(decided_by AS TEXT) FROM resumes";
        let first = world.ledger(told).await;
        let second = if first == [world.ann.id().to_string()] {
            &world.bob
        } else {
            &world.ann
        };
        let why = world.next_private_reply(second).await;
        assert!(why.contains("has already decided this"), "{why}");
    })
    .await;
}
