//! `send_file`: posts a file of the workspace for people.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::text;
use crate::tools::error::ToolError;
use crate::tools::files;
use crate::tools::ports::OutgoingFile;
use crate::tools::{Output, PathArgument, Tool, ToolContext};
use crate::workspace::WorkspacePath;

/// Largest file in bytes that Discord accepts from a bot in a server without boosts.
const LARGEST: u64 = 10 * 1024 * 1024;

pub(super) struct SendFile;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    caption: Option<String>,
}

#[async_trait]
impl Tool for SendFile {
    type Args = Args;

    const NAME: &'static str = "send_file";
    const DESCRIPTION: &'static str = "Post a workspace file in the channel.";
    const GROUP: Group = Group::Files;

    fn action(args: &Args) -> Action {
        Action::new(Self::NAME, files::normal(&args.path))
    }

    fn path_argument(args: &Args) -> Option<PathArgument> {
        Some(PathArgument::file(&*args.path))
    }

    fn put_path(args: &mut Args, reached: &WorkspacePath) {
        args.path = reached.to_string();
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let Args { path, caption } = args;
        let file = files::at(context, &path, move |jail, path| {
            let name = path.as_str().rsplit('/').next().unwrap_or("file");
            Ok(OutgoingFile {
                name: name.to_owned(),
                content: jail.read(path, LARGEST)?.bytes,
                caption,
            })
        })
        .await?;
        let size = text::bytes(file.content.len() as u64);
        context.services.messenger.post_file(context, file).await?;
        Ok(format!("Posted `{path}` ({size}).").into())
    }
}
