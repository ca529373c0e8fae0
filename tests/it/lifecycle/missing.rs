//! What an agent has lost is told once: to the operator, and in the server.

use super::{folder, letter, letters, talks};
use crate::world::{World, run_test};

fn told_in_general(world: &World, text: &str) -> usize {
    world.transcript("#general").matches(text).count()
}

#[tokio::test]
async fn a_channel_that_was_deleted_meanwhile_is_told_once() {
    run_test(async |world| {
        world.makes_agent("mill").await;
        world.stops().await;
        let lab = world.channel("#lab");
        world.ann.person.deletes_channel(lab);
        world.starts().await;
        let told = world.sees("#general", "/agent repair").await;
        assert!(told.contains("`lab`") && !told.contains("`mill`"), "{told}");
        letter(world, "`lab`").await;
        world.restarts().await;
        talks(world, "#mill", "I am whole.").await;
        // A letter that comes later shows that nothing else was on its way.
        let mill = world.channel("#mill");
        world.ann.person.deletes_channel(mill);
        letter(world, "`mill`").await;
        world.sees("#general", "`mill`").await;
        assert_eq!(told_in_general(world, "`lab`"), 1, "{}", world.report());
        assert_eq!(letters(world).matches("agent `lab`").count(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_folder_that_is_gone_is_told_once() {
    run_test(async |world| {
        world.stops().await;
        std::fs::remove_dir_all(folder(world, "lab")).unwrap();
        world.starts().await;
        let told = world.sees("#general", "/agent repair lab").await;
        assert!(told.contains("folder"), "{told}");
        letter(world, "`lab`").await;
        // Nothing is said that is not so.
        world.model.answers("I know nothing.");
        world.ann.says("#lab", "who are you?").await;
        let seen = world.sees("#lab", "My folder is missing").await;
        assert!(seen.contains("/agent repair"), "{seen}");
        for untrue in ["last good configuration", "charter.md"] {
            assert!(!seen.contains(untrue), "{untrue}: {seen}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_deletion_is_told_in_the_server_and_listed() {
    run_test(async |world| {
        let lab = world.channel("#lab");
        world.ann.person.deletes_channel(lab);
        letter(world, "/agent repair lab").await;
        world.sees("#general", "/agent repair lab").await;
        let listed = world.ann.asks("/agent list", "#general").await;
        assert!(
            listed.contains("deleted · active") && !listed.contains("<#"),
            "{listed}"
        );
        // It was told, so the next start has nothing to add.
        world.makes_agent("mill").await;
        world.restarts().await;
        let mill = world.channel("#mill");
        world.ann.person.deletes_channel(mill);
        letter(world, "`mill`").await;
        assert_eq!(told_in_general(world, "/agent repair lab"), 1);
    })
    .await;
}
