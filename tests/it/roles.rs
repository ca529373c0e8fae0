//! Roles in the whole bot: what the model is told, what may run, what people hear of a mistake.

mod brought;
mod decisions;
mod dialects;
mod init;
mod listed;
mod own;

use std::path::PathBuf;

use crate::world::World;

/// Writes a file of the agent `lab` at once, as editors do.
fn writes(world: &World, path: &str, text: &str) {
    let path = lab(world).join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let new = path.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, path).unwrap();
}

fn lab(world: &World) -> PathBuf {
    world.home().join("agents/lab")
}

/// Everything that the latest request says before the conversation.
fn system(world: &World) -> String {
    world.model.last_request()["system"].to_string()
}

/// The names of the tools of the latest request.
fn tools(world: &World) -> Vec<String> {
    let request = world.model.last_request();
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    names.map(str::to_owned).collect()
}
