//! A server that answers with bytes, exactly as scripted, and keeps what it was asked.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use chorus::config::Secret;
use chorus::llm::{Anthropic, Endpoint, Gemini, OpenAiChat, OpenAiResponses, Provider, client};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::published::Published;

/// How the server answers one request, step by step; then it closes the connection.
#[derive(Clone)]
pub(super) enum Play {
    Bytes(Vec<u8>),
    /// The same bytes again and again, at this distance, until the client goes.
    Forever(Vec<u8>, Duration),
    /// Nothing more, until the client goes.
    Hold,
    /// The connection is reset.
    Reset,
}

/// One request, as it came.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub head: String,
    pub body: Value,
}

impl Asked {
    /// The path that was asked, without its query.
    pub(super) fn path(&self) -> &str {
        let target = self.head.split(' ').nth(1).unwrap_or_default();
        target.split('?').next().unwrap_or_default()
    }

    fn lists_models(&self) -> bool {
        self.head.starts_with("GET ")
    }
}

pub(super) struct Wire {
    pub address: SocketAddr,
    asked: watch::Sender<Vec<Asked>>,
    /// One message for each connection that the client closed first.
    pub left: mpsc::UnboundedReceiver<()>,
    task: JoinHandle<()>,
}

/// Every request that a test makes is one that the provider would take.
impl Drop for Wire {
    fn drop(&mut self) {
        self.task.abort();
        if std::thread::panicking() {
            return;
        }
        for asked in self.requests() {
            let path = asked.path().to_owned();
            let broken =
                Published::at(&path).map_or(Vec::new(), |schema| schema.broken(&asked.body));
            assert!(broken.is_empty(), "{path}: {broken:#?}\n{:#}", asked.body);
        }
    }
}

impl Wire {
    /// Answers the n-th request with the n-th script, later ones with the last.
    pub(super) async fn start(scripts: Vec<Vec<Play>>) -> Self {
        Self::start_listing(scripts, None).await
    }

    /// As [`Wire::start`], for a whole bot: who asks for the models is given `models`, besides the scripts.
    pub(super) async fn start_with_models(scripts: Vec<Vec<Play>>, models: &[&str]) -> Self {
        let list: Vec<Value> = models.iter().map(|id| json!({"id": id})).collect();
        Self::start_listing(scripts, Some(json!({"data": list}))).await
    }

    /// As [`Wire::start_with_models`], where `refuses` may answer a request in place of the scripts. It is told how many
    /// requests came before.
    pub(super) async fn start_refusing(
        scripts: Vec<Vec<Play>>,
        models: &[&str],
        refuses: impl Fn(usize, &Value) -> Option<Vec<Play>> + Send + Sync + 'static,
    ) -> Self {
        let list: Vec<Value> = models.iter().map(|id| json!({"id": id})).collect();
        Self::start_with(scripts, Some(json!({"data": list})), Box::new(refuses)).await
    }

    async fn start_listing(scripts: Vec<Vec<Play>>, models: Option<Value>) -> Self {
        Self::start_with(scripts, models, Box::new(|_, _| None)).await
    }

    async fn start_with(
        scripts: Vec<Vec<Play>>,
        models: Option<Value>,
        refuses: Box<Refuses>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = watch::Sender::new(Vec::new());
        let (goes, left) = mpsc::unbounded_channel();
        let record = asked.clone();
        let script = Arc::new(Script {
            scripts,
            models,
            refuses,
            record,
            number: AtomicUsize::new(0),
        });
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, Arc::clone(&script), goes.clone()));
            }
        });
        Self {
            address,
            asked,
            left,
            task,
        }
    }

    pub(super) fn requests(&self) -> Vec<Asked> {
        self.asked.borrow().clone()
    }

    /// Waits for the first request.
    pub(super) async fn is_asked(&self) {
        let mut asked = self.asked.subscribe();
        asked.wait_for(|asked| !asked.is_empty()).await.unwrap();
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }
}

type Refuses = dyn Fn(usize, &Value) -> Option<Vec<Play>> + Send + Sync;

/// What the server does, and what it keeps.
struct Script {
    scripts: Vec<Vec<Play>>,
    refuses: Box<Refuses>,
    models: Option<Value>,
    record: watch::Sender<Vec<Asked>>,
    number: AtomicUsize,
}

