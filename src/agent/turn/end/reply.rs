//! The messages that people get from a turn: its outcome with a footer, and the words before its calls.

use std::fmt::Write as _;
use std::time::Duration;

use super::EndReason;
use crate::agent::deps::unstored::Tally;
use crate::agent::turn::accounting::Below;
use crate::domain::{MessageId, TurnId, Usage, UserId};
use crate::store::{NewPart, OutFile, PartBody, PartButton, PartKind};
use crate::text::{self, Split, escape, long};

/// Name of the file in which an answer is sent that is too long for messages.
const LONG_ANSWER: &str = "answer.md";

/// Longest answer that is sent, in bytes: Discord takes no larger file from a bot than 10 MiB.
const LONGEST: usize = 8 << 20;

/// Most sources named under an answer; a search can cite a hundred.
const SOURCES: usize = 12;

/// Words before a call that are shorter than this add nothing to the call itself: `Let me look.`
const TELLING: usize = 40;

/// A turn of one step that took less than this gets no summary line.
const SHORT: Duration = Duration::from_secs(2);

/// The small print under a turn's outcome.
#[derive(Clone, Debug, Default)]
pub(in crate::agent) struct Footer {
    /// The user to mention, where the work took long.
    pub(in crate::agent) mention: Option<UserId>,
    /// The line with what the work used.
    pub(in crate::agent) line: Option<String>,
    /// The button that continues, if there is one.
    pub(in crate::agent) button: Option<PartButton>,
    /// Further buttons beside it.
    pub(in crate::agent) further: Vec<PartButton>,
}

impl Footer {
    /// The footer as a line of small print; `None` when there is nothing to say.
    fn render(&self) -> Option<String> {
        let mention = self.mention.map(|user| format!("<@{user}>"));
        let words: Vec<&str> = mention
            .iter()
            .chain(&self.line)
            .map(String::as_str)
            .collect();
        (!words.is_empty()).then(|| format!("-# {}", words.join(" · ")))
    }
}

/// What a turn used.
pub(in crate::agent) struct Summary {
    pub(in crate::agent) exit: EndReason,
    /// Number of the branch it ran in.
    pub(in crate::agent) branch: Option<u32>,
    /// With all below it.
    pub(in crate::agent) tally: Tally,
    pub(in crate::agent) below: Below,
    pub(in crate::agent) run: TurnId,
    pub(in crate::agent) elapsed: Duration,
    /// What it and all below it changed, ran and were denied, in words.
    pub(in crate::agent) receipt: Option<String>,
}

/// What a turn took, in a line; `None` for a short one.
pub(in crate::agent) fn summary(summary: Summary) -> Option<String> {
    let Summary {
        exit,
        branch,
        tally,
        below,
        run,
        elapsed,
        receipt,
    } = summary;
    if receipt.is_none() && tally.steps <= 1 && below.children == 0 && elapsed < SHORT {
        return None;
    }
    let mut line = String::new();
    if let Some(receipt) = &receipt {
        let _ = write!(line, "{receipt} · ");
    }
    if let Some(branch) = branch {
        let _ = write!(line, "branch #{branch} · ");
    }
    if tally.steps > 0 {
        let steps = text::count(tally.steps as usize, "step", "steps");
        let _ = write!(line, "{steps} · ");
    }
    line.push_str(&text::seconds(elapsed));
    let Tally { usage, cost, .. } = tally;
    if let (Some(_), Some(usd)) = (&receipt, cost.usd()) {
        if usd > 0.0 {
            let _ = write!(line, " · {}", text::dollars(usd));
        }
    } else if usage != Usage::default() {
        let (input, output) = (usage.input_total(), usage.output);
        let _ = write!(
            line,
            " · {}",
            text::tokens_and_cost(input, output, cost.usd())
        );
    }
    if below.children > 0 {
        let children = text::count(below.children, "sub-agent", "sub-agents");
        let cost = below.tally.cost.usd().filter(|usd| *usd > 0.0);
        let cost = cost.map_or_else(String::new, |usd| format!(" {}", text::dollars(usd)));
        let _ = write!(line, ", of it {children}{cost}");
    }
    if exit != EndReason::Answered {
        let _ = write!(line, " · {}", exit.words());
    }
    let _ = write!(line, " · run {}", run.short());
    Some(line)
}

/// The answer as people get it, followed by the sources of a search and a line for each remark.
pub(in crate::agent) fn answer(
    answer: &str,
    exit: EndReason,
    remarks: &[&str],
    citations: &[(String, String)],
) -> String {
    let mut reply = match answer.trim() {
        "" if exit == EndReason::Refused => "The model declined to answer.".to_owned(),
        text => text.to_owned(),
    };
    let sources: Vec<String> = citations
        .iter()
        .filter(|(_, url)| is_address(url))
        .take(SOURCES)
        .map(|(title, url)| format!("\n- {} <{url}>", escape::text(&text::one_line(title, 100))))
        .collect();
    if !sources.is_empty() {
        reply.push_str("\n\nSources:");
        reply.extend(sources);
    }
    if !remarks.is_empty() {
        reply.push_str("\n\n");
        reply.push_str(&remarks.join("\n"));
    }
    reply
}

/// An answer without everything that its role owes, as people get it: first what is missing, then the answer itself.
pub(in crate::agent) fn lacking(missing: &[String], error: &str, answer: &str) -> String {
    format!(
        "**The answer lacks what it owes.**\n{}",
        lacks(missing, error, answer)
    )
}

