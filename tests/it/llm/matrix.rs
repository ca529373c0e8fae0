//! A conversation moves between every pair of wire formats and named vendors.
//!
//! It has text, thinking, two parallel calls, a failed call and pictures. What we send is judged by the vendors' published
//! schemas, by the types of their own clients, and by the rules that neither states.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use chorus::config::Secret;
use chorus::domain::{Assistant, CallId, Image, Item, OpaqueBlock, ToolCall, ToolResult, UserText};
use chorus::llm::{Anthropic, Endpoint, Gemini, OpenAiChat, OpenAiResponses, Provider, client};
use serde_json::{Value, json};

use super::conformance::request;
use super::history::{answered, said};
use super::wire::Format;
use crate::not_run::python;
use crate::published::Published;

/// A model at a vendor, and what its answers have that only it understands.
struct Vendor {
    name: &'static str,
    format: Format,
    base_url: &'static str,
    model: &'static str,
    /// The id of its first call, as the vendor makes them.
    id: &'static str,
    /// What stands before the calls of its answers.
    opaque: Option<Value>,
    /// Fields that the vendor documents beyond the format.
    extensions: &'static [&'static str],
}

fn chat(
    name: &'static str,
    base_url: &'static str,
    model: &'static str,
    opaque: Option<Value>,
) -> Vendor {
    Vendor {
        name,
        format: Format::OpenAiChat,
        base_url,
        model,
        id: "call_9pQx7bEd0aYh2mNf4kTz8wLs",
        opaque,
        extensions: &[],
    }
}

fn vendors() -> Vec<Vendor> {
    let thought =
        |signature: &str| json!({"type": "thinking", "thinking": "Both.", "signature": signature});
    let claude = |name, model, opaque| Vendor {
        format: Format::Anthropic,
        id: "toolu_01A09q90qw90lq917835lq9",
        ..chat(name, "https://api.anthropic.com", model, opaque)
    };
    let google = |name, model, opaque| Vendor {
        format: Format::Gemini,
        ..chat(
            name,
            "https://generativelanguage.googleapis.com/v1beta",
            model,
            opaque,
        )
    };
    vec![
        claude("claude", "claude-opus-4-6", Some(thought("b3B1cw=="))),
        claude(
            "older claude",
            "claude-sonnet-4-5",
            Some(thought("c29ubmV0")),
        ),
        chat("openai", "https://api.openai.com/v1", "gpt-4o", None),
        Vendor {
            format: Format::OpenAiResponses,
            opaque: Some(
                json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Z2VoZWlt"}),
            ),
            ..chat(
                "openai responses",
                "https://api.openai.com/v1",
                "gpt-5",
                None,
            )
        },
        google(
            "gemini",
            "gemini-3-pro",
            Some(json!({"callSignature": "Z2VtaW5p"})),
        ),
        google("older gemini", "gemini-2.5-flash", None),
        Vendor {
            extensions: &["extra_content"],
            ..chat(
                "gemini by chat",
                "https://generativelanguage.googleapis.com/v1beta/openai",
                "gemini-3-flash",
                Some(json!({"extra_content": {"google": {"thought_signature": "Y2hhdA=="}}})),
            )
        },
        Vendor {
            id: "D681PevKs",
            ..chat(
                "mistral",
                "https://api.mistral.ai/v1",
                "mistral-medium-latest",
                None,
            )
        },
        Vendor {
            extensions: &["reasoning_content"],
            ..chat(
                "deepseek",
                "https://api.deepseek.com",
                "deepseek-reasoner",
                Some(json!({"reasoning_content": "Both files."})),
            )
        },
        Vendor {
            id: "functions.view:0",
            extensions: &["reasoning_content"],
            ..chat(
                "moonshot",
                "https://api.moonshot.ai/v1",
                "kimi-k2-thinking",
                Some(json!({"reasoning_content": "Both, then."})),
            )
        },
        Vendor {
            extensions: &["reasoning", "reasoning_details"],
            ..chat(
                "openrouter",
                "https://openrouter.ai/api/v1",
                "anthropic/claude-sonnet-4.5",
                Some(json!({"reasoning": "Both.", "reasoning_details": [
                    {"type": "reasoning.text", "text": "Both.", "signature": "b3I=", "format": "anthropic-claude-v1", "index": 0}]})),
            )
        },
        chat(
            "groq",
            "https://api.groq.com/openai/v1",
            "llama-3.3-70b-versatile",
            None,
        ),
        chat("xai", "https://api.x.ai/v1", "grok-4", None),
        Vendor {
            extensions: &["reasoning"],
            ..chat(
                "ollama",
                "http://127.0.0.1:11434/v1",
                "qwen3:8b",
                Some(json!({"reasoning": "Hm."})),
            )
        },
    ]
}

