//! What holds in a server: settings, models, profiles, commands.

use std::collections::BTreeMap;

use super::lists::lines_within;
use crate::clock;
use crate::config::effective::{KEYS, Server, Shown};
use crate::config::{Config, Key};
use crate::discord::rest::body::{Body, Embed, MAX_DESCRIPTION, MAX_FIELD_VALUE, Tone};
use crate::domain::RoleId;
use crate::llm::Target;
use crate::llm::discovery::{Available, Choice, Listed};
use crate::permission::Profiles;
use crate::text::{count, escape};

/// Everything that holds for the agents of a server.
pub fn settings(
    server: &Server,
    model: &Choice,
    config: &Config,
    known: Option<&Available>,
) -> Body {
    let keys = match known {
        None => "Not checked yet: `/settings validate-keys`".to_owned(),
        Some(known) => lines_within(key_lines(known), MAX_FIELD_VALUE),
    };
    let mut embed = Embed::new("Settings of this server", "");
    for (title, value) in KEYS.iter().filter_map(|key| key.shown) {
        embed = embed.field(title, shown(value(server), model));
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

fn shown(value: Shown<'_>, model: &Choice) -> String {
    match value {
        Shown::Model => super::agents::model(model),
        Shown::Profile(name) => escape::code(name),
        Shown::Duration(length) => length.map_or("never".to_owned(), clock::duration),
        Shown::Roles { roles, none } => role_list(roles, none),
        Shown::Grants(table) => grant_lines(&table.0),
    }
}

pub fn setting_changed(key: &Key, value: &str) -> Body {
    Body::text(format!(
        "{} is now {}.",
        escape::code(key.name),
        escape::code(value)
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

/// Who may grant which profiles.
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

/// What can be asked, by provider; `known` is what discovery found, `default` what agents ask that name no model.
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

/// Why there is nothing to list, and the way out.
fn no_models(known: Option<&Available>) -> String {
    let providers = known.into_iter().flat_map(|known| &known.providers);
    let lines: Vec<String> = providers
        .map(|(name, listed)| match &listed.error {
            Some(error) => format!("\n- {name}: {}", escape::text(error)),
            None => {
                format!("\n- {name}: it has no models; load one, or name one as `{name}/model`")
            }
        })
        .collect();
    if lines.is_empty() {
        return "No model is known yet. Set a key such as ANTHROPIC_API_KEY or name a server of your own in \
                `providers` of config.json; `/settings validate-keys` asks for the lists."
            .to_owned();
    }
    format!(
        "No model is known yet.{}\n`/settings validate-keys` asks again.",
        lines.concat()
    )
}

/// Whether `target` is the default, which may be named without its provider.
fn is_default(default: &Choice, target: &Target) -> bool {
    let named = default.model();
    named.is_some_and(|name| name == target.model || name == target.to_string())
}

/// Why the models of a provider are those it named before.
fn old_list(listed: &Listed) -> Option<String> {
    let error = listed.error.as_ref().filter(|_| listed.valid)?;
    Some(format!(
        "-# From before; not listed now: {}",
        escape::text(error)
    ))
}

/// What came of asking each provider.
pub fn keys(found: &Available) -> Body {
    let text = if found.providers.is_empty() {
        "No provider is configured. Set a key such as ANTHROPIC_API_KEY and restart.".to_owned()
    } else {
        lines_within(key_lines(found), MAX_DESCRIPTION)
    };
    let footer = format!(
        "Last updated {} UTC",
        found.last_updated.format("%Y-%m-%d %H:%M")
    );
    Body::embed(
        Embed::new("Key validation", text)
            .footer(footer)
            .tone(Tone::Good),
    )
}

fn key_lines(found: &Available) -> Vec<String> {
    found
        .providers
        .iter()
        .map(|(name, listed)| match (listed.valid, &listed.error) {
            (true, None) => format!("**{name}**: valid ({})", listed_models(listed)),
            (true, Some(error)) => format!(
                "**{name}**: not reached — {}; it had {} before",
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

/// All profiles with their lists. What does not fit is in the attached file.
pub fn profiles(profiles: &Profiles, default: &str) -> Body {
    let mut embed = Embed::new(
        "Permission profiles",
        "Patterns of actions, judged in the order deny, allow, ask; what none matches is denied.",
    );
    let mut full = String::new();
    let mut is_cut = false;
    for (name, profile) in profiles.iter() {
        let lists = [
            ("Allow", list(profile.allow())),
            ("Ask", list(profile.ask())),
            ("Deny", list(profile.deny())),
        ];
        let whole: String = lists
            .iter()
            .map(|(word, list)| format!("**{word}**\n{list}\n"))
            .collect();
        full.push_str(&format!("{name}\n{whole}\n"));
        let fits = whole.chars().count() <= MAX_FIELD_VALUE;
        is_cut |= !fits;
        let shown: String = if fits {
            whole
        } else {
            lists
                .iter()
                .map(|(word, list)| {
                    format!(
                        "**{word}**\n{}\n",
                        lines_within(list.lines().map(str::to_owned), 300)
                    )
                })
                .collect()
        };
        let title = if name == default {
            format!("{name} (default)")
        } else {
            name.to_owned()
        };
        embed = embed.field(title, shown);
    }
    if is_cut {
        Body::embed(embed).file("profiles.md", full)
    } else {
        Body::embed(embed)
    }
}

fn list<'a>(patterns: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<String> = patterns.map(escape::code).collect();
    if lines.is_empty() {
        "none".to_owned()
    } else {
        lines.join("\n")
    }
}

/// Commands, each with what it does.
pub fn help(commands: &[(String, String)]) -> Body {
    let lines = commands
        .iter()
        .map(|(name, description)| format!("`/{name}` {description}"));
    let text = lines_within(lines, MAX_DESCRIPTION);
    let footer = "Or just write: messages in an agent's channel go to that agent.";
    Body::embed(Embed::new("What you may do here", text).footer(footer))
}
