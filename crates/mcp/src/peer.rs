//! A JSON-RPC peer over lines: requests with deadlines, and an answer to whatever the other side asks.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chorus_rpc::{Broken, Lines, NO_SUCH_METHOD, Noise, line, members, text, write_lines};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// Lines that wait for a server that does not read.
const OUTBOX: usize = 32;

/// Reports of progress that wait for the caller; more are dropped.
const WAITING_PROGRESS: usize = 4;

/// Characters of an error's message that are kept.
const MESSAGE: usize = 500;

/// What a server said about the progress of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Nothing more comes from the server. It may have got the request.
    #[error("it ended: {0}")]
    Broken(Broken),
    #[error("it did not answer in time")]
    Deadline,
    /// The server's own error.
    #[error("it answered with an error ({code}): {message}")]
    Refused { code: i64, message: String },
    /// An answer that the protocol does not know.
    #[error("its answer cannot be read: {0}")]
    Unreadable(String),
    /// The server wants something of a person.
    #[error("it asked a question, which is not supported")]
    Asked,
}

/// How long a request may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    /// From the request, and again from each report of progress.
    pub(crate) quiet: Duration,
    /// In all.
    pub(crate) most: Duration,
}

impl Deadline {
    pub(crate) fn fixed(time: Duration) -> Self {
        Self {
            quiet: time,
            most: time,
        }
    }
}

/// A connection. Dropping it ends its tasks and closes the server's input.
#[derive(Debug)]
pub(crate) struct Peer {
    shared: Arc<Shared>,
    /// Lines for the writer.
    outbox: mpsc::Sender<Vec<u8>>,
    broken: watch::Receiver<Option<Broken>>,
    changes: watch::Receiver<u64>,
    /// The reader and the writer, which end with the connection.
    _tasks: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Shared {
    noise: Noise,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    last_id: u64,
    requests: HashMap<u64, Request>,
}

#[derive(Debug)]
struct Request {
    answer: oneshot::Sender<Result<Box<RawValue>, RequestError>>,
    progress: mpsc::Sender<Progress>,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Nothing panics while it is held.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Serialize)]
struct Outgoing<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    params: P,
}

impl Peer {
    /// Starts reading and writing.
    pub(crate) fn start(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let shared = Arc::new(Shared::default());
        let (outbox, lines) = mpsc::channel(OUTBOX);
        let (break_it, broken) = watch::channel(None);
        let (changed, changes) = watch::channel(0);
        let mut tasks = JoinSet::new();
        tasks.spawn(write_lines(writer, lines));
        let reading = Reading {
            shared: shared.clone(),
            outbox: outbox.clone(),
            changed,
        };
        let lines = Lines::new(reader, shared.noise.clone());
        tasks.spawn(async move {
            let why = reading.all(lines).await;
            break_it.send_replace(Some(why));
        });
        Self {
            shared,
            outbox,
            broken,
            changes,
            _tasks: tasks,
        }
    }

    /// Returns the number of lines and answers that were dropped.
    pub(crate) fn noise(&self) -> u32 {
        self.shared.noise.count()
    }

    /// Counts the server's notices that its list of tools changed.
    pub(crate) fn list_changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    /// Waits until nothing more comes from the server.
    pub(crate) async fn broken(&self) -> Broken {
        let mut broken = self.broken.clone();
        match broken.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or(Broken::Ended),
            Err(_) => Broken::Ended,
        }
    }

    /// Sends a notice, if the server reads at all.
    pub(crate) fn notify(&self, method: &str, params: impl Serialize) {
        let line = line(&Outgoing {
            jsonrpc: "2.0",
            id: None,
            method,
            params,
        });
        let _ = self.outbox.try_send(line);
    }

    /// Sends a request and waits for its answer. `params` gets the number of the request, which is also its token for progress.
    /// Dropping the future tells the server that it is cancelled.
    pub(crate) async fn request<P: Serialize>(
        &self,
        method: &str,
        params: impl FnOnce(u64) -> P,
        deadline: Deadline,
        mut on_progress: impl FnMut(Progress),
    ) -> Result<Box<RawValue>, RequestError> {
        let (answer, mut answered) = oneshot::channel();
        let (progress, mut progressed) = mpsc::channel(WAITING_PROGRESS);
        let open = self.open(Request { answer, progress });
        let line = line(&Outgoing {
            jsonrpc: "2.0",
            id: Some(open.id),
            method,
            params: params(open.id),
        });
        let last = Instant::now() + deadline.most;
        let mut until = (Instant::now() + deadline.quiet).min(last);
        bounded(until, self.outbox.send(line))
            .await?
            .map_err(|_| RequestError::Broken(Broken::Ended))?;
        loop {
            tokio::select! {
                biased;
                answer = &mut answered => {
                    return answer.unwrap_or(Err(RequestError::Broken(Broken::Ended)));
                }
                Some(progress) = progressed.recv() => {
                    until = (Instant::now() + deadline.quiet).max(until).min(last);
                    on_progress(progress);
                }
                why = self.broken() => {
                    open.forget();
                    return Err(RequestError::Broken(why));
                }
                () = sleep_until(until) => return Err(RequestError::Deadline),
            }
        }
    }

    fn open(&self, request: Request) -> Open<'_> {
        let mut waiting = self.shared.waiting();
        waiting.last_id += 1;
        let id = waiting.last_id;
        waiting.requests.insert(id, request);
        Open { peer: self, id }
    }
}

