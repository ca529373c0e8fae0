//! `git_commit`: commits files, as the agent.
//!
//! Two worker processes do it: one commits, and another counts the changed lines, with lower limits. Comparing two
//! versions of a long file can take gigabytes and minutes, and no commit depends on the count.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use git2::{Commit, DiffOptions, Index, Oid, Patch, Repository, RepositoryState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::AgentName;
use crate::exec::WorkLimits;
use crate::permission::{Action, Group};
use crate::text;
use crate::tools::error::ToolError;
use crate::tools::git::Opened;
use crate::tools::work::{self, Work};
use crate::tools::{Output, Tool, ToolContext};
use crate::tools::{files, git};
use crate::workspace::{FileError, Jail, WorkspacePath, repository};

/// Largest file, in bytes, that is committed: a repository with a larger one would not be opened again.
const LARGEST: u64 = 512 * 1024 * 1024;

/// Longest time for counting the changed lines.
const COUNTING: Duration = Duration::from_secs(10);

pub(super) struct GitCommit;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    message: String,
    /// Only these files or folders; all by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<String>>,
}

#[async_trait]
impl Tool for GitCommit {
    type Args = Args;

    const NAME: &'static str = "git_commit";
    const DESCRIPTION: &'static str = "Commit changed and new files.";
    const GROUP: Group = Group::GitLocal;
    const SUBJECT: &'static str = "git:commit";

    fn action(_: &Args) -> Action {
        Action::new("git", "commit")
    }

    fn writes(_: &Args) -> Option<String> {
        Some(".git".into())
    }

    fn deadline(_: &Args) -> Option<Duration> {
        Some(git::WRITING_DEADLINE)
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        if args.message.trim().is_empty() {
            return Err(ToolError::rejected("`message` is empty"));
        }
        let only = match args.files {
            Some(files) => Some(own_paths(files, context).await?),
            None => None,
        };
        let work = Committing {
            folder: context.services.folder(context),
            message: args.message,
            only: only.map(|paths| paths.iter().map(ToString::to_string).collect()),
            author: context.name.to_string(),
        };
        let made = context.by_worker(&work, &[]).await?;
        let made: Committed = serde_json::from_str(&made).map_err(ToolError::failed)?;
        let count = LineCount {
            folder: work.folder,
            commit: made.id,
        };
        let counted = tokio::time::timeout(COUNTING, context.by_worker(&count, &[])).await;
        let lines = match counted {
            Ok(Ok(lines)) => lines,
            Ok(Err(_)) | Err(_) => NOT_COUNTED.to_owned(),
        };
        Ok(format!("{}, {lines}", made.told).into())
    }
}

/// Replaces the changed lines.
const NOT_COUNTED: &str = "with too many lines to be counted";

/// A commit to create.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct Committing {
    /// The agent's folder.
    folder: PathBuf,
    message: String,
    /// Only these files or folders.
    only: Option<Vec<String>>,
    /// The agent's name.
    author: String,
}

/// A commit that was created.
#[derive(Deserialize, Serialize)]
struct Committed {
    id: String,
    /// The text about it for the model.
    told: String,
}

impl Work for Committing {
    const NAME: &'static str = "git_commit";
    const LIMITS: WorkLimits = work::GIT_WRITING;

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        let author = AgentName::parse(&self.author).map_err(ToolError::failed)?;
        let only = match self.only {
            Some(paths) => Some(
                paths
                    .iter()
                    .map(|path| WorkspacePath::parse(path))
                    .collect::<Result<Vec<_>, _>>()?,
            ),
            None => None,
        };
        let made = git::write(&self.folder, |opened| {
            stage(opened, only.as_deref())?;
            commit(&opened.git, &self.message, &author)
        })?;
        serde_json::to_string(&made).map_err(ToolError::failed)
    }
}

/// Counts the lines that a commit adds and removes.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct LineCount {
    /// The agent's folder.
    folder: PathBuf,
    commit: String,
}

impl Work for LineCount {
    const NAME: &'static str = "git_commit_lines";
    const LIMITS: WorkLimits = WorkLimits {
        memory: 128 << 20,
        seconds: 5,
        ..work::GIT
    };

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        let id: Oid = self.commit.parse().map_err(ToolError::failed)?;
        git::read(&self.folder, |opened| lines(&opened.git, id))
    }
}

/// Returns the paths. None may be behind a link: its target does not belong to the workspace.
async fn own_paths(
    paths: Vec<String>,
    context: &ToolContext,
) -> Result<Vec<WorkspacePath>, ToolError> {
    files::blocking(context, move |workspace| {
        let jail = workspace.files()?;
        paths.iter().map(|path| own_path(path, &jail)).collect()
    })
    .await
}

fn own_path(path: &str, jail: &Jail) -> Result<WorkspacePath, ToolError> {
    let path = WorkspacePath::parse(path)?;
    if path.is_in_repository() {
        return Err(FileError::Protected(path.to_string()).into());
    }
    if jail.is_direct(&path) {
        Ok(path)
    } else {
        Err(FileError::Outside(path.to_string()).into())
    }
}

/// Adds new and changed files to the index, and removes deleted ones.
///
/// `Index::add_all` is not used because it compares the lines of each changed file: that takes gigabytes and minutes,
/// and gives nothing.
struct Stager<'a> {
    git: &'a Repository,
    index: &'a mut Index,
    /// Number of changes found.
    changes: usize,
}

