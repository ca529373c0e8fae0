//! `git_commit`: commits files, as the agent.

use async_trait::async_trait;
use git2::{Commit, Index, IndexAddOption, Repository, RepositoryState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::AgentName;
use crate::permission::{Action, Group};
use crate::text;
use crate::tools::{Output, Tool, ToolContext, ToolError, files, git};
use crate::workspace::{FileError, Jail, WorkspacePath, repository};

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
            stage(&opened.git, only.as_deref())?;
            commit(&opened.git, &args.message, &author)
        });
        done.await.map(Output::from)
    }
}

/// The paths, none of which may lie behind a link: what it leads to is not the workspace's to commit.
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
    if path.as_str().split('/').any(|name| name == ".git") {
        return Err(FileError::Protected(path.to_string()).into());
    }
    match jail.is_direct(&path) {
        true => Ok(path),
        false => Err(FileError::Outside(path.to_string()).into()),
    }
}

/// Puts what is to be committed into the index.
fn stage(git: &Repository, only: Option<&[WorkspacePath]>) -> Result<(), ToolError> {
    if git.state() != RepositoryState::Clean {
        return Err(ToolError::rejected(
            "a merge or rebase is under way; finish it in the shell first",
        ));
    }
    let mut index = git.index()?;
    match only {
        None => {
            index.add_all(["*"], IndexAddOption::DEFAULT, None)?;
            index.update_all(["*"], None)?;
        }
        Some(paths) => {
            for path in paths {
                stage_one(&mut index, path)?;
            }
        }
    }
    index.write()?;
    Ok(())
}

/// A file, a folder with all in it, or one that was deleted.
fn stage_one(index: &mut Index, path: &WorkspacePath) -> Result<(), ToolError> {
    let before = index.len();
    let mut matched = 0;
    let literal = IndexAddOption::DISABLE_PATHSPEC_MATCH;
    let mut count = |_: &std::path::Path, _: &[u8]| {
        matched += 1;
        0
    };
    let known = index.get_path(path.as_path(), 0).is_some();
    index.add_all([path.as_path()], literal, Some(&mut count))?;
    index.update_all([path.as_path()], None)?;
    if matched == 0 && !known && index.len() == before && !path.is_root() {
        return Err(ToolError::Rejected(format!(
            "`{path}` is neither a file here nor one that was committed, or .gitignore names it, or nothing in it changed"
        )));
    }
    Ok(())
}

fn commit(git: &Repository, message: &str, author: &AgentName) -> Result<String, ToolError> {
    let parent = match git.head() {
        Ok(head) => Some(head.peel_to_commit()?),
        Err(_) => None,
    };
    let tree = git.find_tree(git.index()?.write_tree()?)?;
    let old = parent.as_ref().map(Commit::tree).transpose()?;
    if old.as_ref().is_some_and(|old| old.id() == tree.id()) {
        return Err(ToolError::rejected("nothing changed since the last commit"));
    }
    let stats = git
        .diff_tree_to_tree(old.as_ref(), Some(&tree), None)?
        .stats()?;
    let author = repository::author(author)?;
    let parents: Vec<&Commit<'_>> = parent.iter().collect();
    let id = git.commit(Some("HEAD"), &author, &author, message, &tree, &parents)?;
    let branch = match git.head() {
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
