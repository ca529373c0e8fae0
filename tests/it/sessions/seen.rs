//! What the document that sessions were first described in lists as tests, each as people in Discord see it.

mod files;
mod history;
mod restoring;
mod saving;
mod silence;
mod summaries;

use std::path::PathBuf;

use serde_json::Value;

use crate::world::{World, is_under_way};

/// One exchange in `#lab`, to the end of its turn.
pub(super) async fn exchange(world: &mut World, said: &str, answer: &str) {
    world.model.answers(answer);
    let asked = world.ann.says("#lab", said).await;
    world
        .waits(&format!("the answer to “{said}”"), |world| {
            let messages = world.messages("#lab");
            let is_answered = messages
                .iter()
                .any(|one| one.reply_to == Some(asked) && one.content.contains(answer));
            let is_quiet = messages.iter().all(|one| !is_under_way(one));
            (is_answered && is_quiet).then_some(())
        })
        .await;
}

/// Runs a slash command in `#lab` as Ann.
pub(super) async fn asks(world: &World, command: &str) -> String {
    world.ann.asks(command, "#lab").await
}

/// The session files of the agent `lab`, by name.
pub(super) fn files(world: &World) -> Vec<PathBuf> {
    let folder = world.home().join("agents/lab/sessions");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

/// The only session file there is, and its stem.
pub(super) fn only_file(world: &World) -> (String, Value) {
    let files = files(world);
    assert_eq!(files.len(), 1, "{files:?}");
    let stem = files[0].file_stem().unwrap().to_str().unwrap().to_owned();
    let content = std::fs::read(&files[0]).unwrap();
    (stem, serde_json::from_slice(&content).unwrap())
}

/// The short id that a reply offers: `Use /context restore <id>`.
fn offered_id(reply: &str) -> String {
    let (_, after) = reply.rsplit_once("/context restore ").expect(reply);
    after
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect()
}

/// Whether the next request to the model holds this text.
async fn is_remembered(world: &mut World, text: &str) -> bool {
    exchange(world, "what do you know?", "That is what I know.").await;
    world.model.last_request().to_string().contains(text)
}
