//! What must hold for every command and profile: nothing that is added makes more allowed.

use std::sync::LazyLock;

use chorus::permission::{Action, Decision, Profile};
use proptest::prelude::*;

use super::corpus;

/// Segments that a narrow profile allows by themselves.
const SEGMENTS: [&str; 4] = ["ls", "git status", "echo 'x'", "cat a | wc -l"];

static NARROW: LazyLock<Profile> = LazyLock::new(|| {
    Profile::compile(
        &[r"tool:bash:(ls|cat|wc|echo|git (status|log|diff))( .*)?"],
        &["tool:bash:(make|cat).*"],
        &["tool:bash:rm .*"],
    )
    .unwrap()
});

/// Asks about what joins commands, which no part of a line shows.
static JOINED: LazyLock<Profile> = LazyLock::new(|| {
    Profile::compile(
        &[r"tool:bash:(ls|cat|wc|echo|git (status|log|diff))( [^|]*)?"],
        &[".*", r"tool:bash:cat[^;]*\|.*", r"tool:bash:ls.*echo.*"],
        &[],
    )
    .unwrap()
});

static BUILTIN: LazyLock<[Profile; 4]> = LazyLock::new(|| {
    ["open", "guarded", "standard", "locked"].map(|name| Profile::builtin(name).unwrap())
});

/// Profiles, each without and with one more deny.
static WITH_AND_WITHOUT_DENY: LazyLock<Vec<(Profile, Profile)>> = LazyLock::new(|| {
    let denies = [
        "tool:bash:ls.*",
        ".*x.*",
        "tool:bash:git .*",
        "tool:bash:(?!ls).*",
        "tool:bash:echo",
        "tool:web_fetch:.*",
    ];
    let bases = [
        (".*", "none"),
        (".*", ".*"),
        (r"tool:bash:(ls|cat|git status|echo)( .*)?", ".*"),
    ];
    let pairs = bases
        .iter()
        .flat_map(|base| denies.iter().map(move |deny| (*base, *deny)));
    pairs
        .map(|((allow, ask), deny)| {
            let before = Profile::compile(&[allow], &[ask], &[]).unwrap();
            (before, Profile::compile(&[allow], &[ask], &[deny]).unwrap())
        })
        .collect()
});

fn decision(profile: &Profile, command: &str) -> Decision {
    profile
        .decide(&Action::shell("bash", command), &[])
        .decision
}

/// Holds for each profile: whatever is joined to a command is judged as strictly as it is alone.
fn assert_no_wider(command: &str) {
    let profiles: [&Profile; 2] = [&NARROW, &JOINED];
    let decisions = |command: &str| {
        let action = Action::shell("bash", command);
        profiles.map(|profile| profile.decide(&action, &[]).decision)
    };
    let alone = decisions(command);
    for segment in SEGMENTS {
        for joined in [
            format!("{segment}; {command}"),
            format!("{segment} && {command}"),
            format!("{segment}\n{command}"),
            format!("{command}; {segment}"),
            format!("{command} || {segment}"),
            format!("{command} | {segment}"),
        ] {
            for (together, alone) in decisions(&joined).into_iter().zip(alone) {
                assert!(
                    together >= alone,
                    "{joined:?} is {together}, {command:?} alone {alone}"
                );
            }
        }
    }
}

/// Words, quotes and separators as a shell reads them, in any order.
fn command() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "ls",
        "cat",
        "wc",
        "echo",
        "rm",
        "make",
        "git",
        "status",
        "log",
        "x",
        "-la",
        "--output=y",
        "a/b",
        "..",
        "\"",
        "'",
        "\"a b\"",
        "'c d'",
        ";",
        "&&",
        "||",
        "|",
        "&",
        ">",
        "<",
        "2>&1",
        ">/dev/null",
        "$x",
        "$(ls)",
        "`ls`",
        "*",
        "~",
        "{a,b}",
        "#",
        "!",
        "(",
        ")",
        "\n",
        "\t",
        "\r",
        "\\",
        "\\\n",
        "<<E",
        "A=1",
        "é",
        "\u{202E}",
        "$'x'",
        "env",
        "sh",
        "-c",
    ]);
    let blank = prop::sample::select(vec![" ", " ", " ", "", "\t"]);
    prop::collection::vec((piece, blank), 1..9).prop_map(|pieces| {
        pieces
            .into_iter()
            .flat_map(|(piece, blank)| [piece, blank])
            .collect()
    })
}

/// Whether a text ends where a new segment can begin: not inside a quote, after a backslash, or as a comment.
fn is_closed(command: &str) -> bool {
    !command.contains(['\'', '"', '`', '#', '\\']) && !command.contains("<<")
}

#[test]
fn adding_a_segment_to_a_line_of_the_corpus_never_allows_more() {
    let cases = corpus::cases();
    let commands = cases
        .iter()
        .filter_map(|case| case.action.strip_prefix("tool:bash:"));
    for command in commands.filter(|command| is_closed(command) && !command.trim().is_empty()) {
        assert_no_wider(command);
    }
}

#[test]
fn a_question_about_what_joins_commands_is_put_wherever_they_stand() {
    for (command, expected) in [
        ("cat", Decision::Allow),
        ("cat; ls", Decision::Ask),
        ("ls; cat; ls", Decision::Ask),
        ("ls; cat&&cat", Decision::Ask),
        ("ls\nls; cat; ls", Decision::Ask),
    ] {
        assert_eq!(decision(&NARROW, command), expected, "{command:?}");
    }
    for (command, expected) in [
        ("cat a; wc", Decision::Allow),
        ("cat a | wc", Decision::Ask),
        ("wc; cat a | wc", Decision::Ask),
        ("wc; cat a | wc; wc", Decision::Ask),
        ("wc; ls; wc; echo x; wc", Decision::Ask),
    ] {
        assert_eq!(decision(&JOINED, command), expected, "{command:?}");
    }
}

#[test]
fn a_line_of_more_runs_than_are_looked_at_is_asked_about() {
    let line = vec!["wc"; 1_500].join("; ");
    assert_eq!(decision(&JOINED, &line), Decision::Ask);
    let without = Profile::compile(&["tool:bash:wc"], &[".*"], &[]).unwrap();
    assert_eq!(decision(&without, &line), Decision::Allow);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn adding_a_segment_never_allows_more(command in command().prop_filter("closed", |command| is_closed(command) && !command.trim().is_empty())) {
        assert_no_wider(&command);
    }

    #[test]
    fn adding_a_deny_never_allows_more(command in command()) {
        for (before, after) in WITH_AND_WITHOUT_DENY.iter() {
            let (before, after) = (decision(before, &command), decision(after, &command));
            prop_assert!(after >= before, "{after} after {before}");
        }
    }

    #[test]
    fn every_text_gets_a_verdict_and_the_same_one_twice(text in any::<String>()) {
        for profile in BUILTIN.iter() {
            let verdict = profile.decide(&Action::shell("bash", &*text), &[]);
            prop_assert_eq!(&verdict, &profile.decide(&Action::shell("bash", &*text), &[]));
        }
        prop_assert_eq!(decision(&BUILTIN[0], &text), Decision::Allow);
    }
}
