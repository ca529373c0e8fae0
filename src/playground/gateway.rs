//! The gateway: sessions, their events, and the ways in which a connection can fail.
//!
//! A session outlives its connection: events that find no connection wait in its replay buffer, and RESUME
//! delivers them. `socket` is the connection itself.

pub(crate) mod socket;

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::wire;
use super::world::World;
use crate::domain::{ChannelId, UserId};

/// Events a session keeps for a resume.
const REPLAY: usize = 5_000;

/// Intent bit: servers, channels, roles and threads.
const GUILDS: u64 = 1 << 0;
/// Intent bit: members coming, going and changing. Privileged.
const GUILD_MEMBERS: u64 = 1 << 1;
/// Intent bit: messages in servers.
const GUILD_MESSAGES: u64 = 1 << 9;
/// Intent bit: reactions in servers.
const GUILD_REACTIONS: u64 = 1 << 10;
/// Intent bit: typing in servers.
const GUILD_TYPING: u64 = 1 << 11;
/// Intent bit: direct messages.
const DIRECT_MESSAGES: u64 = 1 << 12;
/// Intent bit: what people write. Privileged.
const MESSAGE_CONTENT: u64 = 1 << 15;

/// A way to break the connection to the bot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// The TCP connection ends without a word.
    Cut,
    /// A close frame with this code.
    Close(u16),
    /// A close frame without a code.
    CloseWithoutCode,
    /// Op 7: please reconnect.
    Reconnect,
    /// Op 9, and the session can be resumed.
    InvalidResumable,
    /// Op 9, and the session is gone.
    Invalid,
    /// The connection stays open, but nothing comes any more: no events, no heartbeat acknowledgements.
    Stall,
}

/// Something that happened at the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A connection was opened.
    Connected,
    /// IDENTIFY came, with these intents.
    Identified(u64),
    /// RESUME came and was granted.
    Resumed,
    /// RESUME came and was refused.
    ResumeRefused,
    /// IDENTIFY was refused with this close code.
    Refused(u16),
    /// The connection ended.
    Disconnected,
    /// The bot set its presence: status and the first activity's text.
    Presence(String, String),
}

/// Changes an event by its name.
pub(crate) type Alteration = Box<dyn Fn(&str, &mut Value) + Send>;

/// All sessions, and how the gateway behaves.
pub(crate) struct Gateway {
    pub(crate) sessions: BTreeMap<String, Session>,
    pub(crate) heartbeat: Duration,
    /// Intents the application may not have: IDENTIFY with one of them is closed with 4014.
    pub(crate) disallowed_intents: u64,
    /// RESUMEs to refuse before one is granted.
    pub(crate) refuse_resumes: usize,
    /// RESUMEs to cut the connection at, without a word, before one is granted.
    pub(crate) cut_resumes: usize,
    /// Identifies left today.
    pub(crate) identifies_left: u64,
    /// How long today lasts.
    pub(crate) identifies_reset: Duration,
    /// While set, events wait here instead of going out.
    pub(crate) held: Option<Vec<(String, Value)>>,
    /// What is done to every event before it is sent.
    pub(crate) alter: Option<Alteration>,
    /// The latest events, for repeating them.
    pub(crate) latest: VecDeque<(String, Value)>,
    pub(crate) log: Vec<(Instant, Moment)>,
    pub(crate) counter: u64,
}

impl Default for Gateway {
    fn default() -> Self {
        Self {
            sessions: BTreeMap::new(),
            heartbeat: Duration::from_millis(41_250),
            disallowed_intents: 0,
            refuse_resumes: 0,
            cut_resumes: 0,
            identifies_left: 1_000,
            identifies_reset: Duration::from_secs(24 * 60 * 60),
            held: None,
            alter: None,
            latest: VecDeque::new(),
            log: Vec::new(),
            counter: 0,
        }
    }
}

/// One session of the bot.
pub(crate) struct Session {
    intents: u64,
    sequence: u64,
    replay: VecDeque<(u64, String)>,
    /// The connection, while there is one.
    connection: Option<Connection>,
    compress: bool,
}

/// The way to a connection's task.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) number: u64,
    pub(crate) frames: UnboundedSender<Frame>,
    pub(crate) is_stalled: bool,
}

/// What a connection's task is to do next.
pub(crate) enum Frame {
    Payload(String),
    /// Large payloads of a session that asked for it.
    Compressed(String),
    Close(Option<u16>),
    Cut,
}

impl Gateway {
    pub(crate) fn note(&mut self, moment: Moment) {
        self.log.push((Instant::now(), moment));
    }

    /// Changes an event, or a message of that shape, as was ordered.
    pub(crate) fn alters(&self, name: &str, data: &mut Value) {
        if let Some(alter) = &self.alter {
            alter(name, data);
        }
    }

