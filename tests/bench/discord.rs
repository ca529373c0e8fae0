//! Discord as far as a bot needs it to answer messages, and as fast as it goes: nothing is kept, nothing is checked.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{self, UnboundedSender};

use super::model::ANSWER;
use super::stage::Seen;

/// Channels of one server at most, as at Discord.
const CHANNELS_PER_GUILD: u64 = 500;

const BOT: u64 = 90_000_000_000_000_001;
const ANN: u64 = 90_000_000_000_000_002;
const FIRST_GUILD: u64 = 91_000_000_000_000_000;
const FIRST_CHANNEL: u64 = 92_000_000_000_000_000;

/// What bots log in with.
pub(crate) const TOKEN: &str = "OTAwMDAwMDAwMDAwMDAwMDE.bench.not-a-secret";

/// A loopback Discord with so many channels. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Discord {
    base: String,
    shared: Arc<Shared>,
}

struct Shared {
    channels: u64,
    seen: UnboundedSender<Seen>,
    line: Mutex<Option<UnboundedSender<String>>>,
    sequence: AtomicU64,
    next_message: AtomicU64,
}

/// The channel of the agent with that number.
pub(crate) fn channel(number: u64) -> u64 {
    FIRST_CHANNEL + number
}

/// The server of the agent with that number.
pub(crate) fn guild(number: u64) -> u64 {
    FIRST_GUILD + number / CHANNELS_PER_GUILD
}

impl Discord {
    pub(crate) async fn start(channels: u64, seen: UnboundedSender<Seen>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let newest = (since.as_millis() as u64 - 1_420_070_400_000) << 22;
        let discord = Self {
            base: format!("http://{}", listener.local_addr().unwrap()),
            shared: Arc::new(Shared {
                channels,
                seen,
                line: Mutex::new(None),
                sequence: AtomicU64::new(0),
                next_message: AtomicU64::new(newest),
            }),
        };
        let routes = Router::new()
            .route("/gateway-socket", get(connect))
            .fallback(rest)
            .with_state(discord.clone());
        tokio::spawn(async move {
            axum::serve(nodelay(listener), routes).await.unwrap();
        });
        discord
    }

    /// What `CHORUS_DISCORD_API_URL` is to be.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Ann writes in the channel of an agent; gives the moment at which it went out.
    pub(crate) fn says(&self, agent: u64, text: &str) -> Instant {
        let id = self.message_id();
        let message = json!({
            "id": id.to_string(), "channel_id": channel(agent).to_string(), "guild_id": guild(agent).to_string(),
            "author": ann(),
            "member": {"roles": [], "nick": null, "joined_at": "2026-01-01T00:00:00.000000+00:00", "deaf": false, "mute": false, "flags": 0},
            "content": text, "timestamp": "2026-01-01T00:00:00.000000+00:00", "edited_timestamp": null,
            "tts": false, "mention_everyone": false, "mentions": [], "mention_roles": [], "attachments": [],
            "embeds": [], "pinned": false, "type": 0,
        });
        let payload = self.event("MESSAGE_CREATE", &message);
        let line = self.shared.line.lock().unwrap();
        let at = Instant::now();
        line.as_ref()
            .expect("the bot is connected")
            .send(payload)
            .unwrap();
        at
    }

    fn event(&self, name: &str, data: &Value) -> String {
        let sequence = self.shared.sequence.fetch_add(1, Ordering::Relaxed) + 1;
        json!({"op": 0, "s": sequence, "t": name, "d": data}).to_string()
    }

    fn message_id(&self) -> u64 {
        self.shared
            .next_message
            .fetch_add(1 << 12, Ordering::Relaxed)
    }

    fn tell(&self, seen: Seen) {
        // At the end nobody listens.
        let _ = self.shared.seen.send(seen);
    }

