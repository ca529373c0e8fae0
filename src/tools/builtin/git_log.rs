//! `git_log`: the latest commits.

use std::path::PathBuf;

use async_trait::async_trait;
use chrono::DateTime;
use git2::{Commit, Repository};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exec::WorkLimits;
use crate::permission::{Action, Group};
use crate::text;
use crate::tools::error::ToolError;
use crate::tools::git;
use crate::tools::work::{self, Work};
use crate::tools::{Output, Tool, ToolContext};

/// Default number of commits.
const USUAL: usize = 20;

/// Most commits.
const MOST: usize = 500;

pub(super) struct GitLog;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// Commits (20).
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
    /// One line each.
    #[serde(skip_serializing_if = "Option::is_none")]
    oneline: Option<bool>,
}

#[async_trait]
impl Tool for GitLog {
    type Args = Args;

    const NAME: &'static str = "git_log";
    const DESCRIPTION: &'static str = "Show the latest commits.";
    const GROUP: Group = Group::GitLocal;
    const SUBJECT: &'static str = "git:log";

    fn action(_: &Args) -> Action {
        Action::new("git", "log")
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let work = History {
            folder: context.services.folder(context),
            args,
        };
        Ok(context.by_worker(&work, &[]).await?.into())
    }
}

/// The latest commits.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct History {
    /// The agent's folder.
    folder: PathBuf,
    args: Args,
}

impl Work for History {
    const NAME: &'static str = "git_log";
    const LIMITS: WorkLimits = work::GIT;

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        let count = self.args.count.unwrap_or(USUAL).min(MOST);
        let format = if self.args.oneline.unwrap_or(false) {
            one_line
        } else {
            in_full
        };
        git::read(&self.folder, |opened| log(&opened.git, count, format))
    }
}

fn log(
    git: &Repository,
    count: usize,
    format: fn(&Commit<'_>) -> String,
) -> Result<String, ToolError> {
    let mut walk = git.revwalk()?;
    if walk.push_head().is_err() {
        return Ok("There is no commit yet.".into());
    }
    let mut lines = Vec::new();
    for id in walk.take(count) {
        let commit = git.find_commit(id?)?;
        lines.push(text::visible(&format(&commit)).0);
    }
    Ok(lines.join("\n"))
}

fn one_line(commit: &Commit<'_>) -> String {
    let summary = String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned();
    format!("{:.10} {summary}", commit.id().to_string())
}

fn in_full(commit: &Commit<'_>) -> String {
    let author = commit.author();
    let when = DateTime::from_timestamp(commit.time().seconds(), 0)
        .map(|time| time.to_rfc3339())
        .unwrap_or_default();
    let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
    let indented: Vec<String> = message
        .trim_end()
        .lines()
        .map(|line| format!("    {line}"))
        .collect();
    format!(
        "commit {}\nauthor {author}\ndate   {when}\n\n{}\n",
        commit.id(),
        indented.join("\n")
    )
}
