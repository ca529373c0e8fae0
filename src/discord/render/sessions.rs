//! Contexts and saved sessions, in the words of the design.

use super::lists::{lines_within, pager};
use super::times;
use crate::agent::sessions::{FileState, Imported};
use crate::agent::{AfterSave, Cleared, Restored};
use crate::discord::rest::body::{
    Body, Button, Embed, MAX_CONTENT, MAX_DESCRIPTION, Menu, MenuChoice, MenuOption, Style, clip,
};
use crate::domain::{Cost, SessionMeta, SessionUsage};
use crate::manager::History;
use crate::text::{self, count, escape};

/// Sessions on one page of a history.
pub const SESSIONS_PER_PAGE: u32 = 10;

/// Most characters of a summary in a list of ten.
const SUMMARY_SHOWN: usize = 250;

/// Returns the answer after a session was saved manually.
pub fn saved(session: &SessionMeta, then: AfterSave) -> Body {
    let then = match then {
        AfterSave::Keep => "The conversation stays open.",
        AfterSave::Clear => "Context cleared.",
    };
    Body::text(format!(
        "Session saved: {} ({}, {}). {then} Use `/context restore {}` to return to it.",
        foreign(&session.description, 200),
        escape::code(&session.session_id),
        messages(session),
        session.id.short()
    ))
}

pub fn cleared(cleared: &Cleared) -> Body {
    let mut text = format!(
        "Context cleared: {} discarded.",
        count(cleared.messages, "message", "messages")
    );
    if let Some(saved) = &cleared.saved {
        text = format!(
            "Session saved: {} Context cleared: {}. Use `/context restore {}` to resume.",
            text::sentence(&foreign(&saved.description, 200)),
            count(cleared.messages, "message", "messages"),
            saved.id.short()
        );
    }
    if cleared.aborted {
        text.push_str(" The running turn was aborted.");
    }
    let undo = cleared.saved.iter().map(|saved| {
        let id = format!("undo:{}", saved.id);
        Button::new(id, "Undo", Style::Secondary)
    });
    Body::text(text).row(undo.collect())
}

/// Asks whether to delete a conversation for good.
pub fn ask_clear() -> Body {
    Body::text(
        "This discards the conversation for good: no session is saved, and it cannot be restored.",
    )
}

/// Returns the answer after a session was restored.
pub fn restored(restored: &Restored) -> Body {
    let mut text = format!(
        "Context restored: {} ({}).",
        foreign(&restored.meta.description, 200),
        count(restored.messages, "message", "messages")
    );
    if restored.replaced > 0 {
        text.push_str(&format!(
            " It replaces {}",
            count(restored.replaced, "message", "messages")
        ));
        match &restored.saved_first {
            Some(saved) => text.push_str(&format!(
                ", saved first as {}.",
                escape::code(&saved.id.short())
            )),
            None => text.push_str(", which were already saved."),
        }
    }
    if restored.aborted {
        text.push_str(" The running turn was aborted.");
    }
    for repair in &restored.repaired {
        text.push_str(&format!("\n-# repaired: {}", foreign(repair, 200)));
    }
    Body::text(clip(&text, MAX_CONTENT))
}

/// Returns the answer after another agent's session was imported.
pub fn imported(imported: &Imported) -> Body {
    let meta = &imported.meta;
    Body::text(format!(
        "Imported from agent `{}`: {} ({}, {}). Use `/context restore {}` to continue with it.",
        foreign(&imported.from, 60),
        foreign(&meta.description, 200),
        escape::code(&meta.session_id),
        messages(meta),
        meta.id.short()
    ))
}

/// Returns the list of an agent's sessions at `page`, counted from 0.
pub fn history(history: &History, page: u32) -> Body {
    let list = &history.list;
    if list.total == 0 {
        let none = format!(
            "There are no saved sessions for {}. Save one with `/context save`.",
            history.agent
        );
        let reasons = list.unreadable.iter().map(|reason| foreign(reason, 200));
        let lines = std::iter::once(none).chain(reasons);
        return Body::text(lines_within(lines, MAX_CONTENT));
    }
    let pages = usize::try_from(list.total)
        .unwrap_or(usize::MAX)
        .div_ceil(SESSIONS_PER_PAGE as usize);
    let lines = list
        .sessions
        .iter()
        .map(|(session, file)| line(session, file));
    let mut embed = Embed::new(
        format!("Sessions for {}:", history.agent),
        lines_within(lines, MAX_DESCRIPTION),
    )
    .footer(format!(
        "Page {} of {pages} · {}",
        page + 1,
        count(list.total as usize, "session", "sessions")
    ));
    if !list.unreadable.is_empty() {
        let reasons = list.unreadable.iter().map(|reason| foreign(reason, 200));
        embed = embed.field("Unreadable session files", lines_within(reasons, 1_000));
    }
    let newest = list.sessions.first().map(|(newest, _)| {
        let id = format!("session:{}", newest.id);
        Button::new(id, "Restore", Style::Secondary)
    });
    let menu = Menu {
        id: "session:".to_owned(),
        placeholder: "Restore another session of this page".to_owned(),
        options: list
            .sessions
            .iter()
            .skip(1)
            .map(|(session, _)| MenuOption {
                value: session.id.to_string(),
                label: match text::one_line(&session.description, 90) {
                    label if label.trim().is_empty() => session.id.short(),
                    label => label,
                },
                description: format!("{}, {}", session.id.short(), messages(session)),
            })
            .collect(),
        choice: MenuChoice::One,
    };
    let pages = pager(&format!("sessions:{}", history.id), page as usize, pages);
    Body::embed(embed)
        .row(pages)
        .menu(Some(menu))
        .row(newest.into_iter().collect())
}

fn line(session: &SessionMeta, file: &FileState) -> String {
    let mut line = format!(
        "[{}] {} - {} ({}, {})",
        session.id.short(),
        times::at(session.saved_at),
        foreign(&session.description, 110),
        messages(session),
        session.trigger.as_str()
    );
    match file {
        FileState::Kept => {}
        FileState::Changed => line.push_str(" · file changed"),
        FileState::Deleted => line.push_str(" · file deleted"),
    }
    if let Some(spent) = session.spent.filter(|spent| spent.input + spent.output > 0) {
        line.push_str(&format!(" · {}", took(&spent)));
    }
    if !session.summary.is_empty() && session.summary != session.description {
        line.push_str(&format!(
            "\n-# {}",
            foreign(&session.summary, SUMMARY_SHOWN)
        ));
    }
    line
}

/// Returns the use of its turns: `12,300 in (10,000 cached) / 900 out · $0.041`.
fn took(spent: &SessionUsage) -> String {
    let cached = match spent.cached {
        0 => String::new(),
        cached => format!(" ({} cached)", text::thousands(cached)),
    };
    let cost = match spent.cost {
        Cost::Usd(sum) => text::dollars(sum),
        Cost::Unknown => "cost not known".to_owned(),
    };
    format!(
        "{} in{cached} / {} out · {cost}",
        text::thousands(spent.input),
        text::thousands(spent.output)
    )
}

fn messages(session: &SessionMeta) -> String {
    count(
        usize::try_from(session.message_count).unwrap_or(usize::MAX),
        "message",
        "messages",
    )
}

fn foreign(words: &str, max: usize) -> String {
    escape::text(&text::one_line(words, max))
}
