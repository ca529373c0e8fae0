//! Files in an agent's `sessions/` without a row: copied from another home, restored from a backup, or left by a crash
//! between file and row. They get their row here.

use std::collections::HashSet;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use uuid::Builder;

use super::session_file::{self, SessionFile};
use super::{SESSIONS, SessionError, SessionManager, blocking, session_label};
use crate::domain::{AgentId, SessionId, SessionMeta};

/// Files in an agent's folder that are not its sessions.
#[derive(Default)]
pub(super) struct Unknown {
    /// What is wrong with each.
    pub(super) reasons: Vec<String>,
    /// Stems of those that are another agent's.
    pub(super) foreign: Vec<String>,
}

impl SessionManager {
    /// Gives every session file of this agent its row. Returns the files that are not its sessions.
    pub(super) async fn index_unknown(&self) -> Result<Unknown, SessionError> {
        let known = self.store.session_files(self.agent).await?;
        let (folder, agent, name) = (self.sessions_folder(), self.agent, self.name.clone());
        let (found, reasons) =
            blocking(move || read_unknown(&folder, agent, &name, &known)).await?;
        let mut unknown = Unknown {
            reasons,
            ..Unknown::default()
        };
        let hidden_since = if found.is_empty() {
            None
        } else {
            self.store.hides_words_since(self.agent).await?
        };
        for (mut meta, file) in found {
            // Files of older versions do not say whether their label is made from words that passed a role first.
            if !meta.hides_words && hidden_since.is_some_and(|since| meta.saved_at >= since) {
                meta.hides_words = true;
                meta.description = session_label::of_people(meta.saved_at, &[]);
                meta.summary.clone_from(&meta.description);
            }
            if let Some(foreign) = self.foreign(&file, &meta.session_id).await? {
                unknown.reasons.push(foreign.to_string());
                unknown.foreign.push(meta.session_id);
                continue;
            }
            // The same session may lie in two agents' folders; ids are unique across agents.
            if self.store.session(meta.id).await?.is_some() {
                meta.id = derived_id(self.agent, &meta.file_path);
            }
            self.store.insert_session(meta, None).await?;
        }
        unknown.reasons.sort();
        Ok(unknown)
    }
}

/// Reads what the index does not know; blocking.
fn read_unknown(
    folder: &Path,
    agent: AgentId,
    name: &str,
    known: &[String],
) -> (Vec<(SessionMeta, SessionFile)>, Vec<String>) {
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
            Ok((mut file, sha256)) => {
                let id = file.id.unwrap_or_else(|| derived_id(agent, &file_path));
                let mut meta = SessionMeta {
                    session_id: stem.to_owned(),
                    file_path,
                    file_sha256: sha256,
                    ..file.meta(id, agent)
                };
                if meta.agent_name.is_empty() {
                    name.clone_into(&mut meta.agent_name);
                }
                // Only its head is needed from here on, and there may be thousands of files.
                file.items = Vec::new();
                found.push((meta, file));
            }
            Err(error) => unreadable.push(error.to_string()),
        }
    }
    (found, unreadable)
}

/// An id for a file that has none: the same each time it is indexed.
fn derived_id(agent: AgentId, file_path: &str) -> SessionId {
    let digest = Sha256::new()
        .chain_update(agent.0.as_bytes())
        .chain_update(file_path)
        .finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    SessionId(Builder::from_random_bytes(bytes).into_uuid())
}
