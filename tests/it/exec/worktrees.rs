//! A program with a worktree and a relay: what it writes, what it reads, and where its connections lead.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use chorus::config::RELAY_ADDRESS;
use chorus::domain::SandboxMode;
use chorus::exec::{Policy, Program, Streams, Worktree, find_program};
use tokio::io::AsyncReadExt as _;

use super::Shell;

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments);
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "lab");
        command.env(format!("GIT_{role}_EMAIL"), "lab@example.org");
    }
    let outcome = command.output().unwrap();
    let said = String::from_utf8_lossy(&outcome.stdout).trim().to_owned();
    assert!(outcome.status.success(), "git {arguments:?}: {outcome:?}");
    said
}

/// A workspace with a repository, and two worktrees of it.
async fn repository() -> Shell {
    let shell = Shell::strongest().await;
    let workspace = shell.workspace();
    git(&workspace, &["init", "-q", "-b", "main"]);
    fs::write(workspace.join("code"), "code\n").unwrap();
    git(&workspace, &["add", "."]);
    git(&workspace, &["commit", "-q", "-m", "begin"]);
    for role in ["backend", "other"] {
        let (folder, branch) = (shell.outside(role), format!("team/{role}"));
        let folder = folder.to_str().unwrap();
        git(
            &workspace,
            &["worktree", "add", "-q", "-b", &branch, folder],
        );
    }
    shell
}

/// The member `backend`, which runs `script` in its worktree.
fn member(shell: &Shell, script: &str) -> Program {
    let script = format!(
        "cd '{}' || exit 9\n{script}",
        shell.outside("backend").display()
    );
    let mut environment = BTreeMap::from([("RELAY".to_owned(), RELAY_ADDRESS.to_owned())]);
    for role in ["AUTHOR", "COMMITTER"] {
        environment.insert(format!("GIT_{role}_NAME"), "backend".to_owned());
        environment.insert(format!("GIT_{role}_EMAIL"), "b@example.org".to_owned());
    }
    Program {
        file: find_program("bash").unwrap(),
        arguments: vec!["-c".to_owned(), script],
        environment,
        home: shell.outside("home-of-backend"),
        directory: PathBuf::from("."),
        workspace: None,
        worktree: Some(Worktree {
            folder: shell.outside("backend"),
            repository: Some(shell.workspace().join(".git")),
            name: "backend".to_owned(),
        }),
        relay: Some(shell.outside("relay.sock")),
        read: Vec::new(),
        policy: shell.policy,
        limits: shell.limits,
    }
}

/// Answers each line of a connection with `heard` and that line.
fn relay(shell: &Shell) {
    let listener = UnixListener::bind(shell.outside("relay.sock")).unwrap();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            thread::spawn(move || {
                let lines = BufReader::new(connection.try_clone().unwrap()).lines();
                for line in lines.map_while(Result::ok) {
                    writeln!(connection, "heard {line}").unwrap();
                }
            });
        }
    });
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
    assert_eq!(running.wait().await, Ok(0), "{text}{complaint}");
    text
}

#[tokio::test]
async fn a_member_commits_on_its_branch_and_writes_nothing_else() {
    let shell = repository().await;
    relay(&shell);
    let before = git(&shell.workspace(), &["rev-parse", "main"]);
    let script = format!(
        "cat code; echo mine > new; git add new && git commit -q -m work && git log -1 --format=%s
         top='{}'; git=$top/workspace/.git
         echo x 2>/dev/null > $top/workspace/made
         for file in $git/config $git/hooks/post-commit $git/refs/heads/main $git/HEAD $git/packed-refs \\
             $git/objects/info/alternates $git/worktrees/backend/commondir $git/worktrees/backend/gitdir \\
             $git/worktrees/other/HEAD $top/other/made /.made $git/logs/HEAD; do
           (echo x >> $file) 2>/dev/null && echo wrote $file; done
         for file in $top/workspace/code $top/other/code $top/relay.sock; do [ -e $file ] && echo saw $file; done
         git branch -f main HEAD 2>/dev/null && echo moved main
         ln -s $top/workspace/code ~/link; cat ~/link 2>/dev/null; true",
        shell.outside("").display(),
    );
    assert_eq!(said(&shell, &member(&shell, &script)).await, "code\nwork\n");
    let workspace = shell.workspace();
    assert_eq!(git(&workspace, &["rev-parse", "main"]), before);
    assert_eq!(
        git(
            &workspace,
            &["log", "-1", "--format=%an %s", "team/backend"]
        ),
        "backend work"
    );
    // A folder of its own may stand in for one that it does not see, so the real one is looked at.
    assert!(!workspace.join("made").exists());
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "");
    git(&workspace, &["fsck", "--strict"]);
}

#[tokio::test]
async fn a_member_reaches_its_relay_and_no_other_address() {
    let shell = repository().await;
    relay(&shell);
    let script = "port=${RELAY##*:}; exec 3<>/dev/tcp/127.0.0.1/$port; echo one >&3; read -r line <&3; echo $line
        exec 4<>/dev/tcp/127.0.0.1/$port; echo two >&4; read -r line <&4; echo $line; echo ${RELAY%:*}
        (exec 5<>/dev/tcp/192.0.2.1/80) 2>/dev/null && echo out; ls /sys/class/net 2>/dev/null; true";
    let text = said(&shell, &member(&shell, script)).await;
    assert!(
        text.starts_with("heard one\nheard two\nhttp://127.0.0.1\n"),
        "{text}"
    );
    assert!(!text.contains("out"), "{text}");
}

#[tokio::test]
async fn a_member_runs_in_bubblewrap_or_not_at_all() {
    let shell = repository().await;
    relay(&shell);
    let program = member(&shell, "true");
    for mode in [SandboxMode::Auto, SandboxMode::Off] {
        let policy = Policy {
            mode,
            ..program.policy
        };
        let weaker = Program {
            policy,
            ..program.clone()
        };
        let refused = shell.sandbox.start(&weaker).await.unwrap_err();
        assert!(
            refused.to_string().contains("only in bubblewrap"),
            "{refused}"
        );
    }
    let without = Shell::without_bubblewrap().await;
    assert!(without.sandbox.start(&program).await.is_err());
}

#[tokio::test]
async fn a_link_in_the_repository_leads_no_member_elsewhere() {
    for part in [
        "refs/heads/team",
        "objects",
        "worktrees/backend",
        "logs/refs",
    ] {
        let shell = repository().await;
        relay(&shell);
        let git = shell.workspace().join(".git");
        let elsewhere = shell.outside("elsewhere");
        fs::rename(git.join(part), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, git.join(part)).unwrap();
        let started = shell.sandbox.start(&member(&shell, "true")).await;
        assert!(started.is_err(), "{part}");
    }
}
