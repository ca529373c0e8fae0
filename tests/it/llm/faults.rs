//! What goes wrong on the way to a provider, and the class that each failure is of.
//!
//! What the whole bot makes of it is in `against_bot`.

use std::time::Duration;

use chorus::llm::{Delta, FailureClass, LlmError, Reply};
use futures_util::future::join_all;
use serde_json::json;

use super::conformance::request;
use super::history::said;
use super::wire::{FORMATS, Format, Play, Wire, answer, events};

/// So short that a silent server ends the test soon; every outcome here is silence, however slow the machine.
const IMPATIENT: Duration = Duration::from_millis(300);
const PATIENT: Duration = Duration::from_secs(60);

async fn ask(format: Format, base_url: String, silence: Duration) -> Result<Reply, LlmError> {
    let provider = format.provider(base_url, silence);
    let body = provider
        .encode(&request("test-model", vec![said("Hello")]))
        .unwrap();
    provider.stream(&body, &mut |_: Delta<'_>| {}).await
}

async fn failure(format: Format, script: Vec<Play>) -> LlmError {
    let wire = Wire::start(vec![script]).await;
    ask(format, wire.base_url(), PATIENT).await.unwrap_err()
}

#[tokio::test]
async fn every_status_and_every_word_has_its_class() {
    use FailureClass::{
        AuthError, ContextExceeded, ModelError, QuotaExceeded, RateLimit, ServerError, Timeout,
    };
    let anthropic = |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}});
    let openai = |code: &str, message: &str| json!({"error": {"message": message, "type": "x", "code": code}});
    let gemini = |status: &str, message: &str, details: serde_json::Value| json!([{"error": {"code": 0, "message": message, "status": status, "details": details}}]);
    let table = [
        (
            429,
            "",
            openai(
                "rate_limit_exceeded",
                "Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 40312.",
            ),
            ContextExceeded,
        ),
        (
            429,
            "retry-after: 7\r\n",
            anthropic("rate_limit_error", "Slow down"),
            RateLimit,
        ),
        (
            429,
            "",
            anthropic("rate_limit_error", "Number of requests exceeded"),
            RateLimit,
        ),
        (
            429,
            "",
            anthropic("rate_limit_error", "enforced_spend_limit_reached"),
            QuotaExceeded,
        ),
        (
            429,
            "retry-after: 7\r\n",
            json!({"type": "error", "error": {
                "type": "rate_limit_error",
                "message": "This request would exceed a limit of your organization",
                "details": {"error_code": "enforced_spend_limit_reached"},
            }}),
            QuotaExceeded,
        ),
        (409, "", anthropic("conflict_error", "Locked"), ServerError),
        (
            429,
            "",
            openai("insufficient_quota", "You exceeded your current quota"),
            QuotaExceeded,
        ),
        (
            429,
            "",
            openai(
                "rate_limit_exceeded",
                "Rate limit reached; see /account/billing to raise it",
            ),
            RateLimit,
        ),
        (
            429,
            "",
            gemini(
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota",
                json!([{"retryDelay": "34s"}]),
            ),
            RateLimit,
        ),
        (
            529,
            "",
            anthropic("overloaded_error", "Overloaded"),
            RateLimit,
        ),
        (
            401,
            "",
            anthropic("authentication_error", "invalid x-api-key"),
            AuthError,
        ),
        (
            403,
            "",
            anthropic("permission_error", "not allowed"),
            AuthError,
        ),
        (
            400,
            "",
            gemini(
                "INVALID_ARGUMENT",
                "API key not valid",
                json!([{"reason": "API_KEY_INVALID"}]),
            ),
            AuthError,
        ),
        (
            402,
            "",
            openai("payment_required", "Insufficient credits"),
            QuotaExceeded,
        ),
        (
            400,
            "",
            anthropic("invalid_request_error", "Your credit balance is too low"),
            QuotaExceeded,
        ),
        (
            400,
            "",
            anthropic("invalid_request_error", "max_tokens: too large"),
            ModelError,
        ),
        (
            404,
            "",
            anthropic("not_found_error", "model: nope"),
            ModelError,
        ),
        (
            400,
            "",
            anthropic(
                "invalid_request_error",
                "prompt is too long: 9 tokens > 8 maximum",
            ),
            ContextExceeded,
        ),
        (
            400,
            "",
            openai("context_length_exceeded", "maximum context length is 8"),
            ContextExceeded,
        ),
        (
            400,
            "",
            json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "the request exceeds the available context size"}}),
            ContextExceeded,
        ),
        (
            413,
            "",
            anthropic("request_too_large", "Request exceeds the maximum size"),
            ContextExceeded,
        ),
        (408, "", json!({}), Timeout),
        (422, "", json!({"detail": "field required"}), ModelError),
        (500, "", anthropic("api_error", "Internal"), ServerError),
        (503, "", json!("no object"), ServerError),
        (504, "", json!({"error": "gateway timeout"}), ServerError),
    ];
    for (status, headers, body, class) in table {
        for format in FORMATS {
            let error = failure(format, answer(status, headers, &body.to_string())).await;
            assert_eq!(error.class, class, "{status} {body}: {error}");
            assert_eq!(error.status, Some(status));
            assert_eq!(error.provider, format.name());
        }
    }
}

