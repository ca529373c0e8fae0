//! Charters: what files as people and repositories have them come to.

mod catalog;
mod check;
mod dialects;
mod examples;
mod field;
mod hostile;
mod mistakes;

use chorus::charter::{Charter, Known, Problems, Role, Trust, compile};
use chorus::permission::Profiles;
use chorus::tools::Registry;

/// What `text` comes to as the file `path`, with the models of a small server known.
fn compiled(path: &str, text: &str, trust: Trust) -> Result<Role, Problems> {
    bytes_compiled(path, text.as_bytes(), trust)
}

fn bytes_compiled(path: &str, bytes: &[u8], trust: Trust) -> Result<Role, Problems> {
    with_known(|known| compile(&Charter { path, bytes, trust }, known))
}

fn with_known<T>(work: impl FnOnce(&Known<'_>) -> T) -> T {
    let registry = Registry::standard();
    let tools: Vec<&str> = registry.infos().map(|info| info.name).collect();
    let profiles = Profiles::default();
    let models = ["sonnet", "haiku", "opus", "claude-sonnet-4.5"];
    let find = |name: &str| match chorus::text::near(name, models) {
        _ if models.contains(&name) => Ok(()),
        near => Err(near.map(str::to_owned).into_iter().collect()),
    };
    let known = Known {
        tools: &tools,
        profiles: &profiles,
        models: Some(&find),
    };
    work(&known)
}

/// Of a file that people placed.
fn ours(text: &str) -> Result<Role, Problems> {
    compiled("charters/some-role.md", text, Trust::People)
}

/// Of a file that a repository brought.
fn theirs(path: &str, text: &str) -> Result<Role, Problems> {
    compiled(path, text, Trust::Repository)
}

fn listed(role: &Role) -> String {
    let tools = role.tools.as_ref().expect("a list of tools");
    tools
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(" ")
}

fn notes(role: &Role) -> Vec<String> {
    let notes = role.notes.iter();
    notes
        .map(|note| format!("{}: {}", note.line, note.message))
        .collect()
}
