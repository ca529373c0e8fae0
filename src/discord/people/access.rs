//! Who may press an approval's buttons. Pure.

use crate::agent::event::Choice;
use crate::domain::{Person, RoleId, UserId};
use crate::permission::may_answer;

/// Who decides one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deciders<'a> {
    /// Roles named by `/settings approvers`.
    pub approver_roles: &'a [RoleId],
    /// Whose messages are in the turn.
    pub requesters: &'a [UserId],
    /// Why the person may not grant `open`, if so.
    pub open_refused: Option<&'a str>,
}

/// Whether `person` may press this button.
///
/// # Errors
///
/// The reason, for their eyes.
pub fn may_press(person: &Person, choice: Choice, deciders: &Deciders<'_>) -> Result<(), String> {
    if !may_answer(person, deciders.approver_roles, deciders.requesters) {
        return Err(who_may(deciders.approver_roles));
    }
    match (choice, deciders.open_refused) {
        (Choice::AlwaysAllow, Some(reason)) => Err(format!(
            "Always allow is for those who may grant the profile `open`: {reason}. Allow and Deny are yours to press."
        )),
        (Choice::Allow | Choice::Deny | Choice::AlwaysAllow, _) => Ok(()),
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
