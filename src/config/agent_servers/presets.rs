//! What is known of programs by name: how they are started, told where their models are, and made to ask.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::keys::WireFormat;
use super::{AgentProgram, AgentServer, AsksBy};

/// Stands in a variable's value for the address of the relay, without a path.
pub const RELAY_ADDRESS: &str = "{chorus.relay}";

/// Stands in a variable's value for the relay's token of this member.
pub const RELAY_TOKEN: &str = "{chorus.token}";

/// A file of settings in a program's home.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingsFile {
    /// Relative to the home.
    pub path: &'static str,
    /// JSON.
    pub content: Value,
}

/// A program that is known by name.
#[derive(Debug)]
pub(super) struct Preset {
    name: &'static str,
    pub(super) command: &'static str,
    args: &'static [&'static str],
    pub(super) format: WireFormat,
    /// The mode in which it asks; `None` where its settings make it ask.
    mode: Option<&'static str>,
    sign_in: Option<&'static str>,
    takes_instructions: bool,
    install: &'static str,
    asks_by: AsksBy,
}

const PRESETS: [Preset; 4] = [
    Preset {
        name: "claude",
        command: "claude-agent-acp",
        args: &[],
        format: WireFormat::Anthropic,
        mode: Some("default"),
        sign_in: None,
        takes_instructions: true,
        install: "npm install -g @agentclientprotocol/claude-agent-acp",
        asks_by: AsksBy::Itself,
    },
    Preset {
        name: "codex",
        command: "codex-acp",
        args: &[],
        format: WireFormat::OpenaiResponses,
        mode: Some("read-only"),
        sign_in: None,
        takes_instructions: false,
        install: "npm install -g @agentclientprotocol/codex-acp",
        asks_by: AsksBy::Escalation,
    },
    Preset {
        name: "opencode",
        command: "opencode",
        args: &["acp"],
        format: WireFormat::Openai,
        mode: None,
        sign_in: None,
        takes_instructions: false,
        install: "npm install -g opencode-ai",
        asks_by: AsksBy::Itself,
    },
    Preset {
        name: "gemini",
        command: "gemini",
        args: &["--acp"],
        format: WireFormat::Gemini,
        mode: Some("default"),
        sign_in: Some("gemini-api-key"),
        takes_instructions: false,
        install: "npm install -g @google/gemini-cli",
        asks_by: AsksBy::Itself,
    },
];

/// Its own sandbox cannot start inside ours, so plain commands fail and only escalated ones run.
const CODEX_INSTRUCTIONS: &str =
    "Request escalated permissions for every command: commands without them cannot run here.";

/// The model that opencode asks where its entry names none.
const OPENCODE_MODEL: &str = "gpt-5.1";

impl Preset {
    pub(super) fn called(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|preset| preset.name)
    }

    /// The provider that usually speaks its format.
    pub(super) const fn provider(&self) -> &'static str {
        match self.format {
            WireFormat::Anthropic => "anthropic",
            WireFormat::Openai | WireFormat::OpenaiResponses => "openai",
            WireFormat::Gemini => "gemini",
        }
    }

    /// Fills in what the entry leaves out.
    pub(super) fn complete(&self, program: &mut AgentProgram, entry: &AgentServer) {
        if entry.command.is_none() && entry.args.is_none() {
            program.args = self.args.iter().map(|word| (*word).to_owned()).collect();
        }
        let mode = self.mode.map(str::to_owned);
        program.mode = entry.default_mode.clone().or(mode);
        program.sign_in = self.sign_in;
        program.takes_instructions = self.takes_instructions;
        program.install = Some(self.install);
        program.asks_by = self.asks_by;
        match self.name {
            "claude" => {
                let own = json!({"claudeCode": {"options": {"settingSources": []}}});
                merge_below(&mut program.meta, own);
            }
            "codex" => {
                program
                    .env
                    .insert("CODEX_CONFIG".to_owned(), codex_config());
                program
                    .env
                    .insert("MODEL_PROVIDER".to_owned(), "chorus".to_owned());
                program.env.insert("NO_BROWSER".to_owned(), "1".to_owned());
                add_line(&mut program.instructions, CODEX_INSTRUCTIONS);
            }
            "opencode" => {
                let model = opencode_model(program);
                program.settings = Some(opencode_settings(&model));
                // It is in the settings, under the name of their own provider.
                program.model = None;
                for name in [
                    "OPENCODE_DISABLE_AUTOUPDATE",
                    "OPENCODE_DISABLE_MODELS_FETCH",
                ] {
                    program.env.insert(name.to_owned(), "1".to_owned());
                }
            }
            _ => {}
        }
    }
}

