//! A home whose database is gone: what the folders say is made known again.

use super::{channels_called, destroys, letter, rows, talks};
use crate::world::{World, run_test};

fn loses_its_database(world: &World) {
    std::fs::remove_dir_all(world.home().join("db")).unwrap();
}

#[tokio::test]
async fn the_agents_are_rebuilt_from_their_folders() {
    run_test(async |world| {
        world.makes_agent("mill").await;
        talks(world, "#lab", "My colour is blue.").await;
        world
            .ann
            .asks("/context save description:colours", "#lab")
            .await;
        let before = world.agent_json("lab");
        world.stops().await;
        loses_its_database(world);
        world.ann.says("#lab", "is anybody there?").await;
        world.starts().await;
        let told = letter(world, "database").await;
        assert!(told.contains("`lab`") && told.contains("`mill`"), "{told}");
        for channel in ["#lab", "#mill"] {
            world.sees(channel, "database").await;
        }
        assert_eq!(rows(world).await, ["lab active", "mill active"]);
        assert_eq!(world.agent_json("lab")["id"], before["id"]);
        talks(world, "#lab", "I am here.").await;
        // What was answered before is not answered again, and what was written meanwhile is not taken for new.
        let asked = world.model.last_request()["messages"].to_string();
        assert!(!asked.contains("is anybody there?"), "{asked}");
        let history = world.ann.asks("/context history", "#lab").await;
        assert!(history.contains("colours"), "{history}");
        let again = world.ann.asks("/agent init name:mill", "#general").await;
        assert!(
            again.contains("An agent named `mill` already exists"),
            "{again}"
        );
        assert_eq!(channels_called(world, "mill"), 1);
        // Told once.
        world.restarts().await;
        talks(world, "#lab", "Here once more.").await;
        let lab = world.transcript("#lab");
        assert_eq!(lab.matches("database").count(), 1, "{lab}");
    })
    .await;
}

#[tokio::test]
async fn kept_files_of_a_destroyed_agent_are_not_rebuilt() {
    run_test(async |world| {
        world.makes_agent("mill").await;
        destroys(world, "lab", " keep_files:true").await;
        world.stops().await;
        loses_its_database(world);
        world.starts().await;
        world.sees("#mill", "database").await;
        assert_eq!(rows(world).await, ["mill active"]);
        let back = world.ann.asks("/agent init name:lab", "#general").await;
        assert!(back.contains("is back with its files"), "{back}");
    })
    .await;
}

#[tokio::test]
async fn a_folder_that_cannot_be_rebuilt_is_named() {
    run_test(async |world| {
        world.makes_agent("mill").await;
        world.stops().await;
        loses_its_database(world);
        let file = super::folder(world, "lab").join("agent.json");
        std::fs::write(&file, "{\"name\": ").unwrap();
        let mill = world.channel("#mill");
        world.ann.person.deletes_channel(mill);
        world.starts().await;
        let told = letter(world, "lab").await;
        assert!(told.contains("line 1") && told.contains("mill"), "{told}");
        assert_eq!(rows(world).await, Vec::<String>::new());
    })
    .await;
}