async fn serve(mut stream: TcpStream, script: Arc<Script>, goes: mpsc::UnboundedSender<()>) {
    let Some(asked) = read_request(&mut stream).await else {
        return;
    };
    let plays = match &script.models {
        Some(models) if asked.lists_models() => answer(
            200,
            "content-type: application/json\r\n",
            &models.to_string(),
        ),
        _ => {
            let before = script.record.borrow().len();
            let refusal = (script.refuses)(before, &asked.body);
            script.record.send_modify(|all| all.push(asked));
            refusal.unwrap_or_else(|| {
                let number = script.number.fetch_add(1, Ordering::SeqCst);
                script.scripts[number.min(script.scripts.len() - 1)].clone()
            })
        }
    };
    for play in plays {
        let stays = match play {
            Play::Bytes(bytes) => {
                stream.write_all(&bytes).await.is_ok() && stream.flush().await.is_ok()
            }
            Play::Forever(bytes, distance) => {
                while stream.write_all(&bytes).await.is_ok() {
                    sleep(distance).await;
                }
                false
            }
            Play::Reset => {
                let _ = stream.set_zero_linger();
                return;
            }
            Play::Hold => {
                let mut byte = [0];
                matches!(stream.read(&mut byte).await, Ok(read) if read > 0)
            }
        };
        if !stays {
            let _ = goes.send(());
            return;
        }
    }
    let _ = stream.shutdown().await;
}

async fn read_request(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let length = head.lines().find_map(|line| {
        line.to_lowercase()
            .strip_prefix("content-length:")?
            .trim()
            .parse()
            .ok()
    });
    while bytes.len() < end + length.unwrap_or(0) {
        stream.read_buf(&mut bytes).await.ok()?;
    }
    let body = serde_json::from_slice(&bytes[end..]).unwrap_or(Value::Null);
    Some(Asked { head, body })
}

/// A whole answer: an event stream that ends with the connection.
pub(super) fn events(body: &[u8]) -> Vec<Play> {
    let mut bytes = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nrequest-id: req_7\r\nconnection: close\r\n\r\n".to_vec();
    bytes.extend_from_slice(body);
    vec![Play::Bytes(bytes)]
}

/// A whole answer of any status.
pub(super) fn answer(status: u16, headers: &str, body: &str) -> Vec<Play> {
    let length = body.len();
    vec![Play::Bytes(
        format!("HTTP/1.1 {status} Status\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}").into_bytes(),
    )]
}

/// The wire formats under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Anthropic,
    OpenAiChat,
    OpenAiResponses,
    Gemini,
}

pub(super) const FORMATS: [Format; 4] = [
    Format::Anthropic,
    Format::OpenAiChat,
    Format::OpenAiResponses,
    Format::Gemini,
];

/// One client for all providers of a test: each would read the machine's certificates again, which takes 10 ms.
static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| client().unwrap());

impl Format {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAiChat => "openai_chat",
            Self::OpenAiResponses => "openai_responses",
            Self::Gemini => "gemini",
        }
    }

    /// A recorded answer: `text`, `calls`, `cut_call`, `error`, `search`.
    pub(super) fn fixture(self, kind: &str) -> Vec<u8> {
        let path = format!(
            "{}/tests/data/llm/{}_{kind}.sse",
            env!("CARGO_MANIFEST_DIR"),
            self.name()
        );
        std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// A provider of this format at `base_url`, that waits `silence` for content.
    pub(super) fn provider(self, base_url: String, silence: Duration) -> Arc<dyn Provider> {
        let endpoint = Endpoint {
            name: self.name().to_owned(),
            client: CLIENT.clone(),
            base_url,
            key: Some(Secret::new("sk-secret-key")),
            silence,
        };
        match self {
            Self::Anthropic => Arc::new(Anthropic::new(endpoint)),
            Self::OpenAiChat => Arc::new(OpenAiChat::new(endpoint)),
            Self::OpenAiResponses => Arc::new(OpenAiResponses::new(endpoint)),
            Self::Gemini => Arc::new(Gemini::new(endpoint)),
        }
    }
}
