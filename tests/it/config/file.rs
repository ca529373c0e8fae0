//! `config.json`: defaults, units, and mistakes named at their place.

use std::path::Path;
use std::time::Duration;

use chorus::config::{Config, schema};
use chorus::domain::{ChannelId, RoleId};
use serde_json::{Value, json};

/// What `chorus` says of this text.
fn complaint(text: &str) -> String {
    let error = Config::parse(text, Path::new("config.json")).unwrap_err();
    error.to_string()
}

fn read(value: Value) -> Config {
    Config::parse(&value.to_string(), Path::new("config.json")).unwrap()
}

#[test]
fn the_originals_keys_have_the_originals_defaults() {
    let written = serde_json::to_value(Config::default()).unwrap();
    assert_eq!(written["default_model"], Value::Null);
    assert_eq!(written["default_permissions"], "standard");
    assert_eq!(written["idle_timeout"], 1800);
    assert_eq!(written["max_tool_loop_iterations"], 40);
    assert_eq!(written["max_bash_timeout"], 120);
    assert_eq!(written["default_output_delay"], 2.0);
    assert_eq!(written["max_hook_recursion_depth"], 3);
}

#[test]
fn what_is_left_out_keeps_its_default() {
    let config = read(json!({ "default_permissions": "locked", "max_bash_timeout": 9 }));
    assert_eq!(config.default_permissions, "locked");
    assert_eq!(config.max_bash_timeout.get(), Duration::from_secs(9));
    assert_eq!(config.idle_timeout.get(), Duration::from_secs(1800));
    assert_eq!(read(json!({})), Config::default());
}

#[test]
fn a_file_that_is_not_there_is_the_defaults() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("config.json");
    assert_eq!(Config::load(&path).unwrap(), Config::default());
    assert!(!path.exists(), "reading must not write");
}

#[test]
fn durations_and_sizes_take_units() {
    let config = read(json!({
        "idle_timeout": "1h 30m",
        "llm_timeout": 45,
        "limits": { "memory": "512MiB", "file_size": 1_048_576 },
    }));
    assert_eq!(config.idle_timeout.get(), Duration::from_secs(5400));
    assert_eq!(config.llm_timeout.get(), Duration::from_secs(45));
    assert_eq!(config.limits.memory.get(), 512 << 20);
    assert_eq!(config.limits.file_size.get(), 1 << 20);
}

#[test]
fn ids_are_texts_or_numbers() {
    let config = read(json!({
        "approver_roles": ["11", 12],
        "operator_channel": "13",
        "permission_grants": { "14": ["open"] },
    }));
    assert_eq!(config.approver_roles, [RoleId(11), RoleId(12)]);
    assert_eq!(config.operator_channel, Some(ChannelId(13)));
    assert_eq!(config.permission_grants.0[&RoleId(14)], ["open"]);
}

#[test]
fn ten_broken_configurations_are_each_named_at_their_line() {
    let cases = [
        // A key that is nearly one.
        (
            "{\n  \"idle_timout\": 60\n}",
            "config.json:2:",
            "`idle_timout`: did you mean `idle_timeout`?",
        ),
        // A key of a part.
        (
            "{\n  \"catch_up\": {\n    \"max_messges\": 3\n  }\n}",
            "config.json:3:",
            "did you mean `max_messages`?",
        ),
        // A number out of its range.
        (
            "{\n\n  \"max_tool_loop_iterations\": 0\n}",
            "config.json:3:",
            "`max_tool_loop_iterations`: 0 is out of range: write a whole number from 1 to 1000",
        ),
        // A unit that is none.
        (
            "{\n  \"idle_timeout\": \"half an hour\"\n}",
            "config.json:2:",
            "`idle_timeout`: \"half an hour\" is not a duration: write seconds such as 90, or text",
        ),
        // A size that is none.
        (
            "{ \"limits\": {\n  \"memory\": \"lots\" } }",
            "config.json:2:",
            "`memory`: \"lots\" is not a size: write bytes such as 1048576, or text with a unit",
        ),
        // A value that is not one of the words.
        (
            "{\n  \"sandbox\": \"requierd\"\n}",
            "config.json:2:",
            "unknown value `requierd`: did you mean `required`?",
        ),
        // The wrong type.
        (
            "{\n  \"network\": \"yes\"\n}",
            "config.json:2:",
            "`network`: invalid type: string \"yes\", expected a boolean",
        ),
        // A comma too many.
        (
            "{\n  \"network\": true,\n}",
            "config.json:3:",
            "trailing comma",
        ),
        // A role by its name.
        (
            "{\n  \"approver_roles\": [\"Admins\"]\n}",
            "config.json:2:",
            "\"Admins\" is not a Discord id: turn on Developer Mode",
        ),
        // A listener that the world could reach.
        (
            "{\n  \"metrics_listen\": \"0.0.0.0:9464\"\n}",
            "config.json:2:",
            "write a loopback address such as \"127.0.0.1:9464\"",
        ),
        // The same key twice.
        (
            "{\n  \"network\": true,\n  \"network\": false\n}",
            "config.json:3:",
            "the key `network` stands twice",
        ),
        // A key twice where any key may stand, at any depth: the last one would have won.
        (
            "{\n  \"profiles\": { \"mine\": {\n    \"allow\": [], \"ask\": [], \"deny\": [\"tool:bash:.*\"],\n    \"deny\": []\n  } }\n}",
            "config.json:4:",
            "the key `deny` stands twice: keep one of them",
        ),
        (
            "{ \"permission_grants\": {\n  \"14\": [\"locked\"],\n  \"14\": [\"open\"] } }",
            "config.json:3:",
            "the key `14` stands twice",
        ),
        (
            "{ \"profiles\": {\n  \"a\": { \"allow\": [], \"ask\": [] },\n  \"a\": { \"allow\": [], \"ask\": [] } } }",
            "config.json:3:",
            "the key `a` stands twice",
        ),
        // Nothing in a list of those who may do something: it would leave the list empty, which lets everybody in.
        (
            "{\n  \"access_roles\": [null]\n}",
            "config.json:2:",
            "`access_roles`: invalid type: null, expected a Discord id",
        ),
        // A server by its name.
        (
            "{\n  \"servers\": [\"My server\"]\n}",
            "config.json:2:",
            "\"My server\" is not a Discord id",
        ),
        // What commands must not read.
        (
            "{\n  \"sandbox_read\": [\n    \"/usr\",\n    \"/\"\n  ]\n}",
            "config.json:4:",
            "`sandbox_read`: /: agents' commands could read files that are not meant for them",
        ),
        (
            "{ \"sandbox_read\": [\"/home/ann/..\"] }",
            "config.json:1:",
            "`sandbox_read`: /home/ann/..: ",
        ),
        (
            "{ \"sandbox_read\": [\"tools\"] }",
            "config.json:1:",
            "write the whole path",
        ),
        // A key that is near nothing.
        (
            "{\n  \"zzz\": 1\n}",
            "config.json:2:",
            "unknown key `zzz`: write one of default_model, ",
        ),
        // A profile whose pattern is none.
        (
            "{\n  \"profiles\": {\n    \"mine\": { \"allow\": [\"tool:(\"] }\n  }\n}",
            "config.json:3:",
            "profile `mine`: ",
        ),
        // A default that is no profile.
        (
            "{\n  \"default_permissions\": \"standrad\"\n}",
            "config.json:2:",
            "`default_permissions`: ",
        ),
        // A grant of what does not exist.
        (
            "{ \"permission_grants\": {\n  \"14\": [\"opne\"] } }",
            "config.json:2:",
            "role 14 may grant `opne`",
        ),
        // A provider whose address is none.
        (
            "{ \"providers\": {\n  \"ollama\": { \"base_url\": \"localhost\" } } }",
            "config.json:2:",
            "\"localhost\" is not an address: write one such as",
        ),
        // Cut.
        (
            "{\n  \"network\": tr",
            "config.json:2:",
            "EOF while parsing",
        ),
        ("", "config.json:1", "EOF while parsing"),
    ];
    for (text, place, reason) in cases {
        let said = complaint(text);
        assert!(said.starts_with(place), "{said}\nshould begin with {place}");
        assert!(said.contains(reason), "{said}\nshould say {reason}");
    }
}

