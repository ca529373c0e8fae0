//! Which models there are, and what a name means.

use std::sync::Arc;
use std::time::Duration;

use chorus::llm::discovery::{Available, Models, Resolved, load, save};
use chorus::llm::listing::{chat_models, is_chat_model, without_dated_twins};
use chorus::llm::{Catalog, Providers, Target};
use serde_json::json;

use super::wire::{FORMATS, Format, Wire, answer};
use crate::world::model::MODEL;
use crate::world::{World, run_test};

const PATIENT: Duration = Duration::from_secs(60);

fn listing(ids: &[&str]) -> String {
    let data: Vec<_> = ids.iter().map(|id| json!({"id": id})).collect();
    json!({"data": data, "models": ids.iter().map(|id| json!({"name": format!("models/{id}")})).collect::<Vec<_>>()}).to_string()
}

fn models(wires: &[(Format, &Wire)]) -> Models {
    let providers = Providers::default();
    for (format, wire) in wires {
        providers.add(format.provider(wire.base_url(), PATIENT));
    }
    Models::new(Arc::new(providers), Arc::new(Catalog::default()), None)
}

fn found(provider: &str, model: &str) -> Resolved {
    Resolved::Found(Target::new(provider, model))
}

#[test]
fn of_what_openai_lists_only_what_chats_is_kept() {
    for id in [
        "gpt-4o",
        "gpt-5",
        "o4-mini",
        "o3-deep-research",
        "o1-2024-12-17",
        "o3",
        "chatgpt-4o-latest",
    ] {
        assert!(is_chat_model(id), "{id}");
    }
    let others = [
        "gpt-4o-realtime-preview",
        "gpt-4o-transcribe",
        "gpt-4o-search-preview",
        "chatgpt-image-latest",
        "dall-e-3",
        "whisper-1",
        "gpt-audio",
        "gpt-5-search-api",
        "gpt-realtime",
        "o300",
        "babbage-002",
    ];
    for id in others {
        assert!(!is_chat_model(id), "{id}");
    }
    let listed = ["gpt-4o-2024-08-06", "whisper-1", "gpt-4o", "o1-2024-12-17"]
        .map(String::from)
        .to_vec();
    assert_eq!(chat_models(listed), ["gpt-4o", "o1-2024-12-17"]);
}

#[test]
fn a_dated_twin_of_a_listed_model_is_left_out() {
    let table: [(&[&str], &[&str]); 6] = [
        (
            &["gpt-4o", "gpt-4o-2024-08-06", "gpt-4o-2024-11-20"],
            &["gpt-4o"],
        ),
        (&["o1-2024-12-17"], &["o1-2024-12-17"]),
        (
            &[
                "gpt-4o",
                "gpt-4o-2024-08-06",
                "gpt-4o-mini",
                "o1-2024-12-17",
            ],
            &["gpt-4o", "gpt-4o-mini", "o1-2024-12-17"],
        ),
        (&[], &[]),
        (
            &["gpt-5", "gpt-5-0613", "gpt-5-2025-08-07"],
            &["gpt-5", "gpt-5-0613"],
        ),
        (
            &["a-2024-01-01", "a-2024-01-01-x", "a"],
            &["a-2024-01-01-x", "a"],
        ),
    ];
    for (ids, expected) in table {
        let ids = ids.iter().map(|id| (*id).to_owned()).collect();
        assert_eq!(without_dated_twins(ids), expected);
    }
}

#[tokio::test]
async fn every_provider_lists_in_its_own_way_and_a_failure_is_told() {
    let ids = listing(&["gemini-b", "gemini-a"]);
    let json = "content-type: application/json\r\n";
    let good = Wire::start(vec![answer(200, json, &ids)]).await;
    let bad = Wire::start(vec![answer(
        401,
        json,
        "{\"error\":{\"message\":\"bad key\"}}",
    )])
    .await;
    let models = models(&[
        (Format::Anthropic, &good),
        (Format::Gemini, &good),
        (Format::OpenAiChat, &bad),
    ]);
    let available = models.discover().await;
    assert_eq!(
        available.providers["anthropic"].models,
        ["gemini-b", "gemini-a"]
    );
    assert_eq!(
        available.providers["gemini"].models,
        ["gemini-b", "gemini-a"]
    );
    let failed = &available.providers["openai_chat"];
    assert!(!failed.valid && failed.models.is_empty());
    assert_eq!(failed.error.as_deref(), Some("HTTP 401: bad key"));
    assert_eq!(models.all().len(), 4);
    let heads: Vec<String> = good
        .requests()
        .into_iter()
        .map(|asked| asked.head)
        .collect();
    assert!(heads.iter().any(
        |head| head.starts_with("GET /v1/models?") && head.contains("x-api-key: sk-secret-key")
    ));
    assert!(
        heads
            .iter()
            .any(|head| head.contains("x-goog-api-key: sk-secret-key"))
    );
    assert!(
        bad.requests()[0]
            .head
            .contains("authorization: Bearer sk-secret-key")
    );
}

