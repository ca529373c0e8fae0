//! The entries of `agent_servers` in `config.json`: programs that members of a team run, and what presets know of them.

mod presets;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::presets::Preset;
use super::check::why_unreadable;
use super::keys::{Config, ProgramMemory, WireFormat};
use super::units::{Count, Seconds};

pub use presets::{RELAY_ADDRESS, RELAY_TOKEN, SettingsFile};

/// The variable that no program is given.
const DISCORD_TOKEN: &str = "DISCORD_TOKEN";

/// Longest id of a program.
const LONGEST_ID: usize = 31;

/// A program that speaks the Agent Client Protocol, as other clients describe it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentServer {
    /// How it is got. `custom` is the only way: Chorus downloads no program.
    #[serde(rename = "type")]
    pub kind: AgentServerType,
    /// A name in the daemon's `PATH`, or an absolute path. None: the preset's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments. Without `command` they replace the preset's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Variables besides those that each command has.
    pub env: BTreeMap<String, String>,
    /// The mode of each session. None: the preset's, which asks before commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<String>,
    /// The model of each session. None: the program's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// Keys that only Chorus has.
    pub chorus: AgentServerKeys,
}

/// How a program is got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentServerType {
    /// The operator installed it.
    #[default]
    Custom,
}

/// Keys of a program that only Chorus has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentServerKeys {
    /// `claude`, `codex`, `opencode` or `gemini`. None: the preset that has the entry's name, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The provider that pays its models. None: by the preset's format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Patterns of models that it may ask. Empty: all of the provider. The first that matches stands in for others.
    pub models: Vec<String>,
    /// What it reaches: `provider`, only its models; `on`, the network of commands too.
    pub network: ProgramNetwork,
    /// Further folders that it may read.
    pub read: Vec<PathBuf>,
    /// Memory of each of its processes. None: `program_limits.memory`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<ProgramMemory>,
    /// JSON that is merged into `_meta` of each new session.
    pub meta: Map<String, Value>,
    /// Text that is added to its instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// What a member's program reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProgramNetwork {
    /// Its models, and nothing else.
    #[default]
    Provider,
    /// The network of commands too.
    On,
}

/// How members run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TeamConfig {
    /// Live members of one agent.
    pub max_members: Count<1, 16>,
    /// Live members of the daemon.
    pub max_processes: Count<1, 64>,
    /// Time from the command until a member is ready.
    pub spawn_timeout: Seconds<5, 600>,
    /// Silence after which a member ends. None: the agent's `idle_timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Seconds<0, 31_536_000>>,
    /// Whether `@role text` at the start of a channel's message is for the member.
    pub role_messages: bool,
}

impl Default for TeamConfig {
    fn default() -> Self {
        Self {
            max_members: Count::new(2),
            max_processes: Count::new(6),
            spawn_timeout: Seconds::new(60),
            idle_timeout: None,
            role_messages: true,
        }
    }
}

/// A program as its entry and its preset describe it together.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentProgram {
    pub id: String,
    pub command: String,
    pub args: Vec<String>,
    /// Variables of the entry and the preset. [`RELAY_ADDRESS`] and [`RELAY_TOKEN`] in a value stand for the relay's.
    pub env: BTreeMap<String, String>,
    /// The format that it speaks to its models.
    pub format: WireFormat,
    /// The provider that pays them.
    pub provider: String,
    pub models: Vec<String>,
    /// The mode that is set; `None` sets none.
    pub mode: Option<String>,
    pub model: Option<String>,
    pub network: ProgramNetwork,
    pub read: Vec<PathBuf>,
    pub memory: Option<ProgramMemory>,
    pub meta: Map<String, Value>,
    pub instructions: String,
    /// A file of settings in its home.
    pub settings: Option<SettingsFile>,
    /// Its way to sign in with the key of its environment, where it needs one.
    pub sign_in: Option<&'static str>,
    /// Whether `_meta.systemPrompt` of a new session adds to its instructions.
    pub takes_instructions: bool,
    /// How it is installed, for people.
    pub install: Option<&'static str>,
    /// How a command is put so that the program asks first, for its check.
    pub asks_by: AsksBy,
}

/// How a program's model makes it ask before a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsksBy {
    /// It asks for each command by itself.
    Itself,
    /// The model must request escalated permissions.
    Escalation,
}

/// What is wrong with an entry.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
struct WrongEntry {
    /// The key that is wrong.
    key: &'static str,
    reason: String,
}

impl WrongEntry {
    fn new(key: &'static str, reason: impl Into<String>) -> Self {
        Self {
            key,
            reason: reason.into(),
        }
    }
}

/// The keys that lead to a mistake, and the reason.
type Found = (Vec<String>, String);

impl Config {
    /// The programs of `agent_servers` by id. The file was checked when it was read, so none is left out.
    pub fn agent_programs(&self) -> BTreeMap<String, AgentProgram> {
        let read = |(id, entry): (&String, &AgentServer)| {
            Some((id.clone(), self.program(id, entry).ok()?))
        };
        self.agent_servers.iter().filter_map(read).collect()
    }

