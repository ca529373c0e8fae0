//! A command's folder and hooks as a part of its action: told apart from the command, and never covered by a wildcard.

use chorus::permission::{Action, Decision, Profile, Surroundings, scope};
use proptest::prelude::*;

fn action(command: &str, folder: Option<&str>, hooks: Option<&str>) -> Action {
    Action::shell("run_concurrent", command).within(Surroundings {
        folder: folder.map(str::to_owned),
        hooks: hooks.map(str::to_owned),
        model: None,
    })
}

/// A command with hooks whose turns another model works in.
fn with_model(command: &str, hooks: &str, model: &str) -> Action {
    Action::shell("run_concurrent", command).within(Surroundings {
        folder: None,
        hooks: Some(hooks.to_owned()),
        model: Some(model.to_owned()),
    })
}

#[test]
fn the_model_of_a_hook_is_a_part_of_the_action() {
    let action = with_model("make", "fix it", "gpt-5");
    let text = r#"tool:run_concurrent:make with hooks "fix it" and model "gpt-5""#;
    assert_eq!(action.to_string(), text);
    assert_eq!(Action::parse(text).unwrap().to_string(), text);
    // A command that ends so is told apart.
    let command = r#"make with hooks "fix it" and model "gpt-5""#;
    let spelled = self::action(command, None, None).to_string();
    assert_eq!(spelled, format!("{text} in ."));
    assert_eq!(Action::parse(&spelled).unwrap().detail, command);
    let nothing = Profile::compile(&[], &[".*"], &[]).unwrap();
    let covers = |entry: &str, action: &Action| {
        nothing.decide(action, &[entry.to_owned()]).decision == Decision::Allow
    };
    assert!(covers(text, &action));
    assert!(!covers(text, &with_model("make", "fix it", "opus")));
    assert!(!covers(
        r#"tool:run_concurrent:make with hooks "fix it""#,
        &action
    ));
    let bound = scope(text).bound;
    assert_eq!(
        bound.last().unwrap(),
        &("Model of their turns", "gpt-5".to_owned())
    );
    for (pattern, expected) in [
        (r#"make with hooks ".*""#, false),
        (r#"make with hooks ".*" and model "gpt-5""#, true),
        ("make( .*)?", false),
        (".*", true),
    ] {
        let pattern = format!("tool:run_concurrent:{pattern}");
        let profile = Profile::compile(&[&pattern], &[], &[]).unwrap();
        let allowed = profile.decide(&action, &[]).decision == Decision::Allow;
        assert_eq!(allowed, expected, "{pattern}");
    }
}

#[test]
fn an_action_spells_where_it_runs() {
    for (command, folder, hooks, expected) in [
        ("make", None, None, "make"),
        ("make", Some("web"), None, "make in web"),
        ("make", Some("my web"), None, "make in \"my web\""),
        (
            "make",
            None,
            Some("say \"done\""),
            r#"make with hooks "say \"done\"""#,
        ),
        (
            "make",
            Some("web"),
            Some("stop"),
            r#"make in web with hooks "stop""#,
        ),
        ("echo all in all", None, None, "echo all in all in ."),
        (
            "echo all in all",
            Some("web"),
            None,
            "echo all in all in web",
        ),
        (
            r#"x with hooks "y""#,
            None,
            None,
            r#"x with hooks "y" in ."#,
        ),
    ] {
        let text = action(command, folder, hooks).to_string();
        assert_eq!(text, format!("tool:run_concurrent:{expected}"));
        assert_eq!(Action::parse(&text).unwrap().to_string(), text);
    }
}

#[test]
fn a_pattern_covers_a_folder_or_hooks_only_by_spelling_them() {
    for (pattern, command, folder, hooks, expected) in [
        (
            "git (status|log|diff)( .*)?",
            "git status",
            None,
            None,
            true,
        ),
        (
            "git (status|log|diff)( .*)?",
            "git status",
            Some("evil"),
            None,
            false,
        ),
        (
            "git (status|log|diff)( .*)?",
            "git status",
            None,
            Some("run it"),
            false,
        ),
        (
            "git (status|log|diff)( .*)?",
            "git status in evil",
            None,
            None,
            true,
        ),
        (r"make( \w+)*", "make", Some("evil"), None, false),
        ("make( [a-z]+)*", "make", Some("evil"), None, false),
        ("make( .. [a-z]+)?", "make", Some("evil"), None, false),
        ("make in web", "make", Some("web"), None, true),
        ("make in web", "make", Some("evil"), None, false),
        ("make in web", "make", None, None, false),
        ("make in web", "make in web", None, None, false),
        ("make( .*)? in web", "make all", Some("web"), None, true),
        ("make in .*", "make", Some("web"), Some("run it"), false),
        (
            r#"make in .* with hooks ".*""#,
            "make",
            Some("web"),
            Some("say so"),
            true,
        ),
        (".*", "make", Some("evil"), Some("run it"), true),
        ("(?!rm ).*", "make", Some("evil"), None, false),
    ] {
        let pattern = format!("tool:run_concurrent:{pattern}");
        let profile = Profile::compile(&[&pattern], &[], &[]).unwrap();
        let verdict = profile.decide(&action(command, folder, hooks), &[]);
        let allowed = verdict.decision == Decision::Allow;
        assert_eq!(
            allowed, expected,
            "{pattern} {command} {folder:?}: {}",
            verdict.reason
        );
    }
}

#[test]
fn a_deny_bites_in_every_folder_and_may_speak_of_one() {
    for (deny, folder, expected) in [
        ("rm .*", None, true),
        ("rm .*", Some("web"), true),
        ("rm x", Some("web"), true),
        (".* in web", Some("web"), true),
        (".* in web", Some("app"), false),
    ] {
        let deny = format!("tool:run_concurrent:{deny}");
        let profile = Profile::compile(&[".*"], &[], &[&deny]).unwrap();
        let verdict = profile.decide(&action("ls; rm x", folder, None), &[]);
        assert_eq!(
            verdict.decision == Decision::Deny,
            expected,
            "{deny} {folder:?}"
        );
    }
}

#[test]
fn an_entry_of_always_allow_covers_the_same_folder_and_hooks_only() {
    let nothing = Profile::compile(&[], &[".*"], &[]).unwrap();
    let covers = |entry: &str, action: &Action| {
        nothing.decide(action, &[entry.to_owned()]).decision == Decision::Allow
    };
    let entry = "tool:run_concurrent:bash build.sh";
    assert!(covers(entry, &action("bash build.sh", None, None)));
    assert!(!covers(entry, &action("bash build.sh", Some("evil"), None)));
    assert!(!covers(
        entry,
        &action("bash build.sh", None, Some("run curl"))
    ));
    let entry = "tool:run_concurrent:bash build.sh in good";
    assert!(covers(entry, &action("bash build.sh", Some("good"), None)));
    assert!(!covers(entry, &action("bash build.sh in good", None, None)));
    assert!(!covers(
        entry,
        &action("bash build.sh", Some("good"), Some("x"))
    ));
}

#[test]
fn every_entry_has_words() {
    for (entry, expected) in [
        (
            "tool:bash:ls",
            "Run this command and wait for it; Command=ls; Folder: the workspace itself",
        ),
        (
            "tool:run_background:make in web",
            "Start this command so that it goes on after the turn; Command=make; Folder=web",
        ),
        (
            "tool:self_edit:system_prompt",
            "Replace its own system prompt",
        ),
        (
            "tool:self_edit:permissions:custom",
            "Give itself a permission profile that is spelled out",
        ),
        (
            "tool:git:merge_request main",
            "Open merge or pull requests; Into the branch=main",
        ),
        (
            "tool:git:branch --delete old",
            "Delete this git branch; Branch=old",
        ),
        (
            "tool:create_file:src/a.rs",
            "Write this file whole; File=src/a.rs",
        ),
        (
            "tool:agent_comm:send bob",
            "Send messages to this agent; Agent=bob",
        ),
        (
            "tool:add_process_hooks:task_001",
            "Add hooks to this task; Task=task_001",
        ),
        ("tool:tomorrow:x", "Use this tool; Tool=tomorrow; With=x"),
        (
            "nonsense",
            "Do nothing: this entry is not an action; Entry=nonsense",
        ),
    ] {
        let scope = scope(entry);
        let bound: String = scope
            .bound
            .iter()
            .map(|(name, value)| match value.as_str() {
                "" => format!("; {name}"),
                value => format!("; {name}={value}"),
            })
            .collect();
        assert_eq!(format!("{}{bound}", scope.what), expected);
    }
}

proptest! {
    #[test]
    fn no_two_calls_have_the_same_action(
        words in prop::collection::vec(prop::sample::select(vec![
            "make", " in ", "web", ".", " with hooks ", "\"x\"", "\"", "\\", " ", "a b",
        ]), 1..8),
        cut in 0_usize..8,
        hooks in any::<bool>(),
    ) {
        // The same letters, divided otherwise between command, folder and hooks.
        let whole = words.concat();
        let at = words.iter().take(cut).map(|word| word.len()).sum::<usize>().min(whole.len());
        let (head, tail) = whole.split_at(at);
        let tail = (!tail.is_empty() && tail != ".").then_some(tail);
        let divided = if hooks { action(head, None, tail) } else { action(head, tail, None) };
        let text = divided.to_string();
        let read = Action::parse(&text).unwrap();
        prop_assert_eq!(&read.detail, head);
        prop_assert_eq!(read.to_string(), text);
    }
}