/// The same without its heading.
pub(in crate::agent) fn lacks(missing: &[String], error: &str, answer: &str) -> String {
    let mut lines = Vec::new();
    if !missing.is_empty() {
        let names: Vec<String> = missing.iter().map(|name| text::code_span(name)).collect();
        lines.push(format!("Missing: {}", names.join(", ")));
    }
    if !error.is_empty() {
        let error = text::one_line(error, 500);
        lines.push(format!("Last error: {}", escape::sentence(&error)));
    }
    if !answer.trim().is_empty() {
        lines.push(format!("\n{}", answer.trim()));
    }
    lines.join("\n")
}

/// Whether `url` leads to the web and cannot leave its angle brackets.
fn is_address(url: &str) -> bool {
    let leads = url.starts_with("https://") || url.starts_with("http://");
    leads && !url.contains(|c: char| c.is_whitespace() || matches!(c, '<' | '>'))
}

/// The button that shows the steps of a run to the person who presses it.
pub(in crate::agent) fn details(run: TurnId) -> PartButton {
    PartButton::new(format!("details:{run}"), "Details")
}

/// The button under a turn that ended with `exit`: to continue it or to try it again, where a press helps.
pub(in crate::agent) fn button(exit: EndReason) -> Option<PartButton> {
    match exit {
        EndReason::Stopped
        | EndReason::Aborted
        | EndReason::Interrupted
        | EndReason::StepLimit
        | EndReason::TimeLimit
        | EndReason::Loop
        | EndReason::Errors => Some(PartButton::new("continue:", "Continue")),
        EndReason::BadCalls | EndReason::Failed | EndReason::Report => {
            Some(PartButton::new("again:", "Try again"))
        }
        EndReason::Answered | EndReason::Refused | EndReason::Budget | EndReason::Window => None,
    }
}

/// An outcome as the outbox takes it: the first part refers to the message it answers, the last has the footer.
pub(in crate::agent) fn parts(
    reply: &str,
    footer: &Footer,
    kind: PartKind,
    reply_to: Option<MessageId>,
) -> Vec<NewPart> {
    let mut bodies = bodies(reply);
    if let Some(footer) = footer.render() {
        put_under(&mut bodies, &footer);
    }
    if let Some(last) = bodies.last_mut() {
        last.mention = footer.mention;
        last.button.clone_from(&footer.button);
        last.further_buttons.clone_from(&footer.further);
    }
    if let Some(first) = bodies.first_mut() {
        first.reply_to = reply_to;
    }
    of_kind(bodies, kind)
}

/// Words before a call as the outbox takes them, without a notification; empty where the call says as much. The first part
/// may replace the preview in which the words of this `step` were shown.
pub(in crate::agent) fn words(words: &str, step: u32) -> Vec<NewPart> {
    let words = words.trim();
    if words.chars().count() <= TELLING {
        return Vec::new();
    }
    let mut bodies = bodies(words);
    for body in &mut bodies {
        body.is_silent = true;
    }
    if let Some(first) = bodies.first_mut() {
        first.step = Some(step);
    }
    of_kind(bodies, PartKind::Reply)
}

fn of_kind(bodies: Vec<PartBody>, kind: PartKind) -> Vec<NewPart> {
    let parts = bodies.into_iter().map(|body| NewPart { kind, body });
    parts.collect()
}

/// A reply as messages, long code in it as files under the last of them.
fn bodies(reply: &str) -> Vec<PartBody> {
    long::work_on(reply.len(), || bodies_of(reply))
}

fn bodies_of(reply: &str) -> Vec<PartBody> {
    let (words, files) = text::without_long_code(reply);
    match text::split(&words) {
        Split::Parts(parts) => {
            let mut bodies: Vec<PartBody> = parts
                .into_iter()
                .map(|content| PartBody {
                    content,
                    ..PartBody::default()
                })
                .collect();
            if let Some(last) = bodies.last_mut() {
                let files = files.into_iter().map(|file| OutFile::Text {
                    name: file.name,
                    text: bounded(&file.text),
                });
                last.files.extend(files);
            }
            bodies
        }
        Split::File => vec![PartBody {
            content: format!(
                "The answer is long ({} characters), so it comes as a file.",
                reply.chars().count()
            ),
            files: vec![OutFile::Text {
                name: LONG_ANSWER.to_owned(),
                text: bounded(reply),
            }],
            ..PartBody::default()
        }],
    }
}

/// Puts a footer under the last part. Where there is no room, the end of that part moves into a new one together with the
/// footer.
fn put_under(bodies: &mut Vec<PartBody>, footer: &str) {
    let Some(last) = bodies.last_mut() else {
        return;
    };
    let text = text::close_code(&last.content);
    let room = text::PART_CHARS.saturating_sub(footer.chars().count() + 1);
    if text.chars().count() <= room {
        last.content = format!("{text}\n{footer}");
        return;
    }
    let mut halves = text::pieces(&text, room).into_iter();
    last.content = halves.next().unwrap_or_default();
    for half in halves {
        bodies.push(PartBody {
            content: half,
            ..PartBody::default()
        });
    }
    if let Some(last) = bodies.last_mut() {
        last.content = format!("{}\n{footer}", last.content);
    }
}

/// `text`, shortened to what can be sent.
fn bounded(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let kept = &text[..text.floor_char_boundary(LONGEST)];
    format!(
        "{kept}\n\n[{} more bytes cannot be sent]",
        text.len() - kept.len()
    )
}
