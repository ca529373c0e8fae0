//! The work of judging has a bound, for a call and for all calls of a step. These tests count units of work, not time.

use std::sync::Arc;

use chorus::permission::{Action, Decision, Effort, Profile, Stack, Verdict};

/// What one more text may add after the last one that was allowed: the longest command, four times over for an engine that
/// backtracks.
const ONE_TEXT: usize = 8 * (64 << 10);

const SIXTY_KB: usize = 60_000;

/// What the verdict says once the work is spent.
const TOO_LONG: &str = "judging it takes too long";

/// A profile of `count` patterns, made by `pattern` from their number, that asks about everything else.
fn profile(count: usize, pattern: impl Fn(usize) -> String) -> Arc<Profile> {
    let patterns: Vec<String> = (0..count).map(pattern).collect();
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    Arc::new(Profile::compile(&patterns, &["tool:bash:.*"], &[]).unwrap())
}

/// `head` and as many `unit`s as make 60 KB.
fn long(head: &str, unit: impl Fn(usize) -> String) -> String {
    let mut command = head.to_owned();
    for number in 0.. {
        let unit = unit(number);
        if command.len() + unit.len() > SIXTY_KB {
            break;
        }
        command.push_str(&unit);
    }
    command
}

/// Judges `calls` calls of one step; the last verdict.
fn judge(profile: &Arc<Profile>, command: &str, calls: usize, effort: &Effort) -> Verdict {
    let stack = Stack::new(profile.clone());
    let action = Action::shell("bash", command);
    let mut verdicts = (0..calls).map(|_| stack.decide(&action, &[], effort));
    verdicts.by_ref().last().unwrap()
}

/// Patterns and commands of 60 KB that each of the patterns matches and none covers, or that take many tries.
fn costly() -> Vec<(&'static str, Arc<Profile>, String)> {
    vec![
        ("operands on 40 patterns", narrow(40), operands()),
        ("operands on 200 patterns", narrow(200), operands()),
        (
            "operands that a wildcard begins in",
            profile(200, |n| format!("tool:bash:cat a[a-z0-9 ]*({n})?")),
            long("cat", |n| format!(" a{n:05}")),
        ),
        (
            "files behind one another",
            profile(200, |n| {
                format!(r"tool:bash:cat( docs/[a-z0-9]+\.[a-z]*)+( {n})?")
            }),
            long("cat", |n| format!(" docs/{n}.md")),
        ),
        (
            "options of a program that is not known",
            profile(200, |n| format!("tool:bash:zork( .*)?( {n})?")),
            long("zork", |n| format!(" --o{n:04}")),
        ),
        (
            "patterns with look-around",
            profile(200, |n| format!("tool:bash:(?!git push {n})zork .*")),
            operands(),
        ),
        (
            "URLs",
            profile(200, |n| {
                format!(r"tool:bash:curl( https://[a-z0-9.]*{n}?\.example\.com/.*)+")
            }),
            long("curl", |n| format!(" https://a{n}.example.com/x")),
        ),
        (
            "one URL as long as that",
            profile(200, |n| {
                format!(r"tool:bash:curl https://.*\.example\.com/.*{n}?")
            }),
            long("curl https://a.example.com/", |_| {
                "x.example.com/".to_owned()
            }),
        ),
        (
            "commands behind one another",
            profile(200, |n| format!("tool:bash:ls( [a-z]+)*{n}?")),
            long("ls", |_| "; ls a b".to_owned()),
        ),
        (
            "a name as long as that",
            profile(200, |n| format!("tool:bash:a.*{n}?")),
            long("", |_| "ab".to_owned()),
        ),
        (
            "paths that climb",
            profile(200, |n| format!("tool:bash:cat( docs/.*)+{n}?")),
            long("cat", |n| format!(" docs/../{n}")),
        ),
    ]
}

/// Judges all of [`costly`], as `calls` calls of a step each; the work may be `most`, and what spends it is not allowed.
fn assert_bounded(calls: usize, most: usize) {
    let mut spent_all = 0;
    for (what, profile, command) in costly() {
        let effort = Effort::default();
        let verdict = judge(&profile, &command, calls, &effort);
        let spent = effort.spent();
        assert!(spent <= most + ONE_TEXT, "{what}: {spent}");
        if spent > most {
            spent_all += 1;
            assert_eq!(
                verdict.decision,
                Decision::Ask,
                "{what}: {}",
                verdict.reason
            );
            assert!(
                verdict.reason.contains(TOO_LONG),
                "{what}: {}",
                verdict.reason
            );
        }
    }
    assert!(spent_all >= 6, "{spent_all} took all of it");
}

