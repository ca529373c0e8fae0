//! The home of an agent's commands through the agent's life: it goes where the agent goes, and to nobody else.

use std::fs;

use super::{destroys, folder};
use crate::world::{World, run_test};

/// Leaves something in the home, as a command does.
fn fill(world: &World) {
    let home = folder(world, "lab").join("home");
    fs::create_dir(&home).unwrap();
    fs::write(home.join(".netrc"), "a token").unwrap();
}

#[tokio::test]
async fn it_is_renamed_kept_and_taken_up_again_with_its_agent() {
    run_test(async |world| {
        fill(world);
        let rename = "/agent config name:lab key:name value:pad";
        world.ann.asks(rename, "#general").await;
        destroys(world, "pad", " keep_files:true").await;
        world.ann.asks("/agent init name:pad", "#general").await;
        let kept = folder(world, "pad").join("home/.netrc");
        assert_eq!(fs::read_to_string(kept).unwrap(), "a token");
    })
    .await;
}

#[tokio::test]
async fn it_ends_with_its_agent() {
    run_test(async |world| {
        fill(world);
        destroys(world, "lab", "").await;
        assert!(!folder(world, "lab").exists());
    })
    .await;
}

#[tokio::test]
async fn an_agent_made_after_another_gets_a_home_of_its_own() {
    run_test(async |world| {
        fill(world);
        let made = "/agent init name:twin from:@lab";
        let told = world.ann.asks(made, "#general").await;
        assert!(folder(world, "twin").is_dir(), "{told}");
        assert!(!folder(world, "twin").join("home").exists());
    })
    .await;
}

#[tokio::test]
async fn status_tells_its_size() {
    run_test(async |world| {
        let told = world.ann.asks("/status", "#lab").await;
        assert!(!told.contains("home of its commands"), "{told}");
        fill(world);
        let told = world.ann.asks("/status", "#lab").await;
        assert!(told.contains("home of its commands: 7 bytes"), "{told}");
    })
    .await;
}
