//! `create_file`: writes a whole file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text;
use crate::tools::error::ToolError;
use crate::tools::lines;
use crate::tools::write_file::WriteFile;
use crate::workspace::jail::Written;
use crate::workspace::{Jail, WorkspacePath};

pub(super) struct CreateFile;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    path: String,
    content: String,
}

impl WriteFile for CreateFile {
    type Args = Args;

    const NAME: &'static str = "create_file";
    const DESCRIPTION: &'static str = "Write a file whole, in the place of an old one.";

    fn path(args: &Args) -> &str {
        &args.path
    }

    fn path_mut(args: &mut Args) -> &mut String {
        &mut args.path
    }

    fn write(args: &Args, jail: &Jail, path: &WorkspacePath) -> Result<String, ToolError> {
        let verb = match jail.write(path, args.content.as_bytes())? {
            Written::Created => "Created",
            Written::Replaced => "Replaced",
        };
        let size = text::bytes(args.content.len() as u64);
        let lines = lines::counted(args.content.lines().count());
        Ok(format!("{verb} `{path}` ({lines}, {size})."))
    }
}