impl Vendor {
    /// What the vendor's own answers begin with.
    fn opaque(&self) -> Vec<OpaqueBlock> {
        let block = |block: &Value| OpaqueBlock {
            format: self.format.name().to_owned(),
            // A signature of a call stands right before it, behind the text.
            index: usize::from(
                block
                    .get("callSignature")
                    .or(block.get("extra_content"))
                    .is_some(),
            ),
            block: block.clone(),
        };
        self.opaque.iter().map(block).collect()
    }

    /// A conversation that this vendor's model has led so far.
    fn conversation(&self) -> Vec<Item> {
        let call = |id: &str, path: &str| ToolCall {
            id: CallId(id.to_owned()),
            name: "view".to_owned(),
            arguments: json!({"path": path}).as_object().unwrap().clone(),
        };
        let second = format!("{}x", self.id);
        let result = |id: &str, content: &str, is_error: bool| ToolResult {
            call_id: CallId(id.to_owned()),
            name: "view".to_owned(),
            content: content.to_owned(),
            is_error,
            images: Vec::new(),
        };
        let mut shown = result(self.id, "a picture", false);
        shown.images.push(picture());
        vec![
            Item::User(UserText {
                text: "Look at both".to_owned(),
                images: vec![picture()],
                ..UserText::default()
            }),
            Item::Assistant(Assistant {
                text: "I look.".to_owned(),
                tool_calls: vec![call(self.id, "a.png"), call(&second, "b.txt")],
                opaque: self.opaque(),
                model: Some(self.model.to_owned()),
                ..Assistant::default()
            }),
            Item::ToolResult(shown),
            Item::ToolResult(result(&second, "there is no such file", true)),
            Item::User(UserText::note("hurry")),
            answered("One is a picture."),
            said("and now?"),
        ]
    }

    /// What is sent to this vendor.
    fn body(&self, items: Vec<Item>) -> Value {
        let endpoint = Endpoint {
            name: self.name.to_owned(),
            client: client().unwrap(),
            base_url: self.base_url.to_owned(),
            key: Some(Secret::new("sk-secret-key")),
            silence: Duration::from_secs(1),
        };
        let provider: Box<dyn Provider> = match self.format {
            Format::Anthropic => Box::new(Anthropic::new(endpoint)),
            Format::OpenAiChat => Box::new(OpenAiChat::new(endpoint)),
            Format::OpenAiResponses => Box::new(OpenAiResponses::new(endpoint)),
            Format::Gemini => Box::new(Gemini::new(endpoint)),
        };
        let encoded = provider.encode(&request(self.model, items)).unwrap();
        serde_json::from_slice(&encoded.body).unwrap()
    }

    fn published(&self) -> Option<Published> {
        match self.format {
            Format::Anthropic => Some(Published::AnthropicMessages),
            Format::OpenAiChat => Some(Published::OpenAiChat),
            Format::OpenAiResponses => Some(Published::OpenAiResponses),
            Format::Gemini => None,
        }
    }

    /// The client whose types judge what is sent here.
    fn judge(&self) -> &'static str {
        match self.name {
            "mistral" => "mistral",
            _ => self.format.name(),
        }
    }
}

fn picture() -> Image {
    Image {
        media_type: "image/png".to_owned(),
        data: "iVBORw0KGgo=".to_owned(),
    }
}

/// Every pair: who led the conversation, who goes on, and the request.
fn pairs() -> Vec<(Vendor, Vendor, Value)> {
    let mut pairs = Vec::new();
    for from in vendors() {
        for to in vendors() {
            let body = to.body(from.conversation());
            let from = vendors().into_iter().find(|one| one.name == from.name);
            pairs.push((from.unwrap(), to, body));
        }
    }
    pairs
}

#[test]
fn every_pair_of_vendors_is_valid_by_the_published_schemas() {
    for (from, to, body) in pairs() {
        let broken = to
            .published()
            .map_or(Vec::new(), |schema| schema.broken(&body));
        assert!(
            broken.is_empty(),
            "{} to {}: {broken:#?}\n{body:#}",
            from.name,
            to.name
        );
    }
}

#[test]
fn nothing_that_was_said_is_lost_on_the_way() {
    for (from, to, body) in pairs() {
        let text = body.to_string();
        for words in [
            "Look at both",
            "I look.",
            "a.png",
            "b.txt",
            "there is no such file",
            "hurry",
            "One is a picture.",
            "and now?",
        ] {
            assert!(
                text.contains(words),
                "{} to {} loses {words:?}: {body:#}",
                from.name,
                to.name
            );
        }
        assert_eq!(
            text.matches("iVBORw0KGgo=").count(),
            2,
            "{} to {}",
            from.name,
            to.name
        );
    }
}

