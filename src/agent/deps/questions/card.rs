//! The card of a question: what is asked, what can be pressed, and how it ended. Pure.

use chrono::{DateTime, Utc};

use super::PersonEnd;
use crate::agent::stop::Stopper;
use crate::domain::{AskedOfPeople, MessageId, PersonOption, UserId};
use crate::store::{NewPart, PartButton, PartMenu, PartOption, QuestionOutcome};
use crate::text::{self, escape};

/// Characters of the question on its card: where each has to be escaped or shown by its number, it becomes longer.
const QUESTION: usize = 1_200;

/// Characters of an answer on the card.
const ANSWER: usize = 300;

/// The label of the button that opens a form.
const OTHER: &str = "Other…";

/// Who is to see the card, and until when it is open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::agent) struct Addressed {
    /// The one person whom it mentions.
    pub(in crate::agent) mention: Option<UserId>,
    pub(in crate::agent) reply_to: Option<MessageId>,
    pub(in crate::agent) expires_at: DateTime<Utc>,
}

/// The card of the question with this id.
pub(in crate::agent) fn open(id: i64, body: &AskedOfPeople, to: Addressed) -> NewPart {
    let whom = to
        .mention
        .map_or_else(String::new, |user| format!("<@{user}> "));
    let end = to.expires_at.timestamp();
    let words = format!(
        "{whom}{}\n-# Choose, or write your answer here. Open until <t:{end}:R>.",
        asked(body)
    );
    let mut part = NewPart::notice(words);
    part.body.mention = to.mention;
    part.body.reply_to = to.reply_to;
    part.body.question = Some(id);
    let options = body.asked.options.iter();
    if body.asked.has_buttons() {
        let mut buttons = (0..).zip(options).map(|(place, option): (usize, _)| {
            PartButton::new(format!("ask:{id}:{place}"), &option.label)
        });
        part.body.button = buttons.next();
        part.body.further_buttons = buttons.chain([other(id)]).collect();
    } else {
        part.body.menu = Some(PartMenu {
            id: format!("ask:{id}:pick"),
            options: options.map(offered).collect(),
            several: body.asked.several,
        });
        part.body.button = Some(other(id));
    }
    part
}

/// The card of a question that ends in this moment.
pub(super) fn ended(id: i64, body: &AskedOfPeople, end: &PersonEnd) -> NewPart {
    closed(id, body, &outcome(end))
}

/// The card of a question of which only the row is known.
pub(super) fn ended_before(
    id: i64,
    body: &AskedOfPeople,
    outcome: QuestionOutcome,
    answer: &str,
) -> NewPart {
    let words = match outcome {
        QuestionOutcome::Answered => escape::text(&text::one_line(answer, ANSWER)),
        QuestionOutcome::Expired => EXPIRED.to_owned(),
        QuestionOutcome::Cancelled => "Cancelled.".to_owned(),
    };
    closed(id, body, &words)
}

const EXPIRED: &str = "Nobody answered in time.";

fn closed(id: i64, body: &AskedOfPeople, outcome: &str) -> NewPart {
    let mut part = NewPart::notice(format!("{}\n{outcome}", asked(body)));
    part.body.question = Some(id);
    part
}

/// Who asks, and what.
fn asked(body: &AskedOfPeople) -> String {
    let question = escape::text(&body.asked.question);
    format!(
        "**{} asks:**\n{}",
        escape::text(&body.asker),
        text::clip_markdown(&question, QUESTION)
    )
}

/// How the question ended, in words.
fn outcome(end: &PersonEnd) -> String {
    match end {
        PersonEnd::Chose(by, labels) => {
            let labels: Vec<String> = labels
                .iter()
                .map(|label| format!("**{}**", escape::text(label)))
                .collect();
            format!("{} chose: {}", escape::name(&by.name), labels.join(", "))
        }
        PersonEnd::Answered(by, words) => format!(
            "{} answered: “{}”",
            escape::name(&by.name),
            escape::text(&text::one_line(words, ANSWER))
        ),
        PersonEnd::Expired => EXPIRED.to_owned(),
        PersonEnd::Unseen => "Cancelled: Discord refused the message with the question.".to_owned(),
        PersonEnd::Restarted => {
            "Expired: I was restarted and first ask about what was running.".to_owned()
        }
        PersonEnd::WentOn => "Cancelled: the conversation went on.".to_owned(),
        PersonEnd::Stopped(Stopper::Person(by)) => {
            format!("Cancelled: {} stopped the turn.", escape::name(&by.name))
        }
        PersonEnd::Stopped(Stopper::Destroyer(by)) => {
            format!("Cancelled: {} destroyed the agent.", escape::name(&by.name))
        }
        PersonEnd::Stopped(Stopper::Machine(what)) => {
            format!("Cancelled: {what} stopped the turn.")
        }
        PersonEnd::Stopped(Stopper::Shutdown) => "Cancelled: I was stopped.".to_owned(),
    }
}

