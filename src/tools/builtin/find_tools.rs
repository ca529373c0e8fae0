//! `find_tools`: returns the arguments of tools that the model knows only by name.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::text;
use crate::tools::error::ToolError;
use crate::tools::{Output, Tool, ToolContext};

pub(super) struct FindTools;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// Names, or words of what it does.
    query: String,
    /// Only tools of this MCP server; with an empty query all of them by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
}

#[async_trait]
impl Tool for FindTools {
    type Args = Args;

    const NAME: &'static str = "find_tools";
    const DESCRIPTION: &'static str = "Find further tools and their arguments.";
    const GROUP: Group = Group::Information;

    fn action(args: &Args) -> Action {
        match &args.server {
            Some(server) => Action::new(Self::NAME, format!("{server} {}", args.query)),
            None => Action::new(Self::NAME, &*args.query),
        }
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let server = args
            .server
            .as_deref()
            .map(str::trim)
            .filter(|name| !name.is_empty());
        if let Some(name) = server {
            let listed = context.shelf.listed(name).ok_or_else(|| {
                let known = context.shelf.servers();
                let near = text::near(name, known.iter().copied());
                let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
                let name = text::one_line(name, 40);
                ToolError::rejected(format!("there is no server {name}{near}"))
            })?;
            if args.query.trim().is_empty() {
                return Ok(listed.into());
            }
        }
        let found = context.shelf.find(&args.query, server);
        if found.is_empty() {
            return Err(ToolError::rejected(
                "there are no further tools; you have the schemas of all that you can use",
            ));
        }
        let lines: Result<Vec<String>, _> = found.iter().map(serde_json::to_string).collect();
        let lines = lines.map_err(ToolError::failed)?;
        Ok(lines.join("\n").into())
    }
}
