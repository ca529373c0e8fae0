//! What a command gets and gives.

use std::fs;

use chorus::domain::SandboxMode;
use chorus::exec::{Bounds, Command, ExecError, MAX_SCRIPT};
use tokio_util::sync::CancellationToken;

use super::{LONG, Shell, printed};

#[tokio::test]
async fn output_comes_back_in_the_order_written_with_the_exit_code() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        let finished = shell
            .run("echo one; echo two >&2; echo three; exit 3")
            .await;
        assert_eq!(printed(&finished), "one\ntwo\nthree\n");
        assert_eq!(finished.exit, Some(3));
    }
}

#[tokio::test]
async fn a_command_works_in_its_workspace_and_nowhere_else() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        let finished = shell.run("pwd; echo $HOME; echo kept > file").await;
        let workspace = shell.workspace();
        let home = shell.outside("home");
        let expected = format!("{}\n{}\n", workspace.display(), home.display());
        assert_eq!(printed(&finished), expected);
        assert_eq!(
            fs::read_to_string(workspace.join("file")).unwrap(),
            "kept\n"
        );
    }
}

#[tokio::test]
async fn a_folder_that_became_a_link_is_not_entered() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        let workspace = shell.workspace();
        fs::create_dir_all(workspace.join("real/deep")).unwrap();
        std::os::unix::fs::symlink("real", workspace.join("link")).unwrap();
        let run = async |folder: &str| {
            let command = Command {
                directory: workspace.join(folder),
                ..shell.command("pwd; echo ran > ran")
            };
            let bounds = Bounds {
                timeout: LONG,
                abort: CancellationToken::new(),
                spool: None,
            };
            let stop = CancellationToken::new();
            shell.sandbox.run(&command, bounds, &stop).await
        };
        let finished = run("real/deep").await.unwrap();
        let expected = format!("{}\n", workspace.join("real/deep").display());
        assert_eq!(printed(&finished), expected);
        for folder in ["link", "link/deep"] {
            let outcome = run(folder).await;
            assert!(outcome.is_err(), "{outcome:?}");
        }
        assert!(!workspace.join("real/ran").exists());
    }
}

#[tokio::test]
async fn the_environment_is_an_allow_list_and_input_is_empty() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        let finished = shell
            .run("env | cut -d= -f1 | sort; cat; ls /proc/self/fd 2>&1 | wc -l")
            .await;
        let text = printed(&finished);
        let known = [
            "CI",
            "DEBIAN_FRONTEND",
            "EDITOR",
            "GIT_CONFIG_COUNT",
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_KEY_0",
            "GIT_CONFIG_VALUE_0",
            "GIT_EDITOR",
            "GIT_TERMINAL_PROMPT",
            "HOME",
            "LANG",
            "LC_ALL",
            "PAGER",
            "PATH",
            "PWD",
            "RUSTUP_HOME",
            "SHLVL",
            "TERM",
            "TMPDIR",
            "TZ",
            "VISUAL",
            "XDG_CONFIG_HOME",
            "_",
        ];
        for line in text.lines().filter(|line| line.parse::<u32>().is_err()) {
            assert!(known.contains(&line), "{line} is in the environment");
        }
    }
}

#[tokio::test]
async fn a_private_tmp_is_writable() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        let finished = shell
            .run("file=$(mktemp) && echo inside > $file && cat $file <(echo substituted)")
            .await;
        assert_eq!(printed(&finished), "inside\nsubstituted\n");
    }
}

#[tokio::test]
async fn a_command_that_no_shell_can_be_given_is_refused_with_the_reason() {
    let shell = Shell::without_bubblewrap().await;
    let error = shell.try_run("echo \0", LONG).await.unwrap_err();
    assert!(matches!(error, ExecError::Invalid(_)), "{error}");
    let long = "#".repeat(MAX_SCRIPT + 1);
    let error = shell.try_run(&long, LONG).await.unwrap_err();
    assert!(error.to_string().contains("write it to a file"), "{error}");
    let longest = format!("{}\nexit 7", "#".repeat(MAX_SCRIPT - 7));
    assert_eq!(shell.run(&longest).await.exit, Some(7));
}

#[tokio::test]
async fn with_the_sandbox_off_a_command_runs_without_walls() {
    let mut shell = Shell::strongest().await;
    shell.policy.mode = SandboxMode::Off;
    assert!(!shell.sandbox.confines(shell.policy));
    let target = shell.outside("free");
    let finished = shell
        .run(&format!("touch {0} && echo done", target.display()))
        .await;
    assert_eq!(printed(&finished), "done\n");
    assert!(target.exists());
}

#[tokio::test]
async fn the_layers_are_named() {
    let shell = Shell::without_bubblewrap().await;
    let said = shell.sandbox.describe(shell.policy);
    assert!(said.starts_with("Landlock (ABI "), "{said}");
    assert!(said.contains("bubblewrap is switched off"), "{said}");
}