fn other(id: i64) -> PartButton {
    PartButton::new(format!("ask:{id}:other"), OTHER)
}

fn offered(option: &PersonOption) -> PartOption {
    PartOption {
        label: option.label.clone(),
        description: option.description.clone().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::clock;
    use crate::domain::{Author, PersonQuestion};

    fn body(labels: &[&str]) -> AskedOfPeople {
        let option = |label: &&str| PersonOption {
            label: (*label).to_owned(),
            description: None,
        };
        AskedOfPeople {
            asked: PersonQuestion {
                question: "Which *one*?".to_owned(),
                options: labels.iter().map(option).collect(),
                several: false,
            },
            asker: "lab ▸ reviewer".to_owned(),
            agents: Vec::new(),
        }
    }

    fn to(mention: Option<UserId>) -> Addressed {
        Addressed {
            mention,
            reply_to: None,
            expires_at: clock::now(),
        }
    }

    fn labels(part: &NewPart) -> Vec<&str> {
        let all = part.body.button.iter().chain(&part.body.further_buttons);
        all.map(|button| button.label.as_str()).collect()
    }

    #[test]
    fn up_to_four_plain_options_are_buttons_and_more_are_a_menu() {
        let few = open(7, &body(&["a", "b", "c", "d"]), to(None));
        assert_eq!(labels(&few), ["a", "b", "c", "d", OTHER]);
        assert_eq!(few.body.button.unwrap().id, "ask:7:0");
        assert_eq!(few.body.menu, None);
        let many = open(7, &body(&["a", "b", "c", "d", "e"]), to(None));
        assert_eq!(labels(&many), [OTHER]);
        let menu = many.body.menu.unwrap();
        assert_eq!((menu.options.len(), menu.several), (5, false));
    }

    #[test]
    fn what_a_model_writes_is_escaped_and_mentions_nobody() {
        let mut asked = body(&["**a**", "b"]);
        asked.asked.question = "<@5> @everyone \u{202e}*now*".to_owned();
        let card = open(7, &asked, to(Some(UserId(9))));
        assert_eq!(card.body.mention, Some(UserId(9)));
        let content = &card.body.content;
        assert!(
            content.starts_with("<@9> **lab ▸ reviewer asks:**\n"),
            "{content}"
        );
        assert!(
            !content.contains("<@5>") && !content.contains('\u{202e}'),
            "{content}"
        );
        assert!(!content.contains(" @everyone"), "{content}");
        let by = Author {
            id: UserId(1),
            name: "a*n*n".to_owned(),
        };
        let end = PersonEnd::chose(by, &asked.asked, &[0]).unwrap();
        assert_eq!(end.for_model(), "a*n*n chose: \"**a**\"");
        let ended = ended(7, &asked, &end);
        assert!(
            ended
                .body
                .content
                .ends_with(r"a\*n\*n chose: **\*\*a\*\***"),
            "{}",
            ended.body.content
        );
        assert!(labels(&ended).is_empty());
    }

    #[test]
    fn several_can_be_chosen_only_where_the_question_allows_it() {
        let by = || Author {
            id: UserId(1),
            name: "ann".to_owned(),
        };
        let mut asked = body(&["a", "b"]).asked;
        assert_eq!(PersonEnd::chose(by(), &asked, &[0, 1]), None);
        assert_eq!(PersonEnd::chose(by(), &asked, &[2]), None);
        assert_eq!(PersonEnd::chose(by(), &asked, &[]), None);
        asked.several = true;
        let both = PersonEnd::chose(by(), &asked, &[0, 1]).unwrap();
        assert_eq!(both.for_model(), "ann chose: \"a\", \"b\"");
    }
}
