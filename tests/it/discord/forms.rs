//! Answers that go on: pages that are turned, forms that are filled in, values of every length.

use chorus_playground::Answer;

use crate::world::{World, run_test};

async fn shown(world: &World, text: &str) {
    world
        .waits(&format!("“{text}”"), |world| {
            let own = world.discord.private_messages(world.ann.id());
            let found = own
                .iter()
                .any(|one| world.discord.shown(one).contains(text));
            found.then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_long_history_is_turned_page_by_page() {
    run_test(async |world| {
        world.model.always_answers("", "Noted.");
        for n in 1..=11 {
            world.ann.says("#lab", &format!("thought {n}")).await;
            world
                .waits("the answer", |world| {
                    let all = world.messages("#lab").into_iter();
                    (all.filter(|one| one.content == "Noted.").count() == n).then_some(())
                })
                .await;
            let long = "very ".repeat(12);
            world
                .ann
                .asks(&format!("/context save description:{long}long {n}"), "#lab")
                .await;
        }
        let first = world.ann.asks("/context history", "#lab").await;
        assert!(
            first.contains("long 11") && first.contains("Next"),
            "{first}"
        );
        world.ann.clicks("#lab", "Next").await;
        shown(world, "long 1").await;
        world.ann.clicks("#lab", "Previous").await;
        shown(world, "long 11").await;
    })
    .await;
}

#[tokio::test]
async fn a_prompt_is_edited_in_a_form() {
    run_test(async |world| {
        world
            .ann
            .asks("/agent config name:lab key:system_prompt", "#lab")
            .await;
        let press = world.ann.clicks("#lab", "Edit").await;
        world
            .waits("the form", |world| {
                matches!(world.discord.answer_to(press), Answer::Form(_)).then_some(())
            })
            .await;
        let prompt = "Be brief.\nAnd kind.";
        let form = world
            .ann
            .person
            .submits(press, &[("system_prompt", prompt)]);
        let form = form.unwrap();
        world
            .waits("the answer to the form", |world| {
                matches!(world.discord.answer_to(form), Answer::Message(_)).then_some(())
            })
            .await;
        assert_eq!(world.agent_json("lab")["system_prompt"], prompt);
    })
    .await;
}

#[tokio::test]
async fn a_value_of_any_length_is_shown_whole() {
    run_test(async |world| {
        let prompt = "x".repeat(5_900);
        world
            .ann
            .asks(
                &format!("/agent config name:lab key:system_prompt value:{prompt}"),
                "#lab",
            )
            .await;
        let run = world
            .ann
            .runs("/agent config name:lab key:system_prompt", "#lab")
            .await;
        let file = world
            .waits("the whole value", |world| {
                let answers = world.discord.replies_to(run).into_iter();
                answers.flat_map(|one| one.attachments).next()
            })
            .await;
        assert_eq!(world.discord.file(&file), prompt.as_bytes());
        let press = world.ann.clicks("#lab", "Edit").await;
        world
            .waits("why it cannot be edited", |world| {
                let why = world.discord.replies_to(press).pop()?;
                why.content.contains("option `file`").then_some(())
            })
            .await;
    })
    .await;
}
