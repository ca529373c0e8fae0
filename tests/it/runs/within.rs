//! Within what a sub-agent works: the time that its parent has left, its window, and the models that serve its run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::{assignment, charter, results, run_test_with};
use crate::world::model::MODEL;
use crate::world::{Setup, World};

fn with_turn_timeout(seconds: u64) -> Setup {
    Setup {
        config: json!({"turn_timeout": seconds}),
        ..Setup::default()
    }
}

#[tokio::test]
async fn thirty_seconds_of_the_parents_time_are_not_for_its_sub_agent() {
    run_test_with(with_turn_timeout(31), async |world| {
        world.model.calls(&[assignment("general", "Do it.")]);
        let thought = world.model.is_thinking();
        world
            .model
            .answers("Half of it.")
            .answers("It came half way.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "It came half way.").await;
        drop(thought);
        let got = results(world).remove(0);
        assert!(
            got.contains(" · time limit · ") && got.ends_with("Half of it."),
            "{got}"
        );
        let exits = "SELECT exit FROM turns ORDER BY rowid";
        assert_eq!(world.ledger(exits).await, ["answered", "time_limit"]);
    })
    .await;
}

/// The first sub-agent has less time than it waits for a person. The second has none, should its parent's clock have run.
#[tokio::test]
async fn while_all_that_works_waits_for_a_person_no_clock_runs() {
    run_test_with(with_turn_timeout(40), async |world| {
        world.model.calls(&[assignment("general", "Write it.")]);
        world
            .model
            .calls_tool("bash", json!({"command": "echo a > a.txt"}));
        world.model.calls_tool("glob", json!({"pattern": "*"}));
        world.model.answers("Written.");
        world.model.calls(&[assignment("general", "Read it.")]);
        world.model.calls_tool("glob", json!({"pattern": "*.txt"}));
        world.model.answers("Read.").answers("Written and read.");
        world.ann.says("#lab", "go").await;
        world.question("#lab").await;
        let asked = Instant::now();
        let is_over = || asked.elapsed() > Duration::from_secs(11);
        world.becomes("more time than it has", is_over).await;
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Written and read.").await;
        let exits = "SELECT exit FROM turns";
        assert_eq!(world.ledger(exits).await, ["answered"; 3]);
    })
    .await;
}

/// The second waits for its turn for as long as the first may work at all.
#[tokio::test]
async fn a_parents_time_goes_by_for_one_that_waits_for_its_turn() {
    let setup = Setup {
        config: json!({"turn_timeout": 32, "orchestration": {"max_children_at_once": 1}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        world.model.follows(|request| {
            let sleeps = json!({"command": "sleep 600", "timeout": 600});
            let is_child = request["system"].to_string().contains("a sub-agent of");
            let is_told = request["messages"].to_string().contains("tool_result");
            Reply::new(match (is_child, request.get("tools")) {
                (true, Some(_)) => {
                    vec![Block::Call(
                        "toolu_bash".to_owned(),
                        "bash".to_owned(),
                        sleeps,
                    )]
                }
                (false, Some(_)) if !is_told => ["One.", "Two."]
                    .map(|what| {
                        let (tool, task) = assignment("general", what);
                        Block::Call(format!("toolu_{what}"), tool.to_owned(), task)
                    })
                    .into(),
                (_, _) => vec![Block::Text("Half of it.".to_owned())],
            })
        });
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "Half of it.").await;
        let exits = "SELECT exit FROM turns ORDER BY rowid";
        let expected = ["answered", "time_limit", "time_limit"];
        assert_eq!(world.ledger(exits).await, expected);
        let slept = "SELECT (count(*) < 2) || '' FROM calls WHERE name = 'bash'";
        assert_eq!(world.ledger(slept).await, ["1"]);
    })
    .await;
}

/// Files of which a few fill the window.
fn has_files(agent: &str, world: &World, many: usize) {
    for number in 0..many {
        let text = format!("file {number} {}\n", "x".repeat(90)).repeat(90);
        let file = world.workspace(agent).join(format!("{number}.txt"));
        std::fs::write(file, text).unwrap();
    }
}

#[tokio::test]
async fn its_conversation_is_summed_up_and_no_session_holds_it() {
    let setup = Setup {
        config: json!({"models": {MODEL: {"window": 16_000, "max_output": 4_000}}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        has_files("lab", world, 6);
        world.model.has_window(16_000);
        world.model.summarises("The first files hold nothing.");
        world.model.calls(&[assignment("general", "Read them.")]);
        for number in 0..6 {
            world.model.calls_tool("view", json!({"path": format!("{number}.txt")}));
        }
        world.model.answers("Nothing in any.").answers("Nothing, then.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "Nothing, then.").await;
        let requests = world.model.requests();
        let child = requests.iter().rfind(|one| one["system"].to_string().contains("a sub-agent of"));
        let told = child.unwrap()["messages"].to_string();
        assert!(told.contains("The first files hold nothing.") && !told.contains("file 0 "), "{told}");
        let got = results(world);
        assert!(got.len() == 1 && got[0].ends_with("Nothing in any."), "{got:?}");
        // What was said stays in the ledger.
        let dropped = "SELECT k.kind || ' ' || (count(i.dropped_at) > 0) || ' ' || (sum(i.body LIKE '%file 0 %') > 0)
            FROM items i JOIN conversations k ON k.id = i.conversation_id GROUP BY k.kind ORDER BY k.kind";
        assert_eq!(world.ledger(dropped).await, ["child 1 1", "main 0 0"]);
        assert_eq!(world.ledger("SELECT count(*) || '' FROM sessions").await, ["0"]);
    })
    .await;
}

/// A sub-agent that looks at file after file until it has its last step.
fn never_stops_reading(role: &'static str) -> impl Fn(&Value) -> Reply {
    let read = AtomicUsize::new(0);
    move |request| {
        let said = request["messages"].to_string();
        // The same id each time, as some servers give them.
        let call =
            |tool: &str, arguments| Block::Call("call_0".to_owned(), tool.to_owned(), arguments);
        let is_child = request["system"].to_string().contains("a sub-agent of");
        Reply::new(vec![match (is_child, request.get("tools")) {
            (true, None) => Block::Text("Read what I could.".to_owned()),
            (true, Some(_)) => {
                let number = read.fetch_add(1, Ordering::AcqRel) % 6;
                call("view", json!({"path": format!("{number}.txt")}))
            }
            (false, Some(_)) if !said.contains("tool_result") => {
                call("sub_agent", assignment(role, "Read them.").1)
            }
            (false, _) => Block::Text("That is all.".to_owned()),
        }])
    }
}

#[tokio::test]
async fn calls_that_a_server_gives_the_same_id_are_told_apart() {
    let setup = Setup {
        config: json!({"orchestration": {"child_steps": 8}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        has_files("lab", world, 6);
        world.model.follows(never_stops_reading("general"));
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "That is all.").await;
        let read =
            "SELECT (count(*) > 6) || '' FROM calls WHERE name = 'view' AND state = 'finished'";
        assert_eq!(world.ledger(read).await, ["1"]);
    })
    .await;
}

/// A token of output costs a tenth of a cent: a step takes half a cent and is not begun with less than a quarter of a dollar, which is
/// what a summary takes. Without that, the budget would last for more steps than it has. A day's holds the last words of the asker too.
#[tokio::test]
async fn its_summary_is_paid_for_by_its_role_or_by_who_called_the_agent_that_it_works_as() {
    for (role, keys) in [("reader", json!({})), ("@docs", json!({"budget_day": 0.9}))] {
        let setup = Setup {
            config: json!({
                "models": {MODEL: {"window": 16_000, "max_output": 256, "input_price": 0, "output_price": 1000}},
                "orchestration": {"child_steps": 40},
            }),
            ..Setup::default()
        };
        run_test_with(setup, async |world| {
            world.makes_agent("docs").await;
            charter(
                world,
                "reader",
                "---\nname: reader\ndescription: Reads.\nbudget_usd: 0.6\n---\nRead.\n",
            );
            world.edits_agent_json("lab", keys);
            has_files("lab", world, 6);
            has_files("docs", world, 6);
            world.model.has_window(16_000);
            world.model.summarises(&"Nothing is in these. ".repeat(45));
            world.model.follows(never_stops_reading(role));
            world.ann.says("#lab", "go").await;
            world.sees("#lab", "That is all.").await;
            let exit = "SELECT exit FROM turns WHERE kind = 'sub_agent'";
            assert_eq!(world.ledger(exit).await, ["budget"]);
            let rows = "SELECT DISTINCT x.role || ' ' || a.name || ' ' || (x.run_id <> x.turn_id) || ' ' || (x.cost_usd > 0.2) FROM attempts x
                JOIN agents a ON a.id = x.agent_id WHERE x.kind = 'compaction'";
            assert_eq!(world.ledger(rows).await, [format!("{role} lab 1 1")]);
        })
        .await;
    }
}

#[tokio::test]
async fn a_summary_that_is_not_there_at_its_end_is_ended_and_the_ledger_has_it() {
    let setup = Setup {
        config: json!({"models": {MODEL: {"window": 16_000, "max_output": 4_000}}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        has_files("lab", world, 3);
        charter(
            world,
            "reader",
            "---\nname: reader\ndescription: Reads.\ncompaction: {begin: 0.30, wait: 0.95}\n---\nRead.\n",
        );
        let summary = world.model.thinks_about_summaries();
        world.model.calls(&[assignment("reader", "Read them.")]);
        for number in 0..3 {
            let file = json!({"path": format!("{number}.txt")});
            world.model.calls_tool("view", file);
        }
        let thought = world.model.thinks_then("Nothing in any.");
        world.model.answers("Nothing, then.");
        world.ann.says("#lab", "go").await;
        world.model.was_asked(6).await;
        thought.ends();
        world.sees("#lab", "Nothing, then.").await;
        let asked = "SELECT kind || ' ' || outcome || ' ' || role FROM attempts WHERE kind = 'compaction'";
        assert_eq!(world.ledger(asked).await, ["compaction stopped reader"]);
        drop(summary);
    })
    .await;
}

#[tokio::test]
async fn a_model_that_is_out_for_the_root_is_not_asked_by_its_sub_agents() {
    let setup = Setup {
        config: json!({
            "providers": {"anthropic": {"format": "anthropic", "api_key_env": "ANTHROPIC_API_KEY", "models": ["small-one"]}},
        }),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.edits_agent_json("lab", json!({"fallback_models": ["anthropic/small-one"]}));
        world
            .model
            .fails_with(401, json!({"error": {"message": "no such key"}}));
        world
            .model
            .calls(&[assignment("general", "One."), assignment("general", "Two.")]);
        world
            .model
            .answers("Done.")
            .answers("Done.")
            .answers("Both done.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "Both done.").await;
        let requests = world.model.requests();
        let models: Vec<_> = requests
            .iter()
            .map(|one| one["model"].as_str().unwrap())
            .collect();
        assert_eq!(
            models,
            [MODEL, "small-one", "small-one", "small-one", "small-one"]
        );
    })
    .await;
}
