//! People end a run, or one sub-agent of it, whatever each of them is doing.

use std::time::Instant;

use chorus_playground::model::wire::{Block, Reply};
use serde_json::json;

use super::{assignment, charter, results, run_test, run_test_with};
use crate::world::model::Thought;
use crate::world::{Setup, World};

/// The exits of all turns, the root's first.
const EXITS: &str = "SELECT exit FROM turns ORDER BY rowid";

/// Five sub-agents of which four wait for their model, and the fifth for a place among them.
async fn four_think_and_one_waits(world: &World) -> Vec<Thought> {
    let tasks = ["one", "two", "three", "four", "five"].map(|what| assignment("general", what));
    world.model.calls(&tasks);
    let thoughts = (0..4).map(|_| world.model.is_thinking()).collect();
    world.model.follows(|request| {
        let is_child = request["system"].to_string().contains("a sub-agent of");
        let words = if is_child {
            "Half of it."
        } else {
            "Stopped halfway."
        };
        Reply::new(vec![Block::Text(words.to_owned())])
    });
    world.ann.says("#lab", "go").await;
    world.model.was_asked(5).await;
    let running = "SELECT count(*) || '' FROM turns WHERE kind = 'sub_agent' AND state = 'running'";
    world.ledger_says(running, &["5"]).await;
    world.sees("#lab", "Waiting for its turn").await;
    thoughts
}

