//! How a turn goes and ends: its limits, its circles, its stops, and what people say meanwhile.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::budgets::{further, goes_on_until_its_last_step};
use super::wire::{Format, Wire, answer};
use crate::world::{Setup, World, run_test, run_test_with};

fn with(config: Value) -> Setup {
    Setup {
        config,
        ..Setup::default()
    }
}

/// Agents that need no leave.
fn open() -> Setup {
    with(json!({"default_permissions": "open"}))
}

/// Calls that go on until a file is there.
const UNTIL_TOLD: &str = "until [ -e go ]; do sleep 0.05; done";

/// A turn whose command runs until it is stopped.
async fn runs_on(world: &World) {
    let call = json!({"command": UNTIL_TOLD, "timeout": 100});
    world.model.calls_tool("bash", call);
    world.ann.says("#lab", "wait").await;
    world.sees("#lab", "Running bash").await;
}

/// What the model says in its last step.
pub(super) const LAST_WORDS: &str = "This is how far I came.";

/// The last request had no tools, its answer was shown, and so was why.
pub(super) async fn had_one_last_step(world: &World, requests: usize, why: &str) {
    world.sees("#lab", LAST_WORDS).await;
    world.sees("#lab", &format!("Stopped early: {why}")).await;
    assert_eq!(world.model.requests().len(), requests);
    assert_eq!(world.model.last_request().get("tools"), None);
}

/// How the turns so far ended.
async fn exits(world: &World) -> Vec<String> {
    world
        .ledger("SELECT exit FROM turns WHERE exit IS NOT NULL ORDER BY rowid")
        .await
}

fn results_of(request: &Value) -> Vec<(String, bool)> {
    let messages = request["messages"].as_array().unwrap();
    let blocks = messages.last().unwrap()["content"].as_array().unwrap();
    let results = blocks.iter().filter(|block| block["type"] == "tool_result");
    results
        .map(|block| (block["content"].to_string(), block["is_error"] == true))
        .collect()
}

#[tokio::test]
async fn after_its_steps_a_turn_has_one_last() {
    run_test_with(
        with(json!({"max_tool_loop_iterations": 3})),
        async |world| {
            goes_on_until_its_last_step(world).await;
            had_one_last_step(world, 4, "the step limit was reached (3 steps)").await;
            assert_eq!(exits(world).await, ["step_limit"]);
        },
    )
    .await;
}

#[tokio::test]
async fn five_errors_in_a_row_are_enough() {
    run_test(async |world| {
        for name in ["a", "b", "c", "d", "e"] {
            world.model.calls_tool("view", json!({"path": name}));
        }
        world.model.answers(LAST_WORDS);
        world.ann.says("#lab", "look").await;
        had_one_last_step(world, 6, "five tool calls in a row failed").await;
        assert_eq!(exits(world).await, ["errors"]);
    })
    .await;
}

#[tokio::test]
async fn two_calls_that_alternate_are_a_circle() {
    run_test(async |world| {
        for _ in 0..3 {
            world.model.calls_tool("glob", json!({"pattern": "*.ping"}));
            world.model.calls_tool("glob", json!({"pattern": "*.pong"}));
        }
        world.model.answers(LAST_WORDS);
        world.ann.says("#lab", "look").await;
        had_one_last_step(world, 7, "the agent kept repeating the same calls").await;
        assert_eq!(exits(world).await, ["loop"]);
    })
    .await;
}

#[tokio::test]
async fn calls_over_the_limit_of_a_step_are_refused_in_their_place() {
    run_test(async |world| {
        let patterns: Vec<Value> = (0..12)
            .map(|n| json!({"pattern": format!("*{n}")}))
            .collect();
        let calls: Vec<(&str, Value)> = patterns.into_iter().map(|args| ("glob", args)).collect();
        world.model.calls(&calls).answers("Looked.");
        world.ann.says("#lab", "look").await;
        world.sees("#lab", "Looked.").await;
        let results = results_of(&world.model.last_request());
        let refused = |result: &(String, bool)| result.0.contains("over the limit of 10 calls");
        let refusals: Vec<bool> = results.iter().map(refused).collect();
        let expected: Vec<bool> = (0..12).map(|n| n >= 10).collect();
        assert_eq!(refusals, expected, "{results:?}");
    })
    .await;
}

