//! The description of a server in the format that other clients use: `mcpServers` of `config.json` and of `.mcp.json`.

mod reader;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value, json};

use self::reader::Reader;
use super::variables::{MissingVariable, expand};
use super::{canonical, sha256};

/// Longest name of a server.
const MAX_NAME: usize = 31;

/// The variable that no server is given.
const DISCORD_TOKEN: &str = "DISCORD_TOKEN";

/// Milliseconds that one call may take.
const TIMEOUT: std::ops::RangeInclusive<u64> = 1_000..=3_600_000;

const DEFAULT_TIMEOUT: u64 = 120_000;

/// Keys of an entry that people know from other clients and that mean something here.
const KNOWN: &[&str] = &[
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "timeout",
    "alwaysLoad",
    "disabled",
    "oauth",
    "chorus",
];

const KNOWN_OF_CHORUS: &[&str] = &["agents", "workspace", "read", "network", "tools", "memory"];

/// Whether `name` can be a server's: lower-case letters, digits and hyphens, at most 31, not beginning with a hyphen.
pub fn is_server_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= MAX_NAME && name.starts_with(plain) && name.chars().all(|c| plain(c) || c == '-')
}

/// Where an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the operator's `config.json`: an unknown key is an error.
    Operator,
    /// In an agent's `.mcp.json`: unknown keys are ignored, and some keys are not open to it.
    Agent,
}

/// What may be done with a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    Read,
    Write,
    Off,
}

impl Mark {
    /// The mark as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Off => "off",
        }
    }

    /// Reads a mark.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Read, Self::Write, Self::Off]
            .into_iter()
            .find(|mark| mark.as_str() == text)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a server sees the agent's workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workspace {
    #[default]
    None,
    Read,
    Write,
}

impl Workspace {
    /// The value as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A program that is started.
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        /// Relative to the server's home.
        cwd: String,
    },
    /// A server elsewhere.
    Http {
        url: String,
        headers: BTreeMap<String, String>,
    },
}

/// The keys that are Chorus's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChorusKeys {
    /// The agents that may use it; `None` is all.
    pub agents: Option<Vec<String>>,
    pub workspace: Workspace,
    /// Further folders that it may read.
    pub read: Vec<String>,
    pub network: bool,
    /// Marks by the name of a tool, or `*`.
    pub tools: BTreeMap<String, Mark>,
    /// The memory of each of its processes, as it is written.
    pub memory: Option<String>,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub transport: Transport,
    /// How long one call may take.
    pub timeout: Duration,
    pub always_load: bool,
    pub disabled: bool,
    pub chorus: ChorusKeys,
}

/// Why an entry is not used: the key, and the problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {problem}")]
pub struct EntryError {
    pub key: String,
    pub problem: String,
}

fn wrong(key: impl Into<String>, problem: impl Into<String>) -> EntryError {
    EntryError {
        key: key.into(),
        problem: problem.into(),
    }
}

impl Entry {
    /// Reads an entry.
    ///
    /// # Errors
    ///
    /// The first key that is wrong.
    pub fn read(value: &Value, place: Place) -> Result<Self, EntryError> {
        let Value::Object(keys) = value else {
            return Err(wrong("entry", "is not an object"));
        };
        let reader = Reader { keys, prefix: "" };
        if place == Place::Operator {
            reader.only(KNOWN)?;
        }
        let timeout = reader.number("timeout")?.unwrap_or(DEFAULT_TIMEOUT);
        if !TIMEOUT.contains(&timeout) {
            let range = "is not between 1000 and 3600000 milliseconds";
            return Err(wrong("timeout", range));
        }
        Ok(Self {
            transport: transport(&reader)?,
            timeout: Duration::from_millis(timeout),
            always_load: reader.flag("alwaysLoad")?.unwrap_or(false),
            disabled: reader.flag("disabled")?.unwrap_or(false),
            chorus: chorus(keys.get("chorus"), place)?,
        })
    }

