//! `stop_task`: ends a task with everything it started.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::TaskId;
use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::{Output, Tool, ToolContext};

pub(super) struct StopTask;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// Such as `task_001`.
    id: String,
}

#[async_trait]
impl Tool for StopTask {
    type Args = Args;

    const NAME: &'static str = "stop_task";
    const DESCRIPTION: &'static str = "End a task with everything it started.";
    const GROUP: Group = Group::StopTask;
    const COMMAND: Option<&'static str> = Some("/process kill");

    fn action(args: &Args) -> Action {
        Action::new(Self::NAME, &*args.id)
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let id = TaskId(args.id);
        let row = context
            .services
            .shell()?
            .tasks
            .stop(context.agent, &id)
            .await?;
        let text = format!(
            "{id} {}; nothing of it is left running.",
            row.status.as_str()
        );
        Ok(text.into())
    }
}
