//! An agent made again under the name of a destroyed one.

use serde_json::json;

use super::{destroys, folder, talks};
use crate::world::run_test;

#[tokio::test]
async fn with_kept_files_it_takes_up_where_it_was() {
    run_test(async |world| {
        talks(world, "#lab", "My colour is blue.").await;
        std::fs::write(world.workspace("lab").join("work.txt"), "done").unwrap();
        let before = world.agent_json("lab");
        destroys(world, "lab", " keep_files:true").await;
        let back = world
            .ann
            .asks("/agent init name:lab system_prompt:Be brief.", "#general")
            .await;
        assert!(back.contains("**lab** is back with its files"), "{back}");
        let after = world.agent_json("lab");
        assert_eq!(after["id"], before["id"]);
        assert_eq!(after["created_at"], before["created_at"]);
        assert_eq!(after["system_prompt"], "Be brief.");
        assert_eq!(after["running_tasks"], json!([]));
        assert_eq!(
            after["channel_id"].as_u64().map(|id| id.to_string()),
            Some(world.channel("#lab").to_string())
        );
        assert!(world.workspace("lab").join("work.txt").exists());
        let history = world.ann.asks("/context history", "#lab").await;
        assert!(history.contains("destroy"), "{history}");
        let listed = world.ann.asks("/agent list", "#general").await;
        assert!(
            listed.contains("made ") && listed.contains("back since "),
            "{listed}"
        );
        assert!(!listed.contains("files kept"), "{listed}");
        talks(world, "#lab", "I am back.").await;
    })
    .await;
}

#[tokio::test]
async fn without_files_it_is_another_agent() {
    run_test(async |world| {
        talks(world, "#lab", "My colour is blue.").await;
        let before = world.agent_json("lab");
        destroys(world, "lab", "").await;
        let ready = world.ann.asks("/agent init name:lab", "#general").await;
        assert!(ready.contains("**lab** is ready"), "{ready}");
        assert_ne!(world.agent_json("lab")["id"], before["id"]);
        let history = world.ann.asks("/context history", "#lab").await;
        assert!(!history.contains("destroy"), "{history}");
        // The folder is the new agent's: the destroyed namesake has kept nothing.
        let listed = world.ann.asks("/agent list", "#general").await;
        assert!(
            listed.contains("files deleted") && !listed.contains("files kept"),
            "{listed}"
        );
        assert!(!listed.contains("back since"), "{listed}");
    })
    .await;
}

#[tokio::test]
async fn a_folder_that_nobody_knows_is_taken_up_with_the_channel_it_names() {
    run_test(async |world| {
        // As after a restore of the folders alone: the file still names the channel.
        let kept = folder(world, "lab").join("agent.json");
        let text = std::fs::read_to_string(&kept).unwrap();
        destroys(world, "lab", " keep_files:true").await;
        let channel = world
            .discord
            .add_channel(world.discord.guild(), "somewhere-else");
        let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
        file["channel_id"] = json!(channel.0);
        std::fs::write(&kept, file.to_string()).unwrap();
        world.ann.asks("/agent init name:lab", "#general").await;
        assert_eq!(super::channels_called(world, "lab"), 0);
        talks(world, "#somewhere-else", "Here I live.").await;
    })
    .await;
}
