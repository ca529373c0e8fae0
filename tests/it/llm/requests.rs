//! What we send: valid by the providers' published schemas, whole, and the same bytes where nothing changed.

use std::time::Duration;

use chorus::config::Effort;
use chorus::domain::{Attachment, Author, Image, Item, ToolResult, UserId, UserText};
use chorus::llm::history::{is_valid, repair};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::conformance::request;
use super::history::{answered, called, item, result, said};
use super::wire::{FORMATS, Format};
use crate::published::Published;

fn picture() -> Image {
    Image {
        media_type: "image/png".into(),
        data: "iVBORw0KGgo=".into(),
    }
}

/// A conversation with everything that can be in one.
fn rich() -> Vec<Item> {
    let person = Item::User(UserText {
        text: "Look at this".into(),
        author: Some(Author {
            id: UserId(1),
            name: "Ann".into(),
        }),
        attachments: vec![Attachment {
            name: "a.png".into(),
            size: 12,
            content_type: None,
            url: String::new(),
            saved_as: Some("uploads/a.png".into()),
        }],
        images: vec![picture()],
        facts: Some("it is noon".into()),
        ..UserText::default()
    });
    let seen = Item::ToolResult(ToolResult {
        call_id: chorus::domain::CallId("b".into()),
        name: "view".into(),
        content: "a picture".into(),
        is_error: true,
        images: vec![picture()],
    });
    vec![
        person,
        called(&["a", "b"]),
        result("a", ""),
        seen,
        Item::User(UserText::note("hurry")),
        answered("Done. "),
        said("more"),
        answered("And again"),
        said("last"),
    ]
}

fn body(format: Format, items: Vec<Item>, change: impl Fn(&mut chorus::llm::Request)) -> Value {
    let provider = format.provider("https://api.openai.com/v1".into(), Duration::from_secs(1));
    let mut request = request("gpt-5", items);
    change(&mut request);
    serde_json::from_slice(&provider.encode(&request).unwrap().body).unwrap()
}

/// Google publishes no JSON Schema of Gemini.
fn published(format: Format) -> Option<Published> {
    match format {
        Format::Anthropic => Some(Published::AnthropicMessages),
        Format::OpenAiChat => Some(Published::OpenAiChat),
        Format::OpenAiResponses => Some(Published::OpenAiResponses),
        Format::Gemini => None,
    }
}

fn assert_valid(format: Format, body: &Value) {
    let errors = published(format).map_or(Vec::new(), |schema| schema.broken(body));
    assert!(errors.is_empty(), "{format:?}: {errors:#?}\n{body:#}");
}

#[test]
fn every_request_is_valid_by_the_published_schema() {
    for format in FORMATS {
        assert_valid(format, &body(format, rich(), |_| {}));
        assert_valid(
            format,
            &body(format, rich(), |request| request.tools = Default::default()),
        );
        assert_valid(
            format,
            &body(format, rich(), |request| request.sees_images = false),
        );
        assert_valid(
            format,
            &body(format, rich(), |request| request.web_search = true),
        );
        assert_valid(
            format,
            &body(format, rich(), |request| request.system.clear()),
        );
        assert_valid(format, &body(format, vec![said("only this")], |_| {}));
        for effort in [Effort::Low, Effort::Medium, Effort::High] {
            assert_valid(
                format,
                &body(format, rich(), |request| request.thinking = Some(effort)),
            );
        }
    }
}

