//! What a call has a child turn do.

/// What a call has a child turn do, as its arguments say; nothing of it is checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delegation {
    pub role: String,
    pub prompt: String,
    /// For people.
    pub title: String,
    /// The id of a former child turn whose conversation goes on.
    pub go_on: Option<String>,
}
