//! The world as a bot receives it when it identifies: READY, and every server it is in.

use serde_json::{Value, json};

use crate::gateway::{Connection, gateway_url};
use crate::wire;
use crate::world::World;
use chorus_base::discord_ids::GuildId;

/// Begins a session: READY, then every server in full.
pub(super) fn begin(world: &mut World, identify: &Value, connection: Connection) {
    let id = world.gateway.begin(identify, connection);
    let own: Vec<GuildId> = world
        .guilds
        .values()
        .filter(|guild| guild.holds(world.bot))
        .map(|guild| guild.id)
        .collect();
    let guilds: Vec<Value> = own
        .iter()
        .map(|guild| json!({"id": guild.to_string(), "unavailable": true}))
        .collect();
    let ready = json!({
        "v": 10,
        "user": wire::user_by_id(world, world.bot),
        "guilds": guilds,
        "session_id": id,
        "session_type": "normal",
        "resume_gateway_url": gateway_url(&world.base),
        "shard": identify.get("shard").cloned().unwrap_or(json!([0, 1])),
        "application": {"id": world.bot.to_string(), "flags": 0},
        "private_channels": [], "relationships": [], "presences": [], "user_settings": {},
        "geo_ordered_rtc_regions": [], "auth": {}, "_trace": [],
    });
    let servers: Vec<Value> = own
        .iter()
        .map(|guild| wire::guild_create(world, *guild))
        .collect();
    world.gateway.welcome(&id, &ready, &servers);
}