async fn bounded<T>(until: Instant, work: impl Future<Output = T>) -> Result<T, RequestError> {
    let done = tokio::time::timeout_at(until, work).await;
    done.map_err(|_| RequestError::Deadline)
}

/// A request without an answer yet. Dropped, it is cancelled.
struct Open<'a> {
    peer: &'a Peer,
    id: u64,
}

impl Open<'_> {
    fn forget(&self) -> bool {
        let mut waiting = self.peer.shared.waiting();
        waiting.requests.remove(&self.id).is_some()
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.forget() {
            let cancelled = json!({"requestId": self.id, "reason": "no longer needed"});
            self.peer.notify("notifications/cancelled", cancelled);
        }
    }
}

/// The reading half.
struct Reading {
    shared: Arc<Shared>,
    outbox: mpsc::Sender<Vec<u8>>,
    changed: watch::Sender<u64>,
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
    async fn all<R: AsyncRead + Unpin>(&self, mut lines: Lines<R>) -> Broken {
        loop {
            let line = match lines.next().await {
                Ok(line) => line,
                Err(why) => return why,
            };
            let Ok(message) = serde_json::from_slice::<&RawValue>(line) else {
                if let Err(why) = self.shared.noise.add() {
                    return why;
                }
                continue;
            };
            if !self.take(message)
                && let Err(why) = self.shared.noise.add()
            {
                return why;
            }
        }
    }

    /// Takes one message; false when it is none of ours.
    fn take(&self, message: &RawValue) -> bool {
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
        match text(method) {
            Some(method) => {
                self.asked(&method, incoming);
                true
            }
            None => self.answered(incoming),
        }
    }

    /// Answers a request of the server, and takes its notices.
    fn asked(&self, method: &str, incoming: Incoming<'_>) {
        if let Some(id) = incoming.id {
            let answer = if method == "ping" {
                json!({"jsonrpc": "2.0", "id": id, "result": {}})
            } else {
                let error =
                    json!({"code": NO_SUCH_METHOD, "message": "this client does not offer it"});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            };
            // A server that asks faster than it reads gets no answer.
            let _ = self.outbox.try_send(line(&answer));
            return;
        }
        match (method, incoming.params) {
            ("notifications/tools/list_changed", _) => {
                self.changed.send_modify(|count| *count += 1);
            }
            ("notifications/progress", Some(params)) => self.progressed(params),
            _ => {}
        }
    }

    fn progressed(&self, params: &RawValue) {
        let Ok([token, done, total, message]) =
            members(params, ["progressToken", "progress", "total", "message"])
        else {
            return;
        };
        let Some(id) = number(token) else { return };
        let waiting = self.shared.waiting();
        if let Some(request) = waiting.requests.get(&id) {
            let amount = |value: Option<&RawValue>| serde_json::from_str(value?.get()).ok();
            let _ = request.progress.try_send(Progress {
                done: amount(done).unwrap_or_default(),
                total: amount(total),
                message: text(message).map(|message| chorus_text::one_line(&message, MESSAGE)),
            });
        }
    }

    /// Gives an answer to the request that waits for it; false when none does.
    fn answered(&self, incoming: Incoming<'_>) -> bool {
        let request = number(incoming.id).and_then(|id| self.shared.waiting().requests.remove(&id));
        let Some(request) = request else { return false };
        let answer = match (incoming.error, incoming.result) {
            (Some(error), _) => Err(refusal(error)),
            (None, Some(result)) => Ok(result.to_owned()),
            (None, None) => Err(RequestError::Unreadable(
                "it has neither a result nor an error".to_owned(),
            )),
        };
        let _ = request.answer.send(answer);
        true
    }
}

fn number(value: Option<&RawValue>) -> Option<u64> {
    serde_json::from_str(value?.get()).ok()
}

fn refusal(error: &RawValue) -> RequestError {
    let read = serde_json::from_str::<WireError>(error.get());
    read.map_or_else(
        |_| RequestError::Unreadable("its error is not one of JSON-RPC".to_owned()),
        |error| RequestError::Refused {
            code: error.code,
            message: chorus_text::visible(&chorus_text::one_line(&error.message, MESSAGE)).0,
        },
    )
}
