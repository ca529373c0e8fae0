//! How the calls of a question ended, in words for people. Pure.

use crate::agent::Stopper;
use crate::agent::event::{Choice, Question, QuestionEnd};
use crate::discord::rest::body::{Embed, Tone};
use crate::domain::UserId;
use crate::store::Decision;
use crate::text::{self, escape};

/// How one call of a question ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub end: QuestionEnd,
    /// The person who pressed, by the name that the server shows.
    pub by: String,
    /// How the allowed call ended, in words.
    pub outcome: Option<String>,
}

/// Returns the colour of the question's message.
pub(super) fn tone(ended: &[Option<Ended>]) -> Tone {
    let ends = ended
        .iter()
        .map(|ended| ended.as_ref().map(|ended| &ended.end));
    let mut tone = Tone::Good;
    for end in ends {
        tone = match (end, tone) {
            (None, _) => return Tone::Asking,
            (
                Some(
                    QuestionEnd::Decided {
                        choice: Choice::Deny,
                        ..
                    }
                    | QuestionEnd::Changed { .. },
                ),
                _,
            )
            | (_, Tone::Bad) => Tone::Bad,
            (Some(QuestionEnd::Expired | QuestionEnd::Cancelled(_)), _) | (_, Tone::Faded) => {
                Tone::Faded
            }
            (Some(QuestionEnd::Decided { .. }), _) => Tone::Good,
        };
    }
    tone
}

/// Adds how calls ended: once if all ended alike, otherwise each with its number.
pub(super) fn with_endings(
    mut embed: Embed,
    question: &Question,
    ended: &[Option<Ended>],
) -> Embed {
    let endings: Vec<Option<(&str, String)>> = ended
        .iter()
        .map(|ended| ended.as_ref().map(ending))
        .collect();
    if let Some(Some((word, how))) = endings.first()
        && endings.iter().all(|other| *other == endings[0])
    {
        return embed.field(*word, how.clone());
    }
    for ((_, number), ending) in question.calls.iter().zip(1..).zip(endings) {
        if let Some((word, how)) = ending {
            embed = embed.field(format!("{number}. {word}"), how);
        }
    }
    embed
}

fn ending(ended: &Ended) -> (&'static str, String) {
    let by = escape::name(&ended.by);
    let outcome = ended.outcome.as_deref();
    let outcome = outcome.map_or_else(String::new, |words| format!(" · {}", escape::text(words)));
    match &ended.end {
        QuestionEnd::Decided { choice, reason, .. } => match (choice, reason) {
            (Choice::Allow, _) => ("Allowed", format!("by {by}{outcome}")),
            (Choice::AlwaysAllow, _) => ("Always allowed", format!("by {by}{outcome}")),
            (Choice::Deny, None) => ("Denied", format!("by {by}")),
            (Choice::Deny, Some(reason)) => {
                let reason = text::one_line(reason, 600);
                ("Denied", format!("by {by}: “{}”", escape::text(&reason)))
            }
        },
        QuestionEnd::Changed { .. } => (
            "Not run",
            format!("{by} allowed it, but the call changed before it could run. Nothing was run."),
        ),
        QuestionEnd::Cancelled(by) => {
            ("Cancelled", format!("{}. Nothing was run.", what_ended(by)))
        }
        QuestionEnd::Expired => (
            "Expired",
            "Nobody decided in time. Nothing was run.".to_owned(),
        ),
    }
}

/// Returns who ended a turn, and how, as a clause.
fn what_ended(by: &Stopper) -> String {
    match by {
        Stopper::Person(person) => format!("{} stopped the turn", escape::name(&person.name)),
        Stopper::Destroyer(person) => {
            format!("{} destroyed the agent", escape::name(&person.name))
        }
        Stopper::Shutdown => "the shutdown of Chorus stopped the turn".to_owned(),
        Stopper::Machine(what) => format!("{what} stopped the turn"),
    }
}

/// Returns the answer to a press that came after the question's end.
pub fn told_late(end: &QuestionEnd) -> String {
    match end {
        QuestionEnd::Decided { choice, by, .. } => told_decided(
            *by,
            match choice {
                Choice::Allow => Decision::Allow,
                Choice::AlwaysAllow => Decision::AlwaysAllow,
                Choice::Deny => Decision::Deny,
            },
        ),
        QuestionEnd::Changed { by } => format!(
            "This was already decided: <@{by}> allowed it, but the call changed before it could run. Nothing was run."
        ),
        QuestionEnd::Expired => "This question has expired. Nothing was run.".to_owned(),
        QuestionEnd::Cancelled(by) => format!(
            "This question was cancelled: {}. Nothing was run.",
            what_ended(by)
        ),
    }
}

/// Returns the answer to a press that came after another person's.
pub fn told_decided(by: UserId, decision: Decision) -> String {
    let how = match decision {
        Decision::Allow => "allowed",
        Decision::AlwaysAllow => "always allowed",
        Decision::Deny => "denied",
        Decision::Expired => "closed",
    };
    format!("<@{by}> already decided this: {how}.")
}
