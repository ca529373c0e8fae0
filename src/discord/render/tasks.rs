//! `/status`, `/tasks` and `/process`, in the layouts of the design.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::agents::shown_folder;
use super::lists::lines_within;
use super::times;
use crate::clock;
use crate::config::{DEFAULT_DAY_USD, DaySet};
use crate::discord::rest::body::{Body, Embed, MAX_CONTENT, MAX_DESCRIPTION};
use crate::domain::{Mode, SaveTrigger};
use crate::manager::{BoundFolder, ContextFill, CoreState, OwnCharter, Status};
use crate::store::TaskStatus;
use crate::text::{self, count, escape};
use crate::tools::tasks::{HookView, TaskView};

/// Most characters of a command in a list.
const COMMAND_SHOWN: usize = 60;

/// Most hooks of a process that are shown one by one.
const HOOKS_SHOWN: usize = 3;

/// Most characters of a hook in a list.
const HOOK_SHOWN: usize = 80;

/// Returns the state of an agent; `about` is the program's own version and age.
pub fn status(status: &Status, tasks: &[TaskView], sandbox: &str, about: &str) -> Body {
    let mut lines = vec![
        format!("Agent: {}", status.name),
        format!("Model: {}", escape::text(&status.model.to_string())),
        format!("Permissions: {}", permissions(status)),
        format!("Status: {}{}", status.status.as_str(), core(status.core)),
        format!("Session: {}", session(status)),
    ];
    if let Some(session) = &status.session {
        lines.push(format!(
            "  {}, last active {}",
            count(session.messages, "message", "messages"),
            since(session.idle)
        ));
    }
    if let Some(size) = status.workspace {
        let more = if size.whole { "" } else { "more than " };
        lines.push(format!("  workspace: {more}{}", text::bytes(size.bytes)));
    }
    if let Some(size) = status.home.filter(|size| size.bytes > 0) {
        let more = if size.whole { "" } else { "more than " };
        let size = text::bytes(size.bytes);
        lines.push(format!("  home of its commands: {more}{size}"));
    }
    lines.extend(status.folder.as_ref().map(bound_folder));
    if status.mode != Mode::default() {
        lines.push(format!("Mode: {}", status.mode.as_str()));
    }
    lines.extend(status.charter.as_ref().map(charter));
    lines.extend(status.context.map(context));
    lines.push(format!("Cost today: {}", cost(status)));
    if status.waiting > 0 {
        let waiting = count(status.waiting, "message waits", "messages wait");
        lines.push(format!("Queue: {waiting}"));
    }
    if let Some(fault) = &status.fault {
        lines.push(format!(
            "Configuration: the last good one, because `agent.json` has an error: {}",
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
            let since = times::ago(task.started_at);
            format!(
                "  [{}] {} (running, started {since})",
                task.id,
                command(task)
            )
        })
        .collect();
    if !running.is_empty() {
        lines.push("\nRunning tasks:".to_owned());
        lines.extend(running);
    }
    lines.push(match &status.last_session {
        Some(last) => format!(
            "\nLast session saved: {} - {}",
            times::at(last.saved_at),
            escape::text(&text::one_line(&last.description, 110))
        ),
        None => "\nLast session saved: never".to_owned(),
    });
    lines.push(format!("-# {about}"));
    Body::embed(Embed::new(
        format!("Status of {}", status.name),
        lines_within(lines, MAX_DESCRIPTION),
    ))
}

/// Returns the program's version, and since when it runs.
pub fn about(started: DateTime<Utc>) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let commit =
        option_env!("CHORUS_COMMIT").map_or(String::new(), |commit| format!(" ({commit})"));
    format!("Chorus {version}{commit} · started {}", times::ago(started))
}

/// Returns the profile's name, and its meaning.
fn permissions(status: &Status) -> String {
    match status.allowed.as_str() {
        "" => escape::text(&status.profile),
        words => format!("{} ({words})", escape::text(&status.profile)),
    }
}

fn charter(own: &OwnCharter) -> String {
    match own {
        OwnCharter::Role(name) => format!("Charter: {}", escape::text(name)),
        OwnCharter::Faulty => "Charter: cannot be used as it is; see `/roles`".to_owned(),
    }
}

/// Returns whether its requests have priority.
const fn core(state: Option<CoreState>) -> &'static str {
    match state {
        None => "",
        Some(CoreState::Ready) => " · core, ready",
        Some(CoreState::Ordinary) => " · waiting: 50 other agents are already core",
    }
}

/// Returns how much of the model's window the conversation takes.
fn context(fill: ContextFill) -> String {
    let percent = fill.tokens.saturating_mul(100) / fill.window.max(1);
    format!(
        "Context: {} of {} tokens ({percent}%)",
        text::thousands(fill.tokens),
        text::thousands(fill.window)
    )
}

