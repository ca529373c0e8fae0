//! Many interrupted turns at once, each of a message of its own, and a run with sub-agents.

use std::time::Duration;

use chorus_playground::model::wire::{Block, Reply};
use serde_json::json;

use super::{asked, notes};
use crate::world::{run_test, run_test_with};

/// Makes so many conversations with a turn that runs, each like the one that there is.
const COPIES: &str = "
    CREATE TEMP TABLE copies AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 299)
        SELECT i, (SELECT max(id) FROM conversations) + i AS conversation,
            printf('019e0000-0000-7000-8000-%012d', i) AS turn FROM n;
    INSERT INTO conversations (id, agent_id, number, prompt, opened_at, last_active_at, kind, role, seed, opened_by)
        SELECT n.conversation, c.agent_id, n.i, c.prompt, c.opened_at, c.last_active_at, 'branch', c.role, c.seed, c.opened_by
        FROM copies n JOIN conversations c ON c.id = (SELECT conversation_id FROM turns WHERE state = 'running');
    INSERT INTO items (conversation_id, role, body)
        SELECT n.conversation, i.role, i.body FROM copies n JOIN items i
            ON i.conversation_id = (SELECT conversation_id FROM turns WHERE state = 'running') ORDER BY n.i, i.id;
    INSERT INTO inbound (message_id, channel_id, body, state, turn_id, received_at)
        SELECT m.message_id + n.i, m.channel_id, m.body, m.state, n.turn, m.received_at
        FROM copies n JOIN inbound m ON m.message_id = (SELECT trigger_id FROM turns WHERE state = 'running');
    INSERT INTO turns (id, agent_id, conversation_id, trigger_id, origin_id, depth, channel_id, state, began_at, kind, run_id,
            path, facts_id)
        SELECT n.turn, t.agent_id, n.conversation, t.trigger_id + n.i, n.turn, 0, t.channel_id, t.state, t.began_at, t.kind, n.turn,
            t.path, t.facts_id
        FROM copies n JOIN turns t ON t.state = 'running';
";

#[tokio::test(flavor = "multi_thread")]
async fn of_three_hundred_turns_four_go_on_at_once_and_each_is_answered_once() {
    run_test(async |world| {
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "think").await;
        world.model.was_asked(1).await;
        world.kills().await;
        drop(thought);
        world.changes_ledger(COPIES).await;
        world.model.always_answers("", "Thought.");
        world.model.takes(Duration::from_millis(30));
        world.starts().await;
        let answered = "SELECT count(*) || '' FROM turns WHERE cause = 'resume' AND exit = 'answered'";
        world.ledger_says(answered, &["300"]).await;
        assert!(world.model.most_at_once() <= 4, "{}", world.model.most_at_once());
        let each = "SELECT max(times) || '' FROM (SELECT count(*) AS times FROM turns WHERE resumes IS NOT NULL GROUP BY resumes)";
        world.ledger_says(each, &["1"]).await;
        let all = "SELECT state || ' ' || count(*) FROM resumes GROUP BY state";
        world.ledger_says(all, &["resumed 300"]).await;
        world.model.takes(Duration::ZERO);
    })
    .await;
}

#[tokio::test]
async fn a_parent_goes_on_and_its_sub_agents_that_only_looked_do_not() {
    let setup = crate::world::Setup::default();
    run_test_with(setup, async |world| {
        world.model.follows(|request| {
            let messages = request["messages"].to_string();
            let is_child = request["system"].to_string().contains("a sub-agent of");
            let text = |words: &str| Reply::new(vec![Block::Text(words.to_owned())]);
            let look = |id: &str| {
                let glob = json!({"pattern": "*.rs"});
                Reply::new(vec![Block::Call(id.to_owned(), "glob".to_owned(), glob)])
            };
            match (is_child, messages.contains("Chorus stopped at")) {
                // They look again and again.
                (true, _) => look(&format!("toolu_look_{}", messages.len())),
                (false, true) => text("Then I look myself."),
                (false, false) => {
                    let blocks = ["One", "Two"].map(|name| {
                        let task = json!({"role": "explore", "prompt": name, "title": name});
                        Block::Call(format!("toolu_{name}"), "sub_agent".to_owned(), task)
                    });
                    Reply::new(blocks.into())
                }
            }
        });
        world.model.takes(Duration::from_millis(100));
        world.ann.says("#lab", "look").await;
        let looking = "SELECT count(DISTINCT turn_id) || '' FROM calls WHERE name = 'glob' AND state = 'finished'";
        world.ledger_says(looking, &["2"]).await;
        world.kills().await;
        world.model.takes(Duration::ZERO);
        world.starts().await;
        world.sees("#lab", "Then I look myself.").await;
        let children = "SELECT count(*) || '' FROM turns WHERE kind = 'sub_agent'";
        world.ledger_says(children, &["2"]).await;
        let requests = asked(world);
        let request = requests.last().unwrap();
        assert_eq!(notes(request), 1, "{request}");
        let told = request["messages"].to_string();
        assert_eq!(told.matches("go on with continue:").count(), 2, "{told}");
    })
    .await;
}
