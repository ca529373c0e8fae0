//! A long output is read by a small model: `tool_output` with `ask`.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::{assignment, results, run_test, run_test_with};
use crate::world::model::MODEL;
use crate::world::{Setup, World};

const HANDLE: &str = "out_0000abcd";

/// Puts an output of so many lines of 50 bytes among those that are kept.
fn keeps_output(world: &World, lines: usize) {
    keeps_output_of("lab", world, lines);
}

fn keeps_output_of(agent: &str, world: &World, lines: usize) {
    let folder = world.home().join(format!("agents/{agent}/outputs"));
    std::fs::create_dir_all(&folder).unwrap();
    let lines: Vec<String> = (1..=lines)
        .map(|line| format!("{:<49}\n", format!("line {line} of the build")))
        .collect();
    std::fs::write(folder.join(format!("{HANDLE}.txt")), lines.concat()).unwrap();
}

fn calls(tool: &str, arguments: Value) -> Block {
    Block::Call(format!("toolu_{tool}"), tool.to_owned(), arguments)
}

fn asks(world: &World, question: &str) {
    let arguments = json!({"handle": HANDLE, "ask": question});
    world.model.calls_tool("tool_output", arguments);
}

/// What a model with a small window can be given at once.
fn small_window() -> Setup {
    Setup {
        config: json!({"models": {MODEL: {"window": 16_000, "max_output": 4_000}}}),
        ..Setup::default()
    }
}

/// What the model is told when it asks; its answer to that is `then`.
async fn is_told(world: &World, then: &str) -> String {
    world.model.answers(then);
    world.ann.says("#lab", "what does it say?").await;
    world.sees("#lab", then).await;
    results(world).pop().unwrap()
}

/// Requests without tools that hold the question.
fn readings(world: &World, question: &str) -> Vec<Value> {
    let asked = |request: &Value| {
        request.get("tools").is_none() && request["messages"].to_string().contains(question)
    };
    let requests = world.model.requests();
    requests.into_iter().filter(asked).collect()
}

#[tokio::test]
async fn the_model_of_the_small_tier_answers_and_the_turn_pays() {
    let setup = Setup {
        config: json!({
            "providers": {"anthropic": {"format": "anthropic", "api_key_env": "ANTHROPIC_API_KEY", "models": ["small-one"]}},
            "tiers": {"lightweight": "anthropic/small-one"},
            "models": {MODEL: {"input_price": 0, "output_price": 0}, "small-one": {"input_price": 0, "output_price": 1000}},
        }),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        keeps_output(world, 2_000);
        asks(world, "Which line fails?");
        world.model.answers("Line 7 fails.");
        assert_eq!(is_told(world, "So it is.").await, "Line 7 fails.");
        let asked = readings(world, "Which line fails?");
        let [asked] = asked.as_slice() else {
            panic!("{asked:?}");
        };
        assert_eq!(asked["model"], "small-one");
        let told = asked.to_string();
        assert!(told.contains("line 1 of the build") && told.contains("line 2000 of the build"));
        let rows = "SELECT a.kind || ' ' || (a.run_id = t.id) || ' ' || (a.cost_usd > 0) || ' ' || (t.cost_usd = a.cost_usd)
            FROM attempts a JOIN turns t ON t.id = a.turn_id WHERE a.kind = 'reading'";
        world.ledger_says(rows, &["reading 1 1 1"]).await;
    })
    .await;
}

#[tokio::test]
async fn a_long_output_is_read_in_parts_and_no_more_than_eight() {
    run_test_with(small_window(), async |world| {
        keeps_output(world, 1_000);
        asks(world, "What fails?");
        for part in ["Nothing here.", "Line 500.", "Nothing more."] {
            world.model.answers(part);
        }
        let told = is_told(world, "So it is.").await;
        assert_eq!(
            told,
            "[part 1 of 3]\nNothing here.\n\n[part 2 of 3]\nLine 500.\n\n[part 3 of 3]\nNothing more."
        );
        // Each line is told once, and whole.
        let asked = readings(world, "What fails?");
        let pages: String = asked.iter().map(|one| one["messages"].to_string()).collect();
        assert_eq!(pages.matches(" of the build").count(), 1_000);

        keeps_output(world, 100_000);
        asks(world, "And now?");
        for _ in 0..8 {
            world.model.answers("Nothing here.");
        }
        let told = is_told(world, "So much of it.").await;
        assert_eq!(readings(world, "And now?").len(), 8);
        let (_, end) = told.rsplit_once("\n\n").unwrap();
        assert!(
            end.starts_with("[only 8 of ") && end.ends_with("look through the rest with `grep`]"),
            "{told}"
        );
    })
    .await;
}

