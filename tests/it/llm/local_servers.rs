//! Chat Completions of Ollama, llama.cpp, vLLM, OpenRouter, Mistral: what they do otherwise than OpenAI.

use std::time::Duration;

use chorus::domain::{Item, StopReason};
use chorus::llm::{Delta, Reply};
use serde_json::{Value, json};

use super::conformance::request;
use super::history::{result, said};
use super::wire::{Format, Wire, events};

fn stream(chunks: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in chunks {
        bytes.extend_from_slice(format!("data: {chunk}\n\n").as_bytes());
    }
    bytes.extend_from_slice(b"data: [DONE]\n\n");
    bytes
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn ends(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

async fn answer(chunks: &[Value]) -> Reply {
    let wire = Wire::start(vec![events(&stream(chunks))]).await;
    let provider = Format::OpenAiChat.provider(wire.base_url(), Duration::from_secs(60));
    let body = provider.encode(&request("m", vec![said("Hello")])).unwrap();
    provider
        .stream(&body, &mut |_: Delta<'_>| {})
        .await
        .unwrap()
}

fn calls(reply: &Reply) -> Vec<(String, Value)> {
    let calls = reply.assistant.tool_calls.iter();
    calls
        .map(|call| (call.name.clone(), Value::Object(call.arguments.clone())))
        .collect()
}

/// Old Ollama: whole calls, arguments as an object, no id, each at index 0, and it just "stops".
#[tokio::test]
async fn whole_calls_at_one_index_without_ids_are_several() {
    let call = |path: &str| json!({"index": 0, "id": "", "function": {"name": "view", "arguments": {"path": path}}});
    let reply = answer(&[
        delta(json!({"role": "assistant", "content": "", "tool_calls": [call("a")]})),
        delta(json!({"tool_calls": [call("b")]})),
        ends("stop"),
    ])
    .await;
    let view = |path: &str| ("view".to_owned(), json!({"path": path}));
    assert_eq!(calls(&reply), [view("a"), view("b")]);
    assert_eq!(reply.stop, StopReason::ToolUse);
    let ids: Vec<&str> = reply
        .assistant
        .tool_calls
        .iter()
        .map(|call| call.id.0.as_str())
        .collect();
    assert!(
        ids.iter().all(|id| !id.is_empty()) && ids[0] != ids[1],
        "{ids:?}"
    );
    assert!(reply.usage.input > 0, "what is not counted is estimated");
}

#[tokio::test]
async fn a_call_that_names_no_tool_is_told_and_not_run() {
    let call = json!({"index": 0, "id": "a", "function": {"arguments": "{}"}});
    let reply = answer(&[delta(json!({"tool_calls": [call]})), ends("tool_calls")]).await;
    assert!(reply.assistant.tool_calls.is_empty());
    assert!(
        reply.truncated_calls[0]
            .why
            .contains("without a tool's name")
    );
}

/// Servers that repeat the name with every piece of the arguments.
#[tokio::test]
async fn a_name_in_every_piece_is_one_call() {
    let piece = |text: &str| {
        delta(
            json!({"tool_calls": [{"index": 0, "function": {"name": "view", "arguments": text}}]}),
        )
    };
    let reply = answer(&[
        piece("{\"pa"),
        piece("th\": "),
        piece("\"ü\"}"),
        ends("tool_calls"),
    ])
    .await;
    assert_eq!(calls(&reply), [("view".to_owned(), json!({"path": "ü"}))]);
}

/// A gateway in between: nulls for lists, counts that are none, roles and fields nobody knows.
#[tokio::test]
async fn what_is_null_or_odd_and_does_no_harm_does_none() {
    for usage in [
        json!({"prompt_tokens": -1, "completion_tokens": -7}),
        json!({"prompt_tokens": null, "completion_tokens": "many"}),
        json!({"prompt_tokens": 1e300, "completion_tokens": 3.0}),
        json!("none"),
        json!(null),
    ] {
        let reply = answer(&[
            json!({"choices": null, "usage": null, "x": {"y": []}}),
            delta(json!({"role": null, "content": null, "tool_calls": null, "audio": null})),
            delta(json!({"content": "Hello"})),
            json!({"choices": [{"delta": null, "finish_reason": "stop", "logprobs": null}]}),
            json!({"choices": [], "usage": usage}),
        ])
        .await;
        assert_eq!(reply.assistant.text, "Hello");
        assert!(
            reply.usage.input_total() <= 1 << 41,
            "{usage}: {:?}",
            reply.usage
        );
    }
}

/// Mistral sends thinking and text as a list of parts.
#[tokio::test]
async fn content_in_parts_is_its_text() {
    let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]});
    let reply = answer(&[
        delta(json!({"content": [thinking, {"type": "text", "text": "Hel"}]})),
        delta(json!({"content": "lo"})),
        ends("stop"),
    ])
    .await;
    assert_eq!(reply.assistant.text, "Hello");
}

/// llama.cpp, vLLM and DeepSeek: `reasoning_content`, or `reasoning`, before an answer.
#[tokio::test]
async fn what_a_model_thinks_is_not_its_answer() {
    for key in ["reasoning_content", "reasoning"] {
        let reply = answer(&[
            delta(json!({key: "Let me see."})),
            delta(json!({"content": "Hello"})),
            ends("stop"),
        ])
        .await;
        assert_eq!(reply.assistant.text, "Hello", "{key}");
    }
}

/// OpenRouter: blocks of thinking, streamed in pieces, go back with the calls they led to.
#[tokio::test]
async fn reasoning_details_go_back_as_they_came() {
    let block = |more: Value| delta(json!({"reasoning_details": [more]}));
    let call = json!({"index": 0, "id": "a", "function": {"name": "view", "arguments": "{}"}});
    let reply = answer(&[
        block(json!({"type": "reasoning.text", "text": "Both ", "index": 0, "format": "anthropic-claude-v1"})),
        block(json!({"type": "reasoning.text", "text": "files.", "index": 0})),
        block(json!({"type": "reasoning.text", "signature": "c2lnbmVk", "index": 0})),
        block(json!({"type": "reasoning.encrypted", "data": "Z2VoZWlt", "index": 1, "id": "r1"})),
        delta(json!({"tool_calls": [call]})),
        ends("tool_calls"),
    ])
    .await;
    let items = vec![
        said("look"),
        Item::Assistant(reply.assistant),
        result("a", "1"),
    ];
    let provider = Format::OpenAiChat.provider("http://127.0.0.1:1".into(), Duration::from_secs(1));
    let encoded = provider.encode(&request("m", items)).unwrap();
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    assert_eq!(
        body["messages"][2]["reasoning_details"],
        json!([
            {"type": "reasoning.text", "text": "Both files.", "index": 0, "format": "anthropic-claude-v1", "signature": "c2lnbmVk"},
            {"type": "reasoning.encrypted", "data": "Z2VoZWlt", "index": 1, "id": "r1"},
        ])
    );
}
