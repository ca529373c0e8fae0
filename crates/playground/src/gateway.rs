//! The gateway: the bot's sessions and their events.
//!
//! A session outlives its connection: events wait in its replay buffer, and RESUME delivers them. `socket` is one
//! connection.

mod intents;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
#[cfg(feature = "testing")]
use std::time::Instant;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

#[cfg(feature = "testing")]
use crate::testing::gateway::Orders;
use chorus_base::discord_ids::UserId;

/// Events that a session keeps for a resume.
const REPLAY: usize = 5_000;

/// An event at the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatewayEvent {
    /// A connection was opened.
    Connected,
    /// IDENTIFY arrived with these intents.
    Identified(u64),
    /// RESUME arrived and was granted.
    Resumed,
    /// RESUME arrived and was refused.
    ResumeRefused,
    /// IDENTIFY was refused with this close code.
    Refused(u16),
    /// The connection ended.
    Disconnected,
    /// The bot set its presence: status and the first activity's text.
    Presence(String, String),
}

/// All sessions, and the gateway's behaviour.
pub(crate) struct Gateway {
    pub(crate) sessions: BTreeMap<String, Session>,
    pub(crate) heartbeat: Duration,
    /// Intents that the application may not use: an IDENTIFY with one of them is closed with 4014.
    pub(crate) disallowed_intents: u64,
    /// Identifies left today.
    pub(crate) identifies_left: u64,
    /// Time until the count of identifies is reset.
    pub(crate) identifies_reset: Duration,
    pub(crate) counter: u64,
    /// The orders of a test, and its records.
    #[cfg(feature = "testing")]
    pub(crate) orders: Orders,
}

impl Default for Gateway {
    fn default() -> Self {
        Self {
            sessions: BTreeMap::new(),
            heartbeat: Duration::from_millis(41_250),
            disallowed_intents: 0,
            identifies_left: 1_000,
            identifies_reset: Duration::from_secs(24 * 60 * 60),
            counter: 0,
            #[cfg(feature = "testing")]
            orders: Orders::default(),
        }
    }
}

/// One session of the bot.
pub(crate) struct Session {
    intents: u64,
    sequence: u64,
    replay: VecDeque<(u64, String)>,
    /// The connection, while there is one.
    pub(crate) connection: Option<Connection>,
    compress: bool,
}

/// The queue to a connection's task.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) number: u64,
    pub(crate) frames: UnboundedSender<Frame>,
    /// Ordered by a test: stay open, but send nothing from now on.
    #[cfg(feature = "testing")]
    pub(crate) is_stalled: bool,
}

/// The next frame for a connection's task.
pub(crate) enum Frame {
    Payload(String),
    /// Large payloads of a session that requested compression.
    Compressed(String),
    Close(Option<u16>),
    Cut,
}

impl Gateway {
    /// Logs an event, and records it for a test.
    pub(crate) fn note(&mut self, event: GatewayEvent) {
        tracing::debug!("the local Discord's gateway: {event:?}");
        #[cfg(feature = "testing")]
        self.orders.log.push((Instant::now(), event));
    }

    /// Returns whether the bot has a connection with a session.
    pub(crate) fn is_connected(&self) -> bool {
        self.sessions
            .values()
            .any(|session| session.connection.is_some())
    }

    /// Begins a session as IDENTIFY requests it, and returns its id; sessions that lost their connection are forgotten.
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

    /// Welcomes a session: READY, then every server in full if the session subscribed to servers.
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

    /// Sends an event to every session that subscribed to its kind, with the parts that the session may read.
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

    /// Ends every connection of the bot without a close frame.
    pub(crate) fn cut(&mut self) {
        for session in self.sessions.values_mut() {
            if let Some(connection) = session.connection.take() {
                // The task of a connection that just ended notices by itself.
                let _ = connection.frames.send(Frame::Cut);
            }
        }
    }

    /// Continues a session and replays the events after `sequence`; false if that is not possible.
    pub(super) fn resume(&mut self, id: &str, sequence: u64, connection: Connection) -> bool {
        #[cfg(feature = "testing")]
        if self.orders.refuses_resume() {
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
}

impl Session {
    pub(crate) fn send(&mut self, payload: String) {
        let Some(connection) = &self.connection else {
            return;
        };
        #[cfg(feature = "testing")]
        if connection.is_stalled {
            return;
        }
        let frame = if self.compress && payload.len() > 2_048 {
            Frame::Compressed(payload)
        } else {
            Frame::Payload(payload)
        };
        // The task of a connection that just ended notices by itself; the event stays in the replay buffer.
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

/// Returns the address that the bot connects to.
pub(crate) fn gateway_url(base: &str) -> String {
    format!("{}/gateway-socket", base.replacen("http", "ws", 1))
}
