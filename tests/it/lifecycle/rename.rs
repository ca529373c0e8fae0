//! `/agent config name`: another name for folder, row and channel, and nothing of the agent's life forgotten for it.

use std::time::Duration;

use chorus_playground::{Effect, Fault, Scope};

use super::{channels_called, database_heals, database_refuses, folder, is_saved, rows, talks};
use crate::world::{World, run_test};

async fn renames(world: &World, from: &str, to: &str) -> String {
    let command = format!("/agent config name:{from} key:name value:{to}");
    world.ann.asks(&command, "#general").await
}

fn limits_renames(world: &World, times: usize, wait: Duration) {
    world.discord.order(Fault {
        method: "PATCH",
        path: "/channels/".to_owned(),
        times,
        effect: Effect::RateLimited {
            scope: Scope::Bucket,
            retry_after: wait,
        },
    });
}

#[tokio::test]
async fn folder_row_and_channel_have_the_new_name() {
    run_test(async |world| {
        talks(world, "#lab", "My colour is blue.").await;
        let told = renames(world, "lab", "pad").await;
        assert!(told.contains("`lab` is now called `pad`."), "{told}");
        assert!(folder(world, "pad").is_dir() && !folder(world, "lab").exists());
        assert_eq!(world.agent_json("pad")["name"], "pad");
        assert_eq!(rows(world).await, ["pad active"]);
        assert_eq!(channels_called(world, "lab"), 0);
        talks(world, "#pad", "Still blue.").await;
        let asked = world.model.last_request()["messages"].to_string();
        assert!(asked.contains("My colour is blue."), "{asked}");
        let taken = renames(world, "pad", "pad").await;
        assert!(taken.contains("already"), "{taken}");
    })
    .await;
}

#[tokio::test]
async fn it_is_refused_while_a_turn_runs_and_for_a_name_that_is_taken() {
    run_test(async |world| {
        world.makes_agent("mill").await;
        assert!(renames(world, "lab", "mill").await.contains("taken"));
        let thought = world.model.thinks_then("Done.");
        world.ann.says("#lab", "work").await;
        world
            .waits("the turn", |world| {
                (world.model.requests().len() == 1).then_some(())
            })
            .await;
        let refused = renames(world, "lab", "pad").await;
        assert!(refused.contains("runs"), "{refused}");
        thought.ends();
        world.sees("#lab", "Done.").await;
    })
    .await;
}

#[tokio::test]
async fn the_silence_is_measured_on() {
    run_test(async |world| {
        talks(world, "#lab", "My colour is blue.").await;
        let short = "/agent config name:lab key:idle_timeout value:2";
        world.ann.asks(short, "#general").await;
        renames(world, "lab", "pad").await;
        world.sees("#pad", "Context cleared after").await;
        is_saved(world, "pad", "idle_timeout");
    })
    .await;
}

#[tokio::test]
async fn a_stop_after_it_saves_the_conversation() {
    run_test(async |world| {
        talks(world, "#lab", "My colour is blue.").await;
        renames(world, "lab", "pad").await;
        world.restarts().await;
        is_saved(world, "pad", "shutdown");
        let triggers = world.ledger("SELECT trigger FROM sessions").await;
        assert_eq!(triggers, ["shutdown"]);
    })
    .await;
}

#[tokio::test]
async fn a_rate_limit_on_it_holds_up_nobody_and_is_said() {
    run_test(async |world| {
        world.makes_agent("mill").await;
        limits_renames(world, 1, Duration::from_secs(600));
        let told = renames(world, "lab", "pad").await;
        assert!(
            told.contains("`lab` is now called `pad`.")
                && told.contains("gets its name later, <a time>"),
            "{told}"
        );
        for command in [
            "/agent config name:mill key:idle_timeout value:5m",
            "/agent config name:pad key:idle_timeout value:5m",
            "/agent init name:third",
        ] {
            let answer = world.ann.asks(command, "#general").await;
            assert!(
                answer.contains("is now") || answer.contains("is ready"),
                "{answer}"
            );
        }
        talks(world, "#lab", "Here under the old name.").await;
    })
    .await;
}

#[tokio::test]
async fn a_later_one_is_made_when_it_may() {
    run_test(async |world| {
        limits_renames(world, 1, Duration::from_secs(1));
        renames(world, "lab", "pad").await;
        // The newest name counts, not each on its way.
        renames(world, "pad", "den").await;
        world
            .waits("the new name", |world| world.discord.channel("#den"))
            .await;
        assert_eq!(
            channels_called(world, "lab") + channels_called(world, "pad"),
            0
        );
    })
    .await;
}

#[tokio::test]
async fn a_later_one_survives_a_restart() {
    run_test(async |world| {
        limits_renames(world, 1, Duration::from_secs(600));
        renames(world, "lab", "pad").await;
        assert_eq!(channels_called(world, "lab"), 1);
        world.restarts().await;
        world
            .waits("the new name", |world| world.discord.channel("#pad"))
            .await;
        talks(world, "#pad", "Here under the new name.").await;
    })
    .await;
}

#[tokio::test]
async fn a_channel_that_may_not_be_renamed_keeps_its_name_and_it_is_said() {
    run_test(async |world| {
        world.discord.order(Fault {
            method: "PATCH",
            path: "/channels/".to_owned(),
            times: 1,
            effect: Effect::Status(403),
        });
        let told = renames(world, "lab", "pad").await;
        assert!(told.contains("could not be renamed"), "{told}");
        talks(world, "#lab", "Same channel.").await;
    })
    .await;
}

#[tokio::test]
async fn what_the_database_does_not_take_leaves_the_old_name() {
    run_test(async |world| {
        talks(world, "#lab", "My colour is blue.").await;
        for change in ["INSERT ON lifecycle", "UPDATE ON agents"] {
            database_refuses(world, change).await;
            let told = renames(world, "lab", "pad").await;
            assert!(told.contains("could not be stored"), "{change}: {told}");
            database_heals(world).await;
            assert_eq!(rows(world).await, ["lab active"], "{change}");
            assert!(folder(world, "lab").is_dir() && !folder(world, "pad").exists());
            assert_eq!(world.agent_json("lab")["name"], "lab", "{change}");
        }
        talks(world, "#lab", "Still blue.").await;
        let asked = world.model.last_request()["messages"].to_string();
        assert!(asked.contains("My colour is blue."), "{asked}");
        renames(world, "lab", "pad").await;
        talks(world, "#pad", "And under another name.").await;
    })
    .await;
}