/// Each waits for what the other does: one after the other they would never end.
#[tokio::test]
async fn calls_of_one_answer_run_side_by_side() {
    run_test_with(open(), async |world| {
        let waits = |own: &str, other: &str| {
            let command = format!(
                "touch {own}; until [ -e {other} ]; do sleep 0.05; done; echo {own} saw {other}"
            );
            ("bash", json!({"command": command, "timeout": 60}))
        };
        world
            .model
            .calls(&[waits("left", "right"), waits("right", "left")]);
        world.exchange("do both", "Both.").await;
        let results = results_of(&world.model.last_request());
        assert!(results[0].0.contains("left saw right"), "{results:?}");
        assert!(results[1].0.contains("right saw left"), "{results:?}");
    })
    .await;
}

#[tokio::test]
async fn calls_that_write_one_file_run_in_their_order() {
    run_test_with(open(), async |world| {
        world.model.calls(&[
            ("create_file", json!({"path": "a.txt", "content": "one\n"})),
            ("append_file", json!({"path": "a.txt", "content": "two\n"})),
            (
                "append_file",
                json!({"path": "a.txt", "content": "three\n"}),
            ),
        ]);
        world.exchange("write", "Written.").await;
        let written = std::fs::read_to_string(world.workspace("lab").join("a.txt")).unwrap();
        assert_eq!(written, "one\ntwo\nthree\n");
    })
    .await;
}

/// A message during a turn is handed over at its next step; there is one turn and one answer.
#[tokio::test]
async fn what_is_said_during_a_turn_is_heard_in_it() {
    run_test_with(
        with(json!({"max_tool_loop_iterations": 1000})),
        async |world| {
            world.model.follows(|request| {
                if request.to_string().contains("and be brief") {
                    Reply::new(vec![Block::Text("In brief: done.".to_owned())])
                } else {
                    further(request, 80)
                }
            });
            world.ann.says("#lab", "tell me all").await;
            world.model.was_asked(2).await;
            world.bob.says("#lab", "and be brief").await;
            world.sees("#lab", "In brief: done.").await;
            assert_eq!(exits(world).await, ["answered"]);
            let said = world.model.last_request()["messages"].to_string();
            assert!(said.contains("bob: and be brief"), "{said}");
            assert_eq!(world.transcript("#lab").matches("In brief").count(), 1);
        },
    )
    .await;
}

#[tokio::test]
async fn a_stop_ends_what_runs_and_leaves_one_last_step() {
    run_test_with(open(), async |world| {
        runs_on(world).await;
        world.model.answers(LAST_WORDS);
        world.ann.runs("/stop", "#lab").await;
        had_one_last_step(world, 2, "it was stopped").await;
        let told = world.model.last_request().to_string();
        assert!(told.contains("stopped after"), "{told}");
        assert_eq!(exits(world).await, ["stopped"]);
    })
    .await;
}

#[tokio::test]
async fn an_abort_ends_all_at_once_and_the_next_message_goes_on() {
    run_test_with(open(), async |world| {
        runs_on(world).await;
        world.ann.runs("/abort", "#lab").await;
        world
            .sees("#lab", "Stopped at step 1. Nothing more will run")
            .await;
        assert_eq!(world.model.requests().len(), 1);
        world.exchange("hello?", "Here again.").await;
        assert_eq!(exits(world).await, ["aborted", "answered"]);
    })
    .await;
}

#[tokio::test]
async fn an_empty_answer_is_asked_for_once_more() {
    let nothing = || Reply::new(Vec::new());
    run_test(async |world| {
        world.model.replies(nothing());
        world.exchange("speak", "Now I speak.").await;
        let told = world.model.last_request().to_string();
        assert!(told.contains("Your answer was empty."), "{told}");
        world.model.replies(nothing());
        world.model.replies(Reply {
            stop_reason: Some("max_tokens"),
            ..nothing()
        });
        world.ann.says("#lab", "again").await;
        let told = world.sees("#lab", "the model sent two empty answers").await;
        assert!(told.contains("Steps done: 2"), "{told}");
        assert_eq!(exits(world).await, ["answered", "failed"]);
    })
    .await;
}

/// The agent `other` asks `model` next where its own does not answer.
async fn falls_back(world: &World, model: &str) {
    let command = format!("/agent config name:other key:fallback_models value:{model}");
    let set = world.ann.asks(&command, "#general").await;
    assert!(set.contains("is now"), "{set}");
}

