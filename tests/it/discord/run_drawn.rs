//! A run as a value, drawn: the picture of the documentation, and what is too large or too hostile for it.

use chorus::domain::{Node, Op, OpKind, Run, TurnId, Usage};
use chorus::drawing::{self, Detail};
use chrono::{DateTime, TimeDelta, Utc};
use std::io::Cursor;

fn at(millis: i64) -> DateTime<Utc> {
    let begin: DateTime<Utc> = "2026-11-23T16:00:00Z".parse().unwrap();
    begin + TimeDelta::milliseconds(millis)
}

fn op(kind: OpKind, name: &str, from: i64, ms: u64) -> Op {
    Op {
        at: at(from),
        ms,
        kind,
        name: name.to_owned(),
        outcome: "ok".to_owned(),
        usage: Usage::default(),
        cost_usd: Some(0.0),
        decision: None,
        effect: None,
        preview: None,
    }
}

/// A turn of the role `path` ends in, from and to these milliseconds.
fn node(kind: &str, path: &str, (from, to): (i64, i64), usd: f64, ops: Vec<Op>) -> Node {
    Node {
        turn: TurnId("0193a000-0000-7000-8000-000094d12fb1".parse().unwrap()),
        parent: None,
        path: path.to_owned(),
        kind: kind.to_owned(),
        role: path.rsplit_once('/').map(|(_, role)| role.to_owned()),
        role_sha256: None,
        title: None,
        model: Some("sonnet".to_owned()),
        exit: Some("answered".to_owned()),
        exit_code: Some("EXIT-FINAL-ANSWER".to_owned()),
        exit_reason: None,
        cause: "message".to_owned(),
        resumes: None,
        resumed_by: None,
        source: None,
        began_at: Some(at(from)),
        ended_at: Some(at(to)),
        steps: 2,
        usage: Usage::default(),
        cost_usd: Some(usd),
        own_cost_usd: Some(usd),
        has_answered: true,
        ops,
        children: Vec::new(),
    }
}

/// The run that the documentation shows.
fn example() -> Run {
    use OpKind::{Model, Question, Tool};
    let explore = node(
        "sub_agent",
        "lab/reviewer/explore",
        (9_400, 12_900),
        0.001,
        vec![
            op(Model, "haiku", 9_500, 1_300),
            op(Tool, "grep", 10_800, 300),
            op(Model, "haiku", 11_200, 1_600),
        ],
    );
    let mut reviewer = node(
        "sub_agent",
        "lab/reviewer",
        (4_200, 22_000),
        0.021,
        vec![
            op(Model, "sonnet", 4_300, 3_000),
            op(Tool, "view", 7_300, 400),
            op(Model, "sonnet", 7_800, 1_500),
            op(Model, "sonnet", 13_000, 1_800),
            op(Tool, "bash", 14_800, 5_600),
            op(Question, "tool:bash:cargo test", 14_900, 4_000),
            op(Model, "sonnet", 20_400, 1_500),
        ],
    );
    reviewer.children.push(explore);
    let docs = node(
        "sub_agent",
        "lab/docs",
        (4_200, 9_000),
        0.004,
        vec![op(Model, "haiku", 4_400, 4_500)],
    );
    let mut root = node(
        "turn",
        "lab",
        (0, 26_000),
        0.041,
        vec![
            op(Model, "sonnet", 100, 4_000),
            op(Tool, "sub_agent", 4_200, 17_800),
            op(Model, "sonnet", 22_100, 3_800),
        ],
    );
    root.title = Some("make the tests pass".to_owned());
    root.children = vec![reviewer, docs];
    Run {
        version: Run::VERSION,
        run: root.turn,
        origin: root.turn,
        caused_by: None,
        asked_by: Some("ann".to_owned()),
        caused: Vec::new(),
        gaps: Vec::new(),
        node: root,
    }
}

fn pixels(png: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut reader = png::Decoder::new(Cursor::new(png)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut bytes).unwrap();
    (frame.width, frame.height, bytes)
}

/// The picture in the documentation is this one: `CHORUS_UPDATE_IMAGES=1 cargo nextest run run_drawn` writes it again.
#[test]
fn the_picture_of_the_documentation_is_what_is_drawn() {
    let png = drawing::run_picture(&example(), at(26_000)).unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/images/run.png");
    if std::env::var_os("CHORUS_UPDATE_IMAGES").is_some() {
        std::fs::write(path, &png).unwrap();
    }
    let (width, _, drawn) = pixels(&png);
    assert_eq!(width, 1_600);
    for colour in [[0x56, 0xb4, 0xe9], [0xe6, 0x9f, 0x00], [0xd9, 0x8a, 0xc0]] {
        assert!(
            drawn.chunks(3).any(|pixel| pixel == colour),
            "{colour:?} is seen"
        );
    }
    let kept = pixels(&std::fs::read(path).unwrap()).2;
    assert!(kept == drawn, "docs/images/run.png shows what is drawn now");
}

