//! Finds the repositories below a workspace, so that each can be read separately.
//!
//! No content of a repository is read here: a folder with a `.git` of any kind is listed. Links are not followed.

use std::collections::VecDeque;
use std::path::Path;

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};

use crate::tools::error::ToolError;
use crate::workspace::Workspace;

/// Deepest level of folders that is searched; it may still contain a repository.
const DEEPEST: usize = 4;

/// Most folders that are searched, the nearest first, so that one with a hundred thousand packages does not hide its
/// neighbours.
const MOST_FOLDERS: usize = 5_000;

/// Most names that are read in all of them.
const MOST_NAMES: usize = 200_000;

/// The repositories of a workspace.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(in crate::tools) struct Nested {
    /// Folders below it that have a `.git`, the nearest first.
    pub(in crate::tools) folders: Vec<String>,
    /// Whether the workspace itself has a `.git`.
    pub(in crate::tools) is_one: bool,
    /// Whether the search stopped at one of its limits.
    pub(in crate::tools) is_partial: bool,
}

/// Finds the repositories below the workspace of the agent in `folder`.
///
/// # Errors
///
/// Fails if there is no workspace.
pub(in crate::tools) fn nested(folder: &Path) -> Result<Nested, ToolError> {
    let files = Workspace::open(folder)
        .map_err(ToolError::failed)?
        .files()?;
    let mut found = Nested::default();
    let mut waiting = VecDeque::from([(String::new(), 0)]);
    let mut names_left = MOST_NAMES;
    let mut folders_left = MOST_FOLDERS;
    while let Some((path, depth)) = waiting.pop_front() {
        if folders_left == 0 || names_left == 0 {
            found.is_partial = true;
            break;
        }
        folders_left -= 1;
        let Some(names) = look_into(files.dir(), &path, &mut names_left) else {
            continue;
        };
        match path.as_str() {
            "" => found.is_one = names.is_repository,
            _ if names.is_repository => found.folders.push(path.clone()),
            _ => {}
        }
        if depth == DEEPEST {
            continue;
        }
        let below = names.folders.into_iter().map(|name| match path.as_str() {
            "" => name,
            path => format!("{path}/{name}"),
        });
        waiting.extend(below.map(|path| (path, depth + 1)));
    }
    Ok(found)
}

/// The contents of one folder.
struct Names {
    is_repository: bool,
    folders: Vec<String>,
}

/// Returns the names in a folder; `None` if it cannot be read, or no longer exists.
fn look_into(files: &Dir, path: &str, names_left: &mut usize) -> Option<Names> {
    let folder = match path {
        "" => files.try_clone(),
        path => files.open_dir(path),
    };
    let mut names = Names {
        is_repository: false,
        folders: Vec::new(),
    };
    for entry in folder.ok()?.entries().ok()?.take(*names_left) {
        *names_left -= 1;
        let Ok(entry) = entry else {
            continue;
        };
        // A name that is not UTF-8 cannot be shown.
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if name == ".git" {
            names.is_repository = true;
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            names.folders.push(name);
        }
    }
    names.folders.sort_unstable();
    Some(names)
}
