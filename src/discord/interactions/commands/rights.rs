//! The permissions that commands need.

use serenity::all::{ComponentInteraction, Permissions};

use crate::discord::bot::servers::OPERATOR_ONLY;
use crate::discord::bot::{Bot, Refusal};
use crate::domain::UserId;

/// The category of commands that the operator alone may use, whatever they may do in the server.
pub(super) const OPERATOR: &str = "operator";

/// What somebody is told who may not change an agent.
pub(in crate::discord) const MANAGE_CHANNELS_NEEDED: &str =
    "Changing an agent needs the permission Manage Channels.";

/// What the one who pressed may do; nothing outside a server.
pub(in crate::discord) fn of_press(press: &ComponentInteraction) -> Permissions {
    let member = press.member.as_ref();
    member
        .and_then(|member| member.permissions)
        .unwrap_or_default()
}

/// The permissions a command needs: its own and those of the groups it is in.
pub(super) fn needed(tree: &[&poise::Command<Bot, Refusal>]) -> Permissions {
    tree.iter().fold(Permissions::empty(), |sum, command| {
        sum | command.default_member_permissions
    })
}

/// Whether somebody with `rights` may use the command.
pub(super) fn is_allowed(rights: Permissions, needed: Permissions) -> bool {
    rights.administrator() || rights.contains(needed)
}

/// Whether a command is for the operator alone.
pub(super) fn is_operators(command: &poise::Command<Bot, Refusal>) -> bool {
    command.category.as_deref() == Some(OPERATOR)
}

/// Whether the one who gave a command may; checked before its own code runs.
pub(super) fn check(ctx: poise::Context<'_, Bot, Refusal>) -> Result<bool, Refusal> {
    let poise::Context::Application(ctx) = ctx else {
        return Ok(false);
    };
    let Some(member) = &ctx.interaction.member else {
        return Err(Refusal::new(
            "Commands work in a server, not in direct messages.",
        ));
    };
    let mut tree: Vec<_> = ctx.parent_commands().to_vec();
    tree.push(ctx.command());
    if tree.iter().any(|command| is_operators(command)) {
        let user = UserId(ctx.interaction.user.id.get());
        return if ctx.framework.user_data.is_operator(user) {
            Ok(true)
        } else {
            Err(Refusal::new(OPERATOR_ONLY))
        };
    }
    let needed = needed(&tree);
    if is_allowed(member.permissions.unwrap_or_default(), needed) {
        return Ok(true);
    }
    Err(Refusal(format!(
        "`/{}` needs the permission {}, which you do not have here.",
        ctx.command().qualified_name,
        needed.get_permission_names().join(", ")
    )))
}
