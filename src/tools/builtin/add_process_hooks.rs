//! `add_process_hooks`: more hooks on a running task, from plain language.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::TaskId;
use crate::permission::{Action, Group};
use crate::store::TaskStatus;
use crate::text;
use crate::tools::error::ToolError;
use crate::tools::hooks::{self, HookRequest};
use crate::tools::run_task::push_hooks;
use crate::tools::tasks::TaskError;
use crate::tools::{Output, Tool, ToolContext};

pub(super) struct AddProcessHooks;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// Such as `task_001`.
    id: String,
    /// Plain words: what to do when it ends, prints something or takes too long.
    instructions: String,
    /// For the turns that these start (yours).
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

#[async_trait]
impl Tool for AddProcessHooks {
    type Args = Args;

    const NAME: &'static str = "add_process_hooks";
    const DESCRIPTION: &'static str = "Add hooks to a running task.";
    const GROUP: Group = Group::Tasks;
    const SHELF: Option<&'static str> = Some("watch a running task");

    fn action(args: &Args) -> Action {
        Action::new(Self::NAME, &*args.id)
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let shell = context.services.shell()?;
        let id = TaskId(args.id);
        let row = shell.tasks.row(context.agent, &id).await?;
        if row.status != TaskStatus::Running {
            return Err(TaskError::Ended(id, row.status.as_str()).into());
        }
        let request = HookRequest {
            command: &row.task.command,
            instructions: &args.instructions,
            model: args.model.as_deref(),
        };
        let models = &*context.services.models;
        let hooks = hooks::write(&*shell.hook_writer, models, context, request).await?;
        let total = shell
            .tasks
            .add_hooks(context.agent, &id, hooks.hooks.clone())
            .await?;
        let mut text = format!("{id} has {} now.\n", text::count(total, "hook", "hooks"));
        push_hooks(&mut text, &hooks);
        Ok(text.into())
    }
}
