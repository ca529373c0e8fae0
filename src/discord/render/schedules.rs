//! Reminders and schedules: the card that confirms one, the list, and one in full.

use chrono::{DateTime, Utc};

use super::lists::lines_within;
use super::times;
use crate::clock;
use crate::discord::rest::body::{Body, Embed, MAX_DESCRIPTION, MAX_FIELD_VALUE};
use crate::domain::Cost;
use crate::manager::{Draft, ScheduleChange, ScheduleView};
use crate::store::{ScheduleKind, SchedulePlace, ScheduleRow, ScheduleState, SlotRun, SlotState};
use crate::text::{self, clip_markdown, escape};

/// Describes a plan in full, before its confirmation.
pub fn plan(draft: &Draft) -> Body {
    let time = format!(
        "{} · time zone {}",
        draft.rule.in_words(),
        escape::code(draft.zone.name())
    );
    let name = draft.name.as_deref().map(|name| format!(" {name}"));
    let title = format!(
        "{}{} of {}",
        title(draft.kind),
        name.unwrap_or_default(),
        draft.agent.name
    );
    // The longest prompt fits into an embed, but not after it is escaped.
    let mut embed = Embed::new(
        title,
        clip_markdown(&escape::lines(&draft.body), MAX_DESCRIPTION),
    )
    .field("Time", time)
    .field(next_title(draft.next.len()), moments(&draft.next));
    if let Some(gate) = &draft.gate {
        embed = embed.field("Gate (runs first)", gate_block(gate));
        if draft.gate_binding.is_some() {
            embed = embed.field(
                "Approval",
                "The agent's profile asks before this command. By confirming you approve it for every run.",
            );
        }
    }
    embed = match draft.kind {
        ScheduleKind::Turn => embed.field("Where", place(draft.place)),
        ScheduleKind::Post | ScheduleKind::Reminder => embed,
    };
    if let Some(model) = &draft.model {
        embed = embed.field("Model", escape::code(model));
    }
    if let Some(pays) = &draft.pays {
        embed = embed.field("Who pays", pays.clone());
    }
    if let Some(cost) = draft.last_cost {
        embed = embed.field("The previous run cost", money(cost));
    }
    let model = match draft.pays {
        Some(_) => "",
        None => "No model is asked. ",
    };
    let press = match draft.replaces {
        Some(_) => "Save",
        None => "Create",
    };
    Body::embed(embed.footer(format!("{model}Nothing is stored until you press {press}.")))
}

/// Returns the line about a new schedule that everyone in the agent's channel sees.
pub fn announced(draft: &Draft) -> String {
    let next = draft.next.first().map(|next| times::in_full(*next));
    format!(
        "-# <@{}> planned {}: {}. Next time: {}",
        draft.owner.id,
        draft
            .name
            .as_deref()
            .map_or_else(|| "a schedule".to_owned(), escape::code),
        draft.rule.in_words(),
        next.unwrap_or_default()
    )
}

/// Returns the answer after a run was added.
pub fn runs_now(row: &ScheduleRow) -> Body {
    Body::text(format!(
        "{} is running now. `/schedule show` shows the result.",
        escape::code(&row.schedule.name)
    ))
}

/// Returns the answer after it was stored.
pub fn planned(row: &ScheduleRow) -> Body {
    let next = row.next_at.map(times::in_full).unwrap_or_default();
    Body::text(format!(
        "{} is set for {next}. `/schedule list` shows all, `/schedule delete` deletes one.",
        escape::code(&row.schedule.name)
    ))
}

/// Lists an agent's plans.
pub fn schedules(views: &[ScheduleView]) -> Body {
    if views.is_empty() {
        return Body::text(
            "Nothing is planned here. `/remind` sets a reminder, `/schedule new` plans work for the agent.",
        );
    }
    let lines = views.iter().map(|view| {
        let row = &view.row;
        let next = match (row.state, view.next.first()) {
            (ScheduleState::Paused, _) => "paused".to_owned(),
            (_, Some(next)) => format!("next {}", times::ago(*next)),
            (_, None) => "no next run".to_owned(),
        };
        format!(
            "**{}** · {} of <@{}> · {} · {next}\n-# {}",
            escape::text(&row.schedule.name),
            row.schedule.kind.as_str(),
            row.schedule.owner,
            view.words,
            escape::text(&text::one_line(&row.schedule.body, 100))
        )
    });
    let embed = Embed::new("Planned", lines_within(lines, MAX_DESCRIPTION));
    Body::embed(embed.footer(text::count(views.len(), "entry", "entries")))
}

