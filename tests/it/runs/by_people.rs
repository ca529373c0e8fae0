//! A person has a role answer in the agent's place, or opens a branch that works as one.

use super::{charter, run_test, run_test_with};
use crate::world::Setup;

const REVIEWER: &str = "---
name: reviewer
description: Reviews a change.
max_steps: 3
---
You review changes and nothing else.
";

#[tokio::test]
async fn a_role_answers_in_the_place_of_the_agent_and_knows_the_prompt_alone() {
    run_test(async |world| {
        charter(world, "reviewer", REVIEWER);
        world.exchange("our secret word is plum", "Noted.").await;
        world.model.answers("It is sound.");
        world.ann.runs("/ask prompt:is it sound? role:reviewer", "#lab").await;
        let seen = world.sees("#lab", "It is sound.").await;
        assert!(seen.contains("asks `reviewer`"), "{seen}");
        let seen = world.sees("#lab", "-# Answered by `reviewer`.").await;
        assert!(seen.contains(", of it 1 sub-agent"), "{seen}");
        let asked = world.model.last_request().to_string();
        assert!(asked.contains("You are `reviewer`, a sub-agent of `lab`."), "{asked}");
        assert!(asked.contains("You review changes and nothing else."), "{asked}");
        assert!(asked.contains("is it sound?") && !asked.contains("plum"), "{asked}");
        let rows = "SELECT path || ' ' || kind || ' ' || exit || ' ' || steps FROM turns ORDER BY rowid DESC LIMIT 2";
        world
            .ledger_says(rows, &["lab/reviewer sub_agent answered 1", "lab turn answered 0"])
            .await;
        // The agent itself knows what was asked and answered.
        world.exchange("what did I ask?", "Whether it is sound.").await;
        let asked = world.model.last_request()["messages"].to_string();
        assert!(asked.contains("plum") && asked.contains("is it sound?") && asked.contains("It is sound."), "{asked}");
    })
    .await;
}

#[tokio::test]
async fn a_role_that_nobody_can_call_is_refused_before_anything_is_shown() {
    run_test(async |world| {
        charter(world, "reviewer", REVIEWER);
        charter(world, "hidden", "---\nname: hidden\ndescription: Not for people.\nuser-invocable: false\n---\nHidden.\n");
        let refused = world.ann.asks("/ask prompt:hi role:reviwer", "#lab").await;
        assert_eq!(
            refused,
            "Chorus (only ann sees this): There is no role `reviwer` here that people can call. Did you mean `reviewer`? `/roles` lists them."
        );
        let refused = world.ann.asks("/branch new prompt:hi role:hidden", "#lab").await;
        assert!(refused.contains("There is no role `hidden` here that people can call."), "{refused}");
        assert!(!world.transcript("#lab").contains("> hi"));
        let offered = world.ann.completes("/ask prompt:hi role:re", "role", "#lab").await;
        assert_eq!(offered, ["reviewer", "explore"]);
    })
    .await;
}

#[tokio::test]
async fn a_role_that_gives_no_answer_is_told_as_a_failure_and_can_be_aborted() {
    run_test(async |world| {
        let thought = world.model.is_thinking();
        world
            .ann
            .runs("/ask prompt:look role:explore", "#lab")
            .await;
        world.model.was_asked(1).await;
        world.ann.runs("/abort", "#lab").await;
        world.sees("#lab", "Aborted").await;
        thought.ends();
        world
            .ledger_says(
                "SELECT exit FROM turns ORDER BY rowid",
                &["aborted", "aborted"],
            )
            .await;
        world.exchange("and now?", "Here again.").await;
    })
    .await;
}

#[tokio::test]
async fn a_kill_while_a_role_answers_leaves_one_line_and_nothing_at_work() {
    run_test_with(Setup::default().by_hand(), async |world| {
        let _thought = world.model.is_thinking();
        world
            .ann
            .runs("/ask prompt:look role:explore", "#lab")
            .await;
        world.model.was_asked(1).await;
        world.kills().await;
        world.starts().await;
        world.sees("#lab", "nterrupted").await;
        world
            .ledger_says(
                "SELECT state FROM turns ORDER BY rowid",
                &["interrupted", "interrupted"],
            )
            .await;
        world.exchange("and now?", "Here again.").await;
    })
    .await;
}

#[tokio::test]
async fn a_branch_works_as_its_role_in_every_turn_and_stops_where_the_role_is_gone() {
    run_test(async |world| {
        charter(world, "reviewer", REVIEWER);
        world.model.answers("Read it.");
        world
            .ann
            .runs("/branch new prompt:read it role:reviewer", "#lab")
            .await;
        let seen = world.sees("#lab", "Read it.").await;
        assert!(
            seen.contains("opened **branch #1** as `reviewer`"),
            "{seen}"
        );
        let asked = world.model.last_request().to_string();
        assert!(
            asked.contains("You are `reviewer`, in a branch of the agent `lab`"),
            "{asked}"
        );
        let answer = world
            .messages("#lab")
            .into_iter()
            .rfind(|message| message.content.contains("Read it."))
            .unwrap();
        charter(
            world,
            "reviewer",
            &REVIEWER.replace("nothing else", "little else"),
        );
        world.model.answers("Again.");
        world.ann.replies("#lab", answer.id, "once more").await;
        world.sees("#lab", "Again.").await;
        let asked = world.model.last_request().to_string();
        assert!(asked.contains("little else"), "{asked}");
        std::fs::remove_file(world.home().join("agents/lab/charters/reviewer.md")).unwrap();
        let before = world.model.requests().len();
        world.ann.replies("#lab", answer.id, "and again").await;
        world.sees("#lab", "here is no role `reviewer`").await;
        assert_eq!(world.model.requests().len(), before);
        let roles = "SELECT role || ' ' || kind FROM conversations WHERE number = 1";
        world.ledger_says(roles, &["reviewer branch"]).await;
    })
    .await;
}
