//! An agent's own charter: its file is in force at the next request, and a mistake in it is told with its lines.

use serde_json::json;

use super::{lab, system, tools, writes};
use crate::world::{World, run_test};

const REVIEWER: &str = "---
name: reviewer
description: Reviews a change.
tools: [view, grep, glob, bash]
disallowedTools: [bash]
---
You review changes and nothing else.
";

#[tokio::test]
async fn a_charter_is_in_force_at_the_next_request_and_so_is_an_edit() {
    run_test(async |world| {
        world.exchange("hello", "Hello.").await;
        assert!(tools(world).len() > 10);
        writes(world, "charter.md", REVIEWER);
        world.exchange("review it", "Reviewed.").await;
        assert_eq!(tools(world), ["view", "glob", "grep", "tool_output"]);
        let told = system(world);
        let role = told.find("You review changes and nothing else.").unwrap();
        let own = told.find("general-purpose AI agent").unwrap();
        assert!(role < own, "{told}");
        writes(
            world,
            "charter.md",
            &REVIEWER.replace("nothing else", "tests"),
        );
        world.exchange("again", "Again.").await;
        assert!(system(world).contains("You review changes and tests."));
        std::fs::remove_file(lab(world).join("charter.md")).unwrap();
        world.exchange("and now?", "As before.").await;
        assert!(!system(world).contains("You review changes"));
        assert!(tools(world).len() > 10);
        assert!(!world.transcript("#lab").contains("charter.md"));
    })
    .await;
}

#[tokio::test]
async fn a_tool_that_the_role_lacks_is_refused_by_its_name_and_nothing_runs() {
    run_test(async |world| {
        writes(world, "charter.md", REVIEWER);
        let command = json!({"command": "echo ran > ran.txt"});
        world.model.calls_tool("bash", command);
        world.exchange("run it", "I cannot.").await;
        let told = world.model.last_request()["messages"].to_string();
        assert!(
            told.contains("the role `reviewer` has no tool `bash`"),
            "{told}"
        );
        assert!(!world.workspace("lab").join("ran.txt").exists());
        let audited =
            "SELECT decision || ' ' || action_string FROM audit_log WHERE turn_id IS NOT NULL";
        assert_eq!(
            world.ledger(audited).await,
            ["deny tool:bash:echo ran > ran.txt"]
        );
        let run = "SELECT count(*) || '' FROM attempts WHERE kind = 'tool'";
        assert_eq!(world.ledger(run).await, ["0"]);
    })
    .await;
}

#[tokio::test]
async fn every_mistake_is_told_once_with_its_line_and_the_old_role_answers() {
    run_test(async |world| {
        writes(world, "charter.md", REVIEWER);
        world.exchange("hello", "Hello.").await;
        writes(
            world,
            "charter.md",
            "---\nname: reviewer\ndescription: Reviews.\nmodel: scripted-modle\ntools: [view, gerp]\nmax_stepps: 4\npermissions: lokced\n---\nOther.\n",
        );
        for answer in ["Still here.", "And still."] {
            world.exchange("are you there?", answer).await;
            assert!(system(world).contains("You review changes and nothing else."));
        }
        // Discord draws no backslash.
        let seen = world.transcript("#lab").replace("\\_", "_");
        assert_eq!(seen.matches("the last good role stays in use").count(), 1, "{seen}");
        for line in [
            "charter.md, line 4: model: there is no model `scripted-modle`; did you mean `scripted-model`?",
            "charter.md, line 5: tools: there is no tool `gerp`; did you mean `grep`?",
            "charter.md, line 6: max_stepps: there is no such key; did you mean `max_steps`?",
            "charter.md, line 7: permissions: ",
        ] {
            assert!(seen.contains(line), "{line}\n{seen}");
        }
        writes(world, "charter.md", REVIEWER);
        world.exchange("better?", "Better.").await;
        world.sees("#lab", "`charter.md` is valid again and in use.").await;
    })
    .await;
}

#[tokio::test]
async fn with_a_broken_charter_from_the_start_the_agent_only_looks() {
    run_test(async |world| {
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        world.stops().await;
        writes(world, "charter.md", "---\nname: reviewer\n---\n");
        world.starts().await;
        world.exchange("hello", "Hello.").await;
        assert!(
            !tools(world).contains(&"bash".to_owned()),
            "{:?}",
            tools(world)
        );
        assert!(tools(world).contains(&"view".to_owned()));
        let seen = world.transcript("#lab");
        assert!(
            seen.contains("Until it is corrected, I can only read files"),
            "{seen}"
        );
        writes(world, "charter.md", REVIEWER);
        world.exchange("better?", "Better.").await;
        assert!(system(world).contains("You review changes"));
    })
    .await;
}

