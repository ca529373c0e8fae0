//! Roles that owe a report: what is asked for until it is there, what people and parents get of it, and what where it never is.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::{assignment, charter, results, run_test};
use crate::world::World;

const OWES_TICKET: &str = "---
name: lab
description: Answers with a ticket.
report:
  meta:
    ticket: {type: string, pattern: \"^[A-Z]+-[0-9]+$\"}
    severity: {enum: [low, high]}
---
You answer questions.
";

const OWES_DATA: &str = "---
name: NAME
description: Counts.
report:
  schema:
    type: object
    required: [files]
    properties: {files: {$ref: \"#/$defs/count\"}}
    $defs: {count: {type: integer, minimum: 0}}
---
You count.
";

/// Makes `text` the charter of the agent `lab`.
fn own_charter(world: &World, text: &str) {
    std::fs::write(world.home().join("agents/lab/charter.md"), text).unwrap();
}

fn report(arguments: Value) -> (&'static str, Value) {
    ("report", arguments)
}

/// Names of the tools of the latest request.
fn tools_of(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    let names = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap_or_default().to_owned());
    names.collect()
}

/// What the model was told last: the text of the last message.
fn told_last(request: &Value) -> String {
    request["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .to_string()
}

#[tokio::test]
async fn a_text_without_what_is_owed_besides_is_kept_and_shown_once() {
    run_test(async |world| {
        own_charter(world, OWES_TICKET);
        world.model.answers("The disk is full.");
        world.model.calls(&[report(json!({"meta": {"ticket": "ABC-12", "severity": "high"}}))]);
        world.ann.says("#lab", "what is wrong?").await;
        let seen = world.sees("#lab", "-# ticket: ABC-12 · severity: high").await;
        assert_eq!(seen.matches("The disk is full.").count(), 1, "{seen}");
        let requests = world.model.requests();
        assert!(tools_of(&requests[0]).contains(&"report".to_owned()));
        assert!(tools_of(&requests[0]).len() > 5);
        let asked = &requests[1];
        assert_eq!(tools_of(asked), ["report"], "{asked}");
        let schema = &asked["tools"][0]["input_schema"];
        assert_eq!(schema["required"], json!(["meta"]), "{schema}");
        assert!(schema["properties"]["text"].is_null(), "{schema}");
        let told = told_last(asked);
        assert!(told.contains("`meta.ticket` is missing; `meta.severity` is missing"), "{told}");
        assert!(told.contains("Text and data are kept"), "{told}");
        world
            .ledger_says(
                "SELECT exit || ' ' || json_extract(report, '$.source') || ' ' || json_extract(report, '$.meta.ticket') FROM turns",
                &["answered text ABC-12"],
            )
            .await;
        // The next turn's history has the answer, and nothing that a provider refuses.
        world.model.answers("Fine.");
        world.model.calls(&[report(json!({"meta": {"ticket": "ABC-13", "severity": "low"}}))]);
        world.ann.says("#lab", "and now?").await;
        world.sees("#lab", "ABC-13").await;
        let history = world.model.requests()[2]["messages"].to_string();
        assert!(history.contains("The disk is full."), "{history}");
    })
    .await;
}

#[tokio::test]
async fn a_complete_report_ends_the_turn_and_calls_beside_it_do_not_run() {
    run_test(async |world| {
        own_charter(world, OWES_TICKET);
        world.model.calls(&[
            report(json!({"text": "All is well.", "meta": {"ticket": "A-1", "severity": "low"}, "more": 1})),
            ("write_file", json!({"path": "x", "content": "y"})),
        ]);
        world.ann.says("#lab", "how is it?").await;
        let seen = world.sees("#lab", "-# ticket: A-1 · severity: low").await;
        assert!(!seen.contains("write_file"), "{seen}");
        assert!(!world.home().join("agents/lab/workspace/x").exists());
        world
            .ledger_says(
                "SELECT name || ' ' || state FROM calls ORDER BY position",
                &["report finished", "write_file refused"],
            )
            .await;
    })
    .await;
}

#[tokio::test]
async fn what_is_wrong_is_told_with_two_reasons_what_is_missing_first() {
    run_test(async |world| {
        let wide = OWES_TICKET.replace(
            "  meta:\n",
            "  schema: {type: object, required: [a, b], properties: {a: {type: integer}, c: {type: integer}}}\n  meta:\n",
        );
        own_charter(world, &wide);
        world.model.calls(&[report(json!({
            "text": "x", "data": {"c": "no"}, "meta": {"ticket": "abc", "severity": "low", "mood": "good"},
        }))]);
        world.model.calls(&[report(json!({"data": {"a": 1, "b": 2}, "meta": {"ticket": "A-1", "severity": "low"}}))]);
        world.ann.says("#lab", "go").await;
        // Without a text people read the data.
        let seen = world.sees("#lab", "\"a\": 1").await;
        assert!(seen.contains("```json"), "{seen}");
        let told = told_last(&world.model.requests()[1]);
        assert!(told.contains("`data.a` is missing; `data.b` is missing. Call"), "{told}");
        assert!(told.contains("Error: The report lacks what it owes"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn json_in_a_text_is_taken_where_it_holds() {
    run_test(async |world| {
        own_charter(world, &OWES_DATA.replace("NAME", "lab"));
        world.model.answers("I counted.\n```json\n{\"files\": 3}\n```");
        world.ann.says("#lab", "count").await;
        world.sees("#lab", "{\"files\": 3}").await;
        world
            .ledger_says(
                "SELECT json_extract(report, '$.source') || ' ' || json_extract(report, '$.data.files') FROM turns",
                &["fallback 3"],
            )
            .await;
        world.model.answers("{\"files\": -1}");
        world.model.calls(&[report(json!({"text": "None.", "data": "{\"files\": 0}"}))]);
        world.ann.says("#lab", "again").await;
        let seen = world.sees("#lab", "None.").await;
        assert!(!seen.contains("-1"), "{seen}");
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_never_holds_it_is_shown_as_one_that_lacks_it() {
    run_test(async |world| {
        own_charter(world, OWES_TICKET);
        for _ in 0..4 {
            world.model.answers("The disk is full.");
        }
        world.ann.says("#lab", "what is wrong?").await;
        let seen = world
            .sees("#lab", "**The answer lacks what it owes.**")
            .await;
        assert!(
            seen.contains("Missing: `meta.ticket`, `meta.severity`"),
            "{seen}"
        );
        assert_eq!(seen.matches("The disk is full.").count(), 1, "{seen}");
        assert_eq!(world.model.requests().len(), 4);
        let last = told_last(&world.model.requests()[3]);
        assert!(
            last.contains("This is your last step and tools but `report` are off"),
            "{last}"
        );
        world
            .ledger_says(
                "SELECT exit || ' ' || json_array_length(report, '$.missing') FROM turns",
                &["report 2"],
            )
            .await;
        // The conversation goes on.
        world.model.calls(&[report(
            json!({"text": "Fixed.", "meta": {"ticket": "A-2", "severity": "low"}}),
        )]);
        world.ann.says("#lab", "try again").await;
        world.sees("#lab", "ticket: A-2").await;
    })
    .await;
}

#[tokio::test]
async fn a_parent_gets_data_and_fields_or_an_error_with_what_lacks() {
    run_test(async |world| {
        let counter = OWES_DATA.replace("NAME", "counter");
        charter(world, "counter", &counter.replace("report:\n", "report:\n  meta: {by: {type: string}}\n"));
        world.model.calls(&[assignment("counter", "count")]);
        world.model.calls(&[report(json!({"text": "[meta] {\"by\": \"me\"}\nThree.", "data": {"files": 3}, "meta": {"by": "hand"}}))]);
        world.model.answers("It counted three.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "It counted three.").await;
        let got = results(world).pop().unwrap();
        let lines: Vec<&str> = got.lines().collect();
        assert!(lines[0].starts_with("[counter · ") && lines[0].contains(" · answered · "), "{got}");
        assert_eq!(lines[1..3], ["[data] {\"files\":3}", "[meta] {\"by\":\"hand\"}"], "{got}");
        assert!(lines[3].starts_with("<text id=") && lines[4..6] == ["[meta] {\"by\": \"me\"}", "Three."], "{got}");

        world.model.calls(&[assignment("counter", "count again")]);
        for _ in 0..4 {
            world.model.answers("Many.");
        }
        world.model.answers("It would not say.");
        world.ann.says("#lab", "again").await;
        world.sees("#lab", "It would not say.").await;
        let got = results(world).pop().unwrap();
        assert!(got.contains(" · report · "), "{got}");
        assert!(got.contains("Error: the answer lacks what it owes.\nMissing: `data`, `meta.by`\n\nMany."), "{got}");
        assert!(got.contains("Go on with `continue: \""), "{got}");
    })
    .await;
}

#[tokio::test]
async fn a_last_step_has_the_report_as_its_only_tool() {
    run_test(async |world| {
        let limited = OWES_TICKET.replace("report:\n", "max_steps: 1\nreport:\n");
        own_charter(world, &limited);
        world.model.calls(&[("view", json!({"path": "."}))]);
        world.model.calls(&[report(
            json!({"text": "As far as I came.", "meta": {"ticket": "A-3", "severity": "low"}}),
        )]);
        world.ann.says("#lab", "go").await;
        let seen = world.sees("#lab", "As far as I came.").await;
        assert!(
            seen.contains("-# ticket: A-3 · severity: low\n    -# Stopped early: the step limit"),
            "{seen}"
        );
        let last = world.model.last_request();
        assert_eq!(tools_of(&last), ["report"]);
    })
    .await;
}

#[tokio::test]
async fn a_direct_turn_owes_nothing_and_a_cut_call_is_not_taken() {
    run_test(async |world| {
        own_charter(world, OWES_TICKET);
        world.model.answers("Just so.");
        world.ann.runs("/ask prompt:hi mode:direct", "#lab").await;
        world.sees("#lab", "Just so.").await;
        assert!(tools_of(&world.model.last_request()).is_empty());
        world.model.replies(Reply {
            stop_reason: Some("max_tokens"),
            ..Reply::new(vec![Block::Call(
                "c1".to_owned(),
                "report".to_owned(),
                json!({"text": "half"}),
            )])
        });
        world.model.calls(&[report(
            json!({"text": "Whole.", "meta": {"ticket": "A-4", "severity": "low"}}),
        )]);
        world.ann.says("#lab", "again").await;
        let seen = world.sees("#lab", "Whole.").await;
        assert!(!seen.contains("half"), "{seen}");
    })
    .await;
}

#[tokio::test]
async fn hostile_fields_are_shown_as_plain_words() {
    run_test(async |world| {
        own_charter(
            world,
            &OWES_TICKET.replace(
                "{type: string, pattern: \"^[A-Z]+-[0-9]+$\"}",
                "{type: string}",
            ),
        );
        let hostile = format!("@everyone\n# <@1> \u{202E}{}", "x".repeat(5_000));
        world.model.calls(&[report(
            json!({"text": "Look.", "meta": {"ticket": hostile, "severity": "low"}}),
        )]);
        world.ann.says("#lab", "go").await;
        let seen = world.sees("#lab", "severity: low").await;
        let line = seen
            .lines()
            .find(|line| line.contains("ticket:"))
            .expect(&seen);
        assert!(
            line.chars().count() < 300 && !line.contains('\u{202E}') && !line.contains("<@1>"),
            "{line}"
        );
    })
    .await;
}
