//! `/agent`: creates, lists, changes, destroys and repairs agents.

mod config;
mod destroy;
pub(in crate::discord::interactions) mod making;
mod repair;

use serenity::all::Attachment;

use super::call::{
    Context, Refusal, Viewer, Visibility, agent_named, answer, bot, guild, manages, may_talk,
    person, viewer,
};
use super::complete;
use crate::discord::bot::Bot;
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::manager::{Basis, NewAgent, Refine};
use crate::{clock, text};

pub(in crate::discord) use config::{
    EDIT_PROMPT, chosen as config_chosen, edit_prompt, submit as submit_prompt, take_back,
    widened as config_widened,
};
pub(in crate::discord) use destroy::confirmed as confirm_destroy;
pub(in crate::discord) use making::chosen as init_chosen;
pub(in crate::discord) use repair::confirmed as confirm_repair;

/// The action that requires the permission to manage channels, for the refusal.
const BINDING: &str = "Choosing the folder of an agent";

/// Make, list, change and destroy agents
#[poise::command(
    category = "Agents",
    slash_command,
    guild_only,
    subcommand_required,
    default_member_permissions = "MANAGE_CHANNELS",
    subcommands("init", "list", "config::config", "destroy::destroy", "repair::repair")
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn agent(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}

/// Make an agent with its own workspace and channel
#[poise::command(slash_command, default_member_permissions = "MANAGE_CHANNELS")]
#[expect(clippy::too_many_arguments, reason = "poise makes an option of each")]
async fn init(
    ctx: Context<'_>,
    #[description = "Name: 2 to 32 of a-z, 0-9, - and _"]
    #[max_length = 100]
    name: String,
    #[description = "What it is for and how it works"]
    #[max_length = 6000]
    system_prompt: Option<String>,
    #[description = "Model to use (default: the server's)"]
    #[autocomplete = "complete::model"]
    model: Option<String>,
    #[description = "What it may do: a profile's name, or JSON"]
    #[autocomplete = "complete::profile"]
    permission_profile: Option<String>,
    #[description = "A text file with the system prompt, or a charter, up to 64 KiB"] file: Option<
        Attachment,
    >,
    #[description = "Expand the description into a full system prompt"] refine: Option<bool>,
    #[description = "Start from a role, a template, or a copy of @agent"]
    #[autocomplete = "complete::origin"]
    #[max_length = 100]
    from: Option<String>,
    #[description = "A folder of this machine to work in, as an absolute path"]
    #[autocomplete = "complete::folder"]
    #[max_length = 6000]
    folder: Option<String>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        if folder.is_some() {
            manages(ctx, BINDING)?;
        }
        let (system_prompt, basis) = prompt_or_charter(ctx, system_prompt, file, from).await?;
        let new = NewAgent {
            name,
            system_prompt,
            refine: if refine.unwrap_or(false) {
                Refine::Tailor
            } else {
                Refine::Keep
            },
            model,
            permission_profile,
            basis,
            folder,
            by: person(ctx),
            guild: guild(ctx)?,
        };
        making::make(bot(ctx), ctx.interaction.id.get(), new).await
    })
    .await
}

/// List the agents of this server, including destroyed ones
#[poise::command(slash_command)]
async fn list(ctx: Context<'_>) -> Result<(), Refusal> {
    answer_list(ctx).await
}

/// List the agents of this server whose channels you see
#[poise::command(category = "Agents", slash_command, guild_only)]
pub(super) async fn agents(ctx: Context<'_>) -> Result<(), Refusal> {
    answer_list(ctx).await
}

async fn answer_list(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        match viewer(ctx)? {
            Some(viewer) => list_page(bot(ctx), &viewer, 0).await,
            None => Ok(render::agents(&[], 0, clock::now())),
        }
    })
    .await
}

/// Returns the list that the viewer sees at `page`, counted from 0.
pub(in crate::discord) async fn list_page(
    bot: &Bot,
    viewer: &Viewer<'_>,
    page: usize,
) -> Result<Body, Refusal> {
    let mut agents = bot.manager.status.list(viewer.guild).await?;
    agents.retain(|agent| viewer.covers(agent.row.channel_id));
    if bot.knows(viewer.guild) {
        for agent in &mut agents {
            let channel = agent.row.channel_id;
            agent.has_channel = channel.is_some_and(|channel| bot.has_place(viewer.guild, channel));
        }
    }
    Ok(render::agents(&agents, page, clock::now()))
}

/// Most bytes of a text file that sets a value.
const MAX_FILE: u32 = 64 * 1024;

/// Returns the text of an attached file.
pub(super) async fn read_text(file: &Attachment) -> Result<String, Refusal> {
    if file.size > MAX_FILE {
        return Err(Refusal(format!(
            "The file has {}; a text of at most {} is read.",
            text::bytes(u64::from(file.size)),
            text::bytes(u64::from(MAX_FILE))
        )));
    }
    let bytes = file
        .download()
        .await
        .map_err(|_| Refusal::new("The file could not be fetched from Discord. Try again."))?;
    String::from_utf8(bytes).map_err(|_| {
        Refusal::new("The file is not UTF-8 text. Save it as UTF-8 and attach it again.")
    })
}

/// Returns the prompt of a new agent, and the charter it is created from: a file that is a charter is not a prompt.
async fn prompt_or_charter(
    ctx: Context<'_>,
    system_prompt: Option<String>,
    file: Option<Attachment>,
    from: Option<String>,
) -> Result<(Option<String>, Option<Basis>), Refusal> {
    if let Some(name) = from
        .as_deref()
        .and_then(|from| from.trim().strip_prefix('@'))
    {
        may_talk(ctx, &agent_named(ctx, name)?).await?;
    }
    let named = from.map(Basis::Named);
    let Some(file) = file else {
        return Ok((system_prompt, named));
    };
    let text = read_text(&file).await?;
    if !is_charter(&file.filename, &text) {
        return match system_prompt {
            Some(_) => Err(Refusal::new(
                "Give either `system_prompt` or `file`, not both.",
            )),
            None => Ok((Some(text), named)),
        };
    }
    if named.is_some() {
        return Err(Refusal::new(
            "Give either `from` or a file with a charter, not both.",
        ));
    }
    let name = file.filename.clone();
    Ok((system_prompt, Some(Basis::File { name, text })))
}

/// Returns whether a file describes a role: Markdown with front matter, or with the headings of Squad.
fn is_charter(name: &str, text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    let has_front = text
        .lines()
        .next()
        .is_some_and(|line| line.trim_end() == "---");
    let is_squad = text.contains("**Name**")
        && text
            .lines()
            .any(|line| line.trim().eq_ignore_ascii_case("## identity"));
    name.to_lowercase().ends_with(".md") && (has_front || is_squad)
}

/// Returns an option or a file, but not both.
async fn text_or_file(
    option: Option<String>,
    file: Option<Attachment>,
    what: &str,
) -> Result<Option<String>, Refusal> {
    match (option, file) {
        (Some(_), Some(_)) => Err(Refusal(format!(
            "Give either `{what}` or `file`, not both."
        ))),
        (Some(text), None) => Ok(Some(text)),
        (None, Some(file)) => read_text(&file).await.map(Some),
        (None, None) => Ok(None),
    }
}
