//! A thread for each sub-agent: what people read there, what they write there, and what Discord refuses.

use std::time::Duration;

use chorus_playground::model::wire::{Block, Reply};
use chorus_playground::{Effect, Fault, Scope};
use serde_json::json;

use super::{assignment, charter, results, run_test, run_test_with, told};
use crate::world::{Setup, World};

pub(super) const THREAD: &str = "explore · about Find TODO.";

/// Has the agent open threads for what it calls, and call `explore`.
fn calls_explore(world: &World) {
    world.edits_agent_json("lab", json!({"child_threads": true}));
    world.model.calls(&[assignment("explore", "Find TODO.")]);
}

/// `explore` has worked in [`THREAD`] and is done, and its parent has told of it.
pub(super) async fn explore_is_done(world: &World) {
    calls_explore(world);
    world
        .model
        .answers("There is one TODO.")
        .answers("One, says explore.");
    world.ann.says("#lab", "how many?").await;
    world.sees("#lab", "One, says explore.").await;
    is_open(world, THREAD).await;
    world.sees(THREAD, "There is one TODO.").await;
    is_archived(world, THREAD).await;
}

/// Waits for the thread of a sub-agent.
async fn is_open(world: &World, name: &str) {
    let what = format!("the thread {name}");
    world
        .waits(&what, |world| world.discord.channel(name).map(drop))
        .await;
}

/// Has the sub-agent look on until it is told where.
fn looks_until_told(world: &World) {
    world.model.follows(|request| {
        let said = request.to_string();
        let is_child = request["system"].to_string().contains("a sub-agent of");
        let count = request["messages"].as_array().map_or(0, Vec::len);
        let look = json!({"pattern": format!("TODO {count}")});
        Reply::new(vec![match (is_child, said.contains("look in src only")) {
            (true, false) => Block::Call(format!("toolu_{count}"), "grep".to_owned(), look),
            (true, true) => Block::Text("Only in src, then.".to_owned()),
            (false, _) => Block::Text("It was told where.".to_owned()),
        }])
    });
}

/// Has Discord open the next thread at once, and tell us of it a second later.
fn is_told_late(world: &World) {
    world.discord.order(Fault {
        method: "POST",
        path: "/threads".into(),
        times: 1,
        effect: Effect::AnsweredLate(Duration::from_secs(1)),
    });
}

