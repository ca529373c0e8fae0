//! `create_file`: writes a file whole.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::text;
use crate::tools::{Output, Tool, ToolContext, ToolError, files, lines};
use crate::workspace::jail::Written;

pub(super) struct CreateFile;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    path: String,
    content: String,
}

#[async_trait]
impl Tool for CreateFile {
    type Args = Args;

    const NAME: &'static str = "create_file";
    const DESCRIPTION: &'static str = "Write a file whole, in the place of an old one.";
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
            let verb = match jail.write(path, content.as_bytes())? {
                Written::Created => "Created",
                Written::Replaced => "Replaced",
            };
            let size = text::bytes(content.len() as u64);
            let lines = lines::counted(content.lines().count());
            Ok(format!("{verb} `{path}` ({lines}, {size})."))
        });
        done.await.map(Output::from)
    }
}
