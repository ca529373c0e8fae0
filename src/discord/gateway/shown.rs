//! Describes in words the visible parts of a message besides its own text and its files: cards, layouts, polls and
//! stickers.
//!
//! It reads Discord's JSON before serenity does: serenity knows only some of the parts, and refuses a whole message
//! over one.

use serde_json::{Map, Value};

use crate::text::one_line;

type Object = Map<String, Value>;

/// Most characters of all of it: ten cards may have 60,000.
const MOST: usize = 8_000;

/// Deepest level of nested layouts that is read.
const DEEPEST: usize = 8;

/// Returns the visible content of `message`, one block per part; `None` if there is only text and files.
pub(super) fn shown(message: &Object) -> Option<String> {
    let mut blocks: Vec<String> = list(message, "embeds").filter_map(card).collect();
    let mut lines = Vec::new();
    for component in list(message, "components") {
        layout(component, DEEPEST, &mut lines);
    }
    blocks.extend(block("layout", lines));
    blocks.extend(
        message
            .get("poll")
            .and_then(Value::as_object)
            .and_then(poll),
    );
    let stickers = list(message, "sticker_items").chain(list(message, "stickers"));
    blocks.extend(
        stickers.filter_map(|sticker| Some(format!("[sticker: {}]", words(sticker, "name")?))),
    );
    let shown = blocks.join("\n");
    match shown.char_indices().nth(MOST) {
        Some((end, _)) => Some(format!("{}…", &shown[..end])),
        None => Some(shown).filter(|shown| !shown.is_empty()),
    }
}

/// Returns all visible content of a message from Discord's REST API: text, forwarded messages, cards, and names of
/// files.
pub(in crate::discord) fn everything(message: &Object) -> String {
    let mut parts = vec![words(message, "content").unwrap_or_default().to_owned()];
    for snapshot in list(message, "message_snapshots") {
        let forwarded = snapshot.get("message").and_then(Value::as_object);
        let forwarded = forwarded.map(everything);
        parts.extend(forwarded.and_then(|text| block("forwarded message", vec![text])));
    }
    parts.extend(shown(message));
    let files = list(message, "attachments");
    parts.extend(files.filter_map(|file| Some(format!("[file {}]", words(file, "filename")?))));
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n")
}

/// Returns the text of a message with its other visible content.
pub(in crate::discord) fn with_card(text: &str, shown: &str) -> String {
    if text.trim().is_empty() {
        shown.to_owned()
    } else {
        format!("{text}\n{shown}")
    }
}

/// Returns the words of a card: a webhook's report, a bot's answer, the preview of a link.
fn card(embed: &Object) -> Option<String> {
    let mut lines = Vec::new();
    for part in ["provider", "author"] {
        let name = embed.get(part).and_then(Value::as_object);
        lines.extend(name.and_then(|part| named(part, "name")));
    }
    lines.extend(named(embed, "title"));
    if words(embed, "title").is_none() {
        lines.extend(words(embed, "url").map(str::to_owned));
    }
    lines.extend(words(embed, "description").map(str::to_owned));
    for field in list(embed, "fields") {
        let value = words(field, "value").unwrap_or_default();
        lines.push(match words(field, "name") {
            Some(name) => format!("{name}: {value}"),
            None => value.to_owned(),
        });
    }
    for (part, name) in [
        ("image", "picture"),
        ("thumbnail", "small picture"),
        ("video", "video"),
    ] {
        let part = embed.get(part).and_then(Value::as_object);
        let address = part.and_then(|part| words(part, "url"));
        lines.extend(address.map(|address| format!("({name}: {address})")));
    }
    let footer = embed.get("footer").and_then(Value::as_object);
    lines.extend(
        footer
            .and_then(|footer| words(footer, "text"))
            .map(str::to_owned),
    );
    lines.extend(words(embed, "timestamp").map(str::to_owned));
    block("card", lines)
}

/// Adds the content of a component, including nested ones.
fn layout(component: &Object, deeper: usize, lines: &mut Vec<String>) {
    lines.extend(words(component, "content").map(str::to_owned));
    let label = words(component, "label").or(words(component, "placeholder"));
    lines.extend(label.map(|label| match words(component, "url") {
        Some(address) => format!("(button: {label}, {address})"),
        None => format!("(button: {label})"),
    }));
    let pictures = list(component, "items").chain(std::iter::once(component));
    for picture in pictures {
        let medium = picture
            .get("media")
            .or(picture.get("file"))
            .and_then(Value::as_object);
        let Some(address) = medium.and_then(|medium| words(medium, "url")) else {
            continue;
        };
        let about =
            words(picture, "description").map_or_else(String::new, |about| format!("{about}, "));
        lines.push(format!("(file: {about}{address})"));
    }
    if deeper == 0 {
        return;
    }
    let accessory = component.get("accessory").and_then(Value::as_object);
    let options = list(component, "options").filter_map(|option| words(option, "label"));
    lines.extend(options.map(|option| format!("- {option}")));
    for inner in list(component, "components").chain(accessory) {
        layout(inner, deeper - 1, lines);
    }
}

fn poll(poll: &Object) -> Option<String> {
    let question = poll.get("question").and_then(Value::as_object);
    let mut lines: Vec<String> = question
        .and_then(|question| words(question, "text"))
        .map(str::to_owned)
        .into_iter()
        .collect();
    let counts = poll.get("results").and_then(Value::as_object);
    for answer in list(poll, "answers") {
        let medium = answer.get("poll_media").and_then(Value::as_object);
        let Some(text) = medium.and_then(|medium| words(medium, "text")) else {
            continue;
        };
        let of_it = |count: &&Object| count.get("id") == answer.get("answer_id");
        let count = counts.and_then(|counts| list(counts, "answer_counts").find(of_it));
        let votes = count
            .and_then(|count| count.get("count"))
            .and_then(Value::as_u64);
        lines.push(match votes {
            Some(votes) => format!("- {text} ({votes})"),
            None => format!("- {text}"),
        });
    }
    block("poll", lines)
}

/// Returns the lines of a part under its kind, each of them quoted, so that no line of it passes for the author's own
/// words.
fn block(kind: &str, lines: Vec<String>) -> Option<String> {
    let text = lines.join("\n");
    let quoted: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
    (!quoted.is_empty()).then(|| format!("[{kind}]\n{}", quoted.join("\n")))
}

/// Returns words with the address that a press on them opens.
fn named(part: &Object, key: &str) -> Option<String> {
    let name = words(part, key)?;
    Some(match words(part, "url") {
        Some(address) => format!("{name} ({})", one_line(address, 500)),
        None => name.to_owned(),
    })
}

/// Returns the text under `key`, unless it is blank.
fn words<'v>(object: &'v Object, key: &str) -> Option<&'v str> {
    let text = object.get(key)?.as_str()?.trim();
    (!text.is_empty()).then_some(text)
}

fn list<'v>(object: &'v Object, key: &str) -> impl Iterator<Item = &'v Object> {
    let all = object.get(key).and_then(Value::as_array);
    all.into_iter().flatten().filter_map(Value::as_object)
}
