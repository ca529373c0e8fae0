//! Answers that are well-formed and made to cost: each is read in the time that its bytes take, and kept within bounds.

use serde_json::{Value, json};

use super::conformance::ask;
use super::wire::{Format, Wire, events};

/// Bytes of one hostile answer; 32 MiB are read at most.
const BYTES: usize = 6 << 20;

/// The most sources that an answer may bring.
const SOURCES: usize = 256;

fn stream(events: impl IntoIterator<Item = Value>) -> Vec<u8> {
    let lines = events.into_iter().map(|event| format!("data: {event}\n\n"));
    lines.collect::<String>().into_bytes()
}

fn source(number: usize) -> Value {
    json!({"type": "url_citation", "url": format!("https://a.example/{number:09}"), "title": "x"})
}

/// As many of what `of` makes as fit into the bytes.
fn many(of: impl Fn(usize) -> Value) -> Vec<Value> {
    let count = BYTES / of(0).to_string().len();
    (0..count).map(of).collect()
}

fn answers_of_sources() -> [(Format, Vec<u8>); 4] {
    let gemini = json!({"candidates": [{
        "content": {"parts": [{"text": "Done."}]}, "finishReason": "STOP",
        "groundingMetadata": {"groundingChunks": many(|number| json!({"web": {"uri": format!("https://a.example/{number:09}"), "title": "x"}}))},
    }]});
    let chat = json!({"choices": [{
        "delta": {"content": "Done.", "annotations": many(|number| json!({"url_citation": source(number)}))},
        "finish_reason": "stop",
    }]});
    let responses = json!({"type": "response.completed", "response": {"output": [
        {"type": "message", "content": [{"type": "output_text", "text": "Done.", "annotations": many(source)}]},
    ]}});
    let cited = many(|number| {
        let citation = json!({"type": "web_search_result_location", "url": format!("https://a.example/{number:09}"), "title": "x"});
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": citation}})
    });
    let messages = [
        json!({"type": "message_start", "message": {}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Done."}}),
    ];
    let end = [
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        json!({"type": "message_stop"}),
    ];
    let chat = [stream([chat]), b"data: [DONE]\n\n".to_vec()].concat();
    [
        (Format::Gemini, stream([gemini])),
        (Format::OpenAiChat, chat),
        (Format::OpenAiResponses, stream([responses])),
        (
            Format::Anthropic,
            stream(messages.into_iter().chain(cited).chain(end)),
        ),
    ]
}

#[tokio::test]
async fn an_answer_of_nothing_but_sources_keeps_few() {
    for (format, answer) in answers_of_sources() {
        let wire = Wire::start(vec![events(&answer)]).await;
        let reply = ask(format, &wire).await.0.unwrap();
        assert_eq!(reply.assistant.text, "Done.", "{format:?}");
        assert_eq!(reply.citations.len(), SOURCES, "{format:?}");
    }
}

/// One call in a hundred thousand pieces, each of which names it again and may be its end.
#[tokio::test]
async fn a_call_in_pieces_that_could_each_be_its_end_is_read_once() {
    let piece = |arguments: &str| {
        json!({"choices": [{"delta": {"tool_calls": [
            {"index": 0, "function": {"name": "view", "arguments": arguments}},
        ]}}]})
    };
    let mut pieces = vec![piece("{\"path\": \"")];
    pieces.extend((0..60_000).map(|_| piece("aaaaaaa}")));
    pieces.push(piece("\"}"));
    pieces.push(piece("{\"path\": \"b\"}"));
    pieces.push(json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}));
    let answer = [stream(pieces), b"data: [DONE]\n\n".to_vec()].concat();
    let wire = Wire::start(vec![events(&answer)]).await;
    let reply = ask(Format::OpenAiChat, &wire).await.0.unwrap();
    let paths: Vec<usize> = reply
        .assistant
        .tool_calls
        .iter()
        .map(|call| call.arguments["path"].as_str().unwrap().len())
        .collect();
    // A further name behind whole arguments is a further call.
    assert_eq!(paths, [60_000 * 8, 1]);
}
