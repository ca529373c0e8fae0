//! Routes about the application's slash commands.

use axum::http::Method;
use serde_json::{Value, json};

use super::reply::{Outcome, Reply};
use super::{guilds, validate};
use crate::desk::call::Call;
use crate::desk::error::ApiError;
use crate::world::World;
use chorus_base::discord_ids::GuildId;

pub(super) fn global(world: &mut World, call: &Call, method: &Method, rest: &[&str]) -> Outcome {
    serve(world, call, method, None, rest)
}

pub(super) fn of_guild(
    world: &mut World,
    call: &Call,
    method: &Method,
    guild: &str,
    rest: &[&str],
) -> Outcome {
    let guild = guilds::find(world, guild)?.id;
    serve(world, call, method, Some(guild), rest)
}

fn serve(
    world: &mut World,
    call: &Call,
    method: &Method,
    scope: Option<GuildId>,
    rest: &[&str],
) -> Outcome {
    match (method, rest) {
        (&Method::GET, []) => {
            let list = world.commands.get(&scope).cloned().unwrap_or_default();
            Ok(Reply::Json(Value::Array(list)))
        }
        (&Method::PUT, []) => {
            let given = call.body.as_array().cloned().unwrap_or_default();
            if given.len() > 100 {
                let words = "Maximum number of application commands reached (100).";
                return Err(ApiError::invalid(
                    "_errors",
                    "APPLICATION_COMMANDS_MAX",
                    words,
                ));
            }
            let mut list = Vec::new();
            for (index, command) in given.into_iter().enumerate() {
                check(&command, &index.to_string())?;
                list.push(registered(world, scope, command));
            }
            world.commands.insert(scope, list.clone());
            world.tell(None, json!({"t": "reload"}));
            Ok(Reply::Json(Value::Array(list)))
        }
        (&Method::POST, []) => {
            check(&call.body, "")?;
            let made = registered(world, scope, call.body.clone());
            let list = world.commands.entry(scope).or_default();
            list.retain(|command| command["name"] != made["name"]);
            list.push(made.clone());
            world.tell(None, json!({"t": "reload"}));
            Ok(Reply::Json(made))
        }
        (&Method::DELETE, [id]) => {
            let list = world.commands.entry(scope).or_default();
            let before = list.len();
            list.retain(|command| command["id"] != **id);
            if list.len() == before {
                return Err(ApiError::unknown_command());
            }
            Ok(Reply::Nothing)
        }
        _ => Err(ApiError::unknown_route()),
    }
}

/// Returns a command as Discord does: with its ids; a replacement keeps the id.
fn registered(world: &mut World, scope: Option<GuildId>, mut command: Value) -> Value {
    let before = world.commands.get(&scope).into_iter().flatten();
    let known = before
        .clone()
        .find(|one| one["name"] == command["name"])
        .map(|one| one["id"].clone());
    let id = known.unwrap_or_else(|| json!(world.next_id().to_string()));
    command["id"] = id;
    command["version"] = json!(world.next_id().to_string());
    command["application_id"] = json!(world.bot.to_string());
    if let Some(guild) = scope {
        command["guild_id"] = json!(guild.to_string());
    }
    for (field, default) in [
        ("type", json!(1)),
        ("description", json!("")),
        ("options", json!([])),
        ("default_member_permissions", Value::Null),
        ("nsfw", json!(false)),
    ] {
        if command.get(field).is_none() {
            command[field] = default;
        }
    }
    command
}

/// Checks the limits on a command, its subcommands and its options.
fn check(command: &Value, path: &str) -> Result<(), ApiError> {
    let at = |field: &str| {
        if path.is_empty() {
            field.to_owned()
        } else {
            format!("{path}.{field}")
        }
    };
    let name = command["name"].as_str().unwrap_or_default();
    let allowed = |c: char| c.is_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '\'');
    let is_chat = command["type"].as_u64().is_none_or(|kind| kind == 1) || path.contains("options");
    if name.is_empty() || name.chars().count() > 32 || (is_chat && !name.chars().all(allowed)) {
        let words = "Command name is invalid";
        return Err(ApiError::invalid(
            &at("name"),
            "APPLICATION_COMMAND_INVALID_NAME",
            words,
        ));
    }
    if is_chat && validate::text(command, "description", 1, 100)?.is_none() {
        return Err(validate::required(&at("description")));
    }
    let options = command["options"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if options.len() > 25 {
        let words = "Must be 25 or fewer in length.";
        return Err(ApiError::invalid(
            &at("options"),
            "BASE_TYPE_MAX_LENGTH",
            words,
        ));
    }
    let mut optional_seen = false;
    for (index, option) in options.iter().enumerate() {
        let path = at(&format!("options.{index}"));
        check(option, &path)?;
        let is_required = option["required"] == true;
        if is_required && optional_seen {
            let words = "Required options must be placed before non-required options";
            return Err(ApiError::invalid(
                &path,
                "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
                words,
            ));
        }
        optional_seen |= !is_required && !matches!(option["type"].as_u64(), Some(1 | 2));
        let choices = option["choices"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        validate::choices(choices)?;
    }
    Ok(())
}
