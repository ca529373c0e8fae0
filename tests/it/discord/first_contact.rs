//! First contact: a greeting, an answer to a mention or a direct message, and one reason for who has no access.

use serde_json::json;

use crate::world::{Lab, Setup, World, run_test, run_test_with};

fn without_agent() -> Setup {
    Setup {
        lab: Lab::Missing,
        ..Setup::default()
    }
}

fn count(world: &World, channel: &str, text: &str) -> usize {
    world.transcript(channel).matches(text).count()
}

#[tokio::test]
async fn a_server_is_greeted_once_and_the_button_makes_its_first_agent() {
    run_test_with(without_agent(), async |world| {
        world
            .sees("#general", "I turn channels of this server into AI agents")
            .await;
        let refused = world.bob.clicks("#general", "Make your first agent").await;
        let told = world.next_private_reply(&world.bob).await;
        assert!(told.contains("Manage Channels"), "{refused}: {told}");
        let press = world.ann.clicks("#general", "Make your first agent").await;
        let fields = [("system_prompt", "You help with the garden.")];
        world.ann.fills(press, &fields).await;
        let made = world.next_private_reply(&world.ann).await;
        assert!(made.contains("**lab** is ready"), "{made}");
        assert_eq!(world.agent_json("lab")["system_prompt"], fields[0].1);
        world.restarts().await;
        world.ann.asks("/ping", "#lab").await;
        assert_eq!(count(world, "#general", "I turn channels"), 1);
    })
    .await;
}

#[tokio::test]
async fn a_mention_where_no_agent_lives_is_answered() {
    run_test(async |world| {
        let name = format!("<@{}>", world.discord.bot());
        world
            .bob
            .says("#general", &format!("{name} are you there?"))
            .await;
        let shown = world
            .sees("#general", "There is no agent in this channel.")
            .await;
        assert!(shown.contains("Write in #lab to talk to one."), "{shown}");
        assert!(shown.contains("`/agent init`"), "{shown}");
        // Whoever goes on is not answered again and again, and words for others are not answered at all.
        world.bob.says("#general", &format!("{name} hello?")).await;
        world.ann.says("#general", "let us see").await;
        world.exchange("hello", "Good morning.").await;
        assert_eq!(
            count(world, "#general", "There is no agent in this channel."),
            1
        );
    })
    .await;
}

#[tokio::test]
async fn a_hint_names_no_channel_that_its_reader_does_not_see() {
    run_test(async |world| {
        let lab = world.channel("#lab");
        let right = chorus_playground::Rights::VIEW_CHANNEL;
        world.discord.denies(lab, world.bob.id(), right);
        let name = format!("<@{}>", world.discord.bot());
        world.bob.says("#general", &name).await;
        let shown = world
            .sees("#general", "There is no agent in this channel.")
            .await;
        assert!(!shown.contains("Write in"), "{shown}");
    })
    .await;
}

#[tokio::test]
async fn a_direct_message_is_answered_with_what_to_do() {
    run_test(async |world| {
        let direct = world.bob.person.direct_messages();
        world.bob.person.says(direct, "hello");
        world
            .waits("the answer", |world| {
                let shown = world.discord.transcript(direct);
                shown
                    .contains("I work in the channels of a server")
                    .then_some(())
            })
            .await;
        assert_eq!(world.model.requests().len(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_member_without_access_gets_one_private_reason() {
    run_test(async |world| {
        world.edits_agent_json("lab", json!({"access_roles": ["1"]}));
        let direct = world.bob.person.direct_messages();
        world.bob.says("#lab", "hello").await;
        world
            .waits("the reason", |world| {
                let shown = world.discord.transcript(direct);
                shown
                    .contains("answers only members with certain roles")
                    .then_some(())
            })
            .await;
        world.restarts().await;
        world.bob.says("#lab", "hello again").await;
        // An administrator is let in, and comes behind bob in the channel's queue.
        world.exchange("are you there?", "I am.").await;
        let shown = world.discord.transcript(direct);
        assert_eq!(shown.matches("certain roles").count(), 1, "{shown}");
        assert!(!world.transcript("#lab").contains("certain roles"));
    })
    .await;
}

#[tokio::test]
async fn who_takes_no_direct_messages_gets_a_reaction() {
    run_test(async |world| {
        world.edits_agent_json("lab", json!({"access_roles": ["1"]}));
        world.bob.person.closes_direct_messages();
        world.bob.says("#lab", "hello").await;
        let shown = world.sees("#lab", "🔒").await;
        assert!(!shown.contains("certain roles"), "{shown}");
    })
    .await;
}
