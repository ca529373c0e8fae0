//! The channels that agents live in: made in our categories, renamed, deleted.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::bot::Bot;
use super::explain::{self, Deed};
use super::render;
use super::rest::{Request, RestError, Urgency, snowflake};
use super::route;
use crate::domain::{ChannelId, GuildId};
use crate::manager::{Channels, Made};
use crate::text::prose;

/// The category of agents' channels; when it is full, the same with a number.
const CATEGORY: &str = "Chorus Agents";

/// Channels Discord holds in one category.
const PER_CATEGORY: usize = 50;

/// Channels Discord holds in one server, categories included.
const PER_SERVER: usize = 500;

const SERVER_IS_FULL: &str = "This server has 500 channels, which is all Discord allows. Delete one, or destroy an agent, and try again.";

/// Characters of a topic.
const MAX_TOPIC: usize = 1_024;

const TEXT: u64 = 0;
const CATEGORY_KIND: u64 = 4;

/// [`Channels`] over Discord.
pub(super) struct GuildChannels(Bot);

impl GuildChannels {
    pub(super) fn new(bot: Bot) -> Self {
        Self(bot)
    }

    async fn all(&self, guild: GuildId) -> Result<Vec<Value>, String> {
        let answer = self.0.rest.get(route::guild_channels(guild)).await;
        match answer.map_err(|error| explain::refusal(Deed::Read, &error))? {
            Value::Array(channels) => Ok(channels),
            _ => Err("Discord did not list the server's channels.".to_owned()),
        }
    }

    /// A category of ours with room in it, made when there is none.
    async fn category(&self, guild: GuildId, channels: &[Value]) -> Result<u64, String> {
        for number in 1.. {
            let name = category_name(number);
            let Some(category) = find_category(channels, &name) else {
                return self
                    .make(guild, json!({"name": name, "type": CATEGORY_KIND}), &name)
                    .await;
            };
            let held = channels
                .iter()
                .filter(|channel| snowflake(&channel["parent_id"]) == Some(category))
                .count();
            if held < PER_CATEGORY {
                return Ok(category);
            }
        }
        Err("there are more categories than a server holds".to_owned())
    }

    async fn make(&self, guild: GuildId, channel: Value, name: &str) -> Result<u64, String> {
        let request = Request::new(route::create_channel(guild), Urgency::Durable)
            .json(channel)
            .audit_reason(format!("Chorus: {name}"));
        let made = self.0.rest.send(request).await;
        let made = made.map_err(|error| explain::refusal(Deed::MakeChannel, &error))?;
        snowflake(&made["id"]).ok_or_else(|| "Discord named no id for the new channel.".to_owned())
    }
}

#[async_trait]
impl Channels for GuildChannels {
    async fn can_create(&self, guild: GuildId) -> Result<(), String> {
        let channels = self.all(guild).await?;
        if channels.len() >= PER_SERVER {
            return Err(SERVER_IS_FULL.to_owned());
        }
        match self.0.may_manage_channels(guild) {
            true => Ok(()),
            false => Err(explain::lacking(Deed::MakeChannel)),
        }
    }

    async fn create(&self, guild: GuildId, name: &str, topic: &str) -> Result<ChannelId, String> {
        let channels = self.all(guild).await?;
        if channels.len() >= PER_SERVER {
            return Err(SERVER_IS_FULL.to_owned());
        }
        let category = self.category(guild, &channels).await?;
        let topic: String = prose(topic).chars().take(MAX_TOPIC).collect();
        let channel = json!({
            "name": name,
            "type": TEXT,
            "topic": topic,
            "parent_id": category.to_string(),
        });
        self.make(guild, channel, name).await.map(ChannelId)
    }

    async fn delete(&self, channel: ChannelId) -> Result<(), String> {
        match self.0.rest.get(route::delete_channel(channel)).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_gone() => Ok(()),
            Err(error) => Err(explain::refusal(Deed::DeleteChannel, &error)),
        }
    }

    async fn rename(&self, channel: ChannelId, name: &str) -> Result<(), String> {
        let renamed = self
            .0
            .rest
            .put(route::edit_channel(channel), json!({"name": name}))
            .await;
        renamed
            .map(drop)
            .map_err(|error| explain::refusal(Deed::ChangeChannel, &error))
    }

    async fn exists(&self, _: GuildId, channel: ChannelId) -> Result<bool, String> {
        match self.0.rest.get(route::channel(channel)).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_gone() => Ok(false),
            // It is there, only not for our eyes.
            Err(RestError::Refused { status: 403, .. }) => Ok(true),
            Err(error) => Err(explain::refusal(Deed::Read, &error)),
        }
    }

    async fn find(&self, guild: GuildId, name: &str) -> Result<Option<ChannelId>, String> {
        let channels = self.all(guild).await?;
        let ours: Vec<u64> = channels
            .iter()
            .filter(|channel| is_category_of_ours(channel))
            .filter_map(|channel| snowflake(&channel["id"]))
            .collect();
        let found = channels.iter().find(|channel| {
            channel["type"].as_u64() == Some(TEXT)
                && channel["name"].as_str() == Some(name)
                && snowflake(&channel["parent_id"]).is_some_and(|parent| ours.contains(&parent))
        });
        Ok(found
            .and_then(|channel| snowflake(&channel["id"]))
            .map(ChannelId))
    }

    async fn welcome(&self, channel: ChannelId, made: &Made) -> Result<(), String> {
        let posted = self.0.rest.post(channel, &render::welcome(made)).await;
        posted
            .map(drop)
            .map_err(|error| explain::refusal(Deed::Post, &error))
    }
}

fn category_name(number: usize) -> String {
    match number {
        1 => CATEGORY.to_owned(),
        number => format!("{CATEGORY} {number}"),
    }
}

fn find_category(channels: &[Value], name: &str) -> Option<u64> {
    let found = channels.iter().find(|channel| {
        channel["type"].as_u64() == Some(CATEGORY_KIND) && channel["name"].as_str() == Some(name)
    });
    found.and_then(|channel| snowflake(&channel["id"]))
}

fn is_category_of_ours(channel: &Value) -> bool {
    let is_named = |name: &str| name == CATEGORY || name.starts_with(&format!("{CATEGORY} "));
    channel["type"].as_u64() == Some(CATEGORY_KIND)
        && channel["name"].as_str().is_some_and(is_named)
}
