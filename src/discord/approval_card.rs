//! What a person sees who must decide a tool call: all of it, or all of it in a file. Pure.
//!
//! A preview that leaves something out never stands beside an Allow button without saying so: what does not fit is
//! attached whole, and its beginning, end and size are shown as such.

use crate::agent::event::{Choice, Question};
use crate::text;

use super::body::{Body, Button, Card, MAX_DESCRIPTION, Style, Tone};
use super::escape;

/// Characters of the action and the arguments that the card holds; what is longer goes into a file.
const MAX_SHOWN: usize = 3_000;

/// Characters shown of each end of what went into a file.
const END: usize = 300;

/// What a question has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending<'a> {
    /// A person pressed. Their name, as the server shows it.
    Decided(Choice, &'a str),
    /// Nobody pressed in time, or the turn ended first.
    Expired,
}

/// The question while it is open.
pub fn open(question: &Question) -> Body {
    let card = card(question).tone(Tone::Asking).footer(format!(
        "Expires at {} UTC; no answer means no.",
        question.expires_at.format("%H:%M:%S")
    ));
    with_full_text(Body::card(card), question).row(buttons(question.approval))
}

/// The same card once the question is closed: without buttons, saying how.
pub fn closed(question: &Question, ending: Ending<'_>) -> Body {
    Body::card(end_card(card(question), ending))
}

/// A card whose question is not known any more, after a restart or long after its time.
pub fn expired() -> Body {
    Body::card(Card::new("Expired", "This question is closed. Nothing was run.").tone(Tone::Faded))
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

fn card(question: &Question) -> Card {
    let (action, action_flagged) = text::visible(&question.action);
    let (arguments, arguments_flagged) = text::visible(&question.arguments);
    let title = format!(
        "{} wants to use {}",
        question.turn.agent_name,
        escape::name(&text::one_line(&question.tool, 80))
    );
    let mut description = String::new();
    if action_flagged || arguments_flagged {
        description.push_str(
            "⚠️ **Hidden characters.** This holds characters that do not show; they are written as `\\u{…}`.\n\n",
        );
    }
    let whole = format!(
        "Action\n{}\nArguments\n{}",
        text::fenced(&action, ""),
        text::fenced(&arguments, "json")
    );
    if whole.chars().count() <= MAX_SHOWN {
        description.push_str(&whole);
    } else {
        description.push_str(&ends(&action, &arguments));
    }
    debug_assert!(description.chars().count() <= MAX_DESCRIPTION);
    Card::new(title, description)
}

/// Head, tail and size of what is attached.
fn ends(action: &str, arguments: &str) -> String {
    let size = text::bytes(arguments.len() as u64);
    let head: String = arguments.chars().take(END).collect();
    let count = arguments.chars().count();
    let tail: String = arguments.chars().skip(count.saturating_sub(END)).collect();
    format!(
        "Too long for this card: **read the attached file before you decide.** It holds the action and the arguments in full ({size}, {count} characters).\n\
         Action begins\n{}\nArguments begin\n{}\nArguments end\n{}",
        text::fenced(&super::body::clip(action, END), ""),
        text::fenced(&head, ""),
        text::fenced(&tail, "")
    )
}

fn with_full_text(body: Body, question: &Question) -> Body {
    let (action, _) = text::visible(&question.action);
    let (arguments, _) = text::visible(&question.arguments);
    let fits = text::fenced(&action, "").chars().count()
        + text::fenced(&arguments, "json").chars().count()
        + "Action\n\nArguments\n".len()
        <= MAX_SHOWN;
    if fits {
        return body;
    }
    let text = format!("Action\n{action}\n\nArguments\n{arguments}\n");
    body.file("arguments.txt", text)
}

fn end_card(card: Card, ending: Ending<'_>) -> Card {
    match ending {
        Ending::Decided(choice, by) => {
            let (word, tone) = match choice {
                Choice::Allow => ("Allowed", Tone::Good),
                Choice::Deny => ("Denied", Tone::Bad),
                Choice::AlwaysAllow => ("Always allowed", Tone::Good),
            };
            card.field(word, format!("by {}", escape::name(by)))
                .tone(tone)
        }
        Ending::Expired => card
            .field("Expired", "Nobody decided in time. Nothing was run.")
            .tone(Tone::Faded),
    }
}
