//! Shared by `run_concurrent` and `run_background`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::{CommandEnd, Effect};
use crate::permission::{Action, Surroundings};
use crate::store::{NewTask, TaskKind};
use crate::tools::error::ToolError;
use crate::tools::hooks::{self, HookRequest, Parsed};
use crate::tools::shell::{Place, command};
use crate::tools::tasks::NewCommand;
use crate::tools::{Output, PathArgument, PathKind, ToolContext};
use crate::workspace::WorkspacePath;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(in crate::tools) struct Args {
    /// Given to `bash -c`.
    pub(in crate::tools) command: String,
    /// Plain words: what to do when it ends, prints something or takes too long (a notice).
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    /// For the turns that these start (yours).
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Folder to run in.
    #[serde(skip_serializing_if = "Option::is_none")]
    working_directory: Option<String>,
}

impl Args {
    /// Returns the action of starting it with `tool`: the command, the folder and the hooks, because each changes what
    /// runs.
    pub(in crate::tools) fn action(&self, tool: &str) -> Action {
        let folder = self.working_directory.as_deref().unwrap_or_default();
        let folder = match WorkspacePath::parse(folder) {
            Ok(path) if path.is_root() => None,
            Ok(path) => Some(path.to_string()),
            Err(_) => Some(folder.to_owned()),
        };
        let hooks = self.instructions.clone();
        let hooks = hooks.filter(|hooks| !hooks.trim().is_empty());
        Action::shell(tool, &*self.command).within(Surroundings {
            folder: folder.filter(|folder| !folder.is_empty()),
            // Without hooks, no turn starts that would need it.
            model: hooks.as_ref().and(self.model.clone()),
            hooks,
        })
    }

    /// Returns the folder that it runs in, if it names one.
    pub(in crate::tools) fn folder(&self) -> Option<PathArgument> {
        let written = self.working_directory.clone()?;
        Some(PathArgument {
            kind: PathKind::CommandFolder,
            written,
        })
    }

    /// Replaces the folder that it names by its target.
    pub(in crate::tools) fn put_folder(&mut self, reached: &WorkspacePath) {
        self.working_directory = Some(reached.to_string());
    }
}

/// Starts the task and describes it and its hooks.
pub(in crate::tools) async fn start(
    kind: TaskKind,
    action: &Action,
    args: &Args,
    context: &ToolContext,
) -> Result<Output, ToolError> {
    let place = Place::find(context, args.working_directory.as_deref()).await?;
    let command = command(action, &place, context)?;
    let shell = context.services.shell()?;
    let request = HookRequest {
        command: &args.command,
        instructions: args.instructions.as_deref().unwrap_or_default(),
        model: args.model.as_deref(),
    };
    let models = &*context.services.models;
    let hooks = hooks::write(&*shell.hook_writer, models, context, request).await?;
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
        TaskKind::Concurrent if context.may_hop().is_err() => {
            "No turn begins when it ends: the channel is told, and your next turn here.\n"
        }
        TaskKind::Concurrent => "You are told here when it ends.\n",
        TaskKind::Background => "It goes on after this turn; look at it with read_task_output.\n",
    });
    push_hooks(&mut text, &hooks);
    let effect = Effect::of_command(CommandEnd::Started);
    Ok(Output::from(text).with_effect(effect))
}

/// Lists the hooks that the instructions became.
pub(in crate::tools) fn push_hooks(text: &mut String, hooks: &Parsed) {
    text.push_str("Hooks:\n");
    for hook in &hooks.hooks {
        text.push_str(&format!("- {hook}\n"));
    }
    for why in &hooks.refused {
        text.push_str(&format!("Not used: {why}\n"));
    }
}
