//! Session files that are no sessions: each gets a clear answer, and the one beside it loads all the same.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use chorus::agent::session_file::{FileError, MAX_BYTES, load, parse};

/// A file, and words that the refusal must hold.
fn corpus() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let with = |messages: &str| {
        format!(
            r#"{{"id":"x","session_id":"a","saved_at":"2026-02-12T10:30:00Z","messages":{messages}}}"#
        )
        .into_bytes()
    };
    let head = |keys: &str| {
        format!(r#"{{{keys}"messages":[{{"role":"user","content":"hi"}}]}}"#).into_bytes()
    };
    let said = |content: &str| with(&format!(r#"[{{"role":"user","content":{content}}}]"#));
    let calls = |calls: &str| {
        with(&format!(
            r#"[{{"role":"assistant","content":"","tool_calls":{calls}}}]"#
        ))
    };
    let deep = |open: &str, close: &str| open.repeat(5000) + &close.repeat(5000);
    let mut files = vec![
        ("empty", Vec::new(), "empty"),
        ("only white space", b" \n\t ".to_vec(), "empty"),
        ("only a byte order mark", b"\xef\xbb\xbf".to_vec(), "empty"),
        ("a line of text", b"hello there".to_vec(), "not valid JSON"),
        (
            "cut in the head",
            br#"{"id":"x","session_id":"a","#.to_vec(),
            "cut off",
        ),
        ("cut in a string", br#"{"id":"x"#.to_vec(), "cut off"),
        (
            "cut in a message",
            with(r#"[{"role":"user","content":"hi"}"#)[..90].to_vec(),
            "cut off",
        ),
        (
            "something after the end",
            [with(r#"[{"role":"user","content":"hi"}]"#), b"{}".to_vec()].concat(),
            "trailing",
        ),
        ("single quotes", b"{'id': 'x'}".to_vec(), "not valid JSON"),
        ("a comment", b"// hi\n{}".to_vec(), "not valid JSON"),
        (
            "a trailing comma",
            with(r#"[{"role":"user","content":"hi"},]"#),
            "not valid JSON",
        ),
        (
            "NaN",
            said(r#"NaN"#),
            "not valid JSON",
        ),
        (
            "bad UTF-8",
            [b"{\"id\":\"\xff\xfe\"".as_slice(), b"}"].concat(),
            "not UTF-8",
        ),
        (
            "UTF-16",
            "{\"id\":1}"
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect(),
            "not valid JSON",
        ),
        (
            "half a UTF-8 character",
            "{\"id\":\"ü".as_bytes()[..8].to_vec(),
            "not UTF-8",
        ),
        (
            "a lone surrogate",
            with(r#"[{"role":"user","content":"\ud800"}]"#),
            "not valid JSON",
        ),
        (
            "a raw control character",
            with("[{\"role\":\"user\",\"content\":\"a\u{1}b\"}]"),
            "not valid JSON",
        ),
        ("zero bytes", vec![0; 4096], "not valid JSON"),
        ("a number", b"42".to_vec(), "shape"),
        ("null", b"null".to_vec(), "shape"),
        ("a string", b"\"session\"".to_vec(), "shape"),
        ("a list", b"[]".to_vec(), "shape"),
        ("an empty object", b"{}".to_vec(), "messages"),
        (
            "a package.json",
            br#"{"name":"x","version":"1.0.0","dependencies":{}}"#.to_vec(),
            "messages",
        ),
        (
            "an agent.json",
            br#"{"name":"lab","channel_id":1,"system_prompt":"x","permissions":"open"}"#.to_vec(),
            "messages",
        ),
        (
            "an export of a chat",
            br#"{"messages":[{"role":"user","content":"hi"}]}"#.to_vec(),
            "neither `id` nor `session_id`",
        ),
        (
            "a chat request",
            br#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#.to_vec(),
            "neither `id` nor `session_id`",
        ),
        ("no time", head(r#""id":"x","#), "saved_at"),
        (
            "a time that is none",
            head(r#""id":"x","saved_at":"yesterday","#),
            "RFC 3339",
        ),
        (
            "a time that is a number",
            head(r#""id":"x","saved_at":1770892200,"#),
            "shape",
        ),
        (
            "an impossible date",
            head(r#""id":"x","saved_at":"2026-02-30T10:00:00Z","#),
            "RFC 3339",
        ),
        (
            "an id that is a number",
            head(r#""id":5,"saved_at":"2026-02-12T10:30:00Z","#),
            "shape",
        ),
        (
            "an unknown trigger",
            head(r#""id":"x","saved_at":"2026-02-12T10:30:00Z","trigger":"cosmic_ray","#),
            "cosmic_ray",
        ),
        (
            "a key twice",
            head(r#""id":"x","id":"y","saved_at":"2026-02-12T10:30:00Z","#),
            "duplicate",
        ),
        ("no messages", with("[]"), "no messages"),
        ("messages null", with("null"), "list of messages"),
        (
            "messages an object",
            with(r#"{"0":{"role":"user","content":"hi"}}"#),
            "list of messages",
        ),
        ("messages a string", with(r#""hi""#), "list of messages"),
        ("a message that is text", with(r#"["hi"]"#), "shape"),
        ("a message that is null", with("[null]"), "shape"),
        (
            "a message without a role",
            with(r#"[{"content":"hi"}]"#),
            "role",
        ),
        (
            "a role that is a number",
            with(r#"[{"role":1,"content":"hi"}]"#),
            "shape",
        ),
        (
            "an unknown role",
            with(r#"[{"role":"wizard","content":"hi"}]"#),
            "wizard",
        ),
        (
            "content that is a number",
            said(r#"5"#),
            "content",
        ),
        (
            "content that is an object",
            said(r#"{"a":1}"#),
            "content",
        ),
        (
            "a block without a type",
            said(r#"[{"text":"hi"}]"#),
            "type",
        ),
        (
            "calls that are a number",
            calls(r#"5"#),
            "tool_calls",
        ),
        (
            "a call without an id",
            calls(r#"[{"name":"view","params":{}}]"#),
            "id",
        ),
        (
            "arguments that are a list",
            calls(r#"[{"id":"1","name":"view","params":[1]}]"#),
            "not an object",
        ),
        (
            "arguments that are broken JSON",
            calls(r#"[{"id":"1","name":"view","arguments":"{\"a\""}]"#),
            "not an object",
        ),
        (
            "a result of nothing",
            with(r#"[{"role":"tool_result","content":"hi"}]"#),
            "tool_call_id",
        ),
        (
            "a user who calls tools",
            with(
                r#"[{"role":"user","content":"x","tool_calls":[{"id":"1","name":"view","params":{}}]}]"#,
            ),
            "calls no tools",
        ),
        ("compressed", vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3], "not UTF-8"),
        ("a picture", b"\x89PNG\r\n\x1a\n".to_vec(), "not UTF-8"),
        (
            "Latin-1",
            [b"{\"id\":\"M\xfcnchen\"".as_slice(), b"}"].concat(),
            "not UTF-8",
        ),
        ("UTF-16 with its mark", b"\xff\xfe{\0}\0".to_vec(), "not UTF-8"),
        ("a web page", b"<!DOCTYPE html><title>404</title>".to_vec(), "not valid JSON"),
        ("YAML", b"id: x\nmessages: []\n".to_vec(), "not valid JSON"),
        ("Base64", b"eyJpZCI6IngifQ==".to_vec(), "not valid JSON"),
        (
            "a conflict of git",
            [b"<<<<<<< HEAD\n".to_vec(), with(r#"[{"role":"user","content":"hi"}]"#)].concat(),
            "not valid JSON",
        ),
        (
            "two sessions, a line each",
            [with(r#"[{"role":"user","content":"a"}]"#), b"\n".to_vec(), with(r#"[{"role":"user","content":"b"}]"#)].concat(),
            "trailing",
        ),
        (
            "zeros after the end",
            [with(r#"[{"role":"user","content":"hi"}]"#), vec![0; 512]].concat(),
            "trailing",
        ),
        (
            "a list of its values",
            br#"["x","a","lab","d","s","2026-02-12T10:30:00Z",null,null,[{"role":"user","content":"hi"}]]"#.to_vec(),
            "it is a list",
        ),
        ("a list of messages", br#"[{"role":"user","content":"hi"}]"#.to_vec(), "it is a list"),
        (
            "messages twice",
            head(r#""id":"x","saved_at":"2026-02-12T10:30:00Z","messages":[],"#),
            "duplicate",
        ),
        ("no time at all", head(r#""id":"x","saved_at":"","#), "RFC 3339"),
        (
            "a number beyond all numbers",
            with(r#"[{"role":"user","content":"hi","usage":{"input":1e999}}]"#),
            "number",
        ),
        ("a message that is a list", with(r#"[["user","hi"]]"#), "shape"),
        ("a role that is null", with(r#"[{"role":null,"content":"hi"}]"#), "shape"),
        ("a role in capitals", with(r#"[{"role":"User","content":"hi"}]"#), "User"),
        ("content that is a truth", said(r#"true"#), "content"),
        ("a block that is text", said(r#"["hi"]"#), "shape"),
        (
            "calls that are an object",
            calls(r#"{"id":"1"}"#),
            "tool_calls",
        ),
        (
            "a call that is text",
            calls(r#"["view"]"#),
            "tool_calls",
        ),
        (
            "a call whose id is a number",
            calls(r#"[{"id":1,"name":"view","params":{}}]"#),
            "tool_calls",
        ),
        (
            "arguments that are a number",
            calls(r#"[{"id":"1","name":"view","params":5}]"#),
            "not an object",
        ),
        (
            "a result whose id is a number",
            with(r#"[{"role":"tool_result","tool_call_id":1,"content":"hi"}]"#),
            "shape",
        ),
        ("deep lists", with(&deep("[", "]")), "shape"),
        (
            "deep arguments",
            with(&format!(
                r#"[{{"role":"assistant","content":"","tool_calls":[{{"id":"1","name":"v","params":{}}}]}}]"#,
                deep(r#"{"a":"#, "").replace("\"\"", "") + "1" + &"}".repeat(5000)
            )),
            "nested too deeply",
        ),
        ("nothing but open brackets", b"[".repeat(100_000), ""),
    ];
    files.push((
        "very many messages",
        with(&format!("[{}null]", r#"{"role":"user"},"#.repeat(200_001))),
        "more than 200000 messages",
    ));
    files
}

#[test]
fn every_hostile_file_is_refused_with_its_reason() {
    let corpus = corpus();
    assert!(corpus.len() >= 80);
    for (what, bytes, words) in corpus {
        let reason = parse(&bytes).expect_err(what).to_string();
        assert!(reason.contains(words), "{what}: {reason}");
        assert!(reason.chars().count() < 300, "{what}: {reason}");
    }
}

fn refusal(path: &Path) -> String {
    load(path).unwrap_err().to_string()
}

#[test]
fn what_is_no_regular_file_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(
        matches!(load(&at("gone.json")), Err(FileError::Missing { name }) if name == "gone.json")
    );

    fs::create_dir(at("folder.json")).unwrap();
    assert!(refusal(&at("folder.json")).contains("not a regular file"));

    fs::write(at("target"), "{}").unwrap();
    symlink(at("target"), at("link.json")).unwrap();
    assert!(refusal(&at("link.json")).contains("symbolic link"));

    let made = std::process::Command::new("mkfifo")
        .arg(at("pipe.json"))
        .status()
        .unwrap();
    assert!(made.success());
    assert!(refusal(&at("pipe.json")).contains("not a regular file"));
}

#[test]
fn a_file_larger_than_64_mib_is_refused_unread() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.json");
    let file = fs::File::create(&path).unwrap();
    file.set_len(MAX_BYTES + 1).unwrap();
    assert!(refusal(&path).contains("larger than 64.0 MiB"));
}
