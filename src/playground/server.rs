//! The local Discord as a value: started, acted upon, looked at, broken on purpose.

mod broken;
mod seen;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{DefaultBodyLimit, State};
use axum::routing::{any, get};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::gateway::{Break, socket};
use super::guild::{ChannelKind, Member};
use super::people::Person;
use super::rest;
use super::rights::Rights;
use super::world::World;
use super::{guild, saved};
use crate::domain::{ChannelId, GuildId, UserId};

/// How to start a local Discord.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The one token that is right.
    pub token: String,
    /// Name of the first server.
    pub guild: String,
    /// Who owns that server and the application.
    pub owner: String,
    /// Folder that it is kept in from one start to the next; none forgets it.
    pub folder: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            token: "playground-token".to_owned(),
            guild: "Playground".to_owned(),
            owner: "ann".to_owned(),
            folder: None,
        }
    }
}

/// A local Discord. Clones are the same one.
#[derive(Clone)]
pub struct Discord {
    shared: Arc<Shared>,
}

struct Shared {
    world: Mutex<World>,
    changes: watch::Sender<u64>,
    stop: CancellationToken,
    base: String,
    token: String,
    folder: Option<PathBuf>,
}

impl Discord {
    /// Starts one, with a server, its `#general`, its owner and the bot in it.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened on, or what its folder holds is damaged.
    pub async fn start(options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen).await?;
        let base = format!("http://{}", listener.local_addr()?);
        let mut world = World::new(base.clone(), options.token.clone());
        let is_restored = match &options.folder {
            Some(folder) => saved::restore(&mut world, folder)?,
            None => false,
        };
        if !is_restored {
            let owner = world.add_user(&options.owner);
            world.application_owner = owner;
            world.add_guild(&options.guild, owner);
        }
        let stop = CancellationToken::new();
        let shared = Shared {
            world: Mutex::new(world),
            changes: watch::channel(0).0,
            stop: stop.clone(),
            base,
            token: options.token,
            folder: options.folder,
        };
        let discord = Self {
            shared: Arc::new(shared),
        };
        let routes = Router::new()
            .route("/gateway-socket", any(connect))
            .route("/attachments/{id}/{name}", get(rest::attachment))
            .fallback(rest::answer)
            .layer(DefaultBodyLimit::disable())
            .with_state(discord.clone());
        tokio::spawn(async move {
            let served = axum::serve(listener, routes)
                .with_graceful_shutdown(async move { stop.cancelled().await })
                .await;
            if let Err(error) = served {
                tracing::error!(%error, "the local Discord ended: {error}");
            }
        });
        Ok(discord)
    }

    /// Ends it; connections are closed as they become idle.
    pub fn stop(&self) {
        self.break_gateway(Break::Cut);
        self.shared.stop.cancel();
    }

    /// Writes everything into its folder, if it has one.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written.
    pub fn save(&self) -> io::Result<()> {
        match &self.shared.folder {
            Some(folder) => self.look(saved::Picture::of).write(folder),
            None => Ok(()),
        }
    }

    /// Tells of each change from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// What `CHORUS_DISCORD_API_URL` is to be, such as `http://127.0.0.1:4000`.
    pub fn base_url(&self) -> &str {
        &self.shared.base
    }

    /// The bot's token.
    pub fn token(&self) -> &str {
        &self.shared.token
    }

    /// Changes the world and wakes whoever waits for a change.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let result = {
            let mut world = self
                .shared
                .world
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            change(&mut world)
        };
        self.shared.changes.send_modify(|count| *count += 1);
        result
    }

    /// Looks at the world.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        look(
            &self
                .shared
                .world
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Waits until `found` gives something, looking again after each change.
    pub async fn wait_for<T>(&self, mut found: impl FnMut(&Self) -> Option<T>) -> T {
        let mut changes = self.shared.changes.subscribe();
        loop {
            changes.mark_unchanged();
            if let Some(result) = found(self) {
                return result;
            }
            // The sender lives in `self`, so this ends only with a change.
            let _ = changes.changed().await;
        }
    }

    // --- people and places -------------------------------------------------------------------

    /// Somebody by name; a plain member of every server, made when there is nobody of that name.
    pub fn user(&self, name: &str) -> Person {
        let id = self.change(|world| {
            let known = world
                .users
                .values()
                .find(|user| user.name == name && !user.is_bot);
            if let Some(user) = known {
                return user.id;
            }
            let id = world.add_user(name);
            let guilds: Vec<GuildId> = world.guilds.keys().copied().collect();
            for guild in guilds {
                if let Some(guild) = world.guilds.get_mut(&guild) {
                    guild.members.insert(id, Member::default());
                }
                world.member_event(guild, id);
            }
            id
        });
        Person {
            discord: self.clone(),
            id,
            name: name.to_owned(),
        }
    }

    /// Another bot, in every server.
    pub fn other_bot(&self, name: &str) -> Person {
        let person = self.user(name);
        self.change(|world| {
            if let Some(user) = world.users.get_mut(&person.id) {
                user.is_bot = true;
            }
        });
        person
    }

    /// The bot's own id, which is the application's id too.
    pub fn bot(&self) -> UserId {
        self.look(|world| world.bot)
    }

    /// The first server.
    pub fn guild(&self) -> GuildId {
        self.look(|world| world.guilds.keys().next().copied().unwrap_or(GuildId(0)))
    }

    /// Adds a server owned by `owner`.
    pub fn add_guild(&self, name: &str, owner: &Person) -> GuildId {
        self.change(|world| world.add_guild(name, owner.id))
    }

    /// Adds a text channel to a server.
    pub fn add_channel(&self, guild: GuildId, name: &str) -> ChannelId {
        self.change(|world| world.add_channel(guild, name, ChannelKind::Text, None))
    }

    /// The channel or thread with this name, with or without its `#`; the newest when several have it.
    pub fn channel(&self, name: &str) -> Option<ChannelId> {
        let name = name.trim_start_matches('#');
        self.look(|world| {
            let mut all = world.channels.values().rev();
            all.find(|channel| channel.name == name && channel.guild.is_some())
                .map(|one| one.id)
        })
    }

    /// Names of the channels of a server, categories and threads among them, in order.
    pub fn channel_names(&self, guild: GuildId) -> Vec<String> {
        self.look(|world| {
            let own = world
                .channels
                .values()
                .filter(|channel| channel.guild == Some(guild));
            own.map(|channel| channel.name.clone()).collect()
        })
    }

    /// The topic of a channel.
    pub fn topic(&self, channel: ChannelId) -> Option<String> {
        self.look(|world| world.channels.get(&channel)?.topic.clone())
    }

    /// Takes rights from the bot in one channel.
    pub fn denies_bot(&self, channel: ChannelId, rights: Rights) {
        let bot = self.bot();
        self.denies(channel, bot, rights);
    }

    /// Takes rights from somebody in one channel.
    pub fn denies(&self, channel: ChannelId, user: UserId, rights: Rights) {
        self.change(|world| {
            if let Some(found) = world.channels.get_mut(&channel) {
                let of = guild::OverwriteOf::Member(user);
                found.overwrites.push(guild::Overwrite {
                    of,
                    allow: Rights::default(),
                    deny: rights,
                });
            }
            world.channel_event("CHANNEL_UPDATE", channel);
        });
    }

    /// Takes rights from the bot in the whole server.
    pub fn takes_from_bot(&self, rights: Rights) {
        self.change(|world| {
            for guild in world.guilds.values_mut() {
                for role in guild.roles.iter_mut().filter(|role| role.name == "Chorus") {
                    role.rights = Rights(role.rights.0 & !rights.0);
                }
            }
            let updated: Vec<(GuildId, Value)> = world
                .guilds
                .values()
                .flat_map(|guild| {
                    super::wire::roles(guild)
                        .into_iter()
                        .map(|role| (guild.id, role))
                })
                .collect();
            for (guild, role) in updated {
                let data = serde_json::json!({"guild_id": guild.to_string(), "role": role});
                world.dispatch("GUILD_ROLE_UPDATE", data);
            }
        });
    }
}

async fn connect(
    State(discord): State<Discord>,
    upgrade: WebSocketUpgrade,
) -> axum::response::Response {
    upgrade.on_upgrade(|socket| socket::serve(discord, socket))
}
