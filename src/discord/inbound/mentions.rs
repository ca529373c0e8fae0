//! Explains the ids in a message: people, roles, channels.

use std::collections::BTreeSet;

use serenity::all::{ChannelId, ChannelType, Guild, RoleId, User};

use crate::domain::UserId;
use crate::text::one_line;

/// Most ids of one message that are explained.
const MOST: usize = 20;

/// Most characters of a name.
const NAME: usize = 100;

/// Returns a line that names everything `text` mentions, with the ids as written there; `None` if it mentions nothing.
pub(super) fn legend<'u>(
    text: &str,
    users: impl Iterator<Item = &'u User> + Clone,
    own: UserId,
    server: Option<&Guild>,
) -> Option<String> {
    let mut seen = BTreeSet::new();
    let mut named = Vec::new();
    for (at, _) in text.match_indices('<') {
        let Some((inside, _)) = text[at + 1..].split_once('>') else {
            break;
        };
        let Some(who) = behind(inside, users.clone(), own, server) else {
            continue;
        };
        if seen.insert(inside) && named.len() < MOST {
            named.push(format!("<{inside}> is {who}"));
        }
    }
    (!named.is_empty()).then(|| format!("[{}]", named.join("; ")))
}

fn behind<'u>(
    inside: &str,
    mut users: impl Iterator<Item = &'u User>,
    own: UserId,
    server: Option<&Guild>,
) -> Option<String> {
    let name = |name: &str| one_line(name, NAME);
    if let Some(id) = inside.strip_prefix("@&") {
        let role = server?.roles.get(&RoleId::new(number(id)?))?;
        return Some(format!("the role {}", name(&role.name)));
    }
    if let Some(id) = inside.strip_prefix('@') {
        let id = number(id.trim_start_matches('!'))?;
        if id == own.0 {
            return Some("you".to_owned());
        }
        let user = users.find(|user| user.id.get() == id)?;
        let kind = if user.bot { "the bot" } else { "the person" };
        let shown = user.global_name.as_ref().unwrap_or(&user.name);
        return Some(format!("{kind} {}", name(shown)));
    }
    let id = ChannelId::new(number(inside.strip_prefix('#')?)?);
    let server = server?;
    if let Some(channel) = server.channels.get(&id) {
        return Some(format!(
            "the {} #{}",
            kind(channel.kind),
            name(&channel.name)
        ));
    }
    let thread = server.threads.iter().find(|thread| thread.id == id)?;
    Some(format!("the thread {}", name(&thread.name)))
}

/// Reads an id; none is 0.
fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|id| *id != 0)
}

fn kind(kind: ChannelType) -> &'static str {
    match kind {
        ChannelType::Voice | ChannelType::Stage => "voice channel",
        ChannelType::Category => "category",
        ChannelType::News => "announcement channel",
        ChannelType::Forum => "forum",
        _ => "channel",
    }
}
