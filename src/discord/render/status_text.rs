//! The view of a running turn: the live status and the growing preview. Pure.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use crate::agent::event::{ChildProgress, Progress};
use crate::discord::rest::body::{Body, Button, MAX_CONTENT, Style};
use crate::domain::{Cost, TurnId, Usage};
use crate::store::EndReason;
use crate::text::{self, escape};

/// Most characters of one recent command with its marks.
const MAX_COMMAND: usize = 120;

/// Sub-agents that the live status shows.
const MOST_CHILDREN: usize = 8;

/// Most levels of sub-agents that are drawn one below the other.
const DEEPEST: usize = 2;

/// Most characters of a sub-agent's title.
const TITLE: usize = 60;

/// Most characters of a sub-agent's current work.
const DOING: usize = 80;

/// Most characters of the preview: the rest of a message is for the mark that it is unfinished.
const MAX_PREVIEW: usize = 1_900;

/// The end of a preview while the model is still speaking.
const UNFINISHED: &str = " ▌";

/// Closes a code block that the model has not closed yet.
const FENCE_END: &str = "\n```";

/// Returns the words of a preview without its mark; `None` if the message is not a preview.
pub(crate) fn said_so_far(content: &str) -> Option<&str> {
    let content = content.strip_suffix(FENCE_END).unwrap_or(content);
    content.strip_suffix(UNFINISHED.trim_start())
}

/// Returns why a preview did not become an answer.
pub(crate) fn unfinished(exit: EndReason) -> String {
    format!("unfinished: {}", exit.words())
}

/// Returns the status message of a running turn, with its buttons.
pub(crate) fn live(progress: &Progress, elapsed: Duration, turn: TurnId) -> Body {
    let mut line = format!(
        "**{}** · step {} · {}",
        escape::name(&text::one_line(&progress.doing, 200)),
        progress.step,
        text::seconds(elapsed)
    );
    push_use(&mut line, progress.usage, progress.cost);
    for child in progress.children.iter().take(MOST_CHILDREN) {
        line.push_str(&child_line(child));
    }
    if let Some(more) = progress.children.len().checked_sub(MOST_CHILDREN + 1) {
        let _ = write!(line, "\n… and {} more", more + 1);
    }
    if progress.waiting > 0 && !progress.children.is_empty() {
        let waiting = text::count(progress.waiting, "message waits", "messages wait");
        let _ = write!(line, "\n{waiting}");
    }
    // If there are sub-agents, their own lines show the running work.
    if progress.children.is_empty() {
        for command in &progress.recent {
            let _ = write!(line, "\n{}", escape::code_within(command, MAX_COMMAND));
        }
    }
    Body::text(line).row(endings(turn, Style::Danger))
}

/// Returns a line for a sub-agent: `├ reviewer “check the tests” · step 2 · Running grep · 14 s · $0.006`.
fn child_line(child: &ChildProgress) -> String {
    let branch = "│  ".repeat(child.depth.saturating_sub(1).min(DEEPEST)) + "├ ";
    let doing = match child.said.as_str() {
        "" => child.doing.as_str(),
        said => said,
    };
    let about = match child.title.as_str() {
        "" => String::new(),
        title => format!(" “{}”", escape::name(&text::one_line(title, TITLE))),
    };
    let mut line = format!(
        "\n{branch}{}{about} · step {} · {} · {}",
        escape::name(&child.role),
        child.step,
        escape::name(&text::one_line(doing, DOING)),
        text::seconds(child.started.elapsed())
    );
    if let Some(usd) = child.cost.usd().filter(|usd| *usd > 0.0) {
        let _ = write!(line, " · {}", text::dollars(usd));
    }
    line
}

/// Returns the buttons that end a turn.
pub(crate) fn endings(turn: TurnId, abort: Style) -> Vec<Button> {
    vec![
        Button::new(format!("stop:{turn}"), "Stop", Style::Secondary),
        Button::new(format!("abort:{turn}"), "Abort", abort),
    ]
}

/// Returns whether a message, as Discord sends it, is the live status of `turn`, judged by its buttons. A question has
/// these too, but not first.
pub(crate) fn is_live(message: &Value, turn: TurnId) -> bool {
    message["components"][0]["components"][0]["custom_id"] == format!("stop:{turn}").as_str()
}

/// Returns the status message after the daemon stopped in the middle of its turn.
pub(crate) fn interrupted() -> Body {
    Body::text("-# interrupted: Chorus stopped while this was running")
}

/// Returns the model's words so far; only their end if they are too long for a message.
pub(crate) fn preview(said: &str) -> Body {
    let said = text::for_preview(said.trim_end());
    let mut shown = text::tail_markdown(&said, MAX_PREVIEW);
    shown.push_str(UNFINISHED);
    Body::text(shown)
}

/// Returns the preview after its turn ended without an answer.
pub(crate) fn preview_ended(said: &str, why: &str) -> Body {
    let said = text::for_discord(said.trim_end());
    let note = format!("\n-# {why}");
    let room = MAX_CONTENT - note.chars().count();
    Body::text(format!("{}{note}", text::clip_markdown(&said, room)))
}

fn push_use(line: &mut String, usage: Usage, cost: Cost) {
    if usage == Usage::default() {
        return;
    }
    let (input, output) = (usage.input_total(), usage.output);
    let _ = write!(
        line,
        " · {}",
        text::tokens_and_cost(input, output, cost.usd())
    );
}
