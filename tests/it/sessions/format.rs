//! The session file's format, written and read.

use chorus::agent::session_file::{SessionFile, parse};
use chorus::domain::{CallId, Item, SaveTrigger, SessionId};
use proptest::prelude::*;

use super::{answered, rich_conversation, said};

fn session(items: Vec<Item>) -> SessionFile {
    SessionFile {
        hides_words: false,
        agent_id: None,
        id: Some(
            "0c8ffa55-7a1d-4b4a-8d2e-3f0f3e0c1a2b"
                .parse::<SessionId>()
                .unwrap(),
        ),
        session_id: "2026-02-12_auth-refactor".to_owned(),
        agent_name: "frontend-agent".to_owned(),
        description: "Auth refactor".to_owned(),
        summary: "Moved auth to JWT. Tests pass.".to_owned(),
        saved_at: "2026-02-12T10:30:00.000000Z".parse().unwrap(),
        trigger: SaveTrigger::IdleTimeout,
        items,
    }
}

#[test]
fn the_keys_stand_in_the_order_of_the_specification() {
    let bytes = session(rich_conversation()).to_bytes();
    let text = String::from_utf8(bytes).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn what_was_written_is_read_and_written_again_byte_for_byte() {
    let written = session(rich_conversation());
    let bytes = written.to_bytes();
    let read = parse(&bytes).unwrap();
    assert_eq!(read, written);
    assert_eq!(read.to_bytes(), bytes);
}

#[test]
fn the_example_of_seed_000_loads() {
    let file = parse(include_bytes!("../../data/sessions/seed_000.json")).unwrap();
    assert_eq!(file.id, None);
    assert_eq!(file.trigger, SaveTrigger::IdleTimeout);
    let [
        Item::User(_),
        Item::Assistant(answer),
        Item::ToolResult(result),
    ] = file.items.as_slice()
    else {
        panic!("{:?}", file.items);
    };
    assert_eq!(answer.tool_calls[0].id, CallId("tc_001".to_owned()));
    assert_eq!(answer.tool_calls[0].arguments["path"], "src/auth.py");
    assert_eq!(
        (result.call_id.0.as_str(), result.name.as_str()),
        ("tc_001", "view")
    );
}

#[test]
fn the_example_of_seed_001_loads() {
    let file = parse(include_bytes!("../../data/sessions/seed_001.json")).unwrap();
    assert_eq!(file.session_id, "2026-02-12_auth-refactor");
    assert_eq!(file.saved_at.to_rfc3339(), "2026-02-12T14:30:00+00:00");
    assert_eq!(file.items, [said("Refactor auth."), answered("Done.")]);
}

#[test]
fn every_dialect_of_a_tool_call_means_the_same() {
    let head = r#"{"session_id":"a","timestamp":"2026-02-12T14:30:00Z","messages":[{"role":"user","content":"go"},"#;
    let dialects = [
        r#"{"role":"assistant","content":"x","tool_calls":[{"id":"1","name":"view","params":{"path":"a"}}]},{"role":"tool_result","tool_call_id":"1","content":"r"}"#,
        r#"{"role":"assistant","content":"x","tool_calls":[{"id":"1","name":"view","arguments":{"path":"a"}}]},{"role":"tool","tool_call_id":"1","content":"r"}"#,
        r#"{"role":"assistant","content":"x","tool_calls":"[{\"id\":\"1\",\"name\":\"view\",\"arguments\":\"{\\\"path\\\":\\\"a\\\"}\"}]"},{"role":"tool","tool_call_id":"1","content":"r"}"#,
        r#"{"role":"assistant","content":"x","tool_use":[{"id":"1","name":"view","input":{"path":"a"}}]},{"role":"tool_result","tool_use_id":"1","content":"r"}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"1","name":"view","input":{"path":"a"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"r"}]}]}"#,
        r#"{"role":"assistant","content":"x","tool_calls":[{"id":"1","type":"function","function":{"name":"view","arguments":"{\"path\":\"a\"}"}}]},{"role":"tool","tool_call_id":"1","content":"r"}"#,
    ];
    let read = dialects.map(|tail| parse(format!("{head}{tail}]}}").as_bytes()).unwrap().items);
    assert_eq!(read[0].len(), 3);
    for other in &read[1..] {
        assert_eq!(other, &read[0]);
    }
}

#[test]
fn keys_that_others_use_otherwise_are_left_out() {
    let text = r#"{"session_id":"a","timestamp":"2026-02-12T14:30:00Z","window_start":1,"messages":[
        {"role":"user","content":"go","author":"ann","usage":"much","attachments":["a.png"],"id":7}]}"#;
    assert_eq!(parse(text.as_bytes()).unwrap().items, [said("go")]);
}

proptest! {
    #[test]
    fn any_texts_survive_the_round_trip(texts in prop::collection::vec(any::<String>(), 1..8)) {
        let written = session(texts.iter().map(|text| said(text)).collect());
        let bytes = written.to_bytes();
        let read = parse(&bytes).unwrap();
        prop_assert_eq!(&read, &written);
        prop_assert_eq!(read.to_bytes(), bytes);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn a_cut_file_is_refused_and_never_read_short(cut in 0_usize..2000) {
        let bytes = session(rich_conversation()).to_bytes();
        // The newline at the end may go.
        let cut = cut % (bytes.len() - 2);
        prop_assert!(parse(&bytes[..cut]).is_err());
    }
}