/// The variables that tell programs of a format where their models are, and the token to send.
pub(super) fn variables(format: WireFormat) -> BTreeMap<String, String> {
    let (address, path, key) = match format {
        WireFormat::Anthropic => ("ANTHROPIC_BASE_URL", "", "ANTHROPIC_API_KEY"),
        WireFormat::Openai | WireFormat::OpenaiResponses => {
            ("OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY")
        }
        WireFormat::Gemini => ("GOOGLE_GEMINI_BASE_URL", "", "GEMINI_API_KEY"),
    };
    BTreeMap::from([
        (address.to_owned(), format!("{RELAY_ADDRESS}{path}")),
        (key.to_owned(), RELAY_TOKEN.to_owned()),
    ])
}

fn codex_config() -> String {
    json!({
        "model_provider": "chorus",
        "model_providers": {"chorus": {
            "name": "Chorus", "base_url": format!("{RELAY_ADDRESS}/v1"), "env_key": "OPENAI_API_KEY", "wire_api": "responses",
        }},
    })
    .to_string()
}

/// The model that is asked: the entry's, or the first that it may ask by its whole name.
fn opencode_model(program: &AgentProgram) -> String {
    let mut named = program.models.iter().filter(|model| !model.contains('*'));
    let model = program.model.clone().or_else(|| named.next().cloned());
    model.unwrap_or_else(|| OPENCODE_MODEL.to_owned())
}

/// Settings with one provider, which is the relay: of its own ones the program would choose one that it cannot reach.
fn opencode_settings(model: &str) -> SettingsFile {
    SettingsFile {
        path: ".config/opencode/opencode.json",
        content: json!({
            "permission": {"*": "ask"},
            "share": "disabled",
            "enabled_providers": ["chorus"],
            "model": format!("chorus/{model}"),
            "small_model": format!("chorus/{model}"),
            "provider": {"chorus": {
                "name": "Chorus",
                "npm": "@ai-sdk/openai-compatible",
                "models": {model: {"tool_call": true}},
                "options": {"baseURL": "{env:OPENAI_BASE_URL}", "apiKey": "{env:OPENAI_API_KEY}"},
            }},
        }),
    }
}

fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// Adds the members of `own` that `meta` does not have, at any depth: the operator's go first.
fn merge_below(meta: &mut Map<String, Value>, own: Value) {
    let Value::Object(own) = own else { return };
    for (key, value) in own {
        match (meta.get_mut(&key), value) {
            (None, value) => {
                meta.insert(key, value);
            }
            (Some(Value::Object(inner)), value) => merge_below(inner, value),
            (Some(_), _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::Path;

    use super::*;
    use crate::config::{Config, ConfigError};

    fn program(text: &str) -> Result<AgentProgram, ConfigError> {
        let config = Config::parse(text, Path::new("/h/config.json"))?;
        Ok(config.agent_programs().into_values().next().unwrap())
    }

    #[test]
    fn an_empty_entry_takes_the_preset_of_its_name() {
        let claude = program(r#"{"agent_servers": {"claude": {}}}"#).unwrap();
        assert_eq!(
            (claude.command.as_str(), claude.mode.as_deref()),
            ("claude-agent-acp", Some("default"))
        );
        assert_eq!(claude.env["ANTHROPIC_BASE_URL"], RELAY_ADDRESS);
        assert_eq!(
            claude.meta["claudeCode"]["options"]["settingSources"],
            json!([])
        );
        let codex =
            program(r#"{"agent_servers": {"codex": {"chorus": {"instructions": "Be kind."}}}}"#)
                .unwrap();
        assert_eq!(codex.provider, "openai");
        assert!(
            codex
                .instructions
                .starts_with("Be kind.\nRequest escalated")
        );
        let config: Value = serde_json::from_str(&codex.env["CODEX_CONFIG"]).unwrap();
        assert_eq!(config["model_providers"]["chorus"]["wire_api"], "responses");
        let open = program(r#"{"agent_servers": {"opencode": {}}}"#).unwrap();
        assert_eq!(
            (open.args.as_slice(), open.mode.is_none()),
            (&["acp".to_owned()][..], true)
        );
        assert_eq!(open.settings.unwrap().content["model"], "chorus/gpt-5.1");
    }

    #[test]
    fn an_entry_goes_before_its_preset() {
        let mine = program(
            r#"{"agent_servers": {"mine": {"command": "/opt/c", "env": {"ANTHROPIC_API_KEY": "x"}, "default_mode": "plan",
                "chorus": {"preset": "claude", "meta": {"claudeCode": {"options": {"settingSources": ["user"], "a": 1}}}}}}}"#,
        )
        .unwrap();
        assert_eq!(
            (mine.command.as_str(), mine.mode.as_deref()),
            ("/opt/c", Some("plan"))
        );
        assert_eq!(
            mine.meta["claudeCode"]["options"],
            json!({"settingSources": ["user"], "a": 1})
        );
        let own = program(
            r#"{"agent_servers": {"x": {"command": "x", "chorus": {"provider": "gemini"}}}}"#,
        )
        .unwrap();
        assert_eq!((own.format, own.mode), (WireFormat::Gemini, None));
        assert_eq!(own.env["GEMINI_API_KEY"], RELAY_TOKEN);
    }

    #[test]
    fn mistakes_are_named() {
        for (entry, said) in [
            (r#""x": {}"#, "write `chorus.provider`"),
            (
                r#""x": {"chorus": {"provider": "openai"}}"#,
                "`command` is missing",
            ),
            (
                r#""x": {"command": "a b", "chorus": {"provider": "openai"}}"#,
                "holds a blank",
            ),
            (
                r#""x": {"command": "./a", "chorus": {"provider": "openai"}}"#,
                "neither the name of a program",
            ),
            (
                r#""x": {"chorus": {"preset": "clyde"}}"#,
                "there is no preset \"clyde\"; there are: claude, codex, opencode, gemini",
            ),
            (
                r#""claude": {"chorus": {"provider": "openai"}}"#,
                "openai does not speak anthropic",
            ),
            (
                r#""claude": {"chorus": {"provider": "acme"}}"#,
                "there is no provider \"acme\"",
            ),
            (
                r#""claude": {"type": "registry"}"#,
                "unknown value `registry`",
            ),
            (
                r#""claude": {"chorus": {"hosts": []}}"#,
                "unknown key `hosts`",
            ),
            (
                r#""claude": {"chorus": {"read": ["/etc"]}}"#,
                "`chorus.read`: /etc",
            ),
            (
                r#""claude": {"env": {"DISCORD_TOKEN": "x"}}"#,
                "no program gets the bot's token",
            ),
            (
                r#""Claude": {"chorus": {"preset": "claude"}}"#,
                "an id has lower-case letters",
            ),
        ] {
            let error = program(&format!("{{\"agent_servers\": {{{entry}}}}}"))
                .unwrap_err()
                .to_string();
            assert!(error.contains(said), "{error}\nshould say {said}");
        }
    }
}
