//! Hooks on tasks: what to do when a task ends, prints something or takes too long.
//!
//! An agent describes them in plain language. A small model turns that into JSON ([`parse`]), which is checked like any
//! other hostile input. Unusable hooks are refused with the reason, and if none is left a task gets the default: one
//! notice at its exit.

mod parse;
mod writer;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(in crate::tools) use parse::pattern;
pub use parse::{Parsed, parse};
pub use writer::{HookRequest, HookWriter, INSTRUCTIONS, write};

/// Seconds between two notices of one hook, unless it sets another time: a chatty task must not flood a channel.
pub const MIN_INTERVAL: f64 = 180.0;

/// Firings that may follow each other at once.
const FEW: u32 = 10;

/// Least seconds between two of more firings.
const LEAST_INTERVAL: f64 = 10.0;

/// Seconds between a matching line and its hook, so that the lines after it are included.
pub const MATCH_DELAY: f64 = 2.0;

/// One hook, in the form that the database stores and the small model writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookSpec {
    #[serde(default)]
    pub trigger: Trigger,
    #[serde(default)]
    pub action: HookAction,
    /// The agent's own message with it.
    #[serde(default)]
    pub context_message: String,
    /// Seconds to wait between trigger and action.
    pub output_delay_seconds: f64,
    /// Most times it fires; 0 means no limit.
    pub max_fires: u32,
    /// Seconds between two firings of a notice, or of any hook without limit. Otherwise a hook that wakes the agent at
    /// each line would spend money as fast as a task prints.
    pub min_message_interval: f64,
    /// The model for the turn it starts; `None` means the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Trigger {
    OnExit {
        #[serde(default, skip_serializing_if = "ExitFilter::is_any")]
        exit_filter: ExitFilter,
    },
    OnOutputMatch {
        /// Regular expression that matches somewhere in the line.
        pattern: String,
    },
    OnTimeout {
        /// Seconds after its start.
        timeout_seconds: f64,
    },
}

impl Default for Trigger {
    fn default() -> Self {
        Self::OnExit {
            exit_filter: ExitFilter::Any,
        }
    }
}

/// The ends of a task for which a hook fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitFilter {
    #[default]
    Any,
    /// With exit code 0.
    Success,
    /// Any other exit code, or ended from outside.
    Failure,
}

impl ExitFilter {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde gives a reference
    fn is_any(&self) -> bool {
        matches!(self, Self::Any)
    }

    /// Returns whether the hook fires for a task that ended with `exit_code`.
    pub fn admits(self, exit_code: Option<i32>) -> bool {
        match self {
            Self::Any => true,
            Self::Success => exit_code == Some(0),
            Self::Failure => exit_code != Some(0),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookAction {
    /// Sends people a notice in the channel.
    NotifyChannel,
    /// Sends the agent a note in the conversation that started the task.
    InjectContext,
    /// Starts a branch of the agent.
    #[default]
    SpawnBranch,
    StopProcess,
    /// Ends the branch that started the task.
    StopBranch,
}

impl HookAction {
    /// Returns whether the agent handles it, in a turn.
    pub fn starts_turn(self) -> bool {
        match self {
            Self::InjectContext | Self::SpawnBranch => true,
            Self::NotifyChannel | Self::StopProcess | Self::StopBranch => false,
        }
    }
}

impl HookSpec {
    /// Creates the default hook of a task: one notice at the exit.
    pub fn notice_at_exit() -> Self {
        Self {
            trigger: Trigger::default(),
            action: HookAction::NotifyChannel,
            context_message: String::new(),
            output_delay_seconds: 0.0,
            max_fires: 1,
            min_message_interval: MIN_INTERVAL,
            model: None,
        }
    }

    /// Returns how often it may fire at most, for a counter.
    pub fn fires_at_most(&self) -> u32 {
        match self.max_fires {
            0 => u32::MAX,
            some => some,
        }
    }

    /// Returns the least time between two firings; zero if none is needed.
    pub fn spacing(&self) -> Duration {
        let has_few = self.fires_at_most() <= FEW;
        let seconds = match self.action {
            HookAction::NotifyChannel if has_few => self.min_message_interval,
            HookAction::InjectContext | HookAction::SpawnBranch if has_few => 0.0,
            // Each posts at least a line, so a command that prints without end would fill the channel.
            HookAction::NotifyChannel | HookAction::InjectContext | HookAction::SpawnBranch => {
                self.min_message_interval.max(LEAST_INTERVAL)
            }
            HookAction::StopProcess | HookAction::StopBranch => 0.0,
        };
        Duration::from_secs_f64(seconds)
    }

    /// Returns time between the trigger and the firing.
    pub fn delay(&self) -> Duration {
        Duration::from_secs_f64(self.output_delay_seconds)
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnExit { exit_filter } => match exit_filter {
                ExitFilter::Any => write!(f, "on_exit"),
                ExitFilter::Success => write!(f, "on_exit (success)"),
                ExitFilter::Failure => write!(f, "on_exit (failure)"),
            },
            Self::OnOutputMatch { pattern } => write!(f, "on_output_match `{pattern}`"),
            Self::OnTimeout { timeout_seconds } => write!(f, "on_timeout {timeout_seconds}s"),
        }
    }
}

impl fmt::Display for HookAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotifyChannel => "notify_channel",
            Self::InjectContext => "inject_context",
            Self::SpawnBranch => "spawn_branch",
            Self::StopProcess => "stop_process",
            Self::StopBranch => "stop_branch",
        })
    }
}

impl fmt::Display for HookSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {}", self.trigger, self.action)?;
        match &self.model {
            Some(model) => write!(f, " with {model}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_firings_are_apart_whatever_the_hook_says() {
        let hook = |action, max_fires, min_message_interval| HookSpec {
            action,
            max_fires,
            min_message_interval,
            ..HookSpec::notice_at_exit()
        };
        for (hook, seconds) in [
            (hook(HookAction::NotifyChannel, 2, 0.0), 0),
            (hook(HookAction::NotifyChannel, 1, 180.0), 180),
            (hook(HookAction::NotifyChannel, 0, 0.0), 10),
            (hook(HookAction::InjectContext, 2, 180.0), 0),
            (hook(HookAction::InjectContext, 100_000, 0.0), 10),
            (hook(HookAction::SpawnBranch, 0, 180.0), 180),
            (hook(HookAction::StopProcess, 0, 180.0), 0),
        ] {
            assert_eq!(hook.spacing().as_secs(), seconds, "{hook}");
        }
    }
}
