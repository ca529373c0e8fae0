//! `/agent destroy`: what goes, what stays, and who is told.

use chorus_playground::{Effect, Fault};
use serde_json::Value;

use super::{
    database_heals, database_refuses, destroys, folder, folders, is_saved, letter, letters, rows,
    talks,
};
use crate::world::{World, run_test};

/// Discord keeps the channel of `#lab`, so that what was shown there can be seen afterwards.
fn keeps_its_channel(world: &World) {
    world.discord.order(Fault {
        method: "DELETE",
        path: format!("/channels/{}", world.channel("#lab")),
        times: usize::MAX,
        effect: Effect::Status(403),
    });
}

#[tokio::test]
async fn a_destroy_that_was_asked_for_alarms_nobody() {
    run_test(async |world| {
        world.makes_agent("mill").await;
        destroys(world, "lab", "").await;
        // What somebody deletes by hand is told after it, and in order.
        let mill = world.channel("#mill");
        world.ann.person.deletes_channel(mill);
        letter(world, "mill").await;
        let told = letters(world);
        assert!(!told.contains("lab"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn a_destroyed_agent_leaves_its_rows_and_nothing_else() {
    run_test(async |world| {
        talks(world, "#lab", "I knew this.").await;
        let answer = destroys(world, "lab", "").await;
        assert!(
            answer.contains("files are deleted") && answer.contains("1 session was saved first"),
            "{answer}"
        );
        assert!(world.discord.channel("#lab").is_none());
        assert_eq!(folders(world), Vec::<String>::new());
        assert_eq!(rows(world).await, ["lab destroyed"]);
        assert_eq!(
            world.ledger("SELECT trigger FROM sessions").await,
            ["destroy"]
        );
        assert_eq!(
            world.ledger("SELECT agent_id FROM lifecycle").await,
            Vec::<String>::new()
        );
    })
    .await;
}

#[tokio::test]
async fn kept_files_stay_and_name_no_channel_any_more() {
    run_test(async |world| {
        talks(world, "#lab", "I knew this.").await;
        std::fs::write(world.workspace("lab").join("work.txt"), "done").unwrap();
        let answer = destroys(world, "lab", " keep_files:true").await;
        assert!(answer.contains("files are kept"), "{answer}");
        is_saved(world, "lab", "destroy");
        assert!(world.workspace("lab").join("work.txt").exists());
        assert_eq!(world.agent_json("lab")["channel_id"], Value::Null);
        let listed = world.ann.asks("/agent list", "#general").await;
        assert!(listed.contains("files kept"), "{listed}");
    })
    .await;
}

#[tokio::test]
async fn in_its_own_channel_the_result_comes_by_direct_message() {
    run_test(async |world| {
        world.ann.runs("/agent destroy name:lab", "#lab").await;
        world.ann.clicks("#lab", "Confirm").await;
        letter(world, "**lab** is destroyed").await;
        assert!(
            !letters(world).contains("was deleted"),
            "{}",
            letters(world)
        );
    })
    .await;
}

#[tokio::test]
async fn an_agent_whose_folder_is_gone_can_be_destroyed() {
    run_test(async |world| {
        talks(world, "#lab", "I knew this.").await;
        std::fs::remove_dir_all(folder(world, "lab")).unwrap();
        let answer = destroys(world, "lab", "").await;
        assert!(
            answer.contains("**lab** is destroyed") && answer.contains("could not be saved"),
            "{answer}"
        );
        assert!(world.discord.channel("#lab").is_none());
        assert_eq!(rows(world).await, ["lab destroyed"]);
        world.makes_agent("lab").await;
        talks(world, "#lab", "Born again.").await;
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_saved_is_not_destroyed() {
    run_test(async |world| {
        talks(world, "#lab", "I knew this.").await;
        let sessions = folder(world, "lab").join("sessions");
        std::fs::remove_dir_all(&sessions).unwrap();
        std::fs::write(&sessions, "no folder").unwrap();
        let answer = destroys(world, "lab", "").await;
        assert!(answer.contains("nothing was deleted"), "{answer}");
        assert_eq!(rows(world).await, ["lab active"]);
        talks(world, "#lab", "Still here.").await;
    })
    .await;
}

#[tokio::test]
async fn what_the_database_cannot_note_is_not_destroyed() {
    run_test(async |world| {
        talks(world, "#lab", "My colour is blue.").await;
        database_refuses(world, "INSERT ON lifecycle").await;
        let answer = destroys(world, "lab", "").await;
        assert!(answer.contains("could not be stored"), "{answer}");
        database_heals(world).await;
        assert_eq!(rows(world).await, ["lab active"]);
        talks(world, "#lab", "Still here.").await;
        let asked = world.model.last_request()["messages"].to_string();
        assert!(asked.contains("My colour is blue."), "{asked}");
    })
    .await;
}

#[tokio::test]
async fn what_was_written_before_a_destruction_failed_is_answered() {
    run_test(async |world| {
        talks(world, "#lab", "My colour is blue.").await;
        database_refuses(world, "INSERT ON lifecycle").await;
        let asked = world.model.requests().len();
        let summary = world.model.thinks_about_summaries();
        let destroy = world.ann.runs("/agent destroy name:lab", "#general").await;
        world.ann.clicks("#general", "Confirm").await;
        world.model.was_asked(asked + 1).await;
        world.model.answers("Still here.");
        world.bob.says("#lab", "are you there?").await;
        world
            .ledger_says(
                "SELECT state FROM inbound ORDER BY rowid DESC LIMIT 1",
                &["new"],
            )
            .await;
        world.ann.asks("/status", "#lab").await;
        summary.ends();
        world
            .waits("the end of the destruction", |world| {
                let replies = world.discord.replies_to(destroy);
                let shown = world.discord.shown(replies.first()?);
                shown.contains("could not be stored").then_some(())
            })
            .await;
        world.sees("#lab", "Still here.").await;
        database_heals(world).await;
        assert_eq!(rows(world).await, ["lab active"]);
    })
    .await;
}

#[tokio::test]
async fn a_stop_ends_the_last_summary_and_not_the_destruction() {
    run_test(async |world| {
        talks(world, "#lab", "My colour is blue.").await;
        keeps_its_channel(world);
        let asked = world.model.requests().len();
        let _summary = world.model.thinks_about_summaries();
        let destroy = world.ann.runs("/agent destroy name:lab", "#general").await;
        world.ann.clicks("#general", "Confirm").await;
        world.model.was_asked(asked + 1).await;
        let told = world.ann.asks("/abort", "#lab").await;
        assert!(
            told.contains(
                "Stopped the summary: the conversation is saved without one, and the agent is destroyed."
            ),
            "{told}"
        );
        world
            .waits("the end of the destruction", |world| {
                let replies = world.discord.replies_to(destroy);
                let shown = world.discord.shown(replies.first()?);
                shown.contains("destroyed").then_some(())
            })
            .await;
        assert_eq!(rows(world).await, ["lab destroyed"]);
        let saved = world.ledger("SELECT summary FROM sessions").await;
        assert_eq!(saved, ["(summary generation failed)"]);
    })
    .await;
}

#[tokio::test]
async fn a_question_that_is_open_says_who_destroyed_the_agent() {
    run_test(async |world| {
        world.asks_to_write(&world.bob, "Written.").await;
        keeps_its_channel(world);
        let answer = destroys(world, "lab", "").await;
        assert!(answer.contains("channel could not be deleted"), "{answer}");
        let seen = world.sees("#lab", "Cancelled").await;
        assert!(
            seen.contains("ann destroyed the agent. Nothing was run.")
                && !seen.contains("shutdown"),
            "{seen}"
        );
        assert!(!world.was_written());
    })
    .await;
}

/// Files below a folder, links among them.
fn files_below(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| {
            if entry.file_type().unwrap().is_dir() {
                files_below(&entry.path())
            } else {
                1
            }
        })
        .sum()
}

#[tokio::test]
async fn the_question_says_how_many_files_are_deleted() {
    run_test(async |world| {
        std::fs::write(world.workspace("lab").join("mine.txt"), "x").unwrap();
        let files = files_below(world.workspace("lab").parent().unwrap());
        let asked = world.ann.asks("/agent destroy name:lab", "#general").await;
        let told = format!("**deleted: {files} files**");
        assert!(asked.contains(&told), "{told}: {asked}");
        let kept = world
            .ann
            .asks("/agent destroy name:lab keep_files:true", "#general")
            .await;
        assert!(kept.contains("Its folder is kept."), "{kept}");
    })
    .await;
}
