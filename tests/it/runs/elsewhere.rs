//! A run's agent has another agent work for it, under the rights of both.

use chorus_playground::Rights;
use serde_json::json;

use super::{assignment, nothing_is_left, results, results_of};
use crate::world::{World, run_test};

/// Makes `docs`, whose workspace holds `plan.txt`.
async fn with_docs(world: &mut World) {
    world.makes_agent("docs").await;
    world.edits_agent_json("docs", json!({"system_prompt": "You keep the plans."}));
    std::fs::write(
        world.workspace("docs").join("plan.txt"),
        "plant the plum tree\n",
    )
    .unwrap();
    world.reads_everything();
}

#[tokio::test]
async fn it_works_in_its_own_folder_as_itself_and_its_channel_is_told() {
    run_test(async |world| {
        with_docs(world).await;
        world.model.calls(&[assignment("@docs", "What is planned?")]);
        world.model.calls_tool("view", json!({"path": "plan.txt"}));
        world.model.answers("To plant the plum tree.").answers("They plant a tree.");
        world.ann.says("#lab", "what does docs plan?").await;
        world.sees("#lab", "They plant a tree.").await;
        let requests = world.model.requests();
        let [.., first, second, _] = requests.as_slice() else {
            panic!("{requests:?}");
        };
        let asked = first.to_string();
        assert!(asked.contains("You are `docs`, a sub-agent of `lab`."), "{asked}");
        assert!(asked.contains("You keep the plans.") && asked.contains("What is planned?"), "{asked}");
        let [plan] = results_of(second).try_into().unwrap();
        assert!(plan.contains("plant the plum tree"), "{plan}");
        let report = results(world).pop().unwrap();
        assert!(report.starts_with("[@docs · ") && report.ends_with("\nTo plant the plum tree."), "{report}");
        let told = world.sees("#docs", "-# Worked for `lab` in #lab").await;
        assert!(told.contains("“about What is planned?” · 2 steps"), "{told}");
        // Who asks, pays.
        let rows = "SELECT t.path || ' ' || a.name FROM turns t JOIN agents a ON a.id = t.agent_id ORDER BY t.rowid";
        assert_eq!(world.ledger(rows).await, ["lab lab", "lab/@docs lab"]);
        let paid = "SELECT DISTINCT a.name || ' ' || coalesce(x.role, '-') FROM attempts x JOIN agents a ON a.id = x.agent_id ORDER BY 1";
        assert_eq!(world.ledger(paid).await, ["lab -", "lab @docs"]);
        nothing_is_left(world).await;
    })
    .await;
}

#[tokio::test]
async fn it_does_what_both_may_do_and_asks_in_the_channel_of_who_called() {
    run_test(async |world| {
        with_docs(world).await;
        world.edits_agent_json("docs", json!({"permissions": "open"}));
        let command = json!({"command": "rm plan.txt"});
        world.model.calls(&[assignment("@docs", "Clean up.")]);
        world.model.calls_tool("bash", command.clone());
        world.model.answers("Gone.").answers("Done.");
        world.ann.says("#lab", "clean up there").await;
        world.question("#lab").await;
        let shown = world.transcript("#lab");
        assert!(
            shown.contains("lab ▸ @docs asks")
                && shown.contains("In the workspace of **docs**")
                && !shown.contains("Always allow"),
            "{shown}"
        );
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Done.").await;
        assert!(!world.workspace("docs").join("plan.txt").exists());
        // What it may not itself, nobody has it do.
        world.edits_agent_json("docs", json!({"permissions": "locked"}));
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        world.model.calls(&[assignment("@docs", "Make one.")]);
        world.model.calls_tool("bash", command);
        world.model.answers("I may not.").answers("It may not.");
        world.ann.says("#lab", "make a plan there").await;
        world.sees("#lab", "It may not.").await;
        let refused = world
            .model
            .requests()
            .iter()
            .flat_map(results_of)
            .find(|told| told.contains("not permitted"));
        let refused = refused.unwrap();
        assert!(refused.contains("agent `docs`"), "{refused}");
        nothing_is_left(world).await;
    })
    .await;
}

#[tokio::test]
async fn nobody_is_called_whom_the_people_behind_the_turn_may_not_talk_to() {
    run_test(async |world| {
        with_docs(world).await;
        let vip = world.ann.person.gets_role("vip", Rights::default());
        world.edits_agent_json("docs", json!({"access_roles": [vip.0]}));
        world.model.calls(&[
            assignment("@docs", "Look."),
            assignment("@nobody", "Look."),
            assignment("@lab", "Look."),
            assignment("@No Name", "Look."),
        ]);
        world.model.answers("None of them.");
        world.bob.says("#lab", "ask around").await;
        world.sees("#lab", "None of them.").await;
        let told = results(world);
        let nobody = |name| format!("Error: there is no agent `{name}` here that the people behind this turn may talk to; list_agents names those you can reach");
        assert_eq!(told[0], nobody("docs"));
        assert_eq!(told[1], nobody("nobody"));
        assert_eq!(told[2], "Error: that is you; name another agent, or a role");
        assert!(told[3].starts_with("Error: "), "{}", told[3]);
        world.ledger_says("SELECT count(*) || '' FROM turns WHERE kind = 'sub_agent'", &["0"]).await;
        assert_eq!(world.messages("#docs").len(), 1);
        nothing_is_left(world).await;
    })
    .await;
}

