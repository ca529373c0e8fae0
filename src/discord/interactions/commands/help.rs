//! `/help`: the commands that this person may use.

use serenity::all::Permissions;

use super::call::{Context, Refusal, Visibility, answer, bot, is_allowed, is_operators, person};
use crate::discord::bot::Bot;
use crate::discord::render;

/// Show the commands that you may use here
#[poise::command(slash_command, guild_only)]
pub(super) async fn help(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let member = ctx.interaction.member.as_ref();
        let rights = member
            .and_then(|member| member.permissions)
            .unwrap_or_default();
        let mut lines = Vec::new();
        let is_operator = bot(ctx).is_operator(person(ctx).id);
        for command in &ctx.framework.options.commands {
            if is_operators(command) && !is_operator {
                continue;
            }
            collect(command, rights, Permissions::empty(), &mut lines);
        }
        Ok(render::help(&lines))
    })
    .await
}

fn collect(
    command: &poise::Command<Bot, Refusal>,
    rights: Permissions,
    above: Permissions,
    lines: &mut Vec<(String, String)>,
) {
    let needed = above | command.default_member_permissions;
    if !is_allowed(rights, needed) {
        return;
    }
    if command.slash_action.is_none() {
        return;
    }
    if command.subcommands.is_empty() {
        let description = command.description.as_deref().unwrap_or_default();
        lines.push((command.qualified_name.to_string(), description.to_owned()));
    }
    for sub in &command.subcommands {
        collect(sub, rights, needed, lines);
    }
}
