//! Exit codes: 0 done, 1 failed, 2 misuse of arguments, 78 configuration.

use std::fs;

use super::program::{chorus, seen};

#[test]
fn a_right_configuration_is_0() {
    let home = tempfile::tempdir().unwrap();
    let seen = seen(&mut chorus(home.path(), &["check-config"]));
    assert_eq!((seen.code, seen.err.as_str()), (0, ""));
    assert!(seen.out.contains("config.json"), "{}", seen.out);
}

/// Before the first `chorus init` nothing of a home is there, and neither command says that a file was read.
#[test]
fn a_file_that_is_not_there_is_said_to_be_missing() {
    let home = tempfile::tempdir().unwrap();
    for command in ["check-config", "doctor"] {
        let seen = seen(&mut chorus(home.path(), &[command]));
        let said = "config.json does not exist: every key has its default\n";
        assert!(seen.out.contains(said), "{command}: {}", seen.out);
    }
}

#[test]
fn a_file_that_is_named_and_not_there_is_78() {
    let home = tempfile::tempdir().unwrap();
    let seen = seen(&mut chorus(home.path(), &["check-config", "nothere.json"]));
    assert_eq!(seen.code, 78);
    assert_eq!(seen.err, "chorus: nothere.json: no such file\n");
}

#[test]
fn the_example_passes_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/config.example.json");
    let seen = seen(&mut chorus(home.path(), &["check-config", example]));
    assert_eq!((seen.code, seen.err.as_str()), (0, ""));
}

#[test]
fn more_core_agents_than_go_first_are_a_warning() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("config.json"), "{}").unwrap();
    let made = |number: u32| {
        let name = format!("agent-{number}");
        let folder = home.path().join("agents").join(&name);
        fs::create_dir_all(&folder).unwrap();
        let agent = serde_json::json!({
            "name": name, "system_prompt": "", "permissions": "standard", "core": true,
        });
        fs::write(folder.join("agent.json"), agent.to_string()).unwrap();
    };
    (0..50).for_each(made);
    let enough = seen(&mut chorus(home.path(), &["check-config"]));
    assert_eq!((enough.code, enough.err.as_str()), (0, ""));
    made(50);
    let seen = seen(&mut chorus(home.path(), &["check-config"]));
    assert_eq!(seen.code, 0);
    assert_eq!(
        seen.err,
        "chorus: warning: 51 agents have `core: true`; only 50 go first, the others are ordinary\n"
    );
}

#[test]
fn models_that_are_never_asked_are_a_warning() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("agents/lab");
    fs::create_dir_all(&folder).unwrap();
    let agent = serde_json::json!({
        "name": "lab", "system_prompt": "", "permissions": "standard",
        "model": "a", "fallback_models": ["b", "c", "b"],
    });
    fs::write(folder.join("agent.json"), agent.to_string()).unwrap();
    let config = |retries: u32| {
        let config = serde_json::json!({"default_model": "d", "max_retries": retries});
        fs::write(home.path().join("config.json"), config.to_string()).unwrap();
        seen(&mut chorus(home.path(), &["check-config"]))
    };
    let fewer = config(2);
    assert_eq!(fewer.code, 0);
    assert_eq!(
        fewer.err,
        "chorus: warning: agent lab has 3 models to ask and `max_retries` is 2: the last are never asked\n"
    );
    assert_eq!(config(3).err, "");
}

#[test]
fn models_that_a_budget_of_persons_counts_as_free_are_a_warning() {
    let home = tempfile::tempdir().unwrap();
    let config = |user_day: serde_json::Value, price: serde_json::Value| {
        let config = serde_json::json!({
            "default_model": "gateway/big",
            "providers": {"gateway": {"base_url": "https://gateway.example/v1", "models": ["big"]}},
            "budgets": {"user_day": user_day},
            "models": {"big": price},
        });
        fs::write(home.path().join("config.json"), config.to_string()).unwrap();
        seen(&mut chorus(home.path(), &["check-config"]))
    };
    let free = config(1.into(), serde_json::json!({}));
    assert_eq!(free.code, 0);
    assert_eq!(
        free.err,
        "chorus: warning: `budgets.user_day` counts requests to gateway/big as 0 USD, because its price is not known: set `input_price` and `output_price` for it under `models`\n"
    );
    let priced = serde_json::json!({"input_price": 1, "output_price": 2});
    assert_eq!(config(1.into(), priced).err, "");
    assert_eq!(
        config(serde_json::Value::Null, serde_json::json!({})).err,
        ""
    );
    let none = config(0.into(), serde_json::json!({}));
    assert_eq!(none.code, 78);
    assert!(
        none.err.contains("leave it out for no limit"),
        "{}",
        none.err
    );
}

#[test]
fn a_wrong_configuration_is_78_and_one_sentence_with_place_and_way_out() {
    let home = tempfile::tempdir().unwrap();
    fs::write(
        home.path().join("config.json"),
        "{\n  \"idle_timout\": 60\n}",
    )
    .unwrap();
    let seen = seen(&mut chorus(home.path(), &["check-config"]));
    assert_eq!(seen.code, 78);
    assert_eq!(
        seen.err,
        format!(
            "chorus: {}/config.json:2:15: unknown key `idle_timout`: did you mean `idle_timeout`?\n",
            home.path().display()
        )
    );
}

#[test]
fn a_value_of_the_environment_that_makes_no_sense_is_78() {
    let home = tempfile::tempdir().unwrap();
    let seen = seen(chorus(home.path(), &["check-config"]).env("DEV_GUILD_ID", "x"));
    assert_eq!(seen.code, 78);
    assert!(
        seen.err.starts_with("chorus: DEV_GUILD_ID is \"x\": "),
        "{}",
        seen.err
    );
}

#[test]
fn a_level_of_the_log_that_does_not_exist_is_78() {
    let home = tempfile::tempdir().unwrap();
    let run = |filter: &str| {
        let mut run = chorus(home.path(), &["run"]);
        run.env("CHORUS_ALLOW_ROOT", "1").env("CHORUS_LOG", filter);
        seen(&mut run)
    };
    for filter in ["loud", "info,loud"] {
        let refused = run(filter);
        assert_eq!(refused.code, 78, "{}", refused.err);
        assert!(
            refused
                .err
                .starts_with("chorus: CHORUS_LOG: `loud` is not a level (off, "),
            "{}",
            refused.err
        );
    }
    // Without a token it goes no further than that.
    for filter in [
        "info",
        "WARN,chorus=debug",
        "chorus",
        "info,chorus::llm=debug",
        "",
    ] {
        let err = run(filter).err;
        assert!(err.contains("DISCORD_TOKEN is not set"), "{filter}: {err}");
    }
}

#[test]
fn root_is_refused_without_its_switch() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let seen = seen(&mut chorus(home.path(), &["run"]));
    assert_eq!(seen.code, 78);
    assert!(seen.err.contains("CHORUS_ALLOW_ROOT=1"), "{}", seen.err);
}

#[test]
fn the_schema_is_json() {
    let home = tempfile::tempdir().unwrap();
    let seen = seen(&mut chorus(home.path(), &["schema"]));
    assert_eq!(seen.code, 0);
    let schema: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    assert_eq!(schema["title"], "Config");
}
