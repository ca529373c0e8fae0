//! `git_branch`: lists, creates or deletes branches.

use std::path::PathBuf;

use async_trait::async_trait;
use git2::{BranchType, Repository};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exec::WorkLimits;
use crate::permission::{Action, Group};
use crate::text;
use crate::tools::error::ToolError;
use crate::tools::git;
use crate::tools::work::{self, Work};
use crate::tools::{Output, Tool, ToolContext};

pub(super) struct GitBranch;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// Branch to make at HEAD; none lists them.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Delete it instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    delete: Option<bool>,
}

#[async_trait]
impl Tool for GitBranch {
    type Args = Args;

    const NAME: &'static str = "git_branch";
    const DESCRIPTION: &'static str = "List, make or delete branches.";
    const GROUP: Group = Group::GitLocal;
    const SHELF: Option<&'static str> = Some("list, make, delete branches");
    const SUBJECT: &'static str = "git:branch";

    fn action(args: &Args) -> Action {
        let name = args.name.as_deref().unwrap_or_default();
        match args.delete {
            Some(true) => Action::new("git", format!("branch --delete {name}")),
            Some(false) | None => Action::new("git", format!("branch {name}")),
        }
    }

    fn writes(_: &Args) -> Option<String> {
        Some(".git".into())
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        if let Some(name) = &args.name {
            git::check_branch(name)?;
        }
        let work = Branches {
            folder: context.services.folder(context),
            args,
        };
        Ok(context.by_worker(&work, &[]).await?.into())
    }
}

/// A look at the branches of a repository, or a change to them.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct Branches {
    /// The agent's folder.
    folder: PathBuf,
    args: Args,
}

impl Work for Branches {
    const NAME: &'static str = "git_branch";
    const LIMITS: WorkLimits = work::GIT_WRITING;

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        match (self.args.name, self.args.delete.unwrap_or(false)) {
            (None, false) => git::read(&self.folder, |opened| list(&opened.git)),
            (None, true) => Err(ToolError::rejected("`name` says which branch to delete")),
            (Some(name), false) => git::write(&self.folder, |opened| make(&opened.git, &name)),
            (Some(name), true) => git::write(&self.folder, |opened| delete(&opened.git, &name)),
        }
    }
}

fn make(git: &Repository, name: &str) -> Result<String, ToolError> {
    let at = git.head()?.peel_to_commit()?;
    git.branch(name, &at, false)?;
    Ok(format!("Made branch `{name}` at {}.", at.id()))
}

fn delete(git: &Repository, name: &str) -> Result<String, ToolError> {
    let mut branch = git.find_branch(name, BranchType::Local)?;
    let at = branch.get().peel_to_commit()?.id();
    branch.delete()?;
    Ok(format!("Deleted branch `{name}`; it was at {at}."))
}

fn list(git: &Repository) -> Result<String, ToolError> {
    let mut lines = Vec::new();
    for branch in git.branches(None)? {
        let (branch, _) = branch?;
        let mark = if branch.is_head() { "*" } else { " " };
        let name = String::from_utf8_lossy(branch.name_bytes()?).into_owned();
        let commit = branch.get().peel_to_commit()?;
        let summary =
            String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned();
        let line = format!("{mark} {name} {:.10} {summary}", commit.id().to_string());
        lines.push(text::visible(&line).0);
    }
    if lines.is_empty() {
        Ok("There is no branch before the first commit.".into())
    } else {
        Ok(lines.join("\n"))
    }
}