#[tokio::test]
async fn it_ends_when_it_is_destroyed_meanwhile_and_who_called_goes_on() {
    run_test(async |world| {
        with_docs(world).await;
        world
            .model
            .calls(&[assignment("@docs", "What is planned?")]);
        let thought = world.model.is_thinking();
        world.model.answers("It was destroyed meanwhile.");
        world.ann.says("#lab", "what does docs plan?").await;
        world.model.was_asked(2).await;
        world.ann.runs("/agent destroy name:docs", "#general").await;
        world.ann.clicks("#general", "Confirm").await;
        world.sees("#lab", "It was destroyed meanwhile.").await;
        drop(thought);
        it_was_aborted(world).await;
    })
    .await;
}

#[tokio::test]
async fn the_key_of_the_agent_says_whom_it_may_call() {
    run_test(async |world| {
        world.makes_agent("docs").await;
        for (value, answer) in [
            (
                "explroe",
                "There is no role `explroe` here. Did you mean `explore`? `/roles` lists them.",
            ),
            ("explore, @docs", "Sub agents of `lab` is now"),
        ] {
            let told = world
                .ann
                .asks(
                    &format!("/agent config name:lab key:sub_agents value:{value}"),
                    "#lab",
                )
                .await;
            assert!(told.contains(answer), "{told}");
        }
        assert_eq!(
            world.agent_json("lab")["sub_agents"],
            json!(["explore", "@docs"])
        );
        world.model.calls(&[
            assignment("general", "Look."),
            assignment("explore", "Look."),
        ]);
        world.model.answers("Nothing.").answers("One of two.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "One of two.").await;
        let told = results(world);
        assert!(
            told[0].starts_with("Error: there is no role `general`"),
            "{}",
            told[0]
        );
        assert!(told[1].ends_with("\nNothing."), "{}", told[1]);
        let first = world.model.requests()[0].to_string();
        assert!(
            first.contains("\\n@docs: another agent of this server"),
            "{first}"
        );
        // Nobody, and what its charter says, are two values.
        for (value, kept) in [("none", json!([])), ("default", json!(null))] {
            let set = format!("/agent config name:lab key:sub_agents value:{value}");
            world.ann.asks(&set, "#lab").await;
            assert_eq!(world.agent_json("lab")["sub_agents"], kept, "{value}");
        }
    })
    .await;
}

/// The work of `docs` for `lab` was aborted, and `lab` went on.
async fn it_was_aborted(world: &World) {
    let told = results(world).pop().unwrap();
    assert!(
        told.contains("· aborted ·") && told.contains("Error: it gave no answer"),
        "{told}"
    );
    let exits = "SELECT path || ' ' || exit FROM turns WHERE path LIKE 'lab%' ORDER BY rowid";
    let expected = ["lab answered", "lab/@docs aborted"];
    assert_eq!(world.ledger(exits).await, expected);
    nothing_is_left(world).await;
}

#[tokio::test]
async fn one_that_begins_while_its_agent_is_being_destroyed_ends_too() {
    run_test(async |world| {
        with_docs(world).await;
        world.model.answers("Noted.");
        world.ann.says("#docs", "we plant plums").await;
        world.sees("#docs", "Noted.").await;
        let asked = world.model.requests().len();
        // Its conversation is summed up first, which takes its time.
        let summary = world.model.thinks_about_summaries();
        world.ann.runs("/agent destroy name:docs", "#general").await;
        world.ann.clicks("#general", "Confirm").await;
        world.model.was_asked(asked + 1).await;
        world
            .model
            .calls(&[assignment("@docs", "What is planned?")]);
        world.model.answers("It is being destroyed.");
        world.ann.says("#lab", "what does docs plan?").await;
        world.sees("#lab", "It is being destroyed.").await;
        it_was_aborted(world).await;
        summary.ends();
        let gone = "SELECT status FROM agents WHERE name = 'docs'";
        world.ledger_says(gone, &["destroyed"]).await;
        let folder = world.home().join("agents/docs");
        world.becomes("its folder gone", || !folder.exists()).await;
    })
    .await;
}

#[tokio::test]
async fn it_ends_when_its_channel_is_deleted_meanwhile() {
    run_test(async |world| {
        with_docs(world).await;
        world
            .model
            .calls(&[assignment("@docs", "What is planned?")]);
        let thought = world.model.is_thinking();
        world.model.answers("Its channel is gone.");
        world.ann.says("#lab", "what does docs plan?").await;
        world.model.was_asked(2).await;
        let docs = world.channel("#docs");
        world.ann.person.deletes_channel(docs);
        world.sees("#lab", "Its channel is gone.").await;
        drop(thought);
        it_was_aborted(world).await;
    })
    .await;
}
