//! Decides who may press an approval's buttons. Pure.

use crate::agent::event::Choice;
use crate::domain::{Person, RoleId, UserId};
use crate::permission::{NotGranted, may_answer};

/// The people who may decide one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deciders<'a> {
    /// Roles named by `/settings approvers`.
    pub approver_roles: &'a [RoleId],
    /// The authors of the messages in the turn.
    pub requesters: &'a [UserId],
    /// Whether the person may grant `open`.
    pub open: Result<(), NotGranted>,
}

/// Why a person may not press a button. Only that person sees the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MayNotPress {
    /// Members of these roles decide; without any, the person who asked does.
    #[error("{}", who_may(.0))]
    NotTheirs(Vec<RoleId>),
    #[error(
        "You cannot use **Always allow** here: {0}. You can still press **Allow** or **Deny**."
    )]
    Always(#[source] NotGranted),
}

/// Checks whether `person` may press this button.
///
/// # Errors
///
/// Fails if others have to decide.
pub fn may_press(
    person: &Person,
    choice: Choice,
    deciders: &Deciders<'_>,
) -> Result<(), MayNotPress> {
    if !may_answer(person, deciders.approver_roles, deciders.requesters) {
        return Err(MayNotPress::NotTheirs(deciders.approver_roles.to_vec()));
    }
    match choice {
        Choice::AlwaysAllow => deciders.open.clone().map_err(MayNotPress::Always),
        Choice::Allow | Choice::Deny => Ok(()),
    }
}

fn who_may(approver_roles: &[RoleId]) -> String {
    if approver_roles.is_empty() {
        return "Only the person whose message started this turn, or a member with Manage Server, may decide this."
            .to_owned();
    }
    let roles: Vec<String> = approver_roles
        .iter()
        .map(|role| format!("<@&{role}>"))
        .collect();
    format!(
        "Only a member with Manage Server or with one of these roles may decide this: {}.",
        roles.join(", ")
    )
}