/// A model whose key is refused is asked once a turn; the next one answers, and the operator is told once.
#[tokio::test]
async fn a_refused_key_is_told_to_the_operator_once() {
    let refusal = answer(401, "", r#"{"error":{"message":"no such key"}}"#);
    let wire = Wire::start_with_models(vec![refusal], &["m"]).await;
    let provider = json!({"base_url": wire.base_url(), "format": "openai", "models": ["m"]});
    let setup = with(json!({"providers": {"p": provider}}));
    run_test_with(setup, async |world| {
        world
            .ann
            .runs("/agent init name:other model:p/m", "#general")
            .await;
        world
            .waits("#other", |world| world.discord.channel("#other"))
            .await;
        world.sees("#other", "is ready").await;
        falls_back(world, crate::world::model::MODEL).await;
        for number in 1..=2 {
            let call = json!({"pattern": format!("*{number}")});
            let words = format!("Answer {number}.");
            world.model.calls_tool("glob", call).answers(&words);
            world.ann.says("#other", "hello").await;
            world.sees("#other", &words).await;
        }
        // Once in each turn, not in each step.
        assert_eq!(wire.requests().len(), 2);
        let letters = world.ann.person.direct_messages();
        let told = || {
            let all = world.discord.messages(letters).into_iter();
            all.filter(|one| one.content.contains("p/m cannot be used"))
                .count()
        };
        world
            .waits("a letter to the operator", |_| (told() > 0).then_some(()))
            .await;
        assert_eq!(told(), 1);
        let rows = "SELECT outcome FROM attempts WHERE kind = 'model' ORDER BY id";
        let expected = ["auth_error", "ok", "ok", "auth_error", "ok", "ok"];
        assert_eq!(world.ledger(rows).await, expected);
    })
    .await;
}

/// `/context compact`: the older part becomes a summary, the whole is saved first, and a short one stays as it is.
#[tokio::test]
async fn a_conversation_is_compacted_by_hand() {
    let window = json!({crate::world::model::MODEL: {"window": 8_000, "max_output": 1_000}});
    run_test_with(with(json!({"models": window})), async |world| {
        let refused = world.ann.asks("/context compact", "#lab").await;
        assert!(refused.contains("There is nothing to compact"), "{refused}");
        for number in 1..=4 {
            let words = format!("Answer {number}. {}", "So it was. ".repeat(60));
            world.model.answers(&words);
            world.ann.says("#lab", &format!("question {number}")).await;
            world.sees("#lab", &format!("Answer {number}.")).await;
        }
        world.model.summarises("They asked four times.");
        let done = world.ann.asks("/context compact", "#lab").await;
        assert!(done.contains("older messages are now a summary"), "{done}");
        world.exchange("and?", "Of what?").await;
        let asked = world.model.last_request()["messages"].to_string();
        assert!(asked.contains("They asked four times."), "{asked}");
        assert!(!asked.contains("question 1"), "{asked}");
        let saved = "SELECT trigger || ' ' || message_count FROM sessions";
        assert_eq!(world.ledger(saved).await, ["compaction 8"]);
    })
    .await;
}

/// What one target began another goes on with, in its own format.
#[tokio::test]
async fn a_fall_back_may_speak_another_format() {
    for format in [Format::OpenAiChat, Format::OpenAiResponses, Format::Gemini] {
        let text = super::wire::events(&format.fixture("text"));
        let wire = Wire::start_with_models(vec![text], &["m"]).await;
        let mut setup = super::seen::asking(&wire, format);
        setup.config["default_model"] = json!("p/m");
        run_test_with(setup, async |world| {
            let model = crate::world::model::MODEL;
            world
                .ann
                .runs(&format!("/agent init name:other model:{model}"), "#general")
                .await;
            world
                .waits("#other", |world| world.discord.channel("#other"))
                .await;
            world.sees("#other", "is ready").await;
            falls_back(world, "p/m").await;
            // The call of the first model goes to the other one with its result.
            world.model.calls_tool("glob", json!({"pattern": "*"}));
            world.model.fails_with(500, json!({}));
            world.ann.says("#other", "hello").await;
            world.sees("#other", "Grüße, Welt").await;
            assert_eq!(wire.requests().len(), 1, "{format:?}");
        })
        .await;
    }
}