impl Stager<'_> {
    /// Adds every change that is not ignored, or those of the file or folder `below`.
    fn take(&mut self, below: Option<&Path>) -> Result<(), ToolError> {
        let mut options = DiffOptions::new();
        options
            .include_typechange(true)
            .include_untracked(true)
            .recurse_untracked_dirs(true);
        if let Some(path) = below {
            options.pathspec(path).disable_pathspec_match(true);
        }
        let changes = self
            .git
            .diff_index_to_workdir(Some(self.index), Some(&mut options))?;
        for change in changes.deltas() {
            let file = change.new_file();
            let Some(path) = file.path().or_else(|| change.old_file().path()) else {
                continue;
            };
            self.changes += 1;
            if file.exists() {
                self.check_size(path)?;
                self.index.add_path(path)?;
            } else {
                self.index.remove_path(path)?;
            }
        }
        Ok(())
    }

    fn check_size(&self, path: &Path) -> Result<(), ToolError> {
        let file = self.git.workdir().map(|folder| folder.join(path));
        let meta = file.and_then(|file| std::fs::symlink_metadata(file).ok());
        let size = meta.map_or(0, |meta| meta.len());
        if size <= LARGEST {
            return Ok(());
        }
        let (path, size) = (text::visible(&path.to_string_lossy()).0, text::bytes(size));
        Err(ToolError::Rejected(format!(
            "`{path}` has {size}, more than the {} that are committed; name it in .gitignore",
            text::bytes(LARGEST)
        )))
    }
}

/// Puts the changes to commit into the index.
fn stage(opened: &Opened, only: Option<&[WorkspacePath]>) -> Result<(), ToolError> {
    if opened.git.state() != RepositoryState::Clean {
        return Err(ToolError::rejected(
            "a merge or rebase is under way; finish it in the shell first",
        ));
    }
    let mut index = opened.git.index()?;
    let mut stager = Stager {
        git: &opened.git,
        index: &mut index,
        changes: 0,
    };
    match only {
        None => stager.take(None)?,
        Some(paths) => {
            for path in paths {
                stage_one(&mut stager, path)?;
            }
        }
    }
    index.write()?;
    Ok(())
}

/// Adds a file, a folder with its content, or a deletion.
fn stage_one(stager: &mut Stager<'_>, path: &WorkspacePath) -> Result<(), ToolError> {
    if path.is_root() {
        return stager.take(None);
    }
    let before = stager.changes;
    let is_known = stager.index.get_path(path.as_path(), 0).is_some();
    stager.take(Some(path.as_path()))?;
    if stager.changes == before && !is_known {
        return Err(ToolError::Rejected(format!(
            "`{path}` is neither a file here nor one that was committed, or .gitignore names it, or nothing in it changed"
        )));
    }
    Ok(())
}

fn commit(opened: &Repository, message: &str, author: &AgentName) -> Result<Committed, ToolError> {
    let parent = match opened.head() {
        Ok(head) => Some(head.peel_to_commit()?),
        Err(_) => None,
    };
    let tree = opened.find_tree(opened.index()?.write_tree()?)?;
    let old = parent.as_ref().map(Commit::tree).transpose()?;
    if old.as_ref().is_some_and(|old| old.id() == tree.id()) {
        return Err(ToolError::rejected("nothing changed since the last commit"));
    }
    let changed =
        opened.diff_tree_to_tree(old.as_ref(), Some(&tree), Some(&mut git::diff_options()))?;
    let author = repository::author(author)?;
    let parents: Vec<&Commit<'_>> = parent.iter().collect();
    let id = opened.commit(Some("HEAD"), &author, &author, message, &tree, &parents)?;
    let branch = match opened.head() {
        Ok(head) if head.is_branch() => format!("on {}", head.shorthand().unwrap_or_default()),
        Ok(_) | Err(_) => "on no branch".to_owned(),
    };
    let summary = text::one_line(
        &text::visible(message.trim().lines().next().unwrap_or_default()).0,
        100,
    );
    Ok(Committed {
        id: id.to_string(),
        told: format!(
            "Committed {id} {branch}: {summary}\n{} changed",
            counted(changed.deltas().len())
        ),
    })
}

/// Returns the lines that a commit adds and removes.
fn lines(git: &Repository, id: Oid) -> Result<String, ToolError> {
    let commit = git.find_commit(id)?;
    let before = match commit.parent(0) {
        Ok(parent) => Some(parent.tree()?),
        Err(_) => None,
    };
    let mut options = git::diff_options();
    let diff = git.diff_tree_to_tree(before.as_ref(), Some(&commit.tree()?), Some(&mut options))?;
    let (mut added, mut removed) = (0, 0);
    for at in 0..diff.deltas().len() {
        // A file that is not text has no patch.
        let Some(patch) = Patch::from_diff(&diff, at)? else {
            continue;
        };
        if !is_compared(&patch) {
            return Ok(NOT_COUNTED.to_owned());
        }
        let (_, more, less) = patch.line_stats()?;
        (added, removed) = (added + more, removed + less);
    }
    Ok(format!("+{added} -{removed}"))
}

/// Returns whether the two sides of a file were compared. libgit2 reports nothing if its memory was not enough: then
/// there is no difference.
fn is_compared(patch: &Patch<'_>) -> bool {
    let delta = patch.delta();
    let (old, new) = (delta.old_file(), delta.new_file());
    let is_same = old.id() == new.id() || (old.size() == 0 && new.size() == 0);
    if old.size().max(new.size()) > git::LARGEST_COMPARED {
        return is_same;
    }
    is_same || delta.flags().is_binary() || patch.num_hunks() > 0
}

fn counted(files: usize) -> String {
    match files {
        1 => "1 file".to_owned(),
        many => format!("{many} files"),
    }
}
