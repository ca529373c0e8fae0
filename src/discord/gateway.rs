//! The connection to Discord's gateway, and its events.
//!
//! ```text
//! Discord ◀─▶ Connection ◀─▶ Gateway ─▶ normalise ─▶ inbound_event ─▶ the hub
//!                                                        └▶ serenity's cache
//! ```
//!
//! Each frame is parsed once. serenity turns events into values and keeps the servers' state in its cache. The
//! connection is our own: `session` decides, `connection` is one WebSocket, `open` identifies or resumes, and `Gateway`
//! opens one connection after the other. docs/decisions/0704 has the reasons.

mod connection;
mod context;
pub(super) mod event;
mod health;
mod open;
pub(super) mod presence;
pub mod session;
pub(super) mod shown;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use serenity::all::{Cache, GatewayIntents};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::connection::{Connection, Frame, Payload};
use self::presence::Busy;
use self::session::{Backoff, Disconnect, Session, after_close};
use super::error::DiscordError;
use super::rest::{Rest, gateway_client};
use crate::text;

pub(super) use self::context::SerenityContext;
pub(super) use self::event::InboundEvent;
pub use self::health::GatewayHealth;

/// The intents that we request. Message Content is privileged: without it messages have no text. Direct messages get a
/// hint as the answer.
const INTENTS: GatewayIntents = GatewayIntents::GUILDS
    .union(GatewayIntents::GUILD_MESSAGES)
    .union(GatewayIntents::DIRECT_MESSAGES)
    .union(GatewayIntents::MESSAGE_CONTENT);

/// Longest time until READY or RESUMED; each event before them restarts it.
const ACCEPTED_WITHIN: Duration = Duration::from_secs(20);

/// The close code that we send before a resume: any except 1000 and 1001 keeps the session.
const WILL_RESUME: u16 = 4_000;

/// The code that ends the session.
const NORMAL: u16 = 1_000;

/// Keeps a session with Discord's gateway, and passes its events to the hub in order.
pub(super) struct Gateway {
    config: GatewayConfig,
    http: reqwest::Client,
    session: Option<Session>,
    backoff: Backoff,
    /// When the last IDENTIFY was sent, successful or not.
    identified: Option<Instant>,
    /// When the presence may be changed again.
    presence_from: Instant,
}

/// The settings of the gateway, and the receivers of its events.
pub(super) struct GatewayConfig {
    pub(super) token: String,
    /// An address other than Discord's own.
    pub(super) base: Option<String>,
    pub(super) rest: Rest,
    /// The servers' state, updated before an event is passed on.
    pub(super) cache: Arc<Cache>,
    pub(super) health: GatewayHealth,
    /// Shown beside our name.
    pub(super) busy: watch::Receiver<Busy>,
    pub(super) events: UnboundedSender<InboundEvent>,
}

/// One attempt to connect, and its progress.
struct Attempt {
    began: Instant,
    is_accepted: bool,
    accepted_by: Instant,
}

impl Gateway {
    /// Creates a gateway that is not yet connected.
    pub(super) fn new(config: GatewayConfig) -> Result<Self, DiscordError> {
        let http =
            gateway_client().map_err(|error| DiscordError::Start(text::with_causes(&error)))?;
        Ok(Self {
            config,
            http,
            session: None,
            backoff: Backoff::default(),
            identified: None,
            presence_from: Instant::now(),
        })
    }

    /// Stays connected until `stop`.
    ///
    /// # Errors
    ///
    /// Fails if Discord will never accept us: a wrong token, a missing intent.
    pub(super) async fn run(mut self, stop: CancellationToken) -> Result<(), DiscordError> {
        let ended = self.stay_connected(&stop).await;
        self.config.health.set_ready(false);
        ended
    }

    async fn stay_connected(&mut self, stop: &CancellationToken) -> Result<(), DiscordError> {
        loop {
            let mut attempt = Attempt::new();
            let Some(disconnect) = self.connect_once(&mut attempt, stop).await else {
                return Ok(());
            };
            let reason = match disconnect {
                Disconnect::Final(error) => return Err(error),
                Disconnect::Resume(reason) => reason,
                Disconnect::Identify(reason) => {
                    self.session = None;
                    self.config.health.set_ready(false);
                    reason
                }
            };
            info!("the connection to Discord was lost: {reason}");
            let lived = attempt.began.elapsed();
            let pause = self.backoff.after(attempt.is_accepted, lived);
            if stop.run_until_cancelled(sleep(pause)).await.is_none() {
                return Ok(());
            }
        }
    }

    /// Runs one connection from its beginning to its end; `None` if `stop` ended it.
    async fn connect_once(
        &mut self,
        attempt: &mut Attempt,
        stop: &CancellationToken,
    ) -> Option<Disconnect> {
        let mut connection = match stop.run_until_cancelled(self.open()).await? {
            Ok(connection) => connection,
            Err(disconnect) => {
                self.config.health.set_ready(false);
                return Some(disconnect);
            }
        };
        attempt.extend();
        let disconnect = self.serve(&mut connection, attempt, stop).await;
        let code = match disconnect {
            Some(_) => WILL_RESUME,
            None => NORMAL,
        };
        connection.close(code).await;
        disconnect
    }

