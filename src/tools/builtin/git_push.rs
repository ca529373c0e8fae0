//! `git_push`: pushes a branch to a host that the operator opened.

use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::git;
use crate::tools::{Output, Tool, ToolContext};

/// Enough for a large first push over a slow line.
const DEADLINE: Duration = Duration::from_secs(300);

pub(super) struct GitPush;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    remote: String,
    branch: String,
}

#[async_trait]
impl Tool for GitPush {
    type Args = Args;

    const NAME: &'static str = "git_push";
    const DESCRIPTION: &'static str = "Push a branch, forward only.";
    const GROUP: Group = Group::GitRemote;
    const SHELF: Option<&'static str> = Some("push a branch");
    const SUBJECT: &'static str = "git:push";

    fn action(args: &Args) -> Action {
        Action::new("git", format!("push {} {}", args.remote, args.branch))
    }

    fn remote(args: &Args) -> Option<String> {
        Some(args.remote.clone())
    }

    fn writes(_: &Args) -> Option<String> {
        Some(".git".into())
    }

    fn deadline(_: &Args) -> Option<Duration> {
        Some(DEADLINE)
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        git::check_remote(&args.remote)?;
        git::check_branch(&args.branch)?;
        let done = git::push(context, &args.remote, &args.branch).await?;
        Ok(done.into())
    }
}
