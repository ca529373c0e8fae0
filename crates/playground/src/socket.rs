//! One gateway connection: HELLO, then payloads in both directions, until one side ends it.

mod ready;

use std::io::Write;
use std::time::Duration;

use axum::extract::ws::{self, CloseFrame, WebSocket};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use futures_util::SinkExt as _;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::discord::Discord;
use super::gateway::{Connection, Frame, GatewayEvent};
use super::wire;
use super::world::World;
use chorus_base::discord_ids::{GuildId, UserId};

/// Longest time for closing.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Most frames in one write. Simultaneous events arrive together, however busy the machine is.
const FRAMES_AT_ONCE: usize = 64;

/// The compression of a connection's payloads, from the parameter `compress` of its address.
pub(crate) enum Packing {
    /// Each separately, if the IDENTIFY asks for it and the payload is large.
    Each,
    /// All of them as one stream, each up to a flush.
    Stream(ZlibEncoder<Vec<u8>>),
    /// None: libraries that ask for an unknown compression accept text instead.
    Text,
}

impl Packing {
    /// Returns the packing with Discord's name.
    pub(crate) fn named(name: Option<&str>) -> Self {
        match name {
            None => Self::Each,
            Some("zlib-stream") => Self::Stream(ZlibEncoder::new(Vec::new(), Compression::fast())),
            Some(_) => Self::Text,
        }
    }

    /// Packs a payload for sending; `alone` says whether it may be compressed separately.
    fn pack(&mut self, payload: String, alone: bool) -> std::io::Result<ws::Message> {
        match self {
            Self::Stream(encoder) => {
                encoder.write_all(payload.as_bytes())?;
                encoder.flush()?;
                Ok(ws::Message::binary(std::mem::take(encoder.get_mut())))
            }
            Self::Each if alone => Ok(ws::Message::binary(zlib(&payload)?)),
            Self::Each | Self::Text => Ok(ws::Message::text(payload)),
        }
    }
}

/// Serves one connection until it ends.
pub(crate) async fn serve(discord: Discord, mut socket: WebSocket, mut packing: Packing) {
    let (frames, mut inbox) = mpsc::unbounded_channel();
    let (number, hello) = discord.change(|world| {
        world.gateway.counter += 1;
        world.gateway.note(GatewayEvent::Connected);
        let interval = world.gateway.heartbeat.as_millis() as u64;
        (
            world.gateway.counter,
            json!({"op": 10, "d": {"heartbeat_interval": interval}, "s": null, "t": null}),
        )
    });
    let connection = Connection {
        number,
        frames,
        #[cfg(feature = "testing")]
        is_stalled: false,
    };
    let hello = Frame::Payload(hello.to_string());
    let mut is_open = deliver(&mut socket, &mut packing, [hello]).await;
    let mut waiting = Vec::new();
    while is_open {
        tokio::select! {
            biased;
            received = inbox.recv_many(&mut waiting, FRAMES_AT_ONCE) => {
                is_open = received > 0 && deliver(&mut socket, &mut packing, waiting.drain(..)).await;
            }
            received = socket.recv() => {
                let Some(Ok(received)) = received else { break };
                is_open = match read(received) {
                    Received::Payload(payload) => {
                        obey(&discord, &connection, &payload);
                        true
                    }
                    Received::Nothing => true,
                    Received::Garbage => deliver(&mut socket, &mut packing, [Frame::Close(Some(4002))]).await,
                    Received::Closed => false,
                };
            }
        }
    }
    discord.change(|world| {
        world.gateway.lose_connection(number);
        world.tell(
            None,
            json!({"t": "online", "is": world.gateway.is_connected()}),
        );
        world.gateway.note(GatewayEvent::Disconnected);
    });
}

enum Received {
    Payload(Value),
    Nothing,
    Garbage,
    Closed,
}

fn read(message: ws::Message) -> Received {
    let parsed = match &message {
        ws::Message::Text(text) => serde_json::from_str(text.as_str()),
        ws::Message::Binary(bytes) => serde_json::from_slice(bytes),
        ws::Message::Ping(_) | ws::Message::Pong(_) => return Received::Nothing,
        ws::Message::Close(_) => return Received::Closed,
    };
    parsed.map_or(Received::Garbage, Received::Payload)
}

/// Sends these frames in one write; false if the connection is over.
async fn deliver(
    socket: &mut WebSocket,
    packing: &mut Packing,
    frames: impl IntoIterator<Item = Frame>,
) -> bool {
    for frame in frames {
        if !write(socket, packing, frame).await {
            return false;
        }
    }
    socket.flush().await.is_ok()
}

