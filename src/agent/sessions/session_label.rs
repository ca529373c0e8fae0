//! How a session is labelled: slug, description, shortened summary. Pure.

use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::domain::Item;
use crate::text::one_line;

/// Takes the place of a summary that could not be made.
pub const SUMMARY_FAILED: &str = "(summary generation failed)";

/// Longest slug, in characters.
const SLUG: usize = 40;

/// Longest description that is derived, in characters.
const DESCRIPTION: usize = 100;

/// Longest summary that is kept, in characters: a model that rambles must not fill the notice.
const SUMMARY: usize = 1000;

/// Hex characters of the hash that names a session when no words can.
const HASH: usize = 6;

/// The part of a file name that says what a session was about.
///
/// Made from `description`, else from `summary`; when neither leaves anything, from a hash of the first message.
pub fn slug(description: Option<&str>, summary: Option<&str>, items: &[Item]) -> String {
    description
        .or(summary)
        .map(slug_of)
        .filter(|slug| !slug.is_empty())
        .unwrap_or_else(|| hash_of(items.first().map_or("", Item::text)))
}

/// `text` in lower case with hyphens for spaces, everything but `a-z 0-9 -` dropped, hyphens single and not at the
/// ends, at most 40 characters.
pub fn slug_of(text: &str) -> String {
    let mut slug = String::new();
    for character in text.to_lowercase().chars() {
        match character {
            'a'..='z' | '0'..='9' => slug.push(character),
            _ if character != '-' && !character.is_whitespace() => {}
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
        if slug.len() == SLUG {
            break;
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

fn hash_of(text: &str) -> String {
    let mut hash = format!("{:x}", Sha256::digest(text.as_bytes()));
    hash.truncate(HASH);
    hash
}

/// What a session is labelled with: what a person gave, else the summary's first sentence, else the first line of
/// the first message.
pub fn description(given: Option<&str>, summary: Option<&str>, items: &[Item]) -> String {
    if let Some(given) = given {
        return given.to_owned();
    }
    let sentence = summary.and_then(|summary| summary.unicode_sentences().next());
    let text = sentence.unwrap_or_else(|| {
        let first = items.first().map_or("", Item::text);
        first
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("")
    });
    one_line(text, DESCRIPTION)
}

/// The label of a conversation whose words pass a role before people get them: its date, and the first words of a person in
/// it. Nothing that a model wrote is part of it.
pub fn of_people(saved_at: DateTime<Utc>, items: &[Item]) -> String {
    let date = saved_at.format("%Y-%m-%d");
    let words = items.iter().find_map(|item| match item {
        Item::User(words) if !words.note && words.author.is_some() => {
            words.text.lines().find(|line| !line.trim().is_empty())
        }
        Item::User(_) | Item::Assistant(_) | Item::ToolResult(_) => None,
    });
    match words {
        Some(words) => one_line(&format!("Session of {date}: {words}"), DESCRIPTION),
        None => format!("Session of {date}"),
    }
}

/// A model's summary as it is kept: one paragraph, bounded. `None` when it is empty.
pub fn summary(said: &str) -> Option<String> {
    let summary = one_line(said, SUMMARY);
    (!summary.is_empty()).then_some(summary)
}
