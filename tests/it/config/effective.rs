//! Precedence: the agent's own file, the server's settings, `config.json`, built-in.

use std::path::Path;
use std::time::Duration;

use chorus::config::{Config, Key, Settings, ValueKind, agent_keys, effective};
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
fn every_kind_of_value_is_read_in_one_place() {
    for (key, text, value) in [
        (&effective::IDLE_TIMEOUT, "0", json!(0)),
        (&effective::IDLE_TIMEOUT, " 2h ", json!(7200)),
        (&effective::APPROVAL_TIMEOUT, "5m", json!(300)),
        (&effective::TURN_TIMEOUT, "90", json!(90)),
        (
            &effective::PERMISSION_GRANTS,
            "{\"1\": [\"open\"]}",
            json!({ "1": ["open"] }),
        ),
        (&effective::ACCESS_ROLES, "[\"7\"]", json!([7])),
        (&effective::ACCESS_ROLES, "<@&7>, 8", json!([7, 8])),
        (&effective::APPROVER_ROLES, "everyone", json!([])),
        (&effective::SANDBOX, "off", json!("off")),
        (&effective::NETWORK, "No", json!(false)),
        (
            &effective::TIMEZONE,
            "europe/berlin",
            json!("Europe/Berlin"),
        ),
        (&effective::BUDGET_DAY, "$2.50", json!(2.5)),
        (&effective::FALLBACK_MODELS, "a, b,", json!(["a", "b"])),
        (
            &effective::ALWAYS_ALLOW,
            "[\"tool:bash:ls\"]",
            json!(["tool:bash:ls"]),
        ),
    ] {
        assert_eq!(key.kind.read(text), Ok(value), "{key} = {text}");
    }
    for (key, text) in [
        (&effective::APPROVAL_TIMEOUT, "0"),
        (&effective::IDLE_TIMEOUT, "2 years"),
        (&effective::IDLE_TIMEOUT, "-1"),
        (&effective::BUDGET_DAY, "inf"),
        (&effective::TIMEZONE, "Berlin"),
        (&effective::ACCESS_ROLES, "7, everyone"),
        (&effective::ACCESS_ROLES, "[]"),
        (&effective::PERMISSION_GRANTS, "{\"1\": [], \"1\": []}"),
        (&effective::PERMISSIONS, "{\"allow\": [], \"allow\": []}"),
    ] {
        let refused = key.kind.read(text);
        assert!(refused.is_err(), "{key} = {text}: {refused:?}");
    }
}

#[test]
fn what_is_offered_can_be_written_and_what_makes_no_sense_names_what_to_write() {
    for key in effective::KEYS {
        for offered in key.kind.offered() {
            assert!(key.kind.read(offered).is_ok(), "{key} = {offered}");
        }
        if !matches!(key.kind, ValueKind::Models) {
            let said = key.kind.read(" ").unwrap_err().to_string();
            assert!(said.ends_with('.') && !said.contains('\n'), "{key}: {said}");
        }
    }
}

/// What somebody could write for a key.
fn sample(key: &Key) -> serde_json::Value {
    let text = match key.kind {
        ValueKind::Duration { .. } => "77",
        ValueKind::Money => "0.5",
        ValueKind::Roles => "7",
        ValueKind::Grants => "{\"7\": [\"open\"]}",
        ValueKind::Actions => "[\"tool:bash:ls\"]",
        ValueKind::Folder => "/srv/web",
        ValueKind::Zone => "UTC",
        ValueKind::Switch => "true",
        ValueKind::Word(words) => words[0],
        ValueKind::Router => r#"{"destinations": ["billing"], "required": true}"#,
        ValueKind::Handoff { .. } => r#"[{"role": "redactor", "on_failure": "withhold"}]"#,
        ValueKind::Prompt
        | ValueKind::Name
        | ValueKind::Model
        | ValueKind::Models
        | ValueKind::RoleNames
        | ValueKind::Advisors { .. }
        | ValueKind::Charter
        | ValueKind::Profile => "some-name",
    };
    key.kind.read(text).unwrap()
}

#[test]
fn what_an_agent_may_set_is_in_its_file_and_what_is_not_for_people_has_no_entry() {
    // The charter is a file of its own.
    for key in agent_keys().filter(|key| key.kind != ValueKind::Charter) {
        let value = sample(key);
        let read = serde_json::to_value(agent(json!({ (key.name): value.clone() }))).unwrap();
        let ids_as_text = json!(["7"]);
        assert!(
            read[key.name] == value || read[key.name] == ids_as_text,
            "{key} is not read back: {}",
            read[key.name]
        );
    }
    let fields = serde_json::to_value(AgentConfig::default()).unwrap();
    let not_for_people = ["channel_id", "created_at", "owner_id", "running_tasks"];
    for field in fields.as_object().unwrap().keys() {
        let is_key = agent_keys().any(|key| key.name == field);
        assert_ne!(is_key, not_for_people.contains(&field.as_str()), "{field}");
    }
}

#[test]
fn what_a_server_may_set_is_in_force_for_it() {
    for key in effective::KEYS.iter().filter(|key| key.server.is_some()) {
        let set = rows(json!({ (key.name): sample(key) }));
        assert_ne!(set, Settings::default(), "{key} is not read back");
    }
}

#[test]
fn a_day_has_a_default_budget_which_each_setting_replaces() {
    use chorus::config::{Budgets, DEFAULT_DAY_TOKENS, DayBudget, DaySet, units::Usd};
    let of = |own: Option<f64>, whole: Option<f64>| {
        let budgets = Budgets {
            agent_day: whole.and_then(Usd::new),
            ..Budgets::default()
        };
        let day = DayBudget::of(own, &budgets);
        (day.usd, day.unpriced, day.set)
    };
    let tokens = Some(DEFAULT_DAY_TOKENS);
    assert_eq!(of(None, None), (Some(20.0), tokens, DaySet::ByDefault));
    assert_eq!(of(None, Some(5.0)), (Some(5.0), None, DaySet::ByPeople));
    assert_eq!(of(None, Some(0.0)), (None, None, DaySet::ByPeople));
    assert_eq!(of(Some(5.0), None), (Some(5.0), tokens, DaySet::ByPeople));
    assert_eq!(of(Some(0.0), None), (None, None, DaySet::ByPeople));
    assert_eq!(of(Some(0.0), Some(5.0)), (None, None, DaySet::ByPeople));

    let default = DayBudget::of(None, &Budgets::default());
    assert!(default.is_lifted_by(Some(0.0)) && default.is_lifted_by(Some(21.0)));
    assert!(!default.is_lifted_by(None) && !default.is_lifted_by(Some(20.0)));
}