    /// Whether the bot has a connection with a session.
    pub(crate) fn is_connected(&self) -> bool {
        self.sessions
            .values()
            .any(|session| session.connection.is_some())
    }

    fn open(&mut self, id: &str) -> Option<&mut Session> {
        self.sessions.get_mut(id)
    }
}

impl Session {
    fn send(&mut self, payload: String) {
        let Some(connection) = &self.connection else {
            return;
        };
        if connection.is_stalled {
            return;
        }
        let frame = if self.compress && payload.len() > 2_048 {
            Frame::Compressed(payload)
        } else {
            Frame::Payload(payload)
        };
        // A connection that just ended is noticed by its own task; the event stays in the replay buffer.
        let _ = connection.frames.send(frame);
    }

    fn dispatch(&mut self, name: &str, data: &Value) {
        self.sequence += 1;
        let payload = json!({"op": 0, "s": self.sequence, "t": name, "d": data}).to_string();
        self.replay.push_back((self.sequence, payload.clone()));
        if self.replay.len() > REPLAY {
            self.replay.pop_front();
        }
        self.send(payload);
    }
}

impl World {
    /// Sends an event to every session that asked for its kind.
    pub(crate) fn dispatch(&mut self, name: &str, mut data: Value) {
        self.gateway.alters(name, &mut data);
        if let Some(held) = &mut self.gateway.held {
            held.push((name.to_owned(), data));
            return;
        }
        self.gateway
            .latest
            .push_back((name.to_owned(), data.clone()));
        if self.gateway.latest.len() > 100 {
            self.gateway.latest.pop_front();
        }
        if !is_visible(self, &data) {
            return;
        }
        let own = author_of(&data) == Some(self.bot.to_string());
        let bot_mention = format!("<@{}>", self.bot);
        for session in self.gateway.sessions.values_mut() {
            if !wants(session.intents, name, &data) {
                continue;
            }
            let is_message = name.starts_with("MESSAGE_") && data.get("content").is_some();
            let is_direct = data.get("guild_id").is_none();
            let may_read = session.intents & MESSAGE_CONTENT != 0
                || own
                || is_direct
                || data["content"]
                    .as_str()
                    .is_some_and(|content| content.contains(&bot_mention));
            if is_message && !may_read {
                let mut blank = data.clone();
                blank["content"] = json!("");
                for list in ["embeds", "attachments", "components"] {
                    blank[list] = json!([]);
                }
                session.dispatch(name, &blank);
            } else {
                session.dispatch(name, &data);
            }
        }
    }

    /// Sends these words to every connection of the bot, whatever they are.
    pub(crate) fn send_raw(&mut self, payload: &str) {
        for session in self.gateway.sessions.values_mut() {
            session.send(payload.to_owned());
        }
    }

    /// Breaks every connection of the bot in this way.
    pub(crate) fn break_gateway(&mut self, how: Break) {
        for session in self.gateway.sessions.values_mut() {
            let Some(connection) = &mut session.connection else {
                continue;
            };
            let send = |frame| {
                let _ = connection.frames.send(frame);
            };
            match how {
                Break::Cut => send(Frame::Cut),
                Break::Close(code) => send(Frame::Close(Some(code))),
                Break::CloseWithoutCode => send(Frame::Close(None)),
                Break::Reconnect => send(Frame::Payload(json!({"op": 7, "d": null}).to_string())),
                Break::InvalidResumable => {
                    send(Frame::Payload(json!({"op": 9, "d": true}).to_string()));
                }
                Break::Invalid => send(Frame::Payload(json!({"op": 9, "d": false}).to_string())),
                Break::Stall => connection.is_stalled = true,
            }
            if how != Break::Stall {
                session.connection = None;
            }
        }
        // These take the session away: a resume of it is refused.
        if matches!(how, Break::Invalid | Break::Close(4006 | 4007 | 4009)) {
            self.gateway.sessions.clear();
        }
    }

    /// Begins a session: READY, then every server in full.
    fn begin_session(&mut self, identify: &Value, connection: Connection) -> String {
        self.gateway.counter += 1;
        let id = format!("session-{}", self.gateway.counter);
        let session = Session {
            intents: identify["intents"].as_u64().unwrap_or(0),
            sequence: 0,
            replay: VecDeque::new(),
            connection: Some(connection),
            compress: identify["compress"].as_bool().unwrap_or(false),
        };
        let guilds: Vec<Value> = self
            .guilds
            .keys()
            .map(|guild| json!({"id": guild.to_string(), "unavailable": true}))
            .collect();
        let ready = json!({
            "v": 10,
            "user": wire::user_by_id(self, self.bot),
            "guilds": guilds,
            "session_id": id,
            "session_type": "normal",
            "resume_gateway_url": gateway_url(&self.base),
            "shard": identify.get("shard").cloned().unwrap_or(json!([0, 1])),
            "application": {"id": self.bot.to_string(), "flags": 0},
            "private_channels": [], "relationships": [], "presences": [], "user_settings": {},
            "geo_ordered_rtc_regions": [], "auth": {}, "_trace": [],
        });
        self.gateway
            .sessions
            .retain(|_, old| old.connection.is_some());
        self.gateway.sessions.insert(id.clone(), session);
        let servers: Vec<Value> = self
            .guilds
            .keys()
            .map(|guild| wire::guild_create(self, *guild))
            .collect();
        if let Some(session) = self.gateway.open(&id) {
            session.dispatch("READY", &ready);
            for server in servers {
                if wants(session.intents, "GUILD_CREATE", &server) {
                    session.dispatch("GUILD_CREATE", &server);
                }
            }
        }
        id
    }

