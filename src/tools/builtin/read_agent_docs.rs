//! `read_agent_docs`: reads another agent's notes.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::peers;
use crate::tools::{Output, Tool, ToolContext};
use crate::workspace::Workspace;

pub(super) struct ReadAgentDocs;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    agent: String,
}

#[async_trait]
impl Tool for ReadAgentDocs {
    type Args = Args;

    const NAME: &'static str = "read_agent_docs";
    const DESCRIPTION: &'static str = "Read the notes of another agent.";
    const GROUP: Group = Group::AgentComm;
    const SHELF: Option<&'static str> = Some("read another agent's notes");
    const SUBJECT: &'static str = "agent_comm:read_docs";
    const BY_PEOPLE: bool = true;

    fn action(args: &Args) -> Action {
        Action::new("agent_comm", format!("read_docs {}", args.agent))
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let peer = peers::find(&args.agent, context).await?;
        let cache = context.services.docs.clone();
        let docs = tokio::task::spawn_blocking(move || {
            let workspace = Workspace::open(&peer.folder).map_err(ToolError::failed)?;
            Ok::<_, ToolError>(cache.read(&workspace)?)
        });
        let docs = docs.await.map_err(ToolError::failed)??;
        if docs.is_empty() {
            return Ok(format!("`{}` has no notes.", args.agent).into());
        }
        Ok(docs.to_string().into())
    }
}
