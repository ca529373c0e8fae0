//! `str_replace`: replaces a piece of text that occurs once.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::tools::{Output, Tool, ToolContext, ToolError, files, lines, replace};

pub(super) struct StrReplace;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    path: String,
    old_str: String,
    new_str: String,
}

#[async_trait]
impl Tool for StrReplace {
    type Args = Args;

    const NAME: &'static str = "str_replace";
    const DESCRIPTION: &'static str = "Replace text that occurs exactly once in a file.";
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
            if found.places.len() > 1 {
                return Err(ToolError::Rejected(format!(
                    "`old_str` occurs {} times in `{path}`, at lines {}; quote more around the one you mean, or use str_replace_all",
                    found.places.len(),
                    found.line_numbers(&text)
                )));
            }
            let (text, first, last) = found.replaced(&text);
            jail.replace(&contents, text.as_bytes())?;
            Ok(format!(
                "Edited `{path}`:\n{}",
                lines::around(&text, first, last)
            ))
        });
        done.await.map(Output::from)
    }
}