#[test]
fn the_example_is_right_and_names_every_key() {
    let text = std::fs::read_to_string("config.example.json").unwrap();
    Config::parse(&text, Path::new("config.example.json")).unwrap();
    let example: Value = serde_json::from_str(&text).unwrap();
    let schema = schema();
    let known = schema.get("properties").unwrap().as_object().unwrap();
    let unlisted = ["$schema", "default_output_delay"];
    for key in known.keys().filter(|key| !unlisted.contains(&key.as_str())) {
        assert!(
            example.get(key).is_some(),
            "config.example.json lacks `{key}`"
        );
    }
}

#[test]
fn the_example_fits_the_schema_and_mistakes_do_not() {
    let schema = serde_json::to_value(schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let text = std::fs::read_to_string("config.example.json").unwrap();
    let example: Value = serde_json::from_str(&text).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&example)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert!(validator.is_valid(&serde_json::to_value(Config::default()).unwrap()));
    for wrong in [
        json!({ "zzz": 1 }),
        json!({ "max_retries": 0 }),
        json!({ "profiles": { "mine": { "alow": [] } } }),
        json!({ "sandbox": "perhaps" }),
    ] {
        assert!(!validator.is_valid(&wrong), "{wrong} fits the schema");
    }
}

#[test]
fn every_key_has_a_description_in_the_schema() {
    let schema = serde_json::to_value(schema()).unwrap();
    let mut parts = vec![("config.json".to_owned(), &schema)];
    for (name, part) in schema["$defs"].as_object().unwrap() {
        parts.push((name.clone(), part));
    }
    for (name, part) in parts {
        let Some(keys) = part.get("properties") else {
            continue;
        };
        for (key, described) in keys.as_object().unwrap() {
            assert!(
                described.get("description").is_some(),
                "{name}: `{key}` has no description"
            );
        }
    }
}

#[test]
fn commands_do_not_read_choruss_own_home_nor_what_is_around_or_in_it() {
    let outside = tempfile::tempdir().unwrap();
    let home = outside.path().join("user/chorus");
    std::fs::create_dir_all(home.join("db")).unwrap();
    std::fs::create_dir_all(outside.path().join("tools")).unwrap();
    std::os::unix::fs::symlink(&home, outside.path().join("link")).unwrap();
    let path = home.join("config.json");
    let judged = |folder: &Path| {
        let text = json!({ "sandbox_read": [folder] }).to_string();
        Config::parse(&text, &path).map_err(|error| error.to_string())
    };
    for refused in [
        "user",
        "user/chorus",
        "user/chorus/db",
        "link",
        "user/../user/chorus/.",
    ] {
        let said = judged(&outside.path().join(refused)).unwrap_err();
        assert!(said.contains("Chorus's own home"), "{refused}: {said}");
    }
    judged(&outside.path().join("tools")).unwrap();
    judged(Path::new("/usr/share")).unwrap();
}
