//! `replace_lines`: replaces lines with others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tools::error::ToolError;
use crate::tools::lines;
use crate::tools::write_file::{Edited, WriteFile, edit};
use crate::workspace::{Jail, WorkspacePath};

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

impl WriteFile for ReplaceLines {
    type Args = Args;

    const NAME: &'static str = "replace_lines";
    const DESCRIPTION: &'static str = "Replace a range of lines in a file.";

    fn path(args: &Args) -> &str {
        &args.path
    }

    fn path_mut(args: &mut Args) -> &mut String {
        &mut args.path
    }

    fn write(args: &Args, jail: &Jail, path: &WorkspacePath) -> Result<String, ToolError> {
        edit(jail, path, |text| {
            let (start, end, most) = (args.start, args.end, lines::count(text));
            if start < 1 || end < start || end > most {
                return Err(ToolError::Rejected(format!(
                    "`{path}` has lines 1 to {most}; `start` {start} and `end` {end} are not a range of them"
                )));
            }
            let text = lines::splice(text, start, end, &args.content);
            let last = start + args.content.lines().count().saturating_sub(1);
            Ok(Edited::showing(path, text, start, last))
        })
    }
}
