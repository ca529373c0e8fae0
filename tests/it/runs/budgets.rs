//! One budget holds for a turn and all its sub-agents, whatever they ask for at once.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::nothing_is_left;
use crate::world::model::MODEL;
use crate::world::{Setup, World, run_test_with};

/// What the root says last.
const LAST_WORDS: &str = "This is how far we came.";

/// A token of output costs a tenth of a cent, input nothing, and no answer is longer than 300 tokens: 30 cents at most.
fn priced() -> Setup {
    Setup {
        config: json!({
            "models": {MODEL: {"input_price": 0, "output_price": 1000, "max_output": 300}},
            "orchestration": {"max_children": 100},
        }),
        ..Setup::default()
    }
}

fn says(text: &str) -> Reply {
    Reply {
        output_tokens: 80,
        ..Reply::new(vec![Block::Text(text.to_owned())])
    }
}

/// A root that has ten sub-agents work, each of which never comes to an end by itself.
fn never_ends(request: &Value) -> Reply {
    let messages = request["messages"].as_array().unwrap();
    let is_child = request["system"].to_string().contains("a sub-agent of");
    let latest = messages.last().unwrap().to_string();
    let blocks: Vec<Block> = match (request.get("tools"), is_child) {
        (None, false) => return says(LAST_WORDS),
        (None, true) => return says("Half of it."),
        (Some(_), true) => vec![Block::Call(
            format!("toolu_child_{}", messages.len()),
            "glob".to_owned(),
            json!({"pattern": format!("*{}", messages.len())}),
        )],
        (Some(_), false) if latest.contains("tool_result") => return says(LAST_WORDS),
        (Some(_), false) => (0..10)
            .map(|number| {
                let task = json!({"role": "general", "prompt": format!("Part {number}."), "title": format!("part {number}")});
                Block::Call(format!("toolu_{}_{number}", messages.len()), "sub_agent".to_owned(), task)
            })
            .collect(),
    };
    Reply {
        output_tokens: 80,
        ..Reply::new(blocks)
    }
}

async fn spent_by_run(world: &World) -> Vec<f64> {
    let sums = "SELECT total(a.cost_usd) || '' FROM turns t LEFT JOIN attempts a ON a.run_id = t.id
        WHERE t.kind = 'turn' GROUP BY t.id ORDER BY t.rowid";
    let sums = world.ledger(sums).await;
    sums.iter().map(|sum| sum.parse().unwrap()).collect()
}

#[tokio::test]
async fn ten_at_once_never_go_past_the_cap_and_the_root_has_its_last_words() {
    run_test_with(priced(), async |world| {
        world.model.follows(never_ends);
        let caps = [0.001, 0.1, 0.35, 0.5, 1.0, 2.0];
        for (number, cap) in caps.iter().enumerate() {
            world.edits_agent_json("lab", json!({"budget_turn": cap}));
            world.ann.says("#lab", &format!("round {number}")).await;
            world
                .shows("#lab", |shown| {
                    let ended = [LAST_WORDS, "The budget is used up."];
                    ended
                        .iter()
                        .map(|words| shown.matches(words).count())
                        .sum::<usize>()
                        > number
                })
                .await;
        }
        let spent = spent_by_run(world).await;
        for (spent, cap) in spent.iter().zip(caps) {
            assert!(*spent <= cap + 1e-9, "{spent} of {cap}");
        }
        // From where ten children could be begun at all, the root still speaks.
        let seen = world.transcript("#lab");
        assert!(seen.matches(LAST_WORDS).count() >= 3, "{seen}");
        nothing_is_left(world).await;
    })
    .await;
}

#[tokio::test]
async fn a_role_has_its_own_cap_and_its_parent_goes_on() {
    run_test_with(priced(), async |world| {
        super::charter(
            world,
            "general",
            "---\nname: general\ndescription: Does a part.\nbudget_usd: 0.5\n---\nDo it.\n",
        );
        world.model.follows(never_ends);
        world.ann.says("#lab", "go").await;
        world.sees("#lab", LAST_WORDS).await;
        let sums = "SELECT (max(sum) <= 0.5) || ' ' || count(*) FROM (SELECT total(cost_usd) AS sum FROM attempts
            WHERE role IS NOT NULL GROUP BY turn_id)";
        assert_eq!(world.ledger(sums).await, ["1 10"]);
        let exits = "SELECT DISTINCT exit FROM turns WHERE kind = 'sub_agent'";
        assert_eq!(world.ledger(exits).await, ["budget"]);
        nothing_is_left(world).await;
    })
    .await;
}
