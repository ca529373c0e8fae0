//! The saved sessions of one agent: a JSON file each, and its row in SQLite.
//!
//! What makes a summary, and which conversation is saved when, is decided by the agent's actor.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::session_file::{self, FileError, SessionFile, Written};
use super::{
    FileState, NAMED, Restored, SESSIONS, SHORTEST_PREFIX, Save, SessionError, SessionList,
    blocking, session_label,
};
use crate::clock;
use crate::domain::{AgentId, ConversationId, SessionId, SessionMeta};
use crate::llm::history;
use crate::store::{Covered, Store};

/// The sessions of one agent.
#[derive(Clone, Debug)]
pub struct SessionManager {
    pub(super) agent: AgentId,
    pub(super) name: String,
    folder: PathBuf,
    pub(super) store: Store,
}

impl SessionManager {
    /// The sessions of the agent `agent`, called `name`, whose files lie in `folder`.
    pub fn new(agent: AgentId, name: &str, folder: &Path, store: Store) -> Self {
        Self {
            agent,
            name: name.to_owned(),
            folder: folder.to_owned(),
            store,
        }
    }

    /// Saves a conversation as a new session.
    ///
    /// # Errors
    ///
    /// [`SessionError::Empty`] without items. When the disk refuses, no file is left.
    pub async fn save(&self, save: Save) -> Result<SessionMeta, SessionError> {
        if save.items.is_empty() {
            return Err(SessionError::Empty);
        }
        let conversation = save.conversation;
        let covers = save.items.len() as u64;
        let (folder, agent, name) = (self.sessions_folder(), self.agent, self.name.clone());
        let (meta, path) = blocking(move || write(&folder, agent, name, save)).await??;
        let covered = conversation.map(|conversation| Covered {
            conversation,
            items: covers,
        });
        if let Err(error) = self.store.insert_session(meta.clone(), covered).await {
            // Without its row it must not look saved. If the removal fails too, the next listing will index the file.
            let _ = blocking(move || std::fs::remove_file(path)).await;
            return Err(error.into());
        }
        Ok(meta)
    }

    /// Adds a session that was saved elsewhere, under a name made from its description or summary.
    ///
    /// # Errors
    ///
    /// When the disk or the index refuses.
    pub async fn add_new(&self, file: SessionFile) -> Result<SessionMeta, SessionError> {
        let given = Some(file.description.as_str()).filter(|text| !text.is_empty());
        let summary = Some(file.summary.as_str()).filter(|text| !text.is_empty());
        let slug = session_label::slug(given, summary, &file.items);
        let stem = stem(file.saved_at, &slug);
        self.add(file, &stem).await
    }

    /// Writes `file` as a session of this agent, and adds its row.
    pub(super) async fn add(
        &self,
        mut file: SessionFile,
        stem: &str,
    ) -> Result<SessionMeta, SessionError> {
        let id = match file.id {
            // The session that it was made from may be indexed here already.
            Some(id) if self.store.session(id).await?.is_none() => id,
            Some(_) | None => SessionId::random(),
        };
        file.id = Some(id);
        file.agent_id = Some(self.agent);
        let meta = file.meta(id, self.agent);
        let (folder, stem) = (self.sessions_folder(), stem.to_owned());
        let written = blocking(move || session_file::create(&folder, &stem, file)).await??;
        let meta = written.indexed(meta);
        self.store.insert_session(meta.clone(), None).await?;
        Ok(meta)
    }

    /// Reads the session that `word` names: its whole id, at least four characters of one, or its file stem.
    ///
    /// # Errors
    ///
    /// When there is no such session of this agent, or its file cannot be used.
    pub async fn restore(&self, word: &str) -> Result<Restored, SessionError> {
        let meta = self.find(word).await?;
        let path = self.path_of(&meta);
        let (file, sha256) = blocking(move || session_file::load(&path)).await??;
        if let Some(foreign) = self.foreign(&file, &meta.session_id).await? {
            return Err(foreign);
        }
        let (items, repaired) = blocking(move || {
            let repaired = history::repair(&file.items);
            (repaired.items, repaired.changed)
        })
        .await?;
        let file = if sha256 == meta.file_sha256 {
            FileState::Kept
        } else {
            FileState::Changed
        };
        Ok(Restored {
            meta,
            items,
            repaired,
            file,
        })
    }

    /// Ends a conversation without saving it.
    pub async fn clear(&self, conversation: ConversationId) -> Result<(), SessionError> {
        Ok(self.store.close_conversation(conversation).await?)
    }

    /// A page of this agent's sessions, newest first. Files that no row knows are indexed first.
    pub async fn list_sessions(
        &self,
        offset: u32,
        limit: u32,
    ) -> Result<SessionList, SessionError> {
        let unknown = self.index_unknown().await?;
        let page = self.store.sessions(self.agent, offset, limit).await?;
        let paths: Vec<_> = page
            .sessions
            .iter()
            .map(|meta| self.path_of(meta))
            .collect();
        let states = blocking(move || paths.iter().map(|path| state_of(path)).collect::<Vec<_>>());
        Ok(SessionList {
            total: page.total,
            sessions: page.sessions.into_iter().zip(states.await?).collect(),
            unreadable: unknown.reasons,
            foreign: unknown.foreign,
        })
    }

