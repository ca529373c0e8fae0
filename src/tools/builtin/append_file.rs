//! `append_file`: adds to the end of a file.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::text;
use crate::tools::{Output, Tool, ToolContext, ToolError, files};
use crate::workspace::jail::Written;

pub(super) struct AppendFile;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    path: String,
    content: String,
}

#[async_trait]
impl Tool for AppendFile {
    type Args = Args;

    const NAME: &'static str = "append_file";
    const DESCRIPTION: &'static str = "Add to the end of a file, made when missing.";
    const GROUP: Group = Group::Files;

    fn action(args: &Args) -> Action {
        Action::new(Self::NAME, files::normal(&args.path))
    }

    fn writes(args: &Args) -> Option<String> {
        Some(files::normal(&args.path))
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let Args { path, content } = args;
        let done = files::at(context, &path, move |jail, path| {
            let size = text::bytes(content.len() as u64);
            Ok(match jail.append(path, content.as_bytes())? {
                Written::Created => format!("Created `{path}` ({size})."),
                Written::Replaced => format!("Added {size} to `{path}`."),
            })
        });
        done.await.map(Output::from)
    }
}