/// Whatever a server lists instead of models, it is told, and its models pass by any name.
#[tokio::test]
async fn what_is_no_list_is_told() {
    let json = "content-type: application/json\r\n";
    let table = [
        (200, json, "{}", "not a list of models"),
        (
            200,
            json,
            r#"{"data":7,"models":"many"}"#,
            "not a list of models",
        ),
        (200, json, "\"models\"", "not a list of models"),
        (200, json, r#"{"data":[{"id":"a"#, "not JSON"),
        (
            200,
            "content-type: text/html\r\n",
            "<title>log in</title>",
            "not JSON",
        ),
        (200, "", "", "not JSON"),
        (204, "", "", "204"),
        (
            307,
            "location: http://127.0.0.1:1/\r\n",
            "",
            "leads elsewhere",
        ),
        (403, "", "<html>", "403"),
        (500, json, r#"{"error":"down"}"#, "down"),
    ];
    for (status, head, body, told) in table {
        let wire = Wire::start(vec![answer(status, head, body)]).await;
        for format in FORMATS {
            let models = models(&[(format, &wire)]);
            let available = models.discover().await;
            let listed = &available.providers[format.name()];
            let error = listed.error.as_deref().unwrap_or_default();
            assert!(
                !listed.valid && error.contains(told),
                "{format:?} {body}: {error}"
            );
            let any = models.resolve(&format!("{}/any", format.name()));
            assert!(matches!(any, Resolved::Unlisted(_)), "{format:?}: {any:?}");
        }
    }
}

/// Lists without models, without their frame, and with entries that are none.
#[tokio::test]
async fn odd_lists_are_lists() {
    let table = [
        (r#"{"data":null,"models":null}"#, 0),
        (r#"{"data":[],"models":[]}"#, 0),
        (r#"[{"id":"gemini-a","name":"gemini-a"}]"#, 1),
        (
            r#"{"data":[null,7,{},{"id":7},{"id":"gemini-a"}],"models":[null,{},{"name":"gemini-a"}]}"#,
            1,
        ),
    ];
    for (body, count) in table {
        let json = "content-type: application/json\r\n";
        let wire = Wire::start(vec![answer(200, json, body)]).await;
        for format in FORMATS {
            let models = models(&[(format, &wire)]);
            let available = models.discover().await;
            let listed = &available.providers[format.name()];
            assert!(listed.valid, "{format:?} {body}: {listed:?}");
            assert_eq!(listed.models.len(), count, "{format:?} {body}");
        }
    }
}

#[tokio::test]
async fn a_name_means_a_model_by_id_part_or_shortcut() {
    let ids = [
        "claude-opus-4-20250514",
        "claude-sonnet-4-20250514",
        "gpt-4o",
        "gpt-4o-mini",
        "claude-haiku-4-5-20251001",
        "haiku-like",
    ];
    let wire = Wire::start(vec![answer(200, "", &listing(&ids))]).await;
    let models = models(&[(Format::Anthropic, &wire)]);
    models.discover().await;
    let table = [
        ("opus", "claude-opus-4-20250514"),
        ("OPUS", "claude-opus-4-20250514"),
        ("sonnet", "claude-sonnet-4-20250514"),
        ("gpt-4o", "gpt-4o"),
        ("gpt", "gpt-4o"),
        ("4o-mini", "gpt-4o-mini"),
        ("haiku", "claude-haiku-4-5-20251001"),
        (" claude-opus-4-20250514 ", "claude-opus-4-20250514"),
        ("anthropic/gpt-4o", "gpt-4o"),
    ];
    for (name, model) in table {
        assert_eq!(models.resolve(name), found("anthropic", model), "{name:?}");
    }
    assert_eq!(models.resolve(""), Resolved::NotFound { near: Vec::new() });
    assert_eq!(
        models.resolve("zzz"),
        Resolved::NotFound { near: Vec::new() }
    );
    let near = Resolved::NotFound {
        near: vec![
            "claude-opus-4-20250514".into(),
            "claude-sonnet-4-20250514".into(),
            "claude-haiku-4-5-20251001".into(),
        ],
    };
    assert_eq!(models.resolve("claude-opsu-4"), near);
}

#[tokio::test]
async fn before_the_first_discovery_the_provider_is_asked_at_once() {
    let wire = Wire::start(vec![answer(200, "", &listing(&["claude-x"]))]).await;
    let models = models(&[(Format::Anthropic, &wire)]);
    assert_eq!(
        models.resolve("claude-x"),
        Resolved::Undiscovered(Target::new("anthropic", "claude-x"))
    );
    assert!(wire.requests().is_empty());
    assert_eq!(
        models.resolve_asking("claude-x").await.unwrap(),
        found("anthropic", "claude-x")
    );
    assert_eq!(
        models.resolve_asking("claude-y").await.unwrap(),
        Resolved::NotFound {
            near: vec!["claude-x".into()]
        }
    );
    assert_eq!(wire.requests().len(), 1, "asked once");
}

#[tokio::test]
async fn a_provider_that_cannot_list_lets_any_name_pass() {
    let wire = Wire::start(vec![answer(404, "", "{}")]).await;
    let models = models(&[(Format::OpenAiChat, &wire)]);
    models.discover().await;
    assert_eq!(
        models.resolve("llama3.2"),
        Resolved::Unlisted(Target::new("openai_chat", "llama3.2"))
    );
}

#[test]
fn without_a_provider_that_is_said() {
    let nobody = Models::new(Arc::default(), Arc::default(), None);
    assert_eq!(nobody.resolve("claude-sonnet-4-6"), Resolved::NoProvider);
    assert_eq!(nobody.all(), []);
}

#[test]
fn the_file_is_written_whole_and_read_with_doubt() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("available_models.json");
    assert_eq!(load(&path), None);
    let text = r#"{"last_updated": "2026-01-02T03:04:05.123456+00:00", "providers": {"anthropic": {"valid": true, "models": ["a"]}, "openai": {"valid": false, "models": []}}}"#;
    let of_the_original: Available = serde_json::from_str(text).unwrap();
    save(&path, &of_the_original).unwrap();
    assert_eq!(load(&path), Some(of_the_original));
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(written.contains("\n  \"providers\": {\n") && !written.contains("error"));
    for broken in [
        &written[..written.len() / 2],
        "",
        "[]",
        "{\"providers\": 1}",
        "null",
    ] {
        std::fs::write(&path, broken).unwrap();
        assert_eq!(load(&path), None, "{broken:?}");
    }
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert_eq!(load(&path), None);
    assert!(
        save(
            &home.path().join("missing").join("file"),
            &serde_json::from_str(text).unwrap()
        )
        .is_err()
    );
}

/// The models that the file remembers of the world's provider.
fn remembered(world: &World) -> Vec<String> {
    let known = load(&world.home().join("available_models.json")).unwrap();
    known.providers["anthropic"].models.clone()
}

/// What was listed before stays, and people are told that it is from before; a key that is refused is another matter.
#[tokio::test]
async fn a_provider_that_is_down_keeps_its_list() {
    run_test(async |world| {
        world.waits_for_reply("/models", MODEL).await;
        world.model.cannot_list(503);
        world.restarts().await;
        let listed = world.waits_for_reply("/models", "refresh failed").await;
        assert!(
            listed.contains("HTTP 503: not now") && listed.contains(MODEL),
            "{listed}"
        );
        assert_eq!(remembered(world), [MODEL]);
        for command in ["/settings show", "/settings validate-keys"] {
            let shown = world.ann.asks(command, "#lab").await;
            let expected = "could not be reached — HTTP 503: not now; it had 1 model before";
            assert!(shown.contains(expected), "{shown}");
        }
        assert_eq!(remembered(world), [MODEL]);

        world.model.cannot_list(401);
        let checked = world.ann.asks("/settings validate-keys", "#lab").await;
        assert!(checked.contains("invalid"), "{checked}");
        assert_eq!(remembered(world), Vec::<String>::new());

        world.model.lists(&[MODEL]);
        let checked = world.ann.asks("/settings validate-keys", "#lab").await;
        assert!(checked.contains("valid (1 model)"), "{checked}");
        let listed = world.ann.asks("/models", "#lab").await;
        assert!(!listed.contains("refresh failed"), "{listed}");
    })
    .await;
}