    /// Goes on with a session, replaying what came after `sequence`; false when it cannot.
    fn resume_session(&mut self, id: &str, sequence: u64, connection: Connection) -> bool {
        if self.gateway.refuse_resumes > 0 {
            self.gateway.refuse_resumes -= 1;
            return false;
        }
        let Some(session) = self.gateway.open(id) else {
            return false;
        };
        if sequence > session.sequence {
            return false;
        }
        session.connection = Some(connection);
        let missed: Vec<String> = session
            .replay
            .iter()
            .filter(|(number, _)| *number > sequence)
            .map(|(_, payload)| payload.clone())
            .collect();
        for payload in missed {
            session.send(payload);
        }
        session.dispatch("RESUMED", &json!({"_trace": []}));
        true
    }

    /// Forgets the connection with this number; its session waits for a resume.
    fn lose_connection(&mut self, number: u64) {
        for session in self.gateway.sessions.values_mut() {
            if session
                .connection
                .as_ref()
                .is_some_and(|one| one.number == number)
            {
                session.connection = None;
            }
        }
    }

    /// Whether the connection with this number has gone silent.
    fn is_stalled(&self, number: u64) -> bool {
        self.gateway.sessions.values().any(|session| {
            session
                .connection
                .as_ref()
                .is_some_and(|one| one.number == number && one.is_stalled)
        })
    }
}

/// Where the bot is to connect.
pub(crate) fn gateway_url(base: &str) -> String {
    format!("{}/gateway-socket", base.replacen("http", "ws", 1))
}

/// Whether the bot may see the channel that an event is about.
fn is_visible(world: &World, data: &Value) -> bool {
    let channel = data["channel_id"]
        .as_str()
        .and_then(|id| id.parse::<u64>().ok());
    let Some(channel) = channel.map(ChannelId) else {
        return true;
    };
    if !world.channels.contains_key(&channel) || data.get("token").is_some() {
        return true;
    }
    world
        .rights(channel, world.bot)
        .contains(super::rights::Rights::VIEW_CHANNEL)
}

fn author_of(data: &Value) -> Option<String> {
    data["author"]["id"].as_str().map(str::to_owned)
}

/// Whether intents cover an event.
fn wants(intents: u64, name: &str, data: &Value) -> bool {
    let is_direct = data.get("guild_id").is_none();
    let needed = match name {
        "MESSAGE_CREATE" | "MESSAGE_UPDATE" | "MESSAGE_DELETE" | "MESSAGE_DELETE_BULK" => {
            if is_direct {
                DIRECT_MESSAGES
            } else {
                GUILD_MESSAGES
            }
        }
        "MESSAGE_REACTION_ADD" | "MESSAGE_REACTION_REMOVE" => GUILD_REACTIONS,
        "TYPING_START" => GUILD_TYPING,
        "GUILD_MEMBER_ADD" | "GUILD_MEMBER_UPDATE" | "GUILD_MEMBER_REMOVE" => GUILD_MEMBERS,
        "INTERACTION_CREATE" => return true,
        _ if name.starts_with("GUILD_")
            || name.starts_with("CHANNEL_")
            || name.starts_with("THREAD_") =>
        {
            GUILDS
        }
        _ => return true,
    };
    intents & needed != 0
}

/// The members that op 8 asks for.
fn members_chunk(world: &World, asked: &Value) -> Option<Value> {
    let guild = asked["guild_id"].as_str()?.parse::<u64>().ok()?;
    let found = world.guilds.get(&crate::domain::GuildId(guild))?;
    let wanted: Option<Vec<UserId>> = asked["user_ids"].as_array().map(|list| {
        list.iter()
            .filter_map(|id| id.as_str()?.parse().ok())
            .collect()
    });
    let members: Vec<Value> = found
        .members
        .iter()
        .filter(|(user, _)| wanted.as_ref().is_none_or(|wanted| wanted.contains(user)))
        .map(|(user, member)| wire::member(world, *user, member))
        .collect();
    Some(json!({
        "guild_id": guild.to_string(),
        "members": members,
        "chunk_index": 0,
        "chunk_count": 1,
        "not_found": [],
        "nonce": asked.get("nonce").cloned(),
    }))
}
