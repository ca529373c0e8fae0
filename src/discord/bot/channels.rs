//! The channels of agents: created in our categories, renamed, deleted.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tracing::warn;

use super::Bot;
use crate::discord::render;
use crate::discord::rest::explain::{self, Operation};
use crate::discord::rest::route;
use crate::discord::rest::{Request, RestError, Urgency, snowflake};
use crate::domain::{ChannelId, GuildId, MessageId};
use crate::manager::{ChannelError, Channels, Made, Renamed};
use crate::text::prose;

/// The category of agents' channels; when it is full, a number is appended.
const CATEGORY: &str = "Chorus Agents";

/// Most channels in one category.
const PER_CATEGORY: usize = 50;

/// Most channels in one server, including categories.
const PER_SERVER: usize = 500;

const SERVER_IS_FULL: &str = "This server has 500 channels, Discord's limit. Delete one, or destroy an agent, and try again.";

/// Most characters of a topic.
const MAX_TOPIC: usize = 1_024;

const TEXT: u64 = 0;
const CATEGORY_KIND: u64 = 4;

/// [`Channels`] over Discord.
pub(in crate::discord) struct GuildChannels(Bot);

impl GuildChannels {
    pub(in crate::discord) fn new(bot: Bot) -> Self {
        Self(bot)
    }

    async fn all(&self, guild: GuildId) -> Result<Vec<Value>, ChannelError> {
        let answer = self.0.rest.call(route::guild_channels(guild)).await;
        match answer.map_err(|error| refusal(Operation::Read, &error))? {
            Value::Array(channels) => Ok(channels),
            _ => Err(ChannelError(
                "Discord did not list the server's channels.".to_owned(),
            )),
        }
    }

    /// Returns a category of ours that is not full, and creates one if there is none.
    async fn category(&self, guild: GuildId, channels: &[Value]) -> Result<Category, ChannelError> {
        for number in 1.. {
            let name = category_name(number);
            let Some(category) = find_category(channels, &name) else {
                let category = json!({"name": name, "type": CATEGORY_KIND});
                let made = self.make(guild, category, channels).await;
                return made.map(Category::New);
            };
            let held = channels
                .iter()
                .filter(|channel| snowflake(&channel["parent_id"]) == Some(category))
                .count();
            if held < PER_CATEGORY {
                return Ok(Category::Known(category));
            }
        }
        Err(ChannelError(
            "there are more categories than a server may have".to_owned(),
        ))
    }

    /// Creates a channel or category that is not among `known`, those of the server. If the answer is lost, it may have
    /// been created. So a search precedes the next attempt: there must not be two.
    async fn make(
        &self,
        guild: GuildId,
        wanted: Value,
        known: &[Value],
    ) -> Result<u64, ChannelError> {
        let name = wanted["name"].as_str().unwrap_or_default().to_owned();
        let request = Request::new(route::create_channel(guild), Urgency::Durable)
            .json(wanted.clone())
            .audit_reason(format!("Chorus: {name}"))
            .once();
        let mut pauses = PAUSES.into_iter();
        loop {
            let reason = match self.0.rest.send(request.clone()).await {
                Ok(made) => {
                    return snowflake(&made["id"]).ok_or_else(|| {
                        ChannelError("Discord named no id for the new channel.".to_owned())
                    });
                }
                Err(reason) => reason,
            };
            if matches!(reason, RestError::Unreachable(_)) {
                if let Some(made) = newcomer(&self.all(guild).await?, known, &wanted) {
                    return Ok(made);
                }
                if let Some(pause) = pauses.next() {
                    tokio::time::sleep(pause).await;
                    continue;
                }
            }
            return Err(refusal(Operation::MakeChannel, &reason));
        }
    }
}

/// The pauses between the attempts to create a channel.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];

/// The wait before a channel is renamed again, if Discord did not name one.
const UNSTATED_WAIT: Duration = Duration::from_secs(5);

/// A category for a new channel.
enum Category {
    Known(u64),
    New(u64),
}

#[async_trait]
impl Channels for GuildChannels {
    async fn can_create(&self, guild: GuildId) -> Result<(), ChannelError> {
        let channels = self.all(guild).await?;
        if channels.len() >= PER_SERVER {
            return Err(ChannelError(SERVER_IS_FULL.to_owned()));
        }
        if self.0.may_manage_channels(guild) {
            Ok(())
        } else {
            Err(ChannelError(explain::lacking(Operation::MakeChannel)))
        }
    }

