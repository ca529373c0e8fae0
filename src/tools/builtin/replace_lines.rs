//! `replace_lines`: puts lines in the place of others.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::tools::{Output, Tool, ToolContext, ToolError, files, lines};

pub(super) struct ReplaceLines;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    path: String,
    /// First line to replace, from 1.
    start: usize,
    /// Last line to replace.
    end: usize,
    /// Nothing deletes the lines.
    content: String,
}

#[async_trait]
impl Tool for ReplaceLines {
    type Args = Args;

    const NAME: &'static str = "replace_lines";
    const DESCRIPTION: &'static str = "Replace a range of lines in a file.";
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
            start,
            end,
            content,
        } = args;
        let done = files::at(context, &path, move |jail, path| {
            let mut contents = jail.read(path, files::MOST_TEXT)?;
            let text = files::text_of(path, std::mem::take(&mut contents.bytes))?;
            let most = lines::of(&text).len();
            if start < 1 || end < start || end > most {
                return Err(ToolError::Rejected(format!(
                    "`{path}` has lines 1 to {most}; `start` {start} and `end` {end} are no range of them"
                )));
            }
            let text = lines::splice(&text, start, end, &content);
            jail.replace(&contents, text.as_bytes())?;
            let last = start + content.lines().count().saturating_sub(1);
            Ok(format!(
                "Edited `{path}`:\n{}",
                lines::around(&text, start, last)
            ))
        });
        done.await.map(Output::from)
    }
}
