//! What ends a turn ends its children, and leaves nothing running.

use std::time::Duration;

use serde_json::json;

use super::{assignment, nothing_is_left, results, run_test, run_test_with, two_at_work};
use crate::world::Setup;

#[tokio::test]
async fn a_stop_gives_each_child_its_last_words() {
    run_test(async |world| {
        let thoughts = two_at_work(world).await;
        world
            .model
            .answers("Half of it.")
            .answers("Half of the other.")
            .answers("Stopped halfway.");
        world.ann.clicks("#lab", "Stop").await;
        world.sees("#lab", "Stopped halfway.").await;
        drop(thoughts);
        // Without tools, results are told as text.
        let told = world.model.last_request()["messages"].to_string();
        assert_eq!(told.matches(" · stopped · ").count(), 2, "{told}");
        for words in ["Half of it.]", "Half of the other.]"] {
            assert!(told.contains(words), "{told}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_abort_ends_them_at_once() {
    run_test(async |world| {
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        world
            .model
            .calls(&[assignment("general", "One."), assignment("general", "Two.")]);
        for _ in 0..2 {
            world
                .model
                .calls_tool("bash", json!({"command": "trap '' TERM; sleep 600"}));
        }
        world.ann.says("#lab", "go").await;
        world
            .ledger_says(
                "SELECT count(*) || '' FROM calls WHERE name = 'bash' AND state = 'started'",
                &["2"],
            )
            .await;
        world.ann.clicks("#lab", "Abort").await;
        world
            .sees(
                "#lab",
                "Stopped at step 1. 2 sub-agents were ended with it. Nothing more will run",
            )
            .await;
        let exits = "SELECT exit FROM turns ORDER BY rowid";
        assert_eq!(world.ledger(exits).await, ["aborted", "aborted", "aborted"]);
    })
    .await;
}

#[tokio::test]
async fn a_stop_of_the_daemon_interrupts_the_run_with_one_line() {
    run_test_with(Setup::default().by_hand(), async |world| {
        world.model.calls(&[assignment("general", "One.")]);
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "go").await;
        world.model.was_asked(2).await;
        world.stops().await;
        drop(thought);
        let exits = "SELECT exit || ' ' || state FROM turns ORDER BY rowid";
        assert_eq!(
            world.ledger(exits).await,
            ["interrupted finished", "interrupted finished"]
        );
        nothing_is_left(world).await;
        world.starts().await;
        world.exchange("still there?", "I am.").await;
        let seen = world.transcript("#lab");
        assert_eq!(
            seen.matches("I was restarted in the middle").count(),
            1,
            "{seen}"
        );
    })
    .await;
}

#[tokio::test]
async fn after_a_kill_the_call_says_how_to_go_on_and_the_channel_hears_one_line() {
    run_test_with(Setup::default().by_hand(), async |world| {
        world.model.calls(&[assignment("general", "One."), assignment("general", "Two.")]);
        let thoughts = [world.model.is_thinking(), world.model.is_thinking()];
        world.ann.says("#lab", "go").await;
        world.model.was_asked(3).await;
        world.kills().await;
        drop(thoughts);
        world.starts().await;
        world.sees("#lab", "I was restarted in the middle of this").await;
        let ids = world.ledger("SELECT substr(id, -8) FROM turns WHERE kind = 'sub_agent' ORDER BY rowid").await;
        let states = "SELECT DISTINCT state FROM turns";
        assert_eq!(world.ledger(states).await, ["interrupted"]);
        world.exchange("go on", "I go on.").await;
        let got = results(world);
        assert_eq!(got.len(), 2, "{got:?}");
        for (got, id) in got.iter().zip(&ids) {
            let expected = format!(
                "started, then the daemon stopped after 0 steps; may have partly run, check before repeating, or go on with continue: \"{id}\""
            );
            assert!(got.contains(&expected), "{got}");
        }
        let seen = world.transcript("#lab");
        assert_eq!(seen.matches("I was restarted in the middle").count(), 1, "{seen}");
    })
    .await;
}

#[tokio::test]
async fn a_child_that_fails_is_an_error_that_says_why_and_how_to_go_on() {
    let setup = Setup {
        config: json!({"orchestration": {"child_steps": 1}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.model.calls(&[assignment("explore", "One.")]);
        world.model.calls_tool("view", json!({"path": "."}));
        world.model.answers("").answers("It did not make it.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "It did not make it.").await;
        let got = results(world);
        let [got] = got.as_slice() else {
            panic!("{got:?}");
        };
        assert!(got.contains(" · step limit · "), "{got}");
        assert!(
            got.contains("Error: it gave no answer (step limit)."),
            "{got}"
        );
        assert!(got.contains("Go on with `continue: \""), "{got}");
    })
    .await;
}

#[tokio::test]
async fn one_sub_agent_is_stopped_alone_and_the_turn_goes_on() {
    run_test(async |world| {
        let thoughts = two_at_work(world).await;
        let offered = world.ann.completes("/stop child:", "child", "#lab").await;
        assert_eq!(offered.len(), 2, "{offered:?}");
        world.model.answers("Half of it.");
        let id = world
            .ledger("SELECT id FROM turns WHERE kind = 'sub_agent' ORDER BY rowid")
            .await
            .remove(0);
        let told = world.ann.asks(&format!("/stop child:{id}"), "#lab").await;
        assert!(told.contains("Stopping the sub-agent"), "{told}");
        world
            .ledger_says(
                "SELECT exit FROM turns WHERE exit IS NOT NULL",
                &["stopped"],
            )
            .await;
        world.model.answers("One and a half.");
        drop(thoughts);
        world.sees("#lab", "One and a half.").await;
        let got = results(world);
        assert!(
            got[0].contains(" · stopped by a person · ") && got[0].ends_with("Half of it."),
            "{got:?}"
        );
        assert!(got[1].contains(" · answered · "), "{got:?}");
        let none = world.ann.asks(&format!("/stop child:{id}"), "#lab").await;
        assert!(none.contains("Nothing is running here."), "{none}");
    })
    .await;
}

#[tokio::test]
async fn a_command_that_a_sub_agent_left_running_ends_with_it() {
    run_test(async |world| {
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        world.model.calls(&[assignment("general", "Serve it.")]);
        world
            .model
            .calls_tool("run_concurrent", json!({"command": "sleep 600"}));
        world.model.answers("It runs.").answers("It ran.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "It ran.").await;
        world
            .ledger_says("SELECT status FROM tasks", &["killed"])
            .await;
    })
    .await;
}

#[tokio::test]
async fn last_words_that_take_too_long_are_not_waited_for() {
    let setup = Setup {
        childs_last_words: Duration::ZERO,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.model.calls(&[assignment("general", "One.")]);
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "go").await;
        world.model.was_asked(2).await;
        let child = "SELECT id FROM turns WHERE kind = 'sub_agent'";
        let child = world.ledger(child).await;
        world.model.answers("It was cut short.");
        world
            .ann
            .runs(&format!("/stop child:{}", child[0]), "#lab")
            .await;
        world.sees("#lab", "It was cut short.").await;
        drop(thought);
        let got = results(world);
        let [got] = got.as_slice() else {
            panic!("{got:?}");
        };
        assert!(got.contains("stopped by a person"), "{got}");
        assert!(
            got.contains("Last error: the closing answer took too long"),
            "{got}"
        );
    })
    .await;
}
