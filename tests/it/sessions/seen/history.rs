//! `/context history`.

use super::{asks, exchange};
use crate::world::{World, run_test};

/// One exchange and its save under this description.
async fn saved(world: &mut World, description: &str) {
    exchange(world, &format!("about {description}"), "Good.").await;
    asks(
        world,
        &format!("/context save description:{description} clear:true"),
    )
    .await;
}

#[tokio::test]
async fn all_sessions_are_listed_the_newest_first() {
    run_test(async |world| {
        for description in ["one", "two", "three"] {
            saved(world, description).await;
        }
        let list = asks(world, "/context history").await;
        let places: Vec<usize> = ["- three (", "- two (", "- one ("]
            .iter()
            .map(|line| {
                list.find(line)
                    .unwrap_or_else(|| panic!("no “{line}” in {list}"))
            })
            .collect();
        assert!(places.is_sorted(), "{list}");
    })
    .await;
}

#[tokio::test]
async fn without_sessions_it_says_so() {
    run_test(async |world| {
        let list = asks(world, "/context history").await;
        assert!(
            list.contains("There are no saved sessions for lab."),
            "{list}"
        );
    })
    .await;
}

#[tokio::test]
async fn each_line_has_time_count_trigger_and_summary() {
    run_test(async |world| {
        world.model.summarises("They spoke of one. It went well.");
        saved(world, "one").await;
        let list = asks(world, "/context history").await;
        assert!(list.contains("- one (2 messages, manual_save)"), "{list}");
        assert!(list.contains("They spoke of one. It went well."), "{list}");
    })
    .await;
}

#[tokio::test]
async fn it_is_an_embed_in_pages_of_ten() {
    run_test(async |world| {
        exchange(world, "about it", "Good.").await;
        for number in 1..=11 {
            asks(world, &format!("/context save description:number {number}")).await;
        }
        let list = asks(world, "/context history agent_name:lab").await;
        assert!(
            list.contains("Sessions for lab:") && list.contains("Page 1 of 2 · 11 sessions"),
            "{list}"
        );
        assert!(
            list.contains("- number 11 (") && !list.contains("- number 1 ("),
            "{list}"
        );
        world.ann.clicks("#lab", "Next").await;
        world
            .waits("the second page", |world| {
                let pages = world.messages("#lab").into_iter();
                let mut shown = pages.map(|one| world.discord.shown(&one));
                shown.find(|page| page.contains("Page 2 of 2") && page.contains("- number 1 ("))
            })
            .await;
    })
    .await;
}
