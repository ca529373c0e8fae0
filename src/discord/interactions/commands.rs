//! Slash commands: each in one file, which parses, makes one call to the manager, and renders.
//!
//! A command is registered with the permission it needs, and that permission is checked again here, because a server's
//! administrators can change who sees a command.

mod agent;
mod ask;
mod audit;
mod branch;
pub(super) mod call;
mod choice;
mod complete;
mod confirm;
mod context;
mod decisions;
mod help;
mod hook;
mod mcp;
pub(super) mod menus;
mod message;
mod models;
mod overview;
mod permissions;
mod ping;
mod process;
mod purge;
mod remind;
mod roles;
mod run;
mod schedule;
pub(super) mod servers;
mod settings;
mod shortcuts;
mod status;
mod stop;
mod usage;

use poise::FrameworkError;
use serenity::all::{CommandInteraction, FullEvent};
use tracing::error;

use self::call::{Refusal, Visibility, responder};
use crate::discord::bot::{Bot, Commands};
use crate::discord::rest::body::Body;
use crate::llm::discovery::Models;

pub(super) use agent::list_page;
pub(super) use agent::{
    EDIT_PROMPT, confirm_destroy, confirm_repair, edit_prompt, submit_prompt, take_back,
};
pub(super) use agent::{config_chosen, config_widened, init_chosen, making};
pub(super) use branch::open as open_branch;
pub(super) use confirm::cancel;
pub(super) use context::{confirm_clear, history_page};
pub(super) use decisions::decisions_page;
pub(super) use mcp::pressed as mcp_pressed;
pub(super) use purge::confirmed as confirm_purge;
pub(super) use remind::pressed as plan_pressed;
pub(super) use roles::roles_page;
pub(super) use run::{list_page as run_list_page, show_page as run_page};
pub(super) use schedule::{EDIT_SCHEDULE, edited as schedule_edited};
pub(super) use servers::pressed as decide_server;
pub(super) use settings::{chosen as setting_chosen, loosened as setting_loosened};

/// Returns all commands, with shortcuts for the available models.
pub(in crate::discord) fn options(models: Option<&Models>) -> Commands {
    let mut commands = vec![
        agent::agent(),
        agent::agents(),
        settings::settings(),
        servers::servers(),
        context::context(),
        branch::branch(),
        process::process(),
        ask::ask(),
        stop::stop(),
        stop::abort(),
        status::status(),
        process::tasks(),
        models::models(),
        permissions::permissions(),
        roles::roles(),
        decisions::decisions(),
        run::run(),
        schedule::schedule(),
        remind::remind(),
        hook::hook(),
        mcp::mcp(),
        usage::usage(),
        overview::overview(),
        audit::audit(),
        purge::purge(),
        ping::ping(),
        help::help(),
    ];
    commands.extend(message::all());
    if let Some(models) = models {
        let shortcuts = shortcuts::all(models, &commands);
        commands.extend(shortcuts);
    }
    poise::set_qualified_names(&mut commands);
    Commands {
        commands,
        initialize_owners: false,
        command_check: Some(|context| Box::pin(async move { call::check(context) })),
        on_error: |failure| Box::pin(on_error(failure)),
        ..Commands::default()
    }
}

/// Serves a command, or completes an option that is being typed.
pub(super) async fn dispatch(bot: &Bot, event: FullEvent) {
    let options = bot.commands.load_full();
    if let FullEvent::InteractionCreate { interaction } = &event
        && let Some(command) = interaction.as_command()
        && !options.commands.iter().any(|one| is_named(one, command))
    {
        return shortcuts::is_gone(bot, command).await;
    }
    let framework = poise::FrameworkContext {
        serenity_context: &bot.serenity.context,
        options: &options,
        user_data: bot,
        shard_manager: &bot.serenity.shards,
    };
    poise::dispatch_event(framework, event).await;
}

fn is_named(command: &poise::Command<Bot, Refusal>, given: &CommandInteraction) -> bool {
    let name = given.data.name.as_str();
    command.name == name || command.context_menu_name.as_deref() == Some(name)
}

/// Shows errors before a command's own code runs to the person who gave it.
async fn on_error(failure: FrameworkError<'_, Bot, Refusal>) {
    let Some(poise::Context::Application(ctx)) = failure.ctx() else {
        error!(%failure, "failed to serve an interaction");
        return;
    };
    if ctx.interaction_type == poise::CommandInteractionType::Autocomplete {
        error!(%failure, "failed to complete an option of /{}", ctx.command().qualified_name);
        return;
    }
    let text = match &failure {
        FrameworkError::CommandCheckFailed { error: Some(refusal), .. }
        | FrameworkError::Command { error: refusal, .. } => refusal.0.clone(),
        FrameworkError::GuildOnly { .. } => "Commands work in a server, not in direct messages.".to_owned(),
        FrameworkError::ArgumentParse { input, error, .. } => match input {
            Some(input) => format!("`{input}` cannot be used here: {error}."),
            None => format!("An option cannot be used: {error}."),
        },
        FrameworkError::CommandStructureMismatch { .. } => {
            "This command has changed since your Discord loaded it. Reload Discord (Ctrl+R) and try again.".to_owned()
        }
        other => {
            error!(failure = %other, "failed to run a command");
            "The command failed because of an error in Chorus. The bot's operator can find the details in the log.".to_owned()
        }
    };
    let _ = responder(ctx)
        .say(&Body::sentence(text), Visibility::Ephemeral)
        .await;
}
