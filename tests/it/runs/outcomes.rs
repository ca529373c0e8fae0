//! What a parent is told of a sub-agent that does not simply answer, and what it is told of calls that ask for too much.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::{assignment, charter, results, results_of, run_test, run_test_with, two_at_work};
use crate::world::{Setup, World};

/// A role that says little and calls others.
fn caller(world: &World, name: &str, calls: &str) {
    let text = format!(
        "---\nname: {name}\ndescription: Calls others.\nsub_agents: [{calls}]\n---\nDo it.\n"
    );
    charter(world, name, &text);
}

/// The one result that the parent was told after `answer`.
async fn one_result(world: &World, answer: &str) -> String {
    world.ann.says("#lab", "go").await;
    world.sees("#lab", answer).await;
    let got = results(world);
    let [got] = got.as_slice() else {
        panic!("{got:?}");
    };
    got.clone()
}

/// The results of all requests that say that something is an error.
fn refusals(world: &World) -> Vec<String> {
    let requests = world.model.requests();
    let all = requests.iter().flat_map(results_of);
    let mut refusals: Vec<String> = all.filter(|one| one.starts_with("Error: ")).collect();
    refusals.dedup();
    refusals
}

#[tokio::test]
async fn one_that_declines_is_an_error_with_its_words() {
    run_test(async |world| {
        world.model.calls(&[assignment("general", "Do it.")]);
        world.model.replies(Reply {
            stop_reason: Some("refusal"),
            ..Reply::new(vec![Block::Text("That I do not do.".to_owned())])
        });
        world.model.answers("It declined.");
        let got = one_result(world, "It declined.").await;
        assert!(
            got.contains(" · refused · ") && got.ends_with("That I do not do."),
            "{got}"
        );
        let request = world.model.last_request();
        let blocks = request["messages"].as_array().unwrap().last().unwrap();
        assert_eq!(blocks["content"][0]["is_error"], true, "{blocks}");
    })
    .await;
}

#[tokio::test]
async fn one_whose_model_fails_is_an_error_and_the_parent_goes_on_with_its_own() {
    run_test_with(Setup::with_small_model(), async |world| {
        world.model.calls(&[assignment("explore", "Look.")]);
        let body = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "not today"}});
        world.model.fails_with(400, body);
        world.model.answers("It could not look.");
        let got = one_result(world, "It could not look.").await;
        assert!(got.contains(" · failed · "), "{got}");
        assert!(got.contains("Error: it gave no answer (failed).") && got.contains("not today"), "{got}");
        assert!(got.contains("Go on with `continue: \""), "{got}");
    })
    .await;
}

#[tokio::test]
async fn a_request_of_one_that_is_refused_takes_the_model_from_nobody_else() {
    run_test(async |world| {
        world.model.calls(&[assignment("explore", "Look.")]);
        let body = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "not today"}});
        world.model.fails_with(400, body);
        world.model.answers("It could not look.");
        let got = one_result(world, "It could not look.").await;
        assert!(got.contains("not today"), "{got}");
    })
    .await;
}

#[tokio::test]
async fn one_that_says_nothing_twice_is_an_error() {
    run_test(async |world| {
        world.model.calls(&[assignment("general", "Do it.")]);
        world
            .model
            .answers("")
            .answers("")
            .answers("It said nothing.");
        let got = one_result(world, "It said nothing.").await;
        assert!(got.contains("the model sent two empty answers"), "{got}");
    })
    .await;
}

#[tokio::test]
async fn one_whose_time_is_over_has_its_last_words() {
    run_test(async |world| {
        charter(
            world,
            "slow",
            "---\nname: slow\ndescription: Takes long.\ntimeout: 1s\n---\nDo it.\n",
        );
        world.model.calls(&[assignment("slow", "Do it.")]);
        let thought = world.model.is_thinking();
        world
            .model
            .answers("Half of it.")
            .answers("Half of it is done.");
        let got = one_result(world, "Half of it is done.").await;
        drop(thought);
        assert!(
            got.contains(" · time limit · ") && got.ends_with("Half of it."),
            "{got}"
        );
    })
    .await;
}