/// Writes one frame without a flush; false if the connection is over.
async fn write(socket: &mut WebSocket, packing: &mut Packing, frame: Frame) -> bool {
    let packed = match frame {
        Frame::Payload(payload) => packing.pack(payload, false),
        Frame::Compressed(payload) => packing.pack(payload, true),
        Frame::Close(code) => {
            let frame = code.map(|code| CloseFrame {
                code,
                reason: "".into(),
            });
            let _ = socket.send(ws::Message::Close(frame)).await;
            // If the bot's payloads were left unread, the system would reset the connection and drop the close frame.
            let unread = async { while let Some(Ok(_)) = socket.recv().await {} };
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, unread).await;
            return false;
        }
        Frame::Cut => {
            let _ = socket.flush().await;
            return false;
        }
    };
    match packed {
        Ok(message) => socket.feed(message).await.is_ok(),
        Err(_) => false,
    }
}

fn zlib(payload: &str) -> std::io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(payload.as_bytes())?;
    encoder.finish()
}

/// Does what the bot's payload requests.
fn obey(discord: &Discord, connection: &Connection, payload: &Value) {
    discord.change(|world| {
        let data = &payload["d"];
        let answer = |frame: Frame| {
            let _ = connection.frames.send(frame);
        };
        match payload["op"].as_u64() {
            Some(1) => {
                #[cfg(feature = "testing")]
                if world.gateway.is_stalled(connection.number) {
                    return;
                }
                answer(Frame::Payload(
                    json!({"op": 11, "s": null, "t": null, "d": null}).to_string(),
                ));
            }
            Some(2) => {
                let token = data["token"].as_str().unwrap_or_default();
                let intents = data["intents"].as_u64().unwrap_or(0);
                let refusal = if token.trim_start_matches("Bot ") != world.token {
                    Some(4004)
                } else if intents & world.gateway.disallowed_intents != 0 {
                    Some(4014)
                } else {
                    None
                };
                if let Some(code) = refusal {
                    world.gateway.note(GatewayEvent::Refused(code));
                    answer(Frame::Close(Some(code)));
                    return;
                }
                world.gateway.identifies_left = world.gateway.identifies_left.saturating_sub(1);
                world.gateway.note(GatewayEvent::Identified(intents));
                ready::begin(world, data, connection.clone());
                world.tell(None, json!({"t": "online", "is": true}));
                show_presence(world, &data["presence"]);
            }
            Some(3) => {
                show_presence(world, data);
            }
            Some(4) => {}
            Some(6) => {
                if data["token"]
                    .as_str()
                    .unwrap_or_default()
                    .trim_start_matches("Bot ")
                    != world.token
                {
                    world.gateway.note(GatewayEvent::Refused(4004));
                    answer(Frame::Close(Some(4004)));
                    return;
                }
                #[cfg(feature = "testing")]
                if world.gateway.orders.cuts_resume() {
                    answer(Frame::Cut);
                    return;
                }
                let id = data["session_id"].as_str().unwrap_or_default();
                let sequence = data["seq"].as_u64().unwrap_or(0);
                if world.gateway.resume(id, sequence, connection.clone()) {
                    world.gateway.note(GatewayEvent::Resumed);
                    world.tell(None, json!({"t": "online", "is": true}));
                } else {
                    world.gateway.sessions.remove(id);
                    world.gateway.note(GatewayEvent::ResumeRefused);
                    answer(Frame::Payload(
                        json!({"op": 9, "d": false, "s": null, "t": null}).to_string(),
                    ));
                }
            }
            Some(8) => {
                if let Some(chunk) = members_chunk(world, data) {
                    world.dispatch("GUILD_MEMBERS_CHUNK", chunk);
                }
            }
            _ => answer(Frame::Close(Some(4001))),
        }
    });
}

/// Shows the presence that IDENTIFY or op 3 requests.
fn show_presence(world: &mut World, presence: &Value) {
    let Some(status) = presence["status"].as_str() else {
        return;
    };
    let activity = &presence["activities"][0];
    let text = activity["state"].as_str().or(activity["name"].as_str());
    let text = text.unwrap_or_default();
    world.tell(
        None,
        json!({"t": "presence", "status": status, "text": text}),
    );
    let shown = GatewayEvent::Presence(status.to_owned(), text.to_owned());
    world.gateway.note(shown);
}

/// Returns the members that op 8 requests.
fn members_chunk(world: &World, asked: &Value) -> Option<Value> {
    let guild = asked["guild_id"].as_str()?.parse::<u64>().ok()?;
    let found = world.guilds.get(&GuildId(guild))?;
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
