//! `/servers`: the servers that the bot serves; only for its operator.

use serenity::all::ComponentInteraction;

use super::call::{Context, Refusal, Responder, Visibility, answer, bot, person};
use super::complete;
use crate::discord::bot::Bot;
use crate::discord::bot::servers::{self, OPERATOR_ONLY};
use crate::discord::render::{self, ListedServer};
use crate::discord::rest::body::Body;
use crate::domain::{GuildId, UserId};
use crate::text::escape;

/// List, accept and remove servers; for the operator of this bot
#[poise::command(
    slash_command,
    guild_only,
    subcommand_required,
    category = "operator",
    default_member_permissions = "ADMINISTRATOR",
    subcommands("list", "accept", "remove")
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn servers(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}

/// List accepted servers and servers that wait for acceptance
#[poise::command(slash_command, category = "operator")]
async fn list(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let bot = bot(ctx);
        let rows = bot.manager.servers.all().into_iter();
        let all: Vec<ListedServer> = rows
            .map(|row| ListedServer {
                why: bot.manager.servers.why_served(row.guild),
                agents: bot.manager.directory.agents(row.guild).len(),
                is_in: bot.knows(row.guild),
                row,
            })
            .collect();
        Ok(render::servers(&all))
    })
    .await
}

/// Accept a server: from now on its members can use this bot
#[poise::command(slash_command, category = "operator")]
async fn accept(
    ctx: Context<'_>,
    #[description = "The server: its id or name"]
    #[autocomplete = "complete::server_to_accept"]
    server: String,
) -> Result<(), Refusal> {
    answer_about(ctx, &server, |guild| async move {
        let manager = &bot(ctx).manager;
        let row = manager.servers.accept(guild, person(ctx).id).await?;
        Ok(render::server_accepted(&row))
    })
    .await
}

/// Stop serving a server: this bot is no longer active there
#[poise::command(slash_command, category = "operator")]
async fn remove(
    ctx: Context<'_>,
    #[description = "The server: its id or name"]
    #[autocomplete = "complete::server_accepted"]
    server: String,
) -> Result<(), Refusal> {
    answer_about(ctx, &server, |guild| async move {
        let manager = &bot(ctx).manager;
        let row = manager.servers.remove(guild, person(ctx).id).await?;
        Ok(render::server_removed(&row).row(servers::buttons(guild)))
    })
    .await
}

/// Answers a command about the server that `text` names with the result of `work` for it, visible only to the person
/// who asked.
async fn answer_about<F>(
    ctx: Context<'_>,
    text: &str,
    work: impl FnOnce(GuildId) -> F + Send,
) -> Result<(), Refusal>
where
    F: Future<Output = Result<Body, Refusal>> + Send,
{
    let work = async { work(server_named(ctx, text)?).await };
    answer(ctx, Visibility::Ephemeral, work).await
}

/// Returns the server with this id, or the only one with this name.
fn server_named(ctx: Context<'_>, text: &str) -> Result<GuildId, Refusal> {
    let text = text.trim();
    let rows = bot(ctx).manager.servers.all();
    let id = text.parse::<GuildId>().ok();
    if let Some(row) = rows.iter().find(|row| Some(row.guild) == id) {
        return Ok(row.guild);
    }
    let mut named = rows.iter().filter(|row| row.name == text);
    match (named.next(), named.next()) {
        (Some(row), None) => Ok(row.guild),
        (Some(_), Some(_)) => Err(Refusal::new(
            "Several servers have this name. Write the server's id; `/servers list` shows it.",
        )),
        (None, _) => Err(Refusal::new(
            "There is no such server. Choose a suggested one or write its id; `/servers list` shows them all.",
        )),
    }
}

/// Handles Accept or Leave. `rest` is the part of the button's id after `server:`.
pub(in crate::discord::interactions) async fn pressed(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    rest: &str,
) {
    let user = UserId(press.user.id.get());
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder.replace(decide(bot, user, rest)).await;
}

async fn decide(bot: &Bot, user: UserId, rest: &str) -> Result<Body, Refusal> {
    if !bot.is_operator(user) {
        return Err(Refusal::new(OPERATOR_ONLY));
    }
    let unknown = || Refusal::new("This button no longer works.");
    let (what, guild) = rest.split_once(':').ok_or_else(unknown)?;
    let guild = guild.parse().map_err(|_| unknown())?;
    match what {
        "accept" => Ok(render::server_accepted(
            &bot.manager.servers.accept(guild, user).await?,
        )),
        "leave" => refuse(bot, guild, user).await,
        _ => Err(unknown()),
    }
}

/// Makes the bot leave a server, as the operator decided.
async fn refuse(bot: &Bot, guild: GuildId, user: UserId) -> Result<Body, Refusal> {
    let row = bot.manager.servers.refuse(guild, user).await?;
    let name = escape::name(&row.name);
    match bot.leave_server(guild).await {
        Ok(()) => Ok(Body::text(format!(
            "I left **{name}**. If I am invited there again, I leave at once, unless you run `/servers accept`."
        ))),
        Err(error) => Ok(Body::text(format!(
            "I am inactive in **{name}**, but I could not leave it yet: {error}. I will try again within the hour."
        ))),
    }
}
