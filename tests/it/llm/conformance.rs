//! One table for all wire formats: what each answer of a provider becomes.

use std::sync::Arc;
use std::time::Duration;

use chorus::domain::{Assistant, Item, StopReason, Usage};
use chorus::llm::{Delta, FailureClass, LlmError, Reply, Request, ToolSchema};
use futures_util::StreamExt;
use futures_util::stream;
use proptest::prelude::*;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::history::{answered, result, said};
use super::wire::{FORMATS, Format, Play, Wire, events};

const PATIENT: Duration = Duration::from_secs(60);

pub(super) fn view_tool() -> ToolSchema {
    ToolSchema {
        name: "view".into(),
        description: "Shows a file.".into(),
        parameters: to_raw_value(&json!({
            "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
        }))
        .unwrap(),
    }
}

pub(super) fn request(model: &str, items: Vec<Item>) -> Request {
    Request {
        model: model.into(),
        system: vec!["You help.".into(), "# docs/a.md\nBe brief.".into()],
        items: Arc::new(items),
        tools: Arc::new(vec![view_tool()]),
        max_output_tokens: 1_000,
        web_search: false,
        sees_images: true,
        refused: Arc::default(),
        quirks: Default::default(),
        thinking: None,
    }
}

/// Asks once and collects the text that was shown on the way.
pub(super) async fn ask(format: Format, wire: &Wire) -> (Result<Reply, LlmError>, String) {
    let provider = format.provider(wire.base_url(), PATIENT);
    let body = provider
        .encode(&request("test-model", vec![said("Hello")]))
        .unwrap();
    let mut shown = String::new();
    let mut on_delta = |delta: Delta<'_>| {
        if let Delta::Text(text) = delta {
            shown.push_str(text);
        }
    };
    let answer = provider.stream(&body, &mut on_delta).await;
    (answer, shown)
}

async fn answer_of(format: Format, kind: &str) -> Reply {
    let wire = Wire::start(vec![events(&format.fixture(kind))]).await;
    ask(format, &wire)
        .await
        .0
        .unwrap_or_else(|error| panic!("{format:?} {kind}: {error:?}"))
}

#[tokio::test]
async fn text_arrives_whole_with_its_usage_and_id() {
    for format in FORMATS {
        let wire = Wire::start(vec![events(&format.fixture("text"))]).await;
        let (reply, shown) = ask(format, &wire).await;
        let reply = reply.unwrap_or_else(|error| panic!("{format:?}: {error:?}"));
        assert_eq!(reply.assistant.text, "Grüße, Welt 🌍", "{format:?}");
        assert_eq!(shown, reply.assistant.text, "{format:?}");
        assert_eq!(reply.stop, StopReason::EndTurn, "{format:?}");
        assert_eq!(reply.usage.output, 9, "{format:?}");
        assert_eq!(reply.usage.input_total(), 331, "{format:?}");
        assert_eq!(reply.usage.cache_read, 300, "{format:?}");
        assert_eq!(reply.assistant.usage, Some(reply.usage), "{format:?}");
        assert_eq!(reply.request_id.as_deref(), Some("req_7"), "{format:?}");
        assert_eq!(
            reply.assistant.model.as_deref(),
            Some("test-model"),
            "{format:?}"
        );
        assert!(
            reply.assistant.tool_calls.is_empty() && reply.truncated_calls.is_empty(),
            "{format:?}"
        );
    }
}

#[tokio::test]
async fn parallel_calls_arrive_in_order_with_ids_of_their_own() {
    for format in FORMATS {
        let reply = answer_of(format, "calls").await;
        assert_eq!(reply.assistant.text, "I look at both.", "{format:?}");
        assert_eq!(reply.stop, StopReason::ToolUse, "{format:?}");
        assert_eq!(reply.usage.output, 42, "{format:?}");
        let calls = &reply.assistant.tool_calls;
        let arguments: Vec<Value> = calls
            .iter()
            .map(|call| Value::Object(call.arguments.clone()))
            .collect();
        assert_eq!(
            arguments,
            [
                json!({"path": "a.txt"}),
                json!({"path": "ü.txt", "lines": [1, 2]})
            ],
            "{format:?}"
        );
        assert!(
            calls
                .iter()
                .all(|call| call.name == "view" && !call.id.0.is_empty()),
            "{format:?}"
        );
        assert_ne!(calls[0].id, calls[1].id, "{format:?}");
        assert!(
            reply
                .assistant
                .opaque
                .iter()
                .all(|block| block.format == format.name()),
            "{format:?}"
        );
        assert!(
            !reply.assistant.opaque.is_empty(),
            "{format:?} keeps what the model thought"
        );
    }
}

