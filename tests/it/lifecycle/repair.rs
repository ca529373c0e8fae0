//! `/agent repair`: a lost channel or folder, given back.

use super::{folder, is_saved, rows, talks};
use crate::world::{World, run_test};

async fn loses_its_channel(world: &World) {
    let lab = world.channel("#lab");
    world.ann.person.deletes_channel(lab);
    super::letter(world, "was deleted").await;
}

#[tokio::test]
async fn a_deleted_channel_is_made_again() {
    run_test(async |world| {
        talks(world, "#lab", "My colour is blue.").await;
        loses_its_channel(world).await;
        let told = world.ann.asks("/agent repair name:lab", "#general").await;
        assert!(told.contains("made the channel"), "{told}");
        talks(world, "#lab", "Blue, as I said.").await;
        let asked = world.model.last_request()["messages"].to_string();
        assert!(asked.contains("My colour is blue."), "{asked}");
    })
    .await;
}

#[tokio::test]
async fn the_silence_is_measured_on() {
    run_test(async |world| {
        talks(world, "#lab", "My colour is blue.").await;
        loses_its_channel(world).await;
        let short = "/agent config name:lab key:idle_timeout value:2";
        world.ann.asks(short, "#general").await;
        world.ann.asks("/agent repair name:lab", "#general").await;
        world.sees("#lab", "Context cleared after").await;
        is_saved(world, "lab", "idle_timeout");
    })
    .await;
}

#[tokio::test]
async fn a_stop_after_it_saves_the_conversation() {
    run_test(async |world| {
        talks(world, "#lab", "My colour is blue.").await;
        loses_its_channel(world).await;
        world.ann.asks("/agent repair name:lab", "#general").await;
        world.restarts().await;
        is_saved(world, "lab", "shutdown");
        let triggers = world.ledger("SELECT trigger FROM sessions").await;
        assert_eq!(triggers, ["shutdown"]);
    })
    .await;
}

#[tokio::test]
async fn a_lost_folder_is_made_again_once_that_is_confirmed() {
    run_test(async |world| {
        let before = world.agent_json("lab");
        std::fs::remove_dir_all(folder(world, "lab")).unwrap();
        let asked = world.ann.asks("/agent repair name:lab", "#general").await;
        assert!(
            asked.contains("backup") && asked.contains("system prompt"),
            "it does not say what is lost: {asked}"
        );
        assert!(!folder(world, "lab").exists());
        world.ann.clicks("#general", "Confirm").await;
        // Later than the folder: the agent is stopped and started once more before it is told.
        world.sees("#general", "made a new folder").await;
        let after = world.agent_json("lab");
        for key in [
            "id",
            "name",
            "channel_id",
            "model",
            "permissions",
            "owner_id",
        ] {
            assert_eq!(after[key], before[key], "{key}");
        }
        assert!(world.workspace("lab").join(".git").exists());
        assert_eq!(rows(world).await, ["lab active"]);
        talks(world, "#lab", "I have a folder.").await;
    })
    .await;
}

#[tokio::test]
async fn nothing_is_repaired_that_is_whole() {
    run_test(async |world| {
        let told = world.ann.asks("/agent repair name:lab", "#general").await;
        assert!(told.contains("nothing to repair"), "{told}");
    })
    .await;
}
