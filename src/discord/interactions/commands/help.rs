//! `/help`: the commands that this person may use.

use serenity::all::Permissions;

use super::call::{Context, Refusal, Visibility, answer, bot, is_allowed, is_operators, person};
use super::shortcuts;
use crate::discord::bot::Bot;
use crate::discord::render::{self, HelpKind, HelpLine};

/// The group of commands that declare none.
const OTHERS: &str = "Others";

/// Show the commands that you may use here
#[poise::command(category = "About", slash_command, guild_only)]
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
            let group = match command.category.as_deref() {
                _ if is_operators(command) => "Server",
                Some(group) => group,
                None => OTHERS,
            };
            collect(command, group, rights, Permissions::empty(), &mut lines);
        }
        Ok(render::help(&lines))
    })
    .await
}

fn collect(
    command: &poise::Command<Bot, Refusal>,
    group: &str,
    rights: Permissions,
    above: Permissions,
    lines: &mut Vec<HelpLine>,
) {
    let needed = above | command.default_member_permissions;
    if command.hide_in_help || !is_allowed(rights, needed) {
        return;
    }
    let (name, kind) = match (&command.context_menu_name, command.slash_action) {
        (Some(name), None) => (name.to_string(), HelpKind::OnMessage),
        (_, Some(_)) if shortcuts::is_one(command) => {
            (command.qualified_name.to_string(), HelpKind::Shortcut)
        }
        (_, Some(_)) => (command.qualified_name.to_string(), HelpKind::Slash),
        (None, None) => return,
    };
    if command.subcommands.is_empty() {
        lines.push(HelpLine {
            group: group.to_owned(),
            name,
            description: command
                .description
                .as_deref()
                .unwrap_or_default()
                .to_owned(),
            kind,
        });
    }
    for sub in &command.subcommands {
        collect(sub, group, rights, needed, lines);
    }
}
