//! `list_tasks`: lists the agent's running and latest tasks.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::permission::{Action, Group};
use crate::store::TaskStatus;
use crate::text;
use crate::tools::error::ToolError;
use crate::tools::tasks::TaskView;
use crate::tools::{Output, Tool, ToolContext};

/// Most characters of a command in the list.
const COMMAND: usize = 120;

pub(super) struct ListTasks;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {}

#[async_trait]
impl Tool for ListTasks {
    type Args = Args;

    const NAME: &'static str = "list_tasks";
    const DESCRIPTION: &'static str = "List your running and latest tasks with their hooks.";
    const GROUP: Group = Group::Information;
    const COMMAND: Option<&'static str> = Some("/process list");

    fn action(_args: &Args) -> Action {
        Action::new(Self::NAME, "")
    }

    async fn run(&self, _args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let views = context.services.shell()?.tasks.views(context.agent).await?;
        if views.is_empty() {
            return Ok("There are no tasks.".to_owned().into());
        }
        let lines: Vec<String> = views.iter().map(line).collect();
        Ok(lines.join("\n").into())
    }
}

fn line(view: &TaskView) -> String {
    let now = clock::now();
    let state = match (view.status, view.ended_at, view.exit_code) {
        (TaskStatus::Running, _, _) | (_, None, _) => {
            let pid = view.pid.map_or(String::new(), |pid| format!(", PID {pid}"));
            format!(
                "running (started {}{pid})",
                clock::ago(view.started_at, now)
            )
        }
        (status, Some(ended), Some(code)) => {
            format!(
                "{} (exit {code}, {})",
                status.as_str(),
                clock::ago(ended, now)
            )
        }
        (status, Some(ended), None) => {
            format!("{} ({})", status.as_str(), clock::ago(ended, now))
        }
    };
    let command = text::one_line(&view.command, COMMAND);
    let mut line = format!("[{}] {} · {command} · {state}", view.id, view.kind.as_str());
    if view.directory != "." {
        line.push_str(&format!(" · in {}", view.directory));
    }
    for hook in &view.hooks {
        let most = match hook.spec.max_fires {
            0 => "∞".to_owned(),
            most => most.to_string(),
        };
        line.push_str(&format!(
            "\n    {} (fired {}/{most})",
            hook.spec, hook.fires
        ));
    }
    line
}
