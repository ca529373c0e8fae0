//! `bash`: runs one shell command in the workspace, and waits for it.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tracing::warn;

use crate::domain::{CommandEnd, Effect};
use crate::exec::{Bounds, Ended, Finished, HomeAccess};
use crate::permission::{Action, Group};
use crate::text::{as_a_terminal_shows, long};
use crate::tools::error::ToolError;
use crate::tools::git::changes;
use crate::tools::output_store::Handle;
use crate::tools::shell::{self, Place};
use crate::tools::{Output, Tool, ToolContext};

/// Time for a command that requests none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// Messages of programs when the sandbox refused them something.
const REFUSALS: &[&str] = &[
    "Operation not permitted",
    "Permission denied",
    "Read-only file system",
    "Network is unreachable",
    "Could not resolve host",
    "Temporary failure in name resolution",
];

pub(super) struct Bash;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// Given to `bash -c`.
    command: String,
    /// Seconds (120).
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<f64>,
}

#[async_trait]
impl Tool for Bash {
    type Args = Args;

    const NAME: &'static str = "bash";
    const DESCRIPTION: &'static str = "Run a shell command in the workspace and wait for it. Standard input is empty; whatever it starts ends with it. For longer work use run_concurrent.";
    const GROUP: Group = Group::Shell;

    fn action(args: &Args) -> Action {
        Action::shell(Self::NAME, &*args.command)
    }

    /// Returns no deadline: it keeps its own time, and the output until then.
    fn deadline(_args: &Args) -> Option<Duration> {
        None
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let rules = context.services.shell()?.rules.of(context);
        let timeout = timeout(args.timeout, rules.max_timeout)?;
        let place = Place::find(context, None).await?;
        let action = long::work_on(args.command.len(), || Self::action(&args));
        let command = shell::command(&action, &place, context)?;
        let (handle, spool) = reserve(context).await?;
        let bounds = Bounds {
            timeout,
            abort: context.abort.clone(),
            spool: Some(spool),
        };
        let sandbox = context.services.shell()?.sandbox.sandbox().await?;
        let before = changes::before(context).await;
        let finished = sandbox.run(&command, bounds, &context.stop).await?;
        let changed = changes::since(before, context).await;
        if finished.output.whole.is_some() {
            tidy(context).await;
        }
        let mut text = printed(&finished, &handle);
        text.push_str(&ending(&finished, timeout));
        if finished.exit != Some(0) && sandbox.confines(rules.policy) && was_refused(&text) {
            let home = match command.home.access {
                HomeAccess::Whole => "$HOME",
                HomeAccess::Caches => {
                    "caches in $HOME (all of $HOME only where a person allowed the command)"
                }
            };
            text.push_str(&format!(
                "\n[the sandbox may have refused something: it lets a command write the workspace, /tmp and {home}, and \
                 not .git/config, .git/hooks or .git/info; {}]",
                sandbox.describe(rules.policy)
            ));
        }
        let effect = Effect::of_command(end_of(&finished)).with_files(changed);
        Ok(Output::from(text).with_effect(effect))
    }
}

/// Returns the time for a command.
fn timeout(asked: Option<f64>, most: Duration) -> Result<Duration, ToolError> {
    let Some(seconds) = asked else {
        return Ok(DEFAULT_TIMEOUT.min(most));
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(asked) if !asked.is_zero() => Ok(asked.min(most)),
        Ok(_) | Err(_) => Err(ToolError::Rejected(format!(
            "`timeout` is a number of seconds above 0, at most {}; {seconds} is not",
            most.as_secs()
        ))),
    }
}

/// Frees disk space after an output was kept. If that fails, the result is still valid.
async fn tidy(context: &ToolContext) {
    let (outputs, agent) = (context.services.outputs.clone(), context.name.clone());
    let tidied = spawn_blocking(move || outputs.tidy(&agent)).await;
    if let Ok(Err(error)) = tidied {
        warn!(error = %error, "failed to remove old outputs");
    }
}

/// Returns the output, or its beginning and end and where to find all of it.
fn printed(finished: &Finished, handle: &Handle) -> String {
    let output = &finished.output;
    let mut text = as_a_terminal_shows(&String::from_utf8_lossy(&output.head));
    if output.omitted > 0 {
        let all = match (&output.whole, output.lost) {
            (Some(_), 0) => format!("all of it: tool_output with handle \"{handle}\""),
            (Some(_), lost) => {
                format!("all but {lost} bytes: tool_output with handle \"{handle}\"")
            }
            (None, _) => "they could not be kept".to_owned(),
        };
        text.push_str(&format!(
            "\n\n[… {} bytes left out; {all} …]\n\n",
            output.omitted
        ));
        text.push_str(&as_a_terminal_shows(&String::from_utf8_lossy(&output.tail)));
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Returns the last line of every result, which shows how the command ended.
///
/// It comes last because models read the end of a text best. An exit code other than zero is not a tool error: the
/// command ran.
fn ending(finished: &Finished, timeout: Duration) -> String {
    let took = format!("{:.1} s", finished.duration.as_secs_f64());
    match (finished.ended, finished.exit) {
        (Ended::Exited, Some(code)) => format!("[exit code {code} · {took}]"),
        (Ended::Exited, None) => format!("[ended · {took}]"),
        (Ended::TimedOut, _) => format!(
            "[timed out: ended with everything it had started after {} s; for longer work use run_concurrent or \
             run_background]",
            timeout.as_secs_f64()
        ),
        (Ended::Stopped, _) => format!("[stopped after {took}, with everything it had started]"),
    }
}

/// Returns how the command ended, for receipts.
fn end_of(finished: &Finished) -> CommandEnd {
    let ms = u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX);
    match (finished.ended, finished.exit) {
        (Ended::Exited, Some(code)) => CommandEnd::Exited { code, ms },
        (Ended::Exited, None) => CommandEnd::Killed { ms },
        (Ended::TimedOut, _) => CommandEnd::TimedOut { ms },
        (Ended::Stopped, _) => CommandEnd::Stopped { ms },
    }
}

/// Returns a handle for the output and the file behind it, which is created if the output is long.
async fn reserve(context: &ToolContext) -> Result<(Handle, PathBuf), ToolError> {
    let (outputs, agent) = (context.services.outputs.clone(), context.name.clone());
    let reserved = spawn_blocking(move || outputs.reserve(&agent)).await;
    let reserved = reserved.map_err(ToolError::failed)?;
    reserved.map_err(ToolError::failed)
}

fn was_refused(text: &str) -> bool {
    REFUSALS.iter().any(|refusal| text.contains(refusal))
}
