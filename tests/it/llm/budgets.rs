//! Budgets as people meet them: a runaway ends, and the channel is told why.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::turns::{LAST_WORDS, had_one_last_step};
use crate::world::model::MODEL;
use crate::world::{Setup, World, run_test_with};

/// A token of output costs a tenth of a cent, input nothing, and no answer is longer than 100 tokens: ten cents at most.
fn with_budgets(budgets: Value) -> Setup {
    let config = json!({
        "budgets": budgets,
        "models": {MODEL: {"input_price": 0, "output_price": 1000, "max_output": 100}},
    });
    Setup {
        config,
        ..Setup::default()
    }
}

/// The same prices, and answers of up to 10,000 tokens: ten dollars at most.
fn with_long_answers(budgets: Value) -> Setup {
    let mut setup = with_budgets(budgets);
    setup.config["models"][MODEL]["max_output"] = json!(10_000);
    setup
}

/// A call that was never made before: nobody goes in circles here.
pub(super) fn further(request: &Value, output_tokens: u64) -> Reply {
    let number = request["messages"].as_array().unwrap().len();
    let block = Block::Call(
        format!("toolu_{number}"),
        "glob".to_owned(),
        json!({"pattern": format!("*{number}")}),
    );
    Reply {
        output_tokens,
        ..Reply::new(vec![block])
    }
}

fn says(text: &str, output_tokens: u64) -> Reply {
    Reply {
        output_tokens,
        ..Reply::new(vec![Block::Text(text.to_owned())])
    }
}

/// Has the model call tools for as long as it has any, then say [`LAST_WORDS`].
pub(super) async fn goes_on_until_its_last_step(world: &World) {
    world.model.follows(|request| match request.get("tools") {
        Some(_) => further(request, 80),
        None => says(LAST_WORDS, 80),
    });
    world.ann.says("#lab", "never stop").await;
}

/// Asks until the budget is used; every answer costs eight cents.
async fn asks_until_told(world: &mut World, what: &str) -> usize {
    world.model.follows(|_| says("Eight cents.", 80));
    let told = format!("the budget of this {what} is $0.50");
    for number in 1.. {
        world.ann.says("#lab", &format!("question {number}")).await;
        let shown = world
            .shows("#lab", |shown| {
                shown.contains(&told) || shown.matches("Eight cents.").count() == number
            })
            .await;
        if shown.contains(&told) {
            break;
        }
        assert!(number < 10, "nothing stops it\n{shown}");
    }
    world.model.requests().len()
}

#[tokio::test]
async fn a_runaway_turn_stops_before_it_can_go_past_its_budget() {
    run_test_with(with_budgets(json!({"turn": 0.5})), async |world| {
        world.model.follows(|request| further(request, 80));
        world.ann.says("#lab", "never stop").await;
        let told = world.sees("#lab", "the budget of this turn is $0.50").await;
        assert!(told.contains("The budget is used up."), "{told}");
        // Six times eight cents; a seventh could have cost ten.
        assert_eq!(world.model.requests().len(), 6);
        // The next turn has a budget of its own.
        world.exchange("hello?", "Here again.").await;
    })
    .await;
}

/// A budget below the price of the longest answer is no reason to say nothing.
#[tokio::test]
async fn a_small_budget_makes_answers_short() {
    run_test_with(with_long_answers(json!({"turn": 2})), async |world| {
        world.model.replies(says("In short.", 80));
        world.ann.says("#lab", "hello").await;
        world.sees("#lab", "In short.").await;
        assert_eq!(world.model.last_request()["max_tokens"], 2_000);
    })
    .await;
}

/// Where the budget leaves too little to work with, what is left is for saying how far it came.
#[tokio::test]
async fn the_end_of_a_budget_is_for_the_last_words() {
    run_test_with(with_long_answers(json!({"turn": 1.5})), async |world| {
        goes_on_until_its_last_step(world).await;
        // Six times eight cents, then fewer than 1,024 tokens can be paid.
        had_one_last_step(world, 7, "the budget was reached").await;
        assert_eq!(world.model.last_request()["max_tokens"], 1_020);
        let spent = world
            .ledger("SELECT printf('%.2f', total(cost_usd)) FROM attempts")
            .await;
        assert_eq!(spent, ["0.56"]);
    })
    .await;
}

