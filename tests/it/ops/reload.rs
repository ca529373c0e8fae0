//! SIGHUP: what is right comes into force, what is wrong changes nothing and is told.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use super::program;
use super::systemd::Systemd;
use crate::world::{World, run_test_with};

fn writes(world: &World, text: &str) {
    fs::write(world.home().join("config.json"), text).unwrap();
}

#[tokio::test]
async fn the_last_good_configuration_stays_in_force() {
    let mut systemd = Systemd::listen();
    run_test_with(program(vec![systemd.variable()]), async |world| {
        systemd.hears("READY=1").await;
        let good = json!({ "default_model": "scripted-model", "idle_timeout": "3h" });
        writes(world, &good.to_string());
        world.signals(Signal::HUP).await;
        systemd.hears("RELOADING=1").await;
        systemd.hears("READY=1").await;
        let shown = world.ann.asks("/settings show", "#general").await;
        assert!(shown.contains("3 h"), "{shown}");

        writes(world, "{\n  \"idle_timout\": 60\n}");
        world.signals(Signal::HUP).await;
        let told = systemd.hears("READY=1").await;
        let reason = "config.json:2:15: unknown key `idle_timout`: did you mean `idle_timeout`?";
        assert!(
            told.contains("STATUS=config.json stays as it was: "),
            "{told}"
        );
        assert!(told.contains(reason), "{told}");
        let shown = world.ann.asks("/settings show", "#general").await;
        assert!(shown.contains("3 h"), "{shown}");

        // Ann owns the application.
        let direct = world.ann.person.direct_messages();
        let letter = world
            .waits("a direct message to the operator", |world| {
                world.discord.messages(direct).into_iter().next()
            })
            .await;
        assert!(letter.content.contains(reason), "{}", letter.content);
        assert!(
            letter.content.contains("stays in use"),
            "{}",
            letter.content
        );
        world.signals(Signal::HUP).await;
        systemd.hears("RELOADING=1").await;
        systemd.hears("READY=1").await;
        world.exchange("hello?", "Still here.").await;
        let letters = world.discord.messages(direct).len();
        assert_eq!(letters, 1, "the same cause is told once");
    })
    .await;
}
