//! Judges texts by independent implementations of Discord's Markdown, which come from the npm registry.
//!
//! Our own page and our own Discord share our mistakes. `tests/run` installs the referee; without it, or without Node.js, what needs
//! it is [`not_run`].

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::not_run::{Missing, not_run};

/// A text and what may be found in it.
pub(crate) struct Case {
    text: String,
    allowed: &'static [&'static str],
    blocks: Option<Vec<String>>,
    shown: Option<String>,
    never: &'static [&'static str],
}

impl Case {
    /// A text that may hold `allowed`, besides plain text and code.
    pub(crate) fn new(text: impl Into<String>, allowed: &'static [&'static str]) -> Self {
        Self {
            text: text.into(),
            allowed,
            blocks: None,
            shown: None,
            never: &[],
        }
    }

    /// The same, whose blocks of code hold just this.
    pub(crate) fn blocks(mut self, blocks: impl IntoIterator<Item = String>) -> Self {
        self.blocks = Some(blocks.into_iter().collect());
        self
    }

    /// The same, which shows just this.
    pub(crate) fn shown(mut self, shown: impl Into<String>) -> Self {
        self.shown = Some(shown.into());
        self
    }

    /// The same, which shows none of these outside of code.
    pub(crate) fn never(mut self, never: &'static [&'static str]) -> Self {
        self.never = never;
        self
    }
}

/// Fails unless every implementation finds in each text what may be there and nothing else.
pub(crate) fn judges(cases: &[Case]) {
    let cases: Vec<Value> = cases
        .iter()
        .enumerate()
        .map(|(id, one)| {
            let mut case =
                json!({"id": id, "text": one.text, "allowed": one.allowed, "never": one.never});
            if let Some(blocks) = &one.blocks {
                case["blocks"] = json!(blocks);
            }
            if let Some(shown) = &one.shown {
                case["shown"] = json!(shown);
            }
            case
        })
        .collect();
    let Some(verdict) = runs("judge.mjs", &Value::Array(cases)) else {
        return;
    };
    let faults: Vec<String> = serde_json::from_value(verdict).unwrap();
    let some: Vec<&String> = faults.iter().take(12).collect();
    assert!(
        faults.is_empty(),
        "{} faults, such as {some:#?}",
        faults.len()
    );
}

/// A file that npm fetched for the referee; none where it did not.
pub(crate) fn fetched(path: &str) -> Option<String> {
    let modules = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/referee/node_modules");
    let found = std::fs::read_to_string(format!("{modules}/{path}")).ok();
    if found.is_none() {
        not_run(&Missing::Referee);
    }
    found
}

/// What a script of the referee answers; none where it cannot be run.
pub(crate) fn runs(script: &str, input: &Value) -> Option<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/referee");
    if !folder.join("node_modules").exists() {
        not_run(&Missing::Referee);
        return None;
    }
    let node = Command::new("node")
        .arg(folder.join(script))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut node) = node else {
        not_run(&Missing::Program("Node.js", "nodejs npm"));
        return None;
    };
    let mut stdin = node.stdin.take().unwrap();
    stdin.write_all(input.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = node.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{script} ended with {}",
        output.status
    );
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// Hostile texts made at random, the same ones each time.
pub(crate) fn at_random(count: usize) -> Vec<String> {
    let pieces = [
        "```",
        "````",
        "``",
        "`",
        "\\",
        "[x](https://evil.example)",
        "](https://evil.example)",
        "[",
        "||",
        "**",
        "__",
        "~~",
        "*",
        "_",
        "\n",
        "\n# ",
        "\n> ",
        "\n>>> ",
        "\n-# ",
        "\n- ",
        "\n1. ",
        "<@123456789012345678>",
        "<t:1700000000:R>",
        "<:ab:12345678901234567>",
        "@everyone",
        "https://evil.example/x",
        "discord.gg/abc",
        "<https://e.example>",
        "</x:123456789012345678>",
        "\u{202E}",
        "\u{0}",
        "\u{60}",
        "\\u{60}",
        "word",
        " ",
        "é",
        "#",
        "-#",
        ">",
        "<",
        "|",
        "json\n",
        "\r\n",
    ];
    let piece = proptest::sample::select(pieces.to_vec());
    let texts = proptest::collection::vec(piece, 1..14).prop_map(|pieces| pieces.concat());
    let mut runner = TestRunner::deterministic();
    (0..count)
        .map(|_| texts.new_tree(&mut runner).unwrap().current())
        .collect()
}
