//! Faults of a local Discord that tests can order: requests, rate limits, the gateway.

use std::time::Duration;

use serde_json::{Value, json};

use super::gateway::Break;
use super::requests::Fault;
use crate::desk::limits::Limits;
use crate::discord::Discord;
use crate::wire;
use chorus_base::discord_ids::GuildId;

impl Discord {
    /// Makes requests fail from now on, after the previously ordered faults.
    pub fn order(&self, fault: Fault) {
        self.change(|world| world.desk.book.faults.push(fault));
    }

    /// Forgets every ordered fault.
    pub fn heals(&self) {
        self.change(|world| world.desk.book.faults.clear());
    }

    /// Turns rate limits on or off.
    pub fn limits(&self, limits: Limits) {
        self.change(|world| world.desk.buckets.limits = limits);
    }

    /// Breaks the bot's connection.
    pub fn break_gateway(&self, how: Break) {
        self.change(|world| world.gateway.break_connections(how));
    }

    /// Refuses the next `count` RESUMEs.
    pub fn refuses_resumes(&self, count: usize) {
        self.change(|world| world.gateway.orders.refuse_resumes = count);
    }

    /// Cuts the connection at the next `count` RESUMEs, without a close frame.
    pub fn cuts_resumes(&self, count: usize) {
        self.change(|world| world.gateway.orders.cut_resumes = count);
    }

    /// Reports that the bot may identify only `count` more times until `reset_after`.
    pub fn leaves_identifies(&self, count: u64, reset_after: Duration) {
        self.change(|world| {
            world.gateway.identifies_left = count;
            world.gateway.identifies_reset = reset_after;
        });
    }

    /// Sends the bot a text frame that need not be a payload.
    pub fn sends_words(&self, words: &str) {
        self.change(|world| world.gateway.send_raw(words));
    }

    /// Closes an IDENTIFY with 4014 if it asks for one of these intents.
    pub fn disallows_intents(&self, intents: u64) {
        self.change(|world| world.gateway.disallowed_intents = intents);
    }

    /// Sets the heartbeat interval for new connections; by default 41.25 s.
    pub fn heartbeat(&self, interval: Duration) {
        self.change(|world| world.gateway.heartbeat = interval);
    }

    /// Holds events back from now on.
    pub fn holds_events(&self) {
        self.change(|world| {
            world.gateway.orders.held.get_or_insert_default();
        });
    }

    /// Sends the events that were held back, late but in order.
    pub fn releases_events(&self) {
        self.change(|world| {
            for (name, data) in world.gateway.orders.held.take().unwrap_or_default() {
                world.dispatch(&name, data);
            }
        });
    }

    /// Sends the latest `count` events again.
    pub fn repeats_events(&self, count: usize) {
        self.change(|world| {
            let latest = &world.gateway.orders.latest;
            let start = latest.len().saturating_sub(count);
            let again: Vec<(String, Value)> = latest.iter().skip(start).cloned().collect();
            for (name, data) in again {
                world.dispatch(&name, data);
            }
        });
    }

    /// Sends an event of any name and shape.
    pub fn sends_event(&self, name: &str, data: Value) {
        self.change(|world| world.dispatch(name, data));
    }

    /// Applies `change` to every event from now on, by its name, before it is sent; messages that are read count as
    /// `MESSAGE_CREATE`.
    pub fn alters_events(&self, change: impl Fn(&str, &mut Value) + Send + 'static) {
        self.change(|world| world.gateway.orders.alter = Some(Box::new(change)));
    }

    /// Sends events unchanged again.
    pub fn leaves_events_alone(&self) {
        self.change(|world| world.gateway.orders.alter = None);
    }

    /// Makes a server unavailable to the bot, as in an outage of Discord.
    pub fn loses_guild(&self, guild: GuildId) {
        let data = json!({"id": guild.to_string(), "unavailable": true});
        self.change(|world| world.dispatch("GUILD_DELETE", data));
    }

    /// Describes a server, as at the end of an outage.
    pub fn describes_guild(&self, guild: GuildId) {
        self.change(|world| {
            let data = wire::guild_create(world, guild);
            world.dispatch("GUILD_CREATE", data);
        });
    }

    /// Forgets all registered commands.
    pub fn forgets_commands(&self) {
        self.change(|world| world.commands.clear());
    }

    /// Expires all open interactions, as if the bot had taken too long.
    pub fn expires_interactions(&self) {
        self.change(|world| {
            for interaction in world.interactions.values_mut() {
                interaction.is_expired = true;
            }
        });
    }
}
