//! One connection to Discord's gateway: opened by our own HTTP client, parsed once, kept alive by heartbeats.

use std::io::Read as _;
use std::time::Duration;

use flate2::read::ZlibDecoder;
use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::{StatusCode, Upgraded, Url, header};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};

use crate::text;

/// Longest time for opening a connection.
const OPEN_WITHIN: Duration = Duration::from_secs(15);

/// Longest time for its HELLO.
const HELLO_WITHIN: Duration = Duration::from_secs(10);

/// Longest time for sending one payload.
const SEND_WITHIN: Duration = Duration::from_secs(10);

/// Longest time for closing.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// Bytes that are read at a time. The buffer is filled with zeros before each read, and most events have less than 4
/// KiB.
const READ_AT_ONCE: usize = 8 * 1024;

/// The largest payload that is decompressed: a server of the largest kind has some tens of MiB.
const MOST_UNPACKED: u64 = 256 * 1024 * 1024;

/// Why a connection could not be opened, or does not accept a payload.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionError {
    #[error("{0} is not an address of a gateway")]
    NoAddress(String),
    #[error("the gateway does not answer")]
    NoAnswer,
    #[error("{}", text::with_causes(.0))]
    Http(reqwest::Error),
    #[error("the gateway answered with HTTP {0}")]
    Status(StatusCode),
    #[error("the gateway does not say hello")]
    NoHello,
    #[error("op {0} came instead of hello")]
    NotHello(u8),
    /// The payload received instead of HELLO.
    #[error("{0}")]
    Unreadable(String),
    #[error("closed before hello ({0:?})")]
    ClosedEarly(Option<u16>),
    #[error("hello names no heartbeat interval")]
    NoInterval,
    #[error("{}", text::with_causes(.0))]
    WebSocket(tungstenite::Error),
    #[error("the gateway no longer accepts data")]
    Stuck,
}

pub(super) struct Connection {
    socket: WebSocketStream<Upgraded>,
    interval: Duration,
    next_beat: Instant,
    is_acknowledged: bool,
}

pub(super) enum Frame {
    Payload(Payload),
    /// The frame is not a valid payload, for this reason.
    Unreadable(String),
    /// The end, with the code of the close frame if there was one.
    Closed(Option<u16>),
}

#[derive(Deserialize)]
pub(super) struct Payload {
    pub(super) op: u8,
    #[serde(default, rename = "s")]
    pub(super) sequence: Option<u64>,
    #[serde(default, rename = "t")]
    pub(super) name: Option<String>,
    #[serde(default, rename = "d")]
    pub(super) data: Value,
}

impl Connection {
    /// Opens a connection and waits for its HELLO.
    pub(super) async fn open(
        http: &reqwest::Client,
        address: &str,
    ) -> Result<Self, ConnectionError> {
        let opened = timeout(OPEN_WITHIN, open(http, address)).await;
        let socket = opened.map_err(|_| ConnectionError::NoAnswer)??;
        let mut this = Self {
            socket,
            interval: Duration::MAX,
            next_beat: Instant::now(),
            is_acknowledged: true,
        };
        let hello = timeout(HELLO_WITHIN, this.next()).await;
        match hello.map_err(|_| ConnectionError::NoHello)? {
            Frame::Payload(hello) if hello.op == 10 => this.greet(&hello.data)?,
            Frame::Payload(other) => return Err(ConnectionError::NotHello(other.op)),
            Frame::Unreadable(error) => return Err(ConnectionError::Unreadable(error)),
            Frame::Closed(code) => return Err(ConnectionError::ClosedEarly(code)),
        }
        Ok(this)
    }

    fn greet(&mut self, hello: &Value) -> Result<(), ConnectionError> {
        let millis = hello["heartbeat_interval"].as_u64();
        let millis = millis.filter(|millis| *millis > 0);
        self.interval = Duration::from_millis(millis.ok_or(ConnectionError::NoInterval)?);
        // The first heartbeat comes at a random time, so that not all bots send theirs at once.
        let share = u32::from(uuid::Uuid::new_v4().as_bytes()[0]);
        self.next_beat = Instant::now() + self.interval * share / 256;
        Ok(())
    }

