//! Modes: how much a turn brings to bear.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::world::model::MODEL;
use crate::world::{Setup, World, run_test, run_test_with};

/// Tiers of models that pass without being asked whether they are there.
fn tiers() -> Setup {
    Setup {
        config: json!({
            "providers": {"anthropic": {"format": "anthropic", "api_key_env": "ANTHROPIC_API_KEY", "models": ["small-one", "large-one"]}},
            "tiers": {"lightweight": "anthropic/small-one", "full": "anthropic/large-one"},
        }),
        ..Setup::default()
    }
}

fn tools(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    names.map(str::to_owned).collect()
}

/// What the mode changes of a request.
fn line(request: &Value) -> String {
    let tools = tools(request);
    let shown = match tools.len() {
        0 => "no tools".to_owned(),
        1..=3 => tools.join(" "),
        _ => "all tools".to_owned(),
    };
    let notes = request["system"]
        .to_string()
        .contains("There are seven stars.");
    let shelf = request["system"].to_string().contains("git_push");
    let last = request["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .to_string();
    let text = last.matches("lorem ipsum").count() > 1_000;
    format!(
        "{}; {shown}; notes {notes}; shelf {shelf}; text of 100 KB {text}",
        request["model"].as_str().unwrap_or_default()
    )
}

/// The agent's own mode, for the same message with the same file.
async fn asked_in(world: &World, mode: &str) -> Value {
    world.edits_agent_json("lab", json!({"mode": mode}));
    let before = world.model.requests().len();
    let answer = format!("Seen in {mode}.");
    world.model.answers(&answer);
    let text = "lorem ipsum\n".repeat(8_500);
    world
        .ann
        .uploads("#lab", "look", &[("a.txt", text.as_bytes())])
        .await;
    let request = world.model.was_asked(before + 1).await;
    world.sees("#lab", &answer).await;
    request
}

#[tokio::test]
async fn the_same_message_in_four_modes() {
    run_test_with(tiers(), async |world| {
        let notes = world.home().join("agents/lab/docs/stars.md");
        fs::write(notes, "There are seven stars.").unwrap();
        let mut table = String::new();
        for mode in ["direct", "lightweight", "standard", "full"] {
            let request = asked_in(world, mode).await;
            table.push_str(&format!("{mode}: {}\n", line(&request)));
        }
        assert_snapshot!(table, @"
        direct: scripted-model; no tools; notes false; shelf false; text of 100 KB true
        lightweight: small-one; view glob grep; notes false; shelf false; text of 100 KB true
        standard: scripted-model; all tools; notes true; shelf true; text of 100 KB true
        full: large-one; all tools; notes true; shelf true; text of 100 KB true
        ");
    })
    .await;
}

#[tokio::test]
async fn the_mode_of_one_question_wins_over_the_agents() {
    run_test(async |world| {
        let set = world
            .ann
            .asks("/agent config name:lab key:mode value:full", "#lab")
            .await;
        assert!(set.contains("is now"), "{set}");
        assert_eq!(world.agent_json("lab")["mode"], "full");
        let status = world.ann.asks("/status", "#lab").await;
        assert!(status.contains("Mode: full"), "{status}");
        for (mode, count) in [("lightweight", 3), ("direct", 0)] {
            let answer = format!("I looked in {mode}.");
            world.model.answers(&answer);
            world
                .ann
                .runs(&format!("/ask prompt:look mode:{mode}"), "#lab")
                .await;
            world.sees("#lab", &answer).await;
            assert_eq!(tools(&world.model.last_request()).len(), count, "{mode}");
        }
        world.exchange("and now?", "With all tools.").await;
        assert!(tools(&world.model.last_request()).len() > 20);
        let wrong = world
            .ann
            .asks("/agent config name:lab key:mode value:turbo", "#lab")
            .await;
        assert!(
            wrong.contains("`direct`, `lightweight`, `standard` or `full`"),
            "{wrong}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_server_names_its_own_models_for_modes() {
    run_test_with(tiers(), async |world| {
        let set = world
            .ann
            .asks(
                &format!("/settings tier tier:lightweight model:{MODEL}"),
                "#lab",
            )
            .await;
        assert!(
            set.contains("Tier lightweight") && set.contains(MODEL),
            "{set}"
        );
        let light = asked_in(world, "lightweight").await;
        assert_eq!(light["model"], MODEL);
        let none = world
            .ann
            .asks("/settings tier tier:full model:no-such-one", "#lab")
            .await;
        assert!(none.contains("no-such-one"), "{none}");
        let shown = world.ann.asks("/settings show", "#lab").await;
        assert!(
            shown.contains("Tier full") && shown.contains("large-one"),
            "{shown}"
        );
        world
            .ann
            .asks("/settings tier tier:lightweight model:default", "#lab")
            .await;
        let light = asked_in(world, "lightweight").await;
        assert_eq!(light["model"], "small-one");
    })
    .await;
}

/// A mode that does not offer a tool refuses it too, whatever the model calls.
#[tokio::test]
async fn what_a_mode_leaves_out_does_not_run() {
    run_test(async |world| {
        world.edits_agent_json("lab", json!({"mode": "lightweight", "permissions": "open"}));
        let touches = json!({"command": "touch made.txt"});
        world.model.calls(&[
            ("bash", touches.clone()),
            ("call_tool", json!({"name": "git_init"})),
            ("view", json!({"path": "."})),
        ]);
        world.exchange("do it", "I could only look.").await;
        let results = world.model.last_request()["messages"].to_string();
        assert!(results.contains("mode lightweight, which has only view, grep, glob"), "{results}");
        let audit = "SELECT action_string || ': ' || decision FROM audit_log WHERE action_string LIKE 'tool:%' ORDER BY action_string";
        assert_snapshot!(world.ledger(audit).await.join("\n"), @"
        tool:bash:touch made.txt: deny
        tool:git:init: deny
        tool:view:.: allow
        ");

        // One step: what a model calls without tools leads to no second request.
        world.edits_agent_json("lab", json!({"mode": "direct"}));
        let before = world.model.requests().len();
        let stream = world.model.streams_and_calls("I just say so.", "bash", touches);
        stream.ends();
        world.ann.says("#lab", "again").await;
        world.sees("#lab", "I just say so.").await;
        world.ledger_says("SELECT count(*) || '' FROM turns WHERE state = 'finished'", &["2"]).await;
        assert_eq!(world.model.requests().len(), before + 1);
        assert!(!world.workspace("lab").join("made.txt").exists());
    })
    .await;
}

/// Without summaries what does not fit is left out of the request, and stays in the conversation.
#[tokio::test]
async fn a_mode_without_summaries_leaves_out_what_does_not_fit() {
    let setup = Setup {
        config: json!({"models": {MODEL: {"window": 16_000, "max_output": 4_000}}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.edits_agent_json("lab", json!({"mode": "direct"}));
        world.model.has_window(16_000);
        let text = "we talk on and on\n".repeat(1_000);
        for number in 1..=4 {
            let answer = format!("Answer {number}.");
            world.model.answers(&answer);
            world
                .ann
                .uploads(
                    "#lab",
                    &format!("Question {number}"),
                    &[("a.txt", text.as_bytes())],
                )
                .await;
            world.sees("#lab", &answer).await;
        }
        let last = world.model.last_request()["messages"].to_string();
        assert!(
            last.contains("Question 4") && !last.contains("Question 1"),
            "{}",
            last.len()
        );
        let kinds = "SELECT DISTINCT kind FROM attempts";
        assert_eq!(world.ledger(kinds).await, ["model"]);
        let kept = "SELECT count(*) || '' FROM items";
        assert_eq!(world.ledger(kept).await, ["8"]);
        assert!(!world.transcript("#lab").contains("The context was full"));
    })
    .await;
}

#[tokio::test]
async fn agent_json_overrides_the_mode_of_a_charter() {
    run_test(async |world| {
        let charter = "---\nname: looker\ndescription: Looks.\nmode: lightweight\n---\nYou look.\n";
        fs::write(world.home().join("agents/lab/charter.md"), charter).unwrap();
        world.exchange("one", "By my charter.").await;
        assert_eq!(tools(&world.model.last_request()).len(), 3);
        world.edits_agent_json("lab", json!({"mode": "standard"}));
        world.exchange("two", "By my configuration.").await;
        assert!(tools(&world.model.last_request()).len() > 20);
    })
    .await;
}
