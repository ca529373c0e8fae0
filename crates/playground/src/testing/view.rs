//! A channel as text, for people who read test snapshots.

use crate::guild::Message;
use crate::world::World;
use chorus_base::discord_ids::{ChannelId, UserId};

/// Returns every message of a channel, in order.
pub(crate) fn channel(world: &World, channel: ChannelId) -> String {
    let all = world.messages.get(&channel).into_iter().flatten();
    all.map(|(_, one)| message(world, one))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns one message: name, text, then its attachments and components, indented.
pub(crate) fn message(world: &World, message: &Message) -> String {
    let mut head = message.author_name.clone();
    if let Some(owner) = message.only_for {
        head.push_str(&format!(" (only {} sees this)", world.name_of(owner)));
    }
    if let Some(original) = message.reply_to {
        let to = world
            .message(message.channel, original)
            .map(|one| one.author_name.clone());
        head.push_str(&format!(
            " → {}",
            to.unwrap_or_else(|| "a deleted message".to_owned())
        ));
    }
    let mut lines = Vec::new();
    let content = readable(world, &message.content);
    let is_loading = message.flags & 1 << 7 != 0;
    let text = if is_loading {
        "(thinking)".to_owned()
    } else {
        content
    };
    let mut parts = text.lines();
    lines.push(
        format!("{head}: {}", parts.next().unwrap_or_default())
            .trim_end()
            .to_owned(),
    );
    lines.extend(parts.map(|line| format!("    {line}").trim_end().to_owned()));
    for embed in &message.embeds {
        lines.extend(embed_lines(world, embed));
    }
    for file in &message.attachments {
        lines.push(format!("    <file {} · {} bytes>", file.name, file.size));
    }
    for row in &message.components {
        let parts = row["components"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let shown: Vec<String> = parts.iter().map(component).collect();
        lines.push(format!("    {}", shown.join(" ")));
    }
    if !message.reactions.is_empty() {
        let each = message.reactions.iter();
        let shown: Vec<String> = each
            .map(|one| format!("{} {}", one.emoji, one.by.len()))
            .collect();
        lines.push(format!("    {{{}}}", shown.join(", ")));
    }
    if !message.pings.is_empty() {
        lines.push(format!("    (pings {})", message.pings.join(", ")));
    }
    lines.join("\n")
}

fn embed_lines(world: &World, embed: &serde_json::Value) -> Vec<String> {
    let text = |value: &serde_json::Value| readable(world, value.as_str().unwrap_or_default());
    let mut lines = Vec::new();
    let mut put = |line: &str| lines.push(format!("    │ {line}").trim_end().to_owned());
    let title = text(&embed["title"]);
    if !title.is_empty() {
        put(&format!("**{title}**"));
    }
    text(&embed["description"]).lines().for_each(&mut put);
    for field in embed["fields"].as_array().into_iter().flatten() {
        let value = text(&field["value"]);
        let mut value = value.lines();
        put(&format!(
            "{}: {}",
            text(&field["name"]),
            value.next().unwrap_or_default()
        ));
        value.for_each(|line| put(&format!("  {line}")));
    }
    let footer = text(&embed["footer"]["text"]);
    if !footer.is_empty() {
        put(&format!("— {footer}"));
    }
    lines
}

fn component(part: &serde_json::Value) -> String {
    let text = |name: &str| part[name].as_str().unwrap_or_default();
    let emoji = part["emoji"]["name"].as_str().unwrap_or_default();
    let label = format!("{emoji} {}", text("label"));
    let grey = if part["disabled"] == true {
        " (grey)"
    } else {
        ""
    };
    match part["type"].as_u64() {
        Some(2) => format!("[{}{grey}]", label.trim()),
        _ => {
            let options = part["options"].as_array().into_iter().flatten();
            let labels: Vec<&str> = options
                .filter_map(|option| option["label"].as_str())
                .collect();
            format!("[{} ▾ {}{grey}]", text("placeholder"), labels.join(" | "))
        }
    }
}

/// Replaces mentions by names, so that no id is in the text.
fn readable(world: &World, text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let (before, tail) = rest.split_at(start);
        result.push_str(before);
        let Some(end) = tail.find('>') else {
            rest = tail;
            break;
        };
        let inside = &tail[1..end];
        let named = if let Some(id) = inside.strip_prefix('#') {
            let id = id.parse().ok().map(ChannelId);
            let found = id.and_then(|id| world.channels.get(&id));
            found.map(|channel| format!("#{}", channel.name))
        } else if let Some(id) = inside.strip_prefix('@') {
            let id = id.trim_start_matches('!').parse().ok().map(UserId);
            id.filter(|id| world.users.contains_key(id))
                .map(|id| format!("@{}", world.name_of(id)))
        } else if let Some(command) = inside.strip_prefix('/') {
            let name = command.split_once(':').map(|(name, _)| name);
            name.map(|name| format!("`/{name}`"))
        } else if inside.starts_with("t:") {
            Some("<a time>".to_owned())
        } else {
            None
        };
        match named {
            Some(name) => {
                result.push_str(&name);
                rest = &tail[end + 1..];
            }
            None => {
                result.push('<');
                rest = &tail[1..];
            }
        }
    }
    result.push_str(rest);
    result
}
