//! Gates of schedules: a command that runs before any model is asked, in the agent's sandbox.

use std::time::Duration;

use super::ToolContext;
use super::error::ToolError;
use super::shell::{self, Place};
use crate::exec::{Bounds, Ended};
use crate::permission::Action;
use crate::text::as_a_terminal_shows;

/// The tool that a gate is judged as.
const JUDGED_AS: &str = "bash";

/// Longest run of a gate.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Most bytes of a gate's output that are used.
pub const MOST_OUTPUT: usize = 16 << 10;

/// The outcome of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gated {
    /// It printed this.
    Printed(String),
    /// It printed nothing.
    Nothing,
    /// It counts as a failure, for this reason.
    Failed(String),
}

/// Returns the action of a gate, for judging it.
pub fn action(gate: &str) -> Action {
    Action::shell(JUDGED_AS, gate)
}

/// Runs a gate that was judged before. `context` identifies its owner.
///
/// # Errors
///
/// Fails if it cannot be started.
pub async fn run(gate: &str, context: &ToolContext) -> Result<Gated, ToolError> {
    let place = Place::find(context, None).await?;
    let command = shell::command(&action(gate), &place, context)?;
    let bounds = Bounds {
        timeout: TIMEOUT,
        abort: context.abort.clone(),
        spool: None,
    };
    let sandbox = context.services.shell()?.sandbox.sandbox().await?;
    let finished = sandbox.run(&command, bounds, &context.stop).await?;
    let output = &finished.output;
    let printed = as_a_terminal_shows(&String::from_utf8_lossy(&output.head));
    Ok(match (finished.ended, finished.exit) {
        (Ended::TimedOut, _) => Gated::Failed(format!(
            "the gate did not end within {} s",
            TIMEOUT.as_secs()
        )),
        (Ended::Stopped, _) => Gated::Failed("the gate was interrupted".to_owned()),
        (Ended::Exited, Some(0)) => {
            let is_cut = output.omitted > 0 || printed.len() > MOST_OUTPUT;
            let printed = &printed[..printed.floor_char_boundary(MOST_OUTPUT)];
            match (printed.trim().is_empty(), is_cut) {
                (true, _) => Gated::Nothing,
                (false, true) => Gated::Printed(format!("{printed}\n[… the rest is left out]")),
                (false, false) => Gated::Printed(printed.trim_end().to_owned()),
            }
        }
        (Ended::Exited, Some(code)) => {
            Gated::Failed(format!("the gate ended with exit code {code}"))
        }
        (Ended::Exited, None) => Gated::Failed("the gate was killed".to_owned()),
    })
}