    /// Checks every entry. `home` is the folder that the file is in.
    ///
    /// # Errors
    ///
    /// The keys that lead to the first mistake, and the reason.
    pub(super) fn check_agent_servers(&self, home: Option<&Path>) -> Result<(), Found> {
        for (id, entry) in &self.agent_servers {
            let at = |key: &str, reason: String| {
                let keys = ["agent_servers", id, key].map(str::to_owned).to_vec();
                (keys, format!("`agent_servers`: {id}: {reason}"))
            };
            if !is_id(id) {
                let rule = "an id has lower-case letters, digits and hyphens, at most 31";
                return Err(at("", rule.to_owned()));
            }
            self.program(id, entry)
                .map_err(|wrong| at(wrong.key, wrong.reason))?;
            for folder in &entry.chorus.read {
                if let Some(reason) = why_unreadable(folder, home) {
                    let folder = folder.display();
                    return Err(at("read", format!("`chorus.read`: {folder}: {reason}")));
                }
            }
            check_variables(entry).map_err(|wrong| at(wrong.key, wrong.reason))?;
        }
        Ok(())
    }

    /// Puts an entry and its preset together.
    fn program(&self, id: &str, entry: &AgentServer) -> Result<AgentProgram, WrongEntry> {
        let keys = &entry.chorus;
        let preset = match &keys.preset {
            Some(name) => Some(Preset::called(name).ok_or_else(|| {
                let known: Vec<&str> = Preset::names().collect();
                let known = known.join(", ");
                let reason = format!("there is no preset {name:?}; there are: {known}");
                WrongEntry::new("preset", reason)
            })?),
            None => Preset::called(id),
        };
        let (provider, format) = self.paid_by(keys, preset)?;
        let command = entry.command.clone().filter(|command| !command.is_empty());
        let command = command.or_else(|| preset.map(|preset| preset.command.to_owned()));
        let command = command.ok_or_else(|| WrongEntry::new("command", "`command` is missing"))?;
        check_command(&command)?;
        let mut program = AgentProgram {
            id: id.to_owned(),
            args: entry.args.clone().unwrap_or_default(),
            command,
            env: presets::variables(format),
            format,
            provider,
            models: keys.models.clone(),
            mode: entry.default_mode.clone(),
            model: entry.default_model.clone(),
            network: keys.network,
            read: keys.read.clone(),
            memory: keys.memory,
            meta: keys.meta.clone(),
            instructions: keys.instructions.clone().unwrap_or_default(),
            settings: None,
            sign_in: None,
            takes_instructions: false,
            install: None,
            asks_by: AsksBy::Itself,
        };
        if let Some(preset) = preset {
            preset.complete(&mut program, entry);
        }
        program.env.extend(entry.env.clone());
        Ok(program)
    }

    /// The provider that pays the models of an entry, and the format that the program speaks to them.
    fn paid_by(
        &self,
        keys: &AgentServerKeys,
        preset: Option<&Preset>,
    ) -> Result<(String, WireFormat), WrongEntry> {
        let provider = match (&keys.provider, preset) {
            (Some(name), _) => name.clone(),
            (None, Some(preset)) => preset.provider().to_owned(),
            (None, None) => {
                let advice = "write `chorus.provider`, the provider that pays its models, or `chorus.preset`";
                return Err(WrongEntry::new("chorus", advice));
            }
        };
        let formats = self.formats(&provider).ok_or_else(|| {
            let reason =
                format!("`chorus.provider`: there is no provider {provider:?} in this file");
            WrongEntry::new("provider", reason)
        })?;
        match preset {
            Some(preset) if formats.contains(&preset.format) => Ok((provider, preset.format)),
            Some(preset) => {
                let reason = format!(
                    "`chorus.provider`: {provider} does not speak {}, which the program needs",
                    word(preset.format)
                );
                Err(WrongEntry::new("provider", reason))
            }
            None => Ok((provider, formats[0])),
        }
    }

    /// The formats that a provider speaks; `None` where there is no such provider.
    fn formats(&self, provider: &str) -> Option<Vec<WireFormat>> {
        let configured = self.providers.get(provider);
        let is_elsewhere = configured.is_some_and(|provider| provider.base_url.is_some());
        Some(match provider {
            "anthropic" => vec![WireFormat::Anthropic],
            "gemini" => vec![WireFormat::Gemini],
            "openai" if !is_elsewhere => vec![WireFormat::Openai, WireFormat::OpenaiResponses],
            _ => vec![configured?.format],
        })
    }
}

fn is_id(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    id.len() <= LONGEST_ID && id.starts_with(plain) && id.chars().all(|c| plain(c) || c == '-')
}

/// Returns a format as it is written.
pub(super) fn word(format: WireFormat) -> &'static str {
    match format {
        WireFormat::Openai => "openai",
        WireFormat::OpenaiResponses => "openai_responses",
        WireFormat::Anthropic => "anthropic",
        WireFormat::Gemini => "gemini",
    }
}

fn check_command(command: &str) -> Result<(), WrongEntry> {
    if command.contains('\0') || (command.contains('/') && !command.starts_with('/')) {
        let reason = format!(
            "`command` {command:?} is neither the name of a program in `PATH` nor an absolute path"
        );
        return Err(WrongEntry::new("command", reason));
    }
    if command.contains(char::is_whitespace) {
        let reason = format!(
            "`command` {command:?} holds a blank: it is one program, and its arguments are in `args`"
        );
        return Err(WrongEntry::new("command", reason));
    }
    Ok(())
}

fn check_variables(entry: &AgentServer) -> Result<(), WrongEntry> {
    for (name, value) in &entry.env {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let reason = format!("`env`: {name:?} is no name of a variable");
            return Err(WrongEntry::new("env", reason));
        }
        if name == DISCORD_TOKEN {
            let reason = "`env`: DISCORD_TOKEN is refused: no program gets the bot's token";
            return Err(WrongEntry::new("env", reason));
        }
    }
    if entry.args.iter().flatten().any(|word| word.contains('\0')) {
        return Err(WrongEntry::new("args", "`args` holds a NUL character"));
    }
    Ok(())
}
