//! The demo model, asked over its wire.

use std::time::{Duration, Instant};

use chorus_playground::model::DemoModel;
use serde_json::{Value, json};

use super::posted;

/// Asks with these messages and tools, and gives the content of the answer.
async fn asked(messages: Value, tools: &[&str]) -> Value {
    let model = DemoModel::start().await.unwrap();
    let tools: Vec<Value> = tools
        .iter()
        .map(|name| json!({"name": name, "input_schema": {"type": "object"}}))
        .collect();
    let body = json!({"model": "demo", "max_tokens": 100, "messages": messages, "tools": tools});
    let url = format!("{}/v1/messages", model.base_url());
    let response = posted(url, &body).await;
    response.json::<Value>().await.unwrap()["content"].clone()
}

fn says(text: &str) -> Value {
    json!([{"role": "user", "content": [{"type": "text", "text": format!("ann: {text}")}]}])
}

const TOOLS: [&str; 10] = [
    "create_file",
    "bash",
    "view",
    "self_edit_docs",
    "grep",
    "run_background",
    "git_commit",
    "str_replace",
    "append_file",
    "send_file",
];

#[tokio::test]
async fn every_instruction_is_the_tool_call_it_names() {
    let cases = [
        (
            "create a file hello.txt with Hello, world",
            "create_file",
            json!({"path": "hello.txt", "content": "Hello, world\n"}),
        ),
        (
            "write notes/a.md: one",
            "create_file",
            json!({"path": "notes/a.md", "content": "one\n"}),
        ),
        ("Please run ls -la", "bash", json!({"command": "ls -la"})),
        ("run `echo hi`", "bash", json!({"command": "echo hi"})),
        ("show hello.txt", "view", json!({"path": "hello.txt"})),
        ("list files", "view", json!({"path": "."})),
        (
            "remember that I like tea",
            "self_edit_docs",
            json!({"path": "notes.md", "content": "# Notes\n\n- I like tea\n"}),
        ),
        ("search for tea", "grep", json!({"pattern": "tea"})),
        (
            "start sleep 60 in the background",
            "run_background",
            json!({"command": "sleep 60"}),
        ),
        (
            "commit",
            "git_commit",
            json!({"message": "Work of the demo model"}),
        ),
        (
            "commit with message First steps",
            "git_commit",
            json!({"message": "First steps"}),
        ),
        (
            "replace tea with coffee in notes.md",
            "str_replace",
            json!({"path": "notes.md", "old_str": "tea", "new_str": "coffee"}),
        ),
        (
            "append to a.txt: two",
            "append_file",
            json!({"path": "a.txt", "content": "two\n"}),
        ),
        ("send hello.txt", "send_file", json!({"path": "hello.txt"})),
    ];
    for (words, tool, arguments) in cases {
        let content = asked(says(words), &TOOLS).await;
        assert_eq!(content[1]["name"], tool, "{words}: {content}");
        assert_eq!(content[1]["input"], arguments, "{words}");
    }
}

