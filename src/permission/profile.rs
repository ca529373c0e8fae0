//! A profile: three lists of patterns, compiled once.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::pattern::{Pattern, PatternError};
use crate::text;

/// Most patterns of one list.
const MAX_PATTERNS: usize = 200;

/// The rights of an agent: patterns that allow, ask and deny.
#[derive(Debug)]
pub struct Profile {
    pub(super) allow: Vec<Pattern>,
    pub(super) ask: Vec<Pattern>,
    pub(super) deny: Vec<Pattern>,
    hash: String,
}

/// The lists of a profile, as people write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Allow,
    Ask,
    Deny,
}

impl List {
    const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl Profile {
    /// Reads `{"allow": [...], "ask": [...], "deny": [...]}`. `deny` may be left out.
    ///
    /// # Errors
    ///
    /// Fails with the list, the index and the reason.
    pub fn parse(value: &Value) -> Result<Self, ProfileError> {
        let Value::Object(map) = value else {
            return Err(ProfileError::NotAnObject(kind(value)));
        };
        Self::parse_map(map)
    }

    /// Reads it like [`Profile::parse`], from an object's entries.
    ///
    /// # Errors
    ///
    /// Fails like that function.
    pub fn parse_map(map: &Map<String, Value>) -> Result<Self, ProfileError> {
        const KEYS: [&str; 3] = ["allow", "ask", "deny"];
        if let Some(key) = map.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let hint = text::near(key, KEYS).map_or_else(
                || "known are `allow`, `ask` and `deny`".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(ProfileError::UnknownKey {
                key: text::visible(key).0,
                hint,
            });
        }
        Self::compile(
            &strings(map, List::Allow)?,
            &strings(map, List::Ask)?,
            &strings(map, List::Deny)?,
        )
    }

    /// Compiles the three lists.
    ///
    /// # Errors
    ///
    /// Fails with the list, the index and the reason.
    pub fn compile(allow: &[&str], ask: &[&str], deny: &[&str]) -> Result<Self, ProfileError> {
        let lists = serde_json::json!({ "allow": allow, "ask": ask, "deny": deny });
        Ok(Self {
            allow: patterns(List::Allow, allow)?,
            ask: patterns(List::Ask, ask)?,
            deny: patterns(List::Deny, deny)?,
            hash: format!("{:x}", Sha256::digest(lists.to_string())),
        })
    }

    /// Compiles a profile that denies the matches of `deny` and allows everything else. It may have more patterns than
    /// a list of a profile: those of several.
    ///
    /// # Errors
    ///
    /// Fails with the index and the reason.
    pub(super) fn denying_each(deny: &[&str]) -> Result<Self, ProfileError> {
        let mut profile = Self::compile(&[".*"], &[], &[])?;
        for some in deny.chunks(MAX_PATTERNS) {
            profile.deny.extend(patterns(List::Deny, some)?);
        }
        Ok(profile)
    }

    /// Returns SHA-256 over its lists, lower-case hex: equal profiles decide alike.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns the patterns that allow, as written.
    pub fn allow(&self) -> impl Iterator<Item = &str> {
        self.allow.iter().map(Pattern::source)
    }

    /// Returns the patterns that ask, as written.
    pub fn ask(&self) -> impl Iterator<Item = &str> {
        self.ask.iter().map(Pattern::source)
    }

    /// Returns the patterns that deny and may match an action of `tool`, as written.
    pub(super) fn deny_about(&self, tool: &str) -> impl Iterator<Item = &str> {
        let speaks = move |pattern: &&Pattern| pattern.may_speak_of(tool);
        self.deny.iter().filter(speaks).map(Pattern::source)
    }

    /// Returns the patterns that deny, as written.
    pub fn deny(&self) -> impl Iterator<Item = &str> {
        self.deny.iter().map(Pattern::source)
    }
}

fn strings(map: &Map<String, Value>, list: List) -> Result<Vec<&str>, ProfileError> {
    let value = match map.get(list.name()) {
        Some(value) => value,
        None if list == List::Deny => return Ok(Vec::new()),
        None => return Err(ProfileError::MissingList(list.name())),
    };
    let Value::Array(items) = value else {
        return Err(ProfileError::NotAList {
            list: list.name(),
            found: kind(value),
        });
    };
    items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            item.as_str().ok_or(ProfileError::NotAString {
                list: list.name(),
                index,
                found: kind(item),
            })
        })
        .collect()
}

fn patterns(list: List, sources: &[&str]) -> Result<Vec<Pattern>, ProfileError> {
    if sources.len() > MAX_PATTERNS {
        return Err(ProfileError::TooMany {
            list: list.name(),
            count: sources.len(),
        });
    }
    sources
        .iter()
        .enumerate()
        .map(|(index, source)| {
            Pattern::compile(source).map_err(|reason| ProfileError::Pattern {
                list: list.name(),
                index,
                pattern: text::one_line(&text::visible(source).0, 200),
                reason,
            })
        })
        .collect()
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Why a profile is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// No profile has this name.
    #[error("no permission profile is called `{name}`; {hint}")]
    UnknownName { name: String, hint: String },
    /// A profile of the configuration has the name of a built-in one.
    #[error("this name belongs to a built-in profile; choose another")]
    NameTaken,
    /// Not an object at all.
    #[error("a permission profile is an object of lists `allow`, `ask` and `deny`, not {0}")]
    NotAnObject(&'static str),
    /// A key that profiles do not have.
    #[error("a permission profile has no key `{key}`; {hint}")]
    UnknownKey {
        key: String,
        /// The key that was probably meant.
        hint: String,
    },
    /// `allow` or `ask` is missing.
    #[error("the list `{0}` is missing; write `\"{0}\": []` if it is empty")]
    MissingList(&'static str),
    /// A list that is not an array.
    #[error("`{list}` must be a list of patterns, not {found}")]
    NotAList {
        list: &'static str,
        found: &'static str,
    },
    /// An entry that is not text.
    #[error("`{list}[{index}]` must be a pattern in quotes, not {found}")]
    NotAString {
        list: &'static str,
        /// The entry, counted from 0.
        index: usize,
        found: &'static str,
    },
    /// More patterns than a list may have.
    #[error("`{list}` has {count} patterns, at most {MAX_PATTERNS} are allowed")]
    TooMany { list: &'static str, count: usize },
    /// A pattern that does not compile.
    #[error("`{list}[{index}]` is not a pattern: `{pattern}`: {reason}")]
    Pattern {
        list: &'static str,
        /// The entry, counted from 0.
        index: usize,
        /// The pattern, shortened for people.
        pattern: String,
        reason: PatternError,
    },
}
