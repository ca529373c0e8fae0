//! What Discord refuses, and what is gone when it is needed: each has one outcome, and nothing is doubled.

use chorus_playground::{Effect, Fault};

use crate::world::{World, run_test};

fn questions(world: &World) -> usize {
    let all = world.messages("#lab");
    let is_question = |one: &&chorus_playground::Message| {
        let mut buttons = one.buttons().into_iter();
        buttons.any(|button| button.label == "Allow")
    };
    all.iter().filter(is_question).count()
}

#[tokio::test]
async fn a_question_whose_message_is_deleted_is_asked_again() {
    run_test(async |world| {
        world.asks_to_write(&world.bob.clone(), "It is done.").await;
        let first = world.question("#lab").await.id;
        world.ann.deletes("#lab", first).await;
        world
            .waits("the question again", |world| {
                let all = world.messages("#lab");
                let mut later = all.iter().filter(|one| one.id > first);
                later
                    .any(|one| one.buttons().iter().any(|button| button.label == "Allow"))
                    .then_some(())
            })
            .await;
        assert_eq!(questions(world), 1);
        world.bob.clicks("#lab", "Allow").await;
        world.sees("#lab", "It is done.").await;
        assert!(world.was_written());
        assert_eq!(questions(world), 0);
    })
    .await;
}

#[tokio::test]
async fn a_press_that_discord_does_not_know_any_more_decides_once() {
    run_test(async |world| {
        world.asks_to_write(&world.bob.clone(), "It is done.").await;
        world.question("#lab").await;
        world.discord.order(Fault {
            method: "POST",
            path: "/callback".to_owned(),
            times: 1,
            effect: Effect::Status(404),
        });
        world.bob.clicks("#lab", "Allow").await;
        let shown = world.sees("#lab", "It is done.").await;
        assert!(world.was_written());
        assert_eq!(questions(world), 0, "{shown}");
        assert_eq!(shown.matches("It is done.").count(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_question_of_somebody_who_left_is_decided_by_who_manages_the_server() {
    run_test(async |world| {
        world.asks_to_write(&world.bob.clone(), "It is done.").await;
        world.question("#lab").await;
        world.bob.person.leaves();
        world.ann.clicks("#lab", "Allow").await;
        let shown = world.sees("#lab", "It is done.").await;
        assert_eq!(shown.matches("It is done.").count(), 1);
    })
    .await;
}

#[tokio::test]
async fn an_answer_for_all_that_comes_after_the_interaction_is_posted() {
    run_test(async |world| {
        world.exchange("my colour is blue", "Noted.").await;
        let thought = world.model.thinks_about_summaries();
        let run = world.ann.runs("/context save", "#lab").await;
        world
            .waits("the acknowledgement", |world| {
                matches!(
                    world.discord.answer_to(run),
                    chorus_playground::Answer::Thinking(_)
                )
                .then_some(())
            })
            .await;
        world.discord.expires_interactions();
        drop(thought);
        let shown = world.sees("#lab", "Session saved:").await;
        assert_eq!(shown.matches("Session saved:").count(), 1, "{shown}");
    })
    .await;
}
