//! Requests that wait for a place at a provider, in the whole bot.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use chorus::llm::places::QueueLimits;
use chorus_playground::model::wire::{Block, Reply};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::world::model::Thought;
use crate::world::{Setup, Way, World, run_test_with};

/// One place for all.
fn one_place() -> Setup {
    with(json!({"max_requests": 1}))
}

fn with(config: Value) -> Setup {
    Setup {
        config,
        ..Setup::default()
    }
}

/// What waits came to, and how many.
const WAITS: &str = "SELECT kind || ' ' || provider || ' ' || outcome || ' ' || (input + output + cache_read + cache_write)
    || ' ' || cost_usd || ' ' || count(*) FROM attempts WHERE kind = 'queue' GROUP BY outcome";

/// The latest words of a person that a request tells of.
fn asked(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    messages.last().unwrap().to_string()
}

/// Which of `needles` the requests came for, each once, in their order.
fn order<'a>(world: &World, needles: &[&'a str]) -> Vec<&'a str> {
    let requests = world.model.requests();
    let found = requests.iter().filter_map(|request| {
        needles
            .iter()
            .find(|needle| asked(request).contains(**needle))
    });
    found.copied().collect()
}

#[tokio::test]
async fn the_second_says_that_it_waits_and_a_core_agent_goes_first() {
    run_test_with(one_place(), async |world| {
        makes_dev_and_core_ops(world).await;
        world.ann.asks("/status", "#ops").await;
        let thought = dev_waits(world).await;
        world.ann.says("#ops", "what about ops").await;
        world.sees("#ops", r"Waiting for a place \(next\)").await;
        world
            .sees("#dev", r"Waiting for a place \(1 before it\)")
            .await;
        world.model.always_answers("what about dev", "The third.");
        world.model.always_answers("what about ops", "The second.");
        thought.ends();
        world.sees("#lab", "The first.").await;
        world.sees("#ops", "The second.").await;
        world.sees("#dev", "The third.").await;
        let needles = ["what about dev", "what about ops"];
        assert_eq!(order(world, &needles), ["what about ops", "what about dev"]);
        assert_eq!(world.model.most_at_once(), 1);
        world
            .ledger_says(WAITS, &["queue anthropic ok 0 0.0 2"])
            .await;
        let usage = world.ann.asks("/usage", "#lab").await;
        assert!(!usage.contains("queue"), "{usage}");
    })
    .await;
}

#[tokio::test]
async fn a_core_agent_passes_a_queue_of_twenty() {
    run_test_with(one_place(), async |world| {
        world.makes_agent("ops").await;
        world.edits_agent_json("ops", json!({"core": true}));
        let status = world.ann.asks("/status", "#ops").await;
        assert!(status.contains("core, ready"), "{status}");
        let thought = lab_thinks(world).await;
        for _ in 0..20 {
            world
                .ann
                .runs("/branch new prompt:a task of the crowd", "#lab")
                .await;
        }
        world
            .ledger_says(
                "SELECT count(*) || '' FROM turns WHERE state = 'running'",
                &["21"],
            )
            .await;
        world.ann.says("#ops", "what about ops").await;
        world.sees("#ops", r"Waiting for a place \(next\)").await;
        world.model.always_answers("a task of the crowd", "Done.");
        world.model.always_answers("what about ops", "Here.");
        thought.ends();
        world.sees("#ops", "Here.").await;
        world
            .ledger_says(
                "SELECT count(*) || '' FROM turns WHERE exit = 'answered'",
                &["22"],
            )
            .await;
        let order = order(world, &["a task of the crowd", "what about ops"]);
        assert_eq!(order[0], "what about ops", "{order:?}");
        assert_eq!((order.len(), world.model.most_at_once()), (21, 1));
    })
    .await;
}

