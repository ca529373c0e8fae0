//! Runs that a kill cut: what they had spent is counted, and one that was being closed because it broke off is closed once.

use chorus::domain::TurnId;
use chorus::store::Store;
use chorus_playground::model::wire::{Block, Reply};
use serde_json::json;

use super::{
    assignment, goes_on, is_told_once_of_the_restart, nothing_is_left, results, run_test_with,
    two_at_work,
};
use crate::world::model::MODEL;
use crate::world::{Setup, World};

/// Whoever waits for its second answer is killed: its first cost three cents, and so did that of its parent.
async fn is_killed(world: &mut World) {
    for (tool, arguments) in [
        assignment("general", "look"),
        ("glob", json!({"pattern": "*"})),
    ] {
        let call = Block::Call(format!("toolu_{tool}"), tool.to_owned(), arguments);
        world.model.replies(Reply {
            output_tokens: 30,
            ..Reply::new(vec![call])
        });
    }
    let thought = world.model.is_thinking();
    world.ann.says("#lab", "go").await;
    world.model.was_asked(3).await;
    world.kills().await;
    drop(thought);
}

/// A token of output costs a tenth of a cent, and no answer is longer than 300 tokens.
fn priced() -> Setup {
    Setup {
        config: json!({"models": {MODEL: {"input_price": 0, "output_price": 1000, "max_output": 300}}}),
        ..Setup::default()
    }
}

#[tokio::test]
async fn what_it_had_spent_is_in_all_sums_and_of_the_day() {
    run_test_with(priced().by_hand(), async |world| {
        is_killed(world).await;
        world.starts().await;
        world.sees("#lab", "I was restarted in the middle").await;
        let costs = "SELECT path || ' ' || exit || ' ' || steps || ' ' || round(cost_usd, 6) FROM turns ORDER BY rowid";
        let expected = ["lab interrupted 1 0.03", "lab/general interrupted 1 0.03"];
        assert_eq!(world.ledger(costs).await, expected);
        nothing_is_left(world).await;
        let usage = world.ann.asks("/usage", "#lab").await;
        assert!(
            usage.contains("$0.060") && usage.contains("of it sub-agents $0.030"),
            "{usage}"
        );
        let shown = world.ann.asks("/run show", "#lab").await;
        assert!(shown.contains("$0.060"), "{shown}");

        // Of the day six cents are gone, and an answer may cost thirty.
        world.edits_agent_json("lab", json!({"budget_day": 0.359_999}));
        world.model.answers("In short.");
        world.ann.says("#lab", "and now?").await;
        world.sees("#lab", "In short.").await;
        assert!(world.model.last_request().get("tools").is_none());
        let answered = "SELECT round(total(cost_usd), 6) || '' FROM attempts";
        let spent: f64 = world.ledger(answered).await[0].parse().unwrap();
        world.edits_agent_json("lab", json!({"budget_day": spent + 0.3}));
        world.exchange("and in full?", "In full.").await;
        assert!(world.model.last_request().get("tools").is_some());
    })
    .await;
}

#[tokio::test]
async fn a_continued_sub_agent_begins_with_nothing_spent() {
    run_test_with(priced().by_hand(), async |world| {
        is_killed(world).await;
        world.starts().await;
        world.sees("#lab", "I was restarted in the middle").await;
        let id = "SELECT substr(id, -8) FROM turns WHERE kind = 'sub_agent'";
        let id = world.ledger(id).await.remove(0);
        world.model.calls(&[goes_on("general", &id, "go on")]);
        world.model.replies(Reply {
            output_tokens: 40,
            ..Reply::new(vec![Block::Text("Looked.".to_owned())])
        });
        world.model.answers("It looked.");
        world.ann.says("#lab", "go on").await;
        let seen = world.sees("#lab", "It looked.").await;
        assert!(seen.contains(", of it 1 sub-agent $0.040"), "{seen}");
        let told = results(world).pop().unwrap();
        assert!(
            told.contains(" · 1 step · 140 tokens · $0.040]\nLooked."),
            "{told}"
        );
    })
    .await;
}

/// Closes what is below a turn of a home whose daemon does not run, as one that was killed right after it had done so.
async fn closes_what_is_below(world: &World, turn: &'static str) {
    let id: TurnId = world.ledger(turn).await.remove(0).parse().unwrap();
    let store = Store::open(&world.home().join("db/chorus.db"))
        .await
        .unwrap();
    store.close_left_open(id).await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn a_kill_before_the_end_of_one_that_broke_off_leaves_a_turn_that_was_interrupted() {
    run_test_with(Setup::default().by_hand(), async |world| {
        world.model.calls(&[assignment("general", "look")]);
        world.model.calls(&[("glob", json!({"pattern": "*"}))]);
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "go").await;
        world.model.was_asked(3).await;
        world.kills().await;
        drop(thought);
        closes_what_is_below(world, "SELECT id FROM turns WHERE kind = 'sub_agent'").await;
        world.starts().await;
        world.sees("#lab", "I was restarted in the middle").await;
        let exits = "SELECT path || ' ' || state FROM turns ORDER BY rowid";
        let expected = ["lab interrupted", "lab/general interrupted"];
        assert_eq!(world.ledger(exits).await, expected);
        nothing_is_left(world).await;
        world.exchange("and now?", "I go on.").await;
        let told = results(world);
        assert!(
            told.len() == 1 && told[0].contains("go on with continue: \""),
            "{told:?}"
        );
        is_told_once_of_the_restart(world);
    })
    .await;
}

#[tokio::test]
async fn a_kill_before_the_end_of_a_root_that_broke_off_is_told_once_and_the_next_message_goes_on()
{
    run_test_with(Setup::default().by_hand(), async |world| {
        let thoughts = two_at_work(world).await;
        world.kills().await;
        drop(thoughts);
        closes_what_is_below(world, "SELECT id FROM turns WHERE kind = 'turn'").await;
        let open = "SELECT path || ' ' || coalesce(exit, 'none') FROM turns ORDER BY rowid";
        let expected = ["lab none", "lab/general failed", "lab/general failed"];
        assert_eq!(world.ledger(open).await, expected);
        world.starts().await;
        world.sees("#lab", "I was restarted in the middle").await;
        let expected = [
            "lab interrupted",
            "lab/general failed",
            "lab/general failed",
        ];
        assert_eq!(world.ledger(open).await, expected);
        nothing_is_left(world).await;
        world.exchange("and now?", "I go on.").await;
        assert_eq!(results(world).len(), 2);
        is_told_once_of_the_restart(world);
    })
    .await;
}
