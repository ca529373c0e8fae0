//! What a running turn looks like: the live status, the growing preview, the quiet line at the end. Pure.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use crate::agent::event::{Progress, TurnSummary};
use crate::discord::rest::body::{Body, Button, MAX_CONTENT, Style};
use crate::domain::{Cost, TurnId, Usage};
use crate::text::{self, escape};

/// Characters of one recent command with its marks.
const MAX_COMMAND: usize = 120;

/// Characters of the preview: what is left of a message leaves room for the mark that it is unfinished.
const MAX_PREVIEW: usize = 1_900;

/// Ends a preview: the model is still speaking.
const UNFINISHED: &str = " ▌";

/// Closes a code block that the model has not closed yet.
const FENCE_END: &str = "\n```";

/// The words of a preview without its mark; none when these are no preview's.
pub(crate) fn said_so_far(content: &str) -> Option<&str> {
    let content = content.strip_suffix(FENCE_END).unwrap_or(content);
    content.strip_suffix(UNFINISHED.trim_start())
}

/// Why a preview is no answer.
pub(crate) fn unfinished(exit: &str) -> String {
    format!("unfinished: {}", exit.replace('_', " "))
}

/// The status message of a running turn, with its buttons.
pub(crate) fn live(progress: &Progress, elapsed: Duration, turn: TurnId) -> Body {
    let mut line = format!(
        "**{}** · step {} · {}",
        escape::name(&text::one_line(&progress.doing, 200)),
        progress.step,
        seconds(elapsed)
    );
    push_use(&mut line, progress.usage, progress.cost);
    for command in &progress.recent {
        let _ = write!(line, "\n{}", escape::code_within(command, MAX_COMMAND));
    }
    Body::text(line).row(vec![
        Button::new(format!("stop:{turn}"), "Stop", Style::Secondary),
        Button::new(format!("abort:{turn}"), "Abort", Style::Danger),
    ])
}

/// Whether a message, as Discord gives it, is the live status of `turn`: its buttons say so.
pub(crate) fn is_live(message: &Value, turn: TurnId) -> bool {
    let stop = format!("stop:{turn}");
    let rows = message["components"].as_array().into_iter().flatten();
    rows.filter_map(|row| row["components"].as_array())
        .flatten()
        .any(|button| button["custom_id"] == stop.as_str())
}

/// What the status message becomes when the turn has ended.
pub(crate) fn footer(summary: &TurnSummary) -> Body {
    let mut line = "-# ".to_owned();
    if let Some(branch) = summary.branch {
        let _ = write!(line, "branch #{branch} · ");
    }
    let steps = match summary.steps {
        1 => "1 step".to_owned(),
        steps => format!("{steps} steps"),
    };
    let _ = write!(line, "{steps} · {}", seconds(summary.elapsed));
    push_use(&mut line, summary.usage, summary.cost);
    if !is_plain_end(&summary.exit) {
        let _ = write!(line, " · {}", escape::name(&summary.exit.replace('_', " ")));
    }
    Body::text(line)
}

/// What the status message becomes when the daemon stopped in the middle of its turn.
pub(crate) fn interrupted() -> Body {
    Body::text("-# interrupted: Chorus stopped while this was running")
}

/// What the model has said so far. The newest text shows when it is longer than a message.
pub(crate) fn preview(said: &str) -> Body {
    let said = text::for_discord(said.trim_end());
    let mut shown = text::tail_markdown(&said, MAX_PREVIEW);
    shown.push_str(UNFINISHED);
    Body::text(shown)
}

/// What a preview becomes when its turn ended and it is no part of the answer.
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
    let _ = write!(
        line,
        " · {} in / {} out",
        thousands(usage.input_total()),
        thousands(usage.output)
    );
    match cost {
        Cost::Usd(sum) if sum > 0.0 => {
            let _ = write!(line, " · {}", dollars(sum));
        }
        Cost::Usd(_) | Cost::Unknown => {}
    }
}

/// Whether a turn ended as turns should, so that the footer need not say how.
fn is_plain_end(exit: &str) -> bool {
    exit == "answered"
}

/// A sum of money, with as many digits as it needs: `$1.20`, `$0.012`.
pub(crate) fn dollars(sum: f64) -> String {
    match sum {
        sum if sum >= 1.0 => format!("${sum:.2}"),
        sum => format!("${sum:.3}"),
    }
}

/// A number with commas between its thousands.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A running time: `7 s`, `2 min 5 s`, `1 h 3 min`.
pub(crate) fn seconds(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}
