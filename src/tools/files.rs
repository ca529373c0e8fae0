//! Shared by the file tools: the way from a call to the jail, a limit on files in memory, and the texts of errors.

use std::cell::Cell;

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use crate::permission::LeftOut;
use crate::tools::ToolContext;
use crate::tools::error::ToolError;
use crate::workspace::jail::Contents;
use crate::workspace::{FileError, Jail, Workspace, WorkspacePath};

/// Largest file, in bytes, that is read whole to be shown.
pub(super) const MOST_SHOWN: usize = 32 * 1024 * 1024;

/// Largest file, in bytes, that is edited, before and after: both are in memory.
pub(super) const MOST_EDITED: usize = 16 * 1024 * 1024;

/// From this size in bytes only one file is in memory at a time, however many calls request one.
const LARGE: u64 = 1024 * 1024;

/// Locked while a large file is in memory.
static LARGE_FILE: Mutex<()> = Mutex::new(());

/// A file that is completely in memory.
pub(super) struct Whole {
    pub(super) contents: Contents,
    _turn: Option<MutexGuard<'static, ()>>,
}

/// Reads a file of at most `limit` bytes. Waits while another large one is in memory. Blocks.
pub(super) fn whole(jail: &Jail, path: &WorkspacePath, limit: usize) -> Result<Whole, FileError> {
    let (_, size) = jail.open_file(path)?;
    let turn = || LARGE_FILE.lock();
    let turn = (size > LARGE).then(turn);
    Ok(Whole {
        contents: jail.read(path, limit as u64)?,
        _turn: turn,
    })
}

/// Runs `work` on the calling agent's workspace, off the async threads.
pub(super) async fn blocking<T: Send + 'static>(
    context: &ToolContext,
    work: impl FnOnce(&Workspace) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let folder = context.services.folder(context);
    let done = tokio::task::spawn_blocking(move || {
        let workspace = Workspace::open(&folder).map_err(ToolError::failed)?;
        work(&workspace)
    });
    done.await.map_err(ToolError::failed)?
}

/// Runs `work` on the file or folder that `path` names in the working directory.
pub(super) async fn at<T: Send + 'static>(
    context: &ToolContext,
    path: &str,
    work: impl FnOnce(&Jail, &WorkspacePath) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let path = WorkspacePath::parse(path)?;
    blocking(context, move |workspace| work(&workspace.files()?, &path)).await
}

/// Returns the path in the form of action strings and locks; an invalid one is not changed, and is refused when the
/// call runs.
pub(super) fn normal(path: &str) -> String {
    match WorkspacePath::parse(path) {
        Ok(path) => path.to_string(),
        Err(_) => path.to_owned(),
    }
}

/// The files that a tool leaves out below a folder, because a profile denies them.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Denied {
    /// Patterns of `deny`.
    patterns: Vec<String>,
}

impl Denied {
    /// Returns the files that the turn's profiles deny to `tool`.
    pub(super) fn of(context: &ToolContext, tool: &str) -> Self {
        Self {
            patterns: context.rights.denying(tool),
        }
    }

    /// Compiles it for `tool`.
    pub(super) fn compile(&self, tool: &'static str) -> Result<Skipped, ToolError> {
        let left_out = LeftOut::new(tool, &self.patterns).map_err(ToolError::failed)?;
        Ok(Skipped {
            left_out,
            any: Cell::new(false),
        })
    }
}

/// Decides which files are left out, and remembers whether there were any.
pub(super) struct Skipped {
    left_out: LeftOut,
    any: Cell<bool>,
}

impl Skipped {
    /// Checks whether `path` is left out.
    pub(super) fn has(&self, path: &WorkspacePath) -> bool {
        let is_left_out = self.left_out.has(path.as_str());
        self.any.set(self.any.get() || is_left_out);
        is_left_out
    }

    /// Returns a line about files that were left out; `None` if there were none.
    pub(super) fn note(&self) -> Option<&'static str> {
        self.any
            .get()
            .then_some("[what the permissions deny was left out]")
    }
}

impl From<FileError> for ToolError {
    fn from(error: FileError) -> Self {
        Self::Rejected(error.to_string())
    }
}

/// Returns the text of a file, or the reason why it has no text.
pub(super) fn text_of(path: &WorkspacePath, bytes: Vec<u8>) -> Result<String, ToolError> {
    let size = crate::text::bytes(bytes.len() as u64);
    if bytes.contains(&0) {
        let kind = infer::get(&bytes).map_or("binary", |kind| kind.mime_type());
        return Err(ToolError::Rejected(format!(
            "`{path}` is not text ({kind}, {size})"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        ToolError::Rejected(format!(
            "`{path}` is not UTF-8 text ({size}; byte {} is the first that is not)",
            error.utf8_error().valid_up_to()
        ))
    })
}
