//! A slash command from a person, checked against the bot's registration.

use serde_json::{Map, Value, json};

use super::person::Refusal;
use crate::allowed;
use crate::guild::{Attachment, Message};
use crate::rights::Rights;
use crate::wire;
use crate::world::World;
use chorus_base::discord_ids::{ChannelId, RoleId, UserId};

/// The kind of a typed command.
const SLASH_COMMAND: u64 = 1;
/// The kind of a command for a message.
const MESSAGE_COMMAND: u64 = 3;

/// The value of one option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// A text; also the text typed so far in an option under completion.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// Yes or no.
    Boolean(bool),
    /// A person.
    User(UserId),
    /// A channel.
    Channel(ChannelId),
    /// A role.
    Role(RoleId),
    /// A file: its name and content.
    File(String, Vec<u8>),
    /// A file that is already stored, with its id, name, type and size.
    Stored(Attachment),
}

impl From<&str> for OptionValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl OptionValue {
    /// Returns Discord's number of the option type it fits.
    const fn kind(&self) -> u64 {
        match self {
            Self::Text(_) => 3,
            Self::Integer(_) => 4,
            Self::Boolean(_) => 5,
            Self::User(_) => 6,
            Self::Channel(_) => 7,
            Self::Role(_) => 8,
            Self::Number(_) => 10,
            Self::File(..) | Self::Stored(_) => 11,
        }
    }
}

/// Returns the `data` of a command interaction.
pub(super) fn data(
    world: &mut World,
    user: UserId,
    channel: ChannelId,
    command: &str,
    options: &[(&str, OptionValue)],
    focused: Option<&str>,
) -> Result<Value, Refusal> {
    let mut words = command.trim_start_matches('/').split_whitespace();
    let name = words.next().ok_or("no command was given")?;
    let rest: Vec<&str> = words.collect();
    let registered = find(world, channel, name, SLASH_COMMAND)
        .ok_or_else(|| format!("there is no command /{name}"))?;
    may_see(world, channel, user, &registered)?;
    let mut definition = &registered;
    for word in &rest {
        let below = definition["options"].as_array().into_iter().flatten();
        definition = below
            .filter(|option| matches!(option["type"].as_u64(), Some(1 | 2)))
            .find(|option| option["name"] == **word)
            .ok_or_else(|| format!("/{name} has no subcommand `{word}`"))?;
    }
    let mut resolved = Map::new();
    let mut given = Vec::new();
    for (option, value) in options {
        let Some(schema) = option_named(definition, option) else {
            return Err(format!("{command} has no option `{option}`").into());
        };
        let is_focused = focused == Some(*option);
        let value = if is_focused {
            typed(value)
        } else {
            fits(schema, value)?;
            resolve(world, channel, value, &mut resolved)
        };
        let mut entry = json!({"name": option, "type": schema["type"], "value": value});
        if is_focused {
            entry["focused"] = json!(true);
        }
        given.push(entry);
    }
    if focused.is_none() {
        let all = definition["options"].as_array().into_iter().flatten();
        let missing = all
            .filter(|option| option["required"] == true)
            .find(|option| given.iter().all(|entry| entry["name"] != option["name"]));
        if let Some(missing) = missing {
            return Err(format!(
                "{command} needs the option `{}`",
                missing["name"].as_str().unwrap_or("")
            )
            .into());
        }
    }
    let mut nested = given;
    let depth = rest.len();
    for (index, word) in rest.iter().rev().enumerate() {
        let kind = if depth == 2 && index == 1 { 2 } else { 1 };
        nested = vec![json!({"name": word, "type": kind, "options": nested})];
    }
    let mut data = json!({
        "id": registered["id"],
        "name": name,
        "type": 1,
        "options": nested,
    });
    if !resolved.is_empty() {
        data["resolved"] = Value::Object(resolved);
    }
    Ok(data)
}

