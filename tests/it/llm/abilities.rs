//! What servers of one's own say of their models, in the shapes that their projects publish.

use std::sync::Arc;
use std::time::Duration;

use axum::routing::get;
use axum::{Json, Router};
use chorus::llm::Provider;
use chorus::llm::listing::Abilities;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::wire::Format;

/// A server that has these pages and no other.
async fn server(pages: Vec<(&'static str, Value)>) -> Arc<dyn Provider> {
    let mut routes = Router::new();
    for (path, page) in pages {
        routes = routes.route(path, get(async move || Json(page)));
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    Format::OpenAiChat.provider(base_url, Duration::from_secs(60))
}

#[tokio::test]
async fn lm_studio_tells_windows_tools_and_pictures_in_a_list_of_its_own() {
    let listed = |id: &str| json!({"id": id, "object": "model", "owned_by": "organization_owner"});
    let provider = server(vec![
        (
            "/v1/models",
            json!({"object": "list", "data": [
                listed("qwen2-vl-7b-instruct"), listed("meta-llama-3.1-8b-instruct"), listed("text-embedding-nomic"),
            ]}),
        ),
        (
            "/api/v0/models",
            json!({"object": "list", "data": [
                {"id": "qwen2-vl-7b-instruct", "object": "model", "type": "vlm", "publisher": "mlx-community",
                 "arch": "qwen2_vl", "compatibility_type": "mlx", "quantization": "4bit", "state": "not-loaded",
                 "max_context_length": 32_768},
                {"id": "meta-llama-3.1-8b-instruct", "object": "model", "type": "llm", "publisher": "lmstudio-community",
                 "arch": "llama", "compatibility_type": "gguf", "quantization": "Q4_K_M", "state": "loaded",
                 "max_context_length": 131_072, "loaded_context_length": 4_096, "capabilities": ["tool_use"]},
                {"id": "text-embedding-nomic", "object": "model", "type": "embeddings", "state": "not-loaded",
                 "max_context_length": 2_048},
            ]}),
        ),
    ])
    .await;
    let listing = provider.list_models().await.unwrap();
    assert_eq!(
        listing.models,
        ["qwen2-vl-7b-instruct", "meta-llama-3.1-8b-instruct"]
    );
    let sees = &listing.abilities["qwen2-vl-7b-instruct"];
    assert_eq!((sees.window, sees.images), (Some(32_768), Some(true)));
    let calls = &listing.abilities["meta-llama-3.1-8b-instruct"];
    assert_eq!((calls.window, calls.tools), (Some(4_096), Some(true)));
    let loaded = provider.loaded_window("meta-llama-3.1-8b-instruct").await;
    assert_eq!(loaded, Some(4_096));
    let not_loaded = provider.loaded_window("qwen2-vl-7b-instruct").await;
    assert_eq!(not_loaded, None);
}

#[tokio::test]
async fn llama_cpp_tells_the_window_that_it_was_started_with() {
    let meta =
        json!({"vocab_type": 2, "n_vocab": 128_256, "n_ctx_train": 131_072, "n_embd": 4_096});
    let provider = server(vec![
        (
            "/v1/models",
            json!({"object": "list", "data": [
                {"id": "model.gguf", "object": "model", "created": 1_735_142_223, "owned_by": "llamacpp", "meta": meta},
            ]}),
        ),
        (
            "/props",
            json!({"default_generation_settings": {"n_ctx": 8_192}, "total_slots": 1, "model_path": "model.gguf",
                   "chat_template": "...", "modalities": {"vision": true, "audio": false}}),
        ),
    ])
    .await;
    let listing = provider.list_models().await.unwrap();
    let told = Abilities {
        window: Some(8_192),
        images: Some(true),
        ..Abilities::default()
    };
    assert_eq!(listing.abilities["model.gguf"], told);
    assert_eq!(provider.loaded_window("model.gguf").await, None);
}

#[tokio::test]
async fn vllm_tells_its_window_in_the_list() {
    let provider = server(vec![(
        "/v1/models",
        json!({"object": "list", "data": [
            {"id": "Qwen/Qwen3-8B", "object": "model", "created": 1_760_000_000, "owned_by": "vllm",
             "root": "Qwen/Qwen3-8B", "parent": null, "max_model_len": 40_960, "permission": []},
        ]}),
    )])
    .await;
    let listing = provider.list_models().await.unwrap();
    let told = Abilities {
        window: Some(40_960),
        ..Abilities::default()
    };
    assert_eq!(listing.abilities["Qwen/Qwen3-8B"], told);
    assert_eq!(provider.loaded_window("Qwen/Qwen3-8B").await, None);
}
