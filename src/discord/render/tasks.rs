//! `/status`, `/tasks` and `/process`, in the layouts of the design.

use chrono::{DateTime, Utc};

use super::lists::lines_within;
use crate::clock;
use crate::discord::rest::body::{Body, Embed, MAX_CONTENT, MAX_DESCRIPTION};
use crate::manager::{SessionState, Status};
use crate::store::TaskStatus;
use crate::text::{self, count, escape};
use crate::tools::tasks::{HookView, TaskView};

/// Characters of a command in a list.
const COMMAND_SHOWN: usize = 60;

/// Hooks of a process that are shown one by one.
const HOOKS_SHOWN: usize = 3;

/// Characters of a hook in a list.
const HOOK_SHOWN: usize = 80;

pub fn status(status: &Status, tasks: &[TaskView], sandbox: &str, now: DateTime<Utc>) -> Body {
    let mut lines = vec![
        format!("Agent: {}", status.name),
        format!("Model: {}", escape::text(&status.model.to_string())),
        format!("Permissions: {}", escape::text(&status.profile)),
        format!("Status: {}", status.status.as_str()),
        format!("Session: {}", session(status.session.as_ref())),
    ];
    if let Some(fault) = &status.fault {
        lines.push(format!(
            "Configuration: the last good one, for `agent.json` cannot be used: {}",
            escape::text(fault)
        ));
    }
    if status.branches_running > 0 {
        lines.push(format!("Branches at work: {}", status.branches_running));
    }
    lines.push(format!("Sandbox: {}", escape::text(sandbox)));
    let running: Vec<String> = tasks
        .iter()
        .filter(|task| task.status == TaskStatus::Running)
        .map(|task| {
            let since = clock::duration((now - task.started_at).to_std().unwrap_or_default());
            format!("  [{}] {} (running, {since})", task.id, command(task))
        })
        .collect();
    if !running.is_empty() {
        lines.push("\nRunning tasks:".to_owned());
        lines.extend(running);
    }
    lines.push(match &status.last_session {
        Some(last) => format!(
            "\nLast session saved: {} - {}",
            last.saved_at.format("%Y-%m-%d %H:%M"),
            escape::text(&text::one_line(&last.description, 110))
        ),
        None => "\nLast session saved: never".to_owned(),
    });
    Body::embed(Embed::new(
        format!("Status of {}", status.name),
        lines_within(lines, MAX_DESCRIPTION),
    ))
}

fn session(session: Option<&SessionState>) -> String {
    match session {
        None => "idle".to_owned(),
        Some(session) => {
            let busy = if session.busy { ", working" } else { "" };
            format!(
                "active ({}, idle {}{busy})",
                count(session.messages, "message", "messages"),
                clock::duration(session.idle)
            )
        }
    }
}

/// Running and latest tasks of an agent.
pub fn tasks(agent: &str, tasks: &[TaskView], now: DateTime<Utc>) -> Body {
    if tasks.is_empty() {
        return Body::text(format!("{agent} has no tasks, running or ended."));
    }
    let (running, ended): (Vec<_>, Vec<_>) = tasks
        .iter()
        .partition(|task| task.status == TaskStatus::Running);
    let mut lines = vec![format!("Running tasks for {agent}:")];
    if running.is_empty() {
        lines.push("  (none)".to_owned());
    }
    lines.extend(running.iter().map(|task| {
        let pid = task
            .pid
            .map(|pid| format!(", PID {pid}"))
            .unwrap_or_default();
        format!(
            "  [{}] {} running (started {}{pid})",
            task.id,
            command(task),
            clock::ago(task.started_at, now)
        )
    }));
    if !ended.is_empty() {
        lines.push("\nRecently completed:".to_owned());
    }
    lines.extend(ended.iter().rev().map(|task| {
        let exit = task
            .exit_code
            .map(|code| format!("exit {code}, "))
            .unwrap_or_default();
        let when = clock::ago(task.ended_at.unwrap_or(task.started_at), now);
        format!(
            "  [{}] {} {} ({exit}{when})",
            task.id,
            command(task),
            task.status.as_str()
        )
    }));
    Body::embed(Embed::new(
        format!("Tasks of {agent}"),
        lines_within(lines, MAX_DESCRIPTION),
    ))
}

/// Processes of an agent, one field each.
pub fn processes(agent: &str, tasks: &[TaskView], now: DateTime<Utc>) -> Body {
    if tasks.is_empty() {
        return Body::text(format!("{agent} has no processes."));
    }
    let mut embed = Embed::new(format!("Processes of {agent}"), "");
    for task in tasks.iter().rev().take(24) {
        let mut value = format!(
            "{}\n{} · started {}",
            escape::code_within(&task.command, 500),
            task.status.as_str(),
            clock::ago(task.started_at, now)
        );
        if let Some(pid) = task.pid {
            value.push_str(&format!(" · PID {pid}"));
        }
        if let Some(code) = task.exit_code {
            value.push_str(&format!(" · exit {code}"));
        }
        if !task.directory.is_empty() && task.directory != "." {
            value.push_str(&format!(
                " · in {}",
                escape::code_within(&task.directory, 200)
            ));
        }
        if !task.hooks.is_empty() {
            value.push_str(&format!(" · {}", count(task.hooks.len(), "hook", "hooks")));
        }
        for hook in task.hooks.iter().take(HOOKS_SHOWN) {
            let spec = text::one_line(&hook.spec.to_string(), HOOK_SHOWN);
            value.push_str(&format!(
                "\n{} fired {}",
                escape::code(&spec.replace('`', "'")),
                times(hook)
            ));
        }
        embed = embed.field(task.id.to_string(), value);
    }
    Body::embed(embed)
}

/// `1 of 3 times`.
fn times(hook: &HookView) -> String {
    match hook.spec.max_fires {
        0 => count(hook.fires as usize, "time", "times"),
        most => format!(
            "{} of {}",
            hook.fires,
            count(most as usize, "time", "times")
        ),
    }
}

/// The end of what a process printed.
pub fn log(id: &str, log: &str) -> Body {
    if log.trim().is_empty() {
        return Body::text(format!("{} has printed nothing yet.", escape::code(id)));
    }
    let shown = format!(
        "Last lines of {}\n{}",
        escape::code(id),
        text::fenced(log, "")
    );
    if shown.chars().count() <= MAX_CONTENT {
        return Body::text(shown);
    }
    Body::text(format!(
        "The last lines of {} are attached.",
        escape::code(id)
    ))
    .file(format!("{}.log", text::slug(id, 40)), log.to_owned())
}

fn command(task: &TaskView) -> String {
    escape::text(&text::one_line(&task.command, COMMAND_SHOWN))
}