#[test]
fn a_call_takes_no_more_work_than_its_share() {
    assert_bounded(1, Effort::MOST_FOR_A_CALL);
}

#[test]
fn a_step_of_many_calls_takes_no_more_work_than_its_share() {
    assert_bounded(64, Effort::MOST_FOR_A_STEP);
}

/// A profile of patterns that each match [`operands`], and none of which covers them.
fn narrow(count: usize) -> Arc<Profile> {
    profile(count, |n| {
        format!("tool:bash:zork( [a-z0-9./-]*)*( --end{n})?( .*)?")
    })
}

/// 7,000 operands, and at their end what no pattern covers.
fn operands() -> String {
    long("zork", |n| format!(" a{n:05}")) + " --x"
}

#[test]
fn the_verdict_says_that_the_work_was_too_much() {
    let verdict = judge(&narrow(200), &operands(), 1, &Effort::default());
    assert_eq!(verdict.decision, Decision::Ask);
    assert!(verdict.reason.contains(TOO_LONG), "{}", verdict.reason);
    // Where nothing asks, it is denied.
    let patterns: Vec<String> = (0..200)
        .map(|n| format!("tool:bash:zork( .*)?( {n})?"))
        .collect();
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    let denying = Arc::new(Profile::compile(&patterns, &[], &[]).unwrap());
    let verdict = judge(&denying, &operands(), 20, &Effort::default());
    assert_eq!(verdict.decision, Decision::Deny);
    assert!(verdict.reason.contains(TOO_LONG), "{}", verdict.reason);
}

#[test]
fn once_the_work_of_a_step_is_done_nothing_more_is_matched() {
    let profile = narrow(40);
    let effort = Effort::default();
    judge(&profile, &operands(), 64, &effort);
    let spent = effort.spent();
    let small = judge(&profile, "zork a", 1, &effort);
    assert_eq!(small.decision, Decision::Ask, "{}", small.reason);
    assert_eq!(effort.spent(), spent);
    // The next step has its own.
    let next = judge(&profile, "zork a", 1, &Effort::default());
    assert_eq!(next.decision, Decision::Allow, "{}", next.reason);
}

#[test]
fn denies_are_held_against_no_more_text_than_the_work_allows() {
    let denies: Vec<String> = (0..200)
        .map(|n| format!("tool:bash:.*git push {n}.*"))
        .collect();
    let denies: Vec<&str> = denies.iter().map(String::as_str).collect();
    let profile = Arc::new(Profile::compile(&[".*"], &[], &denies).unwrap());
    for (what, command) in [
        ("echo", long("echo", |_| " a".to_owned())),
        ("many commands", long("ls", |_| "; ls a".to_owned())),
        ("wrappers", long("env", |n| format!(" A{n}=1")) + " ls"),
        ("braces", long("echo", |_| " {a,b}".to_owned())),
        (
            "a here-document",
            long("cat <<E\n", |n| format!("line {n}\n")) + "E",
        ),
        ("substitutions", long("echo", |n| format!(" $(ls {n})"))),
        (
            "nested substitutions",
            "echo ".to_owned() + &"$(echo ".repeat(4_000) + &")".repeat(4_000),
        ),
        ("variables", long("$a", |n| format!(" $x{n}"))),
    ] {
        let effort = Effort::default();
        let verdict = judge(&profile, &command, 64, &effort);
        assert_eq!(
            verdict.decision,
            Decision::Deny,
            "{what}: {}",
            verdict.reason
        );
        let most = Effort::MOST_FOR_A_STEP + ONE_TEXT;
        assert!(effort.spent() <= most, "{what}: {}", effort.spent());
    }
}

#[test]
fn an_everyday_command_takes_little() {
    let profile = profile(200, |n| format!("tool:bash:(cat|ls|git log|tool{n})( .*)?"));
    for command in [
        "cat a b c",
        "ls -la src",
        "git log --oneline -5 -- src/main.rs",
        "cat a | cat; ls",
    ] {
        let effort = Effort::default();
        let verdict = judge(&profile, command, 1, &effort);
        assert_eq!(
            verdict.decision,
            Decision::Allow,
            "{command}: {}",
            verdict.reason
        );
        assert!(effort.spent() < 32 << 10, "{command}: {}", effort.spent());
    }
    let long = long("cat", |n| format!(" src/a{n}.rs"));
    let effort = Effort::default();
    let verdict = judge(&profile, &long, 1, &effort);
    assert_eq!(verdict.decision, Decision::Allow, "{}", verdict.reason);
    assert!(effort.spent() < 1 << 20, "{}", effort.spent());
}