/// Thoughts and signatures go to the model that made them, and to no other.
#[test]
fn what_only_one_model_understands_goes_back_to_it_alone() {
    for (from, to, body) in pairs() {
        let Some(opaque) = &from.opaque else { continue };
        let marks = [
            "signature",
            "encrypted_content",
            "callSignature",
            "thought_signature",
            "reasoning_content",
        ];
        let mark = marks
            .iter()
            .find_map(|key| find(opaque, key))
            .or_else(|| find(opaque, "reasoning"));
        let mark = mark.unwrap();
        let returns = body.to_string().contains(&mark.to_string());
        assert_eq!(
            returns,
            from.name == to.name,
            "{} to {}: {mark} in {body:#}",
            from.name,
            to.name
        );
    }
}

/// The value of the first field of this name.
fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(key, value)| {
            if key == name {
                Some(value)
            } else {
                find(value, name)
            }
        }),
        Value::Array(list) => list.iter().find_map(|value| find(value, name)),
        _ => None,
    }
}

/// The values of all fields of this name, in their order.
fn all<'a>(value: &'a Value, name: &str, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if key == name {
                    found.push(value);
                }
                all(value, name, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| all(value, name, found)),
        _ => {}
    }
}

/// Ids have the form that the strictest vendor takes, and results come in the order of their calls, right after them.
#[test]
fn calls_and_results_belong_together_everywhere() {
    for (from, to, body) in pairs() {
        let name = format!("{} to {}: {body:#}", from.name, to.name);
        let (calls, results) = match to.format {
            Format::Anthropic => ("id", "tool_use_id"),
            Format::OpenAiChat => ("id", "tool_call_id"),
            Format::OpenAiResponses => ("call_id", "call_id"),
            Format::Gemini => continue,
        };
        let messages = body.get("messages").or(body.get("input")).unwrap();
        let (mut made, mut given) = (Vec::new(), Vec::new());
        all(messages, calls, &mut made);
        all(messages, results, &mut given);
        if to.format == Format::OpenAiResponses {
            given = made.split_off(2);
        }
        let made: Vec<&Value> = made.into_iter().filter(|id| *id != "rs_1").collect();
        let given = &given[..2];
        assert_eq!(made[..2], *given, "{name}");
        for id in &made {
            let id = id.as_str().unwrap();
            assert!(
                id.len() == 9 && id.chars().all(|one| one.is_ascii_alphanumeric()),
                "{id} {name}"
            );
        }
    }
}

/// What each vendor wants with calls of other models, and what its documentation forbids.
#[test]
fn each_vendor_gets_what_it_wants_with_foreign_calls() {
    for (from, to, body) in pairs() {
        let name = format!("{} to {}: {body:#}", from.name, to.name);
        match to.name {
            "gemini" => assert!(find(&body, "thoughtSignature").is_some(), "{name}"),
            "gemini by chat" => assert!(find(&body, "thought_signature").is_some(), "{name}"),
            "deepseek" | "moonshot" => {
                assert!(find(&body, "reasoning_content").is_some(), "{name}");
            }
            "mistral" => {
                assert_eq!(find(&body, "stream_options"), None, "{name}");
                let messages = body["messages"].as_array().unwrap();
                let roles: Vec<&str> = messages
                    .iter()
                    .filter_map(|one| one["role"].as_str())
                    .collect();
                assert!(
                    !roles.windows(2).any(|pair| pair == ["tool", "user"]),
                    "{name}"
                );
            }
            _ => {}
        }
        for (field, vendors) in [
            ("reasoning_content", &["deepseek", "moonshot"][..]),
            ("reasoning_details", &["openrouter"]),
            ("extra_content", &["gemini by chat"]),
        ] {
            let is_sent = find(&body, field).is_some();
            assert!(!is_sent || vendors.contains(&to.name), "{field} {name}");
        }
    }
}

#[test]
fn the_vendors_own_clients_take_every_pair() {
    let Some(mut judge) = python("sdk", "anthropic, google.genai, mistralai.client, openai") else {
        return;
    };
    let mut judging = judge
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk/judge.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut requests = String::new();
    let mut count = 0;
    for (from, to, body) in pairs() {
        let line = json!({
            "judge": to.judge(),
            "name": format!("{} to {}", from.name, to.name),
            "extensions": to.extensions,
            "body": body,
        });
        requests.push_str(&line.to_string());
        requests.push('\n');
        count += 1;
    }
    let mut stdin = judging.stdin.take().unwrap();
    let writing = std::thread::spawn(move || stdin.write_all(requests.as_bytes()).unwrap());
    let judged = judging.wait_with_output().unwrap();
    writing.join().unwrap();
    let said = String::from_utf8_lossy(&judged.stdout);
    let faults = String::from_utf8_lossy(&judged.stderr);
    assert_eq!(said.trim(), format!("judged {count}"), "{faults}");
}
