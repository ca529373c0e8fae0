//! A sub-agent that nobody waits for: a branch with a role, whose report comes back as a note.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::{results, run_test};
use crate::world::World;

fn beside(role: &str, prompt: &str) -> Value {
    json!({"role": role, "prompt": prompt, "title": "look beside", "wait": false})
}

fn said(text: &str) -> Reply {
    Reply::new(vec![Block::Text(text.to_owned())])
}

fn calls(tool: &str, arguments: Value) -> Reply {
    Reply::new(vec![Block::Call(
        "toolu_1".to_owned(),
        tool.to_owned(),
        arguments,
    )])
}

/// No branch is still to tell what it came to.
async fn nothing_is_due(world: &World) {
    let due =
        "SELECT count(*) || '' FROM conversations WHERE kind = 'branch' AND parent_id IS NOT NULL";
    world.ledger_says(due, &["0"]).await;
}

#[tokio::test]
async fn a_branch_does_it_and_its_report_comes_back_as_a_note() {
    run_test(async |world| {
        world.exchange("our secret word is plum", "Noted.").await;
        world.model.follows(|request| {
            let told = request.to_string();
            let note = "Branch #1 (`explore`: Find TODO.) has ended.";
            match () {
                () if told.contains(note) => said("It says one."),
                () if told.contains("You are `explore`, in a branch") => said("One TODO."),
                () if told.contains("Branch #1 does it") => said("Somebody looks."),
                () => calls("sub_agent", beside("explore", "Find TODO.")),
            }
        });
        world.ann.says("#lab", "have somebody look").await;
        world.sees("#lab", "Somebody looks.").await;
        world.sees("#lab", "One TODO.").await;
        world.sees("#lab", "It says one.").await;
        let note = world.model.requests().into_iter().map(|request| request.to_string()).rfind(|told| told.contains("has ended."));
        let note = note.unwrap();
        assert!(note.contains("· answered · 1 step · "), "{note}");
        assert!(note.contains("plum"), "{note}");
        let action = "SELECT action_string FROM audit_log WHERE action_string LIKE '%sub_agent%'";
        world.ledger_says(action, &["tool:sub_agent:explore background"]).await;
        // The branch is a hop below the turn that opened it, and the note one below the branch.
        let hops = "SELECT depth || ' ' || (run_id = id) || ' ' || (SELECT count(DISTINCT origin_id) FROM turns WHERE depth > 0)
            FROM turns WHERE depth > 0 ORDER BY depth";
        world.ledger_says(hops, &["1 1 1", "2 1 1"]).await;
        nothing_is_due(world).await;
        // However short it is, it can be read again by its id.
        let id = "SELECT substr(t.id, -8) FROM turns t JOIN conversations c ON c.id = t.conversation_id WHERE c.kind = 'branch'";
        let id = world.ledger(id).await;
        world.model.calls_tool("tool_output", json!({"handle": id[0]})).answers("Read again.");
        world.ann.says("#lab", "read it again").await;
        world.sees("#lab", "Read again.").await;
        let read = results(world);
        assert!(read.last().is_some_and(|read| read.contains("One TODO.")), "{read:?}");
    })
    .await;
}

#[tokio::test]
async fn a_report_that_a_kill_held_up_comes_after_the_start_and_once() {
    run_test(async |world| {
        world.model.follows(|request| {
            let told = request.to_string();
            match () {
                () if told.contains("has ended.") => said("So it was interrupted."),
                () if told.contains("You are `general`, in a branch") => {
                    calls("bash", json!({"command": "rm -r plum"}))
                }
                () if told.contains("Branch #1 does it") => said("Somebody looks."),
                () => calls("sub_agent", beside("general", "Clean up.")),
            }
        });
        world.ann.says("#lab", "have somebody look").await;
        world.sees("#lab", "Somebody looks.").await;
        world.question("#lab").await;
        world.kills().await;
        world.starts().await;
        world.sees("#lab", "So it was interrupted.").await;
        nothing_is_due(world).await;
        world.restarts().await;
        let told = "SELECT count(*) || '' FROM items WHERE body LIKE '%has ended.%'";
        world.ledger_says(told, &["1"]).await;
    })
    .await;
}

#[tokio::test]
async fn only_the_agent_itself_opens_branches_and_none_continues_a_former_sub_agent() {
    run_test(async |world| {
        super::charter(world, "lead", "---\nname: lead\ndescription: Leads.\nsub_agents: [explore]\n---\nYou lead.\n");
        world.model.calls(&[super::assignment("lead", "Lead it.")]);
        world.model.calls_tool("sub_agent", beside("explore", "Look."));
        world.model.answers("I may not.").answers("It may not.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "It may not.").await;
        let refused = world.model.requests().iter().flat_map(super::results_of).find(|told| told.starts_with("Error"));
        assert_eq!(
            refused.as_deref(),
            Some("Error: `lead` is a sub-agent's role: only the agent itself opens branches; leave `wait` out")
        );
        let mut former = beside("explore", "Go on.");
        former["continue"] = json!("c1f3a9e2");
        world.model.calls_tool("sub_agent", former).answers("Neither.");
        world.ann.says("#lab", "and now?").await;
        world.sees("#lab", "Neither.").await;
        assert_eq!(
            results(world).last().map(String::as_str),
            Some("Error: a branch has a conversation of its own: leave out `continue`, or `wait`")
        );
        world.ledger_says("SELECT count(*) || '' FROM conversations WHERE kind = 'branch'", &["0"]).await;
    })
    .await;
}

#[tokio::test]
async fn an_agent_opens_ten_in_ten_minutes() {
    run_test(async |world| {
        world.model.follows(|request| {
            let told = request.to_string();
            if told.contains("You are `explore`, in a branch") {
                return said("Nothing.");
            }
            if told.contains("has ended.") {
                return said("Noted.");
            }
            let next = match super::results_of(request).len() {
                0 => 0..10,
                10 => 10..11,
                _ => return said("Ten of eleven."),
            };
            let calls = next.map(|number| {
                let task = beside("explore", &format!("Look {number}."));
                Block::Call(format!("toolu_{number}"), "sub_agent".to_owned(), task)
            });
            Reply::new(calls.collect())
        });
        world.ann.says("#lab", "have them look").await;
        world.sees("#lab", "Ten of eleven.").await;
        nothing_is_due(world).await;
        // Notes may come after them.
        let requests = world.model.requests();
        let mut told = requests.iter().map(super::results_of);
        let told = told.find(|told| told.len() == 11).unwrap();
        let refused: Vec<&String> = told
            .iter()
            .filter(|told| told.starts_with("you have opened branches too often; again in "))
            .collect();
        assert_eq!(refused, [&told[10]]);
        let opened = "SELECT count(*) || '' FROM conversations WHERE kind = 'branch'";
        assert_eq!(world.ledger(opened).await, ["10"]);
    })
    .await;
}
