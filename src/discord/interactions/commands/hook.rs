//! `/hook`: webhooks of this channel's agent.

use std::time::Duration;

use chorus_webhook::Kind;

use super::call::{Context, Refusal, Visibility, agent_here, answer, bot};
use super::choice::{Choice, Named};
use super::complete;
use crate::config::units::parse_duration;
use crate::discord::render;
use crate::manager::{WebhookChange, WebhookRequest};
use crate::store::{SchedulePlace, WebhookThen};
use crate::text::{self, escape};

impl Named for Kind {
    const ALL: &'static [(&'static str, Self)] = &[
        ("github", Self::Github),
        ("gitea", Self::Gitea),
        ("standard", Self::Standard),
        ("bearer", Self::Bearer),
        ("chorus", Self::Chorus),
    ];
}

impl Named for WebhookThen {
    const ALL: &'static [(&'static str, Self)] = &[("turn", Self::Turn), ("post", Self::Post)];
}

/// Have other systems, such as GitHub, begin work of this channel's agent
#[poise::command(
    category = "Tasks",
    slash_command,
    guild_only,
    default_member_permissions = "MANAGE_GUILD",
    subcommand_required,
    subcommands("new", "list", "show", "test", "rotate", "pause", "resume", "delete")
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn hook(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}

/// Make a webhook; further /hook commands show and change it
#[poise::command(slash_command, default_member_permissions = "MANAGE_GUILD")]
#[expect(
    clippy::too_many_arguments,
    reason = "each is an option of the command"
)]
async fn new(
    ctx: Context<'_>,
    #[description = "Who sends: github, gitea (and Forgejo), standard, bearer (Grafana, scripts) or chorus"]
    kind: Choice<Kind>,
    #[description = "What the agent is to do with what arrives"]
    #[max_length = 4000]
    prompt: Option<String>,
    #[description = "Its name"]
    #[max_length = 32]
    name: Option<String>,
    #[description = "Events that are wanted, e.g. issues.opened, pull_request.*"]
    #[max_length = 1000]
    events: Option<String>,
    #[description = "A value that is wanted, e.g. /ref=refs/heads/main"]
    #[rename = "match"]
    #[max_length = 500]
    matches: Option<String>,
    #[description = "Profile that decides besides the agent's; default: locked"]
    #[autocomplete = "complete::profile"]
    profile: Option<String>,
    #[description = "fresh: a conversation of its own each time; main: the main one; thread: a thread"]
    r#where: Option<Choice<SchedulePlace>>,
    #[description = "Deliveries with the same value share a conversation, e.g. /pull_request/number"]
    #[max_length = 200]
    thread_by: Option<String>,
    #[description = "Deliveries within this time are joined, e.g. 30s; default 10s, at most 10m"]
    #[max_length = 20]
    debounce: Option<String>,
    #[description = "turn asks the agent; post only posts what arrives"] then: Option<
        Choice<WebhookThen>,
    >,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let debounce = debounce.map(|typed| {
            let seconds = parse_duration(&typed).map(Duration::from_secs);
            seconds.ok_or_else(|| {
                Refusal::new(format!(
                    "`debounce` cannot be {}. Write a time such as `30s` or `2m`.",
                    escape::code(&text::one_line(&typed, 30))
                ))
            })
        });
        let request = WebhookRequest {
            kind: kind.0,
            prompt,
            name,
            events,
            matches,
            profile,
            place: r#where.map_or(SchedulePlace::Fresh, |Choice(place)| place),
            thread_by,
            debounce: debounce.transpose()?,
            then: then.map_or(WebhookThen::Turn, |Choice(then)| then),
        };
        let (agent, person) = (&here.agent, &here.person);
        let webhooks = &bot(ctx).manager.webhooks;
        webhooks.check(agent, &request, person).await?;
        let thread = match (request.place, &request.thread_by) {
            (SchedulePlace::Thread, None) => {
                let below = agent.channel.ok_or_else(|| {
                    Refusal::new("The agent has no channel. Use `/agent repair`.")
                })?;
                let name = request.name.as_deref().unwrap_or(request.kind.word());
                Some(bot(ctx).open_schedule_thread(below, name).await?)
            }
            _ => None,
        };
        let made = webhooks.make(agent, &request, person, thread).await?;
        Ok(render::hook_made(&made, &webhooks.listener()))
    })
    .await
}

