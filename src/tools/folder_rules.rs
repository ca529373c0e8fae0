//! The tools that still work in a folder of the machine that the operator no longer allows: those that only read.

use std::path::{Path, PathBuf};

use crate::config::folders;
use crate::workspace::{BoundError, Workspace};

/// The tools that still work in a folder that is no longer allowed.
const LOOKING: [&str; 6] = ["view", "glob", "grep", "git_status", "git_diff", "git_log"];

/// The state of an agent's workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WorkspaceState {
    /// Its own folder, or an unchanged one that it is bound to.
    #[default]
    Usable,
    /// The folder is no longer below one of `folders` of `config.json`.
    NotAllowed(PathBuf),
    /// The folder cannot be used, for this reason.
    Unusable(String),
}

impl WorkspaceState {
    /// Checks the workspace of the agent in `folder`, which may be below one of `roots`. Blocks.
    pub fn look(folder: &Path, roots: &[PathBuf]) -> Self {
        let Ok(own) = Workspace::open(folder) else {
            // A missing folder is reported elsewhere.
            return Self::Usable;
        };
        let unusable = |error: &BoundError| Self::Unusable(error.to_string());
        match own.bound() {
            Ok(None) => Self::Usable,
            Err(error) => unusable(&error),
            Ok(Some(bound)) if folders::root_of(roots, &bound.path).is_none() => {
                Self::NotAllowed(bound.path)
            }
            Ok(Some(bound)) => match bound.open() {
                Ok(_) => Self::Usable,
                Err(error) => unusable(&error),
            },
        }
    }

    /// Returns why the workspace cannot be used fully, for people; `None` if it can.
    pub fn fault(&self) -> Option<String> {
        match self {
            Self::Usable => None,
            Self::NotAllowed(path) => Some(format!(
                "the operator allows no agent to work in `{}` any longer, so I can only look at it: `folders` in `config.json` does not list it",
                path.display()
            )),
            Self::Unusable(why) => Some(format!("the folder cannot be used: {why}")),
        }
    }

    /// Checks whether the tool `name` works in this state.
    ///
    /// # Errors
    ///
    /// Fails with the refusal, for the model.
    pub fn permits(&self, name: &str) -> Result<(), OnlyLooks> {
        match self {
            Self::NotAllowed(path) if !LOOKING.contains(&name) => Err(OnlyLooks(path.clone())),
            _ => Ok(()),
        }
    }
}

/// The operator allows only reading; the text is for the model.
#[derive(Debug, thiserror::Error)]
#[error(
    "not permitted: the operator allows no agent to work in `{}` any longer; only {} work there until it is allowed again",
    .0.display(),
    LOOKING.join(", ")
)]
pub struct OnlyLooks(PathBuf);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tools_that_look_work_in_a_folder_that_is_not_allowed() {
        let state = WorkspaceState::NotAllowed("/srv/web".into());
        for name in LOOKING {
            assert!(state.permits(name).is_ok(), "{name}");
        }
        for name in [
            "bash",
            "create_file",
            "git_commit",
            "sub_agent",
            "web_fetch",
        ] {
            assert!(state.permits(name).is_err(), "{name}");
        }
        assert!(WorkspaceState::Usable.permits("bash").is_ok());
        assert!(
            WorkspaceState::Unusable("gone".to_owned())
                .permits("view")
                .is_ok()
        );
    }
}
