//! The path that a call acts on, and the target of its links: found before the call is judged, and compared before it
//! runs.

use std::path::Path;

use super::ToolContext;
use super::error::ToolError;
use crate::workspace::{FileError, Jail, Workspace, WorkspacePath};

/// The path that a call acts on, as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathArgument {
    pub kind: PathKind,
    pub written: String,
}

/// The base of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// The workspace.
    File,
    /// The workspace, for the folder of a command; it may also be absolute, inside of it.
    CommandFolder,
    /// The agent's notes.
    Note,
}

impl PathArgument {
    /// Creates a path in the workspace.
    pub fn file(written: impl Into<String>) -> Self {
        Self {
            kind: PathKind::File,
            written: written.into(),
        }
    }

    /// Follows the links of the path in the agent's `folder`. Blocks.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be a path of the agent's.
    pub(super) fn follow(&self, folder: &Path) -> Result<Followed, ToolError> {
        let workspace = Workspace::open(folder).map_err(ToolError::failed)?;
        let (path, jail) = self.open(&workspace)?;
        Ok(Followed {
            reached: jail.reach(&path)?,
            path,
        })
    }

    fn open(&self, workspace: &Workspace) -> Result<(WorkspacePath, Jail), FileError> {
        match self.kind {
            PathKind::File => Ok((WorkspacePath::parse(&self.written)?, workspace.files()?)),
            PathKind::CommandFolder => {
                let path = command_folder(&workspace.files_folder()?, &self.written)?;
                Ok((path, workspace.files()?))
            }
            PathKind::Note => Ok((WorkspacePath::parse(&self.written)?, workspace.docs()?)),
        }
    }

    /// Checks that the path still leads to `reached`, as it did when the call was judged.
    ///
    /// # Errors
    ///
    /// Fails if it leads elsewhere now.
    pub(super) async fn still_leads_to(
        &self,
        reached: &WorkspacePath,
        context: &ToolContext,
    ) -> Result<(), ToolError> {
        let (argument, folder) = (self.clone(), context.services.folder(context));
        let followed = tokio::task::spawn_blocking(move || argument.follow(&folder)).await;
        let now = followed.map_err(ToolError::failed)??;
        if now.reached == *reached {
            return Ok(());
        }
        Err(ToolError::Rejected(format!(
            "`{}` now leads to `{}`; it was judged as `{reached}`; try again",
            now.path, now.reached
        )))
    }
}

/// A path and its target.
#[derive(Debug)]
pub(super) struct Followed {
    pub(super) path: WorkspacePath,
    pub(super) reached: WorkspacePath,
}

/// Returns the folder of a command as a path below `workspace`; an absolute one must be inside it.
///
/// # Errors
///
/// Fails if its letters lead out.
pub(super) fn command_folder(workspace: &Path, wanted: &str) -> Result<WorkspacePath, FileError> {
    // Component by component: a sibling with the same beginning of its name is not inside.
    match Path::new(wanted).strip_prefix(workspace) {
        Ok(inside) => WorkspacePath::parse(&inside.to_string_lossy()),
        Err(_) => WorkspacePath::parse(wanted),
    }
}
