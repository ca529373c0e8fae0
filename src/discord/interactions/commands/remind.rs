//! `/remind`, and the card that confirms a plan.

use serenity::all::ComponentInteraction;

use super::call::{Context, Refusal, Responder, Visibility, admits, agent_here, answer, bot, who};
use super::complete;
use crate::discord::bot::Bot;
use crate::discord::render;
use crate::discord::rest::body::{Body, Button, Style};
use crate::domain::Person;
use crate::manager::Draft;
use crate::store::{SchedulePlace, ScheduleRow};

/// Set a reminder by this channel's agent, once or repeatedly
#[poise::command(category = "Tasks", slash_command, guild_only)]
pub(super) async fn remind(
    ctx: Context<'_>,
    #[description = "e.g. in 20 minutes, at 18:00, tomorrow at 9am, every weekday at 7:00"]
    #[max_length = 200]
    when: String,
    #[description = "What to remind you of"]
    #[max_length = 1000]
    text: String,
    #[description = "Time zone, e.g. Europe/Berlin (default: the server's)"]
    #[autocomplete = "complete::zone"]
    timezone: Option<String>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let thread = here.parent.map(|_| here.channel);
        let planned = bot(ctx).manager.schedules.plan_reminder(
            here.agent,
            here.person,
            (when, text),
            timezone.as_deref(),
            thread,
        )?;
        Ok(card(bot(ctx), ctx.interaction.id.get(), planned))
    })
    .await
}

/// Keeps a draft under the id of the interaction that asked for it, and shows its card.
pub(super) fn card(bot: &Bot, id: u64, draft: Draft) -> Body {
    let card = render::plan(&draft);
    let create = match draft.replaces {
        Some(_) => "Save",
        None => "Create",
    };
    bot.drafts.keep(id, draft);
    card.row(vec![
        Button::new(format!("plan:create:{id}"), create, Style::Success),
        Button::new(format!("plan:cancel:{id}"), "Cancel", Style::Secondary),
    ])
}

/// Handles a press on the card. `rest` is the part of its id after `plan:`.
pub(in crate::discord) async fn pressed(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    rest: &str,
) {
    let work = async {
        let (what, id) = rest.split_once(':').unwrap_or((rest, ""));
        let draft = id.parse().ok().and_then(|id| bot.drafts.take(id));
        let (_, person) = who(press.guild_id, press.member.as_ref())
            .ok_or_else(|| Refusal::new("Buttons work only in a server."))?;
        if what != "create" {
            return Ok(Body::text("Cancelled. Nothing was stored."));
        }
        let draft = draft.filter(|draft| draft.owner.id == person.id);
        let draft = draft.ok_or_else(|| {
            Refusal::new("This card was already used or is from before a restart, so nothing was stored. Run the command again.")
        })?;
        admits(bot, &person, &draft.agent).await?;
        let created = confirmed(bot, draft, &person).await?;
        Ok(render::planned(&created))
    };
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder.replace(work).await;
}

/// Stores a plan that a person confirmed. A schedule with a thread gets it first: without one it is not stored.
async fn confirmed(bot: &Bot, draft: Draft, by: &Person) -> Result<ScheduleRow, Refusal> {
    let mut draft = draft;
    draft.owner = by.clone();
    if draft.place == SchedulePlace::Thread && draft.thread.is_none() {
        let name = draft.name.as_deref().unwrap_or("schedule");
        let below = draft
            .agent
            .channel
            .ok_or_else(|| Refusal::new("The agent has no channel. Use `/agent repair`."))?;
        draft.thread = Some(bot.open_schedule_thread(below, name).await?);
    }
    let is_new = draft.replaces.is_none();
    let is_seen = draft.pays.is_some() || draft.gate.is_some();
    let channel = draft.agent.channel;
    let line = render::announced(&draft);
    let created = bot.manager.schedules.confirm(draft).await?;
    if let (true, true, Some(channel)) = (is_new, is_seen, channel) {
        let mut part = crate::store::NewPart::notice(line);
        part.body.is_silent = true;
        bot.store
            .post(channel, None, part)
            .await
            .map_err(Refusal::from)?;
        bot.deliver(channel);
    }
    Ok(created)
}
