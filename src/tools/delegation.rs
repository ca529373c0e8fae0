//! What a call has a child turn do.

/// What a call has a child turn do, as its arguments say; nothing of it is checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delegation {
    pub role: String,
    pub prompt: String,
    /// For people.
    pub title: String,
    /// Whether the call has its result only then; else a branch does the task.
    pub waits: bool,
    /// The id of a former child turn whose conversation goes on.
    pub go_on: Option<String>,
}
