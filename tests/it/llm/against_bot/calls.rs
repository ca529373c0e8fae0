//! Calls as no model should make them: what makes no sense never runs and is told; what does runs once.

use crate::llm::seen::asking;
use crate::llm::wire::{FORMATS, Format, Wire, events};
use crate::world::{World, run_test_with};

use super::faults::ANSWER;

/// How many tools ran in all, by the ledger.
async fn ran(world: &World) -> usize {
    let rows = "SELECT model FROM attempts WHERE kind = 'tool'";
    world.ledger(rows).await.len()
}

/// The answer with two calls of `view`, with every `from` made `to`; what the model is told then, and how many calls ran.
async fn told(format: Format, kind: &str, changes: &[(&str, &str)]) -> (String, usize) {
    let mut calls = String::from_utf8(format.fixture(kind)).unwrap();
    for (from, to) in changes {
        assert!(calls.contains(from), "{format:?}: no {from}");
        calls = calls.replace(from, to);
    }
    let scripts = vec![events(calls.as_bytes()), events(&format.fixture("text"))];
    let wire = Wire::start_with_models(scripts, &["m"]).await;
    let mut outcome = (String::new(), 0);
    run_test_with(asking(&wire, format), async |world| {
        world.ann.says("#lab", "look at both").await;
        world.sees("#lab", ANSWER).await;
        let asked = wire.requests();
        assert_eq!(asked.len(), 2, "{format:?}");
        outcome = (asked[1].body.to_string(), ran(world).await);
    })
    .await;
    outcome
}

/// The model is told `why` once, and no call of the answer ran, the whole one neither.
async fn never_runs(format: Format, kind: &str, changes: &[(&str, &str)], why: &str) {
    let (told, ran) = told(format, kind, changes).await;
    assert!(told.contains(why), "{format:?} {changes:?}: {told}");
    assert!(told.contains("No call of that answer ran"), "{told}");
    assert_eq!(ran, 0, "{format:?} {changes:?}");
}

#[tokio::test]
async fn a_call_at_the_length_limit_never_runs() {
    for format in FORMATS {
        never_runs(format, "cut_call", &[], "length limit").await;
    }
}

/// Arguments in pieces of JSON text, as Anthropic and Chat Completions stream them.
const PIECES: [Format; 2] = [Format::Anthropic, Format::OpenAiChat];
/// The whole text of the first call's arguments, as Responses repeats it.
const WHOLE: &str = r#"{\"path\":\"a.txt\"}"#;

#[tokio::test]
async fn arguments_that_break_off_never_run() {
    let why = "not valid JSON";
    for format in PIECES {
        never_runs(format, "calls", &[(r#".txt\"}"#, r#".txt\""#)], why).await;
    }
    let cut = [(WHOLE, r#"{\"path\":\"a.t"#)];
    never_runs(Format::OpenAiResponses, "calls", &cut, why).await;
}

#[tokio::test]
async fn arguments_that_are_no_object_never_run() {
    let why = "not a JSON object";
    for format in PIECES {
        let list = [
            (r#"{\"path\":\"a"#, r#"[\"a"#),
            (r#".txt\"}"#, r#".txt\"]"#),
        ];
        never_runs(format, "calls", &list, why).await;
    }
    never_runs(Format::OpenAiResponses, "calls", &[(WHOLE, "7")], why).await;
    for odd in [r#"["a.txt"]"#, r#""a.txt""#, "7", "true"] {
        let args = [(r#"{"path":"a.txt"}"#, odd)];
        never_runs(Format::Gemini, "calls", &args, why).await;
    }
    // A server that sends them whole, and no text.
    for odd in ["[1]", "7", "true"] {
        let first = r#""arguments":"{\"path\":\"a""#;
        let rest = r#"{"index":0,"function":{"arguments":".txt\"}"}},"#;
        let args = [(first, &*format!(r#""arguments":{odd}"#)), (rest, "")];
        never_runs(Format::OpenAiChat, "calls", &args, why).await;
    }
}

#[tokio::test]
async fn a_call_without_a_name_never_runs() {
    for format in FORMATS {
        for to in [r#""name":"""#, r#""x":1"#] {
            let nameless = [(r#""name":"view""#, to)];
            never_runs(format, "calls", &nameless, "without a tool's name").await;
        }
    }
}

/// Responses says of each item whether it is whole.
#[tokio::test]
async fn a_call_that_its_provider_calls_incomplete_never_runs() {
    let whole = r#""status":"completed","call_id":"call_1""#;
    let cut = r#""status":"incomplete","call_id":"call_1""#;
    let changes = [(whole, cut)];
    never_runs(Format::OpenAiResponses, "calls", &changes, "was cut off").await;
}

#[tokio::test]
async fn a_name_that_is_not_a_tool_is_reported() {
    for format in FORMATS {
        let changes = [(r#""name":"view""#, r#""name":"no_such_tool""#)];
        let (told, ran) = told(format, "calls", &changes).await;
        assert!(told.contains("Error: "), "{format:?} {told}");
        assert_eq!(ran, 0, "{format:?}");
    }
}

/// Ids that are missing, used twice, or such as others refuse: each call runs once and has its own result. The server
/// checks that the next request is one that its provider takes.
#[tokio::test]
async fn calls_with_bad_ids_run_once_each() {
    let table = [
        (Format::Anthropic, "toolu_1", "toolu_2"),
        (Format::OpenAiChat, "call_1", "call_2"),
        (Format::OpenAiResponses, "call_1", "call_2"),
    ];
    for (format, first, second) in table {
        let odd = "not an id; much too long for any provider to take it back";
        for changes in [[(first, second)], [(first, "")], [(second, odd)]] {
            let (told, ran) = told(format, "calls", &changes).await;
            assert_eq!(ran, 2, "{format:?} {changes:?}: {told}");
            assert!(!told.contains("much too long"), "{told}");
        }
    }
}

/// A pause with calls in it is no pause: they run, and have their results.
#[tokio::test]
async fn calls_of_an_answer_that_pauses_run() {
    let changes = [(
        "\"stop_reason\":\"tool_use\"",
        "\"stop_reason\":\"pause_turn\"",
    )];
    let (told, ran) = told(Format::Anthropic, "calls", &changes).await;
    assert_eq!(ran, 2, "{told}");
}
