//! Commands that would cost without end to look through.

use chorus::permission::{Action, Decision, Profile};

fn no_removal() -> Profile {
    Profile::compile(&[".*"], &[], &[r"tool:bash:rm -rf.*"]).unwrap()
}

/// Commands whose parts multiply when each is followed.
fn multiplying() -> Vec<String> {
    let nested = |program: &str, times: usize| format!("{} x", vec![program; times].join(" "));
    let shells = format!("env {} -c 'x y'", "sh ".repeat(150));
    let twice = format!("env {} -c \"{shells}\"", "sh ".repeat(150));
    vec![
        nested("poetry run", 60),
        nested("poetry run", 5_000),
        nested("go run", 60),
        nested("cargo watch", 60),
        nested("find . -exec", 60),
        nested("fd -x", 60),
        nested("git submodule foreach", 60),
        nested("docker exec x", 60),
        nested("eval", 60),
        format!("poetry run {}", "word ".repeat(10_000)),
        format!("find . -exec {}", "word ".repeat(10_000)),
        format!("eval {}", "eval ".repeat(10_000)),
        shells,
        twice,
    ]
}

/// Words of which many are known only when they run, and such as are looked at letter by letter.
fn long() -> Vec<String> {
    vec![
        format!("echo {}", "$a ".repeat(20_000)),
        format!("git {}", "$a ".repeat(20_000)),
        format!("echo {}", "a*b ".repeat(15_000)),
        format!("echo x{}", "{a,".repeat(20_000)),
        format!("echo x{}}}", "{".repeat(60_000)),
        format!("echo {}", "'a[$(x)]' ".repeat(6_000)),
        format!("[[ {} ]]", "'a[$(x)]' = 1 && ".repeat(250)),
        format!("socat {}", "EXEC:a,".repeat(8_000)),
        format!("sed {}", "-e p ".repeat(12_000)),
    ]
}

#[test]
fn commands_that_multiply_are_decided() {
    let guarded = Profile::builtin("guarded").unwrap();
    let open = Profile::builtin("open").unwrap();
    let narrow = Profile::compile(
        &[r"tool:bash:(poetry run|go run|cargo watch|find|eval|env|echo|git)( .*)?"],
        &[r"tool:bash:.*"],
        &[],
    )
    .unwrap();
    for command in multiplying().into_iter().chain(long()) {
        let shown: String = command.chars().take(60).collect();
        let action = Action::shell("bash", command);
        assert_eq!(
            open.decide(&action, &[]).decision,
            Decision::Allow,
            "{shown}"
        );
        // Whatever they say of it, they say it.
        let _ = guarded.decide(&action, &[]);
        let _ = narrow.decide(&action, &[]);
        let _ = no_removal().decide(&action, &[]);
    }
}

#[test]
fn a_denied_command_behind_many_others_is_not_allowed() {
    for command in multiplying() {
        let command = format!("{command}; {} rm -rf x", "poetry run ".repeat(40));
        let action = Action::shell("bash", command);
        let verdict = no_removal().decide(&action, &[]);
        assert_eq!(verdict.decision, Decision::Deny, "{}", verdict.reason);
    }
}
