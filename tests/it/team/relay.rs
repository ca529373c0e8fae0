//! The relay of a member: what reaches a provider, what comes back, and what is refused on the way.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use chorus::config::{Secret, WireFormat};
use chorus::domain::{AttemptOutcome, FailureClass, Usage};
use chorus::llm::{Endpoint, RelayEndpoint, client};
use chorus::team::{Asked, Done, Grant, ModelRule, NotGranted, Purse, Relay, RelayParts};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::mpsc;

use crate::poll::until;

/// The operator's key.
const KEY: &str = "sk-canary-90ab13";

/// What a provider got, and what it answers.
#[derive(Default)]
struct Provider {
    got: Mutex<Vec<(String, HeaderMap, Value)>>,
    answers: Mutex<Vec<(u16, &'static str)>>,
}

async fn provides(
    State(provider): State<Arc<Provider>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let asked = format!("{method} {}", uri.path_and_query().unwrap());
    provider.got.lock().push((asked, headers, body));
    let mut answers = provider.answers.lock();
    let (status, text) = if answers.len() > 1 {
        answers.remove(0)
    } else {
        answers.first().copied().unwrap_or((200, "{}"))
    };
    let headers = [("retry-after", "0"), ("request-id", "req_1")];
    (StatusCode::from_u16(status).unwrap(), headers, text).into_response()
}

/// A purse that grants so many tokens, or nothing.
struct TestPurse {
    output: Option<u32>,
    refuses: Option<&'static str>,
    asked: Mutex<Vec<Asked>>,
    done: mpsc::UnboundedSender<Done>,
    key_refused: Mutex<u32>,
}

#[async_trait]
impl Purse for TestPurse {
    async fn reserve(&self, asked: &Asked) -> Result<Grant, NotGranted> {
        self.asked.lock().push(asked.clone());
        match self.refuses {
            Some(why) => Err(NotGranted(why.to_owned())),
            None => Ok(Grant {
                output: self.output,
                held: Box::new(()),
            }),
        }
    }

    fn spent(&self, done: Done) {
        self.done.send(done).unwrap();
    }

    fn key_refused(&self, _: &str) {
        *self.key_refused.lock() += 1;
    }

