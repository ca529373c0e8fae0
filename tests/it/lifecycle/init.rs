//! `/agent init`: what a failure at each of its steps leaves behind, which is nothing.

use std::time::Duration;

use chorus_playground::{Effect, Fault, Scope};

use super::{
    channels_called, database_heals, database_refuses, folder, folders, is_welcomed, rows, talks,
};
use crate::world::{Lab, Setup, Way, World, run_test, run_test_with};

/// Requests that make a channel or a category.
const MAKES_CHANNELS: &str = "/guilds/";

fn without_lab() -> Setup {
    Setup {
        lab: Lab::Missing,
        ..Setup::default()
    }
}

fn fails(world: &World, times: usize, effect: Effect) {
    world.discord.order(Fault {
        method: "POST",
        path: MAKES_CHANNELS.to_owned(),
        times,
        effect,
    });
}

/// Nothing of `alpha` is there; the category only if it was before.
async fn nothing_is_left(world: &World, categories: usize) {
    assert_eq!(channels_called(world, "alpha"), 0, "{}", world.report());
    assert_eq!(channels_called(world, "Chorus Agents"), categories);
    let left: Vec<String> = folders(world);
    assert!(!left.iter().any(|name| name.contains("alpha")), "{left:?}");
    let rows = rows(world).await;
    assert!(!rows.iter().any(|row| row.contains("alpha")), "{rows:?}");
}

#[tokio::test]
async fn a_refusal_leaves_nothing() {
    run_test_with(without_lab(), async |world| {
        fails(world, 1, Effect::Status(403));
        let told = world.ann.asks("/agent init name:alpha", "#general").await;
        assert!(told.contains("Manage Channels"), "{told}");
        nothing_is_left(world, 0).await;
        world.makes_agent("alpha").await;
        talks(world, "#alpha", "I am here.").await;
    })
    .await;
}

#[tokio::test]
async fn an_outage_of_discord_leaves_nothing() {
    run_test(async |world| {
        fails(world, 1_000, Effect::Status(500));
        let told = world.ann.asks("/agent init name:alpha", "#general").await;
        assert!(told.contains("HTTP 500"), "{told}");
        world.discord.heals();
        nothing_is_left(world, 1).await;
    })
    .await;
}