/// Returns today's spending, and the rest of the budgets.
fn cost(status: &Status) -> String {
    let money = &status.money;
    let mut cost = match money.today {
        today if today > 0.0 => text::dollars(today),
        _ => "$0".to_owned(),
    };
    let left = |budget: f64| text::dollars(budget.max(0.0));
    match (money.left_today, money.left_this_month) {
        (None, None) => cost.push_str(" · no budget is set"),
        (today, month) => {
            if let Some(sum) = today {
                cost.push_str(&format!(" · {} left of today's budget", left(sum)));
                if money.day_set == DaySet::ByDefault {
                    cost.push_str(&format!(
                        " (by default {} a day, `budgets.agent_day`)",
                        text::dollars(DEFAULT_DAY_USD)
                    ));
                }
            }
            if let Some(sum) = month {
                cost.push_str(&format!(" · {} left of this month's", left(sum)));
            }
        }
    }
    if let Some(left) = money.unpriced_left {
        cost.push_str(&format!(
            " · {} left today for models without a known price",
            text::tokens_in_short(left)
        ));
    }
    cost
}

/// Returns the state of the conversation: at work, waiting for people, saved after a silence, or empty.
fn session(status: &Status) -> String {
    match (&status.session, &status.last_session) {
        (Some(session), _) if session.busy => "active (working)".to_owned(),
        (Some(_), _) => "active (idle)".to_owned(),
        (None, Some(last)) if last.trigger == SaveTrigger::IdleTimeout => {
            format!("idle (suspended: {})", last.id.short())
        }
        (None, _) => "idle".to_owned(),
    }
}

fn since(idle: Duration) -> String {
    if idle < Duration::from_secs(1) {
        "now".to_owned()
    } else {
        format!("{} ago", clock::duration(idle))
    }
}

/// Lists running and latest tasks of an agent, with their hooks.
pub fn tasks(agent: &str, tasks: &[TaskView]) -> Body {
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
            "  [{}] {} running (started {}{pid}{}){}",
            task.id,
            command(task),
            times::ago(task.started_at),
            folder(task),
            hooks(task)
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
        format!(
            "  [{}] {} {} ({exit}{}{}){}",
            task.id,
            command(task),
            task.status.as_str(),
            times::ago(task.ended_at.unwrap_or(task.started_at)),
            folder(task),
            hooks(task)
        )
    }));
    lines.push("-# `/process logs` shows what a task printed, `/process kill` ends it.".to_owned());
    Body::embed(Embed::new(
        format!("Tasks of {agent}"),
        lines_within(lines, MAX_DESCRIPTION),
    ))
}

fn bound_folder(folder: &BoundFolder) -> String {
    let shown = shown_folder(&folder.path);
    match &folder.fault {
        None => format!("Folder: {shown}"),
        Some(fault) => format!("Folder: {shown}: {}", escape::text(fault)),
    }
}

/// Returns the folder of a task, unless that is the workspace itself.
fn folder(task: &TaskView) -> String {
    match task.directory.as_str() {
        "" | "." => String::new(),
        _ if task.hides_words => String::new(),
        folder => format!(", in {}", escape::code_within(folder, 200)),
    }
}

/// Returns the hooks of a task, one line each: when they fire, their action, and how often they have fired.
fn hooks(task: &TaskView) -> String {
    if task.hides_words {
        return String::new();
    }
    let shown = task.hooks.iter().take(HOOKS_SHOWN).map(|hook| {
        let spec = text::one_line(&hook.spec.to_string(), HOOK_SHOWN);
        format!(
            "\n    {} fired {}",
            escape::code(&spec.replace('`', "'")),
            fired(hook)
        )
    });
    let mut lines: String = shown.collect();
    if task.hooks.len() > HOOKS_SHOWN {
        let more = count(task.hooks.len() - HOOKS_SHOWN, "hook", "hooks");
        lines.push_str(&format!("\n    … and {more} more"));
    }
    lines
}

/// Returns `1 of 3 times`.
fn fired(hook: &HookView) -> String {
    match hook.spec.max_fires {
        0 => count(hook.fires as usize, "time", "times"),
        most => format!(
            "{} of {}",
            hook.fires,
            count(most as usize, "time", "times")
        ),
    }
}

/// Returns the end of a process's output.
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
    .text_file(format!("{}.log", text::slug(id, 40)), log.to_owned())
}

fn command(task: &TaskView) -> String {
    if task.hides_words {
        return "(a command that is not shown)".to_owned();
    }
    escape::text(&text::one_line(&task.command, COMMAND_SHOWN))
}
