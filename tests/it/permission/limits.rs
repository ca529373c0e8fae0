//! Commands and patterns made to cost: they are decided, and never in their favour.

use chorus::permission::{Action, Decision, Profile};

fn decisions(command: &str) -> [Decision; 3] {
    let action = Action::shell("bash", command);
    let narrow = Profile::compile(&["tool:bash:(ls|echo)( .*)?"], &[], &[]).unwrap();
    let guarded = Profile::builtin("guarded").unwrap();
    let open = Profile::builtin("open").unwrap();
    [&narrow, &guarded, &open].map(|profile| profile.decide(&action, &[]).decision)
}

#[test]
fn a_command_of_a_megabyte_is_never_allowed_by_a_pattern_that_judges() {
    use Decision::{Allow, Deny};
    for unit in [
        "ls; ",
        "(",
        "$(",
        "`",
        "\"",
        "'",
        "{",
        "a=",
        "<<E\n",
        "\\\n",
        "ls \n",
        "é",
        "|",
        "$((",
        "[[ ",
        "x() {",
        "\u{301}",
        "a\u{301}",
        "\u{430}\u{301}",
    ] {
        let command = unit.repeat((1 << 20) / unit.len());
        assert_eq!(decisions(&command), [Deny, Deny, Allow], "{unit:?}");
    }
}

#[test]
fn a_command_as_long_as_is_read_is_decided_too() {
    for unit in [
        "ls; ",
        "(",
        "$(",
        "`",
        "\"",
        "'",
        "{",
        "a=",
        "<<E\n",
        "<(",
        "|",
        "$((",
        "[[ ",
        "x() {",
        "case x in ",
        "if ",
        "$x ",
        "sh -c '",
    ] {
        let command = unit.repeat((60 << 10) / unit.len());
        let [narrow, _, open] = decisions(&command);
        assert_eq!(
            (narrow, open),
            (Decision::Deny, Decision::Allow),
            "{unit:?}"
        );
    }
    let long = format!("echo {}", "word ".repeat(12_000));
    assert_eq!(
        decisions(&long),
        [Decision::Allow, Decision::Allow, Decision::Allow]
    );
}

#[test]
fn a_deny_holds_for_the_whole_text_however_long_it_is() {
    let profile = Profile::compile(&[".*"], &[], &["tool:bash:.*git push.*"]).unwrap();
    let command = format!("echo {}; git push", "x".repeat(1 << 20));
    assert_eq!(
        profile
            .decide(&Action::shell("bash", command), &[])
            .decision,
        Decision::Deny
    );
}

#[test]
fn a_pattern_that_backtracks_without_end_denies() {
    let profile =
        Profile::compile(&[], &["tool:file:.*"], &[r"tool:file:(a|a|b\1)*(?=c)"]).unwrap();
    let action = Action::new("file", "a".repeat(5_000));
    let verdict = profile.decide(&action, &[]);
    assert_eq!(verdict.decision, Decision::Deny, "{}", verdict.reason);
    let allowing = Profile::compile(&[r"tool:file:(a|a|b\1)*(?=c)"], &["tool:.*"], &[]).unwrap();
    assert_eq!(allowing.decide(&action, &[]).decision, Decision::Ask);
}

#[test]
fn commands_nested_beyond_what_is_followed_are_not_allowed_beside_a_deny() {
    let mut command = "git push".to_owned();
    for _ in 0..12 {
        command = format!("eval {}", shell_quoted(&command));
        if command.len() > 30_000 {
            break;
        }
    }
    assert_eq!(decisions(&command)[1], Decision::Deny);
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
