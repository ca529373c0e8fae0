//! What agents read from their folders: `agent.json`, notes, the names in the workspace.

pub(super) mod access;
pub(super) mod beginning;
mod faults;
mod limits;
pub(super) mod look;
mod save;
pub(super) mod seed;

use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::task::JoinError;
use tracing::warn;
use unicode_normalization::UnicodeNormalization as _;

use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::event::Event;
use crate::agent::setup::{Configuration, Setup};
use crate::clock;
use crate::domain::{AgentConfig, AgentId};
use crate::permission::Rights;
use crate::store::TaskStatus;
use crate::text::{self, escape};
use crate::tools::{Change, OnlyLooks, WorkspaceState};
use crate::workspace::agent_file::{self, AgentFileError};
use crate::workspace::docs::Docs;
use crate::workspace::instructions::Instructions;
use crate::workspace::{FileError, Workspace, WorkspacePath};

/// Characters of an old or new value that an audit row keeps whole.
const AUDIT_VALUE: usize = 16 << 10;

/// Why something in an agent's folder was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("{0}")]
    File(#[from] FileError),
    #[error("{0}")]
    AgentFile(#[from] AgentFileError),
    #[error("{0}")]
    Disk(#[from] io::Error),
    #[error("{0}")]
    OnlyLooks(#[from] OnlyLooks),
    #[error("there are a thousand files of that name")]
    NameTaken,
    #[error("{0}")]
    Panicked(#[from] JoinError),
}

/// The texts of its folder that an agent is told.
pub(super) type DocsAndInstructions = (Docs, Instructions);

/// What saving an attachment is to the rules of a folder: no tool that looks.
const UPLOAD: &str = "upload";

/// Which texts of its folder an agent's requests hold.
#[derive(Clone, Debug)]
pub(super) struct Hears {
    pub(super) notes: bool,
    pub(super) repository: bool,
    /// Skills of the repository whose full texts they hold.
    pub(super) skills: Vec<String>,
    /// Judges what the repository's texts import; `None` before the agent's profiles are known.
    rights: Option<Rights>,
}

impl Hears {
    /// What nearly all agents are told: those whose charter and configuration say nothing of it.
    pub(super) const fn usual() -> Self {
        Self {
            notes: true,
            repository: true,
            skills: Vec::new(),
            rights: None,
        }
    }

    /// Checks whether they are the same texts, if everybody may read them.
    pub(super) fn names_the_same(&self, other: &Self) -> bool {
        (self.notes, self.repository, &self.skills)
            == (other.notes, other.repository, &other.skills)
    }

    /// Checks whether they are the same texts, judged alike.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let name = |hears: &Self| hears.rights.as_ref().map(Rights::name);
        self.names_the_same(other) && name(self) == name(other)
    }
}

/// Top-level names of the workspace in an agent's folder, sorted; waits for the disk.
pub(super) fn listing(folder: &Path) -> Vec<String> {
    let list = || {
        let files = Workspace::open(folder).ok()?.files().ok()?;
        files.list(&WorkspacePath::root()).ok()
    };
    let names = list().into_iter().flatten().map(|entry| entry.shown);
    names.filter(|name| !name.starts_with('.')).collect()
}

impl AgentDeps {
    /// The texts for an agent in a mode that includes notes.
    pub(super) fn hears(&self, setup: &Setup) -> Hears {
        Hears {
            notes: setup.has_docs(),
            repository: setup.config.repo_instructions.unwrap_or(true),
            skills: setup.skills().to_vec(),
            rights: Some(self.rights_of(setup)),
        }
    }

    /// The agent's configuration as it is on disk now, its charter below it.
    pub async fn agent_config(&self, agent: &Identity) -> Arc<AgentConfig> {
        self.setup(agent).await.config
    }

    /// What an agent's `agent.json` in `folder` says now.
    pub async fn configuration(&self, agent: AgentId, folder: PathBuf) -> Configuration {
        let (all, profiles) = (self.configurations.clone(), self.profiles.load_full());
        let looked = tokio::task::spawn_blocking(move || all.look(agent, &folder, &profiles)).await;
        looked.unwrap_or_else(|error| self.configurations.unread(agent, &error))
    }

    /// The state of the workspace of the agent in `folder`.
    pub async fn workspace_state(&self, folder: PathBuf) -> WorkspaceState {
        let config = self.config.load_full();
        let looked =
            tokio::task::spawn_blocking(move || WorkspaceState::look(&folder, &config.folders));
        looked.await.unwrap_or_default()
    }

    /// Reads what an agent's first turn needs, and reports what is wrong with its files.
    pub(super) async fn read_ahead(&self, agent: &Identity) {
        let setup = self.setup(agent).await;
        self.docs_of(agent, self.hears(&setup)).await;
    }

    /// The agent's notes, and the instructions of the repository in its workspace where they are enabled; bounded, and
    /// empty when they cannot be read.
    pub(super) async fn docs_of(&self, agent: &Identity, hears: Hears) -> DocsAndInstructions {
        let folder = self.folder(agent);
        let read = tokio::task::spawn_blocking({
            let read = self.docs_reader(hears);
            move || read(&folder)
        })
        .await;
        let read = read.map_err(FolderError::from).flatten();
        self.docs_read(agent, read.map(Option::unwrap_or_default))
    }

    /// Reads the notes and the repository's texts in an agent's folder, on a thread that may wait for the disk. Returns `None` if
    /// something in them has to be judged and `hears` has no rights.
    pub(super) fn docs_reader(
        &self,
        hears: Hears,
    ) -> impl FnOnce(&Path) -> Result<Option<DocsAndInstructions>, FolderError> + Send + use<> {
        let (docs, repository) = (self.docs.clone(), self.instructions.clone());
        move |folder| {
            let workspace = Workspace::open(folder)?;
            let mut told = Instructions::default();
            if hears.repository {
                match repository.read(&workspace, &hears.skills, hears.rights.as_ref()) {
                    Ok(Some(text)) => told = text,
                    Ok(None) => return Ok(None),
                    // Without the repository's words the agent still works.
                    Err(_) => {}
                }
            }
            let notes = hears.notes.then(|| docs.read(&workspace)).transpose()?;
            Ok(Some((notes.unwrap_or_default(), told)))
        }
    }

    /// What was read; nothing where reading failed, which is logged.
    pub(super) fn docs_read(
        &self,
        agent: &Identity,
        read: Result<DocsAndInstructions, FolderError>,
    ) -> DocsAndInstructions {
        read.unwrap_or_else(|error| {
            warn!(agent.id = %agent.id, "failed to read the notes of {}: {error}", agent.name);
            (Docs::default(), Instructions::default())
        })
    }

    /// Top-level names of the workspace, sorted.
    pub async fn workspace_listing(&self, agent: &Identity) -> Vec<String> {
        let folder = self.folder(agent);
        let listed = tokio::task::spawn_blocking(move || listing(&folder)).await;
        listed.unwrap_or_default()
    }

    /// Running tasks, a line each, for the model.
    pub async fn task_lines(&self, agent: &Identity) -> Vec<String> {
        let Ok(shell) = &self.services.shell else {
            return Vec::new();
        };
        if !shell.tasks.any_running(agent.id) {
            return Vec::new();
        }
        let views = shell.tasks.views(agent.id).await.unwrap_or_default();
        let running = views
            .into_iter()
            .filter(|task| task.status == TaskStatus::Running);
        running
            .map(|task| {
                let age = clock::ago(task.started_at, clock::now());
                format!(
                    "{} `{}` (started {age})",
                    task.id,
                    text::one_line(&task.command, 60)
                )
            })
            .collect()
    }

    /// Saves `content` under `uploads/` of the workspace, with the name that a person gave it; returns its path there.
    pub async fn save_upload(
        &self,
        agent: &Identity,
        name: &str,
        mut content: File,
    ) -> Result<String, FolderError> {
        let folder = self.folder(agent);
        let state = self.workspace_state(folder.clone()).await;
        state.permits(UPLOAD)?;
        let name = upload_name(name);
        let saved = tokio::task::spawn_blocking(move || {
            let workspace = Workspace::open(&folder)?;
            let files = workspace.files()?;
            for attempt in 1..1000 {
                let path = numbered(&name, attempt);
                let parsed = WorkspacePath::parse(&path)?;
                // Links count as files, too.
                if files.dir().symlink_metadata(parsed.as_path()).is_ok() {
                    continue;
                }
                content.rewind()?;
                files.write_from(&parsed, &mut content)?;
                return Ok(path);
            }
            Err(FolderError::NameTaken)
        });
        saved.await?
    }

    /// Adds `actions` to `always_allow` of the agent's file.
    pub async fn always_allow(&self, agent: &Identity, actions: Vec<String>) {
        let folder = self.folder(agent);
        let written = tokio::task::spawn_blocking(move || -> Result<_, FolderError> {
            let workspace = Workspace::open(&folder)?;
            Ok(agent_file::rewrite(workspace.agent(), |keys| {
                let list = keys
                    .entry("always_allow")
                    .or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(list) = list {
                    for action in actions {
                        if !list.iter().any(|entry| *entry == action) {
                            list.push(Value::String(action));
                        }
                    }
                }
            })?)
        });
        if let Err(error) = written.await.map_err(FolderError::from).flatten() {
            warn!(agent.id = %agent.id, "failed to write always_allow: {error}");
            let text = escape::sentence(&format!(
                "It is allowed this once, but “Always allow” could not be saved: {error}"
            ));
            if self.store.notice(agent.channel, &text).await.is_ok() {
                self.emit(Event::Outbox(agent.channel));
            }
        }
    }

    /// An edit of the agent's own configuration as the audit row keeps it: bounded, without secrets.
    pub fn audit_change(&self, change: &Change) -> Option<String> {
        let kept = |value: &str| -> Value {
            let value = self.services.redactor.redact(value);
            match value.char_indices().nth(AUDIT_VALUE) {
                None => Value::String(value.into_owned()),
                Some((end, _)) => {
                    use sha2::Digest as _;
                    serde_json::json!({
                        "head": &value[..end],
                        "characters": value.chars().count(),
                        "sha256": format!("{:x}", sha2::Sha256::digest(value.as_bytes())),
                    })
                }
            }
        };
        let detail = serde_json::json!({
            "edited": change.edited,
            "old": kept(&change.old),
            "new": kept(&change.new),
        });
        Some(detail.to_string())
    }
}

/// Longest name of a saved file in bytes, below the 255 of file systems.
const MAX_UPLOAD_NAME: usize = 120;

/// Returns a person's file name as a name in the workspace: one component of letters, digits, `.`, `_` and `-`, in any script.
fn upload_name(name: &str) -> String {
    let mut clean: String = name
        .nfc()
        .map(|letter| {
            if letter.is_alphanumeric() || "._-".contains(letter) {
                letter
            } else {
                '_'
            }
        })
        .collect();
    // The end has the extension.
    let from = clean.len().saturating_sub(MAX_UPLOAD_NAME);
    clean.drain(..clean.ceil_char_boundary(from));
    let clean = clean.trim_start_matches('.');
    if clean.is_empty() {
        "file".to_owned()
    } else {
        clean.to_owned()
    }
}

/// `uploads/name`, then `uploads/name-2` and so on, the number before the extension.
fn numbered(name: &str, attempt: usize) -> String {
    if attempt == 1 {
        return format!("uploads/{name}");
    }
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => {
            format!("uploads/{stem}-{attempt}.{extension}")
        }
        _ => format!("uploads/{name}-{attempt}"),
    }
}