    /// READY and all servers.
    fn greeting(&self) -> Vec<String> {
        let guilds = FIRST_GUILD..=guild(self.shared.channels.max(1) - 1);
        let unavailable: Vec<Value> = guilds
            .clone()
            .map(|id| json!({"id": id.to_string(), "unavailable": true}))
            .collect();
        let ready = json!({
            "v": 10, "user": bot(), "guilds": unavailable, "session_id": "bench", "session_type": "normal",
            "resume_gateway_url": self.socket(), "shard": [0, 1],
            "application": {"id": BOT.to_string(), "flags": 0},
            "private_channels": [], "relationships": [], "presences": [], "user_settings": {},
            "geo_ordered_rtc_regions": [], "auth": {}, "_trace": [],
        });
        let mut greeting = vec![self.event("READY", &ready)];
        greeting.extend(guilds.map(|id| self.event("GUILD_CREATE", &self.guild(id))));
        greeting
    }

    fn guild(&self, id: u64) -> Value {
        let first = (id - FIRST_GUILD) * CHANNELS_PER_GUILD;
        let channels: Vec<Value> = (first..self.shared.channels.min(first + CHANNELS_PER_GUILD))
            .map(|number| {
                json!({
                    "id": channel(number).to_string(), "type": 0, "guild_id": id.to_string(), "parent_id": null,
                    "name": format!("agent-{number}"), "topic": "An agent.", "position": number - first, "nsfw": false,
                    "flags": 0, "rate_limit_per_user": 0, "last_message_id": null, "permission_overwrites": [],
                })
            })
            .collect();
        let joined = "2026-01-01T00:00:00.000000+00:00";
        json!({
            "id": id.to_string(), "name": "bench", "icon": null, "splash": null, "discovery_splash": null,
            "banner": null, "description": null, "owner_id": ANN.to_string(), "afk_channel_id": null,
            "afk_timeout": 300, "widget_enabled": false, "widget_channel_id": null, "verification_level": 0,
            "default_message_notifications": 0, "explicit_content_filter": 0,
            "roles": [{
                "id": id.to_string(), "name": "@everyone", "color": 0,
                "colors": {"primary_color": 0, "secondary_color": null, "tertiary_color": null},
                "hoist": false, "icon": null, "unicode_emoji": null, "position": 0,
                "permissions": (1_u64 << 3 | 1 << 10 | 1 << 11).to_string(), "managed": false, "mentionable": false, "flags": 0,
            }],
            "emojis": [], "features": [], "stickers": [], "mfa_level": 0, "nsfw_level": 0, "nsfw": false,
            "application_id": null, "system_channel_id": null, "system_channel_flags": 0, "rules_channel_id": null,
            "public_updates_channel_id": null, "safety_alerts_channel_id": null, "max_presences": null,
            "max_members": 500_000, "max_video_channel_users": 25, "max_stage_video_channel_users": 50,
            "vanity_url_code": null, "preferred_locale": "en-US", "premium_tier": 0,
            "premium_subscription_count": 0, "premium_progress_bar_enabled": false,
            "joined_at": joined, "large": false, "unavailable": false, "member_count": 2,
            "members": [member(ann()), member(bot())], "channels": channels, "threads": [],
            "voice_states": [], "presences": [], "stage_instances": [], "guild_scheduled_events": [],
            "soundboard_sounds": [],
        })
    }

    fn socket(&self) -> String {
        format!("{}/gateway-socket", self.base.replacen("http", "ws", 1))
    }

    /// A message of the bot, as Discord gives it back.
    fn posted(&self, channel: &str, id: u64) -> Value {
        json!({
            "id": id.to_string(), "channel_id": channel, "author": bot(), "content": "",
            "timestamp": "2026-01-01T00:00:00.000000+00:00", "edited_timestamp": null, "tts": false,
            "mention_everyone": false, "mentions": [], "mention_roles": [], "attachments": [], "embeds": [],
            "pinned": false, "type": 0,
        })
    }
}

/// A listener whose connections send at once.
pub(crate) fn nodelay(
    listener: TcpListener,
) -> impl axum::serve::Listener<Addr = std::net::SocketAddr, Io = tokio::net::TcpStream> {
    use axum::serve::ListenerExt as _;
    listener.tap_io(|stream| stream.set_nodelay(true).unwrap())
}

fn bot() -> Value {
    user(BOT, "Chorus", true)
}

fn ann() -> Value {
    user(ANN, "ann", false)
}