    /// Reads and writes until the connection ends; `None` if `stop` ended it.
    async fn serve(
        &mut self,
        connection: &mut Connection,
        attempt: &mut Attempt,
        stop: &CancellationToken,
    ) -> Option<Disconnect> {
        loop {
            let served = tokio::select! {
                biased;
                () = stop.cancelled() => return None,
                () = sleep_until(connection.next_beat()) => if connection.is_acknowledged() { self.beat(connection).await } else { Err(Disconnect::Resume("it stopped sending heartbeats".into())) },
                frame = connection.next() => self.frame(connection, frame, attempt).await,
                // Discord accepts no presence before READY.
                Ok(()) = presence_changed(&mut self.config.busy, self.presence_from), if attempt.is_accepted => {
                    self.show_presence(connection).await
                }
                () = sleep_until(attempt.accepted_by), if !attempt.is_accepted => {
                    Err(Disconnect::Resume("Discord did not accept the login in time".into()))
                }
            };
            if let Err(disconnect) = served {
                return Some(disconnect);
            }
        }
    }

    async fn beat(&self, connection: &mut Connection) -> Result<(), Disconnect> {
        let sequence = self.session.as_ref().map(|session| session.sequence);
        let sent = connection.beat(sequence).await;
        sent.map_err(|why| Disconnect::Resume(why.to_string()))
    }

    async fn frame(
        &mut self,
        connection: &mut Connection,
        frame: Frame,
        attempt: &mut Attempt,
    ) -> Result<(), Disconnect> {
        let payload = match frame {
            Frame::Payload(payload) => payload,
            Frame::Unreadable(error) => {
                warn!(%error, "failed to read a payload of the gateway");
                return Ok(());
            }
            Frame::Closed(code) => return Err(after_close(code)),
        };
        match payload.op {
            0 => {
                self.dispatch(payload, attempt);
                Ok(())
            }
            1 => self.beat(connection).await,
            7 => Err(Disconnect::Resume("Discord asked us to reconnect".into())),
            9 if payload.data == json!(true) => {
                Err(Disconnect::Resume("Discord ended the session".into()))
            }
            9 => Err(Disconnect::Identify(
                "the session is no longer valid".into(),
            )),
            11 => {
                connection.acknowledged();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Handles an event: the session keeps what it needs, the cache is updated, and the event goes to the hub.
    fn dispatch(&mut self, payload: Payload, attempt: &mut Attempt) {
        attempt.extend();
        let name = payload.name.unwrap_or_default();
        match name.as_str() {
            "READY" => {
                attempt.is_accepted = true;
                self.session = self.session_of(&payload.data);
                log_ready(&payload.data);
            }
            "RESUMED" => {
                attempt.is_accepted = true;
                if let Some(session) = &mut self.session {
                    session.failures = 0;
                }
                info!("the connection to Discord goes on where it broke");
            }
            _ => {}
        }
        if let (Some(session), Some(sequence)) = (&mut self.session, payload.sequence) {
            session.sequence = sequence;
        }
        match event::inbound_event(&self.config.cache, &name, payload.data) {
            Ok(Some(event)) => self.tell(event),
            Ok(None) => {}
            Err(error) => warn!(%error, "failed to read the event {name}"),
        }
    }

    fn tell(&self, event: InboundEvent) {
        if matches!(event, InboundEvent::Ready | InboundEvent::Resumed) {
            self.config.health.set_ready(true);
        }
        // The hub receives as long as the gateway runs; at the end no receiver is needed.
        let _ = self.config.events.send(event);
    }

    fn session_of(&self, ready: &Value) -> Option<Session> {
        let address = ready["resume_gateway_url"].as_str().map(str::to_owned);
        Some(Session {
            id: ready["session_id"].as_str()?.to_owned(),
            address: address.filter(|address| self.is_trusted(address)),
            sequence: 0,
            failures: 0,
        })
    }

    async fn show_presence(&mut self, connection: &mut Connection) -> Result<(), Disconnect> {
        let update = json!({"op": 3, "d": self.presence()});
        let sent = connection.send(&update).await;
        sent.map_err(|why| Disconnect::Resume(why.to_string()))
    }

    /// Returns the presence to show now; it becomes the last one sent.
    fn presence(&mut self) -> Value {
        self.presence_from = Instant::now() + presence::CHANGE_EVERY;
        presence::payload(*self.config.busy.borrow_and_update())
    }
}

impl Attempt {
    fn new() -> Self {
        let began = Instant::now();
        Self {
            began,
            is_accepted: false,
            accepted_by: began + ACCEPTED_WITHIN,
        }
    }

    /// Gives Discord the full time again.
    fn extend(&mut self) {
        self.accepted_by = Instant::now() + ACCEPTED_WITHIN;
    }
}

/// Waits until there is a new presence and it may be sent. Cancel-safe.
async fn presence_changed(
    busy: &mut watch::Receiver<Busy>,
    not_before: Instant,
) -> Result<(), watch::error::RecvError> {
    sleep_until(not_before).await;
    busy.changed().await
}

fn log_ready(ready: &Value) {
    let guilds = ready["guilds"].as_array().map_or(0, Vec::len);
    let name = ready["user"]["username"].as_str().unwrap_or_default();
    info!(discord.guilds = guilds, "Discord has accepted us as {name}");
}