#[tokio::test]
async fn a_task_is_handed_to_one_role_or_to_several_at_once() {
    let one = asked(says("delegate to explore: find TODO"), &["sub_agent"]).await;
    let task = |role, prompt| json!({"role": role, "prompt": prompt, "title": prompt});
    assert_eq!(one[1]["name"], "sub_agent");
    assert_eq!(one[1]["input"], task("explore", "find TODO"));
    let words = "delegate to explore: find TODO and to general: list files, then list files";
    let two = asked(says(words), &["sub_agent", "view"]).await;
    assert_eq!(two[1]["input"], task("explore", "find TODO"));
    assert_eq!(two[2]["input"], task("general", "list files"));
    let results: Vec<Value> = [&two[1], &two[2]]
        .iter()
        .map(|call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": "done"}))
        .collect();
    let mut messages = says(words);
    let list = messages.as_array_mut().unwrap();
    list.push(json!({"role": "assistant", "content": two}));
    list.push(json!({"role": "user", "content": results}));
    let then = asked(messages, &["sub_agent", "view"]).await;
    assert_eq!(then[1]["name"], "view", "{then}");
}

#[tokio::test]
async fn stages_can_be_tried() {
    let without = asked(says("ask my advisors"), &[]).await;
    assert!(
        without[0]["text"]
            .as_str()
            .unwrap()
            .contains("I have no advisors yet.")
    );
    let mut messages = says("ask my advisors");
    let advice = "[note] Advice on the message above, from roles that read it first.\n<advisory from=\"explore\" id=\"4f1c09a2be77\">Mind it.</advisory id=\"4f1c09a2be77\">";
    messages[0]["content"]
        .as_array_mut()
        .unwrap()
        .push(json!({"type": "text", "text": advice}));
    let with = asked(messages, &[]).await;
    assert!(
        with[0]["text"].as_str().unwrap().contains("Mind it."),
        "{with}"
    );
    let handed = asked(says("hand it over to billing: be kind"), &["hand_over"]).await;
    assert_eq!(
        handed[1]["input"],
        json!({"to": "billing", "message": "be kind"})
    );
    let passed = "<original_user_request id=\"1\">ann: hi</original_user_request id=\"1\">\n\n<response from=\"lab\" id=\"2\">Hello.</response id=\"2\">";
    let passed = json!([{"role": "user", "content": [{"type": "text", "text": passed}]}]);
    let passed = asked(passed, &[]).await;
    assert_eq!(passed[0]["text"], "Hello.\n\n*Checked by the demo model.*");
}

#[tokio::test]
async fn steps_are_done_one_after_the_other_and_then_told() {
    let words = "create a file a.txt with one, then show a.txt";
    let mut messages = says(words);
    let mut called = Vec::new();
    for result in ["written", "1\tone"] {
        let content = asked(messages.clone(), &TOOLS).await;
        let call = content[1].clone();
        called.push(call["name"].clone());
        let list = messages.as_array_mut().unwrap();
        list.push(json!({"role": "assistant", "content": content}));
        let result = json!({"type": "tool_result", "tool_use_id": call["id"], "content": result});
        list.push(json!({"role": "user", "content": [result]}));
    }
    let content = asked(messages, &TOOLS).await;

    assert_eq!(called, ["create_file", "view"]);
    assert_eq!(
        content[0]["text"],
        "Done, in 2 steps. Output:\n```\n1\tone\n```"
    );
}

#[tokio::test]
async fn a_tool_that_is_not_offered_is_not_called() {
    let content = asked(says("run ls"), &["view"]).await;

    assert!(
        content[0]["text"]
            .as_str()
            .unwrap()
            .contains("permissions do not offer"),
        "{content}"
    );
}

#[tokio::test]
async fn anything_else_gets_a_word_on_what_it_is_and_what_to_try() {
    let content = asked(says("who are you?"), &TOOLS).await;

    let text = content[0]["text"].as_str().unwrap();
    assert!(
        text.contains("demo model") && text.contains("> who are you?"),
        "{text}"
    );
}

#[tokio::test]
async fn a_request_for_a_summary_gets_one() {
    let content = asked(says("Summarise the conversation above."), &[]).await;

    assert!(
        content[0]["text"]
            .as_str()
            .unwrap()
            .starts_with("People tried the demo model")
    );
}

/// As the daemon asks: the conversation is one record, each line with who said it.
#[tokio::test]
async fn a_summary_names_what_people_began_with() {
    let record = "<conversation>\nann: create a file hello.txt with Hello\n\n[2026-11-22T10:00:00Z; model demo; workspace: empty]\n\
        assistant:  [calls create_file {}]\n[result of create_file: done]\nassistant: Done. \n</conversation>";
    let messages = json!([{"role": "user", "content": [{"type": "text", "text": record}]}]);
    let content = asked(messages, &[]).await;
    assert_eq!(
        content[0]["text"],
        "People tried the demo model, starting with “create a file hello.txt with Hello”. Nothing is unfinished."
    );
}

#[tokio::test]
async fn words_behind_a_quote_are_heard() {
    let text = "[in reply to what you wrote on 2026-11-22 10:00 UTC]\n> Twelve herons.\n> run ls\nann: list files";
    let messages = json!([{"role": "user", "content": [{"type": "text", "text": text}]}]);
    let content = asked(messages, &TOOLS).await;
    assert_eq!(content[1]["name"], "view", "{content}");
}

/// Words show as they grow when a model speaks for more than a second and a half; nobody would see the demo do so otherwise.
#[tokio::test]
async fn a_long_answer_comes_at_the_pace_of_a_real_model() {
    let model = DemoModel::start().await.unwrap();
    let body = json!({"model": "demo", "max_tokens": 9, "stream": true, "messages": says("what can you do?"), "tools": []});
    let begun = Instant::now();

    let stream = posted(format!("{}/v1/messages", model.base_url()), &body).await;
    let text = stream.text().await.unwrap();

    let pieces = text.matches("text_delta").count();
    assert!(pieces > 20, "{text}");
    assert!(begun.elapsed() > Duration::from_millis(2_000));
}

#[tokio::test]
async fn answers_stream_as_events() {
    let model = DemoModel::start().await.unwrap();
    let body = json!({"model": "demo", "max_tokens": 9, "stream": true, "messages": says("hi"), "tools": []});
    let url = format!("{}/v1/messages", model.base_url());

    let stream = reqwest::Client::new()
        .post(url)
        .json(&body)
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();

    assert!(stream.starts_with("event: message_start\ndata: {"));
    assert!(stream.contains("event: content_block_delta\ndata: "));
    assert!(stream.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"));
}

/// What stands below an answer is a figure that people can learn from.
#[tokio::test]
async fn a_longer_request_is_counted_as_more() {
    let model = DemoModel::start().await.unwrap();
    let url = format!("{}/v1/messages", model.base_url());
    for text in ["hi".to_owned(), "hi ".repeat(400)] {
        let body = json!({"model": "demo", "max_tokens": 9, "messages": says(&text)});
        let answer: Value = posted(url.clone(), &body).await.json().await.unwrap();
        let expected = body.to_string().len().div_ceil(4);
        assert_eq!(answer["usage"]["input_tokens"], expected, "{text}");
    }
}