    fn waits(&self, _: Duration) {}
}

struct World {
    folder: TempDir,
    provider: Arc<Provider>,
    purse: Arc<TestPurse>,
    done: mpsc::UnboundedReceiver<Done>,
    relay: Relay,
}

impl World {
    async fn with(
        answers: &[(u16, &'static str)],
        output: Option<u32>,
        refuses: Option<&'static str>,
    ) -> Self {
        let provider = Arc::new(Provider::default());
        *provider.answers.lock() = answers.to_vec();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = axum::Router::new()
            .fallback(provides)
            .with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let (sender, done) = mpsc::unbounded_channel();
        let purse = Arc::new(TestPurse {
            output,
            refuses,
            asked: Mutex::default(),
            done: sender,
            key_refused: Mutex::default(),
        });
        let endpoint = Endpoint {
            name: "anthropic".to_owned(),
            client: client().unwrap(),
            base_url: format!("http://{address}"),
            key: Some(Secret::new(KEY)),
            silence: Duration::from_secs(60),
        };
        let folder = tempfile::tempdir().unwrap();
        let parts = RelayParts {
            token: "token".to_owned(),
            endpoint: RelayEndpoint::new(endpoint, WireFormat::Anthropic),
            models: ModelRule {
                patterns: vec!["claude-haiku*".to_owned()],
                known: vec!["claude-opus-5".to_owned(), "claude-haiku-5".to_owned()],
            },
            purse: purse.clone(),
        };
        let relay = Relay::serve(&folder.path().join("relay.sock"), parts).unwrap();
        Self {
            folder,
            provider,
            purse,
            done,
            relay,
        }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("relay.sock")
    }

    /// The status and the body of an answer.
    async fn asks(&self, line: &str, token: &str, body: &str) -> (u16, String) {
        let mut stream = UnixStream::connect(self.socket()).await.unwrap();
        let length = body.len();
        let request = format!(
            "{line} HTTP/1.0\r\nhost: relay\r\nx-api-key: {token}\r\nanthropic-version: 2023-06-01\r\ncookie: c\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    async fn messages(&self, body: &Value) -> (u16, String) {
        self.asks(
            "POST /v1/messages?beta=true&key=x",
            "token",
            &body.to_string(),
        )
        .await
    }
}

/// The sentence of a refusal.
fn refusal(body: &str) -> String {
    let start = body.find('{').unwrap();
    let end = body.rfind('}').unwrap();
    let body: Value = serde_json::from_str(&body[start..=end]).unwrap();
    body["error"]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_request_passes_with_the_operators_key_and_is_counted() {
    let answer = "event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\ndata: {\"usage\":{\"output_tokens\":7}}\n\n";
    let mut world = World::with(&[(200, answer)], None, None).await;
    let body =
        json!({"model": "claude-haiku-5", "max_tokens": 9000, "stream": true, "anything": [1]});
    let (status, text) = world.messages(&body).await;
    assert_eq!(status, 200);
    assert!(text.contains("\"output_tokens\":7"), "{text}");
    let (asked, headers, got) = world.provider.got.lock().remove(0);
    assert_eq!(
        (asked.as_str(), &got),
        ("POST /v1/messages?beta=true", &body)
    );
    assert_eq!(headers["x-api-key"], KEY);
    assert_eq!(headers["anthropic-version"], "2023-06-01");
    assert!(!headers.contains_key("cookie"));
    let done = world.done.recv().await.unwrap();
    let usage = Usage {
        input: 9,
        output: 7,
        ..Usage::default()
    };
    assert_eq!(
        (done.outcome, done.usage),
        (AttemptOutcome::Ok, Some(usage))
    );
    assert_eq!(
        (done.model.as_str(), done.request_id.as_deref()),
        ("claude-haiku-5", Some("req_1"))
    );
}

#[tokio::test]
async fn a_budget_lowers_the_answer_or_refuses_it() {
    let world = World::with(&[], Some(2_000), None).await;
    world
        .messages(&json!({"model": "claude-haiku-5", "max_tokens": 9000}))
        .await;
    assert_eq!(world.provider.got.lock()[0].2["max_tokens"], 2_000);
    for (world, said) in [
        (
            World::with(&[], Some(1_000), None).await,
            "Chorus: the budget leaves less than 1,024 tokens for the answer",
        ),
        (
            World::with(
                &[],
                None,
                Some("the budget is spent: $20.00 of $20.00 today (agent lab)"),
            )
            .await,
            "Chorus: the budget is spent: $20.00 of $20.00 today (agent lab)",
        ),
    ] {
        let (status, text) = world
            .messages(&json!({"model": "claude-haiku-5", "max_tokens": 9000}))
            .await;
        assert_eq!((status, refusal(&text).as_str()), (400, said));
        assert!(world.provider.got.lock().is_empty());
    }
}

#[tokio::test]
async fn a_model_that_is_not_allowed_is_replaced() {
    let world = World::with(&[], None, None).await;
    let prompting = world.relay.prompting();
    world
        .messages(&json!({"model": "claude-opus-5", "max_tokens": 1}))
        .await;
    assert_eq!(world.provider.got.lock()[0].2["model"], "claude-haiku-5");
    assert_eq!(world.purse.asked.lock()[0].model, "claude-haiku-5");
    assert_eq!(world.relay.substituted().as_deref(), Some("claude-haiku-5"));
    drop(prompting);
    let list = r#"{"data":[{"id":"claude-opus-5"},{"id":"claude-haiku-5"},7]}"#;
    let world = World::with(&[(200, list)], None, None).await;
    let (status, text) = world.asks("GET /v1/models", "token", "").await;
    assert_eq!(
        (status, text.as_str()),
        (200, r#"{"data":[{"id":"claude-haiku-5"}]}"#)
    );
}

#[tokio::test]
async fn what_programs_would_retry_or_ask_about_comes_as_400() {
    let body = json!({"model": "claude-haiku-5", "max_tokens": 1});
    for status in [401, 403] {
        let mut world = World::with(&[(status, "no")], None, None).await;
        let (status, text) = world.messages(&body).await;
        assert_eq!(
            (status, refusal(&text).as_str()),
            (400, "Chorus: the provider refused the operator's key")
        );
        assert_eq!(*world.purse.key_refused.lock(), 1);
        let done = world.done.recv().await.unwrap();
        assert_eq!(
            done.outcome,
            AttemptOutcome::Failed(FailureClass::AuthError)
        );
    }
    // A busy provider is asked again, and only its last answer is seen.
    let world = World::with(
        &[(429, "busy"), (529, "busy"), (200, "{\"ok\":1}")],
        None,
        None,
    )
    .await;
    let (status, text) = world.messages(&body).await;
    assert_eq!(status, 200);
    assert!(text.contains("\"ok\":1"), "{text}");
    assert_eq!(world.provider.got.lock().len(), 3);
    // Other errors are the program's own business.
    let world = World::with(&[(500, "broken")], None, None).await;
    assert_eq!(world.messages(&body).await, (500, "broken".to_owned()));
}

#[tokio::test]
async fn strangers_and_other_paths_are_refused() {
    let world = World::with(&[], None, None).await;
    let asks = async |line: &str, token: &str, body: &str| {
        let (status, text) = world.asks(line, token, body).await;
        (status, refusal(&text))
    };
    let body = r#"{"model": "claude-haiku-5"}"#;
    for (line, token, body, said) in [
        (
            "POST /v1/messages",
            "wrong",
            body,
            "Chorus: the token is not that of this member",
        ),
        (
            "POST /v1/messages",
            KEY,
            body,
            "Chorus: the token is not that of this member",
        ),
        (
            "POST /v1/files",
            "token",
            body,
            "Chorus: this path is not passed on",
        ),
        (
            "GET /v1/messages",
            "token",
            "",
            "Chorus: this path is not passed on",
        ),
        (
            "POST /v1/messages",
            "token",
            "{}",
            "Chorus: the request names no model",
        ),
        (
            "POST /v1/messages",
            "token",
            "x",
            "Chorus: the request is not a JSON object",
        ),
    ] {
        assert_eq!(
            asks(line, token, body).await,
            (400, said.to_owned()),
            "{line}"
        );
    }
    assert!(world.provider.got.lock().is_empty());
    assert_eq!(world.asks("GET /", "", "").await.0, 200);
}

#[tokio::test]
async fn without_a_prompt_there_are_sixty_requests_in_a_minute() {
    let world = World::with(&[], None, None).await;
    let body = r#"{"model": "claude-haiku-5", "max_tokens": 1}"#;
    for _ in 0..60 {
        assert_eq!(world.asks("POST /v1/messages", "token", body).await.0, 200);
    }
    let (status, text) = world.asks("POST /v1/messages", "token", body).await;
    let said = "Chorus: more than 60 requests in a minute without a prompt";
    assert_eq!((status, refusal(&text).as_str()), (400, said));
    let _prompting = world.relay.prompting();
    assert_eq!(world.asks("POST /v1/messages", "token", body).await.0, 200);
}

#[tokio::test]
async fn an_end_of_the_relay_ends_what_passes() {
    let world = World::with(&[], None, None).await;
    let socket = world.socket();
    drop(world.relay);
    until(|| std::os::unix::net::UnixStream::connect(&socket).is_err()).await;
}
