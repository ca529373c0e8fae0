//! `/schedule`: the plans of this channel's agent.

use chorus_schedule::missed::Missed;
use serenity::all::ModalInteraction;

use super::call::{
    Context, Refusal, Responder, Visibility, admits, agent_here, answer, bot, responder, who,
};
use super::choice::{Choice, Named};
use super::complete;
use super::remind::card;
use crate::discord::bot::Bot;
use crate::discord::interactions::responder::HEARD_WITHIN;
use crate::discord::render;
use crate::discord::rest::modal::{Modal, TextInput, written};
use crate::domain::ChannelId;
use crate::manager::{ScheduleChange, ScheduleEdit, ScheduleRequest, Then};
use crate::store::{ScheduleKind, SchedulePlace};

/// The id of the form of `/schedule edit`, before the name.
pub(in crate::discord::interactions) const EDIT_SCHEDULE: &str = "edit-schedule:";

/// Ids of the fields of the form of `/schedule edit`.
const WHEN: &str = "when";
const WHAT: &str = "prompt";
const GATE: &str = "gate";

/// Most characters in the fields of the form.
const MOST_WHEN: usize = 200;
const MOST_PROMPT: usize = 4_000;
const MOST_GATE: usize = 1_000;

impl Named for SchedulePlace {
    const ALL: &'static [(&'static str, Self)] = &[
        ("fresh", Self::Fresh),
        ("main", Self::Main),
        ("thread", Self::Thread),
    ];
}

impl Named for Missed {
    const ALL: &'static [(&'static str, Self)] = &[
        ("once", Self::Once),
        ("skip", Self::Skip),
        ("all", Self::All),
    ];
}

impl Named for Then {
    const ALL: &'static [(&'static str, Self)] = &[("turn", Self::Turn), ("post", Self::Post)];
}

/// Plan tasks for this channel's agent; show, change and delete them
#[poise::command(
    category = "Tasks",
    slash_command,
    guild_only,
    subcommand_required,
    subcommands("new", "list", "show", "run", "pause", "resume", "edit", "delete")
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn schedule(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}

/// Plan a task for this channel's agent, once or repeatedly
#[poise::command(slash_command)]
#[expect(
    clippy::too_many_arguments,
    reason = "each is an option of the command"
)]
async fn new(
    ctx: Context<'_>,
    #[description = "e.g. every weekday at 7:00, every 10 minutes, tomorrow at 9am, 0 7 * * 1-5"]
    #[max_length = 200]
    when: String,
    #[description = "The agent's task"]
    #[max_length = 4000]
    prompt: Option<String>,
    #[description = "A command that runs first; if it prints nothing, the agent is not asked"]
    #[max_length = 1000]
    gate: Option<String>,
    #[description = "turn: ask the agent; post: only post the output of the gate"] then: Option<
        Choice<Then>,
    >,
    #[description = "Its name"]
    #[max_length = 32]
    name: Option<String>,
    #[description = "fresh: a new conversation each time; main: the main one; thread: one thread"]
    r#where: Option<Choice<SchedulePlace>>,
    #[description = "A model other than the agent's"]
    #[autocomplete = "complete::model"]
    model: Option<String>,
    #[description = "Missed times while the daemon was off: once (the latest), skip (none), all (up to 24)"]
    missed: Option<Choice<Missed>>,
    #[description = "What one run may cost, in US dollars"]
    #[min = 0.0]
    budget: Option<f64>,
    #[description = "Time zone, e.g. Europe/Berlin (default: the server's)"]
    #[autocomplete = "complete::zone"]
    timezone: Option<String>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let request = ScheduleRequest {
            when,
            prompt,
            gate,
            then: then.map(|Choice(then)| then).unwrap_or_default(),
            name,
            place: r#where.map_or(SchedulePlace::Fresh, |Choice(place)| place),
            model,
            missed: missed.map(|Choice(missed)| missed).unwrap_or_default(),
            budget_usd: budget,
            timezone,
        };
        let schedules = &bot(ctx).manager.schedules;
        let draft = schedules.plan_schedule(here.agent, here.person, request);
        Ok(card(bot(ctx), ctx.interaction.id.get(), draft.await?))
    })
    .await
}

/// List the schedules and reminders of this channel's agent
#[poise::command(slash_command)]
async fn list(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let views = bot(ctx).manager.schedules.of(&here.agent).await?;
        Ok(render::schedules(&views))
    })
    .await
}

/// Show a schedule with its next times and latest runs
#[poise::command(slash_command)]
async fn show(
    ctx: Context<'_>,
    #[description = "Its name"]
    #[autocomplete = "complete::schedule"]
    name: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let view = bot(ctx).manager.schedules.shown(&here.agent, &name).await?;
        Ok(render::schedule(&view))
    })
    .await
}