/// What is asked beside turns is in the books, and over the budget it is not asked.
#[tokio::test]
async fn hooks_made_of_plain_words_are_paid_and_held_to_the_budget() {
    run_test_with(with_budgets(json!({"agent_day": 0.5})), async |world| {
        let task = json!({"command": "true", "instructions": "tell us when it is done"});
        world.model.follows(move |request| {
            let asks_for_hooks = request["system"].to_string().contains("You turn instructions");
            match (asks_for_hooks, request["messages"].as_array().unwrap().len()) {
                (true, _) => says("[]", 80),
                (false, 1) => Reply {
                    output_tokens: 80,
                    ..Reply::new(vec![Block::Call(
                        "toolu_task".to_owned(),
                        "run_background".to_owned(),
                        task.clone(),
                    )])
                },
                (false, _) => says("It runs.", 80),
            }
        });
        world.ann.says("#lab", "run it").await;
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "It runs.").await;
        let rows = "SELECT kind || ' ' || outcome || ' ' || printf('%.2f', cost_usd) FROM attempts WHERE provider <> '' ORDER BY id LIMIT 3";
        assert_eq!(world.ledger(rows).await, ["model ok 0.08", "hooks ok 0.08", "model ok 0.08"]);
    })
    .await;
}

/// A provider that bills more than an answer may have is believed, and asked no more.
#[tokio::test]
async fn a_bill_over_the_worst_case_is_the_last() {
    run_test_with(with_budgets(json!({"turn": 0.5})), async |world| {
        world.model.follows(|request| further(request, 5_000));
        world.ann.says("#lab", "never stop").await;
        world
            .sees("#lab", "the budget of this turn is $0.50; $5.00 is spent")
            .await;
        assert_eq!(world.model.requests().len(), 1);
    })
    .await;
}

/// Nobody set a limit: the default holds, and the channel is told that it is one.
#[tokio::test]
async fn a_day_has_a_budget_by_default() {
    run_test_with(with_long_answers(json!({})), async |world| {
        let status = world.ann.asks("/status", "#lab").await;
        assert!(
            status.contains(
                "$20.00 left of today's budget (by default $20.00 a day, `budgets.agent_day`)"
            ),
            "{status}"
        );
        world.model.follows(|_| says("Eight dollars.", 8_000));
        for number in 1..=2 {
            world.ann.says("#lab", &format!("question {number}")).await;
            world
                .shows("#lab", |shown| {
                    shown.matches("Eight dollars.").count() == number
                })
                .await;
        }
        world.model.follows(|_| says("Four dollars.", 4_000));
        world.ann.says("#lab", "question 3").await;
        world.sees("#lab", "Four dollars.").await;
        world.ann.says("#lab", "question 4").await;
        let told = world
            .sees(
                "#lab",
                "the budget of this day (the default of `budgets.agent_day`) is $20.00",
            )
            .await;
        assert!(told.contains("`budget_day`"), "{told}");
        // Zero means no limit.
        world.edits_agent_json("lab", json!({"budget_day": 0}));
        world.exchange("question 5", "Without a limit.").await;
    })
    .await;
}

/// The same in tokens, for models whose price nobody knows.
#[tokio::test]
async fn a_day_has_a_budget_of_tokens_where_no_price_is_known() {
    let mut setup = Setup::with_small_model();
    setup.config["default_model"] = json!("anthropic/small-one");
    run_test_with(setup, async |world| {
        world.exchange("one", "First.").await;
        world
            .changes_ledger(
                "UPDATE attempts SET cost_usd = NULL, output = 19999000 WHERE kind = 'model'",
            )
            .await;
        world.restarts().await;
        world.ann.says("#lab", "two").await;
        world
            .sees("#lab", "is 20000000 tokens of models without a known price")
            .await;
    })
    .await;
}

#[tokio::test]
async fn an_agents_day_ends_with_its_budget_even_after_a_restart() {
    run_test_with(with_budgets(json!({"agent_day": 0.5})), async |world| {
        let asked = asks_until_told(world, "day").await;
        assert_eq!(asked, 6);
        world.restarts().await;
        world.ann.says("#lab", "and now?").await;
        world
            .shows("#lab", |shown| {
                shown.matches("the budget of this day is").count() == 2
            })
            .await;
        assert_eq!(world.model.requests().len(), asked, "not asked again");
    })
    .await;
}

#[tokio::test]
async fn a_servers_month_holds_for_all_its_agents() {
    run_test_with(with_budgets(json!({"month": 0.5})), async |world| {
        let asked = asks_until_told(world, "month").await;
        assert_eq!(asked, 6);
        world.makes_agent("other").await;
        world.ann.says("#other", "and you?").await;
        world.sees("#other", "the budget of this month is").await;
        assert_eq!(world.model.requests().len(), asked);
    })
    .await;
}

/// For models without a price: tokens, and a last step, because it costs no money to know what was done.
#[tokio::test]
async fn a_turn_out_of_tokens_gets_one_last_step() {
    let setup = Setup {
        config: json!({"budgets": {"turn_tokens": 500}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        goes_on_until_its_last_step(world).await;
        // A hundred and eighty tokens a request: three, then the last.
        had_one_last_step(world, 4, "the budget was reached (500 tokens)").await;
    })
    .await;
}
