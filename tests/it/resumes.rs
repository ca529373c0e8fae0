//! Turns that a stop or a crash interrupted: they go on by themselves, or people are asked, and nothing runs twice.

mod asked;
mod by_itself;
mod many;
mod not;

use serde_json::{Value, json};

use crate::world::{Setup, World};

/// An agent that may do everything without a question.
fn open() -> Setup {
    Setup {
        config: json!({"default_permissions": "open"}),
        ..Setup::default()
    }
}

/// Has the agent begin a command that does not end, and waits until it runs.
pub(crate) async fn begins_command(world: &mut World, words: &str, command: &str) {
    world.model.calls_tool("bash", json!({"command": command}));
    world.ann.says("#lab", words).await;
    world
        .ledger_says("SELECT name FROM calls WHERE state = 'started'", &["bash"])
        .await;
}

/// The words of all user messages of a request.
fn told(request: &Value) -> String {
    request["messages"].to_string()
}

/// The requests of turns, without those for summaries, which have no tools.
fn asked(world: &World) -> Vec<Value> {
    let mut all = world.model.requests();
    all.retain(|request| {
        request["tools"]
            .as_array()
            .is_some_and(|tools| !tools.is_empty())
    });
    all
}

/// How often the model was told that the daemon had stopped.
fn notes(request: &Value) -> usize {
    told(request).matches("Chorus stopped at").count()
}
