//! Servers as people meet them: what they refuse, how they end an answer, and what they leave in its text.

use serde_json::{Value, json};

use super::conformance::ask;
use super::seen::asking;
use super::wire::{Format, Play, Wire, answer, events};
use crate::world::{Setup, run_test_with};

const PICTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/images/run.png");

const JSON: &str = "content-type: application/json\r\n";

/// One chunk of a Chat Completions stream.
fn chunk(delta: Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    format!("data: {}\n\n", json!({"choices": [choice]}))
}

/// A whole answer with `text` as a Chat Completions stream.
fn says(text: &str) -> Vec<Play> {
    let stream = chunk(json!({"content": text}), Some("stop")) + "data: [DONE]\n\n";
    events(stream.as_bytes())
}

/// The same of a server that counts ten tokens in every request.
fn says_and_counts_ten(text: &str) -> Vec<Play> {
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}});
    let stream = chunk(json!({"content": text}), Some("stop"))
        + &format!("data: {usage}\n\n")
        + "data: [DONE]\n\n";
    events(stream.as_bytes())
}

fn refuses(status: u16, body: &Value) -> Vec<Play> {
    answer(status, JSON, &body.to_string())
}

fn with_window(wire: &Wire, tokens: u64) -> Setup {
    let mut setup = asking(wire, Format::OpenAiChat);
    setup.config["models"] =
        json!({"p/m": {"window": tokens, "max_output": 1_000, "images": true}});
    setup
}

