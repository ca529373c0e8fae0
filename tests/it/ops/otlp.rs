//! Spans at an OpenTelemetry collector: `cargo nextest run --features otlp ops::otlp`.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use serde_json::json;
use tokio::net::TcpListener;

use super::program;
use crate::world::{Setup, run_test_with};

#[tokio::test]
async fn a_turn_arrives_with_the_names_for_generative_ai_and_no_words_of_people() {
    let received = Arc::<Mutex<Vec<u8>>>::default();
    let store = Arc::clone(&received);
    let collector = Router::new().route(
        "/v1/traces",
        post(async move |body: Bytes| store.lock().unwrap().extend_from_slice(&body)),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, collector).into_future());

    let setup = Setup {
        config: json!({ "default_permissions": "open" }),
        ..program(vec![("OTEL_EXPORTER_OTLP_ENDPOINT", address)])
    };
    run_test_with(setup, async |world| {
        world
            .model
            .calls_tool("bash", json!({ "command": "echo confidential" }))
            .answers("A private answer.");
        world.ann.says("#lab", "a private question").await;
        world.sees("#lab", "A private answer.").await;
    })
    .await;
    // The daemon has ended, and sent what was left before.
    let received = received.lock().unwrap();
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
