//! `bash` as a model sees it.

use std::time::Duration;

use chorus::domain::SandboxMode;
use serde_json::json;

use super::World;
use crate::poll;

/// The result without what varies: the time it took.
fn untimed(text: &str) -> String {
    let pattern = regex::Regex::new(r"\d+\.\d s").unwrap();
    pattern.replace_all(text, "T").into_owned()
}

#[tokio::test]
async fn a_result_is_the_output_and_how_it_ended() {
    let world = World::new().await;
    let text = world
        .lab
        .does(
            "bash",
            json!({"command": "echo out; echo err >&2; printf end"}),
        )
        .await;
    insta::assert_snapshot!(untimed(&text), @r"
    out
    err
    end
    [exit code 0 · T]
    ");
    let text = world.lab.does("bash", json!({"command": "exit 3"})).await;
    assert_eq!(untimed(&text), "[exit code 3 · T]");
}

#[tokio::test]
async fn a_timeout_keeps_what_was_printed() {
    let world = World::new().await;
    // One that comes before anything was printed was too short for this machine.
    for timeout in [1, 4, 16, 64] {
        let call = json!({"command": "echo begun; sleep 1000", "timeout": timeout});
        let text = world.lab.does("bash", call).await;
        let told = format!(
            "[timed out: ended with everything it had started after {timeout} s; for longer work use run_concurrent or run_background]"
        );
        if text == format!("begun\n{told}") {
            return;
        }
        assert!(!text.contains("begun") && text.contains(&told), "{text}");
    }
    panic!("nothing was printed in time");
}

#[tokio::test]
async fn the_operator_bounds_the_timeout() {
    let world = World::new().await;
    world.rules.0.lock().unwrap().max_timeout = Duration::from_secs(1);
    let text = world
        .lab
        .does("bash", json!({"command": "sleep 1000", "timeout": 900}))
        .await;
    assert!(text.contains("after 1 s"), "{text}");
    let why = world
        .lab
        .refuses("bash", json!({"command": "true", "timeout": -1}))
        .await;
    assert_eq!(
        why,
        "`timeout` is a number of seconds above 0, at most 1; -1 is not"
    );
}

#[tokio::test]
async fn long_output_is_kept_whole_behind_a_handle() {
    let world = World::new().await;
    let text = world
        .lab
        .does("bash", json!({"command": "seq 1 100000"}))
        .await;
    assert!(text.starts_with("1\n2\n3\n"), "{}", &text[..50]);
    assert!(text.contains("99999\n100000\n[exit code 0"));
    let handle = text
        .split("handle \"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let page = world
        .lab
        .does("tool_output", json!({"handle": handle, "grep": "^50000$"}))
        .await;
    assert_eq!(page, "50000\t50000\n");
}

#[tokio::test]
async fn a_stop_ends_the_command() {
    let world = World::new().await;
    let stop = world.lab.context.stop.clone();
    let call = world
        .lab
        .does("bash", json!({"command": "touch begun; sleep 1000"}));
    let stopper = async {
        poll::until(|| world.lab.files().join("begun").exists()).await;
        stop.cancel();
    };
    let (text, ()) = tokio::join!(call, stopper);
    assert!(text.starts_with("[stopped after "), "{text}");
}

#[tokio::test]
async fn what_the_sandbox_refuses_is_said() {
    let world = World::new().await;
    let text = world
        .lab
        .does("bash", json!({"command": "touch /usr/new"}))
        .await;
    assert!(
        text.contains("[the sandbox may have refused something: "),
        "{text}"
    );
}

#[tokio::test]
async fn no_command_runs_without_a_sandbox_that_is_required() {
    let world = World::with_helper("/bin/false").await;
    world.rules.0.lock().unwrap().policy.mode = SandboxMode::Required;
    let why = world.lab.refuses("bash", json!({"command": "true"})).await;
    assert!(
        why.starts_with("no command runs here: the setting `sandbox` is `required`"),
        "{why}"
    );
}

#[tokio::test]
async fn what_ruins_the_machine_never_runs() {
    let world = World::new().await;
    for command in [
        "rm -rf /",
        "rm -r -f / && ls",
        "echo hi > /dev/sda",
        ":() { :|:& };:",
        "mkfs.ext4 /dev/sda1",
    ] {
        for tool in ["bash", "run_concurrent", "run_background"] {
            let why = world.lab.refuses(tool, json!({"command": command})).await;
            assert!(
                why.starts_with("this command never runs"),
                "{tool} {command}: {why}"
            );
        }
    }
    let text = world
        .lab
        .does("bash", json!({"command": "echo rm -rf /"}))
        .await;
    assert!(text.starts_with("rm -rf /\n"), "{text}");
}

#[tokio::test]
async fn a_program_that_wants_an_editor_or_a_terminal_ends() {
    let world = World::new().await;
    let commit = "git init -q r && cd r && git config user.name a && git config user.email a@example.org && echo x > f \
        && git add f && git commit";
    let text = world
        .lab
        .does("bash", json!({"command": commit, "timeout": 60}))
        .await;
    assert!(
        text.contains("empty commit message") && text.contains("[exit code 1 "),
        "{text}"
    );
    // The message of an earlier commit is taken as it is.
    let amend = "cd r && git commit -qm first && git commit -q --amend && git log --format=%s";
    let text = world
        .lab
        .does("bash", json!({"command": amend, "timeout": 60}))
        .await;
    assert!(text.starts_with("first\n[exit code 0 "), "{text}");
    let shown = "echo $TERM $GIT_EDITOR $EDITOR $VISUAL $GIT_TERMINAL_PROMPT $PAGER $CI $DEBIAN_FRONTEND; \
        EDITOR=ed bash -c 'echo $EDITOR'";
    let text = world.lab.does("bash", json!({"command": shown})).await;
    assert!(
        text.starts_with("dumb true true true 0 cat 1 noninteractive\ned\n"),
        "{text}"
    );
}

#[tokio::test]
async fn a_model_reads_what_a_terminal_shows_at_last() {
    let world = World::new().await;
    let steps = r"for n in $(seq 400); do printf '\rDownloading %s%%' $n; done; echo";
    let text = world.lab.does("bash", json!({"command": steps})).await;
    assert_eq!(untimed(&text), "Downloading 400%\n[exit code 0 · T]");
    let coloured =
        r"printf '\033[31mred\033[0m \033]8;;https://e.org\033\\link\033]8;;\033\\ a\tb\r\n'";
    let text = world.lab.does("bash", json!({"command": coloured})).await;
    assert_eq!(untimed(&text), "red link a\tb\r\n[exit code 0 · T]");
}
