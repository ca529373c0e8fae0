//! The JSON-RPC peer: requests with deadlines, and in one order all that the program sends.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chorus_rpc::{Broken, Lines, NO_SUCH_METHOD, Noise, line, members, text, write_lines};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::call::Call;
use super::events::{Event, Events, PermissionRequest, WAITING};
use super::options;
use super::prompt::StopReason;
use super::update::Update;

/// Lines that wait for a program that does not read.
const OUTBOX: usize = 32;

/// Characters of an error's message that are kept.
const MESSAGE: usize = 500;

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Nothing more comes from the program. It may have got the request.
    #[error("{0}")]
    Broken(Broken),
    #[error("it did not answer in time")]
    Deadline,
    /// The program does not read what it is sent.
    #[error("it does not read its input")]
    NotReading,
    /// The program's own error.
    #[error("it answered with an error ({code}): {message}")]
    Refused { code: i64, message: String },
    /// An answer that the protocol does not know.
    #[error("its answer cannot be read")]
    Unreadable,
}

/// A connection. Dropping it ends its tasks and closes the program's input.
#[derive(Debug)]
pub(crate) struct Peer {
    shared: Arc<Shared>,
    outbox: mpsc::Sender<Vec<u8>>,
    /// The reader and the writer, which end with the connection.
    _tasks: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Shared {
    noise: Noise,
    /// Updates that were unknown or broken.
    ignored: AtomicU32,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    last_id: u64,
    requests: HashMap<u64, Answer>,
    broken: Option<Broken>,
}

/// Where the answer to a request goes.
#[derive(Debug)]
enum Answer {
    /// The receiver that waits for it.
    Caller(oneshot::Sender<Result<Value, RequestError>>),
    /// Among the events, after all updates that came before it.
    Event,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Nothing panics while it is held.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Serialize)]
struct Outgoing<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    params: Value,
}

impl Peer {
    /// Starts reading and writing.
    pub(crate) fn start(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> (Self, Events) {
        let shared = Arc::new(Shared::default());
        let (outbox, lines) = mpsc::channel(OUTBOX);
        let (events, receiver) = mpsc::channel(WAITING);
        let mut tasks = JoinSet::new();
        tasks.spawn(write_lines(writer, lines));
        let reading = Reading {
            shared: shared.clone(),
            outbox: outbox.clone(),
            events,
        };
        let lines = Lines::new(reader, shared.noise.clone());
        tasks.spawn(reading.until_the_end(lines));
        let peer = Self {
            shared,
            outbox,
            _tasks: tasks,
        };
        (peer, Events(receiver))
    }

    /// Returns the number of lines, answers and updates that were dropped.
    pub(crate) fn dropped(&self) -> u32 {
        let ignored = self.shared.ignored.load(Ordering::Relaxed);
        self.shared.noise.count().saturating_add(ignored)
    }

    /// Sends a request and waits for its answer until `until`. The owner takes events meanwhile, or the answer may not come.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: Value,
        until: Instant,
    ) -> Result<Value, RequestError> {
        let (answer, answered) = oneshot::channel();
        let id = self.open(Answer::Caller(answer))?;
        let open = Open { peer: self, id };
        let sent = self.outbox.send(message(Some(id), method, params));
        let sent = timeout_at(until, sent).await;
        sent.map_err(|_| RequestError::Deadline)?
            .map_err(|_| RequestError::NotReading)?;
        let answer = timeout_at(until, answered).await;
        drop(open);
        let answer = answer.map_err(|_| RequestError::Deadline)?;
        answer.unwrap_or(Err(RequestError::Broken(Broken::Ended)))
    }

    /// Sends a request whose answer comes among the events. Returns its number.
    pub(crate) fn begin(&self, method: &str, params: Value) -> Result<u64, RequestError> {
        let id = self.open(Answer::Event)?;
        let sent = self.send(message(Some(id), method, params));
        sent.map(|()| id).inspect_err(|_| self.forget(id))
    }

    /// Sends a notice.
    pub(crate) fn notify(&self, method: &str, params: Value) -> Result<(), RequestError> {
        self.send(message(None, method, params))
    }

    /// Answers a question of the program.
    pub(crate) fn answer(&self, id: &RawValue, result: Value) -> Result<(), RequestError> {
        self.send(line(&json!({"jsonrpc": "2.0", "id": id, "result": result})))
    }

    fn send(&self, line: Vec<u8>) -> Result<(), RequestError> {
        self.outbox
            .try_send(line)
            .map_err(|_| RequestError::NotReading)
    }

    fn open(&self, answer: Answer) -> Result<u64, RequestError> {
        let mut waiting = self.shared.waiting();
        if let Some(why) = &waiting.broken {
            return Err(RequestError::Broken(why.clone()));
        }
        waiting.last_id += 1;
        let id = waiting.last_id;
        waiting.requests.insert(id, answer);
        Ok(id)
    }

    fn forget(&self, id: u64) {
        self.shared.waiting().requests.remove(&id);
    }
}

/// A request without an answer yet. Dropped, it is forgotten, and a late answer counts as noise.
struct Open<'a> {
    peer: &'a Peer,
    id: u64,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.peer.forget(self.id);
    }
}

