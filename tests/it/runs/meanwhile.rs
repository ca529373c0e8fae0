//! What changes between the moment at which a sub-agent is called and the one at which it begins: people are asked about calls, and
//! much can happen until they answer.

use serde_json::{Value, json};

use super::threads::{THREAD, explore_is_done};
use super::{assignment, charter, goes_on, results, run_test, run_test_with};
use crate::world::{Setup, World};

/// Has the agent make this call after `said`, and people be asked about it.
async fn is_asked_about(world: &World, call: (&'static str, Value), said: &str) {
    let permissions = json!({"allow": [], "ask": [".*"], "deny": []});
    world.edits_agent_json("lab", json!({"permissions": permissions}));
    world.model.calls(&[call]);
    world.ann.says("#lab", said).await;
    world.question("#lab").await;
}

#[tokio::test]
async fn a_former_sub_agent_that_became_a_branch_is_not_continued() {
    run_test(async |world| {
        explore_is_done(world).await;
        let id = "SELECT substr(id, -8) FROM turns WHERE kind = 'sub_agent'";
        let id = world.ledger(id).await.remove(0);

        is_asked_about(world, goes_on("explore", &id, "More."), "go on with it").await;
        let thought = world.model.is_thinking();
        world.ann.says(THREAD, "where?").await;
        world.model.was_asked(5).await;
        world.model.answers("It is a branch now.");
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "It is a branch now.").await;
        let told = results(world).pop().unwrap();
        let expected = format!("Error: `{id}` is no former sub-agent of this conversation");
        assert_eq!(told, expected);
        thought.ends();
        world
            .ledger_says("SELECT DISTINCT state FROM turns", &["finished"])
            .await;
    })
    .await;
}

#[tokio::test]
async fn an_agent_that_was_destroyed_is_not_called() {
    run_test(async |world| {
        world.makes_agent("docs").await;
        let call = assignment("@docs", "What is planned?");
        is_asked_about(world, call, "what does docs plan?").await;
        world.ann.runs("/agent destroy name:docs", "#general").await;
        world.ann.clicks("#general", "Confirm").await;
        let gone = "SELECT status FROM agents WHERE name = 'docs'";
        world.ledger_says(gone, &["destroyed"]).await;
        world.model.answers("It is gone.");
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "It is gone.").await;
        let told = results(world).pop().unwrap();
        assert!(
            told.starts_with("Error: there is no agent `docs` here"),
            "{told}"
        );
        assert!(!world.home().join("agents/docs").exists());
    })
    .await;
}

#[tokio::test]
async fn refused_and_denied_calls_do_not_count_towards_the_limit_of_a_run() {
    let setup = Setup {
        config: json!({"orchestration": {"max_children": 1}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.model.calls(&[
            goes_on("explore", "deadbeef", "More."),
            assignment("@nobody", "Look."),
            assignment("explore", "Look."),
        ]);
        world.model.answers("Looked.").answers("One of three.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "One of three.").await;
        let told = results(world);
        assert!(told[2].ends_with("\nLooked."), "{told:?}");

        is_asked_about(world, assignment("explore", "Look again."), "again").await;
        world
            .model
            .calls(&[assignment("explore", "Look once more.")]);
        world.ann.clicks("#lab", "Deny").await;
        world.model.was_asked(5).await;
        world.question("#lab").await;
        world.model.answers("Looked.").answers("The second.");
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "The second.").await;
        let told = results(world);
        assert!(told.last().unwrap().ends_with("\nLooked."), "{told:?}");
    })
    .await;
}

#[tokio::test]
async fn a_call_that_a_stop_prevented_does_not_count_towards_the_limit_of_a_run() {
    let setup = Setup {
        config: json!({"orchestration": {"max_children": 2}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        charter(
            world,
            "lead",
            "---\nname: lead\ndescription: Leads.\nsub_agents: [explore]\npermissions: {allow: ['tool:sub_agent:.*'], ask: ['tool:bash:.*'], deny: []}\n---\nYou lead.\n",
        );
        world.model.calls(&[assignment("lead", "Lead it.")]);
        world.model.calls(&[
            ("bash", json!({"command": "echo a > a.txt"})),
            assignment("explore", "Look."),
        ]);
        world.ann.says("#lab", "go").await;
        world.question("#lab").await;
        world
            .model
            .answers("I led half.")
            .calls(&[assignment("explore", "Look.")])
            .answers("Looked.")
            .answers("All done.");
        let id = world.ledger("SELECT id FROM turns WHERE role = 'lead'").await;
        world.ann.runs(&format!("/stop child:{}", id[0]), "#lab").await;
        world.sees("#lab", "All done.").await;
        let told = results(world);
        assert!(told.last().unwrap().ends_with("\nLooked."), "{told:?}");
    })
    .await;
}
