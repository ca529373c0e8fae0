//! What serenity takes for Discord's gateway: one connection over loopback that never breaks.
//!
//! It says hello, acknowledges every heartbeat, and passes on the rest. Whoever else finds the port does not know the
//! path, and once serenity is there nobody is listened to any more.

#![expect(clippy::result_large_err, reason = "the handshake's own type")]

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

/// The heartbeat serenity is asked for; Discord's own.
const HEARTBEAT_MS: u64 = 41_250;

/// How long serenity may show no sign of life.
const SILENT_FOR: Duration = Duration::from_secs(100);

/// How long a handshake may take.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(5);

/// What serenity says that concerns Discord.
#[derive(Debug)]
pub(super) enum Said {
    /// Who we are and what we ask for.
    Identify(Value),
    /// What people see beside our name.
    Presence(Value),
    /// Anything else, such as a question for members.
    Other(Value),
}

/// Where serenity is awaited.
pub(super) struct Local {
    listener: TcpListener,
    path: String,
}

impl Local {
    /// Opens a port of the system's choice on loopback.
    pub(super) async fn open() -> std::io::Result<Self> {
        Ok(Self {
            listener: TcpListener::bind(("127.0.0.1", 0)).await?,
            path: format!("/{}", uuid::Uuid::new_v4().simple()),
        })
    }

    /// The address that serenity is told.
    pub(super) fn address(&self) -> std::io::Result<String> {
        Ok(format!("ws://{}{}", self.listener.local_addr()?, self.path))
    }

    /// Serves serenity until it goes, or is silent for too long; its end closes `said`.
    pub(super) async fn serve(
        self,
        mut payloads: UnboundedReceiver<String>,
        said: UnboundedSender<Said>,
    ) {
        let mut socket = self.accept().await;
        let hello = json!({"op": 10, "d": {"heartbeat_interval": HEARTBEAT_MS}});
        let mut is_open = send(&mut socket, hello.to_string()).await;
        while is_open {
            is_open = tokio::select! {
                payload = payloads.recv() => match payload {
                    Some(payload) => send(&mut socket, payload).await,
                    // Nothing more comes; what is left is the goodbye.
                    None => break,
                },
                heard = timeout(SILENT_FOR, socket.next()) => match heard {
                    Ok(Some(Ok(message))) => obey(&mut socket, &said, message).await,
                    Ok(Some(Err(_)) | None) | Err(_) => false,
                },
            };
        }
        drop(said);
        while let Some(Ok(_)) = socket.next().await {}
    }

    async fn accept(self) -> WebSocketStream<TcpStream> {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                // Out of descriptors, most likely; it is tried again when something may have changed.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            // Events go on at once, however many come; without it the line only holds them back.
            let _ = stream.set_nodelay(true);
            let shake = accept_hdr_async(stream, |request: &Request, response| {
                check(&self.path, request, response)
            });
            if let Ok(Ok(socket)) = timeout(HANDSHAKE_WITHIN, shake).await {
                return socket;
            }
        }
    }
}

fn check(path: &str, request: &Request, response: Response) -> Result<Response, ErrorResponse> {
    if request.uri().path() == path {
        return Ok(response);
    }
    let mut refusal = ErrorResponse::new(None);
    *refusal.status_mut() = StatusCode::NOT_FOUND;
    Err(refusal)
}

/// Does what serenity's payload asks for; false when the connection is over.
async fn obey(
    socket: &mut WebSocketStream<TcpStream>,
    said: &UnboundedSender<Said>,
    message: Message,
) -> bool {
    let text = match &message {
        Message::Text(text) => text.as_str(),
        Message::Close(_) => return false,
        _ => return true,
    };
    let Ok(mut payload) = serde_json::from_str::<Value>(text) else {
        return true;
    };
    let said_now = match payload["op"].as_u64() {
        Some(1) => return send(socket, json!({"op": 11}).to_string()).await,
        Some(2) => Said::Identify(payload["d"].take()),
        Some(3) => Said::Presence(payload["d"].take()),
        // There is nothing that it could resume here.
        Some(6) => return send(socket, json!({"op": 9, "d": false}).to_string()).await,
        _ => Said::Other(payload),
    };
    said.send(said_now).is_ok()
}

async fn send(socket: &mut WebSocketStream<TcpStream>, payload: String) -> bool {
    socket.send(Message::text(payload)).await.is_ok()
}