/// List the webhooks of this channel's agent
#[poise::command(
    slash_command,
    hide_in_help,
    default_member_permissions = "MANAGE_GUILD"
)]
async fn list(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let webhooks = &bot(ctx).manager.webhooks;
        let rows = webhooks.of(&here.agent, &here.person).await?;
        Ok(render::hooks(&rows, &webhooks.listener()))
    })
    .await
}

/// Show a webhook with its latest deliveries
#[poise::command(
    slash_command,
    hide_in_help,
    default_member_permissions = "MANAGE_GUILD"
)]
async fn show(
    ctx: Context<'_>,
    #[description = "Its name"]
    #[autocomplete = "complete::hook"]
    name: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let webhooks = &bot(ctx).manager.webhooks;
        let view = webhooks.shown(&here.agent, &name, &here.person).await?;
        Ok(render::hook(&view, &webhooks.listener()))
    })
    .await
}

/// Have a webhook get a sample delivery of its kind, at once
#[poise::command(
    slash_command,
    hide_in_help,
    default_member_permissions = "MANAGE_GUILD"
)]
async fn test(
    ctx: Context<'_>,
    #[description = "Its name"]
    #[autocomplete = "complete::hook"]
    name: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let webhooks = &bot(ctx).manager.webhooks;
        webhooks.test(&here.agent, &name, &here.person).await?;
        Ok(render::hook_tested(&name))
    })
    .await
}

/// Replace the secret of a webhook; the old one is valid for 24 hours more
#[poise::command(
    slash_command,
    hide_in_help,
    default_member_permissions = "MANAGE_GUILD"
)]
async fn rotate(
    ctx: Context<'_>,
    #[description = "Its name"]
    #[autocomplete = "complete::hook"]
    name: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let webhooks = &bot(ctx).manager.webhooks;
        let rotated = webhooks.rotate(&here.agent, &name, &here.person).await?;
        Ok(render::hook_rotated(&rotated))
    })
    .await
}

/// Pause a webhook: it takes nothing until it is resumed
#[poise::command(
    slash_command,
    hide_in_help,
    default_member_permissions = "MANAGE_GUILD"
)]
async fn pause(
    ctx: Context<'_>,
    #[description = "Its name, or all"]
    #[autocomplete = "complete::hooks_or_all"]
    name: String,
) -> Result<(), Refusal> {
    change(ctx, name, WebhookChange::Pause).await
}

/// Resume a webhook that is paused
#[poise::command(
    slash_command,
    hide_in_help,
    default_member_permissions = "MANAGE_GUILD"
)]
async fn resume(
    ctx: Context<'_>,
    #[description = "Its name, or all"]
    #[autocomplete = "complete::hooks_or_all"]
    name: String,
) -> Result<(), Refusal> {
    change(ctx, name, WebhookChange::Resume).await
}

/// Delete a webhook with its deliveries
#[poise::command(
    slash_command,
    hide_in_help,
    default_member_permissions = "MANAGE_GUILD"
)]
async fn delete(
    ctx: Context<'_>,
    #[description = "Its name"]
    #[autocomplete = "complete::hook"]
    name: String,
) -> Result<(), Refusal> {
    change(ctx, name, WebhookChange::Delete).await
}

async fn change(ctx: Context<'_>, name: String, what: WebhookChange) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let webhooks = &bot(ctx).manager.webhooks;
        let names = webhooks
            .change(&here.agent, &name, what, &here.person)
            .await?;
        Ok(render::hooks_changed(what, &names))
    })
    .await
}
