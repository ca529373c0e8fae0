//! Precedence: the agent's own file, the server's settings, `config.json`, built-in.

use std::path::Path;
use std::time::Duration;

use chorus::config::{Config, SettingKey, Settings, effective};
use chorus::domain::{AgentConfig, RoleId, SandboxMode};
use serde_json::json;

fn agent(keys: serde_json::Value) -> AgentConfig {
    let mut whole = json!({ "name": "lab", "system_prompt": "", "permissions": "standard" });
    for (key, value) in keys.as_object().unwrap() {
        whole[key] = value.clone();
    }
    serde_json::from_value(whole).unwrap()
}

fn rows(rows: serde_json::Value) -> Settings {
    let rows = rows.as_object().unwrap().clone();
    Settings::from_rows(&rows.into_iter().collect())
}

fn config(keys: serde_json::Value) -> Config {
    Config::parse(&keys.to_string(), Path::new("config.json")).unwrap()
}

#[test]
fn each_source_stands_above_the_next() {
    let built_in = effective::agent(&agent(json!({})), &Settings::default(), &Config::default());
    assert_eq!(built_in.idle_timeout, Some(Duration::from_secs(1800)));
    assert_eq!(built_in.sandbox, SandboxMode::Auto);
    assert!(built_in.models.is_empty());

    let config =
        config(json!({ "idle_timeout": "10m", "default_model": "of-config", "sandbox": "off" }));
    let seen = effective::agent(&agent(json!({})), &Settings::default(), &config);
    assert_eq!(seen.idle_timeout, Some(Duration::from_secs(600)));
    assert_eq!(seen.models, ["of-config"]);
    assert_eq!(seen.sandbox, SandboxMode::Off);

    let settings = rows(json!({
        "idle_timeout": 3600,
        "default_model": "of-settings",
        "sandbox": "required",
        "access_roles": ["5"],
    }));
    let seen = effective::agent(&agent(json!({})), &settings, &config);
    assert_eq!(seen.idle_timeout, Some(Duration::from_secs(3600)));
    assert_eq!(seen.models, ["of-settings"]);
    assert_eq!(seen.sandbox, SandboxMode::Required);
    assert_eq!(seen.access_roles, [RoleId(5)]);

    let own = agent(json!({
        "idle_timeout": 0, "model": "own", "fallback_models": ["spare", "own"], "access_roles": [], "sandbox": "auto",
    }));
    let seen = effective::agent(&own, &settings, &config);
    assert_eq!(seen.idle_timeout, None, "0 turns it off");
    assert_eq!(seen.models, ["own", "spare"]);
    assert_eq!(seen.sandbox, SandboxMode::Auto);
    assert!(seen.access_roles.is_empty());
}

#[test]
fn a_row_that_makes_no_sense_counts_as_not_set() {
    let settings = rows(json!({ "idle_timeout": "soon", "unknown": 1 }));
    assert_eq!(settings, Settings::default());
}

#[test]
fn nobody_gets_in_by_a_row_that_makes_no_sense() {
    for nonsense in [json!(null), json!(["x"]), json!("7")] {
        let settings = rows(json!({ "access_roles": nonsense, "approver_roles": nonsense }));
        // None, or an empty list, would let everybody in.
        for roles in [settings.access_roles, settings.approver_roles] {
            assert!(roles.is_some_and(|roles| !roles.is_empty()));
        }
    }
}

#[test]
fn every_setting_names_what_to_write_instead() {
    for key in SettingKey::ALL {
        let said = key.read(" ").unwrap_err();
        assert!(said.contains(&format!("cannot be {key}: write")), "{said}");
        assert_eq!(key.as_str().parse(), Ok(key));
    }
    for (key, text, value) in [
        (SettingKey::IdleTimeout, "0", json!(0)),
        (SettingKey::ApprovalTimeout, "5m", json!(300)),
        (
            SettingKey::PermissionGrants,
            "{\"1\": [\"open\"]}",
            json!({ "1": ["open"] }),
        ),
        (SettingKey::AccessRoles, "[\"7\"]", json!(["7"])),
        (SettingKey::Sandbox, "off", json!("off")),
        (SettingKey::Network, "false", json!(false)),
    ] {
        assert_eq!(key.read(text), Ok(value), "{key} = {text}");
    }
}
