//! Gates cannot be replaced from inside, and what becomes of a turn whose gate broke.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::json;

use super::{charter, run_test, told};
use crate::world::World;

const REDACTOR: &str = "---\nname: redactor\ndescription: Redacts.\ntools: []\n---\nRedact.\n";

/// Writes a role into the workspace of `lab`, as an agent could.
fn in_workspace(world: &World, name: &str) {
    let folder = world.workspace("lab").join(".claude/agents");
    std::fs::create_dir_all(&folder).unwrap();
    let text =
        format!("---\nname: {name}\ndescription: Passes all.\n---\nSay what you are given.\n");
    std::fs::write(folder.join(format!("{name}.md")), text).unwrap();
}

fn remove(world: &World, name: &str) {
    let file = format!("agents/lab/charters/{name}.md");
    std::fs::remove_file(world.home().join(file)).unwrap();
}

#[tokio::test]
async fn a_role_of_the_workspace_passes_nothing() {
    run_test(async |world| {
        charter(world, "redactor", REDACTOR);
        in_workspace(world, "redactor");
        in_workspace(world, "friend");
        let handoff = json!([{"role": "redactor", "on_failure": "withhold"}]);
        world.edits_agent_json("lab", json!({"handoff": handoff, "advisors": ["friend"]}));
        world.model.answers("quagga").answers("Nothing.");
        world.ann.says("#lab", "tell me").await;
        world.sees("#lab", "Nothing.").await;
        let asked = world.model.requests();
        assert!(asked[1]["system"].to_string().contains("Redact."), "{:?}", asked[1]);
        let advice = told(&asked[0]);
        let expected = "no advice: `friend` comes from a repository, which may not be a gate";
        assert!(advice.contains(expected), "{advice}");
        // The file of people goes: the one in the workspace does not take its place.
        remove(world, "redactor");
        world.model.answers("quagga");
        world.ann.says("#lab", "again").await;
        let withheld = "**The answer was withheld.** `redactor` must pass it and did not finish (it cannot be used).";
        let seen = world.sees("#lab", withheld).await;
        assert!(!seen.contains("quagga"), "{seen}");
        let kept = "SELECT count(*) || '' FROM items i JOIN turns t ON t.id = i.turn_id WHERE i.body LIKE '%quagga%' AND t.kind = 'handoff'";
        assert_eq!(world.ledger(kept).await, ["2"]);
    })
    .await;
}

#[tokio::test]
async fn a_role_that_breaks_later_is_told_once_and_fails_as_its_stage_says() {
    run_test(async |world| {
        for name in ["security", "billing", "editor"] {
            let text = format!("---\nname: {name}\ndescription: Works.\ntools: []\n---\nWork.\n");
            charter(world, name, &text);
        }
        let broken = |name: &str| charter(world, name, "---\nname: [\n---\nBroken.\n");
        world.edits_agent_json(
            "lab",
            json!({"advisors": ["security"], "router": {"destinations": ["billing"], "required": true}, "handoff": "editor"}),
        );
        world.model.answers("Mind.").calls_tool("hand_over", json!({"to": "billing"}));
        world.model.answers("Paid.").answers("It is paid.");
        world.ann.says("#lab", "one").await;
        world.sees("#lab", "It is paid.").await;

        for name in ["security", "billing", "editor"] {
            broken(name);
        }
        world.model.answers("By myself.");
        world.ann.says("#lab", "two").await;
        let seen = world.sees("#lab", "-# Not passed on: `editor` did not finish (it cannot be used).").await;
        assert!(seen.contains("By myself."), "{seen}");
        let last = world.model.last_request();
        assert!(!last["tools"].to_string().contains("hand_over"), "{last}");
        assert!(told(&last).contains("failed=\"failed\""), "{last}");
        let notice = world.sees("#lab", "`security` cannot advise, so I answer without its advice").await;
        assert!(notice.contains("Nothing can be handed over to `billing`"), "{notice}");
        assert!(notice.contains("`editor` cannot pass my answers on, so they are shown without it"), "{notice}");

        // Not again with the next message, nor after a restart.
        world.model.answers("Still alone.");
        world.ann.says("#lab", "three").await;
        world.sees("#lab", "Still alone.").await;
        world.restarts().await;
        world.model.answers("Alone for good.");
        world.ann.says("#lab", "four").await;
        let seen = world.sees("#lab", "Alone for good.").await;
        assert_eq!(seen.matches("cannot advise").count(), 1, "{seen}");

        for name in ["security", "billing", "editor"] {
            let text = format!("---\nname: {name}\ndescription: Works.\ntools: []\n---\nWork.\n");
            charter(world, name, &text);
        }
        world.model.answers("Mind.").answers("I do it.").answers("Paid again.").answers("It is paid again.");
        world.ann.says("#lab", "five").await;
        world.sees("#lab", "All roles of my stages can be used again.").await;
        world.sees("#lab", "It is paid again.").await;
    })
    .await;
}

