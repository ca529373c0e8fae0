//! The servers that the bot is in: each is served, asked about or left, depending on its owner and on earlier
//! decisions.

use std::collections::{HashMap, HashSet};

use serenity::all::{Guild, PartialGuild};
use tracing::warn;

use super::Hub;
use crate::discord::bot::channels::GuildChannels;
use crate::discord::inbound::catch_up::Place;
use crate::discord::interactions::registration;
use crate::domain::{ChannelId, GuildId, MessageId, UserId};
use crate::manager::{SeenServer, Standing};

impl Hub {
    /// Handles a server as Discord describes it: serves it, or asks the operator about it.
    pub(super) async fn guild(&mut self, guild: &Guild) {
        self.ingress.server_described();
        if self.is_served(seen(guild)).await {
            self.serve(guild).await;
        }
    }

    /// Handles a server's new name or owner, which may change whether it is served.
    pub(super) async fn guild_changed(&mut self, guild: &PartialGuild) {
        let id = GuildId(guild.id.get());
        let seen = SeenServer {
            guild: id,
            name: guild.name.clone(),
            owner: UserId(guild.owner_id.get()),
            members: None,
        };
        if self.is_served(seen).await && !self.served.contains(&id) {
            self.serve_known(id).await;
        }
    }

    /// Handles a server that we are no longer in. Discord removes our commands from it.
    pub(super) async fn guild_gone(&mut self, guild: GuildId) {
        self.served.remove(&guild);
        if self.bot.knows(guild) {
            // We were invited again meanwhile.
            if self.bot.serves(guild) {
                self.serve_known(guild).await;
            }
            return;
        }
        if let Err(error) = self.bot.manager.servers.left(guild).await {
            warn!(%error, guild.id = %guild, "failed to store that the bot is not in {guild} any more");
        }
    }

    /// Applies decisions about servers: begins to serve those that are accepted now, and stops serving all others.
    pub(super) async fn look_at_servers(&mut self) {
        let cache = self.bot.cache();
        let all: Vec<SeenServer> = cache
            .guilds()
            .into_iter()
            .filter_map(|id| cache.guild(id).map(|guild| seen(&guild)))
            .collect();
        for one in all {
            let id = one.guild;
            if self.is_served(one).await && !self.served.contains(&id) {
                self.serve_known(id).await;
            }
        }
    }

    /// Returns whether a server is served. The operator is asked about another one, or it is left, and its running work
    /// ends.
    async fn is_served(&mut self, seen: SeenServer) -> bool {
        let id = seen.guild;
        let channels: Vec<ChannelId> = self.bot.server(id).map_or_else(Vec::new, |server| {
            let ids = server.channels.keys();
            ids.map(|channel| ChannelId(channel.get())).collect()
        });
        if let Err(error) = self
            .bot
            .manager
            .recovery
            .accept_again(&seen, &channels)
            .await
        {
            warn!(%error, guild.id = %id, "failed to accept the server {id} again");
        }
        let standing = match self.bot.manager.servers.saw(seen).await {
            Ok(standing) => standing,
            Err(error) => {
                warn!(%error, guild.id = %id, "failed to store what is known of the server {id}");
                return self.bot.serves(id);
            }
        };
        if standing == Standing::Served {
            return true;
        }
        if standing == Standing::Unknown {
            return false;
        }
        self.end_service(id);
        let bot = self.bot.clone();
        match standing {
            Standing::Ask(row) => bot.ask_about_server(&row),
            Standing::Leave => {
                self.serving.spawn(async move {
                    if let Err(error) = bot.leave_server(id).await {
                        warn!(%error, guild.id = %id, "failed to leave {id}, which is not accepted; trying again later");
                    }
                });
            }
            Standing::Served | Standing::Unknown | Standing::Waits => {}
        }
        false
    }

    /// Ends the running work in a server that is no longer served, and removes our commands from it.
    fn end_service(&mut self, guild: GuildId) {
        let was_served = self.served.remove(&guild);
        let bot = self.bot.clone();
        let stop = self.ends.intake.clone();
        self.serving.spawn(async move {
            if was_served {
                bot.manager.routing.end_work_in(guild).await;
            }
            registration::unregister(bot, guild, stop).await;
        });
    }