#[tokio::test]
async fn what_is_no_file_or_no_text_is_refused_by_name() {
    run_test(async |world| {
        world.exchange("hello", "Hello.").await;
        let path = lab(world).join("charter.md");
        std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
        world.exchange("a link", "One.").await;
        world
            .sees("#lab", "charter.md: it is not a regular file")
            .await;
        std::fs::remove_file(&path).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
        world.exchange("a pipe", "Two.").await;
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, vec![b'a'; (64 << 10) + 1]).unwrap();
        world.exchange("a long one", "Three.").await;
        world
            .sees(
                "#lab",
                "charter.md: the file has more than 64 KiB; shorten it",
            )
            .await;
        std::fs::write(&path, b"\xff\xfea\0").unwrap();
        world.exchange("another alphabet", "Four.").await;
        world
            .sees("#lab", "charter.md: the file is UTF-16; save it as UTF-8")
            .await;
        std::fs::remove_file(&path).unwrap();
        world.exchange("gone", "Five.").await;
        world
            .sees("#lab", "`charter.md` was removed. I work without a role.")
            .await;
    })
    .await;
}

#[tokio::test]
async fn agent_json_overrides_the_charter_key_by_key() {
    run_test(async |world| {
        world.model.lists(&["scripted-model", "other-model"]);
        world.restarts().await;
        let charter = REVIEWER.replace("tools:", "model: other-model\nmax_steps: 1\ntools:");
        writes(world, "charter.md", &charter);
        world.edits_agent_json("lab", json!({"model": null}));
        world.exchange("whose turn is it?", "Mine.").await;
        assert_eq!(world.model.last_request()["model"], "other-model");
        world.edits_agent_json("lab", json!({"model": "scripted-model"}));
        world.model.calls_tool("view", json!({"path": "."}));
        world.exchange("look", "One step was all.").await;
        let last = world.model.last_request();
        assert_eq!(last["model"], "scripted-model");
        assert!(last["messages"].to_string().contains("1 step"), "{last}");
    })
    .await;
}

#[tokio::test]
async fn a_failure_is_told_in_the_roles_words_and_kept_in_the_ledger() {
    run_test(async |world| {
        let charter = "---\nname: a\ndescription: b\ntool_errors: {view: Ask the desk for that file.}\nmode: standard\nsections: {standard: [Identity]}\n---\n## Identity\nA clerk.\n## Secrets\nMore.\n";
        writes(world, "charter.md", charter);
        world.model.calls_tool("view", json!({"path": "none.txt"}));
        world.exchange("look", "There is none.").await;
        let told = world.model.last_request()["messages"].to_string();
        assert!(told.contains("Error: Ask the desk for that file."), "{told}");
        assert!(!told.contains("no file"), "{told}");
        let kept = "SELECT detail FROM attempts WHERE kind = 'tool'";
        assert!(world.ledger(kept).await[0].contains("none.txt"));
        let system = system(world);
        assert!(system.contains("A clerk.") && !system.contains("More."), "{system}");
    })
    .await;
}

/// Asks for a command that the agent's profile asks about, and gives the labels on its card.
async fn labels(world: &mut World) -> Vec<String> {
    world
        .model
        .calls_tool("bash", json!({"command": "touch asked.txt"}));
    world.model.answers("Done.");
    world.ann.says("#lab", "run it").await;
    let card = world.question("#lab").await;
    world.ann.clicks("#lab", "Allow").await;
    world.sees("#lab", "Done.").await;
    card.buttons()
        .iter()
        .map(|button| button.label.clone())
        .collect()
}

#[tokio::test]
async fn a_question_is_kept_for_all_times_only_where_that_means_something() {
    run_test(async |world| {
        let asks = "---\nname: careful\ndescription: Asks.\npermissions: {allow: [], ask: ['.*'], deny: []}\n---\nBe careful.\n";
        assert!(labels(world).await.contains(&"Always allow".to_owned()));
        writes(world, "charter.md", asks);
        let labels = labels(world).await;
        assert!(labels.contains(&"Allow".to_owned()), "{labels:?}");
        assert!(!labels.contains(&"Always allow".to_owned()), "{labels:?}");
    })
    .await;
}