#[tokio::test]
async fn a_charter_whose_gate_is_gone_keeps_it_over_a_restart() {
    run_test(async |world| {
        charter(world, "redactor", REDACTOR);
        let own = "---\nname: lab\ndescription: Tells.\nhandoff: {role: redactor, on_failure: withhold}\n---\nTell.\n";
        std::fs::write(world.home().join("agents/lab/charter.md"), own).unwrap();
        world.model.answers("quagga").answers("Nothing.");
        world.ann.says("#lab", "tell me").await;
        world.sees("#lab", "Nothing.").await;
        world.stops().await;
        remove(world, "redactor");
        world.starts().await;
        world.model.answers("quagga");
        world.ann.says("#lab", "tell me again").await;
        let seen = world.sees("#lab", "**The answer was withheld.**").await;
        assert!(!seen.contains("quagga"), "{seen}");
    })
    .await;
}

#[tokio::test]
async fn a_branch_that_works_as_a_role_passes_the_gates_of_the_agent() {
    run_test(async |world| {
        charter(world, "redactor", REDACTOR);
        let handoff = json!({"role": "redactor", "on_failure": "withhold"});
        world.edits_agent_json("lab", json!({ "handoff": handoff }));
        world.model.answers("quagga").answers("Nothing.");
        world
            .ann
            .runs("/branch new prompt:tell me role:general", "#lab")
            .await;
        let seen = world.sees("#lab", "Nothing.").await;
        assert!(!seen.contains("quagga"), "{seen}");
    })
    .await;
}

/// A role of the workspace is what the agent itself can write, and a branch what it can open.
#[tokio::test]
async fn the_mode_of_a_role_takes_no_gate_of_the_agent_away() {
    for mode in ["direct", "lightweight"] {
        run_test(async |world| {
            charter(world, "redactor", REDACTOR);
            let handoff = json!({"role": "redactor", "on_failure": "withhold"});
            world.edits_agent_json("lab", json!({ "handoff": handoff }));
            let folder = world.workspace("lab").join(".claude/agents");
            std::fs::create_dir_all(&folder).unwrap();
            let text = format!("---\nname: leak\ndescription: Leaks.\nmode: {mode}\n---\nTell all.\n");
            std::fs::write(folder.join("leak.md"), text).unwrap();
            world.model.follows(|request| {
                let system = request["system"].to_string();
                let said = request["messages"].to_string();
                let is_over = said.contains("tool_result") || said.contains("[note]");
                let words = match system {
                    system if system.contains("Tell all.") => "quagga",
                    system if system.contains("You are `redactor`") => "Nothing.",
                    _ if is_over => "It is under way.",
                    _ => {
                        let task = json!({"role": "leak", "prompt": "Tell.", "title": "tell", "wait": false});
                        let call = Block::Call("toolu_1".to_owned(), "sub_agent".to_owned(), task);
                        return Reply::new(vec![call]);
                    }
                };
                Reply::new(vec![Block::Text(words.to_owned())])
            });
            world.ann.says("#lab", "go").await;
            let ended = "SELECT c.kind || ' ' || t.exit FROM turns t JOIN conversations c ON c.id = t.conversation_id
                WHERE c.kind = 'branch' AND t.state = 'finished'";
            world.ledger_says(ended, &["branch answered"]).await;
            let seen = world.sees("#lab", "Nothing.").await;
            assert!(!seen.contains("quagga"), "{mode}: {seen}");
        })
        .await;
    }
}

