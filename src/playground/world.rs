//! Everything the local Discord knows, and the changes that can be made to it.
//!
//! One lock holds it all. A change is made here, told to the gateway and to the page, and counted, so that
//! whoever waits for something looks again.

mod files;
mod places;
mod reactions;

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, TimeZone, Utc};
use serde_json::{Value, json};
use tokio::sync::broadcast;

pub(crate) use self::files::File;
use super::allowed;
use super::gateway::Gateway;
use super::guild::{Attachment, Channel, ChannelKind, Guild, Message, User};
use super::interaction::Interaction;
use super::rest::Desk;
use super::rights::Rights;
use super::wire;
use crate::domain::{ChannelId, GuildId, MessageId, UserId};

/// Milliseconds of the year 2015, where snowflakes begin.
const EPOCH: i64 = 1_420_070_400_000;

/// News that a page may lag behind before it must load everything again.
const PAGE_BACKLOG: usize = 1024;

/// Something a page shows.
#[derive(Clone, Debug)]
pub(crate) struct News {
    /// Who alone is told.
    pub(crate) only_for: Option<UserId>,
    pub(crate) body: Value,
}

pub(crate) struct World {
    /// Where REST and files are served, such as `http://127.0.0.1:4000`.
    pub(crate) base: String,
    pub(crate) token: String,
    pub(crate) bot: UserId,
    pub(crate) application_owner: UserId,
    pub(crate) users: BTreeMap<UserId, User>,
    pub(crate) guilds: BTreeMap<GuildId, Guild>,
    pub(crate) channels: BTreeMap<ChannelId, Channel>,
    pub(crate) messages: BTreeMap<ChannelId, BTreeMap<MessageId, Message>>,
    pub(crate) files: HashMap<u64, File>,
    /// Every time the bot began to type, in order.
    pub(crate) typed: Vec<ChannelId>,
    pub(crate) interactions: BTreeMap<u64, Interaction>,
    /// Commands of the application; those of one server under its id.
    pub(crate) commands: BTreeMap<Option<GuildId>, Vec<Value>>,
    pub(crate) gateway: Gateway,
    pub(crate) desk: Desk,
    pub(crate) news: broadcast::Sender<News>,
    last_id: u64,
}

/// A message about to be posted.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) content: String,
    pub(crate) embeds: Vec<Value>,
    pub(crate) components: Vec<Value>,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) reply_to: Option<MessageId>,
    pub(crate) flags: u64,
    pub(crate) only_for: Option<UserId>,
    pub(crate) allowed_mentions: Option<Value>,
    pub(crate) nonce: Option<Value>,
    /// The interaction it answers, who began it, and the command's words.
    pub(crate) interaction: Option<(u64, UserId, Option<String>)>,
    /// When it was sent, for messages from before.
    pub(crate) at: Option<DateTime<Utc>>,
}

impl World {
    pub(crate) fn new(base: String, token: String) -> Self {
        let mut world = Self {
            base,
            token,
            bot: UserId(0),
            application_owner: UserId(0),
            users: BTreeMap::new(),
            guilds: BTreeMap::new(),
            channels: BTreeMap::new(),
            messages: BTreeMap::new(),
            files: HashMap::new(),
            typed: Vec::new(),
            interactions: BTreeMap::new(),
            commands: BTreeMap::new(),
            gateway: Gateway::default(),
            desk: Desk::default(),
            news: broadcast::channel(PAGE_BACKLOG).0,
            last_id: 0,
        };
        world.bot = world.add_user("Chorus");
        if let Some(bot) = world.users.get_mut(&world.bot) {
            bot.is_bot = true;
        }
        world
    }

    /// A fresh snowflake of this moment, above all before it.
    pub(crate) fn next_id(&mut self) -> u64 {
        let now = (Utc::now().timestamp_millis() - EPOCH).max(0) as u64;
        self.last_id = (self.last_id + 1).max(now << 22);
        self.last_id
    }

    /// The latest snowflake that was given out.
    pub(crate) fn last_id(&self) -> u64 {
        self.last_id
    }

    /// Gives out no snowflake up to this one.
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

