//! Programs that are talked to: their streams, what they see, and their end.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use chorus::exec::{GivenWorkspace, Program, RunningProgram, Streams, find_program};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use super::{Shell, processes_with, until};

/// A program that is a script for bash.
fn program(shell: &Shell, script: &str) -> Program {
    Program {
        file: find_program("bash").unwrap(),
        arguments: vec!["-c".to_owned(), script.to_owned()],
        environment: BTreeMap::from([("GIVEN".to_owned(), "yes".to_owned())]),
        home: shell.outside("server"),
        directory: PathBuf::from("."),
        workspace: None,
        worktree: None,
        relay: None,
        read: Vec::new(),
        policy: shell.policy,
        limits: shell.limits,
    }
}

/// All that it prints.
async fn said(shell: &Shell, program: &Program) -> String {
    let (mut running, streams) = shell.sandbox.start(program).await.unwrap();
    let Streams {
        input,
        mut output,
        mut errors,
    } = streams;
    drop(input);
    let (mut text, mut complaint) = (String::new(), String::new());
    output.read_to_string(&mut text).await.unwrap();
    errors.read_to_string(&mut complaint).await.unwrap();
    assert_eq!(running.wait().await.map(|_| ()), Ok(()), "{complaint}");
    text
}

/// A program that has said `ready`.
async fn ready(shell: &Shell, script: &str) -> (RunningProgram, Streams) {
    let (running, mut streams) = shell.sandbox.start(&program(shell, script)).await.unwrap();
    let mut first = [0; 6];
    streams.output.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"ready\n");
    (running, streams)
}

/// A number of seconds that no other test sleeps for.
fn mark(number: u32) -> String {
    format!("7{number}{}", std::process::id())
}

#[tokio::test]
async fn a_program_is_talked_to_and_ends_with_its_input() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        let script = "while read -r line; do echo \"heard $line\"; echo aside >&2; done; exit 4";
        let (mut running, streams) = shell.sandbox.start(&program(&shell, script)).await.unwrap();
        let Streams {
            mut input,
            output,
            errors,
        } = streams;
        let (mut lines, mut aside) = (
            BufReader::new(output).lines(),
            BufReader::new(errors).lines(),
        );
        for word in ["one", "two"] {
            input
                .write_all(format!("{word}\n").as_bytes())
                .await
                .unwrap();
            assert_eq!(
                lines.next_line().await.unwrap(),
                Some(format!("heard {word}"))
            );
            assert_eq!(aside.next_line().await.unwrap().as_deref(), Some("aside"));
        }
        drop(input);
        assert_eq!(lines.next_line().await.unwrap(), None);
        assert_eq!(running.wait().await, Ok(4));
    }
}

#[tokio::test]
async fn its_environment_is_that_of_a_command_and_its_own() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        let script = "env | sort; stat -c %a \"$HOME\"; pwd";
        let text = said(&shell, &program(&shell, script)).await;
        let home = shell.outside("server");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.contains(&"GIVEN=yes"), "{text}");
        assert!(
            lines.contains(&format!("HOME={}", home.display()).as_str()),
            "{text}"
        );
        assert!(
            lines.contains(&format!("TMPDIR={}/tmp", home.display()).as_str()),
            "{text}"
        );
        assert!(lines.contains(&"700"), "{text}");
        assert_eq!(lines.last(), Some(&home.to_str().unwrap()));
        assert!(!text.contains("CARGO"), "{text}");
    }
}

#[tokio::test]
async fn what_a_program_reaches() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        fs::create_dir(shell.outside("other")).unwrap();
        let texts = ["workspace/code", ".mcp.json", "chorus.db", "other/secret"];
        for name in texts {
            fs::write(shell.outside(name), name).unwrap();
        }
        let script = format!(
            "cd '{}'; for f in {}; do cat $f 2>/dev/null && echo; done
             for f in workspace/new .mcp.json chorus.db other/new server/new; do echo x 2>/dev/null >>$f; done; true",
            shell.outside("").display(),
            texts.join(" "),
        );
        for (given, reads, writes) in [
            (None, "", false),
            (Some(GivenWorkspace::Read), "workspace/code\n", false),
            (Some(GivenWorkspace::Write), "workspace/code\n", true),
        ] {
            let program = Program {
                workspace: given.map(|given| (shell.workspace(), given)),
                ..program(&shell, &script)
            };
            assert_eq!(said(&shell, &program).await, reads, "{given:?}");
            for name in texts {
                assert_eq!(fs::read_to_string(shell.outside(name)).unwrap(), name);
            }
            let made = |name: &str| fs::remove_file(shell.outside(name)).is_ok();
            assert_eq!(made("workspace/new"), writes, "{given:?}");
            assert!(made("server/new") && !made("other/new"));
        }
    }
}

#[tokio::test]
async fn a_link_in_its_home_leads_nowhere() {
    let shell = Shell::strongest().await;
    let home = shell.outside("server");
    fs::create_dir(&home).unwrap();
    std::os::unix::fs::symlink(shell.outside("elsewhere"), home.join("tmp")).unwrap();
    fs::create_dir(shell.outside("elsewhere")).unwrap();
    assert!(shell.sandbox.start(&program(&shell, "true")).await.is_err());
    fs::remove_file(home.join("tmp")).unwrap();
    for directory in ["..", "/etc", "a/../../b"] {
        let odd = Program {
            directory: PathBuf::from(directory),
            ..program(&shell, "true")
        };
        assert!(shell.sandbox.start(&odd).await.is_err(), "{directory}");
    }
}

#[tokio::test]
async fn its_end_leaves_no_process() {
    for (number, shell) in [Shell::strongest().await, Shell::without_bubblewrap().await]
        .iter()
        .enumerate()
    {
        let mark = mark(u32::try_from(number).unwrap());
        // One that leaves its session, one that ignores the signal, and one that ends when asked to.
        let script = format!(
            "setsid sleep {mark} & (trap '' TERM; sleep {mark}) & echo ready; trap '' TERM; sleep {mark}"
        );
        let (running, streams) = ready(shell, &script).await;
        drop(streams);
        running.end().await;
        assert_eq!(processes_with(&mark), Vec::<String>::new());

        let (running, streams) = ready(shell, &script).await;
        drop((running, streams));
        until(|| processes_with(&mark).is_empty()).await;
    }
}

#[tokio::test]
async fn six_that_ignore_the_signal_end_together() {
    let shell = Shell::strongest().await;
    let mark = mark(9);
    let script = format!("echo ready; trap '' TERM; sleep {mark}");
    let mut all = Vec::new();
    for _ in 0..6 {
        let (running, streams) = ready(&shell, &script).await;
        drop(streams);
        all.push(running);
    }
    futures_util::future::join_all(all.into_iter().map(RunningProgram::end)).await;
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

#[tokio::test]
async fn what_cannot_be_run_says_why() {
    let shell = Shell::strongest().await;
    let file = shell.outside("no-program");
    fs::write(&file, "no program").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let odd = Program {
        file: file.clone(),
        read: vec![file],
        ..program(&shell, "")
    };
    let (mut running, mut streams) = shell.sandbox.start(&odd).await.unwrap();
    let mut words = String::new();
    streams.errors.read_to_string(&mut words).await.unwrap();
    assert!(words.contains("Permission denied"), "{words}");
    assert!(matches!(running.wait().await, Ok(code) if code != 0));
}
