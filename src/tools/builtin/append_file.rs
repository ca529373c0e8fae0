//! `append_file`: adds to the end of a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text;
use crate::tools::error::ToolError;
use crate::tools::write_file::WriteFile;
use crate::workspace::jail::Written;
use crate::workspace::{Jail, WorkspacePath};

pub(super) struct AppendFile;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    path: String,
    content: String,
}

impl WriteFile for AppendFile {
    type Args = Args;

    const NAME: &'static str = "append_file";
    const DESCRIPTION: &'static str = "Add to the end of a file, made when missing.";

    fn path(args: &Args) -> &str {
        &args.path
    }

    fn path_mut(args: &mut Args) -> &mut String {
        &mut args.path
    }

    fn write(args: &Args, jail: &Jail, path: &WorkspacePath) -> Result<String, ToolError> {
        let size = text::bytes(args.content.len() as u64);
        Ok(match jail.append(path, args.content.as_bytes())? {
            Written::Created => format!("Created `{path}` ({size})."),
            Written::Replaced => format!("Added {size} to `{path}`."),
        })
    }
}
