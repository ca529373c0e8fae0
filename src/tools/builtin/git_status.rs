//! `git_status`: what changed since the last commit.

use std::path::PathBuf;

use async_trait::async_trait;
use git2::{Status, StatusOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exec::WorkLimits;
use crate::permission::{Action, Group};
use crate::text;
use crate::tools::error::ToolError;
use crate::tools::git;
use crate::tools::tool::{Output, Tool, ToolContext};
use crate::tools::work::{self, Work};

/// Paths that are listed.
const MOST: usize = 300;

pub(super) struct GitStatus;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {}

#[async_trait]
impl Tool for GitStatus {
    type Args = Args;

    const NAME: &'static str = "git_status";
    const DESCRIPTION: &'static str = "Show the branch and what changed.";
    const GROUP: Group = Group::GitLocal;
    const SUBJECT: &'static str = "git:status";

    fn action(_: &Args) -> Action {
        Action::new("git", "status")
    }

    async fn run(&self, _: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let work = Look {
            folder: context.services.folder(context),
        };
        Ok(context.by_worker(&work, &[]).await?.into())
    }
}

/// A look at what changed.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct Look {
    /// The agent's folder.
    folder: PathBuf,
}

impl Work for Look {
    const NAME: &'static str = "git_status";
    const LIMITS: WorkLimits = work::GIT;

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        git::read(&self.folder, |opened| status(&opened.git))
    }
}

fn status(git: &git2::Repository) -> Result<String, ToolError> {
    let mut lines = vec![branch(git)];
    let mut options = StatusOptions::new();
    options
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .exclude_submodules(true);
    let found = git.statuses(Some(&mut options))?;
    for entry in found.iter().take(MOST) {
        let path = text::visible(&String::from_utf8_lossy(entry.path_bytes())).0;
        lines.push(format!("{} {path}", letters(entry.status())));
    }
    if found.is_empty() {
        lines.push("Nothing changed since the last commit.".into());
    }
    if found.len() > MOST {
        lines.push(format!("[{} more]", found.len() - MOST));
    }
    Ok(lines.join("\n"))
}

fn branch(git: &git2::Repository) -> String {
    match git.head() {
        Ok(head) if head.is_branch() => {
            format!("On branch {}", head.shorthand().unwrap_or_default())
        }
        Ok(head) => {
            let at = head.target().map(|oid| oid.to_string()).unwrap_or_default();
            format!("On no branch, at {at}")
        }
        Err(_) => "No commit yet".into(),
    }
}

/// Two letters as `git status --short` writes them: in the index, in the files.
fn letters(status: Status) -> String {
    let letter = |table: [(Status, char); 5]| {
        table
            .into_iter()
            .find(|(flag, _)| status.intersects(*flag))
            .map_or(' ', |(_, letter)| letter)
    };
    if status.contains(Status::CONFLICTED) {
        return "UU".into();
    }
    if status.contains(Status::WT_NEW) && !status.contains(Status::INDEX_NEW) {
        return "??".into();
    }
    let index = letter([
        (Status::INDEX_NEW, 'A'),
        (Status::INDEX_MODIFIED, 'M'),
        (Status::INDEX_DELETED, 'D'),
        (Status::INDEX_RENAMED, 'R'),
        (Status::INDEX_TYPECHANGE, 'T'),
    ]);
    let files = letter([
        (Status::WT_NEW, 'A'),
        (Status::WT_MODIFIED, 'M'),
        (Status::WT_DELETED, 'D'),
        (Status::WT_RENAMED, 'R'),
        (Status::WT_TYPECHANGE, 'T'),
    ]);
    format!("{index}{files}")
}
