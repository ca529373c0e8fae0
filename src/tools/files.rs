//! What the file tools share: the way from a call to the jail, and the words for errors.

use crate::tools::error::ToolError;
use crate::tools::tool::ToolContext;
use crate::workspace::{FileError, Jail, Workspace, WorkspacePath};

/// Bytes of a file that is read whole to be shown or edited.
pub(super) const MOST_TEXT: u64 = 32 * 1024 * 1024;

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

/// The path as action strings and locks write it; one that cannot be used stays as it is, and is refused when it runs.
pub(super) fn normal(path: &str) -> String {
    match WorkspacePath::parse(path) {
        Ok(path) => path.to_string(),
        Err(_) => path.to_owned(),
    }
}

impl From<FileError> for ToolError {
    fn from(error: FileError) -> Self {
        Self::Rejected(error.to_string())
    }
}

/// The text of a file, or why it is none.
pub(super) fn text_of(path: &WorkspacePath, bytes: Vec<u8>) -> Result<String, ToolError> {
    let size = crate::text::bytes(bytes.len() as u64);
    if bytes.contains(&0) {
        let kind = infer::get(&bytes).map_or("binary", |kind| kind.mime_type());
        return Err(ToolError::Rejected(format!(
            "`{path}` is no text ({kind}, {size})"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        ToolError::Rejected(format!(
            "`{path}` is no UTF-8 text ({size}; byte {} is the first that is not)",
            error.utf8_error().valid_up_to()
        ))
    })
}
