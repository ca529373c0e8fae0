//! `str_replace_all`: replaces a piece of text wherever it occurs in a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tools::error::ToolError;
use crate::tools::replace;
use crate::tools::write_file::{Edited, WriteFile, edit};
use crate::workspace::{Jail, WorkspacePath};

pub(super) struct StrReplaceAll;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    path: String,
    old_str: String,
    new_str: String,
}

impl WriteFile for StrReplaceAll {
    type Args = Args;

    const NAME: &'static str = "str_replace_all";
    const DESCRIPTION: &'static str = "Replace text wherever it occurs in a file.";

    fn path(args: &Args) -> &str {
        &args.path
    }

    fn path_mut(args: &mut Args) -> &mut String {
        &mut args.path
    }

    fn write(args: &Args, jail: &Jail, path: &WorkspacePath) -> Result<String, ToolError> {
        edit(jail, path, |text| {
            let found = replace::find(path, text, &args.old_str, &args.new_str)?;
            let times = match found.places.len() {
                1 => "once".to_owned(),
                many => format!("{many} times"),
            };
            let numbers = found.line_numbers(text);
            let (text, _, _) = found.replaced(text);
            let told = format!("Replaced {times} in `{path}`, at lines {numbers}.");
            Ok(Edited { text, told })
        })
    }
}
