//! Turns with stages and reports in every wire format: what is sent then and later is what a provider takes. The wire holds each
//! body against what its maker publishes.

use serde_json::{Value, json};

use super::against_bot::ANSWER;
use super::seen::asking;
use super::wire::{Asked, FORMATS, Format, Wire, events};
use crate::world::{World, run_test_with};

/// An answer with two calls of `tool`, the first of them with these arguments.
fn calls(format: Format, tool: &str, arguments: &Value) -> Vec<u8> {
    let quoted = |text: &str| Value::from(text).to_string();
    let whole = arguments.to_string();
    let (first, second) = whole.split_at(whole.len() / 2);
    let in_text = quoted(&whole);
    let changes = [
        (r#""name":"view""#, format!(r#""name":"{tool}""#)),
        // As JSON, as the text of it, and as two pieces of that text.
        (r#"{"path":"a.txt"}"#, whole.clone()),
        (
            r#"{\"path\":\"a.txt\"}"#,
            in_text[1..in_text.len() - 1].to_owned(),
        ),
        (r#""{\"path\":\"a""#, quoted(first)),
        (r#"".txt\"}""#, quoted(second)),
    ];
    let fixture = String::from_utf8(format.fixture("calls")).unwrap();
    let changed = changes
        .iter()
        .fold(fixture, |calls, (from, to)| calls.replace(from, to));
    assert!(!changed.contains("\"view\""), "{format:?}: {changed}");
    changed.into_bytes()
}

/// How often a word is a value of `key` anywhere in `value`.
fn count(value: &Value, key: &str, word: &str) -> usize {
    let below = |value: &Value| count(value, key, word);
    match value {
        Value::Object(fields) => {
            let here = usize::from(fields.get(key).is_some_and(|value| value == word));
            here + fields.values().map(below).sum::<usize>()
        }
        Value::Array(values) => values.iter().map(below).sum(),
        _ => 0,
    }
}

/// How often a field is there anywhere in `value`.
fn fields(value: &Value, key: &str) -> usize {
    let below = |value: &Value| fields(value, key);
    match value {
        Value::Object(all) => {
            usize::from(all.contains_key(key)) + all.values().map(below).sum::<usize>()
        }
        Value::Array(values) => values.iter().map(below).sum(),
        _ => 0,
    }
}

/// The calls of a request's history, and their results.
fn calls_and_results(format: Format, body: &Value) -> (usize, usize) {
    match format {
        Format::Anthropic => {
            let messages = &body["messages"];
            (
                count(messages, "type", "tool_use"),
                count(messages, "type", "tool_result"),
            )
        }
        Format::OpenAiChat => {
            let messages = &body["messages"];
            (
                count(messages, "type", "function"),
                count(messages, "role", "tool"),
            )
        }
        Format::OpenAiResponses => {
            let input = &body["input"];
            (
                count(input, "type", "function_call"),
                count(input, "type", "function_call_output"),
            )
        }
        Format::Gemini => {
            let contents = &body["contents"];
            (
                fields(contents, "functionCall"),
                fields(contents, "functionResponse"),
            )
        }
    }
}

/// Ann says something, and the channel shows so many answers then.
async fn says(world: &World, words: &str, answers: usize) {
    world.ann.says("#lab", words).await;
    let shows = |shown: &str| shown.matches(ANSWER).count() == answers;
    world.shows("#lab", shows).await;
}

fn charter(world: &World, file: &str, name: &str, more: &str) {
    let folder = world.home().join("agents/lab");
    std::fs::create_dir_all(folder.join("charters")).unwrap();
    let text =
        format!("---\nname: {name}\ndescription: Does it.\n{more}---\nYou are the {name}.\n");
    std::fs::write(folder.join(file), text).unwrap();
}

/// The calls and results of each of these requests.
fn all(format: Format, asked: &[Asked]) -> Vec<(usize, usize)> {
    let of = |asked: &Asked| calls_and_results(format, &asked.body);
    asked.iter().map(of).collect()
}

#[tokio::test]
async fn a_turn_with_advisors_a_router_and_a_handoff_and_those_after_it() {
    for format in FORMATS {
        let text = || events(&format.fixture("text"));
        // Two advisors, a step that looks, one that hands over twice, the destination, the handoff.
        let mut scripts = vec![text(), text(), events(&format.fixture("calls"))];
        scripts.push(events(&calls(
            format,
            "hand_over",
            &json!({"to": "billing"}),
        )));
        scripts.push(text());
        let wire = Wire::start_with_models(scripts, &["m"]).await;
        run_test_with(asking(&wire, format), async |world| {
            for name in ["security", "legal", "billing", "editor"] {
                charter(world, &format!("charters/{name}.md"), name, "tools: []\n");
            }
            let keys = json!({
                "advisors": ["security", "legal"],
                "router": {"destinations": ["billing"]},
                "handoff": "editor",
            });
            world.edits_agent_json("lab", keys);
            says(world, "what does it cost?", 1).await;
            let asked = wire.requests();
            assert_eq!(
                all(format, &asked),
                [(0, 0), (0, 0), (0, 0), (2, 2), (0, 0), (0, 0)],
                "{format:?}"
            );
            assert!(
                asked[5].body.to_string().contains("<response from="),
                "{format:?}"
            );
            // Two advisors, the agent itself, the handoff; the same once the ledger was read again.
            for (number, restarts) in [(2, false), (3, true)] {
                if restarts {
                    world.restarts().await;
                }
                says(world, "and now?", number).await;
                let asked = wire.requests();
                let last = &asked[asked.len() - 4..];
                assert_eq!(
                    all(format, last),
                    [(0, 0), (0, 0), (4, 4), (0, 0)],
                    "{format:?}"
                );
                let body = last[2].body.to_string();
                for told in [
                    "handed over to billing, which answered in your place",
                    "not run: handed over to billing",
                ] {
                    assert_eq!(body.matches(told).count(), 1, "{format:?}: {body}");
                }
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_report_by_a_call_and_the_turn_after_it() {
    for format in FORMATS {
        let report = calls(format, "report", &json!({"data": {"plums": 7}}));
        let wire = Wire::start_with_models(vec![events(&report)], &["m"]).await;
        run_test_with(asking(&wire, format), async |world| {
            charter(
                world,
                "charter.md",
                "lab",
                "report: {schema: {type: object}}\n",
            );
            world.ann.says("#lab", "count").await;
            world.sees("#lab", "I look at both.").await;
            world.ann.says("#lab", "count again").await;
            let both = |shown: &str| shown.matches("I look at both.").count() == 2;
            world.shows("#lab", both).await;
            let asked = wire.requests();
            assert_eq!(all(format, &asked), [(0, 0), (2, 2)], "{format:?}");
            let body = asked[1].body.to_string();
            for told in ["The report is taken.", "`report` is called alone, and last"] {
                assert_eq!(body.matches(told).count(), 1, "{format:?}: {body}");
            }
        })
        .await;
    }
}