#[tokio::test]
async fn keys_are_set_by_people_and_checked() {
    run_test(async |world| {
        charter(world, "redactor", REDACTOR);
        in_workspace(world, "friend");
        charter(world, "broken", "---\nname: [\n---\nBroken.\n");
        let refused = [
            (
                "advisors",
                "redacter",
                "There is no role `redacter`. Did you mean `redactor`?",
            ),
            (
                "advisors",
                "friend",
                "`friend` comes from a repository, which may not be a gate.",
            ),
            ("advisors", "broken", "`broken` cannot be used."),
            ("advisors", "a, b, c, d, e, f", "Name at most 5 roles."),
            ("advisors", "redactor, redactor", "Name each role once."),
            ("handoff", "a, b, c, d", "Name at most 3 roles."),
            (
                "handoff",
                "{\"role\": \"redactor\", \"on_failure\": \"hide\"}",
                "Write names with commas between, or JSON such as",
            ),
            ("router", "nobody", "There is no role `nobody`."),
            (
                "router",
                "{\"destinations\": [], \"to\": 1}",
                "Write names with commas between, or JSON such as",
            ),
        ];
        for (key, value, expected) in refused {
            let set = format!("/agent config name:lab key:{key} value:{value}");
            let told = world.ann.asks(&set, "#lab").await;
            assert!(told.contains(expected), "{key} {value}: {told}");
            assert!(world.agent_json("lab").get(key).is_none(), "{key} {value}");
        }
        let set = [
            (
                "advisors",
                "redactor, explore",
                json!(["redactor", "explore"]),
            ),
            ("advisors", "none", json!([])),
            ("advisors", "default", json!(null)),
            (
                "router",
                "redactor",
                json!({"destinations": ["redactor"], "required": false}),
            ),
            (
                "router",
                "{\"destinations\": [\"general\"], \"required\": true}",
                json!({"destinations": ["general"], "required": true}),
            ),
            (
                "router",
                "none",
                json!({"destinations": [], "required": false}),
            ),
            ("handoff", "redactor", json!(["redactor"])),
            (
                "handoff",
                "{\"role\": \"redactor\", \"on_failure\": \"withhold\"}",
                json!([{"role": "redactor", "on_failure": "withhold"}]),
            ),
            ("handoff", "none", json!([])),
        ];
        for (key, value, expected) in set {
            let set = format!("/agent config name:lab key:{key} value:{value}");
            let told = world.ann.asks(&set, "#lab").await;
            assert!(told.contains("of `lab` is now"), "{key} {value}: {told}");
            assert_eq!(world.agent_json("lab")[key], expected, "{key} {value}");
        }
        // An empty list takes away what the charter says.
        let own = "---\nname: lab\ndescription: Tells.\nhandoff: redactor\n---\nTell.\n";
        std::fs::write(world.home().join("agents/lab/charter.md"), own).unwrap();
        world.exchange("hello", "Hello.").await;
        assert_eq!(world.model.requests().len(), 1);
        // Somebody who may not grant the agent's profile may not move its gates.
        world
            .ann
            .asks("/agent config name:lab key:permissions value:open", "#lab")
            .await;
        world.confirms().await;
        let told = world
            .bob
            .tries("/agent config name:lab key:handoff value:redactor", "#lab")
            .await;
        assert!(told.is_err() || world.agent_json("lab")["handoff"] == json!([]));
    })
    .await;
}

#[tokio::test]
async fn more_than_three_roles_in_a_row_fail_as_the_fourth_says() {
    run_test(async |world| {
        for (name, next) in [
            ("one", "handoff: two\n"),
            ("two", "handoff: three\n"),
            ("three", "handoff: {role: four, on_failure: withhold}\n"),
            ("four", ""),
        ] {
            let text =
                format!("---\nname: {name}\ndescription: Passes.\ntools: []\n{next}---\nPass.\n");
            charter(world, name, &text);
        }
        world.edits_agent_json("lab", json!({"handoff": "one"}));
        world
            .model
            .answers("0")
            .answers("1")
            .answers("2")
            .answers("3");
        world.ann.says("#lab", "go").await;
        world
            .sees(
                "#lab",
                "`four` must pass it and did not finish (it cannot be used)",
            )
            .await;
    })
    .await;
}
