//! A client of one server: the handshake in both revisions, its list of tools, and calls.

use std::time::Duration;

use chorus_rpc::{Broken, NO_SUCH_METHOD, items, members, text};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use super::list::{Reading, ToolList};
use super::peer::{Deadline, Peer, Progress, RequestError};
use super::result::CallResult;

/// The revision without a session, whose requests describe themselves.
const SELF_CONTAINED: &str = "2026-07-28";

/// The newest revision with a session, which is offered by `initialize`.
const NEWEST_SESSION: &str = "2025-11-25";

/// The oldest revision that is spoken.
const OLDEST: &str = "2024-11-05";

/// How long a server may take to answer a request of the newer revision before it counts as one of the older.
const PROBE: Duration = Duration::from_secs(5);

/// Bytes of a server's instructions that are kept.
const INSTRUCTIONS: usize = 4 << 10;

/// Revisions that a server may list.
const REVISIONS: usize = 64;

/// How a server is spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each request describes itself (2026-07-28).
    SelfContained,
    /// After `initialize`, which agreed on this revision.
    Session(String),
}

impl Mode {
    /// The mode of a stored revision.
    pub fn of(revision: &str) -> Self {
        if revision == SELF_CONTAINED {
            Self::SelfContained
        } else {
            Self::Session(revision.to_owned())
        }
    }

    /// The revision, as it is stored and shown.
    pub fn revision(&self) -> &str {
        match self {
            Self::SelfContained => SELF_CONTAINED,
            Self::Session(revision) => revision,
        }
    }
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The handshake in all.
    pub start: Duration,
    /// One page of a list.
    pub list: Duration,
}

/// How long one call may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Without a report of progress.
    pub quiet: Duration,
    /// With them.
    pub most: Duration,
}

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    #[error("it did not answer in time")]
    Deadline,
    #[error("{0}")]
    Broken(Broken),
    #[error("it refused `initialize`: {0}")]
    Refused(String),
    #[error("it speaks revision {0} of the protocol, which this client does not")]
    Revision(String),
}

/// A connection to a server after the handshake.
#[derive(Debug)]
pub struct Client {
    peer: Peer,
    mode: Mode,
    timing: Timing,
    /// What it calls itself, with its version.
    pub server: String,
    /// Its instructions, at most 4 KiB. They are foreign text.
    pub instructions: String,
}

impl Client {
    /// Shakes hands. `known` is the mode that worked last time, which is tried first.
    ///
    /// # Errors
    ///
    /// When the server speaks neither revision in time.
    pub async fn start(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        known: Option<&Mode>,
        timing: Timing,
    ) -> Result<Self, StartError> {
        let mut client = Self {
            peer: Peer::start(reader, writer),
            mode: Mode::SelfContained,
            timing,
            server: String::new(),
            instructions: String::new(),
        };
        let shaken = tokio::time::timeout(timing.start, client.shake_hands(known)).await;
        shaken.map_err(|_| StartError::Deadline)??;
        Ok(client)
    }

    /// A server that is slow to start answers no first question in time, so one that then refuses `initialize` is asked again.
    async fn shake_hands(&mut self, known: Option<&Mode>) -> Result<(), StartError> {
        let is_older = matches!(known, Some(Mode::Session(_)));
        if !is_older && self.discover().await? {
            return Ok(());
        }
        match self.initialize().await {
            Err(StartError::Refused(_)) if self.discover().await? => Ok(()),
            other => other,
        }
    }

    /// Asks in the newer revision; false when the server speaks only the older.
    async fn discover(&mut self) -> Result<bool, StartError> {
        self.mode = Mode::SelfContained;
        let answer = self
            .ask("server/discover", Map::new(), Deadline::fixed(PROBE))
            .await;
        let result = match answer {
            Ok(result) => result,
            Err(RequestError::Broken(why)) => return Err(StartError::Broken(why)),
            Err(_) => return Ok(false),
        };
        let Ok([versions, instructions, meta]) =
            members(&result, ["supportedVersions", "instructions", "_meta"])
        else {
            return Ok(false);
        };
        let versions = versions
            .and_then(|list| items(list, REVISIONS).ok())
            .unwrap_or_default();
        if !versions
            .kept
            .iter()
            .any(|one| text(Some(one)).as_deref() == Some(SELF_CONTAINED))
        {
            return Ok(false);
        }
        let info = meta.and_then(|meta| members(meta, ["io.modelcontextprotocol/serverInfo"]).ok());
        self.introduce(info.and_then(|[info]| info), instructions);
        Ok(true)
    }

    async fn initialize(&mut self) -> Result<(), StartError> {
        self.mode = Mode::Session(NEWEST_SESSION.to_owned());
        let params = json!({"protocolVersion": NEWEST_SESSION, "capabilities": {}, "clientInfo": client_info()});
        let params = params.as_object().cloned().unwrap_or_default();
        let answer = self
            .ask("initialize", params, Deadline::fixed(self.timing.start))
            .await;
        let result = answer.map_err(|error| match error {
            RequestError::Broken(why) => StartError::Broken(why),
            RequestError::Deadline => StartError::Deadline,
            other => StartError::Refused(other.to_string()),
        })?;
        let found = members(&result, ["protocolVersion", "instructions", "serverInfo"]);
        let [version, instructions, info] =
            found.map_err(|error| StartError::Refused(error.to_string()))?;
        let version = text(version).unwrap_or_default();
        if !is_spoken(&version) {
            return Err(StartError::Revision(chorus_text::one_line(&version, 40)));
        }
        self.introduce(info, instructions);
        self.mode = Mode::Session(version);
        self.peer.notify("notifications/initialized", json!({}));
        Ok(())
    }