#[tokio::test]
async fn nobody_calls_a_role_at_work_above_or_goes_deeper_than_allowed() {
    run_test(async |world| {
        caller(world, "first", "second");
        caller(world, "second", "first, third");
        caller(world, "third", "explore");
        world.model.calls(&[assignment("first", "One.")]);
        world.model.calls(&[assignment("second", "Two.")]);
        world.model.calls(&[assignment("third", "Three.")]);
        world
            .model
            .answers("Two done.")
            .answers("One done.")
            .answers("All done.");
        one_result(world, "All done.").await;
        assert_eq!(refusals(world), ["Error: this is 2 levels deep already"]);
    })
    .await;
    let deeper = Setup {
        config: json!({"orchestration": {"max_depth": 3}}),
        ..Setup::default()
    };
    run_test_with(deeper, async |world| {
        caller(world, "first", "second");
        caller(world, "second", "first");
        world.model.calls(&[assignment("first", "One.")]);
        world.model.calls(&[assignment("second", "Two.")]);
        world.model.calls(&[assignment("first", "Three.")]);
        world
            .model
            .answers("Two done.")
            .answers("One done.")
            .answers("All done.");
        one_result(world, "All done.").await;
        assert_eq!(refusals(world), ["Error: first is at work above you"]);
    })
    .await;
}

#[tokio::test]
async fn the_seventeenth_of_a_run_is_refused() {
    run_test(async |world| {
        world.model.follows(|request| {
            let text = |text: &str| Reply::new(vec![Block::Text(text.to_owned())]);
            if request["system"].to_string().contains("a sub-agent of") {
                return text("Done.");
            }
            let results = results_of(request).len();
            // Ten calls of one step run; the rest comes with the next.
            let next = match results {
                0 => 0..10,
                10 => 10..17,
                _ => return text("All back."),
            };
            let calls = next.map(|number| {
                let (tool, task) = assignment("general", &format!("Part {number}."));
                Block::Call(format!("toolu_{number}"), tool.to_owned(), task)
            });
            Reply::new(calls.collect())
        });
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "All back.").await;
        let got = results(world);
        assert_eq!(got.len(), 17);
        let refused: Vec<&String> = got
            .iter()
            .filter(|one| one.starts_with("Error: "))
            .collect();
        assert_eq!(refused, ["Error: this run has had its 16 sub-agents"]);
        assert_eq!(got[16], *refused[0]);
        let begun = "SELECT count(*) || '' FROM turns WHERE kind = 'sub_agent'";
        assert_eq!(world.ledger(begun).await, ["16"]);
    })
    .await;
}