    /// Begins to serve a server that was described before. Messages written there meanwhile were skipped, so they are
    /// read.
    async fn serve_known(&mut self, guild: GuildId) {
        let server = self.bot.server(guild).map(|server| server.clone());
        let Some(server) = server else {
            return;
        };
        self.serve(&server).await;
        for place in server.channels.values().chain(&server.threads) {
            let parent = place.parent_id.map(|parent| ChannelId(parent.get()));
            let here = ChannelId(place.id.get());
            if self.bot.manager.directory.agent_for(here, parent).is_some() {
                self.ingress.read_again(guild, here);
            }
        }
    }

    /// Serves a server with its channels: registers our commands, and reads missed messages in the channels of agents.
    async fn serve(&mut self, guild: &Guild) {
        let id = GuildId(guild.id.get());
        if self.served.insert(id) {
            self.bot.recall_command_ids(id).await;
            self.bot.greet(id).await;
            let registering =
                registration::register(self.bot.clone(), id, self.ends.intake.clone());
            self.serving.spawn(registering);
            self.deliver_in(id).await;
        }
        if let Err(error) = self.bot.manager.settings.reload(id).await {
            warn!(%error, guild.id = %id, "failed to read a server's settings");
        }
        let newest = |channel: &serenity::all::GuildChannel| {
            let last = channel.last_message_id.map(|last| MessageId(last.get()));
            (ChannelId(channel.id.get()), last)
        };
        let channels: Vec<_> = guild.channels.values().map(newest).collect();
        self.bot.manager.recovery.rebuild(id, &channels).await;
        self.settle(id);
        self.look_for_lacking(
            id,
            channels.into_iter().map(|(channel, _)| channel).collect(),
        );
        let manager = self.bot.manager.clone();
        self.serving
            .spawn(async move { manager.routing.look_at_agents(id).await });
        let cursors = self.cursors().await;
        let places = guild.channels.values().chain(&guild.threads);
        for channel in places {
            let here = ChannelId(channel.id.get());
            let parent = channel.parent_id.map(|parent| ChannelId(parent.get()));
            if self.bot.manager.directory.agent_for(here, parent).is_none() {
                continue;
            }
            let last_message = channel.last_message_id.map(|last| MessageId(last.get()));
            let place = Place {
                channel: here,
                last_message,
                cursor: cursors.get(&here).copied(),
            };
            self.ingress.place(id, place);
        }
    }

    /// Returns the newest stored message of each channel, read in one query; new messages wait for this.
    async fn cursors(&self) -> HashMap<ChannelId, MessageId> {
        match self.bot.store.cursors().await {
            Ok(cursors) => cursors.into_iter().collect(),
            Err(error) => {
                warn!(%error, "failed to read the cursors; channels are looked through from their beginning");
                HashMap::new()
            }
        }
    }

    /// Sends messages that waited while the server was not served.
    async fn deliver_in(&mut self, guild: GuildId) {
        let channels = match self.bot.store.waiting_channels().await {
            Ok(channels) => channels,
            Err(error) => {
                return warn!(%error, "failed to read which channels have something to send");
            }
        };
        for channel in channels {
            if self.bot.guild_of(channel) == Some(guild) {
                self.outbound.deliver(channel);
            }
        }
    }

    /// Finishes work in a server that a crash, or Discord's rate limit, left undone.
    pub(super) fn settle(&self, guild: GuildId) {
        let (bot, end) = (self.bot.clone(), self.ends.intake.clone());
        self.serving.spawn(async move {
            let channels = GuildChannels::new(bot.clone());
            let settled = bot.manager.recovery.settle(guild, &channels);
            end.run_until_cancelled(settled).await;
        });
    }

    /// Reports which agents lost their channel or folder meanwhile. `channels` are those of the server.
    fn look_for_lacking(&self, guild: GuildId, channels: HashSet<ChannelId>) {
        let (bot, end) = (self.bot.clone(), self.ends.intake.clone());
        self.serving.spawn(async move {
            let ports = GuildChannels::new(bot.clone());
            let is_there = |channel| channels.contains(&channel);
            let looking = bot.manager.recovery.lacking(guild, is_there, &ports);
            match end.run_until_cancelled(looking).await {
                Some(Ok(lacking)) => {
                    let told_in = bot.first_usable(guild);
                    bot.manager.recovery.tell_lacking(lacking, told_in).await;
                }
                Some(Err(error)) => {
                    warn!(%error, guild.id = %guild, "failed to look for the channels of agents");
                }
                None => {}
            }
        });
    }
}

fn seen(guild: &Guild) -> SeenServer {
    SeenServer {
        guild: GuildId(guild.id.get()),
        name: guild.name.clone(),
        owner: UserId(guild.owner_id.get()),
        members: Some(guild.member_count),
    }
}