    /// Posts a message and tells everybody who may see it.
    pub(crate) fn post(&mut self, channel: ChannelId, author: UserId, draft: Draft) -> MessageId {
        let id = match draft.at {
            Some(at) => MessageId(self.id_at(at)),
            None => MessageId(self.next_id()),
        };
        let replied = draft
            .reply_to
            .and_then(|id| self.messages.get(&channel)?.get(&id))
            .map(|message| message.author);
        let pings = wire::pings(self, &draft, replied);
        let (interaction, command) = match draft.interaction {
            Some((id, user, command)) => (Some((id, user)), command),
            None => (None, None),
        };
        let kind = if draft.reply_to.is_some() {
            19
        } else if command.is_some() {
            20
        } else {
            0
        };
        let message = Message {
            id,
            channel,
            author,
            author_name: self.name_of(author),
            content: draft.content,
            embeds: draft.embeds,
            components: draft.components,
            attachments: draft.attachments,
            reply_to: draft.reply_to,
            reactions: Vec::new(),
            flags: draft.flags,
            edited: None,
            only_for: draft.only_for,
            pings,
            command,
            thread: None,
            edits: 0,
            kind,
            nonce: draft.nonce,
            interaction,
        };
        let is_ephemeral = message.only_for.is_some();
        self.messages
            .entry(channel)
            .or_default()
            .insert(id, message);
        if let Some(place) = self.channels.get_mut(&channel)
            && !is_ephemeral
        {
            place.last_message = place.last_message.max(Some(id));
        }
        self.message_event("MESSAGE_CREATE", channel, id);
        id
    }

    /// Changes a message by `change`, marks it edited and tells everybody.
    pub(crate) fn edit(
        &mut self,
        channel: ChannelId,
        id: MessageId,
        change: impl FnOnce(&mut Message),
    ) {
        let Some(message) = self.message_mut(channel, id) else {
            return;
        };
        change(message);
        message.edited = Some(Utc::now());
        message.edits += 1;
        self.message_event("MESSAGE_UPDATE", channel, id);
    }

    /// Takes a message away.
    pub(crate) fn delete(&mut self, channel: ChannelId, id: MessageId) {
        let Some(message) = self
            .messages
            .get_mut(&channel)
            .and_then(|all| all.remove(&id))
        else {
            return;
        };
        let guild = self
            .channels
            .get(&channel)
            .and_then(|channel| channel.guild);
        let mut data = json!({"id": id.to_string(), "channel_id": channel.to_string()});
        if let Some(guild) = guild {
            data["guild_id"] = json!(guild.to_string());
        }
        self.tell(message.only_for, json!({"t": "MESSAGE_DELETE", "d": data}));
        if message.only_for.is_none() {
            self.dispatch("MESSAGE_DELETE", data);
        }
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

    pub(crate) fn name_of(&self, user: UserId) -> String {
        self.users
            .get(&user)
            .map_or_else(|| format!("user {user}"), |user| user.name.clone())
    }

    /// What `user` may do in a channel, a thread or a direct conversation.
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

    /// Tells the bot and the pages that a message is new or has changed.
    pub(crate) fn message_event(&mut self, name: &'static str, channel: ChannelId, id: MessageId) {
        let Some(message) = self.message(channel, id) else {
            return;
        };
        let only_for = message.only_for;
        let data = wire::message_event(self, message);
        self.tell(only_for, json!({"t": name, "d": data.clone()}));
        if only_for.is_none() {
            self.dispatch(name, data);
        }
    }

    pub(crate) fn channel_event(&mut self, name: &'static str, id: ChannelId) {
        let Some(channel) = self.channels.get(&id) else {
            return;
        };
        let data = wire::channel(self, channel);
        self.tell(None, json!({"t": name, "d": data.clone()}));
        self.dispatch(name, data);
    }

    pub(crate) fn member_event(&mut self, guild: GuildId, user: UserId) {
        let Some(member) = self
            .guilds
            .get(&guild)
            .and_then(|guild| guild.members.get(&user))
        else {
            return;
        };
        let mut data = wire::member(self, user, member);
        data["guild_id"] = json!(guild.to_string());
        self.tell(None, json!({"t": "reload"}));
        self.dispatch("GUILD_MEMBER_UPDATE", data);
    }

    /// Tells the pages.
    pub(crate) fn tell(&self, only_for: Option<UserId>, body: Value) {
        // No page open is no fault.
        let _ = self.news.send(News { only_for, body });
    }

    /// Somebody begins to write; clients show it for ten seconds or until their message.
    pub(crate) fn begin_typing(&mut self, channel: ChannelId, user: UserId) {
        if user == self.bot {
            self.typed.push(channel);
        }
        let mut data = json!({
            "channel_id": channel.to_string(),
            "user_id": user.to_string(),
            "timestamp": Utc::now().timestamp(),
        });
        if let Some(guild) = self
            .channels
            .get(&channel)
            .and_then(|channel| channel.guild)
        {
            data["guild_id"] = json!(guild.to_string());
        }
        self.tell(None, json!({"t": "TYPING_START", "d": data.clone()}));
        self.dispatch("TYPING_START", data);
    }

    fn id_at(&mut self, at: DateTime<Utc>) -> u64 {
        let step = self.next_id() & 0x3f_ffff;
        (((at.timestamp_millis() - EPOCH).max(0) as u64) << 22) | step
    }
}

/// When the thing with this snowflake was made.
pub(crate) fn made_at(id: u64) -> DateTime<Utc> {
    Utc.timestamp_millis_opt((id >> 22) as i64 + EPOCH)
        .single()
        .unwrap_or_default()
}
