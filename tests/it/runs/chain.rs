//! Agents that write to each other and have sub-agents on the way: whose turn is whose.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::{assignment, run_test};

/// The agents in the order of the chain; each looks by a sub-agent, then writes to the next.
const CHAIN: [&str; 4] = ["lab", "mid", "beta", "far"];

fn looks_then_passes_on(request: &Value) -> Reply {
    let system = request["system"].to_string();
    let said = request["messages"].to_string();
    let is = |name: &&&str| system.contains(&format!("the agent `{name}`"));
    let next = CHAIN
        .iter()
        .position(|name| is(&name))
        .and_then(|at| CHAIN.get(at + 1));
    let text = |text: &str| Reply::new(vec![Block::Text(text.to_owned())]);
    let calls = |id: &str, tool: &str, arguments| {
        let call = Block::Call(id.to_owned(), tool.to_owned(), arguments);
        Reply::new(vec![call])
    };
    if system.contains("a sub-agent of") {
        return text("Looked.");
    }
    match next {
        _ if said.contains("send_to_agent") => text("Sent on."),
        _ if !said.contains("sub_agent") => {
            let (tool, task) = assignment("explore", "Look.");
            calls("toolu_look", tool, task)
        }
        Some(next) => {
            let message = json!({"agent": next, "message": "pass it on"});
            calls("toolu_send", "send_to_agent", message)
        }
        None => text("Here it ends."),
    }
}

#[tokio::test]
async fn each_turn_of_three_hops_names_its_parent_run_and_origin() {
    run_test(async |world| {
        for name in &CHAIN[1..] {
            world.makes_agent(name).await;
        }
        world.model.follows(looks_then_passes_on);
        world.ann.says("#lab", "begin").await;
        world.sees("#far", "Here it ends.").await;
        let finished = "SELECT count(*) || '' FROM turns WHERE state = 'finished'";
        world.ledger_says(finished, &["8"]).await;
        // Path, kind, hops; the paths of parent, run and origin.
        let rows = "SELECT t.path || ' ' || t.kind || ' ' || t.depth || ' | ' || coalesce(p.path, '-') || ' ' || r.path || ' ' || o.path
            FROM turns t LEFT JOIN turns p ON p.id = t.parent_id JOIN turns r ON r.id = t.run_id JOIN turns o ON o.id = t.origin_id
            ORDER BY t.depth, t.path";
        assert_eq!(
            world.ledger(rows).await,
            [
                "lab turn 0 | - lab lab",
                "lab/explore sub_agent 0 | lab lab lab",
                "mid turn 1 | lab mid lab",
                "mid/explore sub_agent 1 | mid mid lab",
                "beta turn 2 | mid beta lab",
                "beta/explore sub_agent 2 | beta beta lab",
                "far turn 3 | beta far lab",
                "far/explore sub_agent 3 | far far lab",
            ]
        );
        let attempts = "SELECT count(*) || '' FROM attempts a JOIN turns t ON t.id = a.turn_id
            WHERE a.run_id IS NOT t.run_id OR a.role IS NOT t.role OR a.parent_id IS NOT t.parent_id";
        assert_eq!(world.ledger(attempts).await, ["0"]);
    })
    .await;
}