/// Returns the `data` of a message command's interaction.
pub(super) fn of_message(
    world: &World,
    user: UserId,
    channel: ChannelId,
    message: &Message,
    command: &str,
) -> Result<Value, Refusal> {
    let registered = find(world, channel, command, MESSAGE_COMMAND)
        .ok_or_else(|| format!("there is no message command {command}"))?;
    may_see(world, channel, user, &registered)?;
    let id = message.id.to_string();
    Ok(json!({
        "id": registered["id"],
        "name": command,
        "type": MESSAGE_COMMAND,
        "target_id": id,
        "resolved": {"messages": {&id: wire::message(world, message)}},
    }))
}

/// Refuses people who cannot see a command.
fn may_see(
    world: &World,
    channel: ChannelId,
    user: UserId,
    registered: &Value,
) -> Result<(), Refusal> {
    let needed = registered["default_member_permissions"]
        .as_str()
        .and_then(|bits| bits.parse().ok());
    if let Some(needed) = needed.map(Rights)
        && !held(world, channel, user).contains(needed)
    {
        return Err(format!(
            "{} does not see /{}: it needs more rights",
            world.name_of(user),
            registered["name"].as_str().unwrap_or_default()
        )
        .into());
    }
    Ok(())
}

/// Returns the registered command of this kind and name, as seen in that channel.
fn find(world: &World, channel: ChannelId, name: &str, kind: u64) -> Option<Value> {
    let guild = world.guild_of(channel).map(|guild| guild.id);
    let lists = [world.commands.get(&guild), world.commands.get(&None)];
    lists
        .into_iter()
        .flatten()
        .flatten()
        .find(|command| command["name"] == name && command["type"].as_u64().unwrap_or(1) == kind)
        .cloned()
}

fn held(world: &World, channel: ChannelId, user: UserId) -> Rights {
    world
        .guild_of(channel)
        .map_or(Rights::ALL, |guild| allowed::in_guild(guild, user))
}

fn option_named<'a>(definition: &'a Value, name: &str) -> Option<&'a Value> {
    definition["options"]
        .as_array()?
        .iter()
        .find(|option| option["name"] == name)
}

/// Returns the value sent for an option under completion.
fn typed(value: &OptionValue) -> Value {
    match value {
        OptionValue::Text(text) => json!(text),
        OptionValue::Integer(number) => json!(number.to_string()),
        OptionValue::Number(number) => json!(number.to_string()),
        OptionValue::Boolean(_)
        | OptionValue::User(_)
        | OptionValue::Channel(_)
        | OptionValue::Role(_)
        | OptionValue::File(..)
        | OptionValue::Stored(_) => json!(""),
    }
}

/// Checks type, choices and bounds, as Discord's own client does.
fn fits(schema: &Value, value: &OptionValue) -> Result<(), Refusal> {
    let name = schema["name"].as_str().unwrap_or_default();
    if schema["type"].as_u64() != Some(value.kind()) {
        return Err(format!("the option `{name}` is of type {}", schema["type"]).into());
    }
    let plain = match value {
        OptionValue::Text(text) => {
            let length = text.chars().count() as u64;
            let longest = schema["max_length"].as_u64().unwrap_or(6_000);
            let shortest = schema["min_length"].as_u64().unwrap_or(0);
            if length > longest || length < shortest {
                return Err(format!("`{name}` takes {shortest} to {longest} characters").into());
            }
            if text.contains('\n') {
                return Err(format!("`{name}` is one line").into());
            }
            json!(text)
        }
        OptionValue::Integer(number) => {
            in_range(schema, *number as f64)?;
            json!(number)
        }
        OptionValue::Number(number) => {
            in_range(schema, *number)?;
            json!(number)
        }
        OptionValue::Boolean(_)
        | OptionValue::User(_)
        | OptionValue::Channel(_)
        | OptionValue::Role(_)
        | OptionValue::File(..)
        | OptionValue::Stored(_) => return Ok(()),
    };
    let choices = schema["choices"]
        .as_array()
        .filter(|choices| !choices.is_empty());
    if choices.is_some_and(|choices| choices.iter().all(|choice| choice["value"] != plain)) {
        return Err(format!("`{name}` does not offer {plain}").into());
    }
    Ok(())
}

