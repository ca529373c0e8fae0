//! Shared by the tools that run commands: the place of a command, and its rules.

use std::path::{Path, PathBuf};

use cap_std::fs::MetadataExt as _;

use super::ToolContext;
use super::error::ToolError;
use super::path_argument::command_folder;
use super::tasks::TaskError;
use crate::exec::{Command, ExecError, Home, HomeAccess, InodePin};
use crate::permission::{Action, Breadth};
use crate::workspace::Workspace;

/// A folder of the workspace for a command.
pub(super) struct Place {
    pub(super) workspace: PathBuf,
    /// The workspace's folder at the time it was found.
    pin: InodePin,
    /// The home of the agent's commands.
    home: PathBuf,
    /// The folder, for the process.
    pub(super) directory: PathBuf,
    /// The folder relative to the workspace, for people.
    pub(super) shown: String,
}

impl Place {
    /// Returns the folder that `directory` names: relative to the workspace, or absolute inside it. `None` is the
    /// workspace itself.
    ///
    /// # Errors
    ///
    /// Fails if it leaves the workspace by any route, or is not a folder.
    pub(super) async fn find(
        context: &ToolContext,
        directory: Option<&str>,
    ) -> Result<Self, ToolError> {
        let folder = context.services.folder(context);
        let wanted = directory.unwrap_or_default().to_owned();
        let found = tokio::task::spawn_blocking(move || inside(&folder, &wanted));
        found.await.map_err(ToolError::failed)?
    }
}

fn inside(folder: &Path, wanted: &str) -> Result<Place, ToolError> {
    let workspace = Workspace::open(folder).map_err(ToolError::failed)?;
    let files = workspace.files()?;
    let root = workspace.files_folder()?;
    let refuse =
        |error: &dyn std::fmt::Display| ToolError::Rejected(format!("working_directory: {error}"));
    let path = command_folder(&root, wanted).map_err(|error| refuse(&error))?;
    files.folder(&path).map_err(|error| refuse(&error))?;
    let meta = files.dir().dir_metadata().map_err(ToolError::failed)?;
    Ok(Place {
        directory: root.join(path.as_path()),
        pin: InodePin {
            path: root.clone(),
            device: meta.dev(),
            inode: meta.ino(),
        },
        workspace: root,
        home: workspace.home_folder(),
        shown: path.as_str().to_owned(),
    })
}

/// Returns the command as it will run.
///
/// # Errors
///
/// Fails if it is one of those that never run, regardless of the profile.
pub(super) fn command(
    action: &Action,
    place: &Place,
    context: &ToolContext,
) -> Result<Command, ToolError> {
    if let Some(why) = action.destructive() {
        return Err(ToolError::Rejected(format!(
            "this command never runs, whatever the permissions say: {why}"
        )));
    }
    let rules = context.services.shell()?.rules.of(context);
    Ok(Command {
        script: action.detail.clone(),
        workspace: place.workspace.clone(),
        pin: Some(place.pin.clone()),
        home: Home {
            folder: place.home.clone(),
            // A command that no person saw must not leave settings for the programs of later commands.
            access: match context.breadth {
                Breadth::Whole => HomeAccess::Whole,
                Breadth::Narrow => HomeAccess::Caches,
            },
        },
        directory: place.directory.clone(),
        policy: rules.policy,
        limits: rules.limits,
    })
}

impl From<ExecError> for ToolError {
    fn from(error: ExecError) -> Self {
        match error {
            ExecError::Invalid(_) | ExecError::NoShell(_) | ExecError::NoSandbox(_) => {
                Self::Rejected(error.to_string())
            }
            ExecError::Setup(_) | ExecError::Io(_) => Self::failed(error),
        }
    }
}

impl From<TaskError> for ToolError {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Unknown(_) | TaskError::Ended(..) | TaskError::TooMany => {
                Self::Rejected(error.to_string())
            }
            TaskError::Exec(error) => error.into(),
            TaskError::Store(_) | TaskError::Io(_) => Self::failed(error),
        }
    }
}
