//! Commands that people can press: `</agent init:ID>` in place of a span of code, if the command's id is known. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

/// A command by itself in a span of code. Anything more than a name, such as a command with options, stays code: a
/// mention has no options.
static SPAN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"`/([a-z0-9_-]+(?: [a-z0-9_-]+)?)`").ok());

/// A mention of a command.
static MENTION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"</([a-z0-9_ -]+):[0-9]+>").ok());

/// The kind of a slash command, and of an option that is a subcommand.
const SLASH_COMMAND: u64 = 1;
const SUBCOMMAND: u64 = 1;

/// The ids of commands in one server, by their whole names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandIds(BTreeMap<String, String>);

impl CommandIds {
    /// Returns the ids in Discord's list of registered commands.
    pub fn of(registered: &Value) -> Self {
        let mut ids = BTreeMap::new();
        for command in registered.as_array().into_iter().flatten() {
            let (Some(name), Some(id)) = (command["name"].as_str(), command["id"].as_str()) else {
                continue;
            };
            if command["type"].as_u64().unwrap_or(SLASH_COMMAND) != SLASH_COMMAND {
                continue;
            }
            let options = command["options"].as_array().into_iter().flatten();
            let below: Vec<&str> = options
                .filter(|option| option["type"].as_u64() == Some(SUBCOMMAND))
                .filter_map(|option| option["name"].as_str())
                .collect();
            if below.is_empty() {
                ids.insert(name.to_owned(), id.to_owned());
            }
            for sub in below {
                ids.insert(format!("{name} {sub}"), id.to_owned());
            }
        }
        Self(ids)
    }

    /// Returns the ids in their stored form.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }

    /// Reads the stored ids; empty if they cannot be read.
    pub fn from_json(json: &str) -> Self {
        Self(serde_json::from_str(json).unwrap_or_default())
    }

    /// Returns `text` with a mention in place of each known command that is by itself in a span of code. Blocks of code
    /// stay as they are.
    pub fn link<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(span) = SPAN.as_ref().filter(|span| span.is_match(text)) else {
            return Cow::Borrowed(text);
        };
        let mention = |found: &Captures<'_>| match self.0.get(&found[1]) {
            Some(id) => format!("</{}:{id}>", &found[1]),
            None => found[0].to_owned(),
        };
        let parts = text.split("```").enumerate();
        let linked: Vec<Cow<'_, str>> = parts
            .map(|(index, part)| match index % 2 {
                0 => span.replace_all(part, mention),
                _ => Cow::Borrowed(part),
            })
            .collect();
        Cow::Owned(linked.join("```"))
    }
}

/// Returns `text` with a span of code in place of each mention of a command: the text before [`CommandIds::link`].
pub fn unlinked(text: &str) -> Cow<'_, str> {
    match MENTION.as_ref() {
        Some(mention) => mention.replace_all(text, "`/$1`"),
        None => Cow::Borrowed(text),
    }
}
