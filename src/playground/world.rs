//! Everything the local Discord knows, and the changes that can be made to it.
//!
//! One lock holds it all. A change is made here, told to the gateway and to the page, and counted, so that
//! whoever waits for something looks again.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, TimeZone, Utc};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::gateway::Gateway;
use super::guild::{
    Attachment, Channel, ChannelKind, Guild, Member, Message, Role, ThreadState, User,
};
use super::interaction::Interaction;
use super::rest::Desk;
use super::rights::{self, Rights};
use super::wire;
use crate::domain::{ChannelId, GuildId, MessageId, RoleId, UserId};

/// Milliseconds of the year 2015, where snowflakes begin.
const EPOCH: i64 = 1_420_070_400_000;

/// News that a page may lag behind before it must load everything again.
const PAGE_BACKLOG: usize = 1024;

/// A file that can be fetched.
#[derive(Clone)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) content_type: String,
    pub(crate) bytes: bytes::Bytes,
}

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

    /// Adds a server with its `#general`; the bot is in it already.
    pub(crate) fn add_guild(&mut self, name: &str, owner: UserId) -> GuildId {
        let id = GuildId(self.next_id());
        let bot_role = RoleId(self.next_id());
        let everyone = Role {
            id: RoleId(id.0),
            name: "@everyone".into(),
            rights: Rights::EVERYONE,
            colour: 0,
        };
        let of_bot = Role {
            id: bot_role,
            name: "Chorus".into(),
            rights: Rights::BOT,
            colour: 0x5b8def,
        };
        let mut guild = Guild {
            id,
            name: name.to_owned(),
            owner,
            roles: vec![everyone, of_bot],
            members: BTreeMap::new(),
        };
        guild.members.insert(
            self.bot,
            Member {
                roles: vec![bot_role],
                nick: None,
            },
        );
        guild.members.insert(owner, Member::default());
        self.guilds.insert(id, guild);
        self.add_channel(id, "general", ChannelKind::Text, None);
        let data = wire::guild_create(self, id);
        self.dispatch("GUILD_CREATE", data);
        self.tell(None, json!({"t": "reload"}));
        id
    }

    pub(crate) fn add_channel(
        &mut self,
        guild: GuildId,
        name: &str,
        kind: ChannelKind,
        parent: Option<ChannelId>,
    ) -> ChannelId {
        let id = ChannelId(self.next_id());
        let position = self
            .channels
            .values()
            .filter(|c| c.guild == Some(guild))
            .count();
        let channel = Channel {
            id,
            kind,
            guild: Some(guild),
            parent,
            name: name.to_owned(),
            topic: None,
            position: position as u16,
            overwrites: Vec::new(),
            last_message: None,
            thread: None,
            recipient: None,
        };
        self.channels.insert(id, channel);
        self.channel_event("CHANNEL_CREATE", id);
        id
    }

    /// Opens a thread under `parent`, on a message or without one.
    pub(crate) fn add_thread(
        &mut self,
        parent: ChannelId,
        on: Option<MessageId>,
        name: &str,
        kind: ChannelKind,
        owner: UserId,
    ) -> ChannelId {
        let id = ChannelId(on.map_or_else(|| self.next_id(), |message| message.0));
        let guild = self.channels.get(&parent).and_then(|channel| channel.guild);
        let mut members = vec![owner];
        if owner != self.bot {
            members.push(self.bot);
        }
        let thread = ThreadState {
            owner,
            archived: false,
            locked: false,
            auto_archive_minutes: 1440,
            members,
        };
        self.channels.insert(
            id,
            Channel {
                id,
                kind,
                guild,
                parent: Some(parent),
                name: name.to_owned(),
                topic: None,
                position: 0,
                overwrites: Vec::new(),
                last_message: None,
                thread: Some(thread),
                recipient: None,
            },
        );
        self.channel_event("THREAD_CREATE", id);
        if let Some(message) = on
            && let Some(starter) = self.message_mut(parent, message)
        {
            starter.thread = Some(id);
            self.message_event("MESSAGE_UPDATE", parent, message);
        }
        id
    }

    /// The conversation between the bot and `user`.
    pub(crate) fn direct(&mut self, user: UserId) -> ChannelId {
        let known = self
            .channels
            .values()
            .find(|channel| channel.recipient == Some(user));
        if let Some(channel) = known {
            return channel.id;
        }
        let id = ChannelId(self.next_id());
        self.channels.insert(
            id,
            Channel {
                id,
                kind: ChannelKind::Direct,
                guild: None,
                parent: None,
                name: String::new(),
                topic: None,
                position: 0,
                overwrites: Vec::new(),
                last_message: None,
                thread: None,
                recipient: Some(user),
            },
        );
        self.tell(Some(user), json!({"t": "reload"}));
        id
    }

    /// Takes a channel away, with its messages and threads.
    pub(crate) fn remove_channel(&mut self, id: ChannelId) {
        let below: Vec<ChannelId> = self
            .channels
            .values()
            .filter(|channel| channel.parent == Some(id) && channel.kind.is_thread())
            .map(|channel| channel.id)
            .collect();
        for thread in below {
            self.remove_channel(thread);
        }
        let is_thread = self
            .channels
            .get(&id)
            .is_some_and(|channel| channel.kind.is_thread());
        self.channel_event(
            if is_thread {
                "THREAD_DELETE"
            } else {
                "CHANNEL_DELETE"
            },
            id,
        );
        self.channels.remove(&id);
        self.messages.remove(&id);
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
            rights::in_channel(guild, place, user)
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

    /// Keeps a file to be fetched; its type is told from the name when it is not given.
    pub(crate) fn store_file(
        &mut self,
        name: &str,
        content_type: Option<&str>,
        bytes: bytes::Bytes,
    ) -> Attachment {
        let id = self.next_id();
        let safe: String = name
            .chars()
            .map(|c| {
                if c.is_alphanumeric() || matches!(c, '.' | '-' | '_') {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        let content_type = content_type.unwrap_or_else(|| type_of(name)).to_owned();
        let stored = Attachment {
            id,
            name: safe.clone(),
            content_type: content_type.clone(),
            size: bytes.len(),
        };
        self.files.insert(
            id,
            File {
                name: safe,
                content_type,
                bytes,
            },
        );
        stored
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

/// MIME type by a name's ending, as far as agents and the page care.
fn type_of(name: &str) -> &'static str {
    let ending = name
        .rsplit('.')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    match ending.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "json" => "application/json",
        "md" => "text/markdown; charset=utf-8",
        "txt" | "log" | "rs" | "py" | "js" | "toml" | "yaml" | "yml" | "csv" | "sh" | "c" | "h" => {
            "text/plain; charset=utf-8"
        }
        "pdf" => "application/pdf",
        _ => "application/octet-stream",
    }
}