    /// A page of the saved sessions of an agent whose folder is gone, newest first: the index keeps them.
    pub async fn list_without_files(
        &self,
        offset: u32,
        limit: u32,
    ) -> Result<SessionList, SessionError> {
        let page = self.store.sessions(self.agent, offset, limit).await?;
        let sessions = page.sessions.into_iter();
        Ok(SessionList {
            total: page.total,
            sessions: sessions.map(|meta| (meta, FileState::Deleted)).collect(),
            unreadable: Vec::new(),
            foreign: Vec::new(),
        })
    }

    /// Whether the file of a session is there.
    pub async fn is_kept(&self, meta: &SessionMeta) -> bool {
        let path = self.path_of(meta);
        let state = blocking(move || state_of(&path)).await;
        state.is_ok_and(|state| state != FileState::Deleted)
    }

    /// Removes what a crash left of saves that did not finish. Only at start, while nobody saves.
    ///
    /// # Errors
    ///
    /// When the daemon is stopping.
    pub async fn sweep(&self) -> Result<(), SessionError> {
        let folder = self.sessions_folder();
        blocking(move || session_file::remove_leftovers(&folder)).await
    }

    /// The session that `word` names.
    async fn find(&self, word: &str) -> Result<SessionMeta, SessionError> {
        let word = word.trim().trim_end_matches(".json");
        self.index_unknown().await?;
        let found = self.store.find_sessions(self.agent, word, NAMED).await?;
        match found.as_slice() {
            [one] if one.session_id == word || word.chars().count() >= SHORTEST_PREFIX => {
                Ok(one.clone())
            }
            [] => Err(self.why_unknown(word).await?),
            _ if word.chars().count() < SHORTEST_PREFIX => Err(SessionError::TooShort {
                word: word.to_owned(),
            }),
            several => Err(SessionError::Ambiguous {
                word: word.to_owned(),
                found: several
                    .iter()
                    .map(|meta| format!("{} ({})", meta.id, meta.session_id))
                    .collect(),
            }),
        }
    }

    /// If a file of that name could not be indexed, the reason says more than that there is no such session.
    async fn why_unknown(&self, word: &str) -> Result<SessionError, SessionError> {
        let unknown = SessionError::Unknown {
            agent: self.name.clone(),
            word: word.to_owned(),
        };
        if word.is_empty() || word.contains(['/', '\0']) {
            return Ok(unknown);
        }
        let path = self.sessions_folder().join(format!("{word}.json"));
        match blocking(move || session_file::load(&path)).await? {
            Err(error @ FileError::Unusable { .. }) => Ok(error.into()),
            Err(FileError::Missing { .. } | FileError::NotWritten { .. }) => Ok(unknown),
            Ok((file, _)) => Ok(self.foreign(&file, word).await?.unwrap_or(unknown)),
        }
    }

    pub(super) fn sessions_folder(&self) -> PathBuf {
        self.folder.join(SESSIONS)
    }

    /// The path of a session's file: whatever the row says, in this agent's folder.
    fn path_of(&self, meta: &SessionMeta) -> PathBuf {
        let name = Path::new(&meta.file_path).file_name();
        self.sessions_folder()
            .join(name.unwrap_or_else(|| meta.session_id.as_ref()))
    }
}

/// Writes the file; blocking.
fn write(
    folder: &Path,
    agent: AgentId,
    name: String,
    save: Save,
) -> Result<(SessionMeta, PathBuf), FileError> {
    let saved_at = clock::now();
    let given = save.description.as_deref().map(str::trim);
    let given = given.filter(|text| !text.is_empty());
    let said = save.summary.text().filter(|_| !save.hides_words);
    let (description, summary) = if save.hides_words {
        let label = session_label::of_people(saved_at, &save.items);
        (given.map_or_else(|| label.clone(), str::to_owned), label)
    } else {
        let summary = said.unwrap_or(session_label::SUMMARY_FAILED);
        (
            session_label::description(given, said, &save.items),
            summary.to_owned(),
        )
    };
    let slug = session_label::slug(given, said, &save.items);
    let stem = stem(saved_at, &slug);
    let file = SessionFile {
        id: Some(save.id),
        session_id: stem.clone(),
        agent_id: Some(agent),
        agent_name: name,
        description,
        summary,
        saved_at,
        trigger: save.trigger,
        hides_words: save.hides_words,
        items: Arc::unwrap_or_clone(save.items),
    };
    let meta = file.meta(save.id, agent);
    let written = session_file::create(folder, &stem, file)?;
    Ok((written.indexed(meta), written.path))
}

/// The name of a session's file, which people see and type.
fn stem(saved_at: DateTime<Utc>, slug: &str) -> String {
    format!("{}_{slug}", saved_at.format("%Y-%m-%d"))
}

impl Written {
    /// What the index holds of the session that was written.
    fn indexed(&self, meta: SessionMeta) -> SessionMeta {
        SessionMeta {
            session_id: self.stem.clone(),
            file_path: format!("{SESSIONS}/{}.json", self.stem),
            file_sha256: self.sha256.clone(),
            ..meta
        }
    }
}

fn state_of(path: &Path) -> FileState {
    match path.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => FileState::Deleted,
        _ => FileState::Kept,
    }
}
