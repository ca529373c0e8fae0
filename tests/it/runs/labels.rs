//! Words that pass a role before people get them: no label, notice or list is made from them.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::{charter, run_test_with};
use crate::world::{Setup, World};

/// What no person may read: the model says it in all that it writes.
const SECRET: &str = "quagga";

/// A world whose agent `lab` has a redactor, and may do everything.
fn redacted() -> Setup {
    Setup {
        config: json!({"default_permissions": "open"}),
        ..Setup::default()
    }
}

fn has_redactor(world: &World) {
    let text =
        "---\nname: redactor\ndescription: Takes it out.\ntools: []\n---\nYou are the redactor.\n";
    charter(world, "redactor", text);
    let handoff = json!({"role": "redactor", "on_failure": "withhold"});
    world.edits_agent_json("lab", json!({ "handoff": handoff }));
    world
        .model
        .summarises("The code is quagga. Nothing else was said.");
}

fn is_redactor(request: &Value) -> bool {
    request["system"]
        .to_string()
        .contains("You are the redactor.")
}

fn said(text: &str) -> Reply {
    Reply::new(vec![Block::Text(text.to_owned())])
}

/// Everything that anybody sees in any channel.
fn seen(world: &World) -> String {
    ["#lab", "#general"]
        .map(|channel| world.transcript(channel))
        .concat()
}

fn shows_nothing(world: &World, private: &str) {
    let seen = seen(world);
    assert!(!seen.contains(SECRET), "{seen}");
    assert!(!private.contains(SECRET), "{private}");
}

#[tokio::test]
async fn a_session_is_labelled_with_the_words_of_people() {
    run_test_with(redacted(), async |world| {
        has_redactor(world);
        world.model.follows(|request| {
            if is_redactor(request) {
                said("[removed]")
            } else {
                said("The code is quagga.")
            }
        });
        world.ann.says("#lab", "tell me the code").await;
        world.sees("#lab", "[removed]").await;

        let saved = world.ann.asks("/context save", "#lab").await;
        assert!(saved.contains(": tell me the code"), "{saved}");
        shows_nothing(world, &saved);
        for command in ["/context history", "/status", "/run list"] {
            let shown = world.bob.asks(command, "#lab").await;
            shows_nothing(world, &shown);
        }
        let offered = world
            .bob
            .completes("/context restore session_id:", "session_id", "#lab")
            .await;
        shows_nothing(world, &offered.join("\n"));

        // What is restored hides them too, and what is saved of it again.
        let id = world
            .ledger("SELECT id FROM sessions ORDER BY saved_at LIMIT 1")
            .await;
        let cleared = world.ann.asks("/context clear", "#lab").await;
        shows_nothing(world, &cleared);
        let restored = world
            .ann
            .asks(&format!("/context restore session_id:{}", id[0]), "#lab")
            .await;
        shows_nothing(world, &restored);
        world.edits_agent_json("lab", json!({"handoff": null}));
        world.model.forgets();
        world.exchange("and what else?", "Nothing else.").await;
        let cleared = world.ann.asks("/context clear", "#lab").await;
        shows_nothing(world, &cleared);
        let labels = world
            .ledger("SELECT description || summary || session_id FROM sessions")
            .await;
        assert!(
            labels.len() >= 2 && !labels.concat().contains(SECRET),
            "{labels:?}"
        );
        let history = std::fs::read_to_string(world.home().join("agents/lab/history.md")).unwrap();
        assert!(
            !history.contains(SECRET) && history.contains("no summary"),
            "{history}"
        );
        // Another conversation is labelled as ever.
        world.exchange("hello", "Hello, Ann.").await;
        world.model.summarises("They said hello.");
        let saved = world.ann.asks("/context save", "#lab").await;
        assert!(saved.contains("They said hello."), "{saved}");
    })
    .await;
}

#[tokio::test]
async fn the_notice_after_a_silence_holds_the_words_of_people() {
    let setup = Setup {
        config: json!({"idle_timeout": 1}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        has_redactor(world);
        world.model.follows(|request| {
            if is_redactor(request) {
                said("[removed]")
            } else {
                said("The code is quagga.")
            }
        });
        world.ann.says("#lab", "tell me the code").await;
        let told = world.sees("#lab", "Context cleared after 1 second").await;
        assert!(told.contains(": tell me the code"), "{told}");
        shows_nothing(world, "");
        // No model was asked for what is not shown.
        let asked = "SELECT count(*) || '' FROM attempts WHERE kind = 'summary'";
        assert_eq!(world.ledger(asked).await, ["0"]);
    })
    .await;
}

#[tokio::test]
async fn what_its_tools_post_and_list_holds_none_of_its_words() {
    run_test_with(redacted(), async |world| {
        world.makes_agent("ada").await;
        has_redactor(world);
        let calls = json!([
            ["create_file", {"path": "quagga.txt", "content": "x"}],
            ["send_file", {"path": "quagga.txt", "caption": "the code is quagga"}],
            ["send_to_agent", {"agent": "ada", "message": "the code is quagga"}],
            ["record_decision", {"text": "the code is quagga"}],
            ["run_background", {"command": "echo quagga; sleep 600 # quagga"}],
            ["sub_agent", {"role": "general", "prompt": "find quagga", "title": "quagga", "wait": false}],
        ]);
        world.ann.asks("/decisions add text:first", "#general").await;
        world.model.follows(move |request| {
            let text = request.to_string();
            match () {
                () if is_redactor(request) => said("[removed]"),
                () if text.contains("You are `general`, in a branch") => said("Found quagga."),
                () if text.contains("Agent `lab` writes to you") => said("Understood."),
                () if text.contains("has ended.") => said("Quagga, quagga."),
                () => {
                    let done = super::results_of(request).len();
                    match calls.as_array().unwrap().get(done) {
                        Some(call) => Reply::new(vec![
                            Block::Text("The code is quagga.".to_owned()),
                            Block::Call(
                                format!("toolu_{done}"),
                                call[0].as_str().unwrap().to_owned(),
                                call[1].clone(),
                            ),
                        ]),
                        None => said("All of it is quagga."),
                    }
                }
            }
        });
        world.ann.says("#lab", "do all of it").await;
        world.sees("#ada", "Understood.").await;
        world.sees("#lab", "[removed]").await;
        world.ledger_says("SELECT count(*) || '' FROM turns WHERE state = 'running'", &["0"]).await;
        let seen = [seen(world), world.transcript("#ada")].concat();
        assert!(!seen.contains(SECRET), "{seen}");
        let files: Vec<String> = world
            .messages("#lab")
            .iter()
            .flat_map(|message| message.attachments.iter().map(|file| file.name.clone()))
            .collect();
        assert!(files.contains(&"file.txt".to_owned()) && !files.concat().contains(SECRET), "{files:?}");
        // The agent that was written to knows the words, and its sessions are labelled without them.
        let saved = world.ann.asks("/context save", "#ada").await;
        assert!(saved.contains("Session of ") && !saved.contains(SECRET), "{saved}");
        for command in ["/status", "/tasks", "/branch list", "/branch history id:1", "/decisions list"] {
            let shown = world.bob.asks(command, "#lab").await;
            assert!(!shown.contains(SECRET), "{command}: {shown}");
        }
        for (typed, option) in [("/process logs id:", "id"), ("/branch history id:1", "id")] {
            let offered = world.bob.completes(typed, option, "#lab").await;
            assert!(!offered.concat().contains(SECRET), "{typed}: {offered:?}");
        }
    })
    .await;
}
