//! What people see of a run while it works, and of what it cost.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::json;

use super::{assignment, run_test_with};
use crate::world::model::MODEL;
use crate::world::{Setup, is_under_way};

#[tokio::test]
async fn of_many_sub_agents_the_live_status_names_eight_in_one_message() {
    let setup = Setup {
        config: json!({"max_calls_per_step": 12, "orchestration": {"max_children_at_once": 12}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let tasks: Vec<_> = (0..12)
            .map(|number| assignment("general", &format!("part {number}")))
            .collect();
        world.model.calls(&tasks);
        let thoughts: Vec<_> = (0..12).map(|_| world.model.is_thinking()).collect();
        world.model.answers("All twelve are back.");
        world.ann.says("#lab", "go").await;
        world.model.was_asked(13).await;
        let seen = world.sees("#lab", "… and 4 more").await;
        let shown = seen.split("├ general “about part ").skip(1);
        let shown: Vec<_> = shown.map(|line| line.split('”').next().unwrap()).collect();
        assert_eq!(shown, ["0", "1", "2", "3", "4", "5", "6", "7"], "{seen}");
        let messages = world.messages("#lab");
        assert_eq!(messages.iter().filter(|one| is_under_way(one)).count(), 1);
        for thought in thoughts {
            thought.ends();
        }
        world.sees("#lab", "All twelve are back.").await;
    })
    .await;
}

#[tokio::test]
async fn the_cost_of_sub_agents_is_part_of_the_footer_and_of_the_usage() {
    let setup = Setup {
        // A token of output costs a tenth of a cent.
        config: json!({"models": {MODEL: {"input_price": 0, "output_price": 1000}}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.exchange("hello", "Hello.").await;
        let before = world.ann.asks("/usage", "#lab").await;
        assert!(!before.contains("of it sub-agents"), "{before}");
        let says = |text: &str| Reply {
            output_tokens: 30,
            ..Reply::new(vec![Block::Text(text.to_owned())])
        };
        let tasks = ["one", "two"].map(|what| assignment("general", what));
        world.model.calls(&tasks);
        world
            .model
            .replies(says("Done."))
            .replies(says("Done."))
            .replies(says("Both done."));
        world.ann.says("#lab", "go").await;
        let seen = world.sees("#lab", "Both done.").await;
        assert!(seen.contains(", of it 2 sub-agents $0.06"), "{seen}");
        let shown = world.ann.asks("/usage", "#lab").await;
        assert!(shown.contains("of it sub-agents $0.060\n"), "{shown}");
        let sum = "SELECT round(sum(cost_usd), 6) || '' FROM attempts WHERE turn_id <> run_id";
        assert_eq!(world.ledger(sum).await, ["0.06"]);
    })
    .await;
}

#[tokio::test]
async fn a_message_that_waits_for_sub_agents_is_counted() {
    run_test_with(Setup::default(), async |world| {
        world.model.calls(&[assignment("general", "look")]);
        let thought = world.model.is_thinking();
        world.model.answers("Looked, and read on.");
        world.ann.says("#lab", "go").await;
        world.model.was_asked(2).await;
        world.ann.says("#lab", "and be quick").await;
        world.sees("#lab", "1 message waits").await;
        thought.ends();
        world.sees("#lab", "Looked, and read on.").await;
        let last = world.model.requests().pop().unwrap().to_string();
        assert!(last.contains("and be quick"), "{last}");
    })
    .await;
}