    /// Returns when the next heartbeat is due.
    pub(super) const fn next_beat(&self) -> Instant {
        self.next_beat
    }

    /// Returns whether the latest heartbeat was answered.
    pub(super) const fn is_acknowledged(&self) -> bool {
        self.is_acknowledged
    }

    /// Records that the latest heartbeat was answered.
    pub(super) const fn acknowledged(&mut self) {
        self.is_acknowledged = true;
    }

    /// Sends a heartbeat.
    pub(super) async fn beat(&mut self, sequence: Option<u64>) -> Result<(), ConnectionError> {
        self.is_acknowledged = false;
        self.next_beat = Instant::now() + self.interval;
        self.send(&json!({"op": 1, "d": sequence})).await
    }

    pub(super) async fn send(&mut self, payload: &Value) -> Result<(), ConnectionError> {
        let sent = self.socket.send(Message::text(payload.to_string()));
        match timeout(SEND_WITHIN, sent).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(ConnectionError::WebSocket(error)),
            Err(_) => Err(ConnectionError::Stuck),
        }
    }

    /// Returns the next frame. Cancel-safe.
    pub(super) async fn next(&mut self) -> Frame {
        loop {
            let parsed = match self.socket.next().await {
                Some(Ok(Message::Text(text))) => serde_json::from_str(text.as_str()),
                Some(Ok(Message::Binary(bytes))) => match unpacked(&bytes) {
                    Ok(text) => serde_json::from_str(&text),
                    Err(error) => return Frame::Unreadable(error.to_string()),
                },
                Some(Ok(Message::Close(frame))) => {
                    return Frame::Closed(frame.map(|frame| frame.code.into()));
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Err(_)) | None => return Frame::Closed(None),
            };
            return match parsed {
                Ok(payload) => Frame::Payload(payload),
                Err(error) => Frame::Unreadable(error.to_string()),
            };
        }
    }

    /// Closes the connection: with 1000 Discord ends the session, with another code it keeps it for a resume.
    pub(super) async fn close(mut self, code: u16) {
        let frame = CloseFrame {
            code: CloseCode::from(code),
            reason: "".into(),
        };
        // It makes no difference whether this succeeds.
        let _ = timeout(CLOSE_WITHIN, self.socket.close(Some(frame))).await;
    }
}

async fn open(
    http: &reqwest::Client,
    address: &str,
) -> Result<WebSocketStream<Upgraded>, ConnectionError> {
    let key = generate_key();
    let answer = http
        .get(as_http(address)?)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, &key)
        .send()
        .await
        .map_err(|error| ConnectionError::Http(error.without_url()))?;
    let accepted = answer.headers().get(header::SEC_WEBSOCKET_ACCEPT);
    let is_right = accepted.is_some_and(|key_back| *key_back == *derive_accept_key(key.as_bytes()));
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS || !is_right {
        return Err(ConnectionError::Status(answer.status()));
    }
    let upgraded = answer
        .upgrade()
        .await
        .map_err(|error| ConnectionError::Http(error.without_url()))?;
    let config = WebSocketConfig::default().read_buffer_size(READ_AT_ONCE);
    Ok(WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await)
}

/// Returns the address with HTTP's scheme, and with our version and encoding.
fn as_http(address: &str) -> Result<Url, ConnectionError> {
    let wrong = || ConnectionError::NoAddress(address.to_owned());
    let mut url = Url::parse(address).map_err(|_| wrong())?;
    let scheme = match url.scheme() {
        "ws" => "http",
        "wss" => "https",
        _ => return Err(wrong()),
    };
    url.set_scheme(scheme).map_err(|()| wrong())?;
    url.query_pairs_mut()
        .append_pair("v", "10")
        .append_pair("encoding", "json");
    Ok(url)
}

fn unpacked(bytes: &[u8]) -> std::io::Result<String> {
    let mut text = String::new();
    ZlibDecoder::new(bytes)
        .take(MOST_UNPACKED)
        .read_to_string(&mut text)?;
    Ok(text)
}