    fn introduce(&mut self, info: Option<&RawValue>, instructions: Option<&RawValue>) {
        let found = info.and_then(|info| members(info, ["name", "version"]).ok());
        let [name, version] = found.unwrap_or_default();
        let said = format!(
            "{} {}",
            text(name).unwrap_or_default(),
            text(version).unwrap_or_default()
        );
        self.server = chorus_text::visible(&chorus_text::one_line(&said, 100)).0;
        self.instructions = text(instructions).unwrap_or_default();
        let end = self.instructions.floor_char_boundary(INSTRUCTIONS);
        self.instructions.truncate(end);
    }

    /// How the server is spoken to, to be stored for the next start.
    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// Returns the number of lines and answers that were dropped.
    pub fn noise(&self) -> u32 {
        self.peer.noise()
    }

    /// Counts the server's notices that its list of tools changed.
    pub fn list_changes(&self) -> watch::Receiver<u64> {
        self.peer.list_changes()
    }

    /// Waits until nothing more comes from the server.
    pub async fn broken(&self) -> Broken {
        self.peer.broken().await
    }

    /// Reads the list of tools.
    ///
    /// # Errors
    ///
    /// When the server does not answer with a list. A bad tool is no error.
    pub async fn list_tools(&self) -> Result<ToolList, RequestError> {
        let mut reading = Reading::default();
        let mut cursor = None;
        loop {
            let mut params = Map::new();
            if let Some(cursor) = cursor {
                params.insert("cursor".to_owned(), Value::String(cursor));
            }
            let deadline = Deadline::fixed(self.timing.list);
            let page = match self.ask("tools/list", params, deadline).await {
                // A server without tools need not know the method.
                Err(RequestError::Refused {
                    code: NO_SUCH_METHOD,
                    ..
                }) => {
                    return Ok(ToolList::default());
                }
                page => page?,
            };
            let next = reading.page(&page);
            cursor = next.map_err(|error| RequestError::Unreadable(error.to_string()))?;
            if cursor.is_none() {
                return Ok(reading.finish());
            }
        }
    }

    /// Calls a tool. Dropping the future tells the server that the call is cancelled.
    ///
    /// # Errors
    ///
    /// When there is no result. Unless the server refused it, the call may have run.
    pub async fn call(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        patience: Patience,
        on_progress: impl FnMut(Progress),
    ) -> Result<CallResult, RequestError> {
        let mut params = Map::new();
        params.insert("name".to_owned(), Value::String(tool.to_owned()));
        params.insert("arguments".to_owned(), Value::Object(arguments.clone()));
        let deadline = Deadline {
            quiet: patience.quiet,
            most: patience.most.max(patience.quiet),
        };
        let result = self
            .send("tools/call", params, deadline, Reports::Wanted, on_progress)
            .await?;
        CallResult::read(&result).map_err(|error| RequestError::Unreadable(error.to_string()))
    }

    async fn ask(
        &self,
        method: &str,
        params: Map<String, Value>,
        deadline: Deadline,
    ) -> Result<Box<RawValue>, RequestError> {
        self.send(method, params, deadline, Reports::Unwanted, drop)
            .await
    }

    /// Sends a request as its revision writes it, and checks the kind of its result.
    async fn send(
        &self,
        method: &str,
        mut params: Map<String, Value>,
        deadline: Deadline,
        reports: Reports,
        on_progress: impl FnMut(Progress),
    ) -> Result<Box<RawValue>, RequestError> {
        let is_self_contained = self.mode == Mode::SelfContained;
        let with_meta = |id: u64| {
            let mut meta = Map::new();
            if reports == Reports::Wanted {
                meta.insert("progressToken".to_owned(), id.into());
            }
            if is_self_contained {
                for (key, value) in [
                    ("protocolVersion", json!(SELF_CONTAINED)),
                    ("clientInfo", client_info()),
                    ("clientCapabilities", json!({})),
                ] {
                    meta.insert(format!("io.modelcontextprotocol/{key}"), value);
                }
            }
            if !meta.is_empty() {
                params.insert("_meta".to_owned(), Value::Object(meta));
            }
            params
        };
        let result = self
            .peer
            .request(method, with_meta, deadline, on_progress)
            .await?;
        if is_self_contained {
            check_kind(&result)?;
        }
        Ok(result)
    }
}

/// Whether reports of progress are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reports {
    Wanted,
    Unwanted,
}

/// Checks that a result of the newer revision is a complete one.
fn check_kind(result: &RawValue) -> Result<(), RequestError> {
    let found = members(result, ["resultType"]);
    let [kind] = found.map_err(|error| RequestError::Unreadable(error.to_string()))?;
    match text(kind).as_deref() {
        Some("complete") => Ok(()),
        Some(_) => Err(RequestError::Asked),
        None => Err(RequestError::Unreadable(
            "it has no `resultType`".to_owned(),
        )),
    }
}

/// Whether a revision that a server chose for its session is one that is spoken: a date that is not too old.
fn is_spoken(version: &str) -> bool {
    let is_date = version.len() == OLDEST.len()
        && version
            .bytes()
            .enumerate()
            .all(|(place, byte)| match place {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
    is_date && version >= OLDEST
}

fn client_info() -> Value {
    json!({"name": "chorus", "version": env!("CARGO_PKG_VERSION")})
}