fn in_range(schema: &Value, number: f64) -> Result<(), Refusal> {
    let lowest = schema["min_value"].as_f64().unwrap_or(f64::MIN);
    let highest = schema["max_value"].as_f64().unwrap_or(f64::MAX);
    if (lowest..=highest).contains(&number) {
        return Ok(());
    }
    Err(format!(
        "`{}` takes {lowest} to {highest}",
        schema["name"].as_str().unwrap_or_default()
    )
    .into())
}

/// Returns the value as it is sent; the objects that it refers to are added to `resolved`.
fn resolve(
    world: &mut World,
    channel: ChannelId,
    value: &OptionValue,
    resolved: &mut Map<String, Value>,
) -> Value {
    let mut put = |kind: &str, id: String, what: Value| {
        let section = resolved.entry(kind).or_insert_with(|| json!({}));
        section[&id] = what;
        json!(id)
    };
    match value {
        OptionValue::Text(text) => json!(text),
        OptionValue::Integer(number) => json!(number),
        OptionValue::Number(number) => json!(number),
        OptionValue::Boolean(flag) => json!(flag),
        OptionValue::User(id) => {
            if let Some(member) = wire::interaction_member(world, channel, *id) {
                put("members", id.to_string(), member);
            }
            put("users", id.to_string(), wire::user_by_id(world, *id))
        }
        OptionValue::Channel(id) => put(
            "channels",
            id.to_string(),
            wire::interaction_channel(world, *id, world.bot),
        ),
        OptionValue::Role(id) => {
            let roles = world.guild_of(channel).map(wire::roles).unwrap_or_default();
            let role = roles.into_iter().find(|role| role["id"] == id.to_string());
            put("roles", id.to_string(), role.unwrap_or(Value::Null))
        }
        OptionValue::File(name, bytes) => {
            let stored = world.store_file(name, None, bytes.clone().into());
            put(
                "attachments",
                stored.id.to_string(),
                wire::attachment(world, &stored),
            )
        }
        OptionValue::Stored(file) => put(
            "attachments",
            file.id.to_string(),
            wire::attachment(world, file),
        ),
    }
}

/// Returns the rows of a form with the texts filled in.
pub(super) fn filled(form: &Value, fields: &[(&str, &str)]) -> Result<Vec<Value>, Refusal> {
    let mut rows = Vec::new();
    for row in form["components"].as_array().into_iter().flatten() {
        let input = if row["components"].is_array() {
            &row["components"][0]
        } else {
            &row["component"]
        };
        let id = input["custom_id"].as_str().unwrap_or_default();
        let given = fields
            .iter()
            .find(|(name, _)| *name == id)
            .map(|(_, text)| *text);
        let text = given.or(input["value"].as_str()).unwrap_or_default();
        let length = text.chars().count() as u64;
        let longest = input["max_length"].as_u64().unwrap_or(4_000);
        let is_required = input["required"].as_bool().unwrap_or(true);
        let shortest = input["min_length"]
            .as_u64()
            .unwrap_or(u64::from(is_required));
        if length > longest || (length < shortest && (is_required || length > 0)) {
            return Err(format!("`{id}` takes {shortest} to {longest} characters").into());
        }
        let answer = json!({"type": 4, "custom_id": id, "value": text});
        rows.push(json!({"type": 1, "components": [answer]}));
    }
    if let Some((unknown, _)) = fields.iter().find(|(name, _)| {
        rows.iter()
            .all(|row| row["components"][0]["custom_id"] != *name)
    }) {
        return Err(format!("the form has no field `{unknown}`").into());
    }
    Ok(rows)
}
