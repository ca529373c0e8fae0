//! `str_replace_all`: replaces a piece of text wherever it occurs in a file.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::tools::{Output, Tool, ToolContext, ToolError, files, replace};

pub(super) struct StrReplaceAll;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    path: String,
    old_str: String,
    new_str: String,
}

#[async_trait]
impl Tool for StrReplaceAll {
    type Args = Args;

    const NAME: &'static str = "str_replace_all";
    const DESCRIPTION: &'static str = "Replace text wherever it occurs in a file.";
    const GROUP: Group = Group::Files;

    fn action(args: &Args) -> Action {
        Action::new(Self::NAME, files::normal(&args.path))
    }

    fn writes(args: &Args) -> Option<String> {
        Some(files::normal(&args.path))
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let Args {
            path,
            old_str,
            new_str,
        } = args;
        let done = files::at(context, &path, move |jail, path| {
            let mut contents = jail.read(path, files::MOST_TEXT)?;
            let text = files::text_of(path, std::mem::take(&mut contents.bytes))?;
            let found = replace::find(path, &text, &old_str, &new_str)?;
            let (edited, _, _) = found.replaced(&text);
            jail.replace(&contents, edited.as_bytes())?;
            let times = match found.places.len() {
                1 => "once".to_owned(),
                many => format!("{many} times"),
            };
            let numbers = found.line_numbers(&text);
            Ok(format!("Replaced {times} in `{path}`, at lines {numbers}."))
        });
        done.await.map(Output::from)
    }
}
