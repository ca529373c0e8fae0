//! Messages to people and the agent about a task.

use std::time::Duration;

use super::armed::Cause;
use super::event::TaskNote;
use crate::clock;
use crate::domain::apart;
use crate::store::{TaskRow, TaskStatus};
use crate::text::{self, escape};
use crate::tools::hooks::HookSpec;

/// Most characters of a command in a notice, as shown.
const COMMAND: usize = 300;

/// Most characters of a hook's own words in a notice, as shown.
const WORDS: usize = 500;

/// Most characters of a command if several are named in one line; a message has room for all tasks that may run.
const ENDED_COMMAND: usize = 80;

/// Most characters of a matching line in a notice, as shown.
const LINE: usize = 400;

/// Replaces a command, its output and its hooks' words if a role has to pass these before people get them.
const NOT_SHOWN: &str = "-# What it runs and prints is not shown, because a role checks this agent's answers before people see them.";

/// Most characters of output in a notice, as shown.
const OUTPUT: usize = 600;

/// Returns a notice for the channel: it names the trigger that fired, and only describes the event.
pub(super) fn notice(
    row: &TaskRow,
    cause: &Cause,
    hook: &HookSpec,
    skipped: u32,
    last: &[String],
) -> String {
    let mut notice = match cause {
        Cause::Exit => format!("{} **{} {}**", sign(row), row.id, outcome(row)),
        Cause::Match(_) if row.hides_words => {
            format!("🔔 **{} printed a line that matches**", row.id)
        }
        Cause::Match(line) => format!(
            "🔔 **{} printed a line that matches**\n{}",
            row.id,
            text::fenced_head(&text::one_line(line, LINE), "", LINE)
        ),
        Cause::Timeout => format!("⏰ **{} is still running after {}**", row.id, age(row)),
    };
    if row.hides_words {
        notice.push('\n');
        notice.push_str(NOT_SHOWN);
        return notice;
    }
    notice.push_str(&format!(
        "\n{} · {} · hook {}",
        escape::code_within(&row.task.command, COMMAND),
        row.pid
            .map_or("no process".to_owned(), |pid| format!("PID {pid}")),
        escape::code_within(&hook.trigger.to_string().replace('`', "'"), COMMAND / 2),
    ));
    if skipped > 0 {
        notice.push_str(&format!("\n({skipped} more since the last notice)"));
    }
    if !hook.context_message.is_empty() {
        let words = text::one_line(&hook.context_message, WORDS);
        notice.push_str(&format!(
            "\n{}",
            text::clip_markdown(&escape::text(&words), WORDS)
        ));
    }
    if !matches!(cause, Cause::Match(_)) && !last.is_empty() {
        notice.push_str(&format!(
            "\n{}",
            text::fenced_tail(&last.join("\n"), "", OUTPUT)
        ));
    }
    notice
}

/// Returns the line about tasks of one channel that a clean stop ended.
pub(super) fn ended_with_the_stop(rows: &[TaskRow]) -> String {
    let mut rows: Vec<&TaskRow> = rows.iter().collect();
    rows.sort_by(|one, other| one.id.0.cmp(&other.id.0));
    let name = |row: &&TaskRow| {
        if row.hides_words {
            return row.id.to_string();
        }
        let command = escape::code_within(&row.task.command, ENDED_COMMAND);
        format!("{} {command}", row.id)
    };
    format!(
        "-# {} ended with the stop: {}",
        text::count(rows.len(), "task", "tasks"),
        rows.iter().map(name).collect::<Vec<_>>().join(", ")
    )
}

/// Returns a notice when a pattern was given up.
pub(super) fn too_slow(row: &TaskRow) -> String {
    format!(
        "⚠️ A hook of **{}** no longer watches its output: its pattern takes too long on these lines.",
        row.id
    )
}

/// Returns the agent's note when a hook starts a turn.
pub(super) fn for_agent(row: &TaskRow, cause: &Cause, message: &str, last: &[String]) -> TaskNote {
    let mut told = format!("[{} {}]\n", row.id, happened(row, cause));
    told.push_str(&format!("Command: {}\n", apart(&row.task.command)));
    if let Cause::Match(line) = cause {
        told.push_str(&format!("Line: {}\n", apart(line)));
    }
    if !message.is_empty() {
        told.push_str(&format!("\n{}\n", apart(message)));
    }
    push_output(&mut told, last);
    note(row, cause, told, last)
}

/// Returns the agent's note when a task of its conversation has ended.
pub(super) fn report(row: &TaskRow, last: &[String]) -> TaskNote {
    let mut told = format!(
        "[{} {}]\nCommand: {}\n",
        row.id,
        outcome(row),
        apart(&row.task.command)
    );
    push_output(&mut told, last);
    note(row, &Cause::Exit, told, last)
}

fn note(row: &TaskRow, cause: &Cause, text: String, last: &[String]) -> TaskNote {
    TaskNote {
        text,
        about: format!("**{}** {}", row.id, happened(row, cause)),
        output: if row.hides_words {
            String::new()
        } else {
            last.join("\n")
        },
    }
}

fn push_output(told: &mut String, last: &[String]) {
    if last.is_empty() {
        told.push_str("\nIt printed nothing.\n");
    } else {
        told.push_str(&format!("\nLast lines:\n{}\n", apart(&last.join("\n"))));
    }
}

fn happened(row: &TaskRow, cause: &Cause) -> String {
    match cause {
        Cause::Exit => outcome(row),
        Cause::Match(_) => "printed a line that a hook waits for".to_owned(),
        Cause::Timeout => format!("still runs after {}", age(row)),
    }
}

/// Returns `completed (exit 0, after 5 min)`.
pub(in crate::tools) fn outcome(row: &TaskRow) -> String {
    let how = match row.exit_code {
        Some(code) => format!("exit {code}, "),
        None => String::new(),
    };
    format!("{} ({how}after {})", row.status.as_str(), age(row))
}

fn sign(row: &TaskRow) -> &'static str {
    match row.status {
        TaskStatus::Completed => "✅",
        TaskStatus::Failed => "❌",
        TaskStatus::Killed => "🔴",
        TaskStatus::Lost => "⚫",
        TaskStatus::Running => "🟢",
    }
}

fn age(row: &TaskRow) -> String {
    let end = row.ended_at.unwrap_or_else(clock::now);
    clock::duration((end - row.started_at).to_std().unwrap_or(Duration::ZERO))
}