#[tokio::test]
async fn the_wait_that_a_provider_asks_for_is_read_in_each_form() {
    let table = [
        ("retry-after: 7\r\n", json!({}), 7.0),
        ("retry-after: 0.5\r\n", json!({}), 0.5),
        ("retry-after: -30\r\n", json!({}), 0.0),
        (
            "retry-after: 99999999999999999999\r\n",
            json!({}),
            31.0 * 86_400.0,
        ),
        ("retry-after-ms: 1500\r\nretry-after: 2\r\n", json!({}), 1.5),
        (
            "x-ratelimit-reset: 4102444800000\r\n",
            json!({}),
            31.0 * 86_400.0,
        ),
        (
            "retry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\n",
            json!({}),
            0.0,
        ),
        (
            "",
            json!({"error": {"details": [{"@type": "RetryInfo", "retryDelay": "34.5s"}]}}),
            34.5,
        ),
    ];
    for format in FORMATS {
        for (headers, body, seconds) in &table {
            let error = failure(format, answer(429, headers, &body.to_string())).await;
            assert_eq!(
                error.retry_after,
                Some(Duration::from_secs_f64(*seconds)),
                "{format:?} {headers} {body}"
            );
        }
        for headers in ["", "retry-after: soon\r\n", "retry-after: NaN\r\n"] {
            let wait = failure(format, answer(429, headers, "{}"))
                .await
                .retry_after;
            assert!(
                wait.is_none_or(|wait| wait.is_zero()),
                "{format:?} {headers:?} {wait:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_provider_that_repeats_the_key_does_not_make_us_show_it() {
    let body =
        json!({"error": {"type": "authentication_error", "message": "wrong key:\n sk-secret-key"}});
    for format in FORMATS {
        let refusal = answer(401, "request-id: req_9\r\n", &body.to_string());
        let error = failure(format, refusal).await;
        let told = format!("{}: HTTP 401: wrong key:  [key]", format.name());
        assert_eq!(error.to_string(), told);
        assert_eq!(error.request_id.as_deref(), Some("req_9"));
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    for format in FORMATS {
        for status in [301, 302, 303, 307, 308] {
            let other = Wire::start(vec![events(&format.fixture("text"))]).await;
            let location = format!("location: {}/v1/messages\r\n", other.base_url());
            let error = failure(format, answer(status, &location, "")).await;
            assert_eq!(error.class, FailureClass::InvalidResponse, "{error}");
            assert!(other.requests().is_empty(), "{format:?}");
        }
    }
}

/// A server that never ends: one endless line, endless lines, endless pings, endless events of an unknown kind.
#[tokio::test]
async fn a_body_without_end_ends() {
    let never = Duration::ZERO;
    let endless = [
        vec![b'x'; 1 << 20],
        b": padding\n".repeat(1 << 16),
        b"data: {\"type\":\"future\"}\n\n".repeat(1 << 14),
    ];
    for format in FORMATS {
        for bytes in &endless {
            let mut script = events(b"");
            script.push(Play::Forever(bytes.clone(), never));
            let error = failure(format, script).await;
            assert_eq!(error.class, FailureClass::InvalidResponse, "{error}");
        }
    }
}

#[tokio::test]
async fn an_error_page_without_end_ends() {
    let head = b"HTTP/1.1 500 No\r\nconnection: close\r\n\r\n".to_vec();
    for format in FORMATS {
        let page = Play::Forever(vec![b'x'; 1 << 16], Duration::ZERO);
        let error = failure(format, vec![Play::Bytes(head.clone()), page]).await;
        assert_eq!(error.class, FailureClass::ServerError);
    }
}

#[tokio::test]
async fn silence_ends_by_the_clock_and_pings_are_silence() {
    let ping = b"event: ping\ndata: {\"type\": \"ping\"}\n\n".to_vec();
    let distance = Duration::from_millis(5);
    let open = |play: Play| [events(b""), vec![play]].concat();
    let scripts = [
        vec![Play::Hold],
        open(Play::Hold),
        open(Play::Forever(ping, distance)),
        open(Play::Forever(b": comment\n\n".to_vec(), distance)),
        open(Play::Forever(b"x".to_vec(), distance)),
        vec![Play::Bytes(b"HTTP/1.1 500 No\r\n".to_vec()), Play::Hold],
    ];
    let asked = FORMATS.into_iter().flat_map(|format| {
        scripts.iter().map(move |script| async move {
            let wire = Wire::start(vec![script.clone()]).await;
            let error = ask(format, wire.base_url(), IMPATIENT).await.unwrap_err();
            assert_eq!(error.class, FailureClass::Timeout, "{format:?}: {error}");
        })
    });
    join_all(asked).await;
}

#[tokio::test]
async fn nobody_there_is_a_network_error() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    for format in FORMATS {
        let error = ask(format, format!("http://{address}"), PATIENT)
            .await
            .unwrap_err();
        assert_eq!(error.class, FailureClass::NetworkError);
        assert!(error.message.starts_with("cannot be reached"), "{error}");
    }
}
