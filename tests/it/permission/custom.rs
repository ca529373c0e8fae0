//! Profiles written by people: what is refused, and how patterns decide.

use chorus::permission::{Action, Decision, Profile, Profiles};
use serde_json::{Value, json};

fn refused(value: Value) -> String {
    Profile::parse(&value).unwrap_err().to_string()
}

#[test]
fn a_profile_that_is_wrong_is_refused_with_list_index_and_reason() {
    for (value, expected) in [
        (
            json!("open"),
            "a permission profile is an object of lists `allow`, `ask` and `deny`, not a string",
        ),
        (
            json!({"allow": [], "ask": [], "alow": []}),
            "a permission profile has no key `alow`; did you mean `allow`?",
        ),
        (
            json!({"allow": []}),
            "the list `ask` is missing; write `\"ask\": []` if it is empty",
        ),
        (
            json!({"allow": "x", "ask": []}),
            "`allow` must be a list of patterns, not a string",
        ),
        (
            json!({"allow": [], "ask": ["a", 7]}),
            "`ask[1]` must be a pattern in quotes, not a number",
        ),
        (
            json!({"allow": [], "ask": [], "deny": null}),
            "`deny` must be a list of patterns, not null",
        ),
    ] {
        assert_eq!(refused(value), expected);
    }
}

#[test]
fn a_pattern_that_does_not_compile_is_named() {
    for pattern in [
        "[invalid",
        "*abc",
        "(?P<n>x)(?P<n>y)",
        "(unclosed",
        "a{2,1}",
        "\\",
        "a)|(b",
        "(a{1000}){1000}",
    ] {
        let error = refused(json!({"allow": [".*"], "ask": ["ok", pattern]}));
        assert!(error.starts_with("`ask[1]` is not a pattern: "), "{error}");
    }
    assert!(refused(json!({"allow": ["a".repeat(2001)], "ask": []})).contains("2001 bytes"));
    let many = vec!["a"; 201];
    assert_eq!(
        refused(json!({"allow": [], "ask": many})),
        "`ask` has 201 patterns, at most 200 are allowed"
    );
}

#[test]
fn deny_comes_first_then_allow_then_ask_then_deny() {
    for (allow, ask, deny, text, expected) in [
        (
            "tool:file:.*",
            "tool:file:.*",
            "none",
            "tool:file:create /src/app.py",
            Decision::Allow,
        ),
        (
            ".*",
            "none",
            "tool:file:c.*",
            "tool:file:create",
            Decision::Deny,
        ),
        (
            "tool:view:.*",
            "tool:.*",
            "none",
            "tool:file:x",
            Decision::Ask,
        ),
        (
            "tool:view:.*",
            "none",
            "none",
            "tool:file:x",
            Decision::Deny,
        ),
        (
            "tool:git:push origin (?!main).*",
            "tool:git:push .*",
            "none",
            "tool:git:push origin main",
            Decision::Ask,
        ),
        (
            r"tool:file:(\w+) \1",
            "none",
            "none",
            "tool:file:aa aa",
            Decision::Allow,
        ),
        (
            "^tool:file:a|tool:file:b$",
            "none",
            "none",
            "tool:file:b",
            Decision::Allow,
        ),
        (
            "^tool:file:a|tool:file:b$",
            "none",
            "none",
            "tool:file:b c",
            Decision::Deny,
        ),
    ] {
        let profile = Profile::compile(&[allow], &[ask], &[deny]).unwrap();
        let verdict = profile.decide(&Action::parse(text).unwrap(), &[]);
        assert_eq!(verdict.decision, expected, "{text}: {}", verdict.reason);
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let profiles = Profiles::with([("house", &json!({"allow": [], "ask": []}))]).unwrap();
    let error = profiles
        .resolve(&chorus::domain::ProfileRef::Named("standrad".into()))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "no permission profile is called `standrad`; did you mean `standard`?"
    );
    let names: Vec<&str> = profiles.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["open", "guarded", "standard", "locked", "house"]);
    assert!(Profiles::with([("open", &json!({"allow": [], "ask": []}))]).is_err());
}
