//! The life of an agent, seen from Discord: made, renamed, repaired, destroyed, made again; and what a crash, a refusal of
//! Discord's or a lost file leaves of each.

mod audited;
mod configuration;
mod core;
mod destroy;
mod home;
mod init;
mod keys;
mod killed;
mod lost_database;
mod missing;
mod recreate;
mod rename;
mod repair;
mod upgraded;

use std::path::PathBuf;

use chorus_playground::Message;

use crate::world::World;

/// Destroys an agent from `#general` and gives the answer. `options` follow the name.
pub(crate) async fn destroys(world: &World, name: &str, options: &str) -> String {
    let command = format!("/agent destroy name:{name}{options}");
    let run = world.ann.runs(&command, "#general").await;
    world.ann.clicks("#general", "Confirm").await;
    world
        .waits(&format!("the end of {name}"), |world| {
            let message = world.discord.replies_to(run).into_iter().next()?;
            let shown = world.discord.shown(&message);
            let is_open = shown.contains("Confirm") || shown.contains("Destroying");
            (!is_open).then_some(shown)
        })
        .await
}

/// The direct messages that the operator got.
fn letters(world: &World) -> String {
    let channel = world.ann.person.direct_messages();
    world.discord.transcript(channel)
}

/// Waits until the operator has got a direct message with `text`, and gives all of them.
pub(crate) async fn letter(world: &World, text: &str) -> String {
    world
        .waits(&format!("a letter about “{text}”"), |world| {
            Some(letters(world)).filter(|all| all.contains(text))
        })
        .await
}

/// Waits until an agent's channel is there with its welcome.
async fn is_welcomed(world: &World, name: &str) {
    world
        .waits(&format!("the welcome of {name}"), |world| {
            let channel = world.discord.channel(name)?;
            let shown = world.discord.transcript(channel);
            shown.contains("is ready").then_some(())
        })
        .await;
}

/// How many channels have this name.
fn channels_called(world: &World, name: &str) -> usize {
    let names = world.discord.channel_names(world.discord.guild());
    names.iter().filter(|one| *one == name).count()
}

/// An agent's folder.
fn folder(world: &World, name: &str) -> PathBuf {
    world.home().join("agents").join(name)
}

/// What lies in the folder of all agents, hidden entries too.
fn folders(world: &World) -> Vec<String> {
    let entries = std::fs::read_dir(world.home().join("agents"));
    let mut names: Vec<String> = entries
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The agents that the ledger knows, with their states.
async fn rows(world: &World) -> Vec<String> {
    world
        .ledger("SELECT name || ' ' || status FROM agents ORDER BY name, status")
        .await
}

/// Says something to an agent and waits for the answer.
async fn talks(world: &World, channel: &str, answer: &str) {
    world.model.answers(answer);
    world.ann.says(channel, "go on").await;
    world
        .waits(&format!("the answer “{answer}” in {channel}"), |world| {
            let all = world.messages(channel);
            let is_answer =
                |one: &Message| one.author == world.discord.bot() && one.content.contains(answer);
            all.iter().any(is_answer).then_some(())
        })
        .await;
}

/// From now on the database takes no such change, as `INSERT ON agents`.
async fn database_refuses(world: &World, change: &str) {
    let trigger =
        format!("CREATE TRIGGER refuses BEFORE {change} BEGIN SELECT RAISE(ABORT, 'refused'); END");
    world.changes_ledger(trigger).await;
}

async fn database_heals(world: &World) {
    world.changes_ledger("DROP TRIGGER refuses").await;
}

/// A session of this agent was saved with that trigger: before people were told of what it was saved for.
fn is_saved(world: &World, name: &str, trigger: &str) {
    let sessions = folder(world, name).join("sessions");
    let wanted = format!("\"trigger\": \"{trigger}\"");
    let files = std::fs::read_dir(&sessions).into_iter().flatten();
    let mut texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    assert!(
        texts.any(|text| text.contains(&wanted)),
        "no session of {name} with trigger {trigger}"
    );
}
