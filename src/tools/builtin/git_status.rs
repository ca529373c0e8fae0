//! `git_status`: lists the changes since the last commit, in the workspace's repository and in those below it.
//!
//! An agent that works on several repositories clones them into its workspace. A separate worker process reads each of
//! those, so that a hostile one which takes all memory and time affects only its own lines.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use git2::{Status, StatusOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout};

use crate::exec::WorkLimits;
use crate::permission::{Action, Group};
use crate::text;
use crate::tools::error::ToolError;
use crate::tools::git::{self, Nested};
use crate::tools::work::{self, Work};
use crate::tools::{Output, Tool, ToolContext};

/// Most paths that are listed for the workspace's repository.
const MOST: usize = 300;

/// Most paths that are listed for each repository below it.
const MOST_BELOW: usize = 50;

/// Most repositories below the workspace that are read.
const MOST_REPOSITORIES: usize = 10;

/// Most repositories that are named without being read.
const MOST_NAMED: usize = 20;

/// Longest time for one repository.
const EACH_TIMEOUT: Duration = Duration::from_secs(10);

/// After this time no further one is read: the whole call has a minute.
const ALL_TIMEOUT: Duration = Duration::from_secs(15);

pub(super) struct GitStatus;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {}

#[async_trait]
impl Tool for GitStatus {
    type Args = Args;

    const NAME: &'static str = "git_status";
    const DESCRIPTION: &'static str =
        "Show the branch and what changed, here and in repositories below.";
    const GROUP: Group = Group::GitLocal;
    const SUBJECT: &'static str = "git:status";

    fn action(_: &Args) -> Action {
        Action::new("git", "status")
    }

    async fn run(&self, _: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let work = Look {
            folder: context.services.folder(context),
        };
        let seen = context.by_worker(&work, &[]).await?;
        let seen: Seen = serde_json::from_str(&seen).map_err(ToolError::failed)?;
        let mut told = vec![seen.own];
        told.extend(nested(seen.nested, work.folder, context).await);
        Ok(told.join("\n\n").into())
    }
}

/// Returns the state of the repositories below the workspace, a paragraph each.
async fn nested(nested: Nested, folder: PathBuf, context: &ToolContext) -> Vec<String> {
    let begun = Instant::now();
    let mut told = Vec::new();
    let mut left_out = Vec::new();
    for below in nested.folders {
        if told.len() >= MOST_REPOSITORIES || begun.elapsed() > ALL_TIMEOUT {
            left_out.push(format!("`{}`", text::visible(&below).0));
            continue;
        }
        let look = LookBelow {
            folder: folder.clone(),
            below,
        };
        let seen = timeout(EACH_TIMEOUT, context.by_worker(&look, &[])).await;
        let seen = match seen {
            Ok(Ok(seen)) => seen,
            Ok(Err(error)) => format!("Not looked at: {error}."),
            Err(_) => format!(
                "Not looked at: it took more than {} s.",
                EACH_TIMEOUT.as_secs()
            ),
        };
        told.push(format!("In `{}`:\n{seen}", text::visible(&look.below).0));
    }
    if !left_out.is_empty() {
        let more = left_out.len().saturating_sub(MOST_NAMED);
        left_out.truncate(MOST_NAMED);
        let named = left_out.join(", ");
        told.push(match more {
            0 => format!("[repositories not looked at: {named}]"),
            more => format!("[repositories not looked at: {named} and {more} more]"),
        });
    }
    if nested.is_partial {
        told.push(
            "[there are too many folders to look through all of them for repositories]".into(),
        );
    }
    told
}

/// Reads the workspace's repository, and searches for others below it.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct Look {
    /// The agent's folder.
    folder: PathBuf,
}

/// The outcome.
#[derive(Deserialize, Serialize)]
struct Seen {
    /// The workspace's own repository.
    own: String,
    /// Repositories below it.
    nested: Nested,
}

impl Work for Look {
    const NAME: &'static str = "git_status";
    const LIMITS: WorkLimits = work::GIT;

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        // Before the other one, which restricts this process.
        let nested = git::nested(&self.folder)?;
        let own = if nested.is_one || nested.folders.is_empty() {
            git::read(&self.folder, |opened| status(&opened.git, MOST))?
        } else {
            "The workspace itself is not a repository; git_init makes it one.".to_owned()
        };
        serde_json::to_string(&Seen { own, nested }).map_err(ToolError::failed)
    }
}

/// Reads one repository below the workspace.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct LookBelow {
    /// The agent's folder.
    folder: PathBuf,
    /// The repository's path, below the workspace.
    below: String,
}

impl Work for LookBelow {
    const NAME: &'static str = "git_status_below";
    const LIMITS: WorkLimits = WorkLimits {
        seconds: 5,
        ..work::GIT
    };

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        git::read_nested(&self.folder, &self.below, |opened| {
            status(&opened.git, MOST_BELOW)
        })
    }
}

fn status(git: &git2::Repository, most: usize) -> Result<String, ToolError> {
    let mut lines = vec![branch(git)];
    let mut options = StatusOptions::new();
    options
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .exclude_submodules(true);
    let found = git.statuses(Some(&mut options))?;
    for entry in found.iter().take(most) {
        let path = text::visible(&String::from_utf8_lossy(entry.path_bytes())).0;
        lines.push(format!("{} {path}", letters(entry.status())));
    }
    if found.is_empty() {
        lines.push("Nothing changed since the last commit.".into());
    }
    if found.len() > most {
        lines.push(format!("[{} more]", found.len() - most));
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

/// Returns two letters as in `git status --short`: for the index and for the files.
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
