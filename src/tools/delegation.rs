//! The task that a call gives to a child turn.

/// The task that a call gives to a child turn, from its arguments, without any checks yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delegation {
    pub role: String,
    pub prompt: String,
    /// For people.
    pub title: String,
    /// Whether the call waits for the result; otherwise a branch does the task.
    pub waits: bool,
    /// The id of a former child turn with the conversation that it continues.
    pub go_on: Option<String>,
}
