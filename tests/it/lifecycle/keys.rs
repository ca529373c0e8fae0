//! Every key of `/agent config`: shown, set, in force, unset.

use chorus::config::{Unset, agent_keys};
use serde_json::{Value, json};

use crate::world::{World, run_test};

async fn asks(world: &World, key: &str, value: &str) -> String {
    let value = match value {
        "" => String::new(),
        value => format!(" value:{value}"),
    };
    let command = format!("/agent config name:lab key:{key}{value}");
    world.ann.asks(&command, "#general").await
}

#[tokio::test]
async fn each_is_shown_set_and_unset() {
    // Key, what is written, what the file holds then, what takes it back, what the file holds after that.
    let keys = [
        (
            "system_prompt",
            "Be brief.",
            json!("Be brief."),
            "Be long.",
            json!("Be long."),
        ),
        (
            "model",
            "scripted-model",
            json!("anthropic/scripted-model"),
            "default",
            Value::Null,
        ),
        (
            "permissions",
            "guarded",
            json!("guarded"),
            "standard",
            json!("standard"),
        ),
        ("idle_timeout", "5m", json!(300), "default", Value::Null),
        ("turn_timeout", "90", json!(90), "default", Value::Null),
        ("web_search", "true", json!(true), "false", json!(false)),
        (
            "fallback_models",
            "scripted-model",
            json!(["anthropic/scripted-model"]),
            "none",
            json!([]),
        ),
        (
            "always_allow",
            "[\"bash:ls\"]",
            json!(["bash:ls"]),
            "none",
            json!([]),
        ),
        ("sandbox", "auto", json!("auto"), "default", Value::Null),
        ("network", "off", json!(false), "default", Value::Null),
        (
            "access_roles",
            "1234567890",
            json!([1_234_567_890_u64]),
            "default",
            Value::Null,
        ),
        ("budget_turn", "0.5", json!(0.5), "none", Value::Null),
        ("budget_day", "$2", json!(2.0), "none", Value::Null),
    ];
    run_test(async |world| {
        for (key, written, held, back, after) in keys {
            let shown = asks(world, key, "").await;
            assert!(shown.contains(&format!("lab: {key}")), "{shown}");
            let set = asks(world, key, written).await;
            assert!(set.contains("of `lab` is now"), "{set}");
            assert_eq!(world.agent_json("lab")[key], held, "{key}");
            let unset = asks(world, key, back).await;
            assert!(unset.contains("of `lab` is now"), "{unset}");
            assert_eq!(world.agent_json("lab")[key], after, "{key}");
        }
        let audited = world.ann.asks("/audit", "#general").await;
        assert!(audited.contains("agent_config:budget_day"), "{audited}");
    })
    .await;
}

#[tokio::test]
async fn default_takes_every_key_back_however_it_is_written() {
    run_test(async |world| {
        for key in agent_keys().filter(|key| key.unset != Unset::Refused) {
            let expected = match key.unset {
                Unset::Refused | Unset::Inherited => Value::Null,
                Unset::Empty => json!([]),
                Unset::Off => json!(false),
                Unset::DefaultProfile => json!("standard"),
            };
            for word in ["default", "Default", "DEFAULT"] {
                let before = match key.unset {
                    Unset::Empty => json!(["scripted-model"]),
                    Unset::Off => json!(true),
                    Unset::DefaultProfile => json!("guarded"),
                    Unset::Refused | Unset::Inherited => Value::Null,
                };
                world.edits_agent_json("lab", json!({ (key.name): before }));
                let told = asks(world, key.name, word).await;
                assert!(told.contains("of `lab` is now"), "{told}");
                assert_eq!(
                    world.agent_json("lab")[key.name],
                    expected,
                    "{key} = {word}"
                );
            }
        }
        // Who writes `none` may mean that nothing is permitted.
        let told = asks(world, "permissions", "none").await;
        assert!(!told.contains("is now"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn default_takes_a_setting_of_the_server_back() {
    run_test(async |world| {
        let before = world.ann.asks("/settings show", "#general").await;
        for (set, back) in [
            ("idle-timeout timeout:77s", "idle-timeout timeout:Default"),
            (
                "approval-timeout timeout:78s",
                "approval-timeout timeout:default",
            ),
            ("permissions permission_profile:guarded", "permissions permission_profile:default"),
            ("model model:scripted-model", "model model:DEFAULT"),
        ] {
            world
                .ann
                .asks(&format!("/settings {set}"), "#general")
                .await;
            let told = world
                .ann
                .asks(&format!("/settings {back}"), "#general")
                .await;
            assert!(told.contains("is now the default."), "{told}");
            let after = world.ann.asks("/settings show", "#general").await;
            assert_eq!(after, before, "{set}");
        }
        for wrong in ["25h", "29s", "0", "86401"] {
            let command = format!("/settings approval-timeout timeout:{wrong}");
            let told = world.ann.asks(&command, "#general").await;
            assert!(told.contains("Write a duration from 30 s to "), "{wrong}: {told}");
            assert_eq!(world.ann.asks("/settings show", "#general").await, before, "{wrong}");
        }
        let told = world
            .ann
            .asks("/settings idle-timeout timeout:soon", "#general")
            .await;
        insta::assert_snapshot!(told, @"Chorus (only ann sees this): `soon` cannot be `idle_timeout`. Write a duration in seconds or with a unit, such as `1800`, `30m` or `2h`; `0` is never, `default` takes back what was set.");
    })
    .await;
}

#[tokio::test]
async fn what_a_key_cannot_be_is_refused_and_changes_nothing() {
    let refused = [
        ("model", "no-such-model"),
        ("permissions", "no-such-profile"),
        ("permissions", "{\"allow\": [\"(\"], \"ask\": []}"),
        ("idle_timeout", "soon"),
        ("turn_timeout", "0"),
        ("web_search", "perhaps"),
        ("fallback_models", "no-such-model"),
        ("always_allow", "bash:ls"),
        ("sandbox", "sometimes"),
        ("network", "perhaps"),
        ("access_roles", "99999999999999999999999"),
        ("budget_turn", "-1"),
        ("budget_day", "much"),
        ("no_such_key", "1"),
        ("name", "Not A Name"),
    ];
    run_test(async |world| {
        let before = world.agent_json("lab");
        for (key, value) in refused {
            let told = asks(world, key, value).await;
            assert!(!told.contains("is now"), "{key} = {value}: {told}");
            assert_eq!(world.agent_json("lab"), before, "{key} = {value}");
        }
        // Without a budget of its own the one of `config.json` holds: "no budget" would promise too much.
        insta::assert_snapshot!(asks(world, "budget_day", "much").await, @"Chorus (only ann sees this): Write US dollars, such as `0.50`; `default` takes back what was set, and the budget of `config.json` holds, if there is one.");
    })
    .await;
}

#[tokio::test]
async fn what_is_set_is_in_the_next_request() {
    run_test(async |world| {
        asks(world, "system_prompt", "You are a heron.").await;
        super::talks(world, "#lab", "I wade.").await;
        let system = world.model.last_request()["system"].to_string();
        assert!(system.contains("You are a heron."), "{system}");
        asks(world, "permissions", "locked").await;
        super::talks(world, "#lab", "I only look.").await;
        let tools = world.model.last_request()["tools"].to_string();
        assert!(!tools.contains("\"bash\""), "{tools}");
    })
    .await;
}