fn message(id: Option<u64>, method: &str, params: Value) -> Vec<u8> {
    line(&Outgoing {
        jsonrpc: "2.0",
        id,
        method,
        params,
    })
}

/// The reading half.
struct Reading {
    shared: Arc<Shared>,
    outbox: mpsc::Sender<Vec<u8>>,
    events: mpsc::Sender<Event>,
}

/// The members of a message that matter.
#[derive(Clone, Copy)]
struct Incoming<'a> {
    id: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

/// The error of an answer.
#[derive(Deserialize)]
struct WireError {
    code: i64,
    #[serde(default)]
    message: String,
}

impl Reading {
    /// Reads until nothing more comes. Requests that still wait are answered before the last event.
    async fn until_the_end<R: AsyncRead + Unpin>(self, lines: Lines<R>) {
        let why = self.all(lines).await;
        let open = {
            let mut waiting = self.shared.waiting();
            waiting.broken = Some(why.clone());
            std::mem::take(&mut waiting.requests)
        };
        for (id, answer) in open {
            let error = Err(RequestError::Broken(why.clone()));
            self.give(id, answer, error).await;
        }
        let _ = self.events.send(Event::Gone(why)).await;
    }

    async fn all<R: AsyncRead + Unpin>(&self, mut lines: Lines<R>) -> Broken {
        loop {
            let line = match lines.next().await {
                Ok(line) => line,
                Err(why) => return why,
            };
            let is_ours = match serde_json::from_slice::<&RawValue>(line) {
                Ok(message) => self.take(message).await,
                Err(_) => false,
            };
            if !is_ours && let Err(why) = self.shared.noise.add() {
                return why;
            }
        }
    }

    /// Takes one message; false when it is none of ours.
    async fn take(&self, message: &RawValue) -> bool {
        let Ok([id, method, params, result, error]) =
            members(message, ["id", "method", "params", "result", "error"])
        else {
            return false;
        };
        let incoming = Incoming {
            id,
            params,
            result,
            error,
        };
        match (text(method), incoming.id) {
            (Some(method), Some(id)) => self.asked(&method, id, incoming).await,
            (Some(method), None) => {
                if method == "session/update" {
                    self.updated(incoming.params).await;
                }
            }
            (None, _) => return self.answered(incoming).await,
        }
        true
    }

    async fn asked(&self, method: &str, id: &RawValue, incoming: Incoming<'_>) {
        if method == "session/request_permission"
            && let Some(question) = question(id, incoming.params)
        {
            let _ = self.events.send(Event::Permission(question)).await;
            return;
        }
        let error = json!({"code": NO_SUCH_METHOD, "message": "this client does not offer it"});
        // A program that asks faster than it reads gets no answer.
        let refusal = json!({"jsonrpc": "2.0", "id": id, "error": error});
        let _ = self.outbox.try_send(line(&refusal));
    }

    async fn updated(&self, params: Option<&RawValue>) {
        let params = params.and_then(|params| serde_json::from_str::<Value>(params.get()).ok());
        let update = params.as_ref().and_then(|params| params.get("update"));
        match update.and_then(Update::read) {
            Some(Update::Nothing) => {}
            Some(update) => {
                let _ = self.events.send(Event::Update(update)).await;
            }
            None => {
                self.shared.ignored.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Gives an answer to the request that waits for it; false when none does.
    async fn answered(&self, incoming: Incoming<'_>) -> bool {
        let id = incoming
            .id
            .and_then(|id| serde_json::from_str::<u64>(id.get()).ok());
        let found = id.and_then(|id| Some((id, self.shared.waiting().requests.remove(&id)?)));
        let Some((id, answer)) = found else {
            return false;
        };
        let result = match (incoming.error, incoming.result) {
            (Some(error), _) => Err(refusal(error)),
            (None, Some(result)) => {
                serde_json::from_str(result.get()).map_err(|_| RequestError::Unreadable)
            }
            (None, None) => Err(RequestError::Unreadable),
        };
        self.give(id, answer, result).await;
        true
    }

    async fn give(&self, id: u64, answer: Answer, result: Result<Value, RequestError>) {
        match answer {
            Answer::Caller(caller) => {
                let _ = caller.send(result);
            }
            Answer::Event => {
                let result = result.and_then(|answer| {
                    let reason = answer.get("stopReason").and_then(Value::as_str);
                    reason.map(StopReason::read).ok_or(RequestError::Unreadable)
                });
                let ended = Event::PromptEnded { prompt: id, result };
                let _ = self.events.send(ended).await;
            }
        }
    }
}

/// Reads a question; `None` where it does not name the call that it is about.
fn question(id: &RawValue, params: Option<&RawValue>) -> Option<PermissionRequest> {
    let params: Value = serde_json::from_str(params?.get()).ok()?;
    Some(PermissionRequest {
        id: id.to_owned(),
        call: Call::read(params.get("toolCall")?)?,
        options: options::read(params.get("options")),
    })
}

fn refusal(error: &RawValue) -> RequestError {
    let read = serde_json::from_str::<WireError>(error.get());
    read.map_or(RequestError::Unreadable, |error| RequestError::Refused {
        code: error.code,
        message: chorus_text::visible(&chorus_text::one_line(&error.message, MESSAGE)).0,
    })
}
