//! The request schemas that providers of models and Discord publish, and what breaks them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::{Registry, Validator};
use serde_json::{Value, json};

/// A request format with a published schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Published {
    AnthropicMessages,
    OpenAiChat,
    OpenAiResponses,
}

static ANTHROPIC: LazyLock<Validator> =
    LazyLock::new(|| read(include_str!("../data/schemas/anthropic_messages.json")));
static CHAT: LazyLock<Validator> =
    LazyLock::new(|| read(include_str!("../data/schemas/openai_chat.json")));
static RESPONSES: LazyLock<Validator> =
    LazyLock::new(|| read(include_str!("../data/schemas/openai_responses.json")));

impl Published {
    /// The format that is asked for at an address; none where its maker publishes no schema.
    pub(crate) fn at(path: &str) -> Option<Self> {
        [
            ("/v1/messages", Self::AnthropicMessages),
            ("/chat/completions", Self::OpenAiChat),
            ("/responses", Self::OpenAiResponses),
        ]
        .into_iter()
        .find_map(|(end, format)| path.ends_with(end).then_some(format))
    }

    pub(crate) fn schema(self) -> &'static Validator {
        match self {
            Self::AnthropicMessages => &ANTHROPIC,
            Self::OpenAiChat => &CHAT,
            Self::OpenAiResponses => &RESPONSES,
        }
    }

    /// Everything in `body` that breaks the schema.
    pub(crate) fn broken(self, body: &Value) -> Vec<String> {
        self.schema()
            .iter_errors(body)
            .map(|error| format!("{self:?} {}: {error}", error.instance_path()))
            .map(|error| error.chars().take(500).collect())
            .collect()
    }
}

fn read(schema: &str) -> Validator {
    jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap()
}

/// Discord's description of the requests that bots make, cut to those that ours makes.
static DISCORD: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../data/schemas/discord_requests.json")).unwrap()
});

/// What it is called where a schema refers to it.
const DISCORD_NAME: &str = "urn:discord";

/// The same, to be referred to: a schema that holds all of it would be judged as a whole for each request.
static DISCORD_REGISTRY: LazyLock<Registry<'static>> = LazyLock::new(|| {
    let registry = Registry::new().add(DISCORD_NAME, &*DISCORD).unwrap();
    registry.prepare().unwrap()
});

static DISCORD_BODIES: LazyLock<Mutex<HashMap<&'static str, Arc<Validator>>>> =
    LazyLock::new(Mutex::default);

/// Everything in the body of a request to Discord that breaks its published description; nothing for requests that it says
/// nothing about.
pub(crate) fn broken_for_discord(method: &str, path: &str, body: &Value) -> Vec<String> {
    let requests = DISCORD["requests"].as_object().unwrap();
    let is_it = |key: &&String| {
        key.split_once(' ')
            .is_some_and(|(of, template)| of == method && fits(template, path))
    };
    let Some(key) = requests.keys().find(is_it) else {
        return Vec::new();
    };
    let schema = body_schema(key);
    let mut body = body.clone();
    permissions_as_numbers(&mut body);
    schema
        .iter_errors(&body)
        .map(|error| format!("{method} {path} {}: {error}", error.instance_path()))
        .map(|error| error.chars().take(500).collect())
        .collect()
}

fn body_schema(key: &'static str) -> Arc<Validator> {
    let mut known = DISCORD_BODIES.lock().unwrap();
    let schema = known.entry(key).or_insert_with(|| {
        let schema = DISCORD["requests"][key].to_string();
        let schema = schema.replace("\"#/", &format!("\"{DISCORD_NAME}#/"));
        let options = jsonschema::draft202012::options().with_registry(&DISCORD_REGISTRY);
        let schema = options.build(&serde_json::from_str(&schema).unwrap());
        Arc::new(schema.unwrap())
    });
    Arc::clone(schema)
}

fn fits(template: &str, path: &str) -> bool {
    let (template, path): (Vec<_>, Vec<_>) =
        (template.split('/').collect(), path.split('/').collect());
    let is_one = |(wanted, given): (&&str, &&str)| wanted.starts_with('{') || wanted == given;
    template.len() == path.len() && template.iter().zip(&path).all(is_one)
}

/// Sets of permissions are numbers in the description and strings in Discord's documentation, which is what it takes.
fn permissions_as_numbers(body: &mut Value) {
    const SETS: [&str; 3] = ["default_member_permissions", "allow", "deny"];
    match body {
        Value::Array(all) => all.iter_mut().for_each(permissions_as_numbers),
        Value::Object(fields) => {
            for (name, value) in fields {
                let number = value.as_str().and_then(|text| text.parse::<u64>().ok());
                match number.filter(|_| SETS.contains(&name.as_str())) {
                    Some(number) => *value = number.into(),
                    None => permissions_as_numbers(value),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn each_request_that_discord_describes_has_a_sound_schema() {
    for (key, request) in DISCORD["requests"].as_object().unwrap() {
        let whole = json!({
            "$schema": DISCORD["$schema"],
            "allOf": [request],
            "$defs": DISCORD["$defs"],
        });
        assert!(jsonschema::meta::is_valid(&whole), "{key}");
        body_schema(key);
    }
}
