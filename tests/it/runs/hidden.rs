//! Words that pass a role before people get them, when somebody looks at the run: those who manage the server read them.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::looked_at::{file, file_for};
use super::{charter, run_test, run_test_with};
use crate::world::{Setup, World};

/// The latest run as Bob sees it, who manages nothing.
async fn seen_by_bob(world: &World) -> String {
    let mut seen = world.bob.asks("/run show", "#lab").await;
    for format in ["json", "jsonl", "html"] {
        let typed = format!("/run show format:{format}");
        let file = file_for(world, &world.bob, &typed).await;
        seen.push_str(&String::from_utf8(file).unwrap());
    }
    seen
}

#[tokio::test]
async fn words_that_were_to_pass_a_role_are_not_shown_though_the_run_ended_before() {
    run_test_with(Setup::default().by_hand(), async |world| {
        for (name, more) in [
            ("redactor", ""),
            ("security", ""),
            ("billing", "handoff: redactor\n"),
        ] {
            let text = format!("---\nname: {name}\ndescription: Does it.\n{more}---\nYou do it.\n");
            charter(world, name, &text);
        }
        let said = |words: &str, tool: &str, arguments: Value| {
            let call = Block::Call("toolu_1".to_owned(), tool.to_owned(), arguments);
            Reply::new(vec![Block::Text(words.to_owned()), call])
        };
        let looks = || json!({"pattern": "*"});
        let aborts = async |world: &World, asked: usize| {
            world.model.was_asked(asked).await;
            world.ann.runs("/abort", "#lab").await;
            let running = "SELECT count(*) || '' FROM turns WHERE state = 'running'";
            world.ledger_says(running, &["0"]).await;
        };

        // While it works.
        world.edits_agent_json("lab", json!({"handoff": "redactor"}));
        let task = json!({"role": "general", "prompt": "quagga", "title": "the code is quagga"});
        world
            .model
            .replies(said("The code is quagga.", "sub_agent", task));
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "one").await;
        aborts(world, 2).await;
        drop(thought);
        let seen = seen_by_bob(world).await;
        assert!(
            seen.contains("sub_agent general") && !seen.contains("quagga"),
            "{seen}"
        );
        let text = world.ann.asks("/run show", "#lab").await;
        assert!(text.contains("“the code is quagga”"), "{text}");
        let page = String::from_utf8(file(world, "/run show format:html").await).unwrap();
        assert!(page.contains("quagga"), "{page}");

        // While the next advisor works.
        world.edits_agent_json("lab", json!({"advisors": ["security"]}));
        world
            .model
            .replies(said("The code is okapi.", "glob", looks()));
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "two").await;
        aborts(world, 4).await;
        drop(thought);
        let seen = seen_by_bob(world).await;
        assert!(
            seen.contains("advisor security") && !seen.contains("okapi"),
            "{seen}"
        );

        // Where the destination alone has a gate; killed.
        let keys =
            json!({"advisors": [], "handoff": null, "router": {"destinations": ["billing"]}});
        world.edits_agent_json("lab", keys);
        world
            .model
            .calls(&[("hand_over", json!({"to": "billing"}))]);
        world
            .model
            .replies(said("The code is tapir.", "glob", looks()));
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "three").await;
        world.model.was_asked(7).await;
        world.kills().await;
        drop(thought);
        world.starts().await;
        world.sees("#lab", "I was restarted in the middle").await;
        let seen = seen_by_bob(world).await;
        assert!(
            seen.contains("route billing") && !seen.contains("tapir"),
            "{seen}"
        );

        // Where nothing passes a role, everybody reads all of it.
        world.edits_agent_json("lab", json!({"router": null}));
        world
            .model
            .replies(said("The code is zebra.", "glob", looks()));
        world.model.answers("That is it.");
        world.ann.says("#lab", "four").await;
        world.sees("#lab", "That is it.").await;
        assert!(seen_by_bob(world).await.contains("zebra"));
    })
    .await;
}

#[tokio::test]
async fn what_a_redactor_withheld_is_shown_to_those_alone_who_manage_the_server() {
    run_test(async |world| {
        let text = "---\nname: redactor\ndescription: Takes out secrets.\ntools: []\ntimeout: 1s\n---\nTake out secrets.\n";
        charter(world, "redactor", text);
        let handoff = json!({"role": "redactor", "on_failure": "withhold"});
        world.edits_agent_json("lab", json!({ "handoff": handoff }));
        world.model.answers("The launch code is quagga.");
        let thoughts = [world.model.is_thinking(), world.model.is_thinking()];
        world.ann.says("#lab", "tell me").await;
        world.sees("#lab", "**The answer was withheld.**").await;
        drop(thoughts);
        for format in ["text", "json", "jsonl", "html"] {
            let typed = format!("/run show format:{format}");
            let shown = match format {
                "text" => world.bob.asks(&typed, "#lab").await,
                _ => String::from_utf8(file_for(world, &world.bob, &typed).await).unwrap(),
            };
            assert!(shown.contains("redactor") && !shown.contains("quagga"), "{shown}");
        }
        let page = String::from_utf8(file(world, "/run show format:html").await).unwrap();
        assert!(page.contains("quagga"), "{page}");
    })
    .await;
}
