//! `git_commit`: commits files, as the agent.

use std::path::Path;

use async_trait::async_trait;
use git2::{Commit, Index, IndexAddOption, Repository, RepositoryState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::AgentName;
use crate::permission::{Action, Group};
use crate::text;
use crate::tools::error::ToolError;
use crate::tools::git::Opened;
use crate::tools::{Output, Tool, ToolContext};
use crate::tools::{files, git};
use crate::workspace::{FileError, Jail, WorkspacePath, repository};

/// Largest file, in bytes, that is committed: a larger one could not be pushed either.
const LARGEST: u64 = 256 * 1024 * 1024;

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

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        if args.message.trim().is_empty() {
            return Err(ToolError::rejected("`message` is empty"));
        }
        let only = match args.files {
            Some(files) => Some(own_paths(files, context).await?),
            None => None,
        };
        let author = context.name.clone();
        let done = git::in_repository(context, move |opened| {
            stage(opened, only.as_deref())?;
            commit(&opened.git, &args.message, &author)
        });
        done.await.map(Output::from)
    }
}

/// The paths, none of which may be behind a link: its target does not belong to the workspace.
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

/// Checks each file before it is read into the repository.
struct Inspector<'a> {
    opened: &'a Opened,
    seen: usize,
    refused: Option<String>,
}

impl Inspector<'_> {
    /// What libgit2 is to do with the file: take it (0), or stop.
    fn look(&mut self, path: &Path) -> i32 {
        self.seen += 1;
        let file = self.opened.git.workdir().map(|folder| folder.join(path));
        let meta = file.and_then(|file| std::fs::symlink_metadata(file).ok());
        let size = meta.map_or(0, |meta| meta.len());
        if size > LARGEST {
            let (path, size) = (text::visible(&path.to_string_lossy()).0, text::bytes(size));
            self.refused = Some(format!(
                "`{path}` has {size}, more than the {} that are committed; name it in .gitignore",
                text::bytes(LARGEST)
            ));
        } else if self.opened.is_given_up() {
            self.refused = Some("nobody waits for it any more".to_owned());
        }
        if self.refused.is_some() { -1 } else { 0 }
    }

    /// Adds everything that is not ignored.
    fn take_all(&mut self, index: &mut Index) -> Result<(), ToolError> {
        self.take(index, &[Path::new("*")], IndexAddOption::DEFAULT)
    }

    /// Adds new and changed files below `paths` to `index`, and removes deleted ones.
    fn take(
        &mut self,
        index: &mut Index,
        paths: &[&Path],
        how: IndexAddOption,
    ) -> Result<(), ToolError> {
        let added = index.add_all(paths, how, Some(&mut |path, _| self.look(path)));
        let taken = match added {
            Ok(()) => index.update_all(paths, Some(&mut |path, _| self.look(path))),
            broken_off => broken_off,
        };
        match (self.refused.take(), taken) {
            (Some(why), _) => Err(ToolError::Rejected(why)),
            (None, taken) => Ok(taken?),
        }
    }
}

/// Puts what is to be committed into the index.
fn stage(opened: &Opened, only: Option<&[WorkspacePath]>) -> Result<(), ToolError> {
    if opened.git.state() != RepositoryState::Clean {
        return Err(ToolError::rejected(
            "a merge or rebase is under way; finish it in the shell first",
        ));
    }
    let mut index = opened.git.index()?;
    let mut inspector = Inspector {
        opened,
        seen: 0,
        refused: None,
    };
    match only {
        None => inspector.take_all(&mut index)?,
        Some(paths) => {
            for path in paths {
                stage_one(&mut inspector, &mut index, path)?;
            }
        }
    }
    index.write()?;
    Ok(())
}

/// Adds a file, a folder with its content, or a deletion.
fn stage_one(
    inspector: &mut Inspector<'_>,
    index: &mut Index,
    path: &WorkspacePath,
) -> Result<(), ToolError> {
    if path.is_root() {
        return inspector.take_all(index);
    }
    let (seen, before) = (inspector.seen, index.len());
    let known = index.get_path(path.as_path(), 0).is_some();
    let literal = IndexAddOption::DISABLE_PATHSPEC_MATCH;
    inspector.take(index, &[path.as_path()], literal)?;
    if inspector.seen == seen && !known && index.len() == before {
        return Err(ToolError::Rejected(format!(
            "`{path}` is neither a file here nor one that was committed, or .gitignore names it, or nothing in it changed"
        )));
    }
    Ok(())
}

fn commit(opened: &Repository, message: &str, author: &AgentName) -> Result<String, ToolError> {
    let parent = match opened.head() {
        Ok(head) => Some(head.peel_to_commit()?),
        Err(_) => None,
    };
    let tree = opened.find_tree(opened.index()?.write_tree()?)?;
    let old = parent.as_ref().map(Commit::tree).transpose()?;
    if old.as_ref().is_some_and(|old| old.id() == tree.id()) {
        return Err(ToolError::rejected("nothing changed since the last commit"));
    }
    let stats = opened
        .diff_tree_to_tree(old.as_ref(), Some(&tree), Some(&mut git::diff_options()))?
        .stats()?;
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
    Ok(format!(
        "Committed {id} {branch}: {summary}\n{} changed, +{} -{}",
        counted(stats.files_changed()),
        stats.insertions(),
        stats.deletions()
    ))
}

fn counted(files: usize) -> String {
    match files {
        1 => "1 file".to_owned(),
        many => format!("{many} files"),
    }
}
