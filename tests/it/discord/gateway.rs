//! The connection to the gateway: what breaks it, what ends it for good, and what it may cost.

use std::time::{Duration, Instant};

use chorus::discord::DiscordError;
use chorus::discord::gateway::session::{Backoff, Budget, Disconnect, after_close};
use chorus_playground::{Break, GatewayEvent};
use serde_json::{Value, json};

use crate::world::{World, run_test};

/// When this happened at the gateway, each time.
fn times(world: &World, wanted: fn(&GatewayEvent) -> bool) -> Vec<Instant> {
    let log = world.discord.gateway_log();
    let fitting = log.into_iter().filter(|(_, moment)| wanted(moment));
    fitting.map(|(at, _)| at).collect()
}

fn identified(moment: &GatewayEvent) -> bool {
    matches!(moment, GatewayEvent::Identified(_))
}

fn resumed(moment: &GatewayEvent) -> bool {
    *moment == GatewayEvent::Resumed
}

async fn comes(world: &World, wanted: fn(&GatewayEvent) -> bool, count: usize) {
    world
        .waits("the gateway", |world| {
            (times(world, wanted).len() >= count).then_some(())
        })
        .await;
}

async fn is_heard(world: &mut World, answer: &str) {
    world.exchange("do you hear me?", answer).await;
}

#[tokio::test]
async fn a_close_frame_without_a_code_costs_no_session() {
    run_test(async |world| {
        world.discord.break_gateway(Break::CloseWithoutCode);
        is_heard(world, "Yes.").await;
        comes(world, resumed, 1).await;
        assert_eq!(times(world, identified).len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_connection_that_falls_silent_is_noticed_and_the_session_goes_on() {
    run_test(async |world| {
        world.discord.heartbeat(Duration::from_millis(300));
        world.discord.break_gateway(Break::Reconnect);
        comes(world, resumed, 1).await;
        world.discord.break_gateway(Break::Stall);
        is_heard(world, "Yes.").await;
        assert_eq!(times(world, identified).len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_session_that_cannot_be_resumed_is_given_up_after_three_tries() {
    run_test(async |world| {
        world.discord.cuts_resumes(10);
        world.discord.break_gateway(Break::Cut);
        is_heard(world, "Here I am.").await;
        comes(world, identified, 2).await;
        // The first connection, three that were cut, and the new session's.
        assert_eq!(
            times(world, |moment| *moment == GatewayEvent::Connected).len(),
            5
        );
    })
    .await;
}

#[tokio::test]
async fn no_session_is_begun_beyond_the_day_s_budget() {
    run_test(async |world| {
        let day = Duration::from_secs(7);
        world.discord.leaves_identifies(0, day);
        let broken = Instant::now();
        world.discord.break_gateway(Break::Invalid);
        let again = world
            .waits("the next session", |world| {
                times(world, identified).get(1).copied()
            })
            .await;
        assert!(again - broken >= day, "{:?}", again - broken);
        is_heard(world, "A new day.").await;
    })
    .await;
}

#[tokio::test]
async fn final_close_codes_end_it_with_the_reason_and_the_fix() {
    run_test(async |world| {
        let fixes = [
            (4004, "DISCORD_TOKEN"),
            (4010, "close code 4010"),
            (4011, "too many servers"),
            (4012, "update Chorus"),
            (4013, "close code 4013"),
            (4014, "Message Content Intent"),
        ];
        for (code, fix) in fixes {
            world.discord.break_gateway(Break::Close(code));
            let words = world.last_words().await;
            let fix = fix.replace("too many servers", "more servers than one connection");
            assert!(words.contains(&fix), "{code}: {words}");
            world.starts().await;
        }
    })
    .await;
}

#[tokio::test]
async fn without_the_intent_it_says_which_one_and_where_to_switch_it_on() {
    run_test(async |world| {
        world.stops().await;
        world.discord.disallows_intents(1 << 15);
        world.launches(&[]);
        let words = world.last_words().await;
        assert!(
            words.contains("Message Content Intent") && words.contains("discord.com/developers"),
            "{words}"
        );
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_understood_is_passed_over() {
    run_test(async |world| {
        let guild = world.discord.guild().to_string();
        world.discord.sends_words("no JSON at all");
        world.discord.sends_words("[]");
        world.discord.sends_words(r#"{"op": 77, "d": {}}"#);
        let odd: [(&str, Value); 6] = [
            ("SOMETHING_NEW", json!({"guild_id": guild})),
            ("MESSAGE_CREATE", json!({"guild_id": guild, "id": 5})),
            ("MESSAGE_UPDATE", json!({"guild_id": guild, "id": "5"})),
            ("GUILD_CREATE", Value::Null),
            ("INTERACTION_CREATE", json!({})),
            ("CHANNEL_DELETE", json!([])),
        ];
        for (name, data) in odd {
            world.discord.sends_event(name, data);
        }
        is_heard(world, "All the same.").await;
        assert_eq!(times(world, identified).len(), 1);
    })
    .await;
}

#[test]
fn half_of_the_sessions_are_free_and_the_rest_is_spread_over_the_day() {
    let day = Duration::from_secs(80_000);
    let budget = |remaining| Budget {
        total: 1_000,
        remaining,
        reset_after: day,
    };
    assert_eq!(budget(1_000).spacing(), Duration::from_secs(5));
    assert_eq!(budget(501).spacing(), Duration::from_secs(5));
    assert_eq!(budget(400).spacing(), day / 400);
    assert_eq!(budget(0).wait(None), day);
    assert_eq!(budget(1).wait(None), Duration::ZERO);
    let since = Some(Duration::from_secs(2));
    assert_eq!(budget(900).wait(since), Duration::from_secs(3));
}

#[test]
fn pauses_grow_while_nothing_comes_of_it_and_end_with_a_good_connection() {
    let mut backoff = Backoff::default();
    let at_once = Duration::ZERO;
    let failed: Vec<Duration> = (0..4).map(|_| backoff.after(false, at_once)).collect();
    assert_eq!(
        failed,
        [500, 1_000, 2_000, 4_000].map(Duration::from_millis)
    );
    for _ in 0..20 {
        backoff.after(false, at_once);
    }
    assert_eq!(backoff.after(false, at_once), Duration::from_secs(120));
    assert_eq!(backoff.after(true, Duration::from_secs(60)), Duration::ZERO);
}

#[test]
fn close_codes_mean_what_discord_says_they_mean() {
    assert!(matches!(after_close(None), Disconnect::Resume(_)));
    for code in [1000, 1001, 1006, 4000, 4001, 4002, 4005, 4008] {
        assert!(
            matches!(after_close(Some(code)), Disconnect::Resume(_)),
            "{code}"
        );
    }
    for code in [4003, 4007, 4009] {
        assert!(
            matches!(after_close(Some(code)), Disconnect::Identify(_)),
            "{code}"
        );
    }
    for code in [4004, 4010, 4011, 4012, 4013, 4014] {
        assert!(
            matches!(after_close(Some(code)), Disconnect::Final(_)),
            "{code}"
        );
    }
    assert!(matches!(
        after_close(Some(4014)),
        Disconnect::Final(DiscordError::Intent)
    ));
}
