//! What a person sees who must decide a tool call: all of it, or all of it in a file. Pure.
//!
//! A preview that leaves something out never stands beside an Allow button without saying so: what does not fit is
//! attached whole, and its beginning, end and size are shown as such.

use serde_json::Value;

use crate::agent::Stopper;
use crate::agent::event::{Choice, Question, QuestionEnd};
use crate::domain::UserId;
use crate::store::Decision;
use crate::text::{self, escape};

use super::status_text;
use crate::discord::rest::body::{Body, Button, Embed, MAX_DESCRIPTION, Style, Tone};

/// Characters of the action and the arguments that the message holds; what is longer goes into a file.
const MAX_SHOWN: usize = 3_000;

/// Characters shown of each end of what went into a file.
const END: usize = 300;

/// Characters of such an end as it is shown: what hides takes more room than one.
const MAX_END: usize = 800;

/// What an approval has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending<'a> {
    /// A person pressed. Their name, as the server shows it.
    Decided(Choice, &'a str),
    /// A person allowed it, and it was not what they had been shown any more. Their name.
    Changed(&'a str),
    /// Nobody pressed in time.
    Expired,
    /// The turn was stopped first.
    Cancelled(&'a Stopper),
}

/// The approval while it is open.
pub fn open(question: &Question) -> Body {
    let embed = embed(question).tone(Tone::Asking).footer(format!(
        "Expires at {} UTC; no answer means no.",
        question.expires_at.format("%H:%M:%S")
    ));
    with_full_text(Body::embed(embed), question)
        .row(buttons(question.approval))
        .row(status_text::endings(question.turn.turn, Style::Secondary))
}

/// The same message once the approval is closed: without buttons, saying how.
pub fn closed(question: &Question, ending: Ending<'_>) -> Body {
    Body::embed(ended(embed(question), ending))
}

/// The message of an approval that is not known any more, after a restart or long after its time.
pub fn expired() -> Body {
    Body::embed(
        Embed::new("Expired", "This question is closed. Nothing was run.").tone(Tone::Faded),
    )
}

/// The choice and the approval that a button's id names.
pub fn pressed(custom_id: &str) -> Option<(i64, Choice)> {
    let (id, choice) = custom_id.strip_prefix("approval:")?.split_once(':')?;
    let choice = match choice {
        "allow" => Choice::Allow,
        "deny" => Choice::Deny,
        "always" => Choice::AlwaysAllow,
        _ => return None,
    };
    Some((id.parse().ok()?, choice))
}

fn buttons(approval: i64) -> Vec<Button> {
    vec![
        Button::new(
            format!("approval:{approval}:allow"),
            "Allow",
            Style::Success,
        ),
        Button::new(format!("approval:{approval}:deny"), "Deny", Style::Danger),
        Button::new(
            format!("approval:{approval}:always"),
            "Always allow",
            Style::Secondary,
        ),
    ]
}

fn embed(question: &Question) -> Embed {
    let (action, arguments) = (&question.action, &question.arguments);
    let title = format!(
        "{} wants to use {}",
        question.turn.agent_name,
        escape::name(&text::one_line(&question.tool, 80))
    );
    let mut description = warnings(question);
    match whole(question) {
        Some(whole) => description.push_str(&whole),
        None => description.push_str(&ends(action, arguments)),
    }
    debug_assert!(description.chars().count() <= MAX_DESCRIPTION);
    Embed::new(title, description)
}

/// What of the action and the arguments a reader could take for something else.
fn warnings(question: &Question) -> String {
    let mut warnings = String::new();
    let texts = [&question.action, &question.arguments];
    if texts.iter().any(|text| text.contains(text::is_hidden)) {
        warnings.push_str(
            "⚠️ **Hidden characters.** This holds characters that do not show; they are written as `\\u{…}`.\n\n",
        );
    }
    if texts.iter().any(|text| text::holds_fence(text)) {
        warnings.push_str(
            "⚠️ **Three backticks.** They would end the block that shows this; each is written as `\\u{60}`.\n\n",
        );
    }
    let arguments = words_of(&question.arguments);
    let words =
        std::iter::once(question.action.as_str()).chain(arguments.iter().map(String::as_str));
    let alike: Vec<String> = text::look_alikes(words)
        .iter()
        .map(|(word, plain)| {
            let (word, plain) = (
                escape::code_within(word, 40),
                escape::code_within(plain, 40),
            );
            format!("{word} is not {plain}")
        })
        .collect();
    if !alike.is_empty() {
        warnings.push_str(&format!(
            "⚠️ **Look-alike letters.** Some letters or signs are not the ones they look like: {}.\n\n",
            alike.join(", ")
        ));
    }
    warnings
}

/// The strings in a call's arguments, without JSON's own escapes.
fn words_of(arguments: &str) -> Vec<String> {
    fn collect(value: Value, words: &mut Vec<String>) {
        match value {
            Value::String(text) => words.push(text),
            Value::Array(values) => values.into_iter().for_each(|value| collect(value, words)),
            Value::Object(map) => {
                for (key, value) in map {
                    words.push(key);
                    collect(value, words);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut words = Vec::new();
    match serde_json::from_str(arguments) {
        Ok(value) => collect(value, &mut words),
        Err(_) => words.push(arguments.to_owned()),
    }
    words
}

/// The action and the arguments in full, where the message holds them.
fn whole(question: &Question) -> Option<String> {
    // What is far too long need not be written out to know that.
    if question.action.len() + question.arguments.len() > MAX_SHOWN * 4 {
        return None;
    }
    let whole = format!(
        "Action\n{}\nArguments\n{}",
        text::fenced(&question.action, ""),
        text::fenced(&question.arguments, "json")
    );
    (whole.chars().count() <= MAX_SHOWN).then_some(whole)
}

/// Head, tail and size of what is attached.
fn ends(action: &str, arguments: &str) -> String {
    let size = text::bytes(arguments.len() as u64);
    let count = arguments.chars().count();
    let tail: String = arguments.chars().skip(count.saturating_sub(END)).collect();
    format!(
        "Too long for this card: **read the attached file before you decide.** It holds the action and the arguments in full ({size}, {count} characters).\n\
         Action begins\n{}\nArguments begin\n{}\nArguments end\n{}",
        text::fenced_head(&crate::discord::rest::body::clip(action, END), "", MAX_END),
        text::fenced_head(
            &crate::discord::rest::body::clip(arguments, END),
            "",
            MAX_END
        ),
        text::fenced_tail(&tail, "", MAX_END)
    )
}

fn with_full_text(body: Body, question: &Question) -> Body {
    if whole(question).is_some() {
        return body;
    }
    let (action, _) = text::visible(&question.action);
    let (arguments, _) = text::visible(&question.arguments);
    let text = format!("Action\n{action}\n\nArguments\n{arguments}\n");
    body.file("arguments.txt", text)
}

fn ended(embed: Embed, ending: Ending<'_>) -> Embed {
    match ending {
        Ending::Decided(choice, by) => {
            let (word, tone) = match choice {
                Choice::Allow => ("Allowed", Tone::Good),
                Choice::Deny => ("Denied", Tone::Bad),
                Choice::AlwaysAllow => ("Always allowed", Tone::Good),
            };
            embed
                .field(word, format!("by {}", escape::name(by)))
                .tone(tone)
        }
        Ending::Changed(by) => embed
            .field(
                "Not run",
                format!(
                    "{} allowed it, but it changed before it could run. Nothing was run.",
                    escape::name(by)
                ),
            )
            .tone(Tone::Bad),
        Ending::Cancelled(by) => embed
            .field("Cancelled", format!("{}. Nothing was run.", what_ended(by)))
            .tone(Tone::Faded),
        Ending::Expired => embed
            .field("Expired", "Nobody decided in time. Nothing was run.")
            .tone(Tone::Faded),
    }
}

/// Who ended a turn and by what, as a clause.
fn what_ended(by: &Stopper) -> String {
    match by {
        Stopper::Person(name) => format!("{} stopped the turn", escape::name(name)),
        Stopper::Destroyer(name) => format!("{} destroyed the agent", escape::name(name)),
        Stopper::Shutdown => "the shutdown of Chorus stopped the turn".to_owned(),
        Stopper::Machine(what) => format!("{what} stopped the turn"),
    }
}

/// What somebody is told whose press came after the question's end.
pub fn told_late(end: &QuestionEnd) -> String {
    match end {
        QuestionEnd::Decided { choice, by } => told_decided(
            *by,
            match choice {
                Choice::Allow => Decision::Allow,
                Choice::AlwaysAllow => Decision::AlwaysAllow,
                Choice::Deny => Decision::Deny,
            },
        ),
        QuestionEnd::Changed { by } => format!(
            "This is decided already: <@{by}> allowed it, but it changed before it could run. Nothing was run."
        ),
        QuestionEnd::Expired => "This question has expired. Nothing was run.".to_owned(),
        QuestionEnd::Cancelled(by) => format!(
            "This question was cancelled: {}. Nothing was run.",
            what_ended(by)
        ),
    }
}

/// What somebody is told whose press came after another person's.
pub fn told_decided(by: UserId, decision: Decision) -> String {
    let how = match decision {
        Decision::Allow => "allowed",
        Decision::AlwaysAllow => "always allowed",
        Decision::Deny => "denied",
        Decision::Expired => "closed",
    };
    format!("This is decided already, by <@{by}>: {how}.")
}
