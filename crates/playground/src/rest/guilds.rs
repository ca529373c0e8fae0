//! Routes about the bot itself, its application, people and servers.

use serde_json::{Value, json};

use super::reply::{Outcome, Reply};
use crate::allowed;
use crate::desk::call::Call;
use crate::desk::error::ApiError;
use crate::gateway::gateway_url;
use crate::guild::Guild;
use crate::wire;
use crate::world::World;
use chorus_base::discord_ids::{GuildId, UserId};

pub(super) fn gateway(world: &World) -> Outcome {
    Ok(Reply::Json(json!({"url": gateway_url(&world.base)})))
}

pub(super) fn gateway_bot(world: &World) -> Outcome {
    Ok(Reply::Json(json!({
        "url": gateway_url(&world.base),
        "shards": 1,
        "session_start_limit": {
            "total": 1_000,
            "remaining": world.gateway.identifies_left,
            "reset_after": world.gateway.identifies_reset.as_millis() as u64,
            "max_concurrency": 1,
        },
    })))
}

pub(super) fn application(world: &World) -> Outcome {
    // Bits 13, 15 and 19: the limited forms of the privileged intents presence, members and content.
    let disallowed = world.gateway.disallowed_intents;
    let bit = |intent: u32, flag: u32| {
        if disallowed >> intent & 1 == 0 {
            1_u64 << flag
        } else {
            0
        }
    };
    Ok(Reply::Json(json!({
        "id": world.bot.to_string(),
        "name": world.name_of(world.bot),
        "icon": null,
        "description": "",
        "bot_public": world.is_public,
        "bot_require_code_grant": false,
        "owner": wire::user_by_id(world, world.application_owner),
        "team": team(world),
        "verify_key": "0".repeat(64),
        "flags": bit(8, 13) | bit(1, 15) | bit(15, 19),
        "redirect_uris": [],
        "interactions_endpoint_url": null,
        "integration_types_config": {},
        "bot": wire::user_by_id(world, world.bot),
    })))
}

/// Returns the team that owns the application, if there is one. Its last member is invited and has not accepted.
fn team(world: &World) -> Value {
    let Some((invited, members)) = world.team.split_last() else {
        return Value::Null;
    };
    let member = |user: &UserId, state: u8| {
        json!({
            "membership_state": state,
            "team_id": world.bot.to_string(),
            "user": wire::user_by_id(world, *user),
            "role": "developer",
        })
    };
    let accepted = members.iter().map(|user| member(user, 2));
    let all: Vec<Value> = accepted.chain([member(invited, 1)]).collect();
    json!({
        "id": world.bot.to_string(),
        "name": "Team",
        "icon": null,
        "owner_user_id": world.application_owner.to_string(),
        "members": all,
    })
}

pub(super) fn me(world: &World) -> Outcome {
    let mut me = wire::user_by_id(world, world.bot);
    me["verified"] = json!(true);
    me["mfa_enabled"] = json!(false);
    Ok(Reply::Json(me))
}

pub(super) fn my_guilds(world: &World) -> Outcome {
    let one = |guild: &Guild| {
        json!({
            "id": guild.id.to_string(),
            "name": guild.name,
            "icon": null,
            "owner": false,
            "permissions": allowed::in_guild(guild, world.bot).0.to_string(),
            "features": [],
        })
    };
    let own = world.guilds.values().filter(|guild| guild.holds(world.bot));
    Ok(Reply::Json(own.map(one).collect()))
}

pub(super) fn leave(world: &mut World, guild: &str) -> Outcome {
    let guild = find(world, guild)?.id;
    world.take_bot_out(guild);
    Ok(Reply::Nothing)
}

pub(super) fn open_direct(world: &mut World, call: &Call) -> Outcome {
    let user = call.body["recipient_id"]
        .as_str()
        .and_then(|id| id.parse().ok())
        .map(UserId);
    let user = user
        .filter(|user| world.users.contains_key(user))
        .ok_or_else(ApiError::unknown_user)?;
    let id = world.direct(user);
    let channel = world
        .channels
        .get(&id)
        .ok_or_else(ApiError::unknown_channel)?;
    Ok(Reply::Json(wire::channel(world, channel)))
}

pub(super) fn user(world: &World, user: &str) -> Outcome {
    let id = user
        .parse()
        .map(UserId)
        .map_err(|_| ApiError::unknown_user())?;
    let user = world.users.get(&id).ok_or_else(ApiError::unknown_user)?;
    Ok(Reply::Json(wire::user(user)))
}

pub(super) fn one(world: &World, guild: &str) -> Outcome {
    Ok(Reply::Json(wire::guild(find(world, guild)?)))
}

pub(super) fn channels(world: &World, guild: &str) -> Outcome {
    let guild = find(world, guild)?.id;
    let all = world
        .channels
        .values()
        .filter(|c| c.guild == Some(guild) && !c.kind.is_thread());
    Ok(Reply::Json(
        all.map(|channel| wire::channel(world, channel)).collect(),
    ))
}

pub(super) fn roles(world: &World, guild: &str) -> Outcome {
    Ok(Reply::Json(Value::Array(wire::roles(find(world, guild)?))))
}

pub(super) fn members(world: &World, guild: &str) -> Outcome {
    let all = find(world, guild)?.members.iter();
    Ok(Reply::Json(
        all.map(|(user, member)| wire::member(world, *user, member))
            .collect(),
    ))
}

pub(super) fn member(world: &World, guild: &str, user: &str) -> Outcome {
    let guild = find(world, guild)?;
    let user = if user == "@me" {
        Some(world.bot)
    } else {
        user.parse().ok().map(UserId)
    };
    let user = user.ok_or_else(ApiError::unknown_user)?;
    let member = guild
        .members
        .get(&user)
        .ok_or_else(ApiError::unknown_member)?;
    Ok(Reply::Json(wire::member(world, user, member)))
}

/// Returns the server with this id, which the bot must be in.
pub(super) fn find<'a>(world: &'a World, guild: &str) -> Result<&'a Guild, ApiError> {
    let id = guild
        .parse()
        .map(GuildId)
        .map_err(|_| ApiError::unknown_guild())?;
    let found = world.guilds.get(&id).filter(|guild| guild.holds(world.bot));
    found.ok_or_else(ApiError::unknown_guild)
}
