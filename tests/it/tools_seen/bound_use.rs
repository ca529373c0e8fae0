//! A bound folder at work: its disk that goes, its rights, its size.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::bound_folder::Machine;
use super::bound_mounts::Mounted;
use super::uses;
use crate::not_run::{Missing, not_run};
use crate::world::run_test_with;

/// Files of a large folder.
const MANY: usize = 200_000;

/// The command keeps the disk that it began with; nothing is written where the disk was.
#[tokio::test]
async fn a_disk_that_is_unmounted_during_a_command_gets_what_the_command_writes() {
    let machine = Machine::new();
    fs::create_dir(machine.at("disk")).unwrap();
    let go = machine.at("secret/go");

    rustix::fs::mkfifoat(rustix::fs::CWD, &go, rustix::fs::Mode::RWXU).unwrap();
    let Some(mounted) = Mounted::bind(&machine.at("secret"), &machine.at("disk")) else {
        not_run(&Missing::Machine("this user cannot mount"));
        return;
    };
    let mut setup = machine.setup();
    setup.config["default_permissions"] = json!("open");
    run_test_with(setup, async |world| {
        let disk = machine.at("disk");
        let made = format!("/agent init name:lab folder:{}", disk.display());
        world.ann.asks(&made, "#general").await;
        let waits = "echo begun > begun; cat go > heard; echo end > end";
        world.model.calls_tool("bash", json!({"command": waits}));
        world.model.answers("It ran.");
        world.ann.says("#lab", "write slowly").await;
        let begun = machine.at("secret/begun");
        world
            .waits("the command", |_| begun.exists().then_some(()))
            .await;
        drop(mounted);
        fs::write(&go, "go\n").unwrap();
        world.sees("#lab", "It ran.").await;
        assert_eq!(fs::read_dir(&disk).unwrap().count(), 0);
        let written = fs::read_to_string(machine.at("secret/end")).unwrap();
        assert_eq!(written, "end\n");
        let new = json!({"path": "a.txt", "content": "x"});
        let told = uses(world, "create_file", new).await.refused();
        assert!(told.contains("disk may not be mounted"), "{told}");
        assert_eq!(fs::read_dir(&disk).unwrap().count(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_folder_that_its_user_may_not_use_is_refused_with_the_way_to_the_reason() {
    if rustix::process::geteuid().is_root() {
        not_run(&Missing::Machine("root may use every folder"));
        return;
    }
    let machine = Machine::new();
    run_test_with(machine.setup(), async |world| {
        let web = machine.at("web");
        fs::set_permissions(&web, fs::Permissions::from_mode(0o500)).unwrap();
        let refused = machine.binds(world).await;
        fs::set_permissions(&web, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(refused.contains("cannot read and write it"), "{refused}");
        assert!(refused.contains("chorus doctor"), "{refused}");
        assert!(!world.home().join("agents/lab").exists());
    })
    .await;
}

#[tokio::test]
async fn tools_stay_within_their_bounds_in_a_folder_of_200_000_files() {
    let machine = Machine::new();
    for folder in 0..MANY / 1_000 {
        let folder = machine.at("web").join(format!("f{folder}"));
        fs::create_dir(&folder).unwrap();
        for file in 0..1_000 {
            fs::write(folder.join(format!("{file}.txt")), "").unwrap();
        }
    }
    run_test_with(machine.setup(), async |world| {
        let made = machine.binds(world).await;
        assert!(made.contains("is ready"), "{made}");
        uses(world, "git_init", json!({})).await.ok();
        for (tool, arguments) in [
            ("glob", json!({"pattern": "**/*.txt"})),
            ("grep", json!({"pattern": "services"})),
            ("view", json!({"path": "."})),
            ("git_status", json!({})),
            ("bash", json!({"command": "find . -name '*.txt'"})),
        ] {
            let given = uses(world, tool, arguments).await;
            assert!(
                given.text.len() <= 60_000,
                "{tool}: {} bytes",
                given.text.len()
            );
        }
        let found = uses(world, "grep", json!({"pattern": "services"}))
            .await
            .ok();
        assert!(found.contains("compose.yaml"), "{found:.500}");
    })
    .await;
}
