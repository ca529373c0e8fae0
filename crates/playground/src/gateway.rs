//! The gateway: the bot's sessions, their events, and the ways in which a connection can fail.
//!
//! A session outlives its connection: events that find no connection wait in its replay buffer, and RESUME delivers them.
//! `socket` is one connection.

mod intents;

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use chorus_ids::UserId;

/// Events a session keeps for a resume.
const REPLAY: usize = 5_000;

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
pub enum GatewayEvent {
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
    pub(crate) log: Vec<(Instant, GatewayEvent)>,
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
    pub(crate) fn note(&mut self, moment: GatewayEvent) {
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

    /// Begins a session as an IDENTIFY asks for it, and gives its id; sessions that lost their connection are forgotten.
    pub(super) fn begin(&mut self, identify: &Value, connection: Connection) -> String {
        self.counter += 1;
        let id = format!("session-{}", self.counter);
        let session = Session {
            intents: identify["intents"].as_u64().unwrap_or(0),
            sequence: 0,
            replay: VecDeque::new(),
            connection: Some(connection),
            compress: identify["compress"].as_bool().unwrap_or(false),
        };
        self.sessions.retain(|_, old| old.connection.is_some());
        self.sessions.insert(id.clone(), session);
        id
    }

    /// Welcomes a session: READY, then every server in full, if it asked for servers.
    pub(super) fn welcome(&mut self, id: &str, ready: &Value, servers: &[Value]) {
        let Some(session) = self.sessions.get_mut(id) else {
            return;
        };
        session.dispatch("READY", ready);
        for server in servers {
            if intents::covers(session.intents, "GUILD_CREATE", server) {
                session.dispatch("GUILD_CREATE", server);
            }
        }
    }

    /// Sends an event to every session that asked for its kind, as far as it may read it.
    pub(crate) fn send(&mut self, name: &str, data: &Value, bot: UserId) {
        for session in self.sessions.values_mut() {
            if !intents::covers(session.intents, name, data) {
                continue;
            }
            if intents::may_read(session.intents, name, data, bot) {
                session.dispatch(name, data);
            } else {
                session.dispatch(name, &intents::blank(data));
            }
        }
    }

    /// Sends these words to every connection of the bot, whatever they are.
    pub(crate) fn send_raw(&mut self, payload: &str) {
        for session in self.sessions.values_mut() {
            session.send(payload.to_owned());
        }
    }

    /// Breaks every connection of the bot in this way.
    pub(crate) fn break_connections(&mut self, how: Break) {
        for session in self.sessions.values_mut() {
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
            self.sessions.clear();
        }
    }

    /// Goes on with a session, replaying what came after `sequence`; false when it cannot.
    pub(super) fn resume(&mut self, id: &str, sequence: u64, connection: Connection) -> bool {
        if self.refuse_resumes > 0 {
            self.refuse_resumes -= 1;
            return false;
        }
        let Some(session) = self.sessions.get_mut(id) else {
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
    pub(super) fn lose_connection(&mut self, number: u64) {
        for session in self.sessions.values_mut() {
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
    pub(super) fn is_stalled(&self, number: u64) -> bool {
        self.sessions.values().any(|session| {
            session
                .connection
                .as_ref()
                .is_some_and(|one| one.number == number && one.is_stalled)
        })
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

/// Where the bot is to connect.
pub(crate) fn gateway_url(base: &str) -> String {
    format!("{}/gateway-socket", base.replacen("http", "ws", 1))
}