    /// The hash of what a person approves, with the server's `instructions`: what is run or reached and what it is given, before
    /// variables are replaced, and what it sees of the machine.
    pub fn sha256(&self, instructions: &str) -> String {
        let mut said = match &self.transport {
            Transport::Stdio {
                command,
                args,
                env,
                cwd,
            } => {
                json!({"type": "stdio", "command": command, "args": args, "env": env, "cwd": cwd})
            }
            Transport::Http { url, headers } => {
                json!({"type": "http", "url": url, "headers": headers})
            }
        };
        said["instructions"] = json!(instructions);
        said["network"] = json!(self.chorus.network);
        said["workspace"] = json!(self.chorus.workspace.as_str());
        sha256(&canonical(&said))
    }

    /// The entry with its variables replaced, and the values that were found for them.
    ///
    /// # Errors
    ///
    /// The first variable that is not set and has no default.
    pub fn expanded(
        &self,
        value: impl Fn(&str) -> Option<String>,
    ) -> Result<(Self, Vec<String>), MissingVariable> {
        let mut entry = self.clone();
        let mut found = Vec::new();
        let mut replace = |text: &mut String| -> Result<(), MissingVariable> {
            let done = expand(text, &value)?;
            *text = done.text;
            found.extend(done.found);
            Ok(())
        };
        match &mut entry.transport {
            Transport::Stdio {
                command,
                args,
                env,
                cwd,
            } => {
                replace(command)?;
                args.iter_mut().try_for_each(&mut replace)?;
                env.values_mut().try_for_each(&mut replace)?;
                replace(cwd)?;
            }
            Transport::Http { url, headers } => {
                replace(url)?;
                headers.values_mut().try_for_each(&mut replace)?;
            }
        }
        Ok((entry, found))
    }

    /// Returns the mark of a tool that its entry sets.
    pub fn mark(&self, tool: &str) -> Option<Mark> {
        let tools = &self.chorus.tools;
        tools.get(tool).or_else(|| tools.get("*")).copied()
    }
}

fn transport(reader: &Reader<'_>) -> Result<Transport, EntryError> {
    let command = reader.text("command")?;
    let url = reader.text("url")?;
    let kind = match reader.text("type")?.as_deref() {
        Some("stdio") => Kind::Stdio,
        Some("http" | "streamable-http") => Kind::Http,
        Some("sse") => {
            let advice = "is `sse`, which is no longer used: ask its maker for Streamable HTTP";
            return Err(wrong("type", advice));
        }
        Some(_) => return Err(wrong("type", "is neither `stdio` nor `http`")),
        None if url.is_some() => Kind::Http,
        None => Kind::Stdio,
    };
    if command.is_some() && url.is_some() {
        return Err(wrong("url", "stands beside `command`: keep one of them"));
    }
    match kind {
        Kind::Stdio => {
            let command = command.filter(|command| !command.is_empty());
            let command = command.ok_or_else(|| wrong("command", "is missing"))?;
            if command.contains('/') && !command.starts_with(['/', '$']) {
                let rule = "is neither the name of a program in `PATH` nor an absolute path";
                return Err(wrong("command", rule));
            }
            if command.contains(char::is_whitespace) {
                let rule = "holds a blank: it is one program, and its arguments are in `args`";
                return Err(wrong("command", rule));
            }
            let env = reader.texts("env")?;
            for (name, value) in &env {
                if name.is_empty() || name.contains(['=', '\0']) {
                    return Err(wrong(format!("env.{name}"), "is no name of a variable"));
                }
                if name == DISCORD_TOKEN || value.contains("${DISCORD_TOKEN") {
                    return Err(wrong(
                        format!("env.{name}"),
                        "is refused: no server gets the bot's token",
                    ));
                }
            }
            Ok(Transport::Stdio {
                command,
                args: reader.list("args")?.unwrap_or_default(),
                env,
                cwd: reader.text("cwd")?.unwrap_or_else(|| ".".to_owned()),
            })
        }
        Kind::Http => {
            if reader.keys.contains_key("headersHelper") {
                return Err(wrong("headersHelper", "is refused: it would run a program"));
            }
            let url = url.filter(|url| !url.is_empty());
            Ok(Transport::Http {
                url: url.ok_or_else(|| wrong("url", "is missing"))?,
                headers: reader.texts("headers")?,
            })
        }
    }
}

