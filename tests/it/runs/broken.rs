//! A task of a run panics: whoever waits for it is told and goes on, and nothing that it began is left.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::{assignment, charter, goes_on, results, run_test_with, told};
use crate::world::{Setup, World};

/// What a parent is told of a sub-agent that broke off.
const BROKE_OFF: &str =
    "Error: it ended because of a bug in Chorus. What it did so far stays done.";

/// A command that runs until a test writes the file.
const WAITS: &str = "until [ -e go ]; do sleep 0.01; done";

/// A world in which the first task panics that would write this line to the log.
fn breaks_at(line: &'static str) -> Setup {
    Setup {
        breaks_at: Some(line),
        ..Setup::default()
    }
}

fn call(tool: &str, arguments: Value) -> Block {
    Block::Call(format!("toolu_{tool}"), tool.to_owned(), arguments)
}

/// The ids of child turns as people see them, in the order in which they began.
async fn ids(world: &World) -> Vec<String> {
    let ids = "SELECT substr(id, -8) FROM turns WHERE kind <> 'turn' ORDER BY rowid";
    world.ledger(ids).await
}

#[tokio::test]
async fn a_sub_agent_that_breaks_off_is_an_error_and_its_parent_goes_on() {
    run_test_with(breaks_at("lab/general began a turn"), async |world| {
        world
            .model
            .calls(&[assignment("general", "One."), assignment("explore", "Two.")]);
        world.model.answers("Seen.").answers("One of two.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "One of two.").await;
        let got = results(world);
        let id = ids(world).await.remove(0);
        let heading = format!("[general · {id} · failed · 0 steps · 0 tokens]");
        let way_on = format!("Go on with `continue: \"{id}\"`, or do it yourself.");
        assert_eq!(got[0], format!("{heading}\n{BROKE_OFF}\n{way_on}"));
        assert!(got[1].ends_with("Seen."), "{got:?}");
        let messages = &world.model.last_request()["messages"];
        let blocks = messages.as_array().unwrap().last().unwrap();
        assert_eq!(blocks["content"][0]["is_error"], true, "{blocks}");
        let exits = "SELECT path || ' ' || state || ' ' || exit FROM turns ORDER BY rowid";
        let expected = [
            "lab finished answered",
            "lab/general finished failed",
            "lab/explore finished answered",
        ];
        assert_eq!(world.ledger(exits).await, expected);
        let shown = world.ann.asks("/run show", "#lab").await;
        assert!(
            shown.contains("sub_agent general") && shown.contains("failed"),
            "{shown}"
        );
        world.exchange("and now?", "As before.").await;
    })
    .await;
}

#[tokio::test]
async fn one_that_breaks_off_in_a_call_leaves_none_open_and_can_go_on() {
    run_test_with(breaks_at("tool glob finished"), async |world| {
        world.model.calls(&[assignment("general", "Look.")]);
        world.model.calls_tool("glob", json!({"pattern": "*"}));
        world.model.answers("It broke.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "It broke.").await;
        let calls = "SELECT name || ' ' || state FROM calls ORDER BY name";
        let expected = ["glob interrupted", "sub_agent finished"];
        assert_eq!(world.ledger(calls).await, expected);
        let id = ids(world).await.remove(0);
        world.model.calls(&[goes_on("general", &id, "Again.")]);
        world.model.answers("Looked.").answers("It went well.");
        world.ann.says("#lab", "again").await;
        world.sees("#lab", "It went well.").await;
        let all = results(world);
        assert!(all.last().unwrap().ends_with("Looked."), "{all:?}");
    })
    .await;
}

/// Roles that call, ask and run: `lead` has the others work until it breaks off, which is once `go` is there.
fn lead(world: &World) {
    for (name, more) in [
        ("lead", "sub_agents: [asker, runner]\n"),
        ("asker", "permissions: standard\n"),
        ("runner", ""),
    ] {
        let text =
            format!("---\nname: {name}\ndescription: Does it.\n{more}---\nYou are the {name}.\n");
        charter(world, name, &text);
    }
    world.edits_agent_json("lab", json!({"permissions": "open"}));
}

/// Calls of whoever is the `caller`, until it breaks off.
fn works(request: &Value, caller: &str) -> Vec<Block> {
    let is = |name: &str| request["system"].to_string().contains(name);
    let has_results = request["messages"].to_string().contains("tool_result");
    let text = |words: &str| vec![Block::Text(words.to_owned())];
    match has_results {
        false if is("You are the asker.") => vec![call("bash", json!({"command": "touch asked"}))],
        false if is("You are the runner.") => {
            vec![call("run_concurrent", json!({"command": "sleep 600"}))]
        }
        true if is("You are the runner.") => {
            vec![call(
                "bash",
                json!({"command": "sleep 600", "timeout": 600}),
            )]
        }
        false if is(caller) => ["asker", "runner"]
            .map(|role| {
                let (tool, task) = assignment(role, "Do it.");
                Block::Call(format!("toolu_{role}"), tool.to_owned(), task)
            })
            .into_iter()
            .chain([call("bash", json!({"command": WAITS, "timeout": 600}))])
            .collect(),
        false => vec![call("sub_agent", assignment("lead", "Lead.").1)],
        true => text("It went on."),
    }
}

/// Both of them are at work: one asks, one runs a command beside its turn and one in it.
async fn are_at_work(world: &World) {
    world.question("#lab").await;
    let sleeping = "SELECT count(*) || '' FROM calls WHERE name = 'bash' AND state = 'started'";
    world.ledger_says(sleeping, &["2"]).await;
    let beside = "SELECT status FROM tasks";
    assert_eq!(world.ledger(beside).await, ["running"]);
    std::fs::write(world.workspace("lab").join("go"), "").unwrap();
}

/// Nothing of them is: no card can be pressed, and no command runs.
async fn are_gone(world: &World) {
    world
        .ledger_says("SELECT status FROM tasks", &["killed"])
        .await;
    let open = |world: &World| {
        let all = world.messages("#lab");
        let is_open = all.iter().any(|message| {
            let mut buttons = message.buttons().into_iter();
            buttons.any(|button| button.label == "Allow" && !button.is_disabled)
        });
        (!is_open).then_some(())
    };
    world.waits("cards that are over", open).await;
    super::nothing_is_left(world).await;
    assert!(!world.workspace("lab").join("asked").exists());
}

#[tokio::test]
async fn what_works_below_one_that_breaks_off_ends_with_it() {
    run_test_with(breaks_at("tool bash finished"), async |world| {
        lead(world);
        world
            .model
            .follows(|request| Reply::new(works(request, "You are the lead.")));
        world.ann.says("#lab", "go").await;
        are_at_work(world).await;
        world.sees("#lab", "It went on.").await;
        are_gone(world).await;
        let id = ids(world).await.remove(0);
        let told = results(world).remove(0);
        let begins = format!("[lead · {id} · failed · 1 step · ");
        assert!(
            told.starts_with(&begins) && told.contains(BROKE_OFF),
            "{told}"
        );
        let exits = "SELECT path || ' ' || exit FROM turns ORDER BY path";
        let expected = [
            "lab answered",
            "lab/lead failed",
            "lab/lead/asker failed",
            "lab/lead/runner failed",
        ];
        assert_eq!(world.ledger(exits).await, expected);
    })
    .await;
}

#[tokio::test]
async fn a_root_that_breaks_off_takes_its_sub_agents_with_it_and_says_so_once() {
    run_test_with(breaks_at("tool bash finished"), async |world| {
        lead(world);
        world.model.follows(|request| {
            if request["messages"].to_string().contains("and now?") {
                return Reply::new(vec![Block::Text("As before.".to_owned())]);
            }
            Reply::new(works(request, "You are the agent `lab`"))
        });
        world.ann.says("#lab", "go").await;
        are_at_work(world).await;
        world.sees("#lab", "Something broke inside Chorus").await;
        are_gone(world).await;
        let exits = "SELECT path || ' ' || exit FROM turns ORDER BY path";
        let expected = ["lab failed", "lab/asker failed", "lab/runner failed"];
        assert_eq!(world.ledger(exits).await, expected);
        world.ann.says("#lab", "and now?").await;
        let seen = world.sees("#lab", "As before.").await;
        assert_eq!(
            seen.matches("Something broke inside Chorus").count(),
            1,
            "{seen}"
        );
    })
    .await;
}

#[tokio::test]
async fn what_was_written_to_one_that_breaks_off_is_answered() {
    run_test_with(breaks_at("tool bash finished"), async |world| {
        world.edits_agent_json("lab", json!({"child_threads": true, "permissions": "open"}));
        world.model.follows(|request| {
            let said = request["messages"].to_string();
            let is_child = request["system"].to_string().contains("a sub-agent of");
            Reply::new(vec![if is_child {
                call("bash", json!({"command": WAITS, "timeout": 600}))
            } else if said.contains("and be quick") {
                Block::Text("Quick, then.".to_owned())
            } else if said.contains("tool_result") {
                Block::Text("It broke.".to_owned())
            } else {
                call("sub_agent", assignment("general", "Look.").1)
            }])
        });
        world.ann.says("#lab", "go").await;
        let thread = "general · about Look.";
        let is_open = |world: &World| world.discord.channel(thread).map(drop);
        world.waits("its thread", is_open).await;
        world.sees(thread, "-# step 1 · bash").await;
        world.ann.says(thread, "and be quick").await;
        let stored = "SELECT count(*) || '' FROM inbound WHERE state = 'new'";
        world.ledger_says(stored, &["1"]).await;
        std::fs::write(world.workspace("lab").join("go"), "").unwrap();
        world.sees("#lab", "It broke.").await;
        world.sees(thread, "Quick, then.").await;
    })
    .await;
}

/// Roles without tools, each of which is a stage of `lab`.
fn stages(world: &World, keys: Value) {
    for name in ["security", "legal", "billing", "editor"] {
        let text = format!(
            "---\nname: {name}\ndescription: Does {name}.\ntools: []\n---\nYou are {name}.\n"
        );
        charter(world, name, &text);
    }
    world.edits_agent_json("lab", keys);
}

#[tokio::test]
async fn an_advisor_that_breaks_off_gives_no_advice() {
    run_test_with(breaks_at("lab/security began a turn"), async |world| {
        stages(world, json!({"advisors": ["security", "legal"]}));
        world.model.answers("Mind the law.").answers("Published.");
        world.ann.says("#lab", "publish it").await;
        world.sees("#lab", "Published.").await;
        let last = told(&world.model.last_request());
        assert!(
            last.contains("<advisory from=\"security\" failed=\"failed\" id=\"")
                && last.contains(">no advice: it ended because of a bug in Chorus. What it did so far stays done</advisory")
                && last.contains(">Mind the law.</advisory"),
            "{last}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_destination_that_breaks_off_is_told_once_and_the_agent_goes_on() {
    run_test_with(breaks_at("lab/billing began a turn"), async |world| {
        stages(world, json!({"router": {"destinations": ["billing"]}}));
        world
            .model
            .calls(&[("hand_over", json!({"to": "billing"}))]);
        world.ann.says("#lab", "what does it cost?").await;
        let seen = world
            .sees("#lab", "it ended because of a bug in Chorus")
            .await;
        assert_eq!(seen.matches("because of a bug").count(), 1, "{seen}");
        world.exchange("and now?", "As before.").await;
        let told = results(world);
        assert_eq!(
            told,
            ["handed over to billing, which gave no answer (failed)"]
        );
    })
    .await;
}

#[tokio::test]
async fn a_handoff_that_breaks_off_fails_as_it_says() {
    for (on_failure, told) in [
        (
            "show",
            "Not passed on: `editor` did not finish (failed). This is the answer before it.",
        ),
        (
            "withhold",
            "**The answer was withheld.** `editor` must pass it and did not finish (failed).",
        ),
    ] {
        run_test_with(breaks_at("lab/editor began a turn"), async |world| {
            stages(
                world,
                json!({"handoff": {"role": "editor", "on_failure": on_failure}}),
            );
            world.model.answers("The code is quagga.");
            world.ann.says("#lab", "tell me").await;
            let seen = world.sees("#lab", told).await;
            assert_eq!(seen.contains("quagga"), on_failure == "show", "{seen}");
            world
                .model
                .answers("Well then.")
                .answers("Well then, edited.");
            world.ann.says("#lab", "and now?").await;
            world.sees("#lab", "Well then, edited.").await;
        })
        .await;
    }
}