/// Run a schedule now, in addition to its times
#[poise::command(slash_command)]
async fn run(
    ctx: Context<'_>,
    #[description = "Its name"]
    #[autocomplete = "complete::schedule"]
    name: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let schedules = &bot(ctx).manager.schedules;
        let row = schedules.run(&here.agent, &name, &here.person).await?;
        Ok(render::runs_now(&row))
    })
    .await
}

/// Pause a schedule: it does not run until it is resumed
#[poise::command(slash_command)]
async fn pause(
    ctx: Context<'_>,
    #[description = "Name of the schedule, or all of yours"]
    #[autocomplete = "complete::schedules_or_all"]
    name: String,
) -> Result<(), Refusal> {
    change(ctx, name, ScheduleChange::Pause).await
}

/// Resume a paused schedule
#[poise::command(slash_command)]
async fn resume(
    ctx: Context<'_>,
    #[description = "Name of the schedule, or all of yours"]
    #[autocomplete = "complete::schedules_or_all"]
    name: String,
) -> Result<(), Refusal> {
    change(ctx, name, ScheduleChange::Resume).await
}

/// Change the time, the prompt and the gate of a schedule
#[poise::command(slash_command)]
async fn edit(
    ctx: Context<'_>,
    #[description = "Its name"]
    #[autocomplete = "complete::schedule"]
    name: String,
) -> Result<(), Refusal> {
    let responder = responder(ctx);
    // A form must be the first answer, and it cannot be opened without its content.
    let form = tokio::time::timeout(HEARD_WITHIN, form_of(ctx, &name)).await;
    let form = form.unwrap_or_else(|_| {
        Err(Refusal::new(
            "The schedule could not be read in time. Run the command again.",
        ))
    });
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = match form {
        Ok(form) => responder.open(&form).await,
        Err(refusal) => responder.refuse(refusal).await,
    };
    Ok(())
}

async fn form_of(ctx: Context<'_>, name: &str) -> Result<Modal, Refusal> {
    let here = agent_here(ctx).await?;
    let schedules = &bot(ctx).manager.schedules;
    let row = schedules.to_edit(&here.agent, name, &here.person).await?;
    let schedule = row.schedule;
    let when = TextInput::line(WHEN, "When")
        .length(1, MOST_WHEN)
        .value(schedule.when_text);
    let prompt = TextInput::paragraph(WHAT, "The agent's task");
    let form = match schedule.kind {
        ScheduleKind::Reminder => {
            let text = TextInput::paragraph(WHAT, "What to remind of").length(1, MOST_GATE);
            Modal::new(format!("{EDIT_SCHEDULE}{name}"), format!("Reminder {name}"))
                .field(when)
                .field(text.value(schedule.body))
        }
        ScheduleKind::Turn | ScheduleKind::Post => {
            let prompt = match schedule.kind {
                ScheduleKind::Post => prompt.length(0, MOST_PROMPT).optional(),
                ScheduleKind::Turn | ScheduleKind::Reminder => prompt.length(1, MOST_PROMPT),
            };
            let gate = TextInput::paragraph(GATE, "Gate: a command that runs first")
                .length(0, MOST_GATE)
                .optional();
            Modal::new(format!("{EDIT_SCHEDULE}{name}"), format!("Schedule {name}"))
                .field(when)
                .field(prompt.value(schedule.body))
                .field(gate.value(schedule.gate.unwrap_or_default()))
        }
    };
    Ok(form)
}

/// Handles the submitted form: shows the card of the possible change.
pub(in crate::discord) async fn edited(
    bot: &Bot,
    responder: &Responder,
    form: &ModalInteraction,
    name: &str,
) {
    let work = async {
        let (guild, person) = who(form.guild_id, form.member.as_ref())
            .ok_or_else(|| Refusal::new("Forms work only in a server."))?;
        let channel = ChannelId(form.channel_id.get());
        let agent = bot
            .manager
            .directory
            .agent_for(channel, bot.parent_of(guild, channel))
            .ok_or_else(|| Refusal::new("This channel no longer has an agent."))?;
        admits(bot, &person, &agent).await?;
        let edit = ScheduleEdit {
            when: written(form, WHEN).unwrap_or_default(),
            prompt: written(form, WHAT).unwrap_or_default(),
            gate: written(form, GATE).filter(|gate| !gate.trim().is_empty()),
        };
        let draft = bot.manager.schedules.plan_edit(agent, name, person, edit);
        Ok(card(bot, form.id.get(), draft.await?))
    };
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder.answer(Visibility::Ephemeral, work).await;
}

/// Delete a schedule
#[poise::command(slash_command)]
async fn delete(
    ctx: Context<'_>,
    #[description = "Its name"]
    #[autocomplete = "complete::schedule"]
    name: String,
) -> Result<(), Refusal> {
    change(ctx, name, ScheduleChange::Delete).await
}

async fn change(ctx: Context<'_>, name: String, what: ScheduleChange) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let schedules = &bot(ctx).manager.schedules;
        let names = schedules
            .change(&here.agent, &name, what, &here.person)
            .await?;
        Ok(render::schedules_changed(what, &names))
    })
    .await
}
