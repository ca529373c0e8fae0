//! Folders of the machine that are mounted, or in which something is: only root can try it, so another user skips these.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::bound_folder::Machine;
use super::uses;
use crate::lifecycle::{destroys, letter};
use crate::world::run_test_with;

/// A folder mounted at another place, until it is dropped.
pub(super) struct Mounted(PathBuf);

impl Mounted {
    /// `None` where this user cannot mount.
    pub(super) fn bind(folder: &Path, at: &Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        let mount = mount.arg("--bind").args([folder, at]).output().unwrap();
        mount.status.success().then(|| Self(at.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[tokio::test]
async fn a_disk_that_is_not_mounted_is_told_once_and_used_when_it_is_back() {
    let machine = Machine::new();
    fs::create_dir(machine.at("disk")).unwrap();
    let Some(mounted) = Mounted::bind(&machine.at("secret"), &machine.at("disk")) else {
        return;
    };
    run_test_with(machine.setup(), async |world| {
        let disk = machine.at("disk");
        let made = format!("/agent init name:lab folder:{}", disk.display());
        let made = world.ann.asks(&made, "#general").await;
        assert!(made.contains("is ready"), "{made}");
        uses(world, "view", json!({"path": "key"})).await.ok();
        drop(mounted);
        for _ in 0..2 {
            let new = json!({"path": "a.txt", "content": "x"});
            let told = uses(world, "create_file", new).await.refused();
            assert!(told.contains("disk may not be mounted"), "{told}");
            uses(world, "bash", json!({"command": "touch a"}))
                .await
                .refused();
            uses(world, "git_init", json!({})).await.refused();
            assert_eq!(fs::read_dir(&disk).unwrap().count(), 0);
            world.restarts().await;
        }
        let shown = world.discord.transcript(world.channel("#lab"));
        assert_eq!(
            shown.matches("I cannot work as usual").count(),
            1,
            "{shown}"
        );
        let letters = letter(world, "disk may not be mounted").await;
        assert_eq!(
            letters.matches("disk may not be mounted").count(),
            1,
            "{letters}"
        );
        let _again = Mounted::bind(&machine.at("secret"), &disk).unwrap();
        uses(world, "view", json!({"path": "key"})).await.ok();
        uses(world, "bash", json!({"command": "touch a"}))
            .await
            .ok();
        assert!(machine.at("secret/a").exists());
    })
    .await;
}

#[tokio::test]
async fn a_mount_of_the_system_below_a_root_is_no_folder_for_an_agent() {
    let machine = Machine::new();
    for name in ["whole", "etc", "above/etc"] {
        fs::create_dir_all(machine.at(name)).unwrap();
    }
    let mounts = [("/", "whole"), ("/etc", "etc"), ("/etc", "above/etc")];
    let mounts = mounts.map(|(folder, at)| Mounted::bind(Path::new(folder), &machine.at(at)));
    if mounts.iter().any(Option::is_none) {
        return;
    }
    run_test_with(machine.setup(), async |world| {
        for name in ["whole", "etc", "above", "whole/usr/share"] {
            let command = format!("/agent init name:lab folder:{}", machine.at(name).display());
            let answer = world.ann.asks(&command, "#general").await;
            assert!(answer.contains("No agent can work in"), "{name}: {answer}");
        }
        assert!(!world.home().join("agents/lab").exists());
    })
    .await;
}

#[tokio::test]
async fn what_is_mounted_in_an_agents_own_folder_outlives_it() {
    let machine = Machine::new();
    let mut setup = machine.setup();
    setup.lab = crate::world::Lab::Made;
    run_test_with(setup, async |world| {
        let own = world.workspace("lab");
        let Some(mounted) = Mounted::bind(&machine.at("secret"), &own) else {
            return;
        };
        destroys(world, "lab", "").await;
        assert_eq!(
            fs::read_to_string(machine.at("secret/key")).unwrap(),
            "hidden\n"
        );
        // It lies below another name by now.
        let agents = fs::read_dir(world.home().join("agents")).unwrap();
        for left in agents.map(|left| left.unwrap().path()) {
            drop(Mounted(left.join("workspace")));
        }
        drop(mounted);
    })
    .await;
}
