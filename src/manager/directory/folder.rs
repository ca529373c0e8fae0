//! Agents' folders as a whole: made under a temporary name and moved into place, read, changed, removed.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::{Map, Value};
use tracing::warn;

use crate::domain::{AgentConfig, AgentName};
use crate::manager::directory::removal;
use crate::manager::error::ManagerError;
use crate::manager::lifecycle::origin::Origin;
use crate::workspace::agent_file::{self, AgentFile};
use crate::workspace::template::Template;
use crate::workspace::{Bound, Workspace, repository};

/// A step of the work on a folder that failed.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {cause}")]
pub(crate) struct FolderError {
    doing: String,
    #[source]
    cause: Box<dyn std::error::Error + Send + Sync>,
}

fn failed<E>(doing: impl Into<String>) -> impl FnOnce(E) -> FolderError
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    move |cause| FolderError {
        doing: doing.into(),
        cause: cause.into(),
    }
}

impl From<FolderError> for ManagerError {
    fn from(error: FolderError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// A new agent's folder, complete but not in its place yet. Dropping it before that removes it.
pub(crate) struct Making {
    at: PathBuf,
    placed: bool,
}

impl Making {
    /// Makes the folder of an agent from the template and from its origin, with a repository in its workspace.
    pub(crate) fn new(
        template: &Template,
        agents: &Path,
        name: &AgentName,
        origin: Option<&Origin>,
        bound: Option<&Bound>,
        fill: impl FnOnce(AgentConfig) -> AgentConfig,
    ) -> Result<Self, FolderError> {
        // A unique name: what a crash left of an earlier try is being removed meanwhile.
        let unique = uuid::Uuid::new_v4().simple();
        let at = agents.join(format!(".making-{name}-{unique}"));
        fs::create_dir_all(agents).map_err(failed("making the folder of agents"))?;
        let making = Self { at, placed: false };
        template
            .copy_to(&making.at)
            .map_err(failed("copying the template"))?;
        if let Some(origin) = origin {
            let doing = format!("copying the files of {}", origin.label);
            origin.copy_to(&making.at).map_err(failed(doing))?;
        }
        let workspace = Workspace::open(&making.at).map_err(failed("opening the new folder"))?;
        if origin.is_some() {
            // The template may have a repository of its own.
            complete(&making.at, name)?;
        } else {
            repository::create(&workspace.own_files_folder(), name)
                .map_err(failed("git init in the workspace"))?;
        }
        let base = match origin.and_then(|origin| origin.file.clone()) {
            Some(file) => file,
            None => {
                agent_file::read(workspace.agent()).map_err(failed("the template's agent.json"))?
            }
        };
        let created = || {
            let file = agent_file::create(workspace.agent(), &base.raw, &fill(base.config));
            file.map_err(io::Error::other)
        };
        Bound::change(workspace.agent(), bound, created).map_err(failed("writing agent.json"))?;
        Ok(making)
    }

    /// Moves the folder to where it belongs.
    pub(crate) fn place(mut self, to: &Path) -> Result<(), FolderError> {
        rename(&self.at, to)
            .map_err(failed(format!("moving the new folder to {}", to.display())))?;
        self.placed = true;
        Ok(())
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if !self.placed {
            let _ = removal::remove_tree(&self.at);
        }
    }
}

/// Flushes a folder's entries to the disk, so that a rename in it survives a power cut.
fn sync(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

/// Renames an agent's folder, durably.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync(to.parent().unwrap_or(to))
}

/// The `agent.json` of a folder, read off the async threads.
pub(crate) async fn load(folder: PathBuf) -> Result<AgentFile, ManagerError> {
    off_thread(move || read(&folder)).await
}

/// Changes keys of a folder's `agent.json`, off the async threads.
pub(crate) async fn change(
    folder: PathBuf,
    change: impl FnOnce(&mut Map<String, Value>) + Send + 'static,
) -> Result<AgentFile, ManagerError> {
    off_thread(move || rewrite(&folder, change)).await
}

fn open(folder: &Path) -> Result<Workspace, ManagerError> {
    Workspace::open(folder).map_err(|error| {
        ManagerError::refused(format!(
            "The folder {} cannot be opened: {error}.",
            folder.display()
        ))
    })
}

/// [`load`] for callers on a thread that may block.
pub(crate) fn read(folder: &Path) -> Result<AgentFile, ManagerError> {
    agent_file::read(open(folder)?.agent())
        .map_err(|error| ManagerError::refused(format!("{error}. Fix the file, then try again.")))
}

/// [`change`] for callers on a thread that may block.
pub(crate) fn rewrite(
    folder: &Path,
    change: impl FnOnce(&mut Map<String, Value>),
) -> Result<AgentFile, ManagerError> {
    agent_file::rewrite(open(folder)?.agent(), change)
        .map_err(|error| ManagerError::refused(format!("{error}. Nothing was changed.")))
}

/// Binds a kept folder to the folder of the machine that `keys` name, if they name one, and writes the key.
pub(crate) fn bind(
    folder: &Path,
    keys: &Map<String, Value>,
    bound: Option<Bound>,
) -> Result<(), ManagerError> {
    let Some(named) = keys.get("workspace") else {
        return Ok(());
    };
    // After a crash only the path is known.
    let bound = match (bound, named.as_str()) {
        (None, Some(path)) => Some(Bound::to(Path::new(path)).map_err(failed(path))?),
        (bound, _) => bound,
    };
    let written = Bound::change(open(folder)?.agent(), bound.as_ref(), || {
        let change = |all: &mut Map<String, Value>| {
            all.insert("workspace".to_owned(), named.clone());
        };
        rewrite(folder, change).map_err(|error| io::Error::other(error.to_string()))
    });
    written
        .map(drop)
        .map_err(|error| failed("agent.json")(error).into())
}

/// Adds what a kept folder lacks: the folders in it and a repository.
pub(crate) fn complete(folder: &Path, name: &AgentName) -> Result<(), FolderError> {
    for part in ["docs", "sessions", "workspace"] {
        fs::create_dir_all(folder.join(part)).map_err(failed(format!("making {part}/")))?;
    }
    let workspace = folder.join("workspace");
    match workspace.join(".git").symlink_metadata() {
        Ok(_) => Ok(()),
        Err(_) => repository::create(&workspace, name).map_err(failed("git init in the workspace")),
    }
}

/// Removes an agent's folder for good: it is renamed first, so that a crash leaves no half of it under its name.
pub(crate) fn remove(agents: &Path, folder: &Path, name: &AgentName) -> Result<(), FolderError> {
    let aside = agents.join(format!(
        ".removing-{name}-{}",
        uuid::Uuid::new_v4().simple()
    ));
    match fs::rename(folder, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(folder.display().to_string())(error)),
    }
    sync(agents).map_err(failed(agents.display().to_string()))?;
    removal::remove_tree(&aside).map_err(failed(aside.display().to_string()))
}

/// Leftovers of folders that were being made or removed during a crash. To be listed before any is made or removed again.
pub(crate) fn leftovers(agents: &Path) -> Vec<PathBuf> {
    let is_left = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with(".making-") || name.starts_with(".removing-")
    };
    let entries = fs::read_dir(agents).into_iter().flatten().flatten();
    entries.filter(is_left).map(|entry| entry.path()).collect()
}

/// Removes such leftovers.
pub(crate) fn sweep(leftovers: &[PathBuf]) {
    for folder in leftovers {
        if let Err(error) = removal::remove_tree(folder) {
            warn!("failed to remove {}: {error}", folder.display());
        }
    }
}

/// Whether a file or folder exists; checked on a thread that may block.
pub(crate) async fn is_there(path: &Path) -> bool {
    tokio::fs::try_exists(path).await.unwrap_or(false)
}

/// Works with files on a thread that may block.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ManagerError> + Send + 'static,
) -> Result<T, ManagerError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ManagerError::Failed(error.to_string())))
}
