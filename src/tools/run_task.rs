//! What `run_concurrent` and `run_background` share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::Action;
use crate::store::{NewTask, TaskKind};
use crate::tools::error::ToolError;
use crate::tools::hooks::{self, Parsed};
use crate::tools::shell::{Place, command};
use crate::tools::tasks::NewCommand;
use crate::tools::tool::{Output, ToolContext};

#[derive(Deserialize, Serialize, JsonSchema)]
pub(in crate::tools) struct Args {
    /// Given to `bash -c`.
    pub(in crate::tools) command: String,
    /// Plain words: what to do when it ends, prints something or takes too long. Without: a notice at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    /// Folder of the workspace to run in.
    #[serde(skip_serializing_if = "Option::is_none")]
    working_directory: Option<String>,
}

/// Starts the task and says what it is and what waits for it.
pub(in crate::tools) async fn start(
    kind: TaskKind,
    action: &Action,
    args: &Args,
    context: &ToolContext,
) -> Result<Output, ToolError> {
    let place = Place::find(context, args.working_directory.as_deref()).await?;
    let command = command(action, &place, context)?;
    let instructions = args.instructions.as_deref().unwrap_or_default();
    let shell = context.services.shell()?;
    let writer = &*shell.hook_writer;
    let hooks = hooks::write(writer, context, &args.command, instructions).await;
    let new = NewCommand {
        task: NewTask {
            agent: context.agent,
            kind,
            command: args.command.clone(),
            directory: place.shown,
            turn: Some(context.turn),
            conversation: Some(context.conversation),
            channel: context.channel,
            depth: context.depth,
        },
        agent_name: context.name.clone(),
        command,
        hooks: hooks.hooks.clone(),
    };
    let row = shell.tasks.start(new).await?;
    let pid = row.pid.map_or("none".to_owned(), |pid| pid.to_string());
    let mut text = format!("{} is running (PID {pid}).\n", row.id);
    text.push_str(match kind {
        TaskKind::Concurrent => "You are told here when it ends.\n",
        TaskKind::Background => "It goes on after this turn; look at it with read_task_output.\n",
    });
    push_hooks(&mut text, &hooks);
    Ok(text.into())
}

/// Lists what was made of the instructions.
pub(in crate::tools) fn push_hooks(text: &mut String, hooks: &Parsed) {
    text.push_str("Hooks:\n");
    for hook in &hooks.hooks {
        text.push_str(&format!("- {hook}\n"));
    }
    for why in &hooks.refused {
        text.push_str(&format!("Not used: {why}\n"));
    }
}
