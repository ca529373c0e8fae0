//! SIGHUP: what is right comes into force, what is wrong changes nothing and is told.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use super::program;
use super::systemd::Systemd;
use crate::tools_seen::bound_folder::Machine;
use crate::tools_seen::uses;
use crate::world::{Setup, World, run_test_with};

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

#[tokio::test]
async fn a_folder_that_is_taken_back_and_given_again_can_be_used_again() {
    let machine = Machine::new();
    let mut systemd = Systemd::listen();
    let bound = machine.setup();
    let setup = Setup {
        config: bound.config,
        lab: bound.lab,
        ..program(vec![systemd.variable()])
    };
    run_test_with(setup, async |world| {
        systemd.hears("READY=1").await;
        machine.binds(world).await;
        let gate = "/schedule new when:daily at 9:00 then:post gate:touch made name:make";
        world.ann.asks(gate, "#lab").await;
        world.ann.clicks("#lab", "Create").await;
        world.sees("#lab", "planned `make`").await;
        let allowed = fs::read_to_string(world.home().join("config.json")).unwrap();
        let mut without: serde_json::Value = serde_json::from_str(&allowed).unwrap();
        without["folders"] = json!([]);
        let new = json!({"path": "a.txt", "content": "x"});

        writes(world, &without.to_string());
        world.signals(Signal::HUP).await;
        systemd.hears("RELOADING=1").await;
        systemd.hears("READY=1").await;
        let told = uses(world, "create_file", new.clone()).await.refused();
        assert!(told.contains("only view, glob, grep"), "{told}");
        uses(world, "view", json!({"path": "compose.yaml"}))
            .await
            .ok();
        world.ann.asks("/schedule run name:make", "#lab").await;
        let failed = "SELECT state FROM schedule_runs WHERE state NOT IN ('due', 'running')";
        world.ledger_says(failed, &["failed"]).await;
        assert!(!machine.at("web/made").exists());

        writes(world, &allowed);
        world.signals(Signal::HUP).await;
        systemd.hears("RELOADING=1").await;
        systemd.hears("READY=1").await;
        uses(world, "create_file", new).await.ok();
        world.sees("#lab", "My folder can be used again").await;
        let shown = world.discord.transcript(world.channel("#lab"));
        assert_eq!(shown.matches("I can only look at it").count(), 1, "{shown}");
    })
    .await;
}
