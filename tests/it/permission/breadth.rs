//! By what a command is allowed: by what sees all of it, or by a narrow pattern that only knows its text.

use std::sync::Arc;

use chorus::permission::{Action, Breadth, Decision, Effort, Profile, Stack};
use serde_json::json;

fn profile(allow: &[&str]) -> Arc<Profile> {
    let written = json!({"allow": allow, "ask": ["tool:bash:.*"]});
    Arc::new(Profile::parse(&written).unwrap())
}

fn breadth(stack: &Stack, command: &str) -> Option<Breadth> {
    let action = Action::parse(&format!("tool:bash:{command}")).unwrap();
    let verdict = stack.decide(&action, &[], &Effort::default());
    (verdict.decision == Decision::Allow).then_some(verdict.breadth)
}

#[test]
fn only_what_covers_its_tool_allows_all_that_a_command_does() {
    for (pattern, expected) in [
        ("tool:bash:.*", Breadth::Whole),
        (".*", Breadth::Whole),
        ("tool:bash:(?!git push).*", Breadth::Whole),
        ("tool:bash:git( .*)?", Breadth::Narrow),
        ("tool:bash:git status", Breadth::Narrow),
    ] {
        let stack = Stack::new(profile(&[pattern]));
        assert_eq!(breadth(&stack, "git status"), Some(expected), "{pattern}");
    }
}

#[test]
fn one_narrow_part_makes_the_line_narrow() {
    let stack = Stack::new(profile(&["tool:bash:(?!rm).*", "tool:bash:rm x"]));
    assert_eq!(breadth(&stack, "ls && ls"), Some(Breadth::Whole));
    assert_eq!(breadth(&stack, "ls && rm x"), Some(Breadth::Narrow));
    assert_eq!(breadth(&stack, "rm x && ls"), Some(Breadth::Narrow));
}

#[test]
fn the_narrowest_of_several_profiles_decides() {
    let (open, narrow) = (profile(&[".*"]), profile(&["tool:bash:git( .*)?"]));
    for stack in [
        Stack::new(open.clone()).with("a role", narrow.clone()),
        Stack::new(narrow).with("a role", open.clone()),
    ] {
        assert_eq!(breadth(&stack, "git status"), Some(Breadth::Narrow));
    }
    let stack = Stack::new(open.clone()).with("a role", open);
    assert_eq!(breadth(&stack, "git status"), Some(Breadth::Whole));
}

#[test]
fn what_is_always_allowed_was_seen_by_a_person() {
    let action = Action::parse("tool:bash:git config --global a.b c").unwrap();
    let always = ["tool:bash:git config --global a.b c".to_owned()];
    let verdict = Stack::new(profile(&[])).decide(&action, &always, &Effort::default());
    assert_eq!(
        (verdict.decision, verdict.breadth),
        (Decision::Allow, Breadth::Whole)
    );
}

/// What names settings must be spelled, whatever wildcard covers the command.
#[test]
fn a_wildcard_does_not_choose_settings_of_a_program() {
    let profile = Stack::new(profile(&[
        "tool:bash:(cp|mv|ln|tee|install|dd|cat|ls|grep|git|tar|rsync|diff|rm|frob)( .*)?",
    ]));
    for command in [
        "cp docs/x .npmrc",
        "cp docs/x ./web/.npmrc",
        "cp docs/x .NPMRC",
        "mv docs/x web/.pylintrc",
        "mv docs/x web//.yarnrc.yml",
        "ln -s docs/x .envrc",
        "cp docs/x .cargo/config.toml",
        "cp docs/x .cargo/config",
        "cp docs/x .bundle/config",
        "cp docs/x .bundle/plugin/index",
        "cp docs/x web/.proverc",
        "cp docs/x rust-toolchain.toml",
        "cp docs/x web/rust-toolchain",
        "cp docs/x mise.toml",
        "cp docs/x .mise/config.toml",
        "cp docs/x mise/config.toml",
        "cp docs/x .config/mise.toml",
        "cp docs/x web/yt-dlp.conf",
        "cp docs/x .tool-versions",
        "cp docs/x .rspec",
        "cp docs/x .bazelrc",
        "cp docs/x bunfig.toml",
        "cp docs/x .perldb",
        "cp docs/x .hg/sharedpath",
        "cp docs/x .jj/working_copy/x",
        "cp docs/x web/.terraform/x",
        "cp docs/x .yarn/releases/yarn.cjs",
        "cp docs/x .gitconfig",
        "cp docs/x .config/git/config",
        "cp docs/x ../home/.config/nvim/init.lua",
        "cp docs/x /srv/agents/lab/home/.ssh/config",
        "cp docs/x evil/.git/config",
        "cp docs/x evil/.git/hooks/post-checkout",
        "cp -r docs/x evil/.git",
        "git mv docs/x .pryrc",
        "git checkout HEAD -- .rprofile",
        "git restore .Rprofile",
        "tee .gdbinit",
        "install docs/x .irbrc",
        "dd if=docs/x of=.lldbinit",
        "rsync docs/x host:.ssh/config",
        "frob --into=.latexmkrc",
        "frob -O.npmrc",
        "frob .npmrc",
    ] {
        assert_eq!(breadth(&profile, command), None, "{command}");
    }
    for command in [
        "cat .npmrc .git/config",
        "grep -r x .config/git",
        "ls -la .cargo",
        "diff .npmrc web/.npmrc",
        "git add .npmrc",
        "git diff .cargo/config.toml",
        "git log -- .pylintrc",
        "git commit -m 'Change .npmrc'",
        "rm .npmrc",
        "cp web/.vimrc web/.gitignore",
        "cp -r .cargo docs",
        "mv .gitignore .gitattributes",
        "cp Makefile package.json pyproject.toml web/",
        "frob .github/workflows/x.yml",
    ] {
        assert!(breadth(&profile, command).is_some(), "{command}");
    }
}

#[test]
fn settings_that_are_spelled_are_allowed() {
    let stack = Stack::new(profile(&[r"tool:bash:cp docs/npmrc \.npmrc"]));
    assert_eq!(
        breadth(&stack, "cp docs/npmrc .npmrc"),
        Some(Breadth::Narrow)
    );
}
