//! The daemon killed while Discord has not answered yet: the next start finishes what was begun.

use std::time::Duration;

use chorus_playground::{Effect, Fault};

use super::{channels_called, folders, is_welcomed, rows, talks};
use crate::world::{Setup, Way, World, run_test_with};

fn as_program() -> Setup {
    Setup {
        way: Way::Program,
        ..Setup::default()
    }
}

/// Has Discord answer one kind of request in an hour, gives a command, and kills the daemon once it waits.
async fn is_killed_waiting(world: &mut World, method: &'static str, path: &str, command: &str) {
    world.discord.order(Fault {
        method,
        path: path.to_owned(),
        times: usize::MAX,
        effect: Effect::Late(Duration::from_secs(3_600)),
    });
    world.ann.runs(command, "#general").await;
    if command.contains("destroy") {
        world.ann.clicks("#general", "Confirm").await;
    }
    let path = path.to_owned();
    world
        .waits("the request", |world| {
            let all = world.discord.requests();
            let found = all
                .iter()
                .any(|one| one.is_ordered && one.method == method && one.path.contains(&path));
            found.then_some(())
        })
        .await;
    world.kills().await;
    world.discord.heals();
}

#[tokio::test]
async fn a_creation_is_finished() {
    run_test_with(as_program(), async |world| {
        is_killed_waiting(
            world,
            "POST",
            "/guilds/",
            "/agent init name:alpha system_prompt:Be kind.",
        )
        .await;
        world.starts().await;
        is_welcomed(world, "alpha").await;
        assert_eq!(channels_called(world, "alpha"), 1);
        assert_eq!(rows(world).await, ["alpha active", "lab active"]);
        assert_eq!(world.agent_json("alpha")["system_prompt"], "Be kind.");
        talks(world, "#alpha", "Here I am.").await;
    })
    .await;
}

#[tokio::test]
async fn a_command_for_the_same_name_makes_no_second_channel() {
    run_test_with(as_program(), async |world| {
        is_killed_waiting(world, "POST", "/guilds/", "/agent init name:alpha").await;
        world.starts().await;
        let told = world.ann.asks("/agent init name:alpha", "#general").await;
        assert!(told.contains("alpha"), "{told}");
        is_welcomed(world, "alpha").await;
        assert_eq!(channels_called(world, "alpha"), 1);
    })
    .await;
}

#[tokio::test]
async fn a_destruction_is_finished() {
    run_test_with(as_program(), async |world| {
        talks(world, "#lab", "My colour is blue.").await;
        let path = format!("/channels/{}", world.channel("#lab"));
        is_killed_waiting(world, "DELETE", &path, "/agent destroy name:lab").await;
        world.starts().await;
        world
            .waits("the channel to go", |world| {
                world.discord.channel("#lab").is_none().then_some(())
            })
            .await;
        assert_eq!(folders(world), Vec::<String>::new());
        assert_eq!(rows(world).await, ["lab destroyed"]);
        let listed = world.ann.asks("/agent list", "#general").await;
        assert!(listed.contains("files deleted"), "{listed}");
        let told = super::letters(world);
        assert!(!told.contains("was deleted"), "{told}");
        // The only agent goes: that is no lost database.
        assert!(!told.contains("database"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn a_destruction_that_keeps_files_keeps_them() {
    run_test_with(as_program(), async |world| {
        let path = format!("/channels/{}", world.channel("#lab"));
        is_killed_waiting(
            world,
            "DELETE",
            &path,
            "/agent destroy name:lab keep_files:true",
        )
        .await;
        world.starts().await;
        world
            .waits("the channel to go", |world| {
                world.discord.channel("#lab").is_none().then_some(())
            })
            .await;
        assert_eq!(folders(world), ["lab"]);
        assert_eq!(rows(world).await, ["lab destroyed"]);
    })
    .await;
}

#[tokio::test]
async fn a_rename_is_finished() {
    run_test_with(as_program(), async |world| {
        talks(world, "#lab", "My colour is blue.").await;
        is_killed_waiting(
            world,
            "PATCH",
            "/channels/",
            "/agent config name:lab key:name value:pad",
        )
        .await;
        world.starts().await;
        world
            .waits("the new name", |world| world.discord.channel("#pad"))
            .await;
        assert_eq!(folders(world), ["pad"]);
        assert_eq!(rows(world).await, ["pad active"]);
        talks(world, "#pad", "Still blue.").await;
    })
    .await;
}