#[tokio::test]
async fn a_stop_has_one_that_waits_for_its_turn_say_its_last_words_too() {
    run_test(async |world| {
        let thoughts = four_think_and_one_waits(world).await;
        world.ann.runs("/stop", "#lab").await;
        world.sees("#lab", "Stopped halfway.").await;
        drop(thoughts);
        assert_eq!(world.ledger(EXITS).await, ["stopped"; 6]);
        // Without tools, results are told as text.
        let told = world.model.last_request()["messages"].to_string();
        for words in [" · stopped · ", "\\nHalf of it.]"] {
            assert_eq!(told.matches(words).count(), 5, "{told}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_abort_ends_one_that_waits_for_its_turn_too() {
    run_test(async |world| {
        let thoughts = four_think_and_one_waits(world).await;
        world.ann.runs("/abort", "#lab").await;
        world.sees("#lab", "5 sub-agents were ended with it.").await;
        drop(thoughts);
        assert_eq!(world.ledger(EXITS).await, ["aborted"; 6]);
        let calls = "SELECT state || ' ' || count(*) FROM calls GROUP BY state";
        assert_eq!(world.ledger(calls).await, ["finished 5"]);
    })
    .await;
}

#[tokio::test]
async fn a_second_stop_ends_all_of_it_at_once() {
    run_test(async |world| {
        let tasks = ["one", "two"].map(|what| assignment("general", what));
        world.model.calls(&tasks);
        // Their work, then their last words.
        let thoughts: Vec<_> = (0..4).map(|_| world.model.is_thinking()).collect();
        world.ann.says("#lab", "go").await;
        world.model.was_asked(3).await;
        world.ann.runs("/stop", "#lab").await;
        world.model.was_asked(5).await;
        world.ann.runs("/stop", "#lab").await;
        world.sees("#lab", "2 sub-agents were ended with it.").await;
        drop(thoughts);
        assert_eq!(world.ledger(EXITS).await, ["aborted"; 3]);
    })
    .await;
}

#[tokio::test]
async fn one_that_is_aborted_gives_an_error_and_its_parent_goes_on() {
    run_test(async |world| {
        world.model.calls(&[assignment("general", "One.")]);
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "go").await;
        world.model.was_asked(2).await;
        world.model.answers("Then without it.");
        let ids = "SELECT id FROM turns WHERE kind = 'sub_agent'";
        let id = world.ledger(ids).await.remove(0);
        let told = world.ann.asks(&format!("/abort child:{id}"), "#lab").await;
        assert!(
            told.contains("Aborted the sub-agent. Its parent continues."),
            "{told}"
        );
        world.sees("#lab", "Then without it.").await;
        drop(thought);
        assert_eq!(world.ledger(EXITS).await, ["answered", "aborted"]);
        let got = results(world).remove(0);
        assert!(got.contains(" · stopped by a person · "), "{got}");
        assert!(got.contains("Error: it gave no answer"), "{got}");
    })
    .await;
}

#[tokio::test]
async fn with_one_that_is_stopped_those_below_it_stop() {
    run_test(async |world| {
        charter(
            world,
            "lead",
            "---\nname: lead\ndescription: Leads.\nsub_agents: [explore]\n---\nYou lead.\n",
        );
        world.model.calls(&[assignment("lead", "Lead it.")]);
        world.model.calls(&[assignment("explore", "Look.")]);
        let thought = world.model.is_thinking();
        world
            .model
            .answers("I saw half.")
            .answers("I led half.")
            .answers("Half is done.");
        world.ann.says("#lab", "go").await;
        world.model.was_asked(3).await;
        let ids = "SELECT id FROM turns WHERE role = 'lead'";
        let id = world.ledger(ids).await.remove(0);
        world.ann.runs(&format!("/stop child:{id}"), "#lab").await;
        world.sees("#lab", "Half is done.").await;
        drop(thought);
        assert_eq!(
            world.ledger(EXITS).await,
            ["answered", "stopped", "stopped"]
        );
        let got = results(world).remove(0);
        assert!(
            got.contains(" · stopped by a person · ") && got.ends_with("I led half."),
            "{got}"
        );
    })
    .await;
}

#[tokio::test]
async fn an_abort_after_the_report_of_one_ends_the_other_alone() {
    run_test(async |world| {
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        world
            .model
            .calls(&[assignment("general", "One."), assignment("general", "Two.")]);
        world.model.follows(|request| {
            let sleeps = json!({"command": "sleep 600", "timeout": 600});
            let is_first = request["messages"].to_string().contains("One.");
            Reply::new(vec![if is_first {
                Block::Text("One is done.".to_owned())
            } else {
                Block::Call("toolu_bash".to_owned(), "bash".to_owned(), sleeps)
            }])
        });
        world.ann.says("#lab", "go").await;
        let ended = "SELECT title || ' ' || exit FROM turns WHERE exit IS NOT NULL";
        world.ledger_says(ended, &["about One. answered"]).await;
        let started = "SELECT count(*) || '' FROM calls WHERE name = 'bash' AND state = 'started'";
        world.ledger_says(started, &["1"]).await;
        world.ann.runs("/abort", "#lab").await;
        world.sees("#lab", "1 sub-agent was ended with it.").await;
        assert_eq!(
            world.ledger(EXITS).await,
            ["aborted", "answered", "aborted"]
        );
        world.exchange("what came of it?", "One is done.").await;
        let told = results(world);
        assert!(
            told.len() == 2 && told[0].ends_with("\nOne is done.") && told[1].contains("Error: "),
            "{told:?}"
        );
    })
    .await;
}

/// It has given its answer, and the command that it left running takes its time to end, when the abort comes: its report is its
/// parent's all the same, and the command ends at once.
#[tokio::test]
async fn an_abort_while_one_ends_loses_no_report() {
    run_test(async |world| {
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        world.model.calls(&[assignment("general", "Serve it.")]);
        let command = "trap 'touch told' TERM; touch runs; while :; do sleep 0.05; done";
        world
            .model
            .calls_tool("run_concurrent", json!({"command": command}));
        let thought = world.model.thinks_then("It runs.");
        world.ann.says("#lab", "go").await;
        let workspace = world.workspace("lab");
        let is_there = |name: &'static str| {
            let file = workspace.join(name);
            move || file.exists()
        };
        world.becomes("the command", is_there("runs")).await;
        world.model.was_asked(3).await;
        thought.ends();
        world.becomes("its end", is_there("told")).await;
        let began = Instant::now();
        world.ann.runs("/abort", "#lab").await;
        let ended = "SELECT status FROM tasks";
        world.ledger_says(ended, &["killed"]).await;
        println!("ended {} ms after the abort", began.elapsed().as_millis());
        world.sees("#lab", "Nothing more will run").await;
        assert_eq!(world.ledger(EXITS).await, ["aborted", "answered"]);
        world
            .exchange("what came of it?", "It runs, it said.")
            .await;
        let told = results(world);
        assert!(
            told.len() == 1 && told[0].ends_with("\nIt runs."),
            "{told:?}"
        );
    })
    .await;
}

/// Two sub-agents of which one has the only place at its provider.
async fn one_asks_and_one_waits_for_a_place(story: impl AsyncFnOnce(&mut World)) {
    let setup = Setup {
        config: json!({"max_requests": 1}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let tasks = ["one", "two"].map(|what| assignment("general", what));
        world.model.calls(&tasks);
        let thought = world.model.is_thinking();
        world.model.follows(|request| {
            let is_child = request["system"].to_string().contains("a sub-agent of");
            let words = if is_child {
                "Half of it."
            } else {
                "Stopped halfway."
            };
            Reply::new(vec![Block::Text(words.to_owned())])
        });
        world.ann.says("#lab", "go").await;
        world.model.was_asked(2).await;
        world.sees("#lab", "Waiting for a place").await;
        story(world).await;
        drop(thought);
    })
    .await;
}

#[tokio::test]
async fn a_stop_has_one_that_waits_for_a_place_say_its_last_words() {
    one_asks_and_one_waits_for_a_place(async |world| {
        world.ann.runs("/stop", "#lab").await;
        world.sees("#lab", "Stopped halfway.").await;
        assert_eq!(world.ledger(EXITS).await, ["stopped"; 3]);
        let told = world.model.last_request()["messages"].to_string();
        assert_eq!(told.matches("\\nHalf of it.]").count(), 2, "{told}");
        assert_eq!(world.model.most_at_once(), 1);
    })
    .await;
}

#[tokio::test]
async fn an_abort_ends_one_that_waits_for_a_place() {
    one_asks_and_one_waits_for_a_place(async |world| {
        world.ann.runs("/abort", "#lab").await;
        world.sees("#lab", "2 sub-agents were ended with it.").await;
        assert_eq!(world.ledger(EXITS).await, ["aborted"; 3]);
        let calls = "SELECT state || ' ' || count(*) FROM calls GROUP BY state";
        assert_eq!(world.ledger(calls).await, ["finished 2"]);
    })
    .await;
}