#[tokio::test]
async fn a_run_with_four_children_ends_under_one_place() {
    run_test_with(one_place(), async |world| {
        world.model.takes(Duration::from_millis(2));
        let call = |title: &str| {
            (
                "sub_agent",
                json!({"role": "general", "prompt": "Do it.", "title": title}),
            )
        };
        world
            .model
            .calls(&["one", "two", "three", "four"].map(call));
        for _ in 0..4 {
            world.model.answers("A report.");
        }
        world.model.answers("All four are done.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "All four are done.").await;
        assert_eq!(world.model.most_at_once(), 1);
        let waited =
            "SELECT DISTINCT role || ' ' || (run_id <> turn_id) FROM attempts WHERE kind = 'queue'";
        world.ledger_says(waited, &["general 1"]).await;
        let shown = world.transcript("#lab");
        assert!(shown.contains("of it 4 sub-agents"), "{shown}");
    })
    .await;
}

async fn makes_dev_and_ops(world: &World) {
    for name in ["dev", "ops"] {
        world.makes_agent(name).await;
    }
}

async fn makes_dev_and_core_ops(world: &World) {
    makes_dev_and_ops(world).await;
    world
        .ann
        .asks("/agent config name:ops key:core value:true", "#general")
        .await;
}

/// Has the model think about a message in `#lab`.
async fn lab_thinks(world: &World) -> Thought {
    let thought = world.model.thinks_then("The first.");
    world.ann.says("#lab", "think").await;
    world.model.was_asked(1).await;
    thought
}

/// The same, with `#dev` waiting for its place.
async fn dev_waits(world: &World) -> Thought {
    let thought = lab_thinks(world).await;
    world.ann.says("#dev", "what about dev").await;
    world.sees("#dev", r"Waiting for a place \(next\)").await;
    thought
}

/// The same, with `#ops` waiting after it.
async fn both_wait(world: &World) -> Thought {
    let thought = dev_waits(world).await;
    world.ann.says("#ops", "what about ops").await;
    world
        .sees("#ops", r"Waiting for a place \(1 before it\)")
        .await;
    thought
}

#[tokio::test]
async fn an_abort_in_the_queue_frees_at_once() {
    run_test_with(one_place(), async |world| {
        makes_dev_and_ops(world).await;
        let thought = both_wait(world).await;
        world.ann.runs("/abort", "#dev").await;
        world.sees("#dev", "Nothing more will run").await;
        world.sees("#ops", r"Waiting for a place \(next\)").await;
        world.model.answers("The second.");
        thought.ends();
        world.sees("#ops", "The second.").await;
        assert!(order(world, &["what about dev"]).is_empty());
        world
            .ledger_says(
                WAITS,
                &[
                    "queue anthropic ok 0 0.0 1",
                    "queue anthropic stopped 0 0.0 1",
                ],
            )
            .await;
    })
    .await;
}

#[tokio::test]
async fn last_words_go_before_all_others() {
    run_test_with(one_place(), async |world| {
        makes_dev_and_ops(world).await;
        let thought = both_wait(world).await;
        world.ann.runs("/stop", "#ops").await;
        world.sees("#ops", r"Waiting for a place \(next\)").await;
        world.model.answers("Last words.").answers("The third.");
        thought.ends();
        world.sees("#ops", "Last words.").await;
        world.sees("#dev", "The third.").await;
    })
    .await;
}

#[tokio::test]
async fn who_waited_long_goes_before_a_core_agent_that_came_later() {
    let setup = Setup {
        queue: QueueLimits {
            rises_after: Duration::from_nanos(1),
            ..QueueLimits::default()
        },
        ..one_place()
    };
    run_test_with(setup, async |world| {
        makes_dev_and_core_ops(world).await;
        let thought = both_wait(world).await;
        world.model.always_answers("what about dev", "The second.");
        world.model.always_answers("what about ops", "The third.");
        thought.ends();
        world.sees("#dev", "The second.").await;
        world.sees("#ops", "The third.").await;
        let needles = ["what about dev", "what about ops"];
        assert_eq!(order(world, &needles), needles);
    })
    .await;
}

#[tokio::test]
async fn who_waited_too_long_fails_and_says_at_whom() {
    let setup = Setup {
        queue: QueueLimits {
            gives_up_after: Duration::from_millis(1),
            ..QueueLimits::default()
        },
        ..with(json!({"providers": {"anthropic": {"max_requests": 1}}}))
    };
    run_test_with(setup, async |world| {
        world.makes_agent("dev").await;
        let thought = lab_thinks(world).await;
        world.ann.says("#dev", "what about dev").await;
        world
            .sees(
                "#dev",
                r"no free slot at anthropic for 0 seconds (max\_requests 1)",
            )
            .await;
        thought.ends();
        world.sees("#lab", "The first.").await;
        world
            .ledger_says(WAITS, &["queue anthropic timeout 0 0.0 1"])
            .await;
    })
    .await;
}

#[tokio::test]
async fn nobody_holds_a_place_while_a_person_is_asked() {
    run_test_with(one_place(), async |world| {
        world.makes_agent("dev").await;
        world.asks_to_write(&world.ann, "Written.").await;
        world.model.forgets();
        world.model.answers("Meanwhile.");
        world.ann.says("#dev", "what about dev").await;
        world.sees("#dev", "Meanwhile.").await;
        world.model.answers("Written.");
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Written.").await;
        world.ledger_says(WAITS, &[]).await;
    })
    .await;
}

#[tokio::test]
async fn a_wait_is_not_work_time() {
    run_test_with(one_place(), async |world| {
        world.makes_agent("dev").await;
        world.edits_agent_json("dev", json!({"turn_timeout": 1}));
        let thought = lab_thinks(world).await;
        world.ann.says("#dev", "what about dev").await;
        world
            .shows("#dev", |shown| {
                shown.contains("Waiting for a place") && shown.contains("· 2 s")
            })
            .await;
        world.model.answers("In time.");
        thought.ends();
        world.sees("#dev", "In time.").await;
        let exits = "SELECT DISTINCT exit FROM turns";
        world.ledger_says(exits, &["answered"]).await;
    })
    .await;
}

#[tokio::test]
async fn a_summary_takes_a_place_too() {
    run_test_with(one_place(), async |world| {
        world.makes_agent("dev").await;
        world.exchange("remember plum", "Plum it is.").await;
        let summary = world.model.thinks_about_summaries();
        world.ann.runs("/context clear", "#lab").await;
        world.model.was_asked(2).await;
        world.ann.says("#dev", "what about dev").await;
        world.sees("#dev", r"Waiting for a place \(next\)").await;
        world.model.answers("After the summary.");
        summary.ends();
        world.sees("#dev", "After the summary.").await;
        assert_eq!(world.model.most_at_once(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_reload_changes_the_limits_while_requests_wait() {
    let setup = Setup {
        way: Way::Program,
        ..one_place()
    };
    run_test_with(setup, async |world| {
        world.makes_agent("dev").await;
        let thought = dev_waits(world).await;
        world.model.answers("Let in.");
        let config = json!({"default_model": "scripted-model", "max_requests": 2});
        fs::write(world.home().join("config.json"), config.to_string()).unwrap();
        world.signals(Signal::HUP).await;
        world.sees("#dev", "Let in.").await;
        thought.ends();
        world.sees("#lab", "The first.").await;
    })
    .await;
}

#[tokio::test]
async fn a_limit_that_is_lowered_lets_end_what_runs_and_nobody_else_in() {
    let setup = Setup {
        way: Way::Program,
        ..with(json!({"max_requests": 2}))
    };
    run_test_with(setup, async |world| {
        makes_dev_and_ops(world).await;
        let first = world.model.thinks_then("The first.");
        world.ann.says("#lab", "think").await;
        world.model.was_asked(1).await;
        let second = world.model.thinks_then("The second.");
        world.ann.says("#dev", "think too").await;
        world.model.was_asked(2).await;
        world.ann.says("#ops", "what about ops").await;
        world.sees("#ops", r"Waiting for a place \(next\)").await;
        let config =
            json!({"default_model": "scripted-model", "max_requests": 1, "idle_timeout": "3h"});
        fs::write(world.home().join("config.json"), config.to_string()).unwrap();
        world.signals(Signal::HUP).await;
        world.waits_for_reply("/settings show", "3 h").await;
        first.ends();
        world.sees("#lab", "The first.").await;
        let after = "SELECT count(*) || '' FROM turns WHERE exit = 'answered'";
        world.ledger_says(after, &["1"]).await;
        assert!(order(world, &["what about ops"]).is_empty());
        world.model.answers("The third.");
        second.ends();
        world.sees("#dev", "The second.").await;
        world.sees("#ops", "The third.").await;
    })
    .await;
}

/// `CHORUS_QUEUED_TURNS=1000` has as many turns wait for one place.
#[tokio::test]
async fn two_requests_are_never_under_way_where_there_is_one_place() {
    let turns = std::env::var("CHORUS_QUEUED_TURNS");
    let turns = turns.map_or(40, |count| count.parse::<usize>().unwrap());
    run_test_with(one_place(), async |world| {
        let agents: Vec<String> = (0..4).map(|at| format!("agent-{at}")).collect();
        for agent in &agents {
            world.makes_agent(agent).await;
        }
        world.model.takes(Duration::from_millis(1));
        world
            .model
            .follows(|_| Reply::new(vec![Block::Text("Done.".to_owned())]));
        for turn in 0..turns {
            let agent = &agents[turn % agents.len()];
            let said = format!("task {turn}");
            world.ann.says(&format!("#{agent}"), &said).await;
            if turn % agents.len() == agents.len() - 1 {
                let answered = format!("{}", turn + 1);
                let count = "SELECT count(*) || '' FROM turns WHERE exit = 'answered'";
                world.ledger_says(count, &[&answered]).await;
            }
        }
        assert_eq!(world.model.most_at_once(), 1);
        let waited = world
            .ledger("SELECT DISTINCT agent_id FROM attempts WHERE kind = 'queue'")
            .await;
        assert!(!waited.is_empty(), "nobody had to wait");
        let tasks: BTreeSet<String> = world.model.requests().iter().map(asked).collect();
        assert_eq!(tasks.len(), turns);
    })
    .await;
}
