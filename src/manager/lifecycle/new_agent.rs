//! A new agent: what is asked for, what was decided, what was made.

use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::{AgentConfig, AgentId, AgentName, ChannelId, GuildId, Person, ProfileRef};
use crate::llm::discovery::Choice;
use crate::manager::lifecycle::origin::Origin;
use crate::permission::Profiles;
use crate::text;
use crate::workspace::Bound;

/// What a person asks for.
#[derive(Clone, Debug)]
pub struct NewAgent {
    /// The name as typed.
    pub name: String,
    /// The prompt, or the description it is made from.
    pub system_prompt: Option<String>,
    /// Whether a small model makes a prompt from the description.
    pub refine: Refine,
    /// Model to ask first.
    pub model: Option<String>,
    /// Name of a profile, or one as JSON.
    pub permission_profile: Option<String>,
    /// What it is made after.
    pub basis: Option<Basis>,
    /// The folder of the machine that it works in.
    pub folder: Option<String>,
    pub by: Person,
    pub guild: GuildId,
}

/// What a new agent is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A role, a template, or `@` and another agent.
    Named(String),
    /// A charter that was attached.
    File { name: String, text: String },
}

/// What is done with the text given as a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refine {
    /// It is used as the prompt, unchanged.
    #[default]
    Keep,
    /// A small model makes a prompt from it, if one is available.
    Tailor,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    pub name: AgentName,
    pub channel: ChannelId,
    /// What it asks first.
    pub model: Choice,
    /// Its permission profile, or `custom`.
    pub profile: String,
    /// What that permits, in words.
    pub allowed: String,
    /// What it is for, in a sentence; empty where its prompt does not say.
    pub purpose: String,
    /// The folder of the machine that it works in; `None` for its own.
    pub folder: Option<PathBuf>,
    /// It was made from the kept files of a destroyed agent.
    pub kept_files: bool,
    /// What else people should know, a sentence each.
    pub notes: Vec<String>,
}

impl Made {
    /// The agent `name` in `channel`, as its configuration says.
    pub(crate) fn of(
        name: AgentName,
        channel: ChannelId,
        model: Choice,
        config: AgentConfig,
        profiles: &Profiles,
    ) -> Self {
        Self {
            name,
            channel,
            model,
            allowed: profiles.in_words(&config.permissions),
            profile: config.permissions.label().to_owned(),
            purpose: purpose(&config.system_prompt),
            folder: config.workspace,
            kept_files: true,
            notes: Vec::new(),
        }
    }
}

/// What was checked and decided before anything is made.
pub(crate) struct Plan {
    /// Its id, unless the folder has one.
    pub(crate) id: AgentId,
    pub(crate) name: AgentName,
    pub(crate) model: Option<String>,
    pub(crate) profile: Option<ProfileRef>,
    pub(crate) default_profile: ProfileRef,
    pub(crate) default_model: Option<String>,
    pub(crate) prompt: Option<String>,
    pub(crate) origin: Option<Arc<Origin>>,
    /// The folder of the machine that it is bound to.
    pub(crate) bound: Option<Bound>,
}

/// Characters of what an agent is for.
const PURPOSE: usize = 120;

/// Returns what an agent is for, for everybody who sees its channel: the first sentence of its system prompt, of at most
/// [`PURPOSE`] characters. The rest of the prompt is for its model.
pub(crate) fn purpose(system_prompt: &str) -> String {
    let mut lines = system_prompt.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let first = first.trim_start_matches('#').trim_start();
    text::one_line(first_sentence(first), PURPOSE)
}

/// The text up to the first mark that ends a sentence. One before a small letter is of an abbreviation.
fn first_sentence(text: &str) -> &str {
    let ends = text.char_indices().find(|(at, mark)| {
        let behind = &text[at + mark.len_utf8()..];
        let next = behind.trim_start().chars().next();
        match mark {
            '.' | '!' | '?' => {
                behind.is_empty()
                    || behind.starts_with(char::is_whitespace)
                        && !next.is_some_and(char::is_lowercase)
            }
            '。' | '！' | '？' => true,
            _ => false,
        }
    });
    ends.map_or(text, |(at, mark)| &text[..at + mark.len_utf8()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_is_for_is_the_first_sentence_of_its_prompt() {
        for (prompt, told) in [
            ("You write tests. Use `make`.", "You write tests."),
            ("\n# Reviewer\nRead all.", "Reviewer"),
            ("Use tools, e.g. make. Then stop.", "Use tools, e.g. make."),
            ("Look at 1.5 and v2.0 of it", "Look at 1.5 and v2.0 of it"),
            ("你好。再见。", "你好。"),
            ("Who? Me!", "Who?"),
            ("  \n ", ""),
            ("", ""),
        ] {
            assert_eq!(purpose(prompt), told, "{prompt}");
        }
        let long = purpose(&"word ".repeat(100));
        assert!(
            long.chars().count() <= PURPOSE && long.ends_with('…'),
            "{long}"
        );
    }
}
