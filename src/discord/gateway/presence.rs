//! The line beside our name: idle, or how many turns run.

use std::time::Duration;

use serde_json::{Value, json};

/// Time between two changes: Discord accepts five in twenty seconds.
pub(in crate::discord) const CHANGE_EVERY: Duration = Duration::from_secs(5);

/// The type of an activity that shows only its state.
const CUSTOM: u8 = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Busy {
    pub tasks: usize,
    /// Agents with a running turn.
    pub agents: usize,
}

/// Returns the line beside our name.
pub(crate) fn line(busy: Busy) -> String {
    let Busy { tasks, agents } = busy;
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    match tasks {
        0 => "Idle".to_owned(),
        _ => format!(
            "{tasks} task{} in {agents} agent{}",
            plural(tasks),
            plural(agents)
        ),
    }
}

/// Returns the presence in the gateway's format, for IDENTIFY and for an update (op 3).
pub(in crate::discord) fn payload(busy: Busy) -> Value {
    let status = match busy.tasks {
        0 => "idle",
        _ => "online",
    };
    // Discord requires a name and does not show it.
    let activity = json!({"name": "~", "type": CUSTOM, "state": line(busy)});
    json!({"since": null, "afk": false, "status": status, "activities": [activity]})
}
