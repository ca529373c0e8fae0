//! The state of a server: settings, models, profiles, commands.

use std::collections::BTreeMap;

use serde_json::Value;

use super::lists::lines_within;
use super::times;
use crate::clock;
use crate::config::effective::{KEYS, Server, Shown};
use crate::config::{Config, Key, in_words};
use crate::discord::rest::body::{Body, Embed, MAX_DESCRIPTION, MAX_FIELD_VALUE, Tone};
use crate::domain::{ProfileRef, RoleId};
use crate::llm::Target;
use crate::llm::discovery::{Available, Choice, Listed};
use crate::permission::Profiles;
use crate::text::{count, escape};

/// Returns everything that applies to the agents of a server.
pub fn settings(
    server: &Server,
    model: &Choice,
    config: &Config,
    known: Option<&Available>,
    profiles: &Profiles,
) -> Body {
    let keys = match known {
        None => "Not checked yet: `/settings validate-keys`".to_owned(),
        Some(known) => lines_within(key_lines(known), MAX_FIELD_VALUE),
    };
    let mut embed = Embed::new("Settings of this server", "");
    for (title, value) in KEYS.iter().filter_map(|key| key.shown) {
        embed = embed.field(title, shown(value(server), model, profiles));
    }
    let embed = embed
        .field(
            "Steps per turn",
            config.max_tool_loop_iterations.get().to_string(),
        )
        .field(
            "Longest command",
            clock::duration(config.max_bash_timeout.get()),
        )
        .field("API keys", keys);
    Body::embed(embed)
}

fn shown(value: Shown<'_>, model: &Choice, profiles: &Profiles) -> String {
    match value {
        Shown::Model => super::agents::model(model),
        Shown::Profile(name) => profile(name, profiles),
        Shown::Tier(model) => model.map_or_else(|| "the agent's own".to_owned(), escape::code),
        Shown::Duration(length) => length.map_or("never".to_owned(), clock::duration),
        Shown::Roles { roles, none } => role_list(roles, none),
        Shown::Grants(table) => grant_lines(&table.0),
        Shown::Zone(zone) => zone.map_or_else(|| "the machine's".to_owned(), escape::code),
    }
}

/// Returns a profile by its name, with its meaning if that is known.
pub(super) fn permissions(name: &str, in_words: &str) -> String {
    let name = escape::code(name);
    if in_words.is_empty() {
        return name;
    }
    format!("{name} · {}", escape::text(in_words))
}

/// Returns a profile by its name, with its meaning.
fn profile(name: &str, profiles: &Profiles) -> String {
    permissions(
        name,
        &profiles.in_words(&ProfileRef::Named(name.to_owned())),
    )
}

pub fn setting_changed(key: &Key, value: &Value) -> Body {
    Body::text(format!(
        "{} is now {}.",
        in_words::label(key),
        in_words::value(key, value)
    ))
}

pub fn roles(what: &str, roles: &[RoleId], none: &str) -> Body {
    let shown = match roles {
        [] => none.to_owned(),
        roles => role_list(roles, none),
    };
    Body::text(format!("{}: {shown}", escape::code(what)))
}

fn role_list(roles: &[RoleId], none: &str) -> String {
    if roles.is_empty() {
        return none.to_owned();
    }
    lines_within(
        [roles
            .iter()
            .map(|role| format!("<@&{role}>"))
            .collect::<Vec<_>>()
            .join(" ")],
        MAX_FIELD_VALUE,
    )
}

/// Lists who may grant which profiles.
pub fn grants(table: &BTreeMap<RoleId, Vec<String>>) -> Body {
    Body::embed(Embed::new(
        "Who may grant which profiles",
        grant_lines(table),
    ))
}