/// Returns a schedule with its next times and latest runs.
pub fn schedule(view: &ScheduleView) -> Body {
    let row = &view.row;
    let mut embed = Embed::new(row.schedule.name.clone(), escape::text(&row.schedule.body))
        .field("Kind", row.schedule.kind.as_str())
        .field("Owner", format!("<@{}>", row.schedule.owner))
        .field(
            "Time",
            format!(
                "{} · written as {} · time zone {}",
                view.words,
                escape::code(&row.schedule.when_text),
                escape::code(&row.schedule.timezone)
            ),
        );
    if let Some(gate) = &row.schedule.gate {
        embed = embed.field("Gate", gate_block(gate));
    }
    if row.schedule.kind == ScheduleKind::Turn {
        embed = embed.field("Where", place(row.schedule.place));
    }
    if let Some(model) = &row.schedule.model {
        embed = embed.field("Model", escape::code(model));
    }
    if let Some(usd) = row.schedule.budget_usd {
        embed = embed.field("Budget of a run", text::dollars(usd));
    }
    if row.state == ScheduleState::Paused {
        let reason = row.reason.as_deref().unwrap_or("not stored");
        embed = embed.field("Paused", escape::text(reason));
    }
    if !view.next.is_empty() {
        embed = embed.field(next_title(view.next.len()), moments(&view.next));
    }
    if !view.runs.is_empty() {
        let lines = lines_within(view.runs.iter().map(run), MAX_FIELD_VALUE);
        embed = embed.field("Latest runs", lines);
    }
    Body::embed(embed)
}

/// Describes a person's change to the schedules called `names`.
pub fn schedules_changed(what: ScheduleChange, names: &[String]) -> Body {
    let done = match what {
        ScheduleChange::Pause => "paused",
        ScheduleChange::Resume => "resumed",
        ScheduleChange::Delete => "deleted",
    };
    if names.is_empty() {
        return Body::text(format!("Nothing was {done}: none of yours could be."));
    }
    let names: Vec<String> = names.iter().map(|name| escape::code(name)).collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    Body::text(clip_markdown(
        &format!("{} {are} {done}.", names.join(", ")),
        2_000,
    ))
}

fn run(run: &SlotRun) -> String {
    let posted = run.ended_at.map(|ended| (ended - run.due_at).to_std());
    let late = match (run.late, posted) {
        _ if run.state == SlotState::Skipped => None,
        (Some(late), _) => Some(late),
        (None, posted) => posted.map(Result::unwrap_or_default),
    };
    let late = late.map(|late| format!(" · {} after its time", clock::duration(late)));
    let cost = run.cost.map(|cost| format!(" · {}", money(cost)));
    let reason = run.reason.as_deref().filter(|reason| !reason.is_empty());
    let reason = reason.map(|reason| format!(": {}", escape::text(reason)));
    format!(
        "{} · {}{}{}{}",
        times::in_full(run.key.slot),
        run.state.as_str(),
        reason.unwrap_or_default(),
        late.unwrap_or_default(),
        cost.unwrap_or_default()
    )
}

fn money(cost: Cost) -> String {
    cost.usd()
        .map_or_else(|| "unknown".to_owned(), text::dollars)
}

/// Returns a command as it is written.
fn gate_block(gate: &str) -> String {
    text::fenced_head(gate, "sh", MAX_FIELD_VALUE)
}

const fn place(place: SchedulePlace) -> &'static str {
    match place {
        SchedulePlace::Fresh => {
            "A new conversation each time. A reply within 24 hours continues it."
        }
        SchedulePlace::Main => "The main conversation.",
        SchedulePlace::Thread => "Its own thread.",
    }
}

fn moments(moments: &[DateTime<Utc>]) -> String {
    let shown = moments.iter().map(|moment| times::in_full(*moment));
    shown.collect::<Vec<_>>().join("\n")
}

fn next_title(count: usize) -> String {
    match count {
        1 => "Next time".to_owned(),
        count => format!("Next {count} times"),
    }
}

const fn title(kind: ScheduleKind) -> &'static str {
    match kind {
        ScheduleKind::Turn => "Schedule",
        ScheduleKind::Post => "Command",
        ScheduleKind::Reminder => "Reminder",
    }
}
