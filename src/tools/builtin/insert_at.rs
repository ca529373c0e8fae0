//! `insert_at`: inserts lines between lines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tools::error::ToolError;
use crate::tools::lines;
use crate::tools::write_file::{Edited, WriteFile, edit};
use crate::workspace::{Jail, WorkspacePath};

pub(super) struct InsertAt;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    path: String,
    /// Number the first new line gets, from 1.
    line: usize,
    content: String,
}

impl WriteFile for InsertAt {
    type Args = Args;

    const NAME: &'static str = "insert_at";
    const DESCRIPTION: &'static str = "Insert lines into a file.";

    fn path(args: &Args) -> &str {
        &args.path
    }

    fn path_mut(args: &mut Args) -> &mut String {
        &mut args.path
    }

    fn write(args: &Args, jail: &Jail, path: &WorkspacePath) -> Result<String, ToolError> {
        edit(jail, path, |text| {
            let (line, most) = (args.line, lines::count(text) + 1);
            if !(1..=most).contains(&line) {
                return Err(ToolError::Rejected(format!(
                    "`line` can be 1 to {most} in `{path}`, got {line}"
                )));
            }
            let text = lines::splice(text, line, line - 1, &args.content);
            let last = line + args.content.lines().count().saturating_sub(1);
            Ok(Edited::showing(path, text, line, last))
        })
    }
}
