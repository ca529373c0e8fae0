//! Files, looked at, written and sent.

use serde_json::json;

use super::uses;
use crate::world::{Setup, World, run_test, run_test_with};

#[tokio::test]
async fn a_picture_is_shown_to_the_model() {
    let setup = Setup {
        config: json!({"models": {"scripted-model": {"images": true}}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let picture = include_bytes!("../../../docs/images/usage.png");
        std::fs::write(world.workspace("lab").join("p.png"), picture).unwrap();
        uses(world, "view", json!({"path": "p.png"})).await.ok();
        let request = world.model.last_request()["messages"].to_string();
        assert!(
            request.contains(r#""media_type":"image/png""#),
            "no picture in the request"
        );
    })
    .await;
}

#[tokio::test]
async fn a_file_is_sent_to_the_channel() {
    run_test(async |world| {
        std::fs::write(world.workspace("lab").join("r.csv"), "a,b\n1,2\n").unwrap();
        uses(
            world,
            "send_file",
            json!({"path": "r.csv", "caption": "the numbers"}),
        )
        .await
        .ok();
        let sent = world
            .waits("the file", |world| {
                let mut all = world.messages("#lab").into_iter();
                all.find(|one| !one.attachments.is_empty())
            })
            .await;
        assert!(sent.content.contains("the numbers"));
        assert_eq!(sent.attachments[0].name, "r.csv");
        assert_eq!(world.discord.file(&sent.attachments[0]), b"a,b\n1,2\n");
    })
    .await;
}

#[tokio::test]
async fn nothing_outside_the_workspace_is_read_or_written() {
    run_test(async |world| {
        std::os::unix::fs::symlink("/etc", world.workspace("lab").join("link")).unwrap();
        for path in [
            "../agent.json",
            "/etc/passwd",
            "link/passwd",
            "a/../../agent.json",
        ] {
            uses(world, "view", json!({"path": path})).await.refused();
            uses(world, "create_file", json!({"path": path, "content": "x"}))
                .await
                .refused();
        }
        assert!(world.agent_json("lab").is_object());
    })
    .await;
}

/// Who holds which role now is a question to Discord: it is for the tool that goes by them, and no other waits for it.
#[tokio::test]
async fn a_file_is_looked_at_without_asking_discord_who_is_who() {
    run_test(async |world| {
        std::fs::write(world.workspace("lab").join("notes.txt"), "one\n").unwrap();
        let asked = |world: &World| {
            let requests = world.discord.requests().into_iter();
            requests
                .filter(|one| one.path.contains("/members/"))
                .count()
        };
        // The first message may be read from the channel's past, which does not say who its author is.
        uses(world, "view", json!({"path": "notes.txt"})).await.ok();
        let before = asked(world);
        uses(world, "view", json!({"path": "notes.txt"})).await.ok();
        assert_eq!(asked(world), before);
    })
    .await;
}