#[tokio::test]
async fn without_an_answer_both_ends_are_told_and_why() {
    run_test(async |world| {
        keeps_output(world, 2_000);
        asks(world, "Which line fails?");
        let body = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "not today"}});
        world.model.fails_with(400, body);
        let told = is_told(world, "So it is.").await;
        assert!(told.starts_with("There is no answer ("), "{told}");
        assert!(told.contains("not today"), "{told}");
        assert!(told.contains("line 1 of the build") && told.contains("line 2000 of the build"));
        assert!(told.len() < 5_000, "{told}");
        asks(world, "  ");
        let told = is_told(world, "Nor is it that.").await;
        assert_eq!(told, "`ask` takes a question of 1 to 4000 characters, not 2");
    })
    .await;
}

#[tokio::test]
async fn a_budget_that_is_used_up_pays_for_no_reading() {
    let setup = Setup {
        // A token of an answer costs a tenth of a cent, and no answer is longer than 300 tokens.
        config: json!({"models": {MODEL: {"input_price": 0, "output_price": 1000, "max_output": 300}}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.edits_agent_json("lab", json!({"budget_turn": 0.35}));
        keeps_output(world, 100);
        // The answer that calls takes most of it.
        let call = json!({"handle": HANDLE, "ask": "What fails?"});
        let block = Block::Call("toolu_1".to_owned(), "tool_output".to_owned(), call);
        world.model.replies(Reply {
            output_tokens: 200,
            ..Reply::new(vec![block])
        });
        world.ann.says("#lab", "read it").await;
        world.sees("#lab", "The budget is used up.").await;
        assert_eq!(readings(world, "What fails?").len(), 0);
        let told = world.ledger("SELECT body FROM items").await.join("");
        assert!(told.contains("the budget of this turn is $0.35"), "{told}");
        let spent = world
            .ledger("SELECT (total(cost_usd) <= 0.35) || '' FROM attempts")
            .await;
        assert_eq!(spent, ["1"]);
    })
    .await;
}

#[tokio::test]
async fn a_sub_agent_reads_at_the_cost_of_its_run_and_role() {
    run_test(async |world| {
        keeps_output(world, 100);
        world.model.calls(&[assignment("general", "Read it.")]);
        asks(world, "What fails?");
        world.model.answers("Line 3.").answers("It is line 3.");
        is_told(world, "So it is.").await;
        let rows = "SELECT a.role || ' ' || (a.run_id = t.run_id) || ' ' || (a.turn_id <> a.run_id)
            FROM attempts a JOIN turns t ON t.id = a.turn_id WHERE a.kind = 'reading'";
        world.ledger_says(rows, &["general 1 1"]).await;
        let sums = "SELECT (sum(t.output) = (SELECT sum(output) FROM attempts WHERE kind <> 'tool')) || '' FROM turns t";
        world.ledger_says(sums, &["1"]).await;
    })
    .await;
}

#[tokio::test]
async fn an_agent_that_was_called_reads_within_the_budget_of_who_called_it() {
    let setup = Setup {
        // As above: a request may cost 30 cents.
        config: json!({"models": {MODEL: {"input_price": 0, "output_price": 1000, "max_output": 300}}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.makes_agent("docs").await;
        world.edits_agent_json("lab", json!({"budget_day": 0.60}));
        keeps_output_of("docs", world, 100);
        world.model.replies(Reply {
            output_tokens: 10,
            ..Reply::new(vec![calls("sub_agent", assignment("@docs", "Read it.").1)])
        });
        let call = json!({"handle": HANDLE, "ask": "What fails?"});
        world.model.replies(Reply {
            output_tokens: 200,
            ..Reply::new(vec![calls("tool_output", call)])
        });
        world.model.answers("It could not be read.");
        world.ann.says("#lab", "what does docs say?").await;
        world.sees("#lab", "It could not be read.").await;
        assert_eq!(readings(world, "What fails?").len(), 0);
        let told = world.ledger("SELECT body FROM items").await.join("");
        assert!(told.contains("the budget of this day is $0.60"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn an_abort_ends_a_reading() {
    run_test(async |world| {
        keeps_output(world, 100);
        asks(world, "What fails?");
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "read it").await;
        world.model.was_asked(2).await;
        world.ann.runs("/abort", "#lab").await;
        world.sees("#lab", "Nothing more will run").await;
        drop(thought);
        let rows = "SELECT count(*) || '' FROM attempts WHERE kind = 'reading'";
        world.ledger_says(rows, &["1"]).await;
    })
    .await;
}