fn grant_lines(table: &BTreeMap<RoleId, Vec<String>>) -> String {
    if table.is_empty() {
        return "Only Administrators.".to_owned();
    }
    let lines = table.iter().map(|(role, profiles)| {
        let profiles: Vec<String> = profiles.iter().map(|name| escape::code(name)).collect();
        format!("<@&{role}>: {}", profiles.join(", "))
    });
    lines_within(lines, MAX_FIELD_VALUE)
}

/// Returns the available models, by provider; `known` is the result of discovery, `default` the model of agents that
/// name none.
pub fn models(all: &[Target], known: Option<&Available>, default: &Choice) -> Body {
    if all.is_empty() {
        return Body::sentence(no_models(known));
    }
    let mut providers: BTreeMap<&str, Vec<&Target>> = BTreeMap::new();
    for target in all {
        providers.entry(&target.provider).or_default().push(target);
    }
    let mut embed = Embed::new("Available models", "").footer(format!("Default: {default}"));
    for (provider, models) in providers {
        let old = known.and_then(|known| old_list(known.providers.get(provider)?));
        let lines = models.iter().map(|target| {
            if is_default(default, target) {
                format!("**→** {}", escape::code(&target.model))
            } else {
                escape::code(&target.model)
            }
        });
        let name = format!("{provider} ({})", models.len());
        embed = embed.field(
            name,
            lines_within(old.into_iter().chain(lines), MAX_FIELD_VALUE),
        );
    }
    Body::embed(embed)
}

/// Returns why there is nothing to list, and what to do about it.
fn no_models(known: Option<&Available>) -> String {
    let providers = known.into_iter().flat_map(|known| &known.providers);
    let lines: Vec<String> = providers
        .map(|(name, listed)| match &listed.error {
            Some(error) => format!("\n- {name}: {}", escape::text(error)),
            None => {
                format!("\n- {name}: it offers no models; load one, or name one as `{name}/model`")
            }
        })
        .collect();
    if lines.is_empty() {
        return "No model is known yet. Set a key such as ANTHROPIC_API_KEY, or add your own server to \
                `providers` of config.json; `/settings validate-keys` refreshes the list."
            .to_owned();
    }
    format!(
        "No model is known yet.{}\n`/settings validate-keys` asks again.",
        lines.concat()
    )
}

/// Returns whether `target` is the default, which may be named without its provider.
fn is_default(default: &Choice, target: &Target) -> bool {
    let named = default.model();
    named.is_some_and(|name| name == target.model || name == target.to_string())
}

/// Returns why the models of a provider are those of an earlier list.
fn old_list(listed: &Listed) -> Option<String> {
    let error = listed.error.as_ref().filter(|_| listed.valid)?;
    Some(format!(
        "-# Cached list; refresh failed: {}",
        escape::text(error)
    ))
}

/// Returns the outcome of asking each provider.
pub fn keys(found: &Available) -> Body {
    let text = if found.providers.is_empty() {
        "No provider is configured. Set a key such as ANTHROPIC_API_KEY and restart.".to_owned()
    } else {
        lines_within(key_lines(found), MAX_DESCRIPTION - 60)
    };
    let text = format!("{text}\n-# Last checked {}", times::ago(found.last_updated));
    Body::embed(Embed::new("Key validation", text).tone(Tone::Good))
}

fn key_lines(found: &Available) -> Vec<String> {
    found
        .providers
        .iter()
        .map(|(name, listed)| match (listed.valid, &listed.error) {
            (true, None) => format!("**{name}**: valid ({})", listed_models(listed)),
            (true, Some(error)) => format!(
                "**{name}**: could not be reached — {}; it had {} before",
                escape::text(error),
                listed_models(listed)
            ),
            (false, Some(error)) => format!("**{name}**: invalid — {}", escape::text(error)),
            (false, None) => format!("**{name}**: invalid"),
        })
        .collect()
}

fn listed_models(listed: &Listed) -> String {
    count(listed.models.len(), "model", "models")
}