#[tokio::test]
async fn a_category_that_was_made_in_vain_goes_again() {
    run_test_with(without_lab(), async |world| {
        let guild = world.discord.guild();
        // #general is one of them; the category will be the 500th.
        for number in 1..499 {
            world.discord.add_channel(guild, &format!("c{number}"));
        }
        let told = world.ann.asks("/agent init name:alpha", "#general").await;
        assert!(told.contains("500"), "{told}");
        nothing_is_left(world, 0).await;
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_is_lost_makes_no_second_channel() {
    run_test_with(without_lab(), async |world| {
        // The category is made and the answer lost, then the channel likewise.
        fails(world, 1, Effect::DropAfter);
        world.makes_agent("alpha").await;
        assert_eq!(channels_called(world, "Chorus Agents"), 1);
        fails(world, 1, Effect::DropAfter);
        world.makes_agent("beta").await;
        assert_eq!(channels_called(world, "beta"), 1, "{}", world.report());
        talks(world, "#beta", "I am the only one.").await;
    })
    .await;
}

#[tokio::test]
async fn a_rate_limit_of_one_creation_holds_up_nobody_else() {
    let setup = Setup {
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let wait = Effect::RateLimited {
            scope: Scope::Bucket,
            retry_after: Duration::from_secs(600),
        };
        fails(world, 1, wait);
        world.ann.runs("/agent init name:alpha", "#general").await;
        world
            .waits("the limit", |world| {
                let all = world.discord.requests();
                all.iter()
                    .any(|one| one.limited == Some(Scope::Bucket))
                    .then_some(())
            })
            .await;
        let set = world
            .ann
            .asks(
                "/agent config name:lab key:idle_timeout value:5m",
                "#general",
            )
            .await;
        assert!(set.contains("Idle timeout of `lab`"), "{set}");
        // What waited is taken up by the next start.
        world.kills().await;
        world.starts().await;
        is_welcomed(world, "alpha").await;
        assert_eq!(channels_called(world, "alpha"), 1);
        talks(world, "#alpha", "Late, but here.").await;
    })
    .await;
}

#[tokio::test]
async fn a_template_that_cannot_be_copied_leaves_nothing() {
    let template = tempfile::tempdir().unwrap();
    let at = template.path();
    std::fs::create_dir_all(at.join("workspace")).unwrap();
    let given = include_str!("../../../template/agent.json");
    for (what, agent_json, git) in [
        ("agent.json", "{\"name\": 7}", false),
        ("git init", given, true),
    ] {
        std::fs::write(at.join("agent.json"), agent_json).unwrap();
        if git {
            // libgit2 makes no repository where one is already.
            std::fs::create_dir_all(at.join("workspace/.git")).unwrap();
            std::fs::write(at.join("workspace/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
            for part in ["objects", "refs"] {
                std::fs::create_dir_all(at.join("workspace/.git").join(part)).unwrap();
            }
        }
        let setup = Setup {
            env: vec![("CHORUS_TEMPLATE_DIR", at.display().to_string())],
            ..without_lab()
        };
        run_test_with(setup, async |world| {
            let told = world.ann.asks("/agent init name:alpha", "#general").await;
            assert!(told.contains(what), "{told}");
            nothing_is_left(world, 0).await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_leaves_nothing() {
    run_test_with(without_lab(), async |world| {
        let agents = world.home().join("agents");
        std::fs::remove_dir_all(&agents).ok();
        std::fs::write(&agents, "not a folder").unwrap();
        let told = world.ann.asks("/agent init name:alpha", "#general").await;
        assert!(told.contains("Nothing was made"), "{told}");
        std::fs::remove_file(&agents).unwrap();
        nothing_is_left(world, 0).await;
        world.makes_agent("alpha").await;
    })
    .await;
}

#[tokio::test]
async fn a_full_disk_leaves_nothing() {
    let setup = Setup {
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.limits_files(Some(4_096));
        let told = world.ann.asks("/agent init name:alpha", "#general").await;
        assert!(!told.contains("is ready"), "{told}");
        world.limits_files(None);
        nothing_is_left(world, 1).await;
        world.makes_agent("alpha").await;
        talks(world, "#alpha", "There is room.").await;
    })
    .await;
}

#[tokio::test]
async fn a_database_that_takes_nothing_at_some_step_leaves_nothing() {
    run_test(async |world| {
        for step in [
            "INSERT ON audit_log",
            "INSERT ON lifecycle",
            "INSERT ON agents",
            "UPDATE ON agents",
        ] {
            database_refuses(world, step).await;
            let told = world.ann.asks("/agent init name:alpha", "#general").await;
            assert!(told.contains("could not be stored"), "{step}: {told}");
            database_heals(world).await;
            nothing_is_left(world, 1).await;
        }
        world.makes_agent("alpha").await;
        assert_eq!(channels_called(world, "alpha"), 1);
        talks(world, "#alpha", "Now I am here.").await;
    })
    .await;
}

#[tokio::test]
async fn kept_files_are_as_they_were_after_a_failure() {
    run_test(async |world| {
        let answer = super::destroys(world, "lab", " keep_files:true").await;
        assert!(answer.contains("files are kept"), "{answer}");
        let file = folder(world, "lab").join("agent.json");
        let before = std::fs::read_to_string(&file).unwrap();
        fails(world, 1, Effect::Status(403));
        let told = world
            .ann
            .asks("/agent init name:lab system_prompt:Be brief.", "#general")
            .await;
        assert!(told.contains("Manage Channels"), "{told}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
        assert_eq!(rows(world).await, ["lab destroyed"]);
        let back = world.ann.asks("/agent init name:lab", "#general").await;
        assert!(back.contains("is back"), "{back}");
    })
    .await;
}

#[tokio::test]
async fn a_blank_prompt_is_refused() {
    run_test_with(without_lab(), async |world| {
        let general = world.channel("#general");
        let options = [
            ("name", "alpha".into()),
            ("system_prompt", "  \u{2003} ".into()),
        ];
        world
            .ann
            .person
            .runs(general, "/agent init", &options)
            .unwrap();
        let told = world.next_private_reply(&world.ann).await;
        assert!(told.contains("system prompt is empty"), "{told}");
        nothing_is_left(world, 0).await;
    })
    .await;
}
