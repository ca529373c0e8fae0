//! A profile in words for people: the acts an agent does freely, those it asks about, and those it never does.
//!
//! The words are derived from the verdicts of [`Profile::decide`] on examples, so they always agree with the lists. If
//! a list names only some actions of a kind, the words say so; the patterns show which ones.

use super::action::Action;
use super::decide::Decision;
use super::pattern::Pattern;
use super::profile::Profile;
use super::profiles::Profiles;
use crate::domain::ProfileRef;

/// An ability of agents, with examples.
struct Ability {
    /// After "it": `looks`.
    does: &'static str,
    /// After "before": `looking`.
    doing: &'static str,
    examples: &'static [(&'static str, &'static str)],
    /// The names that a pattern about some of it contains.
    named: &'static [&'static str],
}

const fn ability(
    does: &'static str,
    doing: &'static str,
    examples: &'static [(&'static str, &'static str)],
    named: &'static [&'static str],
) -> Ability {
    Ability {
        does,
        doing,
        examples,
        named,
    }
}

const ABILITIES: [Ability; 9] = [
    ability(
        "looks",
        "looking",
        &[("view", "README.md"), ("glob", "**/*"), ("grep", "TODO")],
        &["view", "glob", "grep"],
    ),
    ability(
        "changes files",
        "changes to files",
        &[("create_file", "notes.md"), ("str_replace", "notes.md")],
        &[
            "create_file",
            "append_file",
            "str_replace",
            "insert_at",
            "replace_lines",
        ],
    ),
    ability("commits", "commits", &[("git", "commit")], &["commit"]),
    ability(
        "runs commands",
        "commands",
        &[
            ("bash", "make"),
            ("run_concurrent", "make"),
            ("run_background", "make"),
        ],
        &["bash", "run_concurrent", "run_background"],
    ),
    ability(
        "searches the web",
        "web searches",
        &[("web_search", "rust")],
        &["web_search"],
    ),
    ability(
        "reads web pages",
        "web pages",
        &[("web_fetch", "https://example.com/")],
        &["web_fetch"],
    ),
    ability(
        "writes to other agents",
        "messages to other agents",
        &[("agent_comm", "send helper")],
        &["agent_comm"],
    ),
    ability(
        "pushes",
        "pushes",
        &[("git", "push origin main"), ("git", "merge_request main")],
        &["push", "merge_request"],
    ),
    ability(
        "changes its settings or plans",
        "changing its settings or plans",
        &[
            ("self_edit", "permissions:standard"),
            ("self_edit", "model:x"),
            ("schedule", "create daily at 9:00"),
        ],
        &["permissions", "system_prompt"],
    ),
];

impl Profiles {
    /// Describes the abilities under the profile that `reference` names or contains; `None` if there is none, or it is
    /// invalid.
    pub fn in_words(&self, reference: &ProfileRef) -> String {
        let profile = self.resolve(reference);
        profile.map_or_else(|_| String::new(), |profile| profile.in_words())
    }
}

impl Profile {
    /// Describes the abilities that it gives, in words: `looks freely · asks before commands · never pushes`.
    pub fn in_words(&self) -> String {
        let mut free = Vec::new();
        let mut asked = Vec::new();
        let mut never = Vec::new();
        let mut some = Vec::new();
        for ability in &ABILITIES {
            match self.on(ability) {
                Decision::Allow => {
                    free.push(ability.does);
                    if speaks_of_some(&self.deny, ability) {
                        some.push(format!("refuses some {}", ability.doing));
                    }
                }
                Decision::Ask => {
                    asked.push(ability.doing);
                    if speaks_of_some(&self.allow, ability) {
                        some.push(format!("allows some {}", ability.doing));
                    }
                }
                Decision::Deny => {
                    never.push(ability.does);
                    if speaks_of_some(&self.allow, ability) {
                        some.push(format!("allows some {}", ability.doing));
                    }
                    if speaks_of_some(&self.ask, ability) {
                        some.push(format!("asks before some {}", ability.doing));
                    }
                }
            }
        }
        let all = ABILITIES.len();
        // The shorter lists are spelled out, the longest one is the rest.
        let is_rest_free = free.len() > asked.len() + never.len();
        let is_rest_never = never.len() > free.len() + asked.len();
        let mut words = Vec::new();
        if !free.is_empty() && !is_rest_free {
            words.push(format!("{} freely", listed(&free, "and")));
        }
        match asked.len() {
            0 => {}
            count if count == all => words.push("asks before everything".to_owned()),
            _ => words.push(format!("asks before {}", listed(&asked, "and"))),
        }
        if !never.is_empty() && !is_rest_never {
            words.push(format!("never {}", listed(&never, "or")));
        }
        words.extend(some);
        match words.is_empty() {
            true if is_rest_free => words.push("does everything without asking".to_owned()),
            true => words.push("does nothing".to_owned()),
            false if is_rest_free => words.push("everything else freely".to_owned()),
            false if is_rest_never => words.push("does nothing else".to_owned()),
            false => {}
        }
        words.join(" · ")
    }

    /// Returns the strictest decision on examples of an ability.
    fn on(&self, ability: &Ability) -> Decision {
        let examples = ability.examples.iter();
        let decisions = examples.map(|(tool, detail)| {
            let action = Action::new(*tool, *detail);
            self.decide(&action, &[]).decision
        });
        decisions.max().unwrap_or(Decision::Deny)
    }
}

/// Returns whether one of `patterns` names a part of an ability without matching every example that it names.
fn speaks_of_some(patterns: &[Pattern], ability: &Ability) -> bool {
    patterns.iter().any(|pattern| {
        let names = |name: &&str| pattern.source().contains(*name);
        let is_named = ability.named.iter().any(names);
        let means_none = ability.examples.iter().all(|(tool, detail)| {
            let action = Action::new(*tool, *detail).to_string();
            !pattern.matches(&action).unwrap_or(false)
        });
        is_named && means_none
    })
}

/// Joins words: `a, b and c`.
fn listed(words: &[&str], joint: &str) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} {joint} {last}", first.join(", ")),
    }
}
