//! Reminders and schedules: the card that confirms one, the list, and one in full.

use chrono::{DateTime, Utc};

use super::lists::lines_within;
use super::times;
use crate::clock;
use crate::discord::rest::body::{Body, Embed, MAX_DESCRIPTION, MAX_FIELD_VALUE};
use crate::manager::{Draft, ScheduleChange, ScheduleView};
use crate::store::{ScheduleKind, ScheduleRow, ScheduleState, SlotRun, SlotState};
use crate::text::{self, clip_markdown, escape};

/// What is about to be planned, in full.
pub fn plan(draft: &Draft) -> Body {
    let time = format!(
        "{} · time zone {}",
        draft.rule.in_words(),
        escape::code(draft.zone.name())
    );
    let embed = Embed::new(
        format!("{} of {}", title(draft.kind), draft.agent.name),
        escape::text(&draft.body),
    )
    .field("Time", time)
    .field(next_title(draft.next.len()), moments(&draft.next))
    .footer("No model is asked. Nothing is stored until you press Create.");
    Body::embed(embed)
}

/// It is stored.
pub fn planned(row: &ScheduleRow) -> Body {
    let next = row.next_at.map(times::in_full).unwrap_or_default();
    Body::text(format!(
        "{} is set. Its next time is {next}. `/schedule list` shows all, `/schedule delete` deletes one.",
        escape::code(&row.schedule.name)
    ))
}

/// What an agent has planned.
pub fn schedules(views: &[ScheduleView]) -> Body {
    if views.is_empty() {
        return Body::text("Nothing is planned here. `/remind` reminds you at a time.");
    }
    let lines = views.iter().map(|view| {
        let row = &view.row;
        let next = match (row.state, view.next.first()) {
            (ScheduleState::Paused, _) => "paused".to_owned(),
            (_, Some(next)) => format!("next {}", times::ago(*next)),
            (_, None) => "no further time".to_owned(),
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

/// One of them, with its next times and latest runs.
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

/// What a person did to some of them.
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
    let late = match run.ended_at {
        Some(ended) if run.state != SlotState::Skipped => {
            let late = (ended - run.due_at).to_std().unwrap_or_default();
            format!(" · {} after its time", clock::duration(late))
        }
        _ => String::new(),
    };
    let reason = run.reason.as_deref();
    let reason = reason.map(|reason| format!(": {}", escape::text(reason)));
    format!(
        "{} · {}{}{late}",
        times::in_full(run.slot),
        run.state.as_str(),
        reason.unwrap_or_default()
    )
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