/// What the operator sets for a model is said in the words of each format, and to each generation of Claude in its own.
#[test]
fn how_long_a_model_thinks_is_said_as_its_provider_takes_it() {
    let told = |format, model: &'static str, max_output, items: Vec<Item>| {
        body(format, items, move |request| {
            request.model = model.into();
            request.max_output_tokens = max_output;
            request.thinking = Some(Effort::Medium);
        })
    };
    let plain = || vec![said("hi")];
    let old = told(
        Format::Anthropic,
        "claude-sonnet-4-5-20250929",
        16_000,
        plain(),
    );
    assert_eq!(
        old["thinking"],
        json!({"type": "enabled", "budget_tokens": 8_000})
    );
    let small = told(Format::Anthropic, "claude-sonnet-4-5", 1_000, plain());
    assert_eq!(small.get("thinking"), None, "no room to think");
    let new = told(Format::Anthropic, "claude-opus-4-6", 1_000, plain());
    assert_eq!(new["thinking"], json!({"type": "adaptive"}));
    assert_eq!(new["output_config"], json!({"effort": "medium"}));
    let chat = told(Format::OpenAiChat, "gpt-5", 1_000, plain());
    assert_eq!(chat["reasoning_effort"], "medium");
    let responses = told(Format::OpenAiResponses, "gpt-5", 1_000, plain());
    assert_eq!(responses["reasoning"], json!({"effort": "medium"}));
    let gemini = told(Format::Gemini, "gemini-2.5-flash", 16_000, plain());
    assert_eq!(
        gemini["generationConfig"]["thinkingConfig"],
        json!({"thinkingBudget": 8_192})
    );
    let gemini = told(Format::Gemini, "gemini-3-pro", 16_000, plain());
    assert_eq!(
        gemini["generationConfig"]["thinkingConfig"],
        json!({"thinkingLevel": "high"})
    );
    for format in FORMATS {
        let unset = body(format, plain(), |_| {}).to_string();
        assert!(
            !unset.contains("thinking") && !unset.contains("effort"),
            "{format:?}"
        );
    }
}

/// Claude refuses to begin to think between a call and its result.
#[test]
fn a_step_that_began_without_thinking_ends_without_it() {
    let body = |items: Vec<Item>| {
        body(Format::Anthropic, items, |request| {
            request.model = "claude-sonnet-4-5".into();
            request.max_output_tokens = 16_000;
            request.thinking = Some(Effort::Low);
        })
    };
    let middle = vec![said("look"), called(&["a"]), result("a", "found")];
    assert_eq!(body(middle.clone()).get("thinking"), None);
    let next = [middle, vec![answered("There."), said("and now?")]].concat();
    assert_eq!(body(next)["thinking"]["type"], "enabled");
}

/// Templates of some local models take user and assistant only in turns.
#[test]
fn for_chat_completions_neighbours_become_one_message() {
    let items = vec![
        said("first"),
        Item::User(UserText::note("hurry")),
        answered("Done."),
        said("last"),
    ];
    let body = body(Format::OpenAiChat, items, |_| {});
    let roles: Vec<&str> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    let both = body["messages"][1]["content"].as_str().unwrap();
    assert!(
        both.starts_with("first") && both.contains("hurry"),
        "{both}"
    );
}

#[test]
fn the_schemas_are_strict_enough_to_refuse_nonsense() {
    for format in FORMATS {
        let Some(published) = published(format) else {
            continue;
        };
        for (key, value) in [("model", Value::Null), ("unknown", json!(1))] {
            let mut body = body(format, rich(), |_| {});
            if value.is_null() {
                body.as_object_mut().unwrap().insert(key.into(), json!([1]))
            } else {
                body.as_object_mut().unwrap().insert(key.into(), value)
            };
            assert!(
                !published.schema().is_valid(&body),
                "{format:?} takes {key}"
            );
        }
    }
}

#[test]
fn nothing_that_was_said_is_left_out() {
    for format in FORMATS {
        let text = body(format, rich(), |_| {}).to_string();
        let whole = [
            "Ann: Look at this",
            "uploads/a.png",
            "it is noon",
            "iVBORw0KGgo=",
            "[note] hurry",
            "a picture",
            "last",
            "You help.",
        ];
        for words in whole {
            assert!(text.contains(words), "{format:?} leaves out {words:?}");
        }
        let blind = body(format, rich(), |request| request.sees_images = false).to_string();
        assert!(
            !blind.contains("iVBORw0KGgo=") && blind.contains("cannot see"),
            "{format:?}"
        );
    }
}

