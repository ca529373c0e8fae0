//! What stands around commands, as people are told.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::greed::processes;
use super::uses;
use crate::world::{Setup, Way, World, run_test_with};

/// What `/status` says of the sandbox, and the control groups that the daemon's helpers are in.
async fn told_and_seen(config: Value, env: Vec<(&'static str, String)>) -> (String, String) {
    let setup = Setup {
        config,
        way: Way::Program,
        env,
        ..Setup::default()
    };
    let mut told_and_seen = None;
    run_test_with(setup, async |world| {
        let status = world.ann.asks("/status", "#lab").await.replace('\\', "");
        let mut lines = status
            .lines()
            .filter_map(|line| line.split_once("Sandbox: "));
        let (_, told) = lines.next().unwrap_or_else(|| panic!("{status}"));
        let told = told.to_owned();
        let ran = uses(world, "bash", json!({"command": "echo ran"}))
            .await
            .ok();
        assert!(ran.starts_with("ran\n"), "{ran}");
        told_and_seen = Some((told, groups(world)));
    })
    .await;
    told_and_seen.unwrap()
}

/// The groups of what the daemon started: at least the helper that waits for the next command.
fn groups(world: &World) -> String {
    let all = processes().into_iter();
    let own = all.filter(|(_, parent)| *parent == world.pid());
    own.filter_map(|(pid, _)| fs::read_to_string(format!("/proc/{pid}/cgroup")).ok())
        .collect()
}

#[tokio::test]
async fn the_walls_that_stand_are_named_and_no_others() {
    let (told, groups) = told_and_seen(json!({"network": false}), Vec::new()).await;
    assert!(told.starts_with("bubblewrap + Landlock (ABI "), "{told}");
    assert!(told.ends_with(", network off"), "{told}");
    assert_eq!(
        told.contains("cgroup"),
        groups.contains("/chorus-"),
        "{told}\n{groups}"
    );
}

#[tokio::test]
async fn what_the_operator_switched_off_is_said_to_be_off() {
    let (told, _) = told_and_seen(json!({"sandbox": "off"}), Vec::new()).await;
    assert_eq!(told, "off (resource limits only)");
}

#[tokio::test]
async fn without_bubblewrap_that_is_said() {
    let programs = tempfile::tempdir().unwrap();
    symlink("/usr/bin/bash", programs.path().join("bash")).unwrap();
    let path = programs.path().to_str().unwrap().to_owned();
    let (told, _) = told_and_seen(json!({}), vec![("PATH", path)]).await;
    assert!(told.starts_with("Landlock (ABI "), "{told}");
    assert!(
        told.ends_with(", network on (bubblewrap is not installed)"),
        "{told}"
    );
}