    async fn create(
        &self,
        guild: GuildId,
        name: &str,
        topic: &str,
    ) -> Result<ChannelId, ChannelError> {
        // Two at once would each create a category.
        let lock = self.0.making.lock(guild);
        let _alone = lock.lock().await;
        let channels = self.all(guild).await?;
        if channels.len() >= PER_SERVER {
            return Err(ChannelError(SERVER_IS_FULL.to_owned()));
        }
        let category = self.category(guild, &channels).await?;
        let topic: String = prose(topic).chars().take(MAX_TOPIC).collect();
        let (Category::Known(parent) | Category::New(parent)) = category;
        let channel = json!({
            "name": name,
            "type": TEXT,
            "topic": topic,
            "parent_id": parent.to_string(),
        });
        let made = self.make(guild, channel, &channels).await;
        if let (Err(_), Category::New(category)) = (&made, category)
            && let Err(reason) = self.delete(ChannelId(category)).await
        {
            warn!("failed to delete a category that was made in vain: {reason}");
        }
        made.map(ChannelId)
    }

    async fn delete(&self, channel: ChannelId) -> Result<(), ChannelError> {
        match self.0.rest.call(route::delete_channel(channel)).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_gone() => Ok(()),
            Err(error) => Err(refusal(Operation::DeleteChannel, &error)),
        }
    }

    async fn rename(&self, channel: ChannelId, name: &str) -> Result<Renamed, ChannelError> {
        let route = route::edit_channel(channel);
        let request = Request::new(route.clone(), Urgency::Passing).json(json!({"name": name}));
        match self.0.rest.send(request).await {
            Ok(_) => Ok(Renamed::Now),
            Err(RestError::Busy | RestError::Unreachable(_)) => Ok(Renamed::After(
                self.0.rest.wait(&route).unwrap_or(UNSTATED_WAIT),
            )),
            Err(error) => Err(refusal(Operation::ChangeChannel, &error)),
        }
    }

    async fn exists(&self, guild: GuildId, channel: ChannelId) -> Result<bool, ChannelError> {
        match self.0.rest.call(route::channel(channel)).await {
            Ok(found) => Ok(snowflake(&found["guild_id"]) == Some(guild.0)),
            Err(error) if error.is_gone() => Ok(false),
            // The channel exists, but the bot may not see it.
            Err(RestError::Refused { status: 403, .. }) => Ok(true),
            Err(error) => Err(refusal(Operation::Read, &error)),
        }
    }

    async fn find(&self, guild: GuildId, name: &str) -> Result<Option<ChannelId>, ChannelError> {
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

    async fn newest_message(&self, channel: ChannelId) -> Result<Option<MessageId>, ChannelError> {
        let answer = self.0.rest.call(route::messages(channel, "limit=1")).await;
        let messages = answer.map_err(|error| refusal(Operation::Read, &error))?;
        Ok(messages
            .get(0)
            .and_then(|newest| snowflake(&newest["id"]))
            .map(MessageId))
    }

    async fn welcome(&self, channel: ChannelId, made: &Made) -> Result<(), ChannelError> {
        if !self.0.may_post(channel).await {
            return Err(ChannelError("its server is no longer accepted".to_owned()));
        }
        let guild = self.0.guild_of(channel);
        let ids = guild.map(|guild| self.0.command_ids(guild));
        let welcome = render::welcome(made).linked(&ids.unwrap_or_default());
        let posted = self.0.rest.post(channel, &welcome).await;
        posted
            .map(drop)
            .map_err(|error| refusal(Operation::Post, &error))
    }
}

fn refusal(operation: Operation, error: &RestError) -> ChannelError {
    ChannelError(explain::refusal(operation, error))
}

/// Returns the channel of this kind and name that is in the server now and was not before.
fn newcomer(now: &[Value], before: &[Value], wanted: &Value) -> Option<u64> {
    let is_wanted = |channel: &&Value| {
        ["name", "type"]
            .iter()
            .all(|key| channel[*key] == wanted[*key])
            && wanted
                .get("parent_id")
                .is_none_or(|parent| channel["parent_id"] == *parent)
    };
    let is_new = |channel: &&Value| !before.iter().any(|known| known["id"] == channel["id"]);
    let mut found = now.iter().filter(is_wanted).filter(is_new);
    found.find_map(|channel| snowflake(&channel["id"]))
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
