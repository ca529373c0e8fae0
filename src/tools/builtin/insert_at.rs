//! `insert_at`: puts lines between lines.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::tools::{Output, Tool, ToolContext, ToolError, files, lines};

pub(super) struct InsertAt;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    path: String,
    /// Number the first new line gets, from 1.
    line: usize,
    content: String,
}

#[async_trait]
impl Tool for InsertAt {
    type Args = Args;

    const NAME: &'static str = "insert_at";
    const DESCRIPTION: &'static str = "Insert lines into a file.";
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
            line,
            content,
        } = args;
        let done = files::at(context, &path, move |jail, path| {
            let mut contents = jail.read(path, files::MOST_TEXT)?;
            let text = files::text_of(path, std::mem::take(&mut contents.bytes))?;
            let most = lines::of(&text).len() + 1;
            if !(1..=most).contains(&line) {
                return Err(ToolError::Rejected(format!(
                    "`line` can be 1 to {most} in `{path}`, got {line}"
                )));
            }
            let text = lines::splice(&text, line, line - 1, &content);
            jail.replace(&contents, text.as_bytes())?;
            let last = line + content.lines().count().saturating_sub(1);
            Ok(format!(
                "Edited `{path}`:\n{}",
                lines::around(&text, line, last)
            ))
        });
        done.await.map(Output::from)
    }
}