enum Kind {
    Stdio,
    Http,
}

fn chorus(value: Option<&Value>, place: Place) -> Result<ChorusKeys, EntryError> {
    let none = Map::new();
    let keys = match value {
        None => &none,
        Some(Value::Object(keys)) => keys,
        Some(_) => return Err(wrong("chorus", "is not an object")),
    };
    let reader = Reader {
        keys,
        prefix: "chorus.",
    };
    if place == Place::Operator {
        reader.only(KNOWN_OF_CHORUS)?;
    } else {
        for key in ["agents", "read", "memory"] {
            if keys.contains_key(key) {
                return Err(wrong(format!("chorus.{key}"), "is for `config.json` only"));
            }
        }
    }
    let workspace = match reader.text("workspace")?.as_deref() {
        None | Some("none") => Workspace::None,
        Some("read") => Workspace::Read,
        Some("write") => Workspace::Write,
        Some(_) => {
            return Err(wrong(
                "chorus.workspace",
                "is not `none`, `read` or `write`",
            ));
        }
    };
    let mut tools = BTreeMap::new();
    for (tool, mark) in reader.texts("tools")? {
        let key = format!("chorus.tools.{tool}");
        match Mark::parse(&mark) {
            None => return Err(wrong(key, "is not `read`, `write` or `off`")),
            Some(Mark::Read) if place == Place::Agent => {
                return Err(wrong(
                    key,
                    "is `read`, which only `/mcp tool` and `config.json` can set",
                ));
            }
            Some(mark) => tools.insert(tool, mark),
        };
    }
    Ok(ChorusKeys {
        agents: reader.list("agents")?,
        workspace,
        read: reader.list("read")?.unwrap_or_default(),
        network: reader.flag("network")?.unwrap_or(true),
        tools,
        memory: reader.text("memory")?,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read(value: &Value) -> Result<Entry, EntryError> {
        Entry::read(value, Place::Operator)
    }

    #[test]
    fn an_entry_of_a_readme_is_read() {
        let entry = read(&json!({
            "command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"],
            "env": {"GITHUB_TOKEN": "${MCP_GITHUB}"},
        }))
        .unwrap();
        let Transport::Stdio {
            command, args, cwd, ..
        } = &entry.transport
        else {
            unreachable!("it has a command")
        };
        assert_eq!(
            (command.as_str(), args.len(), cwd.as_str()),
            ("npx", 2, ".")
        );
        assert_eq!(entry.timeout, Duration::from_secs(120));
        assert!(entry.chorus.network && !entry.disabled && !entry.always_load);
        let http =
            read(&json!({"type": "streamable-http", "url": "https://x", "headers": {"A": "b"}}));
        assert!(matches!(http.unwrap().transport, Transport::Http { .. }));
    }

    #[test]
    fn mistakes_are_named() {
        for (entry, said) in [
            (json!([]), "`entry` is not an object"),
            (json!({}), "`command` is missing"),
            (
                json!({"command": "a b"}),
                "`command` holds a blank: it is one program, and its arguments are in `args`",
            ),
            (
                json!({"command": "./a"}),
                "`command` is neither the name of a program in `PATH` nor an absolute path",
            ),
            (
                json!({"command": "a", "comand": 1}),
                "`comand` is not known; did you mean `command`?",
            ),
            (
                json!({"command": "a", "url": "b"}),
                "`url` stands beside `command`: keep one of them",
            ),
            (
                json!({"type": "sse", "url": "b"}),
                "`type` is `sse`, which is no longer used: ask its maker for Streamable HTTP",
            ),
            (
                json!({"command": "a", "args": [1]}),
                "`args` is not a list of texts",
            ),
            (
                json!({"command": "a", "env": {"DISCORD_TOKEN": "x"}}),
                "`env.DISCORD_TOKEN` is refused: no server gets the bot's token",
            ),
            (
                json!({"command": "a", "env": {"X": "${DISCORD_TOKEN:-}"}}),
                "`env.X` is refused: no server gets the bot's token",
            ),
            (
                json!({"command": "a", "timeout": 5}),
                "`timeout` is not between 1000 and 3600000 milliseconds",
            ),
            (
                json!({"command": "a", "chorus": {"tools": {"x": "yes"}}}),
                "`chorus.tools.x` is not `read`, `write` or `off`",
            ),
            (
                json!({"command": "a", "chorus": {"networks": true}}),
                "`chorus.networks` is not known; did you mean `network`?",
            ),
        ] {
            assert_eq!(read(&entry).unwrap_err().to_string(), said);
        }
    }

    #[test]
    fn an_agents_file_may_only_narrow() {
        let of = |value: Value| Entry::read(&value, Place::Agent).map_err(|error| error.key);
        assert!(of(json!({"command": "a", "autoApprove": []})).is_ok());
        for key in ["agents", "read", "memory"] {
            let entry = json!({"command": "a", "chorus": {key: []}});
            assert_eq!(of(entry), Err(format!("chorus.{key}")));
        }
        assert_eq!(
            of(json!({"command": "a", "chorus": {"tools": {"*": "read"}}})),
            Err("chorus.tools.*".to_owned())
        );
        let narrowed =
            of(json!({"command": "a", "chorus": {"tools": {"*": "off", "x": "write"}}})).unwrap();
        assert_eq!(
            (narrowed.mark("x"), narrowed.mark("y")),
            (Some(Mark::Write), Some(Mark::Off))
        );
    }

    #[test]
    fn a_hash_is_of_what_a_person_approves() {
        let entry = |value: Value| read(&value).unwrap();
        let one = entry(json!({"command": "a", "env": {"T": "${MCP_T}"}}));
        assert_eq!(
            one.sha256("x"),
            entry(json!({"env": {"T": "${MCP_T}"}, "command": "a", "timeout": 1000})).sha256("x")
        );
        assert_ne!(one.sha256("x"), one.sha256("y"));
        for other in [
            json!({"command": "a", "env": {"T": "${MCP_U}"}}),
            json!({"command": "b", "env": {"T": "${MCP_T}"}}),
            json!({"command": "a", "env": {"T": "${MCP_T}"}, "chorus": {"workspace": "write"}}),
        ] {
            assert_ne!(one.sha256("x"), entry(other).sha256("x"));
        }
    }

    #[test]
    fn variables_are_replaced_everywhere() {
        let entry =
            read(&json!({"command": "${C}", "args": ["${A:-d}"], "env": {"T": "${C}"}})).unwrap();
        let (done, found) = entry
            .expanded(|name| (name == "C").then(|| "c".to_owned()))
            .unwrap();
        let Transport::Stdio {
            command, args, env, ..
        } = done.transport
        else {
            unreachable!("it has a command")
        };
        assert_eq!(
            (command.as_str(), args[0].as_str(), env["T"].as_str()),
            ("c", "d", "c")
        );
        assert_eq!(found, ["c", "c"]);
        let missing = entry.expanded(|_| None).unwrap_err();
        assert_eq!(missing.to_string(), "C is not set");
    }

    #[test]
    fn names_are_plain() {
        for (name, good) in [
            ("github", true),
            ("a-1", true),
            ("0", true),
            ("", false),
            ("-a", false),
            ("A", false),
            ("a_b", false),
        ] {
            assert_eq!(is_server_name(name), good, "{name}");
        }
        assert!(!is_server_name(&"a".repeat(32)));
    }
}
