//! The watchdog is fed while the daemon itself lives, whatever Discord and models do; and only then.

use chorus_playground::Break;
use rustix::process::Signal;

use super::metrics::{free_address, get};
use super::systemd::Systemd;
use super::{command, program};
use crate::world::daemon::signal;
use crate::world::{Setup, run_test_with};

/// How often systemd wants to hear of it: often enough that a test need not wait.
const INTERVAL: &str = "300000";

#[tokio::test]
async fn neither_a_dead_connection_nor_a_hanging_turn_starves_it() {
    let mut systemd = Systemd::listen();
    let env = vec![systemd.variable(), ("WATCHDOG_USEC", INTERVAL.to_owned())];
    run_test_with(program(env), async |world| {
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "think for ever").await;
        world
            .waits("the model to be asked", |world| {
                (!world.model.requests().is_empty()).then_some(())
            })
            .await;
        world.discord.break_gateway(Break::Stall);
        systemd.unread();
        for _ in 0..5 {
            systemd.hears("WATCHDOG=1").await;
        }
        thought.ends();
        // The line comes back when its own watchdog has seen that it is dead; nothing here waits for that.
        world.discord.break_gateway(Break::Cut);
    })
    .await;
}

#[tokio::test]
async fn a_start_without_discord_feeds_it_and_ends_in_order() {
    let mut systemd = Systemd::listen();
    run_test_with(program(Vec::new()), async |world| {
        let home = tempfile::tempdir().unwrap();
        let (notify, socket) = systemd.variable();
        let mut daemon = command(world, &["run"])
            .env("CHORUS_HOME", home.path())
            .env(
                "CHORUS_DISCORD_API_URL",
                format!("http://{}", free_address()),
            )
            .env(notify, socket)
            .env("WATCHDOG_USEC", INTERVAL)
            .spawn()
            .unwrap();
        // It is ready without Discord: a machine that boots does not wait.
        let ready = systemd.hears("READY=1").await;
        assert!(ready.contains("STATUS=waiting for Discord"), "{ready}");
        for _ in 0..3 {
            systemd.hears("WATCHDOG=1").await;
        }
        signal(&daemon, Signal::TERM);
        assert_eq!(daemon.wait().await.unwrap().code(), Some(0));
        systemd.hears("STOPPING=1").await;
    })
    .await;
}

#[tokio::test]
async fn a_ledger_that_does_not_write_starves_it_and_is_seen() {
    let mut systemd = Systemd::listen();
    let address = free_address();
    let setup = Setup {
        config: serde_json::json!({ "metrics_listen": address }),
        ..program(vec![
            systemd.variable(),
            ("WATCHDOG_USEC", INTERVAL.to_owned()),
        ])
    };
    run_test_with(setup, async |world| {
        systemd.hears("WATCHDOG=1").await;
        let (status, _) = get(&address, "/healthz").await;
        assert_eq!(status, 200);

        let other = world.opens_ledger();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        systemd.unread();
        let (status, words) = get(&address, "/healthz").await;
        assert_eq!(status, 503);
        assert!(words.starts_with("the ledger does not "), "{words}");
        let fed = systemd.unread();
        let fed = fed.iter().filter(|words| words.contains("WATCHDOG=1"));
        // One was perhaps under way.
        assert!(fed.count() <= 1, "fed while the ledger did not write");

        other.execute_batch("ROLLBACK").unwrap();
        drop(other);
        systemd.hears("WATCHDOG=1").await;
        let (status, _) = get(&address, "/healthz").await;
        assert_eq!(status, 200);
    })
    .await;
}