#[test]
fn an_empty_conversation_is_refused_before_it_is_sent() {
    for format in FORMATS {
        let provider = format.provider("http://127.0.0.1:1".into(), Duration::from_secs(1));
        let error = provider.encode(&request("m", Vec::new())).unwrap_err();
        assert_eq!(
            error.class,
            chorus::llm::FailureClass::InvalidRequest,
            "{format:?}"
        );
    }
}

/// Where caches are read: what stands before the new messages is the same bytes in every request.
#[test]
fn a_longer_conversation_begins_with_the_same_bytes() {
    for format in FORMATS {
        let parts = |items: Vec<Item>| {
            let mut body = body(format, items, |_| {});
            let key = ["messages", "input", "contents"]
                .into_iter()
                .find(|key| body.get(key).is_some())
                .unwrap();
            let mut messages = body[key].take().as_array().unwrap().clone();
            // Breakpoints move with the tail; they are no part of what is cached.
            for message in &mut messages {
                for block in message
                    .get_mut("content")
                    .and_then(Value::as_array_mut)
                    .into_iter()
                    .flatten()
                {
                    block.as_object_mut().unwrap().shift_remove("cache_control");
                }
            }
            (body, messages)
        };
        let (short_head, short) = parts(rich());
        let (long_head, long) = parts([rich(), vec![answered("yes"), said("go on")]].concat());
        assert_eq!(short_head, long_head, "{format:?}");
        assert_eq!(short[..], long[..short.len()], "{format:?}");
    }
}

#[test]
fn anthropic_caches_system_tools_and_tail() {
    let body = body(Format::Anthropic, rich(), |_| {});
    let mark = json!({"type": "ephemeral"});
    assert_eq!(body["system"][0].get("cache_control"), None);
    assert_eq!(body["system"][1]["cache_control"], mark);
    assert_eq!(body["tools"][0]["cache_control"], mark);
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(
        messages.last().unwrap()["content"][0]["cache_control"],
        mark
    );
    assert_eq!(body.to_string().matches("cache_control").count(), 4);
}

/// Anthropic refuses calls in the conversation of a request without tools.
#[test]
fn without_tools_anthropic_is_told_of_calls_as_text() {
    let body = body(Format::Anthropic, rich(), |request| {
        request.tools = Default::default()
    });
    let text = body.to_string();
    assert!(
        !text.contains("tool_use") && !text.contains("tool_result") && !text.contains("\"tools\"")
    );
    assert!(text.contains("[called view with {}]") && text.contains("[view gave: a picture]"));
}

#[test]
fn the_output_limit_goes_by_the_name_that_the_server_knows() {
    let named = |url: &str, model: &str| {
        let provider = Format::OpenAiChat.provider(url.into(), Duration::from_secs(1));
        let body: Value = serde_json::from_slice(
            &provider
                .encode(&request(model, vec![said("hi")]))
                .unwrap()
                .body,
        )
        .unwrap();
        (
            body["max_tokens"].as_u64(),
            body["max_completion_tokens"].as_u64(),
        )
    };
    assert_eq!(
        named("https://api.openai.com/v1", "gpt-4o"),
        (None, Some(1_000))
    );
    assert_eq!(
        named("http://127.0.0.1:11434/v1", "llama3.2"),
        (Some(1_000), None)
    );
    assert_eq!(
        named("http://127.0.0.1:4000/v1", "openai/o4-mini"),
        (None, Some(1_000))
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_repaired_conversation_is_a_valid_request_everywhere(items in prop::collection::vec(item(), 1..16)) {
        let items = repair(&items).items;
        prop_assert!(is_valid(&items));
        prop_assume!(!items.is_empty());
        for format in FORMATS {
            assert_valid(format, &body(format, items.clone(), |_| {}));
        }
    }
}
