//! A role is called: its request, its report, and several at once.

use serde_json::json;

use super::{assignment, charter, goes_on, results, results_of, run_test, run_test_with};
use crate::world::Setup;

const REVIEWER: &str = "---
name: reviewer
description: Reviews a change.
sub_agents: [explore]
---
You review changes and nothing else.
";

#[tokio::test]
async fn a_report_comes_back_as_the_result_of_the_call() {
    run_test(async |world| {
        world.exchange("our secret word is plum", "Noted.").await;
        world.model.calls(&[assignment("explore", "Find TODO.")]);
        world.model.answers("There is one TODO.");
        world.model.answers("One, says explore.");
        world.ann.says("#lab", "how many?").await;
        world.sees("#lab", "One, says explore.").await;
        let requests = world.model.requests();
        let [.., child, parent] = requests.as_slice() else {
            panic!("{requests:?}");
        };
        let told = child.to_string();
        assert!(told.contains("You are `explore`, a sub-agent of `lab`."), "{told}");
        assert!(told.contains("You were given one question by another agent"));
        assert!(told.contains("Find TODO."));
        assert!(!told.contains("plum") && !told.contains("general-purpose AI agent"), "{told}");
        assert!(!told.contains("about Find TODO."), "its title is for people: {told}");
        let tools: Vec<&str> = child["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(tools, ["view", "glob", "grep", "tool_output"]);
        let got = results_of(parent);
        let [report] = got.as_slice() else {
            panic!("{got:?}");
        };
        let id = world.ledger("SELECT substr(id, -8) FROM turns WHERE kind = 'sub_agent'").await;
        let heading = format!("[explore · {} · answered · 1 step · ", id[0]);
        assert!(report.starts_with(&heading), "{report}");
        assert!(report.ends_with("\nThere is one TODO."), "{report}");
        let rows = "SELECT c.path || ' ' || c.role || ' ' || c.title || ' ' || c.exit || ' ' || (c.run_id = p.id) || ' '
                || (c.parent_id = p.id) || ' ' || (c.origin_id = p.id) || ' ' || k.kind || ' ' || k.role
            FROM turns c JOIN turns p ON c.parent_id = p.id JOIN conversations k ON k.id = c.conversation_id";
        world
            .ledger_says(rows, &["lab/explore explore about Find TODO. answered 1 1 1 child explore"])
            .await;
        let seen = world.transcript("#lab");
        assert!(seen.contains(", of it 1 sub-agent"), "{seen}");
        assert!(!seen.contains("There is one TODO."), "{seen}");
    })
    .await;
}

#[tokio::test]
async fn four_work_at_once_and_their_reports_stand_in_the_order_of_the_calls() {
    run_test(async |world| {
        let assignments: Vec<_> = ["one", "two", "three", "four", "five"]
            .map(|what| assignment("general", what))
            .into();
        world.model.calls(&assignments);
        let thoughts: Vec<_> = ["a", "b", "c", "d"]
            .map(|word| world.model.thinks_then(word))
            .into();
        world.model.answers("e").answers("All five are done.");
        world.ann.says("#lab", "go").await;
        // The requests of four overlap; the fifth waits for its turn.
        world.model.was_asked(5).await;
        world
            .ledger_says(
                "SELECT count(*) || '' FROM turns WHERE kind = 'sub_agent' AND state = 'running'",
                &["5"],
            )
            .await;
        world.sees("#lab", "” · step 1 · Thinking").await;
        world.sees("#lab", "Waiting for its turn").await;
        for thought in thoughts {
            thought.ends();
        }
        world.sees("#lab", "All five are done.").await;
        let got = results(world);
        assert_eq!(got.len(), 5, "{got:?}");
        let requests = world.model.requests();
        for (what, got) in ["one", "two", "three", "four", "five"].iter().zip(&got) {
            // What a child was asked and answered stands at the place of its call.
            let asked = requests
                .iter()
                .filter(|request| {
                    request.to_string().contains(&format!("\"{what}\""))
                        || request["messages"][0].to_string().contains(what)
                })
                .count();
            assert!(asked >= 1, "{what} {got}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_sub_agent_calls_one_itself_where_its_charter_names_it_and_no_deeper() {
    run_test(async |world| {
        charter(world, "reviewer", REVIEWER);
        world.model.calls(&[assignment("reviewer", "Review it.")]);
        world.model.calls(&[assignment("explore", "Look.")]);
        world.model.calls(&[assignment("explore", "Deeper.")]);
        world.model.answers("Looked.").answers("Reviewed.").answers("All well.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "All well.").await;
        let requests = world.model.requests();
        let refused = requests.iter().flat_map(results_of).find(|result| result.contains("has no tool"));
        assert_eq!(
            refused.as_deref(),
            Some("Error: not permitted: the role `explore` has no tool `sub_agent`")
        );
        let paths = "SELECT path FROM turns ORDER BY rowid";
        assert_eq!(world.ledger(paths).await, ["lab", "lab/reviewer", "lab/reviewer/explore"]);
        let chain = "SELECT count(DISTINCT run_id) || ' ' || count(DISTINCT origin_id) || ' ' || count(DISTINCT parent_id) FROM turns";
        assert_eq!(world.ledger(chain).await, ["1 1 2"]);
    })
    .await;
}

#[tokio::test]
async fn a_former_sub_agent_continues_with_all_it_knows() {
    run_test(async |world| {
        world.model.calls(&[assignment("explore", "Find the plum.")]);
        world.model.answers("It is in the garden.").answers("Found.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "Found.").await;
        let id = world.ledger("SELECT substr(id, -8) FROM turns WHERE kind = 'sub_agent'").await.remove(0);
        world.model.calls(&[goes_on("explore", &id, "And the pear?")]);
        world.model.answers("In the kitchen.").answers("Both found.");
        world.ann.says("#lab", "go on").await;
        world.sees("#lab", "Both found.").await;
        let requests = world.model.requests();
        let [.., child, _] = requests.as_slice() else {
            panic!("{requests:?}");
        };
        let told = child["messages"].to_string();
        for known in ["Find the plum.", "It is in the garden.", "And the pear?"] {
            assert!(told.contains(known), "{told}");
        }
        let same = "SELECT count(*) || ' ' || count(DISTINCT conversation_id) FROM turns WHERE kind = 'sub_agent'";
        assert_eq!(world.ledger(same).await, ["2 1"]);
    })
    .await;
}

#[tokio::test]
async fn a_report_can_be_read_again_by_its_id() {
    run_test(async |world| {
        world.model.calls(&[assignment("explore", "Find TODO.")]);
        world.model.answers("There is one TODO.").answers("One.");
        world.ann.says("#lab", "how many?").await;
        world.sees("#lab", "One.").await;
        let id = world
            .ledger("SELECT substr(id, -8) FROM turns WHERE kind = 'sub_agent'")
            .await
            .remove(0);
        world.model.calls_tool("tool_output", json!({"handle": id}));
        world.model.answers("As I said.");
        world.ann.says("#lab", "again").await;
        world.sees("#lab", "As I said.").await;
        let got = results(world);
        assert!(
            got.last()
                .is_some_and(|page| page.contains("There is one TODO.")),
            "{got:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_child_can_do_nothing_that_its_parent_may_not() {
    run_test(async |world| {
        charter(
            world,
            "wide",
            "---\nname: wide\ndescription: Does all.\npermissions: open\n---\nDo it.\n",
        );
        world.edits_agent_json(
            "lab",
            json!({"permissions": {"allow": ["tool:(view|sub_agent):.*"], "ask": [], "deny": []}}),
        );
        world.model.calls(&[assignment("wide", "Write it.")]);
        world
            .model
            .calls_tool("create_file", json!({"path": "x.txt", "content": "x"}));
        world.model.answers("I may not.").answers("It may not.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "It may not.").await;
        assert!(!world.workspace("lab").join("x.txt").exists());
        let audit = "SELECT decision || ' ' || coalesce(role, '-') || ' ' || (run_id IS NOT NULL) FROM audit_log WHERE turn_id IS NOT NULL ORDER BY id";
        assert_eq!(world.ledger(audit).await, ["allow - 1", "deny wide 1"]);
    })
    .await;
}

#[tokio::test]
async fn a_question_of_a_child_names_it_and_its_parent_waits() {
    run_test(async |world| {
        world
            .model
            .calls(&[assignment("general", "Write it down.")]);
        world
            .model
            .calls_tool("bash", json!({"command": "echo done > done.txt"}));
        world.model.answers("Written.").answers("It is written.");
        world.ann.says("#lab", "go").await;
        let card = world.question("#lab").await;
        let embed = &card.embeds[0];
        assert_eq!(embed["title"], "lab ▸ general asks for permission");
        let text = embed["description"].as_str().unwrap();
        assert!(
            text.starts_with("For “about Write it down.” · asked for by"),
            "{text}"
        );
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "It is written.").await;
        assert!(world.workspace("lab").join("done.txt").exists());
    })
    .await;
}

#[tokio::test]
async fn a_role_of_a_tier_is_answered_by_the_model_that_was_chosen_for_it() {
    run_test_with(Setup::with_small_model(), async |world| {
        world.model.calls(&[assignment("explore", "Find TODO.")]);
        world.model.answers("None.").answers("None, says explore.");
        world.ann.says("#lab", "how many?").await;
        world.sees("#lab", "None, says explore.").await;
        let models: Vec<_> = world
            .model
            .requests()
            .iter()
            .map(|request| request["model"].clone())
            .collect();
        assert_eq!(models, ["scripted-model", "small-one", "scripted-model"]);
    })
    .await;
}
