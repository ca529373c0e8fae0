//! What tools do for people in Discord: the whole bot, a scripted model, real files, commands and repositories.

mod agents;
mod behind;
pub(crate) mod bound_folder;
mod bound_mounts;
mod bound_use;
mod bounded;
mod bounded_git;
mod bounded_reports;
mod building;
mod files;
mod greed;
mod home_of_commands;
mod reached;
mod repository;
mod self_edit;
mod shelf;
mod tasks;
mod tour;
mod walls;

use chorus::domain::MessageId;
use serde_json::{Value, json};

use crate::world::{Actor, World};

/// What a tool gave back to the model.
#[derive(Debug)]
pub(crate) struct Given {
    text: String,
    is_error: bool,
}

/// Has the model of `#lab` use one tool; a question about it is answered with Allow.
pub(crate) async fn uses(world: &mut World, tool: &str, arguments: Value) -> Given {
    world.model.calls_tool(tool, arguments);
    is_used(world, tool).await
}

/// The same for somebody else; Ann answers what is asked about it.
async fn uses_for(world: &mut World, who: &Actor, tool: &str, arguments: Value) -> Given {
    world.model.calls_tool(tool, arguments);
    is_used_for(world, who, tool).await
}

/// Waits for the end of a turn in which the model uses `tool`, as it was told.
async fn is_used(world: &mut World, tool: &str) -> Given {
    is_used_for(world, &world.ann.clone(), tool).await
}

async fn is_used_for(world: &mut World, who: &Actor, tool: &str) -> Given {
    world.model.answers("That was it.");
    let asked = who.says("#lab", &format!("please use {tool}")).await;
    let mut allowed: Vec<MessageId> = Vec::new();
    let ann = world.ann.person.clone();
    let channel = world.channel("#lab");
    world
        .waits(&format!("the end of {tool}"), |world| {
            for message in world.messages("#lab") {
                let is_open = message
                    .buttons()
                    .iter()
                    .any(|button| button.label == "Allow" && !button.is_disabled);
                if is_open && !allowed.contains(&message.id) {
                    allowed.push(message.id);
                    let _ = ann.clicks(channel, message.id, "Allow");
                }
            }
            is_answered(world, asked).then_some(())
        })
        .await;
    given(world)
}

fn is_answered(world: &World, asked: MessageId) -> bool {
    world
        .messages("#lab")
        .iter()
        .any(|one| one.reply_to == Some(asked) && one.content.contains("That was it."))
}

/// The result of the latest call.
fn given(world: &World) -> Given {
    let requests = world.model.requests();
    let blocks = requests.iter().rev().flat_map(|request| {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let last = messages.last().cloned().unwrap_or_default();
        last["content"].as_array().cloned().unwrap_or_default()
    });
    let block = blocks
        .into_iter()
        .find(|block| block["type"] == "tool_result")
        .expect("no result went to the model");
    Given {
        text: words(&block["content"]),
        is_error: block["is_error"] == json!(true),
    }
}

fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

impl Given {
    /// The text of a call that went well.
    pub(crate) fn ok(self) -> String {
        assert!(!self.is_error, "{}", self.text);
        self.text
    }

    /// The text of a call that failed.
    pub(crate) fn refused(self) -> String {
        assert!(self.is_error, "{}", self.text);
        self.text
    }
}