/// What the model thought goes back where it stood, and only to the model that thought it.
#[tokio::test]
async fn thinking_goes_back_to_its_own_model_alone() {
    let marks = [
        (Format::Anthropic, "c2lnbmVk"),
        (Format::OpenAiChat, "Both files."),
        (Format::OpenAiResponses, "Z2VoZWlt"),
        (Format::Gemini, "c2lnbmVk"),
    ];
    for (format, mark) in marks {
        let reply = answer_of(format, "calls").await;
        let ids: Vec<String> = reply
            .assistant
            .tool_calls
            .iter()
            .map(|call| call.id.0.clone())
            .collect();
        let items = vec![
            said("look"),
            Item::Assistant(reply.assistant),
            result(&ids[0], "1"),
            result(&ids[1], "2"),
        ];
        let body_for = |model: &str, to: Format| {
            let provider = to.provider("http://127.0.0.1:1".into(), PATIENT);
            let encoded = provider.encode(&request(model, items.clone())).unwrap();
            String::from_utf8(encoded.body.to_vec()).unwrap()
        };
        assert!(body_for("test-model", format).contains(mark), "{format:?}");
        assert!(
            !body_for("other-model", format).contains(mark),
            "{format:?} to another model"
        );
        for other in FORMATS.into_iter().filter(|other| *other != format) {
            assert!(
                !body_for("test-model", other).contains(mark),
                "{format:?} to {other:?}"
            );
        }
    }
}

#[tokio::test]
async fn thinking_stands_before_what_it_led_to() {
    let reply = answer_of(Format::Anthropic, "calls").await;
    let items = vec![
        said("look"),
        Item::Assistant(reply.assistant),
        result("toolu_1", "1"),
        result("toolu_2", "2"),
    ];
    let provider = Format::Anthropic.provider("http://127.0.0.1:1".into(), PATIENT);
    let body: Value =
        serde_json::from_slice(&provider.encode(&request("test-model", items)).unwrap().body)
            .unwrap();
    let kinds = |message: usize| -> Vec<&str> {
        let blocks = body["messages"][message]["content"].as_array().unwrap();
        blocks
            .iter()
            .map(|block| block["type"].as_str().unwrap())
            .collect()
    };
    assert_eq!(kinds(1), ["thinking", "text", "tool_use", "tool_use"]);
    assert_eq!(kinds(2), ["tool_result", "tool_result"]);
    assert_eq!(
        body["messages"][1]["content"][0],
        json!({"type": "thinking", "thinking": "Both files.", "signature": "c2lnbmVk"})
    );
}

#[tokio::test]
async fn a_call_at_the_length_limit_is_told_and_never_in_the_answer() {
    for format in FORMATS {
        let reply = answer_of(format, "cut_call").await;
        assert_eq!(reply.stop, StopReason::MaxTokens, "{format:?}");
        let names = |calls: &[chorus::domain::ToolCall]| {
            calls
                .iter()
                .map(|call| call.name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&reply.assistant.tool_calls), ["view"], "{format:?}");
        assert_eq!(reply.truncated_calls.len(), 1, "{format:?}");
        assert_eq!(reply.truncated_calls[0].name, "create_file", "{format:?}");
        assert!(
            reply.truncated_calls[0].why.contains("length limit"),
            "{format:?}"
        );
    }
}

