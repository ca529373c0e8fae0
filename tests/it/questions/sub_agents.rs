//! Questions of sub-agents, and of turns that no person began.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::json;

use super::{asks, card, ended, offered, question, results};
use crate::world::{Setup, run_test, run_test_with};

fn calls(id: &str, tool: &str, arguments: serde_json::Value) -> Reply {
    Reply::new(vec![Block::Call(id.to_owned(), tool.to_owned(), arguments)])
}

fn says(text: &str) -> Reply {
    Reply::new(vec![Block::Text(text.to_owned())])
}

#[tokio::test]
async fn the_card_of_a_sub_agent_names_its_role() {
    run_test(async |world| {
        let task = json!({"role": "general", "prompt": "Migrate.", "title": "the migration"});
        world.model.calls_tool("sub_agent", task);
        world.model.calls_tool("ask_person", question(2));
        world.model.answers("Migrated Live.");
        world.model.answers("It is done.");
        world.ann.says("#lab", "migrate").await;
        let card = card(world).await;
        assert!(
            card.content.contains("lab ▸ general asks:"),
            "{}",
            card.content
        );
        world.ann.clicks("#lab", "Live").await;
        world.sees("#lab", "It is done.").await;
        let requests = world.model.requests();
        assert_eq!(results(&requests[2]), ["ann chose: \"Live\""]);
        ended(world, &card, "ann chose").await;
        // The role has no list of tools.
        assert!(offered(&requests[1]).contains(&"ask_person".to_owned()));
    })
    .await;
}

#[tokio::test]
async fn a_role_with_a_list_of_tools_asks_only_if_it_is_among_them() {
    run_test(async |world| {
        let charters = world.home().join("agents/lab/charters");
        std::fs::create_dir_all(&charters).unwrap();
        for (name, tools) in [("asker", "[view, ask_person]"), ("looker", "[view]")] {
            let text =
                format!("---\nname: {name}\ndescription: Works.\ntools: {tools}\n---\nWork.\n");
            std::fs::write(charters.join(format!("{name}.md")), text).unwrap();
        }
        for (name, is_there) in [("asker", true), ("looker", false)] {
            let before = world.model.requests().len();
            let task = json!({"role": name, "prompt": "Work.", "title": "the work"});
            world.model.calls_tool("sub_agent", task);
            world.model.answers("Worked.");
            world.model.answers(&format!("{name} is back."));
            world.ann.says("#lab", &format!("have {name} work")).await;
            world.sees("#lab", &format!("{name} is back.")).await;
            let of_child = &world.model.requests()[before + 1];
            let tools = offered(of_child);
            assert_eq!(tools.contains(&"ask_person".to_owned()), is_there, "{name}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_run_whose_answer_passes_a_role_asks_nobody() {
    run_test(async |world| {
        let charters = world.home().join("agents/lab/charters");
        std::fs::create_dir_all(&charters).unwrap();
        let text = "---\nname: editor\ndescription: Changes answers.\ntools: []\n---\nEdit.\n";
        std::fs::write(charters.join("editor.md"), text).unwrap();
        world.edits_agent_json("lab", json!({"handoff": "editor"}));
        world.model.answers("A draft.").answers("Edited.");
        world.ann.says("#lab", "write").await;
        world.sees("#lab", "Edited.").await;
        for request in world.model.requests() {
            assert!(!offered(&request).contains(&"ask_person".to_owned()));
        }
    })
    .await;
}

#[tokio::test]
async fn only_one_question_of_a_run_is_open() {
    run_test(async |world| {
        world.model.follows(|request| {
            let text = request["messages"].to_string();
            let is_child = request["system"].to_string().contains("a sub-agent of");
            let last = results(request).pop();
            match (is_child, last) {
                (true, None) => calls("toolu_ask", "ask_person", question(2)),
                (true, Some(told)) => says(&format!("I was told: {told}")),
                (false, None) if text.contains("go") => {
                    let task = |name: &str| {
                        let task = json!({"role": "general", "prompt": name, "title": name});
                        Block::Call(format!("toolu_{name}"), "sub_agent".to_owned(), task)
                    };
                    Reply::new(vec![task("One"), task("Two")])
                }
                (false, _) => says("Both are back."),
            }
        });
        world.ann.says("#lab", "go").await;
        card(world).await;
        world
            .ledger_says(
                "SELECT state FROM calls WHERE name = 'ask_person' ORDER BY state",
                &["refused", "started"],
            )
            .await;
        world.ann.clicks("#lab", "Live").await;
        world.sees("#lab", "Both are back.").await;
        let told = world.model.last_request().to_string();
        assert!(told.contains("a question is already open"), "{told}");
        assert!(told.contains("ann chose"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn without_a_person_the_owner_is_called_once_and_the_other_timeout_applies() {
    let setup = Setup {
        config: json!({
            "default_permissions": "open", "question_timeout": 86_400, "unattended_timeout": 30,
        }),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.model.follows(|request| {
            let messages = request["messages"].as_array().unwrap();
            let latest = messages.last().unwrap().to_string();
            if latest.contains("No answer came in time") {
                says("Went on alone.")
            } else if latest.contains("tool_result") {
                says("It runs.")
            } else if latest.contains("watch it") {
                calls("toolu_1", "run_concurrent", json!({"command": "echo looked"}))
            } else {
                calls("toolu_2", "ask_person", question(2))
            }
        });
        world.ann.says("#lab", "watch it").await;
        let card = card(world).await;
        assert_eq!(card.pings, ["ann"]);
        world
            .ledger_says(
                "SELECT CAST(round((julianday(expires_at) - julianday(asked_at)) * 86400) AS INTEGER) || '' FROM questions",
                &["30"],
            )
            .await;
        world.sees("#lab", "Went on alone.").await;
        let over = ended(world, &card, "Nobody answered in time.").await;
        assert!(!over.content.contains("<@"), "{}", over.content);
    })
    .await;
}

#[tokio::test]
async fn an_approval_without_a_person_waits_as_long() {
    let setup = Setup {
        config: json!({"approval_timeout": 86_400, "unattended_timeout": 30}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.model.follows(|request| {
            let messages = request["messages"].as_array().unwrap();
            let latest = messages.last().unwrap().to_string();
            if latest.contains("nobody answered the question") {
                says("Not allowed.")
            } else if latest.contains("tool_result") {
                says("It runs.")
            } else if latest.contains("watch it") {
                calls("toolu_1", "run_concurrent", json!({"command": "echo looked"}))
            } else {
                calls("toolu_2", "bash", json!({"command": "echo again"}))
            }
        });
        world.ann.says("#lab", "watch it").await;
        world.question("#lab").await;
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Not allowed.").await;
        let times = "SELECT CAST(round((julianday(expires_at) - julianday(asked_at)) * 86400) AS INTEGER) || '' FROM approvals";
        world.ledger_says(times, &["86400", "30"]).await;
    })
    .await;
}

#[tokio::test]
async fn the_question_of_a_child_ends_with_it() {
    run_test(async |world| {
        let task = json!({"role": "general", "prompt": "Migrate.", "title": "the migration"});
        world.model.calls_tool("sub_agent", task);
        let card = asks(world, question(2), "unused").await;
        world.model.forgets();
        world.ann.runs("/abort", "#lab").await;
        ended(world, &card, "Cancelled: ann stopped the turn.").await;
    })
    .await;
}
