//! Homes with many agents, made without asking anybody.

use std::fs;
use std::path::Path;

use chorus::domain::{AgentId, AgentStatus, ChannelId, GuildId, ProfileRef};
use chorus::store::{AgentRow, Registered, Store};
use chorus::workspace::template::Template;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::discord::{channel, guild};
use super::{model, scratch};

/// A home with so many agents, whose profile is `profile`.
pub(crate) async fn with_agents(agents: u64, profile: &str) -> TempDir {
    with_config(agents, profile, json!({})).await
}

/// The same, with these keys in `config.json`.
pub(crate) async fn with_config(agents: u64, profile: &str, keys: Value) -> TempDir {
    let home = TempDir::new_in(scratch()).unwrap();
    let mut config = keys;
    config["default_model"] = json!(model::MODEL);
    fs::write(home.path().join("config.json"), config.to_string()).unwrap();
    let store = Store::open(&home.path().join("db").join("chorus.db"))
        .await
        .unwrap();
    fs::create_dir(home.path().join("agents")).unwrap();
    let rows: Vec<AgentRow> = (0..agents).map(|number| row(number, profile)).collect();
    for row in &rows {
        folder(home.path(), row);
    }
    for some in rows.chunks(256) {
        let stored = join_all(some.iter().map(|row| store.insert_agent(row.clone()))).await;
        assert!(
            stored
                .into_iter()
                .all(|one| one.unwrap() == Registered::Done)
        );
    }
    store.close().await;
    home
}

fn row(number: u64, profile: &str) -> AgentRow {
    AgentRow {
        id: AgentId::random(),
        name: format!("agent-{number}"),
        guild_id: GuildId(guild(number)),
        channel_id: Some(ChannelId(channel(number))),
        model: None,
        permissions: ProfileRef::Named(profile.to_owned()),
        owner_id: None,
        created_at: chrono::Utc::now(),
        back_since: None,
        status: AgentStatus::Active,
    }
}

fn folder(home: &Path, row: &AgentRow) {
    let folder = home.join("agents").join(&row.name);
    Template::Embedded.copy_to(&folder).unwrap();
    let file = folder.join("agent.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    config["id"] = json!(row.id);
    config["name"] = json!(row.name);
    config["channel_id"] = json!(row.channel_id);
    config["permissions"] = json!(row.permissions);
    fs::write(file, serde_json::to_vec_pretty(&config).unwrap()).unwrap();
    fs::write(folder.join("workspace/notes.txt"), "one\ntwo\nthree\n").unwrap();
}
