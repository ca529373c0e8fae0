//! Files in an agent's `sessions/` that no row knows: copied from another home, restored from a backup, or left by a
//! crash between file and row. They are given their row.

use std::collections::HashSet;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use uuid::Builder;

use super::{SESSIONS, SessionError, SessionManager, blocking};
use crate::agent::session_file;
use crate::domain::{AgentId, SessionId, SessionMeta};

impl SessionManager {
    /// Gives every session file of this agent its row. Returns what is wrong with those that are none.
    pub(super) async fn index_unknown(&self) -> Result<Vec<String>, SessionError> {
        let known = self.store.session_files(self.agent).await?;
        let (folder, agent, name) = (self.sessions_folder(), self.agent, self.name.clone());
        let (found, unreadable) =
            blocking(move || read_unknown(&folder, agent, &name, &known)).await?;
        for mut meta in found {
            // The same session may lie in two agents' folders; ids are known all over.
            if self.store.session(meta.id).await?.is_some() {
                meta.id = derived_id(self.agent, &meta.file_path);
            }
            self.store.insert_session(meta, None).await?;
        }
        Ok(unreadable)
    }
}

/// Reads what the index does not know; blocking.
fn read_unknown(
    folder: &Path,
    agent: AgentId,
    name: &str,
    known: &[String],
) -> (Vec<SessionMeta>, Vec<String>) {
    let known: HashSet<&str> = known.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    let mut unreadable = Vec::new();
    // A folder that is not there holds no sessions.
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let Ok(file_name) = entry.file_name().into_string() else {
            continue;
        };
        let Some(stem) = file_name.strip_suffix(".json") else {
            continue;
        };
        let file_path = format!("{SESSIONS}/{file_name}");
        if stem.starts_with('.') || known.contains(file_path.as_str()) {
            continue;
        }
        match session_file::load(&entry.path()) {
            Ok((file, sha256)) => found.push(SessionMeta {
                id: file.id.unwrap_or_else(|| derived_id(agent, &file_path)),
                session_id: stem.to_owned(),
                agent_id: agent,
                agent_name: match file.agent_name.as_str() {
                    "" => name.to_owned(),
                    given => given.to_owned(),
                },
                message_count: file.items.len() as u64,
                token_estimate: file.token_estimate(),
                description: file.description,
                summary: file.summary,
                saved_at: file.saved_at,
                trigger: file.trigger,
                file_path,
                file_sha256: sha256,
            }),
            Err(error) => unreadable.push(error.to_string()),
        }
    }
    unreadable.sort();
    (found, unreadable)
}

/// An id for a file that brings none of its own: the same each time it is indexed.
fn derived_id(agent: AgentId, file_path: &str) -> SessionId {
    let digest = Sha256::new()
        .chain_update(agent.0.as_bytes())
        .chain_update(file_path)
        .finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    SessionId(Builder::from_random_bytes(bytes).into_uuid())
}
