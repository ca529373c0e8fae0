//! Servers, channels, threads and roles: created and deleted.

use std::collections::BTreeMap;

use serde_json::json;

use crate::guild::{Channel, ChannelKind, Guild, Member, Role, ThreadState};
use crate::rights::Rights;
use crate::wire;
use crate::world::World;
use chorus_base::discord_ids::{ChannelId, GuildId, MessageId, RoleId, UserId};

impl World {
    /// Adds a server with its `#general`; the bot is already in it.
    pub(crate) fn add_guild(&mut self, name: &str, owner: UserId) -> GuildId {
        let id = GuildId(self.next_id());
        let bot_role = RoleId(self.next_id());
        let everyone = Role {
            id: RoleId(id.0),
            name: "@everyone".into(),
            rights: Rights::EVERYONE,
            colour: 0,
            is_managed: false,
        };
        let of_bot = Role {
            id: bot_role,
            name: self.name_of(self.bot),
            rights: Rights::BOT,
            colour: 0x5b8def,
            is_managed: true,
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

    /// Removes the bot and its commands from a server: it left, or was removed.
    pub(crate) fn take_bot_out(&mut self, id: GuildId) {
        let bot = self.bot;
        if let Some(guild) = self.guilds.get_mut(&id) {
            guild.members.remove(&bot);
        }
        self.commands.remove(&Some(id));
        self.dispatch("GUILD_DELETE", json!({"id": id.to_string()}));
        self.tell(None, json!({"t": "reload"}));
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

    /// Unarchives a thread, as a message in it does.
    pub(crate) fn unarchive(&mut self, id: ChannelId) {
        let thread = self
            .channels
            .get_mut(&id)
            .and_then(|one| one.thread.as_mut());
        let Some(thread) = thread.filter(|thread| thread.archived) else {
            return;
        };
        thread.archived = false;
        self.channel_event("THREAD_UPDATE", id);
    }

    /// Returns the direct conversation between the bot and `user`.
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

    /// Deletes a channel, with its messages and threads.
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

    /// Returns the role with this name in a server, and creates it if it is missing.
    pub(crate) fn role(&mut self, guild: GuildId, name: &str, rights: Rights) -> RoleId {
        let id = RoleId(self.next_id());
        let Some(found) = self.guilds.get_mut(&guild) else {
            return id;
        };
        if let Some(role) = found.roles.iter().find(|role| role.name == name) {
            return role.id;
        }
        let position = found.roles.len();
        let role = Role {
            id,
            name: name.to_owned(),
            rights,
            colour: 0,
            is_managed: false,
        };
        let data = json!({"guild_id": guild.to_string(), "role": wire::role(&role, position)});
        found.roles.push(role);
        self.dispatch("GUILD_ROLE_CREATE", data);
        id
    }
}
