//! `git_init`: makes the workspace a repository.

use std::path::PathBuf;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exec::WorkLimits;
use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::git;
use crate::tools::work::{self, Work};
use crate::tools::{Output, Tool, ToolContext};

pub(super) struct GitInit;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {}

#[async_trait]
impl Tool for GitInit {
    type Args = Args;

    const NAME: &'static str = "git_init";
    const DESCRIPTION: &'static str = "Make the workspace a git repository.";
    const GROUP: Group = Group::GitLocal;
    const SHELF: Option<&'static str> = Some("make the workspace a repository");
    const SUBJECT: &'static str = "git:init";

    fn action(_: &Args) -> Action {
        Action::new("git", "init")
    }

    fn writes(_: &Args) -> Option<String> {
        Some(".git".into())
    }

    async fn run(&self, _: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let work = Init {
            folder: context.services.folder(context),
        };
        Ok(context.by_worker(&work, &[]).await?.into())
    }
}

/// Makes a workspace a repository.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct Init {
    /// The agent's folder.
    folder: PathBuf,
}

impl Work for Init {
    const NAME: &'static str = "git_init";
    const LIMITS: WorkLimits = work::TEXT;

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        git::create(&self.folder)?;
        Ok("Made a repository; its branch is `main`.".to_owned())
    }
}
