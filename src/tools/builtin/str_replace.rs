//! `str_replace`: replaces a piece of text that occurs once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tools::error::ToolError;
use crate::tools::replace;
use crate::tools::write_file::{Edited, WriteFile, edit};
use crate::workspace::{Jail, WorkspacePath};

pub(super) struct StrReplace;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    path: String,
    old_str: String,
    new_str: String,
}

impl WriteFile for StrReplace {
    type Args = Args;

    const NAME: &'static str = "str_replace";
    const DESCRIPTION: &'static str = "Replace text that occurs exactly once in a file.";

    fn path(args: &Args) -> &str {
        &args.path
    }

    fn path_mut(args: &mut Args) -> &mut String {
        &mut args.path
    }

    fn write(args: &Args, jail: &Jail, path: &WorkspacePath) -> Result<String, ToolError> {
        edit(jail, path, |text| {
            let found = replace::find(path, text, &args.old_str, &args.new_str)?;
            if found.places.len() > 1 {
                return Err(ToolError::Rejected(format!(
                    "`old_str` occurs {} times in `{path}`, at lines {}; quote more around the one you mean, or use str_replace_all",
                    found.places.len(),
                    found.line_numbers(text)
                )));
            }
            let (text, first, last) = found.replaced(text);
            Ok(Edited::showing(path, text, first, last))
        })
    }
}
