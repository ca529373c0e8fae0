//! Spans at an OpenTelemetry collector: `cargo nextest run --features otlp ops::otlp`.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::program;
use crate::not_run::python;
use crate::world::{Setup, World, run_test_with};

/// The requests that a collector is sent while a program of this setup runs `story`.
async fn collected(setup: Setup, story: impl AsyncFnOnce(&mut World)) -> Vec<Bytes> {
    let received = Arc::<Mutex<Vec<Bytes>>>::default();
    let store = Arc::clone(&received);
    let collector = Router::new().route(
        "/v1/traces",
        post(async move |body: Bytes| store.lock().unwrap().push(body)),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, collector).into_future());
    let setup = Setup {
        config: setup.config,
        ..program(vec![("OTEL_EXPORTER_OTLP_ENDPOINT", address)])
    };
    run_test_with(setup, story).await;
    // The daemon has ended, and sent what was left before.
    let received = received.lock().unwrap();
    received.clone()
}

/// A span as it arrives: its name, trace, own id and that of its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    name: String,
    /// All three in hex; empty for no parent.
    trace: String,
    id: String,
    parent: String,
}

/// The fields of a protobuf message that hold bytes, by number.
fn fields(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let length = match key & 7 {
            0 => {
                varint(&mut bytes);
                continue;
            }
            1 => 8,
            2 => usize::try_from(varint(&mut bytes)).unwrap(),
            5 => 4,
            other => panic!("wire type {other}"),
        };
        let (value, rest) = bytes.split_at(length);
        bytes = rest;
        if key & 7 == 2 {
            found.push((key >> 3, value));
        }
    }
    found
}

/// What the published schema makes of them with Google's library; none where both are missing.
fn judged(received: &[Bytes]) -> Option<Vec<Span>> {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<_> = received
        .iter()
        .enumerate()
        .map(|(number, body)| {
            let file = folder.path().join(number.to_string());
            std::fs::write(&file, body).unwrap();
            file
        })
        .collect();
    let judge = python("otlp", "google.protobuf, opentelemetry.proto")?
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/otlp/judge.py"))
        .args(files)
        .output()
        .unwrap();
    assert!(
        judge.status.success(),
        "{}",
        String::from_utf8_lossy(&judge.stderr)
    );
    let spans: Vec<Value> = serde_json::from_slice(&judge.stdout).unwrap();
    let text = |span: &Value, key| span[key].as_str().unwrap().to_owned();
    let span = |span| Span {
        name: text(span, "name"),
        trace: text(span, "trace"),
        id: text(span, "id"),
        parent: text(span, "parent"),
    };
    Some(spans.iter().map(span).collect())
}

/// The spans of `ExportTraceServiceRequest`s behind one another, which protobuf reads as one.
fn spans(received: &[u8]) -> Vec<Span> {
    let of = |bytes, number| {
        let all = fields(bytes).into_iter();
        all.filter(move |(field, _)| *field == number)
            .map(|(_, value)| value)
    };
    let resources = of(received, 1);
    let scopes = resources.flat_map(|resource| of(resource, 2));
    let spans = scopes.flat_map(|scope| of(scope, 2));
    let bytes = |span, number| of(span, number).next().unwrap_or_default().to_vec();
    let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    spans
        .map(|span| Span {
            name: String::from_utf8(bytes(span, 5)).unwrap(),
            trace: hex(bytes(span, 1)),
            id: hex(bytes(span, 2)),
            parent: hex(bytes(span, 4)),
        })
        .collect()
}

#[tokio::test]
#[cfg_attr(not(feature = "otlp"), ignore = "needs the feature otlp")]
async fn a_run_is_one_trace_in_which_a_sub_agent_lies_in_the_turn_that_called_it() {
    let received = collected(Setup::default(), async |world| {
        let call = json!({"role": "explore", "prompt": "Look.", "title": "look at it"});
        world.model.calls_tool("sub_agent", call);
        world.model.answers("Looked.").answers("All well.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "All well.").await;
    })
    .await;
    let all = spans(&received.concat());
    if let Some(judged) = judged(&received) {
        assert_eq!(judged, all);
    }
    let named = |name: &str| {
        let found: Vec<&Span> = all.iter().filter(|span| span.name == name).collect();
        assert!(!found.is_empty(), "no {name} in {all:?}");
        found
    };
    let [root] = named("invoke_agent lab")[..] else {
        panic!("{all:?}");
    };
    let [child] = named("invoke_agent explore")[..] else {
        panic!("{all:?}");
    };
    assert_eq!(root.parent, "");
    assert_eq!((&child.trace, &child.parent), (&root.trace, &root.id));
    let asked = named("chat scripted-model");
    let of = |turn: &Span| asked.iter().filter(|one| one.parent == turn.id).count();
    assert_eq!((of(root), of(child)), (2, 1));
}

#[tokio::test]
#[cfg_attr(not(feature = "otlp"), ignore = "needs the feature otlp")]
async fn a_turn_arrives_with_the_names_for_generative_ai_and_no_words_of_people() {
    let setup = Setup {
        config: json!({ "default_permissions": "open" }),
        ..Setup::default()
    };
    let received = collected(setup, async |world| {
        world
            .model
            .calls_tool("bash", json!({ "command": "echo confidential" }))
            .answers("A private answer.");
        world.ann.says("#lab", "a private question").await;
        world.sees("#lab", "A private answer.").await;
    })
    .await;
    judged(&received);
    let received = received.concat();
    let text = String::from_utf8_lossy(&received);
    for name in [
        "chat scripted-model",
        "gen_ai.request.model",
        "gen_ai.usage.output_tokens",
        "invoke_agent lab",
        "gen_ai.agent.name",
        "execute_tool bash",
        "gen_ai.tool.name",
        "service.name",
    ] {
        assert!(text.contains(name), "no {name}");
    }
    for words in ["private", "confidential", "sk-scripted"] {
        assert!(!text.contains(words), "{words} was sent");
    }
}