#[tokio::test]
async fn an_answer_that_ended_whole_counts_however_its_server_ends_it() {
    let text = || chunk(json!({"content": "Hello"}), None);
    let end = || chunk(json!({}), Some("stop"));
    let message = json!({"role": "assistant", "content": "Hello"});
    let whole = |finish: Value| {
        json!({"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": finish}]})
            .to_string()
    };
    let head = |kind: &str| format!("HTTP/1.1 200 OK\r\n{kind}connection: close\r\n\r\n");
    let plain = |kind: &str, body: String| vec![Play::Bytes((head(kind) + &body).into_bytes())];
    let answers = [
        (
            "no finish reason",
            events((text() + "data: [DONE]\n\n").as_bytes()),
        ),
        ("no end mark", events((text() + &end()).as_bytes())),
        ("JSON", answer(200, JSON, &whole(json!("stop")))),
        (
            "JSON in an array",
            answer(200, JSON, &format!("[{}]", whole(json!("stop")))),
        ),
        (
            "JSON without a finish reason",
            answer(200, JSON, &whole(Value::Null)),
        ),
        (
            "JSON under the other content type",
            events(whole(json!("stop")).as_bytes()),
        ),
        (
            "events as JSON",
            plain(JSON, text() + &end() + "data: [DONE]\n\n"),
        ),
        (
            "events as text",
            plain("content-type: text/plain\r\n", text() + &end()),
        ),
        ("events without a content type", plain("", text() + &end())),
        (
            "no blank line after the last event",
            events((text() + end().trim_end()).as_bytes()),
        ),
        (
            "no line end after the end mark",
            events((text() + "data: [DONE]").as_bytes()),
        ),
        (
            "an empty finish reason with each piece",
            events((chunk(json!({"content": "Hello"}), Some("")) + &end()).as_bytes()),
        ),
        (
            "a line of JSON for each piece",
            answer(
                200,
                "content-type: application/x-ndjson\r\n",
                &(text() + &end())
                    .replace("data: ", "")
                    .replace("\n\n", "\n"),
            ),
        ),
    ];
    for (name, plays) in answers {
        let wire = Wire::start(vec![plays]).await;
        let (reply, shown) = ask(Format::OpenAiChat, &wire).await;
        let reply = reply.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            (reply.assistant.text.as_str(), shown.as_str()),
            ("Hello", "Hello"),
            "{name}"
        );
    }
    for (name, plays) in [
        ("cut in the middle", events(text().as_bytes())),
        (
            "cut in the middle, with empty finish reasons",
            events(chunk(json!({"content": "Hel"}), Some("")).as_bytes()),
        ),
        (
            "cut in its last event",
            events(&(text() + &end()).as_bytes()[..text().len() + 30]),
        ),
        ("nothing", events(b"data: [DONE]\n\n")),
        (
            "a page",
            plain("content-type: text/html\r\n", "<html></html>".to_owned()),
        ),
        ("other JSON", answer(200, JSON, r#"{"status": "ok"}"#)),
    ] {
        let wire = Wire::start(vec![plays]).await;
        assert!(ask(Format::OpenAiChat, &wire).await.0.is_err(), "{name}");
    }
}

#[tokio::test]
async fn an_answer_may_come_whole_as_json_in_every_format() {
    let bodies = [
        (
            Format::Anthropic,
            json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hello"}],
                "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 2}}),
        ),
        (
            Format::OpenAiResponses,
            json!({"object": "response", "status": "completed", "usage": {"input_tokens": 3, "output_tokens": 2},
                "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello"}]}]}),
        ),
        (
            Format::Gemini,
            json!([{"candidates": [{"content": {"parts": [{"text": "Hello"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}}]),
        ),
    ];
    for (format, body) in bodies {
        let wire = Wire::start(vec![answer(200, JSON, &body.to_string())]).await;
        let reply = ask(format, &wire).await.0.unwrap();
        assert_eq!(reply.assistant.text, "Hello", "{format:?}");
        assert_eq!(
            (reply.usage.input, reply.usage.output),
            (3, 2),
            "{format:?}"
        );
    }
}

#[tokio::test]
async fn arguments_with_one_meaning_run_and_others_do_not() {
    let call = |arguments: &str| {
        let call =
            json!({"index": 0, "id": "a", "function": {"name": "view", "arguments": arguments}});
        let stream = chunk(json!({"tool_calls": [call]}), Some("tool_calls")) + "data: [DONE]\n\n";
        events(stream.as_bytes())
    };
    let table = [
        ("{\"path\": \"a\nb\"}", Some(json!({"path": "a\nb"}))),
        ("{}{\"path\": \"a\"}", Some(json!({"path": "a"}))),
        (
            "{\"path\": \"a\"}{\"path\": \"a\"}",
            Some(json!({"path": "a"})),
        ),
        (
            "```json\n{\"path\": \"a\"}\n```",
            Some(json!({"path": "a"})),
        ),
        ("{\"path\": \"a\",}", Some(json!({"path": "a"}))),
        (
            "{'path': 'say \"hi\"', 'all': True}",
            Some(json!({"path": "say \"hi\"", "all": true})),
        ),
        ("\"{\\\"path\\\": \\\"a\\\"}\"", Some(json!({"path": "a"}))),
        ("{\"path\": \"a\"}}", Some(json!({"path": "a"}))),
        ("{\"path\": \"a\"}</tool_call>", Some(json!({"path": "a"}))),
        (
            "{path: \"a\", all: true}",
            Some(json!({"path": "a", "all": true})),
        ),
        ("\"null\"", Some(json!({}))),
        ("\"\"", Some(json!({}))),
        ("null", Some(json!({}))),
        ("[]", Some(json!({}))),
        ("", Some(json!({}))),
        ("{\"path\": \"a\"}{\"path\": \"b\"}", None),
        ("{\"path\": \"a", None),
        ("{'path': 'it's'}", None),
        ("[1]", None),
        ("path=a", None),
        ("{\"path\": \"a\"} and {\"path\": \"b\"}", None),
        ("{\"path\": \"a\"}</tool_call>{\"path\": \"b\"}", None),
    ];
    for (arguments, meant) in table {
        let wire = Wire::start(vec![call(arguments)]).await;
        let reply = ask(Format::OpenAiChat, &wire).await.0.unwrap();
        let calls = reply.assistant.tool_calls;
        let read = calls
            .first()
            .map(|call| Value::Object(call.arguments.clone()));
        assert_eq!(read, meant, "{arguments}");
        assert_eq!(
            reply.truncated_calls.len(),
            usize::from(meant.is_none()),
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn a_call_that_comes_twice_is_one_and_two_under_one_id_are_two() {
    let piece = |arguments: &str| {
        let call =
            json!({"index": 0, "id": "a", "function": {"name": "view", "arguments": arguments}});
        chunk(json!({"tool_calls": [call]}), None)
    };
    let (one, other) = (r#"{"path":"a"}"#, r#"{"path":"b"}"#);
    for (second, paths) in [(one, vec!["a"]), (other, vec!["a", "b"])] {
        let stream = piece(one) + &piece(second) + &chunk(json!({}), Some("tool_calls"));
        let wire = Wire::start(vec![events(stream.as_bytes())]).await;
        let calls = ask(Format::OpenAiChat, &wire)
            .await
            .0
            .unwrap()
            .assistant
            .tool_calls;
        let read: Vec<&str> = calls
            .iter()
            .filter_map(|call| call.arguments["path"].as_str())
            .collect();
        assert_eq!(read, paths);
    }
}

#[tokio::test]
async fn thoughts_in_the_text_reach_neither_people_nor_the_next_request() {
    let thinks = "<think>\nThe person greets me.\n</think>\n\nHello to you";
    let wire = Wire::start_with_models(vec![says(thinks), says("Again")], &["m"]).await;
    run_test_with(asking(&wire, Format::OpenAiChat), async |world| {
        world.ann.says("#lab", "hi").await;
        let shown = world.sees("#lab", "Hello to you").await;
        assert!(
            !shown.contains("think") && !shown.contains("greets"),
            "{shown}"
        );
        world.ann.says("#lab", "and now?").await;
        world.sees("#lab", "Again").await;
        let sent = wire.requests()[1].body["messages"].to_string();
        assert!(
            sent.contains("Hello to you") && !sent.contains("greets"),
            "{sent}"
        );
    })
    .await;
}

async fn is_shortened_and_answered(window: u64, status: u16, refusal: Value) {
    is_shortened_by(says, window, status, refusal).await;
}

/// Ann speaks until the request is longer than half of the window; then the server refuses it once with `refusal`.
async fn is_shortened_by(says: fn(&str) -> Vec<Play>, window: u64, status: u16, refusal: Value) {
    let scripts = vec![
        says("One."),
        says("Two."),
        refuses(status, &refusal),
        says("Answered."),
    ];
    let wire = Wire::start_with_models(scripts, &["m"]).await;
    let name = refusal.to_string();
    run_test_with(with_window(&wire, window), async |world| {
        for (number, answer) in [(1, "One."), (2, "Two.")] {
            world
                .ann
                .says(
                    "#lab",
                    &format!("Part {number}: {}", "blue fish ".repeat(180)),
                )
                .await;
            world.sees("#lab", answer).await;
        }
        world.ann.says("#lab", &"green bird ".repeat(170)).await;
        let shown = world.sees("#lab", "Answered.").await;
        assert!(
            !shown.contains("could not get an answer"),
            "{name}: {shown}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_request_that_is_too_long_is_shortened_whatever_the_words() {
    for (status, message) in [
        (
            400,
            "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
        ),
        (
            400,
            "prompt token count of 140000 exceeds the limit of 128000",
        ),
        (400, "Your request exceeded model token limit: 262144"),
        (400, "Range of input length should be [1, 129024]"),
        (400, "Prompt exceeds max length"),
        (503, "prompt is too long: 33000 tokens > 8000 maximum"),
    ] {
        is_shortened_and_answered(40_000, status, json!({"error": {"message": message}})).await;
    }
    let wrapped = json!({"error": {"message": "Provider returned error", "code": 400,
        "metadata": {"raw": "{\"error\":{\"message\":\"input is too long for requested model\"}}"}}});
    is_shortened_and_answered(40_000, 400, wrapped).await;
    is_shortened_and_answered(
        40_000,
        400,
        json!({"detail": {"msg": "The model's max context has been exceeded"}}),
    )
    .await;
    let per_minute = "Request too large for gpt-x in organization o on tokens per min (TPM): Limit 30000, Requested 40312.";
    is_shortened_and_answered(
        40_000,
        429,
        json!({"error": {"message": per_minute, "code": "rate_limit_exceeded"}}),
    )
    .await;
}

#[tokio::test]
async fn a_refusal_in_unknown_words_shortens_a_long_request() {
    let refusal = json!({"error": {"message": "The blue cat cannot carry this."}});
    is_shortened_and_answered(8_000, 400, refusal).await;
    for (status, refusal) in [
        (
            400,
            json!({"error": {"message": "输入长度超过模型最大长度限制"}}),
        ),
        (
            422,
            json!({"detail": {"reason": "payload of talk is beyond the machine"}}),
        ),
        (400, json!({})),
    ] {
        is_shortened_by(says_and_counts_ten, 6_000, status, refusal).await;
    }
}

#[tokio::test]
async fn a_refused_picture_is_left_out_from_then_on() {
    let refusals = [
        (
            400,
            "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 5283160 bytes > 5242880 bytes",
        ),
        (400, "Could not process image"),
        (415, "unsupported media type in content part 2"),
        (
            500,
            "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
        ),
    ];
    for (status, message) in refusals {
        let refusal = json!({"error": {"message": message}});
        let scripts = vec![
            refuses(status, &refusal),
            says("I see no picture."),
            says("Plain one."),
            says("Plain two."),
        ];
        let wire = Wire::start_with_models(scripts, &["m"]).await;
        run_test_with(with_window(&wire, 128_000), async |world| {
            let picture = std::fs::read(PICTURE).unwrap();
            world
                .ann
                .uploads("#lab", "what is this?", &[("a.png", &picture)])
                .await;
            let told = |shown: &str| shown.matches("answered without 1 picture").count();
            let shown = world.sees("#lab", "I see no picture.").await;
            assert_eq!(told(&shown), 1, "{shown}");
            for answer in ["Plain one.", "Plain two."] {
                world.ann.says("#lab", "go on").await;
                let shown = world.sees("#lab", answer).await;
                assert_eq!(told(&shown), 1, "{shown}");
            }
            let requests = wire.requests();
            let has_picture = |at: usize| requests[at].body.to_string().contains("image_url");
            assert_eq!(requests.len(), 4, "{message}");
            assert!(has_picture(0), "{message}");
            assert!((1..4).all(|at| !has_picture(at)), "{message}");
            assert!(
                requests[1].body.to_string().contains("[a picture"),
                "{message}"
            );
        })
        .await;
    }
}

#[tokio::test]
async fn a_picture_that_a_stream_refuses_is_left_out_from_then_on() {
    let refusal = json!({"error": {"message": "Unsupported content type image_url", "code": 400}});
    let scripts = vec![
        events(format!("data: {refusal}\n\n").as_bytes()),
        says("I see no picture."),
        says("Plain."),
    ];
    let wire = Wire::start_with_models(scripts, &["m"]).await;
    run_test_with(with_window(&wire, 128_000), async |world| {
        let picture = std::fs::read(PICTURE).unwrap();
        let files: [(&str, &[u8]); 1] = [("a.png", &picture)];
        world.ann.uploads("#lab", "what is this?", &files).await;
        world.sees("#lab", "I see no picture.").await;
        world.ann.says("#lab", "go on").await;
        world.sees("#lab", "Plain.").await;
        let requests = wire.requests();
        let pictures = requests
            .iter()
            .map(|request| request.body.to_string().contains("image_url"));
        assert_eq!(pictures.collect::<Vec<_>>(), [true, false, false]);
    })
    .await;
}

#[tokio::test]
async fn a_call_written_as_text_runs_or_is_answered_once() {
    let call = r#"{"name": "list_agents", "arguments": {}}"#;
    let hermes = format!("<tool_call>\n{call}\n</tool_call>");
    let wire = Wire::start_with_models(vec![says(&hermes), says("Only lab.")], &["m"]).await;
    run_test_with(asking(&wire, Format::OpenAiChat), async |world| {
        world.ann.says("#lab", "who is there?").await;
        let shown = world.sees("#lab", "Only lab.").await;
        assert!(!shown.contains("tool_call"), "{shown}");
        let sent = wire.requests()[1].body["messages"].to_string();
        assert!(sent.contains(r#""role":"tool""#), "{sent}");
    })
    .await;
    for text in [
        call.to_owned(),
        format!("```json\n{call}\n```"),
        format!("[TOOL_CALLS] [{call}]"),
        format!("<|python_tag|>{call}"),
        "<function_calls>\n<invoke name=\"list_agents\">\n</invoke>\n</function_calls>".to_owned(),
        "<function=list_agents>{}</function>".to_owned(),
        "[TOOL_CALLS]list_agents[ARGS]{}".to_owned(),
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.list_agents:0<|tool_call_argument_begin|>{}<|tool_call_end|>".to_owned(),
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>list_agents<｜tool▁sep｜>{}<｜tool▁call▁end｜>".to_owned(),
        "<|channel|>commentary to=functions.list_agents <|constrain|>json<|message|>{}".to_owned(),
        "<tool_call>list_agents\n</tool_call>".to_owned(),
        format!("Let me look.\n{hermes}"),
    ] {
        let wire = Wire::start_with_models(vec![says(&text), says("Only lab.")], &["m"]).await;
        run_test_with(asking(&wire, Format::OpenAiChat), async |world| {
            world.ann.says("#lab", "who is there?").await;
            world.sees("#lab", "Only lab.").await;
            let sent = wire.requests()[1].body["messages"].to_string();
            assert!(sent.contains("as text. It was not run"), "{sent}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_conversation_goes_on_at_a_server_that_takes_other_ids() {
    let id = "toolu_01A09q90qw90lq917835lq9";
    let call = json!({"index": 0, "id": id, "function": {"name": "list_agents", "arguments": "{}"},
        "extra_content": {"google": {"thought_signature": "c2lnbmVk"}}});
    let calls = chunk(json!({"tool_calls": [call]}), Some("tool_calls")) + "data: [DONE]\n\n";
    let wire = Wire::start_with_models(
        vec![events(calls.as_bytes()), says("Only lab."), says("Still.")],
        &["m"],
    )
    .await;
    run_test_with(asking(&wire, Format::OpenAiChat), async |world| {
        world.ann.says("#lab", "who is there?").await;
        world.sees("#lab", "Only lab.").await;
        world.ann.says("#lab", "and now?").await;
        world.sees("#lab", "Still.").await;
        let ids: Vec<String> = wire.requests()[1..]
            .iter()
            .map(|asked| {
                let messages = asked.body["messages"].as_array().unwrap();
                let made = messages
                    .iter()
                    .find(|one| one["tool_calls"].is_array())
                    .unwrap();
                let given = messages.iter().find(|one| one["role"] == "tool").unwrap();
                let call = &made["tool_calls"][0];
                assert_eq!(call["id"], given["tool_call_id"]);
                assert_eq!(
                    call["extra_content"]["google"]["thought_signature"],
                    "c2lnbmVk"
                );
                call["id"].as_str().unwrap().to_owned()
            })
            .collect();
        assert!(
            ids[0].len() == 9 && ids[0].chars().all(|one| one.is_ascii_alphanumeric()),
            "{ids:?}"
        );
        assert_eq!(ids[0], ids[1]);
    })
    .await;
}

#[tokio::test]
async fn a_limit_of_hours_is_told_with_its_time_and_not_waited_for() {
    let body = json!({"error": {"message": "Daily limit reached"}}).to_string();
    let limited = answer(429, &format!("{JSON}retry-after: 12600\r\n"), &body);
    let wire = Wire::start_with_models(vec![limited, says("Hello.")], &["m"]).await;
    run_test_with(asking(&wire, Format::OpenAiChat), async |world| {
        world.ann.says("#lab", "hi").await;
        let shown = world.sees("#lab", "could not get an answer").await;
        assert!(shown.contains("The limit ends <"), "{shown}");
        assert_eq!(wire.requests().len(), 1);
        world.ann.says("#lab", "again").await;
        world.sees("#lab", "Hello.").await;
    })
    .await;
}
