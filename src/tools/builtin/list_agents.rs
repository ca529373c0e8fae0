//! `list_agents`: lists the other agents of the server.

use std::path::Path;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::text;
use crate::tools::error::ToolError;
use crate::tools::peers;
use crate::tools::{Output, Tool, ToolContext};
use crate::workspace::{Workspace, WorkspacePath, template};

/// Most bytes of a README that are read.
const LONGEST_README: u64 = 64 * 1024;

pub(super) struct ListAgents;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {}

#[async_trait]
impl Tool for ListAgents {
    type Args = Args;

    const NAME: &'static str = "list_agents";
    const DESCRIPTION: &'static str = "List the other agents of this server.";
    const GROUP: Group = Group::AgentComm;
    const SUBJECT: &'static str = "agent_comm:list";
    const COMMAND: Option<&'static str> = Some("/agents");
    const BY_PEOPLE: bool = true;

    fn action(_: &Args) -> Action {
        Action::new("agent_comm", "list")
    }

    async fn run(&self, _: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let peers = context.services.directory.list(context).await?;
        if peers.is_empty() {
            return Ok(
                "There is no other agent here that the people behind this turn may talk to."
                    .to_owned()
                    .into(),
            );
        }
        let lines = tokio::task::spawn_blocking(move || {
            let lines = peers.iter().map(|peer| {
                let model = peer.model.as_deref().unwrap_or("the server's model");
                format!("{} ({model}): {}", peer.name, described(&peer.folder))
            });
            lines.collect::<Vec<_>>().join("\n")
        });
        lines.await.map(Output::from).map_err(ToolError::failed)
    }
}

/// Returns how an agent describes itself in its README; a new one has the template's.
fn described(folder: &Path) -> String {
    let readme = || {
        let docs = Workspace::open(folder).ok()?.docs().ok()?;
        let path = WorkspacePath::parse("README.md").ok()?;
        let contents = docs.read(&path, LONGEST_README).ok()?;
        String::from_utf8(contents.bytes).ok()
    };
    let line = peers::first_prose(&readme().unwrap_or_default());
    if line.is_empty() || line == peers::first_prose(template::README) {
        "it has written nothing about itself yet".to_owned()
    } else {
        text::visible(&line).0
    }
}
