//! `find_tools`: the arguments of tools that the model knows by name alone.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::{Output, Tool, ToolContext};

pub(super) struct FindTools;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// Names, or words of what it does.
    query: String,
}

#[async_trait]
impl Tool for FindTools {
    type Args = Args;

    const NAME: &'static str = "find_tools";
    const DESCRIPTION: &'static str = "Find further tools and their arguments.";
    const GROUP: Group = Group::Information;

    fn action(args: &Args) -> Action {
        Action::new(Self::NAME, &*args.query)
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let found = context.shelf.find(&args.query);
        if found.is_empty() {
            return Err(ToolError::rejected(
                "there are no further tools; you have the schemas of all that you can use",
            ));
        }
        let lines: Result<Vec<String>, _> = found.into_iter().map(serde_json::to_string).collect();
        let lines = lines.map_err(ToolError::failed)?;
        Ok(lines.join("\n").into())
    }
}
