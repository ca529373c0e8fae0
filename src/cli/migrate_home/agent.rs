//! One agent of the original: its folder, its row, its sessions, its audit log.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::session::{Taken, time};
use crate::clock;
use crate::config::Paths;
use crate::domain::{AgentId, AgentName, AgentStatus, ChannelId, GuildId, ProfileRef, UserId};
use crate::store::{
    AgentRow, AuditDecision, AuditFilter, AuditRow, Original, OriginalAgent, Registered, ServerRow,
    ServerState, Store,
};
use crate::text;

/// Imports `old` as `name`; returns a line with the outcome.
pub(super) async fn take(
    store: &Store,
    paths: &Paths,
    from: &Path,
    original: &Original,
    old: &OriginalAgent,
    name: &AgentName,
) -> anyhow::Result<String> {
    let id = stable_id(old);
    let mark = format!("migrated:{id}");
    if store.meta(&mark).await?.is_some() {
        return Ok("was already imported".to_owned());
    }
    let folder = paths.agent(name.as_str());
    let config = take_folder(&from.join("agents").join(&old.name), &folder, old, name, id)?;
    let row = AgentRow {
        id,
        name: name.to_string(),
        guild_id: GuildId::from_i64(old.guild_id),
        channel_id: Some(ChannelId::from_i64(old.channel_id)),
        model: config
            .get("model")
            .and_then(Value::as_str)
            .map(str::to_owned),
        permissions: serde_json::from_value::<ProfileRef>(config["permissions"].clone())?,
        owner_id: None,
        created_at: time(&old.created_at),
        back_since: None,
        status: match old.status.as_str() {
            "destroyed" => AgentStatus::Destroyed,
            _ => AgentStatus::Active,
        },
    };
    match store.agent(id).await? {
        Some(_) => {}
        None => match store.insert_agent(row).await? {
            Registered::Done => {}
            other => {
                bail!("its name or channel belongs to another agent of the new home ({other:?})")
            }
        },
    }
    if old.status != "destroyed" {
        accept_server(store, GuildId::from_i64(old.guild_id)).await?;
    }
    let taken = Taken {
        id,
        name,
        from: from.join("agents").join(&old.name),
        folder: &folder,
    };
    let sessions = taken.take_sessions(store, original, old).await?;
    let audited = take_audit(store, original, old, name, id).await?;
    store.set_meta(&mark, &clock::rfc3339(clock::now())).await?;
    Ok(format!(
        "{}, {}",
        text::count(sessions, "session", "sessions"),
        text::count(audited, "audited action", "audited actions")
    ))
}

/// Accepts a server: the original served every server, and those in which its agents live remain served.
async fn accept_server(store: &Store, guild: GuildId) -> anyhow::Result<()> {
    let known = store.servers().await?;
    if known.iter().any(|row| row.guild == guild) {
        return Ok(());
    }
    let row = ServerRow {
        state: ServerState::Accepted,
        decided_at: Some(clock::now()),
        ..ServerRow::new(guild)
    };
    Ok(store.put_server(&row).await?)
}

/// Returns an id that is the same for the same agent in every run.
fn stable_id(old: &OriginalAgent) -> AgentId {
    let mut hash = Sha256::new();
    hash.update(format!(
        "{}/{}/{}/{}",
        old.guild_id, old.channel_id, old.name, old.created_at
    ));
    let digest = hash.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    AgentId(uuid::Builder::from_random_bytes(bytes).into_uuid())
}

/// Copies the folder and completes its `agent.json`.
fn take_folder(
    source: &Path,
    target: &Path,
    old: &OriginalAgent,
    name: &AgentName,
    id: AgentId,
) -> anyhow::Result<Map<String, Value>> {
    if source.is_dir() {
        for part in ["docs", "workspace", "processes"] {
            if source.join(part).is_dir() {
                copy_tree(&source.join(part), &target.join(part))?;
            }
        }
    }
    for part in ["docs", "sessions", "workspace"] {
        fs::create_dir_all(target.join(part))
            .with_context(|| format!("making {}", target.display()))?;
    }
    let path = source.join("agent.json");
    let mut config: Map<String, Value> = match fs::read_to_string(&path) {
        Ok(text) => {
            serde_json::from_str(&text).with_context(|| format!("{} is broken", path.display()))?
        }
        Err(_) => Map::new(),
    };
    config.insert("id".to_owned(), json!(id));
    config.insert("name".to_owned(), json!(name));
    config.insert("channel_id".to_owned(), json!(old.channel_id));
    config.insert("running_tasks".to_owned(), json!([]));
    for (key, value) in [
        ("model", json!(old.model)),
        ("permissions", json!(old.permissions)),
        ("created_at", json!(time(&old.created_at))),
        ("system_prompt", json!("You are a helpful assistant.")),
    ] {
        config.entry(key).or_insert(value);
    }
    let text = format!("{:#}\n", Value::Object(config.clone()));
    fs::write(target.join("agent.json"), text)
        .with_context(|| format!("writing to {}", target.display()))?;
    Ok(config)
}

/// Copies the missing files; links are copied as links.
fn copy_tree(source: &Path, target: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(target).with_context(|| format!("making {}", target.display()))?;
    let entries = fs::read_dir(source).with_context(|| format!("reading {}", source.display()))?;
    for entry in entries {
        let entry = entry?;
        let (from, to) = (entry.path(), target.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_tree(&from, &to)?;
        } else if to.symlink_metadata().is_ok() {
            continue;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&from)?, &to)
                .with_context(|| format!("linking {}", to.display()))?;
        } else if kind.is_file() {
            fs::copy(&from, &to).with_context(|| format!("copying {}", from.display()))?;
        }
    }
    Ok(())
}

/// Adds the rows that an earlier, interrupted run has not added.
async fn take_audit(
    store: &Store,
    original: &Original,
    old: &OriginalAgent,
    name: &AgentName,
    id: AgentId,
) -> anyhow::Result<usize> {
    let filter = AuditFilter {
        agent: Some(id),
        ..AuditFilter::default()
    };
    let there = store.audit_page(filter, u32::MAX).await?.len();
    let rows: Vec<_> = original
        .audit
        .iter()
        .filter(|row| row.agent_name == old.name)
        .collect();
    for row in rows.iter().skip(there) {
        store
            .audit(AuditRow {
                timestamp: time(&row.timestamp),
                guild: Some(GuildId::from_i64(old.guild_id)),
                agent: Some(id),
                agent_name: name.to_string(),
                turn: None,
                run: None,
                role: None,
                path: None,
                call: None,
                action: row.action.clone(),
                decision: AuditDecision::read(&row.decision),
                user: row.user_id.map(UserId::from_i64),
                decided_by: None,
                outcome: None,
                detail: row.detail.clone(),
            })
            .await?;
    }
    Ok(rows.len())
}
