//! The whole state of the local Discord.
//!
//! One lock guards all of it. Changes are made by `changes` and counted, so that waiting code looks again.

use std::collections::{BTreeMap, HashMap};

use chrono::Utc;
use serde_json::Value;
use tokio::sync::broadcast;

use super::allowed;
use super::desk::Desk;
use super::gateway::Gateway;
use super::guild::{Channel, ChannelKind, File, Guild, Message, User};
use super::interaction::Interaction;
use super::rights::Rights;
use chorus_base::discord_ids::{ChannelId, GuildId, MessageId, UserId, first_at};

/// How far a page may lag behind before it must load everything again.
const PAGE_BACKLOG: usize = 1024;

/// An update for pages.
#[derive(Clone, Debug)]
pub(crate) struct News {
    /// The only user who gets it.
    pub(crate) only_for: Option<UserId>,
    pub(crate) body: Value,
}

pub(crate) struct World {
    /// The address of REST and files, such as `http://127.0.0.1:4000`.
    pub(crate) base: String,
    pub(crate) token: String,
    pub(crate) bot: UserId,
    pub(crate) application_owner: UserId,
    /// The team that owns the application, if one does; its last member has not accepted yet.
    pub(crate) team: Vec<UserId>,
    /// Anyone may invite the bot.
    pub(crate) is_public: bool,
    pub(crate) users: BTreeMap<UserId, User>,
    pub(crate) guilds: BTreeMap<GuildId, Guild>,
    pub(crate) channels: BTreeMap<ChannelId, Channel>,
    pub(crate) messages: BTreeMap<ChannelId, BTreeMap<MessageId, Message>>,
    pub(crate) files: HashMap<u64, File>,
    /// Every time the bot began to type, in order.
    #[cfg(feature = "testing")]
    pub(crate) typed: Vec<ChannelId>,
    pub(crate) interactions: BTreeMap<u64, Interaction>,
    /// Commands of the application; those of one server under its id.
    pub(crate) commands: BTreeMap<Option<GuildId>, Vec<Value>>,
    pub(crate) gateway: Gateway,
    pub(crate) desk: Desk,
    pub(crate) news: broadcast::Sender<News>,
    last_id: u64,
}

impl World {
    /// Creates an empty world, except for the bot with this name and token.
    pub(crate) fn new(base: String, bot: &str, token: String) -> Self {
        let mut world = Self {
            base,
            token,
            bot: UserId(0),
            application_owner: UserId(0),
            team: Vec::new(),
            is_public: false,
            users: BTreeMap::new(),
            guilds: BTreeMap::new(),
            channels: BTreeMap::new(),
            messages: BTreeMap::new(),
            files: HashMap::new(),
            #[cfg(feature = "testing")]
            typed: Vec::new(),
            interactions: BTreeMap::new(),
            commands: BTreeMap::new(),
            gateway: Gateway::default(),
            desk: Desk::default(),
            news: broadcast::channel(PAGE_BACKLOG).0,
            last_id: 0,
        };
        world.bot = world.add_user(bot);
        if let Some(bot) = world.users.get_mut(&world.bot) {
            bot.is_bot = true;
        }
        world
    }

    /// Returns a new snowflake of this moment, greater than all before it.
    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id = (self.last_id + 1).max(first_at(Utc::now()));
        self.last_id
    }

    /// Returns the latest snowflake that was issued.
    pub(crate) fn last_id(&self) -> u64 {
        self.last_id
    }

    /// Issues no snowflake up to this one.
    pub(crate) fn set_last_id(&mut self, id: u64) {
        self.last_id = self.last_id.max(id);
    }

    pub(crate) fn add_user(&mut self, name: &str) -> UserId {
        let id = UserId(self.next_id());
        self.users.insert(
            id,
            User {
                id,
                name: name.to_owned(),
                is_bot: false,
                closed_to_direct_messages: false,
            },
        );
        id
    }

    pub(crate) fn message(&self, channel: ChannelId, id: MessageId) -> Option<&Message> {
        self.messages.get(&channel)?.get(&id)
    }

    pub(crate) fn message_mut(
        &mut self,
        channel: ChannelId,
        id: MessageId,
    ) -> Option<&mut Message> {
        self.messages.get_mut(&channel)?.get_mut(&id)
    }

    /// Returns the server of a channel.
    pub(crate) fn guild_of(&self, channel: ChannelId) -> Option<&Guild> {
        self.guilds.get(&self.channels.get(&channel)?.guild?)
    }

    pub(crate) fn name_of(&self, user: UserId) -> String {
        self.users
            .get(&user)
            .map_or_else(|| format!("user {user}"), |user| user.name.clone())
    }

    /// Returns the permissions of `user` in a channel, a thread or a direct conversation.
    pub(crate) fn rights(&self, channel: ChannelId, user: UserId) -> Rights {
        let Some(mut place) = self.channels.get(&channel) else {
            return Rights::default();
        };
        if place.kind == ChannelKind::Direct {
            return Rights::EVERYONE;
        }
        if place.kind.is_thread()
            && let Some(above) = place.parent.and_then(|parent| self.channels.get(&parent))
        {
            place = above;
        }
        let guild = place.guild.and_then(|guild| self.guilds.get(&guild));
        guild.map_or_else(Rights::default, |guild| {
            allowed::in_channel(guild, place, user)
        })
    }
}