async fn is_archived(world: &World, name: &str) {
    let thread = world.channel(name);
    world
        .waits("the end of a thread", |world| {
            world.discord.is_archived(thread).then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_thread_shows_the_prompt_a_line_a_step_and_the_report() {
    run_test(async |world| {
        calls_explore(world);
        world.model.calls_tool("view", json!({"path": "."}));
        let thought = world.model.thinks_then("There is one TODO.");
        world.model.answers("One, says explore.");
        world.ann.says("#lab", "how many?").await;
        world.model.was_asked(3).await;
        is_open(world, THREAD).await;
        world.sees(THREAD, "-# step 1 · view").await;
        thought.ends();
        world.sees("#lab", "One, says explore.").await;
        let shown = world.sees(THREAD, "There is one TODO.").await;
        is_archived(world, THREAD).await;
        let order: Vec<usize> = [
            "Find TODO.",
            "-# step 1 · view",
            "There is one TODO.",
            "answered · 2 steps",
        ]
        .iter()
        .map(|words| {
            shown
                .find(words)
                .unwrap_or_else(|| panic!("{words}: {shown}"))
        })
        .collect();
        assert!(order.is_sorted(), "{shown}");
        let unsent = "SELECT count(*) || '' FROM outbox WHERE state <> 'sent'";
        world.ledger_says(unsent, &["0"]).await;
    })
    .await;
}

#[tokio::test]
async fn a_word_in_the_thread_steers_that_sub_agent_alone() {
    let setup = Setup {
        config: json!({"orchestration": {"child_steps": 1000}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        calls_explore(world);
        let first = world.model.streams_and_calls("Looking.", "view", json!({"path": "."}));
        looks_until_told(world);
        world.ann.says("#lab", "how many?").await;
        world.model.was_asked(2).await;
        is_open(world, THREAD).await;
        world.sees(THREAD, "Find TODO.").await;
        world.bob.says(THREAD, "look in src only").await;
        world
            .ledger_says("SELECT count(*) || '' FROM inbound", &["2"])
            .await;
        first.ends();
        world.sees("#lab", "It was told where.").await;
        let shown = world.sees(THREAD, "Only in src, then.").await;
        assert!(shown.contains("-# Read before step "), "{shown}");
        let parent = world.model.last_request().to_string();
        assert!(!parent.contains("look in src only"), "{parent}");
        let turns = "SELECT kind || ' ' || (SELECT count(*) FROM inbound WHERE turn_id = turns.id OR message_id = trigger_id) FROM turns ORDER BY rowid";
        assert_eq!(world.ledger(turns).await, ["turn 1", "sub_agent 1"]);
    })
    .await;
}

#[tokio::test]
async fn a_word_in_a_thread_whose_id_is_not_known_yet_steers_too() {
    let setup = Setup {
        config: json!({"orchestration": {"child_steps": 1000}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        is_told_late(world);
        calls_explore(world);
        // It is at its first step until it was told.
        let first = world
            .model
            .streams_and_calls("Looking.", "view", json!({"path": "."}));
        looks_until_told(world);
        world.ann.says("#lab", "how many?").await;
        is_open(world, THREAD).await;
        world.bob.says(THREAD, "look in src only").await;
        world
            .ledger_says("SELECT count(*) || '' FROM inbound", &["2"])
            .await;
        first.ends();
        world.sees("#lab", "It was told where.").await;
        world.sees(THREAD, "Only in src, then.").await;
        let turns = "SELECT kind || ' ' || (SELECT count(*) FROM inbound WHERE turn_id = turns.id OR message_id = trigger_id) FROM turns ORDER BY rowid";
        assert_eq!(world.ledger(turns).await, ["turn 1", "sub_agent 1"]);
    })
    .await;
}

#[tokio::test]
async fn a_stop_in_a_thread_whose_id_is_not_known_yet_is_of_that_sub_agent() {
    run_test(async |world| {
        is_told_late(world);
        calls_explore(world);
        let _thought = world.model.is_thinking();
        world.model.answers("Half of it.").answers("Done.");
        world.ann.says("#lab", "how many?").await;
        world.model.was_asked(2).await;
        is_open(world, THREAD).await;
        world.ann.runs("/stop", THREAD).await;
        world.sees(THREAD, "Half of it.").await;
        world.sees("#lab", "Done.").await;
        let exits = "SELECT kind || ' ' || exit FROM turns ORDER BY rowid";
        assert_eq!(
            world.ledger(exits).await,
            ["turn answered", "sub_agent stopped"]
        );
    })
    .await;
}

#[tokio::test]
async fn a_thread_that_opens_after_the_end_has_the_prompt_and_the_report() {
    run_test(async |world| {
        is_told_late(world);
        calls_explore(world);
        world
            .model
            .answers("There is one TODO.")
            .answers("One, says explore.");
        world.ann.says("#lab", "how many?").await;
        world.sees("#lab", "One, says explore.").await;
        let shown = world.sees(THREAD, "There is one TODO.").await;
        is_archived(world, THREAD).await;
        let at = |words: &str| shown.find(words);
        assert!(at("Find TODO.") < at("There is one TODO."), "{shown}");
        let kept = "SELECT count(*) || '' FROM thread_words";
        assert_eq!(world.ledger(kept).await, ["0"]);
    })
    .await;
}

#[tokio::test]
async fn a_stop_in_the_thread_leaves_siblings_and_parent_alone() {
    run_test(async |world| {
        world.edits_agent_json("lab", json!({"child_threads": true}));
        world
            .model
            .calls(&[assignment("explore", "One."), assignment("explore", "Two.")]);
        let first = world.model.is_thinking();
        let second = world.model.thinks_then("A whole report.");
        world.ann.says("#lab", "go").await;
        world.model.was_asked(3).await;
        // Which of both asked first is not said: both are read from the requests.
        let requests = world.model.requests();
        let (stopped, other) = if requests[1].to_string().contains("One.") {
            ("explore · about One.", "explore · about Two.")
        } else {
            ("explore · about Two.", "explore · about One.")
        };
        for thread in [stopped, other] {
            is_open(world, thread).await;
            // Its prompt comes once the ledger knows whose thread it is.
            let is_there = |shown: &str| shown.contains("One.") || shown.contains("Two.");
            world.shows(thread, is_there).await;
        }
        world.model.answers("Half of it.").answers("Done.");
        world.ann.runs("/stop", stopped).await;
        world.sees(stopped, "Half of it.").await;
        is_archived(world, stopped).await;
        assert!(!world.discord.is_archived(world.channel(other)));
        second.ends();
        world.sees(other, "A whole report.").await;
        world.sees("#lab", "Done.").await;
        drop(first);
        let exits = "SELECT exit FROM turns WHERE kind = 'sub_agent' ORDER BY exit";
        assert_eq!(world.ledger(exits).await, ["answered", "stopped"]);
        let told = results(world).join("\n");
        assert!(told.contains("stopped by a person"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn whoever_writes_after_its_end_goes_on_with_it_as_a_branch() {
    run_test(async |world| {
        explore_is_done(world).await;
        world.model.answers("In main.rs.");
        world.ann.says(THREAD, "where?").await;
        world.sees(THREAD, "In main.rs.").await;
        let told = world.model.last_request().to_string();
        for words in ["Find TODO.", "There is one TODO.", "where?"] {
            assert!(told.contains(words), "{words}: {told}");
        }
        assert!(!told.contains("how many?"), "{told}");
        let row = "SELECT kind || ' ' || number || ' ' || role || ' ' || (closed_at IS NULL) FROM conversations WHERE thread_id IS NOT NULL";
        assert_eq!(world.ledger(row).await, ["branch 1 explore 1"]);
        let list = world.ann.asks("/branch list", "#lab").await;
        assert!(list.contains("#1"), "{list}");
        world.model.answers("Line 7.");
        world.ann.says(THREAD, "which line?").await;
        world.sees(THREAD, "Line 7.").await;
    })
    .await;
}

#[tokio::test]
async fn whoever_writes_after_the_end_of_another_agent_writes_to_its_caller_who_knows_the_report() {
    run_test(async |world| {
        world.makes_agent("docs").await;
        std::fs::write(world.workspace("docs").join("plan.txt"), "plum trees\n").unwrap();
        world.edits_agent_json("lab", json!({"child_threads": true}));
        world.model.calls(&[assignment("@docs", "What is planned?")]);
        world.model.calls_tool("view", json!({"path": "plan.txt"}));
        world.model.answers("To plant trees.").answers("Trees.");
        world.ann.says("#lab", "what does docs plan?").await;
        world.sees("#lab", "Trees.").await;
        let thread = "@docs · about What is planned?";
        world.sees(thread, "To plant trees.").await;
        is_archived(world, thread).await;
        for (asked, answer) in [("which ones?", "I ask docs."), ("and when?", "In spring.")] {
            world.model.answers(answer);
            world.ann.says(thread, asked).await;
            world.sees(thread, answer).await;
            let request = world.model.last_request();
            assert!(request["system"].to_string().contains("You are the agent `lab`"), "{request}");
            let told = told(&request);
            assert!(told.contains("To plant trees.") && !told.contains("plum"), "{told}");
        }
        let rows = "SELECT kind || ' ' || number || ' ' || coalesce(role, '-') FROM conversations WHERE thread_id IS NOT NULL ORDER BY id";
        assert_eq!(world.ledger(rows).await, ["child 0 @docs", "branch 1 -"]);
    })
    .await;
}

#[tokio::test]
async fn without_a_thread_the_sub_agent_goes_on() {
    let limited = Effect::RateLimited {
        scope: Scope::Bucket,
        retry_after: Duration::from_secs(3_600),
    };
    let full = Effect::Refused {
        status: 400,
        code: 160_006,
    };
    for effect in [
        Effect::Refused {
            status: 403,
            code: 50_013,
        },
        full,
        limited,
    ] {
        run_test(async |world| {
            world.discord.order(Fault {
                method: "POST",
                path: "/threads".into(),
                times: 1,
                effect,
            });
            calls_explore(world);
            world
                .model
                .answers("There is one TODO.")
                .answers("One, says explore.");
            world.ann.says("#lab", "how many?").await;
            world.sees("#lab", "One, says explore.").await;
            assert!(world.discord.channel(THREAD).is_none());
        })
        .await;
    }
}

#[tokio::test]
async fn nobody_without_access_reaches_a_sub_agent_in_its_thread() {
    run_test(async |world| {
        world.edits_agent_json("lab", json!({"child_threads": true, "access_roles": ["1"]}));
        world.model.calls(&[assignment("explore", "Find TODO.")]);
        let thought = world.model.thinks_then("There is one TODO.");
        world.model.answers("One, says explore.");
        world.ann.says("#lab", "how many?").await;
        world.model.was_asked(2).await;
        is_open(world, THREAD).await;
        let direct = world.bob.person.direct_messages();
        world.bob.says(THREAD, "tell me everything").await;
        world
            .waits("the reason", |world| {
                let told = world.discord.transcript(direct);
                told.contains("certain roles").then_some(())
            })
            .await;
        let stop = world.bob.asks("/stop", THREAD).await;
        assert!(stop.contains("access"), "{stop}");
        thought.ends();
        world.sees("#lab", "One, says explore.").await;
        let heard = "SELECT count(*) || '' FROM inbound";
        assert_eq!(world.ledger(heard).await, ["1"]);
    })
    .await;
}

#[tokio::test]
async fn threads_of_sub_agents_of_sub_agents_are_below_the_channel_too() {
    run_test(async |world| {
        charter(
            world,
            "reviewer",
            "---\nname: reviewer\ndescription: Reviews.\nsub_agents: [explore]\n---\nYou review.\n",
        );
        world.edits_agent_json("lab", json!({"child_threads": true}));
        world.model.calls(&[assignment("reviewer", "Review.")]);
        world.model.calls(&[assignment("explore", "Look.")]);
        world
            .model
            .answers("Looked.")
            .answers("Reviewed.")
            .answers("All well.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "All well.").await;
        for (name, report) in [
            ("reviewer · about Review.", "Reviewed."),
            ("explore · about Look.", "Looked."),
        ] {
            is_open(world, name).await;
            world.sees(name, report).await;
            is_archived(world, name).await;
        }
    })
    .await;
}

#[tokio::test]
async fn after_a_kill_its_thread_leads_to_what_it_knew() {
    run_test_with(Setup::default().by_hand(), async |world| {
        world.edits_agent_json("lab", json!({"child_threads": true, "permissions": "open"}));
        world.model.calls(&[assignment("general", "Wait for it.")]);
        let command = "touch began; until [ -e never ]; do sleep 0.05; done";
        world.model.calls_tool("bash", json!({"command": command}));
        world.ann.says("#lab", "go").await;
        let thread = "general · about Wait for it.";
        is_open(world, thread).await;
        let lives = "SELECT count(*) || '' FROM conversations WHERE thread_id IS NOT NULL";
        world.ledger_says(lives, &["1"]).await;
        let began = world.workspace("lab").join("began");
        world.becomes("the command to run", || began.exists()).await;
        world.kills().await;
        world.starts().await;
        world.sees("#lab", "I cannot tell how far it got").await;
        world.sees(thread, "-# Interrupted: I was restarted.").await;
        is_archived(world, thread).await;
        world.model.answers("I had waited.");
        world.ann.says(thread, "what did you do?").await;
        world.sees(thread, "I had waited.").await;
        let told = world.model.last_request().to_string();
        assert!(
            told.contains("Wait for it.") && told.contains("until [ -e never ]"),
            "{told}"
        );
    })
    .await;
}
