//! What Discord does to bots: limits, failures, drops. Nothing is lost, doubled or out of order.

use std::time::Duration;

use chorus_playground::{Break, Effect, Fault, GatewayEvent, Rights, Scope};
use serde_json::json;

use super::messages::ledger_has;
use crate::world::{World, run_test};

fn fault(method: &'static str, path: &str, times: usize, effect: Effect) -> Fault {
    Fault {
        method,
        path: path.to_owned(),
        times,
        effect,
    }
}

/// How often the bot said this in the channel.
fn times(world: &World, channel: &str, text: &str) -> usize {
    let bot = world.discord.bot();
    world
        .messages(channel)
        .iter()
        .filter(|one| one.author == bot && one.content == text)
        .count()
}

async fn is_answered_once(world: &mut World, effect: Effect, hits: usize) {
    world.model.answers("Through the storm.");
    world
        .discord
        .order(fault("POST", "/messages", hits, effect));
    world.ann.says("#lab", "hello").await;
    world.sees("#lab", "Through the storm.").await;
    world.exchange("and now?", "Calm again.").await;
    assert_eq!(times(world, "#lab", "Through the storm."), 1);
}

#[tokio::test]
async fn a_429_is_waited_out() {
    run_test(async |world| {
        let effect = Effect::RateLimited {
            scope: Scope::Bucket,
            retry_after: Duration::from_millis(300),
        };
        is_answered_once(world, effect, 2).await;
    })
    .await;
}

#[tokio::test]
async fn a_global_429_is_waited_out() {
    run_test(async |world| {
        let effect = Effect::RateLimited {
            scope: Scope::Global,
            retry_after: Duration::from_millis(300),
        };
        is_answered_once(world, effect, 1).await;
    })
    .await;
}

#[tokio::test]
async fn a_5xx_is_tried_again() {
    run_test(async |world| is_answered_once(world, Effect::Status(503), 2).await).await;
}

#[tokio::test]
async fn an_answer_posted_but_not_confirmed_is_not_posted_twice() {
    run_test(async |world| is_answered_once(world, Effect::DropAfter, 1).await).await;
}

#[tokio::test]
async fn a_connection_lost_before_the_post_loses_nothing() {
    run_test(async |world| is_answered_once(world, Effect::DropBefore, 2).await).await;
}

#[tokio::test]
async fn a_reconnect_does_not_touch_a_running_turn() {
    run_test(async |world| {
        let thought = world.model.thinks_then("Still here.");
        world.ann.says("#lab", "think").await;
        world
            .waits("the model to be asked", |world| {
                (world.model.requests().len() == 1).then_some(())
            })
            .await;
        world.discord.break_gateway(Break::Cut);
        world
            .waits("the connection to come back", |world| {
                world.discord.is_connected().then_some(())
            })
            .await;
        thought.ends();
        world.sees("#lab", "Still here.").await;
        assert_eq!(world.model.requests().len(), 1);
    })
    .await;
}

async fn survives(world: &mut World, how: Break) {
    world.discord.break_gateway(how);
    world.exchange("do you hear me?", "Heard you.").await;
    assert_eq!(times(world, "#lab", "Heard you."), 1);
}

#[tokio::test]
async fn a_message_during_a_resume_is_heard() {
    run_test(async |world| survives(world, Break::Reconnect).await).await;
}

#[tokio::test]
async fn a_message_while_the_session_is_gone_is_heard() {
    run_test(async |world| survives(world, Break::Invalid).await).await;
}

#[tokio::test]
async fn a_message_during_an_unclean_close_is_heard() {
    run_test(async |world| survives(world, Break::Close(4000)).await).await;
}

#[tokio::test]
async fn events_that_come_twice_are_one_message() {
    run_test(async |world| {
        world.exchange("only once", "Once.").await;
        world.discord.repeats_events(5);
        world.exchange("next", "Next.").await;
        assert_eq!(world.model.requests().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_message_that_was_passed_over_stays_so_after_a_resume() {
    run_test(async |world| {
        let vip = world.ann.person.gets_role("vip", Rights::default());
        let thought = world.model.thinks_then("One.");
        world.ann.says("#lab", "one").await;
        world.model.was_asked(1).await;
        let second = world.ann.says("#lab", "two").await;
        ledger_has(world, second, "two").await;
        world.edits_agent_json("lab", json!({"access_roles": [vip.0]}));
        world.bob.says("#lab", "let me in").await;
        // An edit that is stored says that what came before it in the channel was dealt with.
        world.ann.edits("#lab", second, "two and a half").await;
        ledger_has(world, second, "two and a half").await;
        world.edits_agent_json("lab", json!({"access_roles": []}));
        world.discord.break_gateway(Break::Reconnect);
        world
            .waits("the session to go on", |world| {
                let log = world.discord.gateway_log();
                let is_resumed = log
                    .iter()
                    .any(|(_, moment)| *moment == GatewayEvent::Resumed);
                is_resumed.then_some(())
            })
            .await;
        world
            .ann
            .edits("#lab", second, "two and three quarters")
            .await;
        ledger_has(world, second, "three quarters").await;
        world.model.answers("Two.");
        thought.ends();
        world.sees("#lab", "Two.").await;
        world.exchange("and three", "Three.").await;
        let asked = world.model.last_request().to_string();
        assert!(!asked.contains("let me in"), "{asked}");
    })
    .await;
}

#[tokio::test]
async fn what_was_said_while_it_was_off_is_answered_in_order() {
    run_test(async |world| {
        world.stops().await;
        for n in 1..=3 {
            world
                .model
                .always_answers(&format!("question {n}"), &format!("answer {n}"));
        }
        for n in 1..=3 {
            world.ann.says("#lab", &format!("question {n}")).await;
        }
        world.starts().await;
        world
            .waits("all questions to reach the model", |world| {
                let asked = world
                    .model
                    .requests()
                    .iter()
                    .map(ToString::to_string)
                    .collect::<String>();
                (1..=3)
                    .all(|n| asked.contains(&format!("question {n}")))
                    .then_some(())
            })
            .await;
        let last = world.model.last_request().to_string();
        let order: Vec<usize> = (1..=3)
            .filter_map(|n| last.find(&format!("question {n}")))
            .collect();
        assert!(order.is_sorted(), "{last}");
    })
    .await;
}

#[tokio::test]
async fn a_channel_deleted_in_the_middle_of_a_turn_harms_nobody_else() {
    run_test(async |world| {
        world.ann.runs("/agent init name:other", "#general").await;
        world
            .waits("#other", |world| world.discord.channel("#other").map(drop))
            .await;
        let thought = world.model.thinks_then("Too late.");
        world.ann.says("#lab", "think").await;
        world
            .waits("the model to be asked", |world| {
                (world.model.requests().len() == 1).then_some(())
            })
            .await;
        world.ann.person.deletes_channel(world.channel("#lab"));
        thought.ends();
        world.model.answers("I am fine.");
        world.ann.says("#other", "how are you?").await;
        world.sees("#other", "I am fine.").await;
    })
    .await;
}
