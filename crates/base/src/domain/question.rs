//! A model's question to people: the arguments of `ask_person`, and the facts kept while it is open.

use serde::{Deserialize, Serialize};

use super::ids::AgentId;

/// Longest question, in characters.
const QUESTION_MAX: usize = 300;
/// Longest label, in characters.
const LABEL_MAX: usize = 80;
/// Longest description, in characters.
const DESCRIPTION_MAX: usize = 100;
/// Fewest options.
const OPTIONS_MIN: usize = 2;
/// Most options.
const OPTIONS_MAX: usize = 10;
/// Most options that are shown as buttons.
const BUTTONS_MAX: usize = 4;

/// A question with the answers that are offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonQuestion {
    pub question: String,
    pub options: Vec<PersonOption>,
    /// Whether several options may be chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub several: bool,
}

/// An answer that is offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonOption {
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A question as the ledger keeps it, with the agents on whose behalf it is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedOfPeople {
    #[serde(flatten)]
    pub asked: PersonQuestion,
    /// Who asks, as people read it: `lab`, or `lab ▸ reviewer` for a sub-agent.
    pub asker: String,
    /// The agents that ask, the run's own first: a person who answers needs access to each.
    pub agents: Vec<AgentId>,
}

impl PersonQuestion {
    /// Returns its problems, one sentence each; empty if it can be asked.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        within("`question`", &self.question, QUESTION_MAX, &mut problems);
        let count = self.options.len();
        if !(OPTIONS_MIN..=OPTIONS_MAX).contains(&count) {
            problems.push(format!(
                "`options`: {count} given, expected {OPTIONS_MIN} to {OPTIONS_MAX}"
            ));
        }
        for (at, option) in self.options.iter().enumerate().take(OPTIONS_MAX) {
            let place = format!("`options[{at}].label`");
            within(&place, &option.label, LABEL_MAX, &mut problems);
            if let Some(description) = &option.description {
                let place = format!("`options[{at}].description`");
                within(&place, description, DESCRIPTION_MAX, &mut problems);
            }
            let is_same = |other: &PersonOption| other.label.trim() == option.label.trim();
            if self.options.iter().take(at).any(is_same) {
                problems.push(format!("{place}: two options have this label"));
            }
        }
        problems
    }

    /// Returns whether its options are shown as buttons; otherwise they are a menu.
    pub fn has_buttons(&self) -> bool {
        let is_plain = |option: &PersonOption| option.description.is_none();
        !self.several && self.options.len() <= BUTTONS_MAX && self.options.iter().all(is_plain)
    }
}

/// Adds a problem if a text is blank or longer than `most` characters.
fn within(place: &str, text: &str, most: usize, problems: &mut Vec<String>) {
    let chars = text.chars().count();
    if text.trim().is_empty() {
        problems.push(format!("{place}: empty, expected 1 to {most} characters"));
    } else if chars > most {
        problems.push(format!("{place}: {chars} characters, expected 1 to {most}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(labels: &[&str]) -> PersonQuestion {
        let option = |label: &&str| PersonOption {
            label: (*label).to_owned(),
            description: None,
        };
        PersonQuestion {
            question: "Which?".to_owned(),
            options: labels.iter().map(option).collect(),
            several: false,
        }
    }

    #[test]
    fn what_is_over_a_limit_is_named_with_the_limit() {
        assert_eq!(question(&["a", "b"]).problems(), Vec::<String>::new());
        let limits = question(&[&"x".repeat(80), "b"]);
        assert_eq!(limits.problems(), Vec::<String>::new());
        let cases = [
            (question(&["a"]), "`options`: 1 given, expected 2 to 10"),
            (
                question(&["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]),
                "`options`: 11 given, expected 2 to 10",
            ),
            (
                question(&[&"x".repeat(81), "b"]),
                "`options[0].label`: 81 characters, expected 1 to 80",
            ),
            (
                question(&["a", " a "]),
                "`options[1].label`: two options have this label",
            ),
            (
                question(&["a", " "]),
                "`options[1].label`: empty, expected 1 to 80 characters",
            ),
            (
                PersonQuestion {
                    question: String::new(),
                    ..question(&["a", "b"])
                },
                "`question`: empty, expected 1 to 300 characters",
            ),
            (
                PersonQuestion {
                    question: "é".repeat(301),
                    ..question(&["a", "b"])
                },
                "`question`: 301 characters, expected 1 to 300",
            ),
        ];
        for (asked, problem) in cases {
            assert_eq!(asked.problems(), [problem]);
        }
        let mut described = question(&["a", "b"]);
        for option in &mut described.options {
            option.description = Some("d".repeat(101));
        }
        assert_eq!(
            described.problems(),
            [0, 1].map(|at| format!(
                "`options[{at}].description`: 101 characters, expected 1 to 100"
            ))
        );
    }

    #[test]
    fn few_plain_options_are_buttons() {
        assert!(question(&["a", "b"]).has_buttons());
        assert!(question(&["a", "b", "c", "d"]).has_buttons());
        assert!(!question(&["a", "b", "c", "d", "e"]).has_buttons());
        let several = PersonQuestion {
            several: true,
            ..question(&["a", "b"])
        };
        assert!(!several.has_buttons());
        let mut described = question(&["a", "b"]);
        if let Some(first) = described.options.first_mut() {
            first.description = Some("the first".to_owned());
        }
        assert!(!described.has_buttons());
    }
}