fn user(id: u64, name: &str, is_bot: bool) -> Value {
    json!({
        "id": id.to_string(), "username": name, "global_name": null, "discriminator": "0", "avatar": null,
        "bot": is_bot, "public_flags": 0,
    })
}

fn member(user: Value) -> Value {
    json!({
        "user": user, "roles": [], "nick": null, "avatar": null, "joined_at": "2026-01-01T00:00:00.000000+00:00",
        "premium_since": null, "deaf": false, "mute": false, "flags": 0, "pending": false,
    })
}

async fn connect(State(discord): State<Discord>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(move |socket| converse(discord, socket))
}

async fn converse(discord: Discord, mut socket: WebSocket) {
    let hello = json!({"op": 10, "d": {"heartbeat_interval": 41_250}, "s": null, "t": null});
    let (line, mut inbox) = mpsc::unbounded_channel::<String>();
    if socket.send(Message::text(hello.to_string())).await.is_err() {
        return;
    }
    loop {
        tokio::select! {
            payload = inbox.recv() => {
                let Some(payload) = payload else { return };
                if socket.send(Message::text(payload)).await.is_err() {
                    return;
                }
            }
            received = socket.recv() => {
                let Some(Ok(received)) = received else { return };
                let at = Instant::now();
                let payload: Value = match &received {
                    Message::Text(text) => serde_json::from_str(text.as_str()).unwrap(),
                    Message::Binary(bytes) => serde_json::from_slice(bytes).unwrap(),
                    _ => continue,
                };
                match payload["op"].as_u64() {
                    Some(1) => line.send(json!({"op": 11, "s": null, "t": null, "d": null}).to_string()).unwrap(),
                    Some(2) => {
                        *discord.shared.line.lock().unwrap() = Some(line.clone());
                        discord.greeting().into_iter().for_each(|event| line.send(event).unwrap());
                        // Who hears of it may speak at once.
                        discord.tell(Seen::Identified { at });
                    }
                    _ => {}
                }
            }
        }
    }
}

fn is_reply(body: &[u8]) -> bool {
    body.windows(ANSWER.len())
        .any(|part| part == ANSWER.as_bytes())
}

async fn rest(State(discord): State<Discord>, method: Method, uri: Uri, body: Bytes) -> Response {
    let at = Instant::now();
    let path = uri.path().strip_prefix("/api/v10").unwrap_or(uri.path());
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let answer = match (method.as_str(), parts.as_slice()) {
        ("GET", ["users", "@me"]) => bot(),
        ("GET", ["gateway"]) => json!({"url": discord.socket()}),
        ("GET", ["gateway", "bot"]) => json!({
            "url": discord.socket(), "shards": 1,
            "session_start_limit": {"total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1},
        }),
        ("GET", ["applications", "@me"] | ["oauth2", "applications", "@me"]) => {
            json!({"id": BOT.to_string(), "name": "Chorus", "owner": ann(), "flags": 0})
        }
        ("GET" | "PUT", ["applications", _, .., "commands"]) => json!([]),
        ("GET", ["guilds", _, "members", _]) => member(ann()),
        ("GET", ["channels", _, "messages"]) => json!([]),
        ("POST", ["channels", channel, "messages"]) => {
            let id = discord.message_id();
            let answer = discord.posted(channel, id);
            let agent = channel.parse::<u64>().unwrap() - FIRST_CHANNEL;
            // A turn that takes long shows how far it is; that is no reply.
            if is_reply(&body) {
                discord.tell(Seen::Posted { at, agent });
            }
            answer
        }
        ("POST", ["channels", _, "typing"])
        | ("PUT" | "DELETE", ["channels", _, "messages", _, "reactions", ..]) => {
            return StatusCode::NO_CONTENT.into_response();
        }
        ("PATCH" | "DELETE", ["channels", channel, "messages", id]) => {
            discord.posted(channel, id.parse().unwrap())
        }
        _ => {
            eprintln!("the bench's Discord does not have {method} {path}");
            return StatusCode::NOT_FOUND.into_response();
        }
    };
    (
        [(header::CONTENT_TYPE, "application/json")],
        Body::from(answer.to_string()),
    )
        .into_response()
}
