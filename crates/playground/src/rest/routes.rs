//! The table of routes.

use axum::http::Method;

use super::reply::Outcome;
use super::{callbacks, channels, commands, guilds, messages, reactions, threads};
use crate::desk::call::Call;
use crate::desk::error::ApiError;
use crate::world::World;

/// Carries out a request by its route.
pub(super) fn perform(world: &mut World, call: &Call) -> Outcome {
    let segments: Vec<&str> = call.segments.iter().map(String::as_str).collect();
    let needs_token = !matches!(
        segments[..],
        ["gateway"] | ["interactions", ..] | ["webhooks", ..]
    );
    if needs_token && !call.is_from(&world.token) {
        return Err(ApiError::unauthorized());
    }
    match (&call.method, &segments[..]) {
        (&Method::GET, ["gateway"]) => guilds::gateway(world),
        (&Method::GET, ["gateway", "bot"]) => guilds::gateway_bot(world),
        (&Method::GET, ["oauth2", "applications", "@me"] | ["applications", "@me"]) => {
            guilds::application(world)
        }
        (&Method::GET, ["users", "@me"]) => guilds::me(world),
        (&Method::GET, ["users", "@me", "guilds"]) => guilds::my_guilds(world),
        (&Method::DELETE, ["users", "@me", "guilds", guild]) => guilds::leave(world, guild),
        (&Method::POST, ["users", "@me", "channels"]) => guilds::open_direct(world, call),
        (&Method::GET, ["users", user]) => guilds::user(world, user),

        (method, ["applications", _, "commands", rest @ ..]) => {
            commands::global(world, call, method, rest)
        }
        (method, ["applications", _, "guilds", guild, "commands", rest @ ..]) => {
            commands::of_guild(world, call, method, guild, rest)
        }

        (&Method::GET, ["guilds", guild]) => guilds::one(world, guild),
        (&Method::GET, ["guilds", guild, "channels"]) => guilds::channels(world, guild),
        (&Method::POST, ["guilds", guild, "channels"]) => channels::create(world, call, guild),
        (&Method::GET, ["guilds", guild, "roles"]) => guilds::roles(world, guild),
        (&Method::GET, ["guilds", guild, "members"]) => guilds::members(world, guild),
        (&Method::GET, ["guilds", guild, "members", user]) => guilds::member(world, guild, user),
        (&Method::GET, ["guilds", guild, "threads", "active"]) => threads::active(world, guild),

        (&Method::GET, ["channels", channel]) => channels::get(world, channel),
        (&Method::PATCH, ["channels", channel]) => channels::modify(world, call, channel),
        (&Method::DELETE, ["channels", channel]) => channels::delete(world, channel),
        (&Method::POST, ["channels", channel, "typing"]) => channels::typing(world, channel),
        (&Method::PUT, ["channels", channel, "permissions", of]) => {
            channels::overwrite(world, call, channel, of)
        }
        (&Method::GET, ["channels", channel, "messages"]) => messages::list(world, call, channel),
        (&Method::POST, ["channels", channel, "messages"]) => {
            messages::create(world, call, channel)
        }
        (&Method::POST, ["channels", channel, "messages", "bulk-delete"]) => {
            messages::bulk_delete(world, call, channel)
        }
        (&Method::GET, ["channels", channel, "messages", message]) => {
            messages::get(world, channel, message)
        }
        (&Method::PATCH, ["channels", channel, "messages", message]) => {
            messages::edit(world, call, channel, message)
        }
        (&Method::DELETE, ["channels", channel, "messages", message]) => {
            messages::delete(world, channel, message)
        }
        (
            method,
            [
                "channels",
                channel,
                "messages",
                message,
                "reactions",
                rest @ ..,
            ],
        ) => reactions::serve(world, method, channel, message, rest),
        (&Method::POST, ["channels", channel, "messages", message, "threads"]) => {
            threads::create_on(world, call, channel, message)
        }
        (&Method::POST, ["channels", channel, "threads"]) => threads::create(world, call, channel),
        (&Method::GET, ["channels", channel, "threads", "archived", "public"]) => {
            threads::archived(world, channel)
        }
        (&Method::PUT, ["channels", channel, "thread-members", user]) => {
            threads::join(world, channel, user)
        }
        (&Method::DELETE, ["channels", channel, "thread-members", user]) => {
            threads::leave(world, channel, user)
        }

        (&Method::POST, ["interactions", id, token, "callback"]) => {
            callbacks::callback(world, call, id, token)
        }
        (&Method::POST, ["webhooks", _, token]) => callbacks::follow_up(world, call, token),
        (method, ["webhooks", _, token, "messages", message]) => {
            callbacks::message(world, call, method, token, message)
        }

        _ => {
            let route = format!("{} {}", call.method, call.path);
            tracing::warn!(%route, "the local Discord does not know {route}");
            #[cfg(feature = "testing")]
            world.desk.book.unknown.push(route);
            Err(ApiError::unknown_route())
        }
    }
}
