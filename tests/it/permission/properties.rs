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

fn assert_no_wider(profile: &Profile, command: &str) {
    let alone = decision(profile, command);
    for segment in SEGMENTS {
        for joined in [
            format!("{segment}; {command}"),
            format!("{segment} && {command}"),
            format!("{segment}\n{command}"),
            format!("{command}; {segment}"),
            format!("{command} || {segment}"),
            format!("{command} | {segment}"),
        ] {
            let together = decision(profile, &joined);
            assert!(
                together >= alone,
                "{joined:?} is {together}, {command:?} alone {alone}"
            );
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
        assert_no_wider(&NARROW, command);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn adding_a_segment_never_allows_more(command in command().prop_filter("closed", |command| is_closed(command) && !command.trim().is_empty())) {
        assert_no_wider(&NARROW, &command);
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