#[tokio::test]
async fn a_role_that_is_broken_or_hidden_says_so() {
    run_test(async |world| {
        charter(world, "broken", "---\nname: broken\ntools: [veiw]\n---\nDo it.\n");
        charter(
            world,
            "hidden",
            "---\nname: hidden\ndescription: For people.\ndisable-model-invocation: true\n---\nDo it.\n",
        );
        world.model.calls(&[
            assignment("broken", "One."),
            assignment("hidden", "Two."),
        ]);
        world.model.answers("Neither.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "Neither.").await;
        let got = results(world);
        assert!(
            got[0].starts_with("Error: the role `broken` cannot be used:") && got[0].contains("description"),
            "{}",
            got[0]
        );
        assert!(got[1].starts_with("Error: there is no role `hidden`"), "{}", got[1]);
    })
    .await;
}

#[tokio::test]
async fn only_a_former_sub_agent_of_this_conversation_continues_once_and_in_its_role() {
    run_test(async |world| {
        world.makes_agent("other").await;
        world.model.calls(&[assignment("explore", "Theirs.")]);
        world.model.answers("Seen.").answers("They saw.");
        world.ann.says("#other", "go").await;
        world.sees("#other", "They saw.").await;
        world.model.calls(&[assignment("explore", "Ours.")]);
        world.model.answers("Looked.").answers("We looked.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "We looked.").await;
        let ids = "SELECT substr(id, -8) FROM turns WHERE kind = 'sub_agent' ORDER BY rowid";
        let ids = world.ledger(ids).await;
        let goes_on = |role: &str, id: &str| -> (&'static str, Value) {
            let task =
                json!({"role": role, "prompt": "More.", "title": "more of it", "continue": id});
            ("sub_agent", task)
        };
        world.model.calls(&[
            goes_on("explore", &ids[0]),
            goes_on("general", &ids[1]),
            goes_on("explore", &ids[1]),
            goes_on("explore", &ids[1]),
        ]);
        world.model.answers("Looked again.").answers("One of four.");
        world.ann.says("#lab", "go on").await;
        world.sees("#lab", "One of four.").await;
        let got = results(world);
        let [.., theirs, role, ours, twice] = got.as_slice() else {
            panic!("{got:?}");
        };
        let unknown = format!(
            "Error: `{}` is no former sub-agent of this conversation",
            ids[0]
        );
        assert_eq!(*theirs, unknown);
        assert_eq!(role, "Error: that sub-agent has the role `explore`");
        assert!(ours.ends_with("Looked again."), "{ours}");
        assert_eq!(twice, "Error: it is still at work");
    })
    .await;
}

#[tokio::test]
async fn what_a_call_claims_for_itself_is_dropped() {
    run_test(async |world| {
        let task = json!({
            "role": "general", "prompt": "Write it.", "title": "write it down",
            "is_admin": true, "permissions": "open", "workspace": "/", "tools": ["bash"],
        });
        world.model.calls_tool("sub_agent", task);
        world.model.calls_tool("bash", json!({"command": "echo a > a.txt"}));
        world.ann.says("#lab", "go").await;
        // It is asked about as ever.
        world.question("#lab").await;
        world.model.answers("I may not.").answers("It may not.");
        world.ann.clicks("#lab", "Deny").await;
        world.sees("#lab", "It may not.").await;
        let asked = world.ledger("SELECT group_concat(detail, ' ') || group_concat(action_string, ' ') FROM audit_log").await;
        assert!(!asked.join("").contains("is_admin"), "{asked:?}");
        assert!(!world.workspace("lab").join("a.txt").exists());
    })
    .await;
}

#[tokio::test]
async fn a_role_stays_as_it_was_while_its_sub_agent_works() {
    run_test(async |world| {
        let text = |words: &str| format!("---\nname: writer\ndescription: Writes.\n---\n{words}\n");
        charter(world, "writer", &text("Write in verse."));
        world.model.calls(&[assignment("writer", "Write.")]);
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "go").await;
        world.model.was_asked(2).await;
        charter(world, "writer", &text("Write in prose."));
        let begun = world
            .ledger("SELECT role_sha256 FROM turns WHERE kind = 'sub_agent'")
            .await;
        world.model.forgets();
        world.model.answers("Written.");
        drop(thought);
        world.sees("#lab", "Written.").await;
        let requests = world.model.requests();
        assert!(
            requests[1]["system"]
                .to_string()
                .contains("Write in verse.")
        );

        world.model.calls(&[assignment("writer", "Write.")]);
        world.model.calls_tool("glob", json!({"pattern": "*"}));
        let thought = world.model.thinks_then("In prose.");
        world.ann.says("#lab", "go on").await;
        let asked = requests.len() + 3;
        world.model.was_asked(asked).await;
        std::fs::remove_file(world.home().join("agents/lab/charters/writer.md")).unwrap();
        world.model.answers("It is there.");
        drop(thought);
        world.sees("#lab", "It is there.").await;
        let requests = world.model.requests();
        let child = requests[asked - 1]["system"].to_string();
        assert!(child.contains("Write in prose."), "{child}");
        let hashes = world
            .ledger("SELECT role_sha256 FROM turns WHERE kind = 'sub_agent' ORDER BY rowid")
            .await;
        assert_eq!(hashes[0], begun[0]);
        assert_ne!(hashes[0], hashes[1]);
        // The next call finds what is there now.
        world.model.calls(&[assignment("writer", "Write.")]);
        world.model.answers("There is none.");
        world.ann.says("#lab", "once more").await;
        world.sees("#lab", "There is none.").await;
        let told = results(world).pop().unwrap();
        assert!(
            told.starts_with("Error: there is no role `writer`"),
            "{told}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_destroyed_agent_leaves_no_sub_agent_at_work() {
    run_test(async |world| {
        let thoughts = two_at_work(world).await;
        world.ann.runs("/agent destroy name:lab", "#general").await;
        world.ann.clicks("#general", "Confirm").await;
        world
            .ledger_says(
                "SELECT count(*) || '' FROM turns WHERE state = 'running'",
                &["0"],
            )
            .await;
        drop(thoughts);
    })
    .await;
}