#[tokio::test]
async fn searches_name_their_sources_and_go_back_whole() {
    for format in [Format::Anthropic, Format::OpenAiResponses, Format::Gemini] {
        let reply = answer_of(format, "search").await;
        let source = ("Rust".to_owned(), "https://www.rust-lang.org".to_owned());
        assert_eq!(reply.citations, [source], "{format:?}");
        assert!(reply.assistant.text.ends_with("It is 1.95."), "{format:?}");
    }
    let reply = answer_of(Format::Anthropic, "search").await;
    assert_eq!(reply.assistant.text, "I search. It is 1.95.");
    let items = vec![
        said("search"),
        Item::Assistant(reply.assistant),
        said("thanks"),
    ];
    let provider = Format::Anthropic.provider("http://127.0.0.1:1".into(), PATIENT);
    let body: Value =
        serde_json::from_slice(&provider.encode(&request("test-model", items)).unwrap().body)
            .unwrap();
    let blocks = body["messages"][1]["content"].as_array().unwrap();
    let kinds: Vec<&str> = blocks
        .iter()
        .map(|block| block["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["text", "server_tool_use", "web_search_tool_result", "text"]
    );
    assert_eq!(blocks[1]["input"], json!({"query": "rust"}));
    assert_eq!(blocks[2]["content"][0]["encrypted_content"], "ZW5j");
    assert_eq!(blocks[3]["citations"][0]["encrypted_index"], "aWR4");
}

#[tokio::test]
async fn an_error_inside_a_200_has_the_class_of_its_words() {
    let expected = [
        (Format::Anthropic, FailureClass::RateLimit),
        (Format::OpenAiChat, FailureClass::RateLimit),
        (Format::OpenAiResponses, FailureClass::RateLimit),
        (Format::Gemini, FailureClass::ServerError),
    ];
    for (format, class) in expected {
        let wire = Wire::start(vec![events(&format.fixture("error"))]).await;
        let error = ask(format, &wire).await.0.unwrap_err();
        assert_eq!(error.class, class, "{format:?}: {error}");
    }
}

#[tokio::test]
async fn what_an_answer_cost_before_it_failed_is_counted() {
    let wire = Wire::start(vec![events(&Format::Anthropic.fixture("error"))]).await;
    let error = ask(Format::Anthropic, &wire).await.0.unwrap_err();
    let counted = Usage {
        input: 11,
        output: 1,
        cache_read: 300,
        cache_write: 20,
    };
    assert_eq!(error.usage.as_deref(), Some(&counted));
    assert_eq!(error.request_id.as_deref(), Some("req_7"));
}

/// Chat Completions of servers that only resemble OpenAI's: one index for all, ids twice, arguments that are no text.
#[tokio::test]
async fn odd_calls_are_told_apart_and_nonsense_is_not_run() {
    let reply = answer_of(Format::OpenAiChat, "odd_calls").await;
    let calls = &reply.assistant.tool_calls;
    let arguments: Vec<Value> = calls
        .iter()
        .map(|call| Value::Object(call.arguments.clone()))
        .collect();
    assert_eq!(arguments, [json!({"path": "a"}), json!({"path": "b"})]);
    assert_ne!(calls[0].id, calls[1].id);
    assert_eq!(reply.truncated_calls.len(), 1);
    assert!(reply.truncated_calls[0].why.contains("not valid JSON"));
    assert_eq!(reply.stop, StopReason::ToolUse);
}

#[tokio::test]
async fn an_answer_cut_at_any_byte_is_whole_or_an_error() {
    for format in FORMATS {
        for kind in ["text", "calls"] {
            let whole = format.fixture(kind);
            let expected = answer_of(format, kind).await.assistant;
            let cuts = 0..whole.len();
            let scripts = cuts.clone().map(|cut| events(&whole[..cut])).collect();
            let wire = Wire::start(scripts).await;
            let wire = &wire;
            let answers = stream::iter(cuts)
                .map(|_| ask(format, wire))
                .buffer_unordered(8);
            let answers: Vec<_> = answers.collect().await;
            let mut failed = 0;
            for (answer, _) in answers {
                match answer {
                    Err(error) => {
                        failed += 1;
                        let class = error.class;
                        assert_eq!(
                            class,
                            FailureClass::InvalidResponse,
                            "{format:?} {kind}: {error}"
                        );
                    }
                    // The server had told why it ends; only the end mark is missing.
                    Ok(reply) => {
                        assert_eq!(reply.assistant.text, expected.text, "{format:?} {kind}");
                        let calls = |answer: &Assistant| {
                            let calls = answer.tool_calls.iter();
                            calls
                                .map(|call| (call.name.clone(), call.arguments.clone()))
                                .collect::<Vec<_>>()
                        };
                        assert_eq!(
                            calls(&reply.assistant),
                            calls(&expected),
                            "{format:?} {kind}"
                        );
                    }
                }
            }
            assert!(
                failed > whole.len() / 2,
                "{format:?} {kind}: {failed} of {}",
                whole.len()
            );
        }
    }
}

#[tokio::test]
async fn pieces_of_any_size_make_the_same_answer() {
    for format in FORMATS {
        let whole = format.fixture("calls");
        let expected = answer_of(format, "calls").await.assistant;
        for size in [1, 2, 3, 7, 64] {
            let mut script = events(b"");
            script.extend(whole.chunks(size).map(|piece| Play::Bytes(piece.to_vec())));
            let wire = Wire::start(vec![script]).await;
            let mut reply = ask(format, &wire).await.0.unwrap().assistant;
            // Gemini's calls have no ids, so ours differ.
            for (call, known) in reply.tool_calls.iter_mut().zip(&expected.tool_calls) {
                call.id = known.id.clone();
            }
            assert_eq!(reply, expected, "{format:?} in pieces of {size}");
        }
    }
}

#[tokio::test]
async fn dropping_the_request_ends_it_at_the_provider() {
    for format in FORMATS {
        let mut script = events(&format.fixture("text")[..40]);
        script.push(Play::Hold);
        let mut wire = Wire::start(vec![script]).await;
        let provider = format.provider(wire.base_url(), PATIENT);
        let body = provider
            .encode(&request("test-model", vec![said("Hello")]))
            .unwrap();
        let asking =
            tokio::spawn(
                async move { provider.stream(&body, &mut |_: Delta<'_>| {}).await.is_ok() },
            );
        wire.is_asked().await;
        asking.abort();
        wire.left
            .recv()
            .await
            .expect("the server sees the client leave");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever the bytes, there is an answer or an error, and never a panic.
    #[test]
    fn damaged_answers_never_panic(
        which in 0_usize..4,
        kind in prop::sample::select(vec!["text", "calls", "cut_call"]),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        mark in any::<bool>(),
    ) {
        let format = FORMATS[which];
        let mut bytes = format.fixture(kind);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if mark {
            bytes.splice(0..0, "\u{feff}".bytes());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let answer = runtime.block_on(async {
            let wire = Wire::start(vec![events(&bytes)]).await;
            ask(format, &wire).await.0
        });
        if let Err(error) = answer {
            prop_assert!(!error.message.is_empty());
        }
    }
}

#[tokio::test]
async fn a_byte_order_mark_is_not_part_of_the_answer() {
    let mut bytes = "\u{feff}".as_bytes().to_vec();
    bytes.extend(Format::Anthropic.fixture("text"));
    let wire = Wire::start(vec![events(&bytes)]).await;
    assert_eq!(
        ask(Format::Anthropic, &wire)
            .await
            .0
            .unwrap()
            .assistant
            .text,
        "Grüße, Welt 🌍"
    );
}

/// A server that counts nothing is estimated, so that a budget still ends.
#[tokio::test]
async fn usage_that_nobody_counted_is_estimated() {
    let body = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello there\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let wire = Wire::start(vec![events(body)]).await;
    let reply = ask(Format::OpenAiChat, &wire).await.0.unwrap();
    assert!(
        reply.usage.input > 50 && reply.usage.output > 0,
        "{:?}",
        reply.usage
    );
    assert_eq!(answered("Hello there").text(), reply.assistant.text);
}
