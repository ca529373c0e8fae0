//! What Discord or a server forbids, takes away or lets expire: told in words, and no harm to the rest.

use chorus_playground::{Answer, Effect, Fault, Rights};

use crate::world::{World, run_test};

/// What the owner was told by direct message.
fn told(world: &World) -> Vec<String> {
    let letters = world.ann.person.direct_messages();
    let all = world.discord.messages(letters);
    all.into_iter().map(|one| one.content).collect()
}

#[tokio::test]
async fn a_channel_it_may_not_write_in_is_told_to_the_owner_once_with_the_permission() {
    run_test(async |world| {
        let lab = world.channel("#lab");
        world.discord.denies_bot(lab, Rights::SEND_MESSAGES);
        world.model.answers("Nobody hears me.");
        world.ann.says("#lab", "hello").await;
        world
            .waits("a letter to the owner", |world| {
                (!told(world).is_empty()).then_some(())
            })
            .await;
        world.model.answers("Nobody hears me now.");
        world.ann.says("#lab", "hello again").await;
        world
            .waits("the second refusal", |world| {
                let refused = world.discord.requests().into_iter().filter(|one| {
                    one.method == "POST"
                        && one.path.ends_with("/messages")
                        && one.status == Some(403)
                });
                (refused.count() >= 2).then_some(())
            })
            .await;
        world.restarts().await;
        let told = told(world);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].contains(&format!("<#{lab}>")) && told[0].contains("Send Messages"),
            "{told:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_refused_token_ends_all_requests() {
    run_test(async |world| {
        world.discord.order(Fault {
            method: "POST",
            path: "/channels".into(),
            times: 1_000,
            effect: Effect::Status(401),
        });
        world.model.always_answers("", "It is not said.");
        world.ann.says("#lab", "hello").await;
        world
            .waits("the refusal", |world| {
                let all = world.discord.requests();
                all.iter().any(|one| one.status == Some(401)).then_some(())
            })
            .await;
        world.discord.heals();
        // An answer to a command bears its own token; once it is there, others had their time.
        world.ann.asks("/ping", "#lab").await;
        world.ann.says("#lab", "and now?").await;
        world.ann.asks("/ping", "#lab").await;
        let requests = world.discord.requests();
        let refusal = requests.iter().position(|one| one.status == Some(401));
        let after = requests[refusal.unwrap()..].iter().filter(|one| {
            one.status != Some(401)
                && !one.path.contains("/interactions/")
                && !one.path.contains("/webhooks/")
        });
        let after: Vec<_> = after.map(|one| &one.path).collect();
        assert!(after.is_empty(), "{after:?}");
    })
    .await;
}

#[tokio::test]
async fn a_command_that_expired_harms_nobody() {
    run_test(async |world| {
        world.discord.holds_events();
        let late = world.ann.runs("/status", "#lab").await;
        world.discord.expires_interactions();
        world.discord.releases_events();
        let answer = world.bob.asks("/status", "#lab").await;
        assert!(answer.contains("Agent: lab"), "{answer}");
        assert_eq!(world.discord.answer_to(late), Answer::Nothing);
    })
    .await;
}

#[tokio::test]
async fn a_message_deleted_in_the_middle_of_its_turn_is_still_answered() {
    run_test(async |world| {
        let thought = world.model.thinks_then("To whom it may concern.");
        let asked = world.ann.says("#lab", "never mind").await;
        world.model.was_asked(1).await;
        world.ann.deletes("#lab", asked).await;
        thought.ends();
        world.sees("#lab", "To whom it may concern.").await;
    })
    .await;
}

#[tokio::test]
async fn servers_know_nothing_of_each_other() {
    run_test(async |world| {
        let other = world.discord.add_guild("Elsewhere", &world.ann.person);
        world.discord.add_channel(other, "elsewhere");
        world
            .waits("the commands in the other server", |world| {
                (!world.discord.commands(Some(other)).is_empty()).then_some(())
            })
            .await;
        world.ann.asks("/agent init name:far", "#elsewhere").await;
        let here = world.ann.asks("/agent list", "#lab").await;
        let there = world.ann.asks("/agent list", "#elsewhere").await;
        assert!(here.contains("lab") && !here.contains("far"), "{here}");
        assert!(there.contains("far") && !there.contains("lab"), "{there}");
        let refused = world
            .ann
            .asks("/agent config name:far key:model", "#lab")
            .await;
        assert!(!refused.contains("scripted"), "{refused}");
        world
            .ann
            .asks("/settings approval-timeout timeout:77s", "#elsewhere")
            .await;
        let shown = world.ann.asks("/settings show", "#lab").await;
        assert!(!shown.contains("77 s"), "{shown}");
        world.model.answers("From afar.");
        world.ann.says("#far", "hello").await;
        world.sees("#far", "From afar.").await;
    })
    .await;
}
