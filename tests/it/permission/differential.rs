//! What a narrow profile allows is run under a real bash among stubs: nothing but what was judged runs.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use chorus::permission::{Action, Decision, Profile};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

/// Programs that the profile allows, and others that lie beside them on the PATH.
const ALLOWED: [&str; 4] = ["ls", "cat", "wc", "grep"];

/// Builtins that it allows too; nothing of theirs leaves a note.
const BUILTINS: [&str; 2] = ["test", "printf"];

/// What a tilde would become.
const HOME: &str = "/home/nobody";
const OTHERS: [&str; 12] = [
    "rm", "sh", "git", "env", "sudo", "evil", "x", "lsx", "a", "b", "E", "tee",
];

/// Commands put together of what shells treat specially, so that the parser and bash may disagree.
fn command() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "ls",
        "cat",
        "wc",
        "grep",
        "ls",
        "cat",
        "rm",
        "evil",
        "x",
        "a",
        "sh",
        "-c",
        "-la",
        "a=b",
        "=",
        "+",
        ",",
        ".",
        "/",
        ":",
        "@",
        "%",
        "^",
        "_",
        "'a b'",
        "\"a b\"",
        "'",
        "\"",
        "\\",
        "\\\\",
        "\\'",
        "\\\"",
        "''",
        "\"\"",
        "'x'y",
        "x\"y\"",
        "a'b'\"c\"",
        "{",
        "}",
        "{}",
        "[",
        "]",
        "!",
        "#",
        "a#b",
        "~",
        "a~",
        "$",
        "\"$\"",
        "'$x'",
        "$x",
        "`",
        "*",
        "?",
        "(",
        ")",
        "<",
        ">",
        "2>&1",
        ">/dev/null",
        ">&2",
        "&>",
        "time",
        "if",
        "then",
        "fi",
        "do",
        "done",
        "function",
        "in",
        "esac",
        "\u{a0}",
        "\r",
        "\x0b",
        "\x0c",
        "\x01",
        "é",
        "日本",
        "a=~",
        "a:~",
        "x=~root",
        "~root",
        "b:",
        "-v",
        "-R",
        "'a[$(evil)]'",
        "'a[`evil`]'",
        "'$(evil)'",
        "-d",
        "-eq",
        "1",
    ]);
    let separator = prop::sample::select(vec![
        " ", " ", " ", " ", "", "", "", "", "", "\t", "; ", ";", " && ", "&&", " || ", " | ", "|",
        "\n", "&", "\\\n", " \\\n", "|&", ";;",
    ]);
    let program = prop::sample::select([ALLOWED.as_slice(), &BUILTINS].concat());
    (program, prop::collection::vec((separator, word), 0..8)).prop_map(|(program, rest)| {
        let rest: String = rest
            .into_iter()
            .flat_map(|(separator, word)| [separator, word])
            .collect();
        format!("{program}{rest}")
    })
}

/// A stub notes that it ran and does nothing else.
fn stub(folder: &Path, name: &str) {
    let path = folder.join(name);
    fs::write(
        &path,
        format!("#!/bin/sh\necho {name} \"$@\" >> \"$RAN\"\n"),
    )
    .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn only_what_was_judged_runs() {
    let home = tempfile::tempdir().unwrap();
    let (stubs, work, ran) = (
        home.path().join("stubs"),
        home.path().join("work"),
        home.path().join("ran"),
    );
    fs::create_dir(&stubs).unwrap();
    ALLOWED
        .iter()
        .chain(&OTHERS)
        .for_each(|name| stub(&stubs, name));
    let profile =
        Profile::compile(&["tool:bash:(ls|cat|wc|grep|test|printf)( .*)?"], &[], &[]).unwrap();
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let strategy = command();
    let mut judged = 0;
    let mut commands = BTreeSet::new();
    while commands.len() < 250 {
        judged += 1;
        assert!(judged < 100_000, "too few commands are allowed");
        let command = strategy.new_tree(&mut runner).unwrap().current();
        if profile
            .decide(&Action::shell("bash", &*command), &[])
            .decision
            == Decision::Allow
        {
            commands.insert(command);
        }
    }
    for command in commands {
        let _ = fs::remove_dir_all(&work);
        fs::create_dir(&work).unwrap();
        fs::write(&ran, "").unwrap();
        let status = Command::new("/bin/bash")
            .args(["-c", &command])
            .current_dir(&work)
            .env_clear()
            .env("PATH", &stubs)
            .env("RAN", &ran)
            .env("HOME", HOME)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.code().is_some(), "{command:?} was ended by a signal");
        let ran = fs::read_to_string(&ran).unwrap();
        for line in ran.lines() {
            let program = line.split(' ').next().unwrap_or_default();
            assert!(
                ALLOWED.contains(&program) || command.contains('\n'),
                "{command:?} was allowed and ran {program}"
            );
            assert!(
                !line.contains(HOME) && !line.contains("/root"),
                "{command:?} was allowed and bash put a home in: {line}"
            );
        }
        assert!(
            !ran.is_empty() || BUILTINS.iter().any(|name| command.contains(name)),
            "{command:?} was allowed and bash reads it otherwise"
        );
        assert_eq!(
            fs::read_dir(&work).unwrap().count(),
            0,
            "{command:?} was allowed and wrote a file"
        );
    }
}
