//! The texts that a world's people were shown, and whether Discord draws them as they are meant.

use chorus_playground::Request;
use serde_json::Value;

use crate::referee::{self, Case};

/// Everything that Discord can draw.
const DRAWN: &[&str] = &[
    "strong",
    "em",
    "u",
    "strike",
    "spoiler",
    "heading",
    "list",
    "quote",
    "subtext",
    "link",
    "user",
    "channel",
    "role",
    "timestamp",
    "command",
    "emoji",
];

/// What is there to be drawn, and is a mistake where somebody reads it.
const MARKS: &[&str] = &[
    "**", "~~", "||", "`", "](", "<@", "<#", "<t:", "</", "\n-# ",
];

/// A text that was shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shown {
    /// Where Discord reads Markdown: messages and most of their embeds.
    Drawn(String),
    /// Where it shows letters as they are: labels, footers, forms, suggestions, descriptions of commands.
    Plain(String),
}

/// The texts of these requests, each once.
pub(crate) fn shown_in(requests: &[Request]) -> Vec<Shown> {
    let mut found = Vec::new();
    for request in requests {
        if request.method == "PUT" && request.path.ends_with("/commands") {
            descriptions(&request.body, &mut found);
        } else if request.method != "GET" {
            texts(&request.body, &mut found);
        }
    }
    found.sort();
    found.dedup();
    found
}

fn texts(body: &Value, found: &mut Vec<Shown>) {
    let message = if body["data"].is_object() {
        &body["data"]
    } else {
        body
    };
    let drawn = |text: &Value, found: &mut Vec<Shown>| {
        found.extend(text.as_str().map(|text| Shown::Drawn(text.to_owned())));
    };
    drawn(&message["content"], found);
    for embed in message["embeds"].as_array().into_iter().flatten() {
        drawn(&embed["title"], found);
        drawn(&embed["description"], found);
        for field in embed["fields"].as_array().into_iter().flatten() {
            drawn(&field["name"], found);
            drawn(&field["value"], found);
        }
        plain(&embed["footer"]["text"], found);
        plain(&embed["author"]["name"], found);
    }
    plain(&message["title"], found);
    parts(&message["components"], found);
    for choice in message["choices"].as_array().into_iter().flatten() {
        plain(&choice["name"], found);
    }
}

fn plain(text: &Value, found: &mut Vec<Shown>) {
    found.extend(text.as_str().map(|text| Shown::Plain(text.to_owned())));
}

/// Labels and hints of buttons, menus and fields.
fn parts(components: &Value, found: &mut Vec<Shown>) {
    for part in components.as_array().into_iter().flatten() {
        for key in ["label", "placeholder", "description"] {
            plain(&part[key], found);
        }
        parts(&part["components"], found);
        parts(&part["component"], found);
        parts(&part["options"], found);
    }
}

/// Descriptions of commands and of their options.
fn descriptions(commands: &Value, found: &mut Vec<Shown>) {
    for command in commands.as_array().into_iter().flatten() {
        plain(&command["description"], found);
        descriptions(&command["options"], found);
        for choice in command["choices"].as_array().into_iter().flatten() {
            plain(&choice["name"], found);
        }
    }
}

/// Fails where a mark is read as it was typed.
pub(crate) fn judge(shown: &[Shown]) {
    let is_raw = |text: &&Shown| matches!(text, Shown::Plain(text) if MARKS.iter().any(|mark| text.contains(mark)));
    let raw: Vec<&Shown> = shown.iter().filter(is_raw).collect();
    assert!(
        raw.is_empty(),
        "not read as Markdown where they stand: {raw:#?}"
    );
    let drawn = shown.iter().filter_map(|text| match text {
        Shown::Drawn(text) => Some(Case::new(text, DRAWN).never(MARKS)),
        Shown::Plain(_) => None,
    });
    referee::judges(&drawn.collect::<Vec<_>>());
}
