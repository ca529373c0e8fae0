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
        // Its helper joins its group as it starts: it is looked for a few times.
        let waits = json!({"command": "until [ -e go ]; do sleep 0.05; done"});
        uses(world, "run_background", waits).await.ok();
        let mut seen = groups(world);
        for _ in 0..200 {
            if !told.contains("cgroup") || seen.contains("/chorus-") {
                break;
            }
            world.ann.asks("/status", "#lab").await;
            seen = groups(world);
        }
        fs::write(world.workspace("lab").join("go"), "").unwrap();
        told_and_seen = Some((told, seen));
    })
    .await;
    told_and_seen.unwrap()
}

/// The groups of what the daemon started: at least the helper of a command that runs.
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
    let (_programs, path) = path_without_bubblewrap();
    let (told, _) = told_and_seen(json!({}), vec![("PATH", path)]).await;
    assert!(told.starts_with("Landlock (ABI "), "{told}");
    assert!(
        told.ends_with(
            ", network on (bubblewrap is not installed). Without bubblewrap a command can change the mode, times and \
             attributes of every file that the daemon's user owns, and what git runs in its workspace."
        ),
        "{told}"
    );
}

/// A `PATH` without bubblewrap.
fn path_without_bubblewrap() -> (tempfile::TempDir, String) {
    let programs = tempfile::tempdir().unwrap();
    symlink("/usr/bin/bash", programs.path().join("bash")).unwrap();
    let path = programs.path().to_str().unwrap().to_owned();
    (programs, path)
}

#[tokio::test]
async fn without_bubblewrap_required_runs_nothing_and_says_why() {
    let (_programs, path) = path_without_bubblewrap();
    let setup = Setup {
        config: json!({"sandbox": "required"}),
        way: Way::Program,
        env: vec![("PATH", path)],
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let refused = uses(world, "bash", json!({"command": "echo ran"})).await.refused();
        assert_eq!(
            refused,
            "no command runs here: the setting `sandbox` is `required`, but no sandbox works on this machine (bubblewrap is \
             not installed; Without bubblewrap a command can change the mode, times and attributes of every file that the \
             daemon's user owns, and what git runs in its workspace). An operator can install bubblewrap, or set `sandbox` \
             to `auto` to run commands behind weaker layers"
        );
        let status = world.ann.asks("/status", "#lab").await;
        assert!(status.contains("Sandbox: none, so commands are refused (bubblewrap is not installed; "), "{status}");
    })
    .await;
}

#[tokio::test]
async fn status_names_the_agent_s_own_sandbox_and_network() {
    run_test_with(program(json!({})), async |world| {
        let told = world.ann.asks("/status", "#lab").await.replace('\\', "");
        assert!(told.contains("Sandbox: bubblewrap + "), "{told}");
        assert!(told.contains(", network on\n"), "{told}");
        world
            .ann
            .asks("/agent config name:lab key:network value:false", "#lab")
            .await;
        let told = world.ann.asks("/status", "#lab").await.replace('\\', "");
        assert!(told.contains(", network off\n"), "{told}");
        world
            .ann
            .asks("/agent config name:lab key:sandbox value:off", "#lab")
            .await;
        world.confirms().await;
        let told = world.ann.asks("/status", "#lab").await.replace('\\', "");
        assert!(
            told.contains("Sandbox: off (resource limits only)\n"),
            "{told}"
        );
    })
    .await;
}

/// What an agent does so that the next git that a person runs in its workspace runs a program of the agent.
const PLANT: &str = "
    printf '#!/bin/sh\ntouch RAN\n' > p.sh; chmod +x p.sh
    mkdir -p evil/objects evil/refs; cp .git/HEAD evil/; cp -r .git/objects .git/refs evil/
    printf '[core]\n repositoryformatversion = 0\n fsmonitor = %s/p.sh\n' \"$PWD\" > evil/config
    echo ../evil > .git/commondir
    echo planted";

#[tokio::test]
async fn what_an_agent_plants_in_git_does_not_run_for_a_person() {
    run_test_with(program(json!({})), async |world| {
        let workspace = world.workspace("lab");
        let ran = world.home().join("ran");
        let made = uses(world, "git_status", json!({})).await;
        if made.is_error {
            uses(world, "git_init", json!({})).await.ok();
        }
        let plant = PLANT.replace("RAN", &ran.display().to_string());
        let told = uses(world, "bash", json!({"command": plant})).await.text;
        assert!(told.contains("planted"), "{told}");

        let git = std::process::Command::new("git")
            .args(["status", "--short"])
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", world.home())
            .current_dir(&workspace)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&git.stderr);
        assert!(git.status.success(), "{said}");
        assert!(!ran.exists(), "the agent's program ran");
        // The agent goes on with the tools and in the shell.
        uses(world, "git_commit", json!({"message": "Go on"})).await.ok();
        let shell = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m more && git log --oneline | head -1";
        let told = uses(world, "bash", json!({"command": shell})).await.ok();
        assert!(told.contains(" more"), "{told}");
        uses(world, "git_log", json!({})).await.ok();
    })
    .await;
}

fn program(config: Value) -> Setup {
    Setup {
        config,
        way: Way::Program,
        ..Setup::default()
    }
}
