//! Compares the files of the workspace's repository before and after a command, for receipts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use git2::{Oid, Repository, Tree};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::{diff_options, read};
use crate::domain::FileChange;
use crate::exec::WorkLimits;
use crate::text;
use crate::tools::ToolContext;
use crate::tools::error::ToolError;
use crate::tools::work::{self, Work};

/// Most files that differ from the last commit. If there are more, changes are not counted.
const MOST: usize = 500;

/// Time for one comparison. A repository that takes longer is not counted.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The files of a repository that differ from a commit.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(in crate::tools) struct State {
    /// The tree that they are compared with; `None` before the first commit.
    tree: Option<String>,
    files: BTreeMap<String, Compared>,
}

/// A file compared with that tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
struct Compared {
    added: u64,
    removed: u64,
    /// The name of its content.
    content: String,
}

/// Reads the files of a repository.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct LookAtFiles {
    /// The agent's folder.
    folder: PathBuf,
    since: Since,
}

/// The state that the files are compared with.
#[derive(Clone, Debug, Deserialize, Serialize)]
enum Since {
    LastCommit,
    /// A tree, or nothing if there was no commit.
    Tree(Option<String>),
}

impl Work for LookAtFiles {
    const NAME: &'static str = "files_changed";
    /// As little as for other work that is not the call itself: a larger repository is not counted.
    const LIMITS: WorkLimits = WorkLimits {
        memory: 128 << 20,
        seconds: 3,
        ..work::GIT
    };

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        let state = read(&self.folder, |opened| state(&opened.git, &self.since))?;
        serde_json::to_string(&state).map_err(ToolError::failed)
    }
}

/// Reads the state of the files in the calling agent's repository before a command. `None` if there is no repository,
/// or it takes too long.
pub(in crate::tools) async fn before(context: &ToolContext) -> Option<State> {
    look(Since::LastCommit, context).await
}

/// Returns the files that a command changed since the state `before` it.
pub(in crate::tools) async fn since(
    before: Option<State>,
    context: &ToolContext,
) -> Vec<FileChange> {
    let Some(before) = before else {
        return Vec::new();
    };
    let after = look(Since::Tree(before.tree.clone()), context).await;
    after.map_or_else(Vec::new, |after| between(&before, &after))
}

async fn look(since: Since, context: &ToolContext) -> Option<State> {
    let look = LookAtFiles {
        folder: context.services.folder(context),
        since,
    };
    let seen = timeout(TIMEOUT, context.by_worker(&look, &[])).await;
    serde_json::from_str(&seen.ok()?.ok()?).ok()
}

fn state(git: &Repository, since: &Since) -> Result<State, ToolError> {
    let tree: Option<Tree<'_>> = match since {
        Since::LastCommit => git.head().and_then(|head| head.peel_to_tree()).ok(),
        Since::Tree(Some(id)) => Some(git.find_tree(Oid::from_str(id)?)?),
        Since::Tree(None) => None,
    };
    let mut options = diff_options();
    options
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .show_untracked_content(true);
    let diff = git.diff_tree_to_workdir_with_index(tree.as_ref(), Some(&mut options))?;
    if diff.deltas().len() > MOST {
        return Err(ToolError::rejected("too many files differ"));
    }
    let mut files = BTreeMap::new();
    for index in 0..diff.deltas().len() {
        let Some(patch) = git2::Patch::from_diff(&diff, index)? else {
            continue;
        };
        let (_, added, removed) = patch.line_stats()?;
        let file = patch.delta().new_file();
        let path = String::from_utf8_lossy(file.path_bytes().unwrap_or_default()).into_owned();
        let compared = Compared {
            added: added as u64,
            removed: removed as u64,
            content: file.id().to_string(),
        };
        files.insert(text::visible(&path).0, compared);
    }
    let tree = tree.map(|tree| tree.id().to_string());
    Ok(State { tree, files })
}

/// Compares two states: lines that were already different count only as far as they changed.
fn between(before: &State, after: &State) -> Vec<FileChange> {
    let paths = before.files.keys().chain(after.files.keys());
    let paths: std::collections::BTreeSet<&String> = paths.collect();
    let same = Compared::default();
    let changes = paths.into_iter().filter_map(|path| {
        let (old, new) = (before.files.get(path), after.files.get(path));
        if old == new {
            return None;
        }
        let (old, new) = (old.unwrap_or(&same), new.unwrap_or(&same));
        Some(FileChange {
            path: path.clone(),
            added: new.added.saturating_sub(old.added) + old.removed.saturating_sub(new.removed),
            removed: new.removed.saturating_sub(old.removed) + old.added.saturating_sub(new.added),
        })
    });
    changes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(files: &[(&str, u64, u64, &str)]) -> State {
        let files = files.iter().map(|(path, added, removed, content)| {
            let compared = Compared {
                added: *added,
                removed: *removed,
                content: (*content).to_owned(),
            };
            ((*path).to_owned(), compared)
        });
        State {
            tree: None,
            files: files.collect(),
        }
    }

    #[test]
    fn only_what_the_command_changed_counts() {
        let before = state(&[
            ("dirty", 10, 1, "a"),
            ("same", 3, 0, "b"),
            ("undone", 4, 2, "c"),
        ]);
        let after = state(&[
            ("dirty", 12, 1, "d"),
            ("same", 3, 0, "b"),
            ("new", 5, 0, "e"),
        ]);
        let told: Vec<(String, u64, u64)> = between(&before, &after)
            .into_iter()
            .map(|change| (change.path, change.added, change.removed))
            .collect();
        let wanted = [("dirty", 2, 0), ("new", 5, 0), ("undone", 2, 4)];
        let wanted = wanted.map(|(path, added, removed)| (path.to_owned(), added, removed));
        assert_eq!(told, wanted);
    }
}
