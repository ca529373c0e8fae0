//! Branches that are killed, threads and channels that are deleted: what was said there is saved first.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::seen::{asks, exchange, files};
use crate::world::{World, is_under_way, run_test};

fn session(file: &PathBuf) -> Value {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// The only session there is, once there is one.
async fn saved(world: &World) -> Value {
    let history = "/context history agent_name:lab";
    let seen = async {
        while !world
            .ann
            .asks(history, "#general")
            .await
            .contains("branch_closed")
        {}
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), seen).await;
    waited.unwrap_or_else(|_| panic!("no branch was saved\n{}", world.report()));
    session(&files(world)[0])
}

async fn opens_branch(world: &World, prompt: &str, answer: &str) {
    world.model.answers(answer);
    world
        .ann
        .runs(&format!("/branch new prompt:{prompt}"), "#lab")
        .await;
    world.sees("#lab", answer).await;
    world
        .waits("the branch to be quiet", |world| {
            let messages = world.messages("#lab");
            messages.iter().all(|one| !is_under_way(one)).then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_killed_branch_is_saved_and_listed() {
    run_test(async |world| {
        opens_branch(world, "look into herons", "Twelve of them.").await;
        let killed = asks(world, "/branch kill id:1").await;
        let session = saved(world).await;
        assert_eq!(session["trigger"], "branch_closed");
        assert!(session["messages"].to_string().contains("Twelve of them."));
        let id = &session["id"].as_str().unwrap()[..8];
        assert!(killed.contains(id), "{killed}");
        let history = asks(world, "/context history").await;
        assert!(history.contains("branch_closed"), "{history}");
        let restored = asks(world, &format!("/context restore session_id:{id}")).await;
        assert!(restored.contains("Context restored"), "{restored}");
    })
    .await;
}

#[tokio::test]
async fn all_killed_branches_are_saved_with_what_their_turns_had_done() {
    run_test(async |world| {
        opens_branch(world, "look into herons", "Twelve of them.").await;
        let _thought = world.model.is_thinking();
        let asked = world.model.requests().len();
        world
            .ann
            .runs("/branch new prompt:look into reeds", "#lab")
            .await;
        world.model.was_asked(asked + 1).await;
        asks(world, "/branch kill id:all").await;
        let all: Vec<Value> = files(world).iter().map(session).collect();
        assert_eq!(all.len(), 2, "{all:?}");
        for words in ["look into herons", "look into reeds"] {
            assert!(
                all.iter()
                    .any(|one| one["messages"].to_string().contains(words)),
                "{words}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn a_deleted_thread_is_saved() {
    run_test(async |world| {
        let lab = world.channel("#lab");
        let thread = world.ann.person.opens_thread(lab, None, "aside");
        world.model.answers("Reeds noted.");
        world.ann.says("#aside", "remember reeds").await;
        world.sees("#aside", "Reeds noted.").await;
        world.ann.person.deletes_channel(thread);
        let session = saved(world).await;
        assert_eq!(session["trigger"], "branch_closed");
        assert!(session["messages"].to_string().contains("remember reeds"));
    })
    .await;
}

#[tokio::test]
async fn a_branch_that_cannot_be_saved_is_not_closed() {
    run_test(async |world| {
        opens_branch(world, "look into herons", "Twelve of them.").await;
        // A file where the folder of sessions belongs.
        let folder = world.home().join("agents/lab/sessions");
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::write(&folder, "").unwrap();
        let killed = asks(world, "/branch kill id:1").await;
        assert!(
            killed.contains("could not be saved") && killed.contains("#1"),
            "{killed}"
        );
        let listed = asks(world, "/branch list").await;
        assert!(listed.contains("look into herons"), "{listed}");
        std::fs::remove_file(&folder).unwrap();
        asks(world, "/branch kill id:1").await;
        assert_eq!(saved(world).await["trigger"], "branch_closed");
    })
    .await;
}

#[tokio::test]
async fn with_its_channel_gone_an_agent_loses_neither_threads_nor_its_own_conversation() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        let lab = world.channel("#lab");
        world.ann.person.opens_thread(lab, None, "aside");
        world.model.answers("Reeds noted.");
        world.ann.says("#aside", "remember reeds").await;
        world.sees("#aside", "Reeds noted.").await;
        world.ann.person.deletes_channel(lab);
        let session = saved(world).await;
        assert_eq!(session["trigger"], "branch_closed");
        assert!(session["messages"].to_string().contains("remember reeds"));

        world.ann.asks("/agent repair name:lab", "#general").await;
        world
            .waits("a new channel", |world| {
                let new = world.discord.channel("lab")?;
                (new != lab).then_some(())
            })
            .await;
        exchange(world, "what do you know?", "That is what I know.").await;
        let asked = world.model.last_request().to_string();
        assert!(asked.contains("my colour is blue"), "{asked}");
    })
    .await;
}

/// What stands with the newest message that the model was sent.
fn newest_facts(world: &World) -> String {
    let request = world.model.last_request();
    let messages = request["messages"].as_array().unwrap();
    messages.last().unwrap().to_string()
}

#[tokio::test]
async fn what_a_closed_branch_came_to_is_told_once_in_each_conversation() {
    run_test(async |world| {
        exchange(world, "hello", "Hello, Ann.").await;
        opens_branch(world, "look into herons", "Twelve of them.").await;
        world.model.summarises(&format!(
            "Twelve herons were counted. {}",
            "They stood. ".repeat(100)
        ));
        asks(world, "/branch kill id:1").await;
        exchange(world, "and now?", "Now we know.").await;
        let told = newest_facts(world);
        let (_, branch) = told
            .split_once("; last closed branch: ")
            .unwrap_or_else(|| panic!("{told}"));
        assert!(
            branch.starts_with("Twelve herons were counted. They stood."),
            "{told}"
        );
        assert!(branch.chars().count() < 600, "{told}");
        exchange(world, "go on", "As you like.").await;
        let request = world.model.last_request()["messages"].to_string();
        assert_eq!(
            request.matches("last closed branch").count(),
            1,
            "{request}"
        );

        world.restarts().await;
        exchange(world, "still there?", "Still here.").await;
        let request = world.model.last_request()["messages"].to_string();
        assert_eq!(
            request.matches("last closed branch").count(),
            1,
            "{request}"
        );
        asks(world, "/context clear").await;
        exchange(world, "once more", "A new talk.").await;
        assert!(newest_facts(world).contains("; last closed branch: Twelve herons"));
    })
    .await;
}
