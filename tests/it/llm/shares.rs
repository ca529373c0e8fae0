//! Budgets of persons, of turns that no person began, and what people do about budgets that are nearly used.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use crate::world::model::MODEL;
use crate::world::{Actor, Setup, World, run_test_with};

/// A token of output costs a tenth of a cent, input nothing, and no answer is longer than 100 tokens: ten cents at most.
fn with_budgets(budgets: Value) -> Setup {
    let config = json!({
        "default_permissions": "open",
        "budgets": budgets,
        "models": {MODEL: {"input_price": 0, "output_price": 1000, "max_output": 100}},
    });
    Setup {
        config,
        ..Setup::default()
    }
}

fn says(text: &str) -> Reply {
    Reply {
        output_tokens: 100,
        ..Reply::new(vec![Block::Text(text.to_owned())])
    }
}

/// Every answer costs ten cents.
fn answers_for_ten_cents(world: &World) {
    world.model.follows(|_| says("Ten cents."));
}

/// Asks once more, and waits for the answer with this number.
async fn asks(world: &World, who: &Actor, number: usize) {
    who.says("#lab", "and now?").await;
    let is_answered = |shown: &str| shown.matches("Ten cents.").count() == number;
    world.shows("#lab", is_answered).await;
}

#[tokio::test]
async fn a_share_that_is_used_up_is_one_sentence_and_no_request() {
    run_test_with(with_budgets(json!({"user_day": 0.1})), async |world| {
        let cleo = Actor::new(&world.discord, "cleo");
        answers_for_ten_cents(world);
        asks(world, &world.bob, 1).await;
        world.bob.says("#lab", "once more").await;
        let shown = world
            .sees(
                "#lab",
                "Your share of today is used: 0.10 of 0.10 USD. It renews",
            )
            .await;
        assert!(!shown.contains("budget"), "{shown}");
        assert_eq!(world.model.requests().len(), 1);
        let turns = world
            .ledger("SELECT CAST(count(*) AS TEXT) FROM turns")
            .await;
        assert_eq!(turns, ["1"]);
        // Another person has a share of their own, and those who manage the server have no limit.
        asks(world, &cleo, 2).await;
        asks(world, &world.ann, 3).await;
        asks(world, &world.ann, 4).await;
        let own = world.bob.asks("/usage user:@bob", "#lab").await;
        assert!(
            own.contains("Share of today: 0.10 of 0.10 USD used, 0.00 left."),
            "{own}"
        );
    })
    .await;
}

#[tokio::test]
async fn what_a_person_is_charged_is_what_usage_shows() {
    run_test_with(with_budgets(json!({})), async |world| {
        world.makes_agent("desk").await;
        answers_for_ten_cents(world);
        asks(world, &world.bob, 1).await;
        asks(world, &world.ann, 2).await;
        world.bob.says("#desk", "and here?").await;
        world.sees("#desk", "Ten cents.").await;
        let bob = world.bob.id();
        let charged =
            format!("SELECT printf('$%.3f', SUM(cost_usd)) FROM attempts WHERE user_id = {bob}");
        let charged = world.ledger(&charged).await.remove(0);
        for who in [&world.bob, &world.ann] {
            let shown = who.asks("/usage user:@bob", "#lab").await;
            assert!(shown.contains("Charged to @bob."), "{shown}");
            assert!(shown.contains(&charged), "{charged}: {shown}");
        }
        let refused = world.bob.asks("/usage user:@ann", "#lab").await;
        assert!(refused.contains("Manage Server"), "{refused}");
    })
    .await;
}

/// Has the model begin a task whose end begins a turn.
fn begins_a_task(world: &World) {
    world.model.follows(|request| {
        let messages = request["messages"].as_array().unwrap();
        let latest = messages.last().unwrap().to_string();
        if latest.contains("tool_result") {
            says("It runs.")
        } else if latest.contains("watch it") {
            Reply {
                output_tokens: 10,
                ..Reply::new(vec![Block::Call(
                    format!("toolu_{}", messages.len()),
                    "run_concurrent".to_owned(),
                    json!({"command": "echo looked"}),
                )])
            }
        } else {
            says("Answered.")
        }
    });
}

/// Notes that wait for the next turn of `#lab`.
const KEPT: &str = "SELECT CAST(count(*) AS TEXT) FROM kept_notes";

#[tokio::test]
async fn without_a_budget_no_unattended_turn_begins_and_people_are_served() {
    let setup = with_budgets(json!({"unattended_day": 0}));
    run_test_with(setup, async |world| {
        begins_a_task(world);
        for number in ["1", "2"] {
            world.bob.says("#lab", "watch it").await;
            world.ledger_says(KEPT, &["1"]).await;
            let shown = world.sees("#lab", "`budgets.unattended_day` is 0").await;
            assert_eq!(shown.matches("unattended_day").count(), 1, "{shown}");
            // The next turn of a person begins with what came.
            world
                .ann
                .says("#lab", &format!("what of it? {number}"))
                .await;
            world.ledger_says(KEPT, &["0"]).await;
            let told = |shown: &str| shown.contains("Answered.");
            world.shows("#lab", told).await;
        }
        let begun = "SELECT CAST(count(*) AS TEXT) FROM turns WHERE unattended = 1";
        assert_eq!(world.ledger(begun).await, ["0"]);
    })
    .await;
}