#[test]
fn the_lines_of_the_documentation_are_what_is_written() {
    let lines = drawing::run_lines(&example(), at(26_000), Detail::Line, str::to_owned);
    assert_eq!(
        lines,
        [
            "run 94d12fb1 · lab · ann: “make the tests pass” · answered · 2 steps · 26 s · $0.041",
            "├ sub_agent reviewer · sonnet · 2 steps, 2 calls · 17 s (4 s asked) · $0.021 · answered",
            "│  └ sub_agent explore · sonnet · 2 steps, 1 call · 3 s · $0.001 · answered",
            "└ sub_agent docs · sonnet · 2 steps · 4 s · $0.004 · answered",
        ]
    );
}

#[test]
fn sixty_rows_are_drawn_and_the_others_counted() {
    let mut run = example();
    run.node.children = (0..100)
        .map(|_| node("sub_agent", "lab/docs", (1, 2), 0.0, Vec::new()))
        .collect();
    let (width, height, _) = pixels(&drawing::run_picture(&run, at(5)).unwrap());
    assert_eq!((width, height), (1_600, 150 + 61 * 44 + 30));
}

#[test]
fn every_form_says_what_the_run_lacks() {
    let mut run = example();
    run.gaps = vec!["A turn cannot be read.".to_owned(); 12];
    let (width, height, _) = pixels(&drawing::run_picture(&run, at(5)).unwrap());
    assert_eq!((width, height), (1_600, 150 + (4 + 11) * 44 + 30));
    let lines = drawing::run_event_lines(&run);
    assert_eq!(
        lines.matches("\"gap\":\"A turn cannot be read.\"").count(),
        12
    );
    for form in [
        drawing::run_page(&run, at(5)),
        drawing::run_json_text(&run),
        drawing::run_lines(&run, at(5), Detail::Line, str::to_owned).concat(),
    ] {
        assert!(form.contains("A turn cannot be read."), "{form}");
    }
}

#[test]
fn names_of_any_kind_stay_beside_their_bars() {
    let mut run = example();
    let names = [
        "W".repeat(500),
        "i".repeat(500),
        "\u{202e}\u{5d0}\u{5d1}\u{5d2}".repeat(40),
        "🦀👩‍👩‍👧‍👦".repeat(40),
        "漢字".repeat(40),
        "e\u{301}\u{301}\u{301}".repeat(200),
        "\u{0}\u{1b}[31m\u{9b}2J".to_owned(),
        String::new(),
    ];
    run.node.children = names
        .iter()
        .map(|name| {
            let mut child = node("sub_agent", "lab/docs", (1, 2), 0.0, Vec::new());
            child.role = Some(name.clone());
            child
        })
        .collect();
    run.asked_by = Some(names.concat());
    let (width, height, bytes) = pixels(&drawing::run_picture(&run, at(26_000)).unwrap());
    let rows = names.len() as u32 + 1;
    assert_eq!((width, height), (1_600, 150 + rows * 44 + 30));
    for y in 150..150 + rows * 44 {
        for x in 460..469 {
            let at = ((y * width + x) * 3) as usize;
            assert_eq!(bytes[at..at + 3], [0x1e, 0x1f, 0x22], "at {x}, {y}");
        }
    }
}

#[test]
fn a_page_stays_within_eight_mebibytes_and_says_what_it_lacks() {
    let mut run = example();
    let long = Op {
        preview: Some("<".repeat(4_096)),
        ..op(OpKind::Tool, "view", 1, 1)
    };
    run.node.ops = vec![long; 2_000];
    let page = drawing::run_page(&run, at(5));
    assert!(page.len() <= drawing::PAGE_BYTES, "{}", page.len());
    assert!(page.contains("The page is full"));
}

#[test]
fn what_is_hidden_shows_its_name_and_its_cost() {
    let mut run = example();
    run.node.children[0].title = Some("a secret title".to_owned());
    run.node.children[0].hide();
    let lines = drawing::run_lines(&run, at(26_000), Detail::Ops, str::to_owned);
    assert!(
        lines.contains(&"├ sub_agent reviewer · $0.021".to_owned()),
        "{lines:?}"
    );
    assert!(
        lines.contains(&"│  └ sub_agent explore · $0.001".to_owned()),
        "{lines:?}"
    );
    let events = drawing::run_event_lines(&run);
    let page = drawing::run_page(&run, at(26_000));
    for text in [
        lines.join("\n"),
        events,
        page,
        drawing::run_json(&run).to_string(),
    ] {
        assert!(
            !text.contains("cargo test") && !text.contains("secret title"),
            "{text}"
        );
    }
    drawing::run_picture(&run, at(26_000)).unwrap();
}