/// Returns all profiles: each in words, and its patterns in the attached file.
pub fn profiles(profiles: &Profiles, default: &str) -> Body {
    let mut embed = Embed::new(
        "Permission profiles",
        "What an agent may do. The patterns behind the words are in the attached file: deny comes first, then allow, then \
         ask, and what no pattern matches is denied.",
    );
    let mut patterns = String::from("# Permission profiles\n");
    for (name, profile) in profiles.iter() {
        let title = if name == default {
            format!("{name} (default)")
        } else {
            name.to_owned()
        };
        let words = profile.in_words();
        patterns.push_str(&format!("\n## {title}\n\n{words}\n"));
        embed = embed.field(title, escape::text(&words));
        let lists: [(&str, Vec<&str>); 3] = [
            ("Deny", profile.deny().collect()),
            ("Allow", profile.allow().collect()),
            ("Ask", profile.ask().collect()),
        ];
        for (list, all) in lists {
            patterns.push_str(&format!("\n### {list}\n\n{}\n", listed(&all)));
        }
    }
    Body::embed(embed).text_file("profiles.md", patterns)
}

/// Returns patterns as a Markdown list of code.
fn listed(patterns: &[&str]) -> String {
    if patterns.is_empty() {
        return "none".to_owned();
    }
    let lines: Vec<String> = patterns
        .iter()
        .map(|pattern| format!("- {}", escape::code(pattern)))
        .collect();
    lines.join("\n")
}

/// The order of the groups; others come last.
const ORDER: [&str; 6] = ["Talk", "Conversation", "Tasks", "Agents", "Server", "About"];

/// A command as `/help` lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelpLine {
    /// The group that is declared beside the command.
    pub group: String,
    pub name: String,
    pub description: String,
    pub kind: HelpKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelpKind {
    Slash,
    /// In the menu of a message.
    OnMessage,
    /// Asks one model.
    Shortcut,
}

/// Lists commands in their groups, each with its purpose. Shortcuts to models are one line.
pub fn help(commands: &[HelpLine]) -> Body {
    let mut embed = Embed::new(
        "What you may do here",
        "Write in an agent's channel to talk to it. These commands do the rest:",
    );
    let mut groups: Vec<&str> = Vec::new();
    for command in commands {
        if !groups.contains(&command.group.as_str()) {
            groups.push(&command.group);
        }
    }
    groups.sort_by_key(|group| {
        ORDER
            .iter()
            .position(|one| one == group)
            .unwrap_or(ORDER.len())
    });
    for group in groups {
        let of_group = || commands.iter().filter(move |one| one.group == group);
        let mut lines: Vec<String> = of_group()
            .filter_map(|one| match one.kind {
                HelpKind::Slash => Some(format!("`/{}` {}", one.name, one.description)),
                HelpKind::OnMessage => Some(format!("**{}** {}", one.name, one.description)),
                HelpKind::Shortcut => None,
            })
            .collect();
        let shortcuts = of_group().filter(|one| one.kind == HelpKind::Shortcut);
        let shortcuts: Vec<String> = shortcuts.map(|one| format!("`/{}`", one.name)).collect();
        if !shortcuts.is_empty() {
            lines.push(shortcuts.join(" "));
        }
        embed = fields(embed, group, &lines);
    }
    Body::embed(embed)
}

/// Characters by which a line grows when its command becomes a mention: the id, and one `:`.
const MENTION: usize = 21;

/// Adds lines as one field, or as several if they do not fit into one.
fn fields(mut embed: Embed, title: &str, lines: &[String]) -> Embed {
    let mut rest = lines;
    let mut title = title.to_owned();
    while !rest.is_empty() {
        let mut length = 0;
        let fitting = rest.iter().take_while(|line| {
            length += line.chars().count() + 1 + MENTION;
            length <= MAX_FIELD_VALUE
        });
        let count = fitting.count().max(1);
        embed = embed.field(&title, rest[..count].join("\n"));
        rest = &rest[count..];
        if !title.ends_with(" (more)") {
            title.push_str(" (more)");
        }
    }
    embed
}