#[tokio::test]
async fn a_budget_that_is_nearly_used_is_told_once_and_can_be_raised_for_a_day() {
    run_test_with(with_budgets(json!({"agent_day": 1})), async |world| {
        answers_for_ten_cents(world);
        for number in 1..=10 {
            asks(world, &world.bob, number).await;
        }
        let notice = "0.80 of 1.00 USD of today are used.";
        let shown = world.sees("#lab", notice).await;
        assert_eq!(shown.matches("of today are used.").count(), 1, "{shown}");
        world.bob.says("#lab", "and now?").await;
        world.sees("#lab", "the budget of this day is $1.00").await;
        assert_eq!(world.model.requests().len(), 10);
        // Who asks cannot raise it.
        world.bob.clicks("#lab", "+1 USD today").await;
        let refused = world.bob.next_private().await;
        assert!(refused.content.contains("Manage Server"), "{}", refused.content);
        world.ann.clicks("#lab", "+1 USD today").await;
        world
            .sees("#lab", "added 1 USD to the budget of today, until")
            .await;
        asks(world, &world.bob, 11).await;
        let audited = "SELECT action_string || ' ' || outcome FROM audit_log WHERE action_string LIKE '%budget%'";
        let audited = world.ledger(audited).await;
        assert_eq!(audited, ["command:raise_budget:agent_day applied"]);
        // On the next day the limit is the old one.
        world.stops().await;
        world
            .changes_ledger("UPDATE budget_days SET day = date(day, '-1 day')")
            .await;
        world.starts().await;
        world.bob.says("#lab", "and today?").await;
        world
            .shows("#lab", |shown| {
                shown.matches("the budget of this day is $1.00").count() == 2
            })
            .await;
        // The stop has the conversation summed up, without tools.
        let mut of_turns = world.model.requests();
        of_turns.retain(|request| request.get("tools").is_some());
        assert_eq!(of_turns.len(), 11);
        // Ten presses count.
        for _ in 0..10 {
            world.ann.clicks("#lab", "+5 USD today").await;
        }
        world.sees("#lab", "(50.00 USD in all)").await;
        world.ann.clicks("#lab", "+1 USD today").await;
        let refused = world.ann.next_private().await;
        assert!(refused.content.contains("10 times"), "{}", refused.content);
    })
    .await;
}

#[tokio::test]
async fn an_unattended_budget_that_is_used_up_is_one_line_and_its_button_begins_the_next() {
    let setup = with_budgets(json!({"unattended_day": 0.1}));
    run_test_with(setup, async |world| {
        begins_a_task(world);
        world.bob.says("#lab", "watch it").await;
        let by_cause =
            "SELECT CAST(count(*) AS TEXT) FROM turns WHERE unattended = 1 AND state = 'finished'";
        world.ledger_says(by_cause, &["1"]).await;
        world.bob.says("#lab", "watch it").await;
        world
            .sees(
                "#lab",
                "for turns that no person began is used up: 0.10 of 0.10 USD",
            )
            .await;
        world.ledger_says(KEPT, &["1"]).await;
        world.ann.clicks("#lab", "+1 USD today").await;
        world
            .sees("#lab", "for turns that no person began, until")
            .await;
        world.bob.says("#lab", "watch it").await;
        world.ledger_says(by_cause, &["2"]).await;
    })
    .await;
}

#[tokio::test]
async fn turns_that_no_person_began_wait_for_each_other_in_all_agents() {
    let mut setup = with_budgets(json!({}));
    setup.config["unattended_parallel"] = json!(1);
    run_test_with(setup, async |world| {
        for name in ["desk", "shop"] {
            world.makes_agent(name).await;
        }
        begins_a_task(world);
        world.model.takes(std::time::Duration::from_millis(200));
        for channel in ["#lab", "#desk", "#shop"] {
            world.bob.says(channel, "watch it").await;
        }
        let ended =
            "SELECT CAST(count(*) AS TEXT) FROM turns WHERE unattended = 1 AND state = 'finished'";
        world.ledger_says(ended, &["3"]).await;
        let beside = "SELECT CAST(count(*) AS TEXT) FROM turns a JOIN turns b ON a.rowid < b.rowid
            WHERE a.unattended = 1 AND b.unattended = 1 AND b.began_at < a.ended_at";
        assert_eq!(world.ledger(beside).await, ["0"]);
    })
    .await;
}
