//! `git_merge_request`: opens a merge request (a pull request) on the forge of `origin`.

use std::path::PathBuf;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exec::WorkLimits;
use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::git::{self, MergeRequest, Remote};
use crate::tools::work::{self, Work};
use crate::tools::{Output, Tool, ToolContext};

/// The remote that names the forge.
const REMOTE: &str = "origin";

pub(super) struct GitMergeRequest;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    title: String,
    description: String,
    /// Pushed branch with the work.
    source: String,
    /// Branch to merge into.
    target: String,
}

#[async_trait]
impl Tool for GitMergeRequest {
    type Args = Args;

    const NAME: &'static str = "git_merge_request";
    const DESCRIPTION: &'static str = "Open a merge or pull request on origin's forge.";
    const GROUP: Group = Group::GitRemote;
    const SHELF: Option<&'static str> = Some("open a pull request");
    const SUBJECT: &'static str = "git:merge_request";

    fn action(args: &Args) -> Action {
        Action::new("git", format!("merge_request {}", args.target))
    }

    fn remote(_: &Args) -> Option<String> {
        Some(REMOTE.to_owned())
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        git::check_branch(&args.source)?;
        git::check_branch(&args.target)?;
        if args.title.trim().is_empty() {
            return Err(ToolError::rejected("`title` is empty"));
        }
        let origin = Origin {
            folder: context.services.folder(context),
        };
        let url = context.by_worker(&origin, &[]).await?;
        git::check_address(context, REMOTE, &url)?;
        let services = &context.services;
        let request = MergeRequest {
            title: args.title,
            description: args.description,
            source: args.source,
            target: args.target,
        };
        let remote = Remote::parse(&url)?;
        let address =
            git::open_merge_request(&services.http, &services.git, &remote, &request).await?;
        Ok(format!("Opened {address}").into())
    }
}

/// Looks up the address of a repository's `origin`.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct Origin {
    /// The agent's folder.
    folder: PathBuf,
}

impl Work for Origin {
    const NAME: &'static str = "git_origin";
    const LIMITS: WorkLimits = work::GIT;

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        git::read(&self.folder, |opened| {
            let found = opened.url(REMOTE);
            found.ok_or_else(|| ToolError::rejected("the repository has no remote `origin`"))
        })
    }
}
