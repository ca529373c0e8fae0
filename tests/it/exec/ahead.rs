//! The supervisor that waits for the next command.

use rustix::process::{Pid, Signal, kill_process};

use super::limits::bounds_processes;
use super::{Shell, printed, until};

#[tokio::test]
async fn one_waits_from_the_first_command_on_and_ends_with_its_sandbox() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        until(|| shell.supervisors().is_empty()).await;
        for _ in 0..3 {
            assert_eq!(shell.run("true").await.exit, Some(0));
            until(|| shell.supervisors().len() == 1).await;
        }
        let helper = shell.outside("helper").display().to_string();
        drop(shell);
        until(|| super::processes_with(&helper).is_empty()).await;
    }
}

#[tokio::test]
async fn once_the_sandbox_is_closed_none_waits_and_none_follows() {
    let shell = Shell::strongest().await;
    shell.run("true").await;
    shell.sandbox.close().await;
    assert!(shell.supervisors().is_empty());
    assert_eq!(shell.run("true").await.exit, Some(0));
    assert!(shell.supervisors().is_empty());
}

#[tokio::test]
async fn one_that_was_killed_is_replaced() {
    let shell = Shell::strongest().await;
    shell.run("true").await;
    until(|| !shell.supervisors().is_empty()).await;
    let found = std::process::Command::new("pgrep")
        .args(["-f", shell.outside("helper").to_str().unwrap()])
        .output()
        .unwrap();
    let pid = String::from_utf8(found.stdout).unwrap().trim().to_owned();
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    // Its command line goes a moment before it can be waited for.
    until(|| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| stat.contains(") Z "))
    })
    .await;
    assert_eq!(printed(&shell.run("echo on").await), "on\n");
}

#[tokio::test]
async fn one_that_waits_takes_the_limits_of_its_command() {
    let mut shell = Shell::strongest().await;
    if !bounds_processes(&shell) {
        return;
    }
    shell.run("true").await;
    shell.limits.processes = 40;
    let script = "perl -e 'while ($n < 100 && defined($pid = fork)) { $pid || exec(\"sleep\", 600); $n++ } print $n'";
    let started: usize = printed(&shell.run(script).await).parse().unwrap();
    assert!(started < 40, "{started} processes");
}
