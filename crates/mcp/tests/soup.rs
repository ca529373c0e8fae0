//! Words in every order: whatever a server or a person writes is read or refused, and names stay what providers take.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;

use chorus_mcp::{
    Entry, MAX_MODEL_NAME, Place, Tool, canonical, expand, is_server_name, model_names, warnings,
};
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::{collection, proptest};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Any JSON, with the keys that mean something more often than others.
fn soup() -> impl Strategy<Value = Value> {
    let keys = [
        "name",
        "title",
        "description",
        "inputSchema",
        "outputSchema",
        "annotations",
        "type",
        "$ref",
        "properties",
        "command",
        "args",
        "env",
        "cwd",
        "url",
        "headers",
        "timeout",
        "chorus",
        "tools",
        "read",
        "workspace",
        "network",
        "x",
    ];
    let word = prop_oneof![
        Just(json!("object")),
        Just(json!("stdio")),
        Just(json!("#/a")),
        any::<String>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    let key = prop_oneof![
        proptest::sample::select(keys.to_vec()).prop_map(str::to_owned),
        any::<String>(),
    ];
    word.prop_recursive(6, 64, 8, move |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            collection::vec((key.clone(), inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn a_definition_is_read_or_refused(value in soup()) {
        let raw = RawValue::from_string(value.to_string()).unwrap();
        if let Ok(tool) = Tool::read(&raw) {
            let again: Value = serde_json::from_str(&tool.definition).unwrap();
            assert_eq!(Tool::of(&again).unwrap(), tool);
            let _ = warnings(&tool);
        }
        let again: Value = serde_json::from_str(&canonical(&value)).unwrap();
        assert_eq!(canonical(&again), canonical(&value));
    }

    #[test]
    fn an_entry_is_read_or_refused(value in soup()) {
        for place in [Place::Operator, Place::Agent] {
            if let Ok(entry) = Entry::read(&value, place) {
                assert_eq!(entry.sha256("x").len(), 64);
                let _ = entry.expanded(|name| Some(name.to_owned()));
            }
        }
    }

    #[test]
    fn names_are_short_plain_and_different(tools in collection::hash_set(any::<String>(), 0..40)) {
        let names = model_names("server", tools.iter().map(String::as_str));
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        assert!(names.iter().all(|name| name.len() <= MAX_MODEL_NAME && name.chars().all(plain)));
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), tools.len());
    }

    #[test]
    fn text_without_variables_stays(text in any::<String>(), value in any::<String>()) {
        let done = expand(&text, |_| Some(value.clone())).unwrap();
        if done.found.is_empty() {
            assert_eq!(done.text, text);
        }
        let _ = is_server_name(&text);
    }
}
