//! Rights that a tool needs because the command with the same effect needs them. The table is in `docs/permissions.md`.

use super::ToolContext;
use super::error::ToolError;
use crate::domain::{Participant, UserId};
use crate::permission::all_known;

/// Checks that everyone behind the call, and the person who allowed it, have the permission Manage Channels, by their
/// current rights. In a turn without a person's message, no person has requested it.
///
/// # Errors
///
/// Fails with the first of them who may not, for the model.
pub(super) async fn may_manage_channels(
    command: &str,
    context: &ToolContext,
) -> Result<(), ToolError> {
    let behind: &[Participant] = if context.has_message {
        &context.people
    } else {
        &[]
    };
    let refused = |why: &str| {
        Err(ToolError::Rejected(format!(
            "this needs the permission Manage Channels, as `{command}` does, of everyone whose message is in this turn and of the person who allows it: {why}"
        )))
    };
    let people = match all_known(behind) {
        Ok(people) => people,
        Err(why) => return refused(&why.to_string()),
    };
    let mut asked: Vec<UserId> = people.iter().map(|person| person.id).collect();
    asked.extend(context.allowed_by);
    asked.sort_unstable();
    asked.dedup();
    let configure = &context.services.configure;
    for user in asked {
        if !configure.manages_channels(context, user).await {
            let is_behind = people.iter().any(|person| person.id == user);
            return refused(if is_behind {
                "somebody whose message is in it does not hold that here now"
            } else {
                "the person who allowed it does not hold that here now"
            });
        }
    }
    Ok(())
}
